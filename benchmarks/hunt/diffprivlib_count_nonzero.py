"""count_nonzero clips the noisy count to the number of records, which reveals this number."""

package, releases = "diffprivlib", ["0.6.6"]
requires = ["scikit-learn<1.7"]
claim = 1.0
like = [0.0, 1.0, 2.0]
relation, domain = "add-remove", {"bounds": (-5, 5)}


def draw(values):
    from diffprivlib import BudgetAccountant, tools

    ledger = BudgetAccountant()
    return int(tools.count_nonzero(values, epsilon=1.0, accountant=ledger))
