"""count_nonzero cuts the noisy count at the number of records, which one record more changes."""

package = "diffprivlib"
requires = ["scikit-learn<1.7"]
claim = 1.0
like = [0.0, 1.0, 2.0]
relation, domain = "add-remove", {"bounds": (-5, 5)}


def draw(values):
    from diffprivlib import BudgetAccountant, tools

    ledger = BudgetAccountant()
    return int(tools.count_nonzero(values, epsilon=1.0, accountant=ledger))
