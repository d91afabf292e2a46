"""KMeans adds no noise to the center of a cluster without records."""

package, releases = "diffprivlib", ["0.6.6"]
requires = ["scikit-learn<1.7"]
claim = 1.0
like = [[0.2], [0.3], [0.5], [0.6], [0.9]]
relation, domain = "change-one", {"bounds": (0, 1), "size": 5}


def draw(rows):
    from diffprivlib import BudgetAccountant, models

    options = {"n_clusters": 2, "bounds": (0, 1), "accountant": BudgetAccountant()}
    fitted = models.KMeans(epsilon=1.0, **options).fit(rows)
    return sorted(fitted.cluster_centers_.ravel().tolist())
