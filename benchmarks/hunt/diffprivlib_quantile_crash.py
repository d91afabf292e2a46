"""The median of large numbers raises an error for some records, because all weights underflow."""

package, releases = "diffprivlib", ["0.6.6"]
requires = ["scikit-learn<1.7"]
claim = 1.0
like = [20000.0, 65000.0, 70000.0]
relation, domain = "add-remove", {"bounds": (0, 100000)}
reported = "IBM/differential-privacy-library issue 107"


def draw(records):
    import numpy as np
    from diffprivlib import BudgetAccountant, tools

    ledger = BudgetAccountant()
    return float(
        tools.median(np.array(records), epsilon=1.0, bounds=(0, 100000), accountant=ledger)
    )
