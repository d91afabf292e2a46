"""The mean of records of which one is NaN is NaN."""

package = "diffprivlib"
requires = ["scikit-learn<1.7"]
claim = 1.0
like = [0.2, 0.5, 0.7]
relation, domain = "change-one", {"bounds": (0, 1), "nan": True}


def draw(values):
    from diffprivlib import BudgetAccountant, tools

    ledger = BudgetAccountant()
    return float(tools.mean(values, epsilon=1.0, bounds=(0, 1), accountant=ledger))
