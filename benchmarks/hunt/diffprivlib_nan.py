"""Shared settings of the cases that compute statistics of records with a NaN."""

package, releases = "diffprivlib", ["0.6.6"]
requires = ["scikit-learn<1.7"]
claim = 1.0
like = [0.2, 0.5, 0.7]
relation, domain = "change-one", {"bounds": (0, 1), "nan": True}


def released(statistic, values, **options):
    from diffprivlib import BudgetAccountant, tools

    ledger = BudgetAccountant()
    release = getattr(tools, statistic)
    return float(release(values, epsilon=1.0, bounds=(0, 1), accountant=ledger, **options))
