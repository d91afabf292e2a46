"""The median of many equal records raises an error, since all weights underflow."""

package, releases = "diffprivlib", ["0.6.6"]
requires = ["scikit-learn<1.7"]
claim = 1.0
# Numbers of copies of one record.
pairs = [(2981, 2982)]
draws = 2_000
reported = "IBM/differential-privacy-library issue 107"


def draw(copies):
    import numpy as np
    from diffprivlib import BudgetAccountant, tools

    records, ledger = np.full(copies, 65000.0), BudgetAccountant()
    return float(tools.median(records, epsilon=1.0, bounds=(0, 100000), accountant=ledger))
