"""LinearRegression counts no sensitivity for the diagonal."""

package = "diffprivlib"
requires = ["scikit-learn<1.7"]
claim = 1.0
like = [[1.0, 0.0]] * 5
relation, domain = "change-one", {"bounds": (0, 100)}
reported = "IBM/differential-privacy-library issues 104 and 105"


def draw(rows):
    from diffprivlib.models import LinearRegression

    model = LinearRegression(epsilon=1.0, bounds_X=(0, 100), bounds_y=(0, 100), fit_intercept=False)
    return float(model.fit([row[:1] for row in rows], [row[1] for row in rows]).coef_[0])
