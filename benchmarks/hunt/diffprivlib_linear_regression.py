"""LinearRegression ignores the sensitivity of the diagonal."""

package, releases = "diffprivlib", ["0.6.6"]
requires = ["scikit-learn<1.7"]
claim = 1.0
like = [[1.0, 0.0]] * 5
relation, domain = "change-one", {"bounds": (0, 100)}
reported = "IBM/differential-privacy-library issues 104 and 105"


def draw(rows):
    from diffprivlib import BudgetAccountant, models

    options = {"bounds_X": (0, 100), "bounds_y": (0, 100), "fit_intercept": False}
    model = models.LinearRegression(epsilon=1.0, **options, accountant=BudgetAccountant())
    return float(model.fit([row[:1] for row in rows], [row[1] for row in rows]).coef_[0])
