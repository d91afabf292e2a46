"""GaussianNB takes the width of the bounds as the sensitivity of a sum over one class."""

package, releases = "diffprivlib", ["0.6.6"]
requires = ["scikit-learn<1.7"]
claim = 1.0
like = [[100.5, 100.0], [100.5, 101.0], [100.2, 100.0], [100.8, 101.0], [100.4, 100.0]]
relation, domain = "change-one", {"bounds": (100, 101), "size": 5}


def draw(rows):
    from diffprivlib import BudgetAccountant, models

    # The second number states the class. Both classes occur in every database.
    rows = [*rows, [100.5, 100.0], [100.5, 101.0]]
    classes = [int(row[1] > 100.5) for row in rows]
    options = {"bounds": (100, 101), "accountant": BudgetAccountant()}
    fitted = models.GaussianNB(epsilon=1.0, **options).fit([row[:1] for row in rows], classes)
    return [*fitted.theta_.ravel().tolist(), *fitted.class_count_.tolist()]
