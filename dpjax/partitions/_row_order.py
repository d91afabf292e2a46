"""Statistics of the order of a table's rows.

Rows of records have no order, unless a mechanism sorted them, did not shuffle them, or appended
some of them.
"""

from itertools import pairwise

import numpy as np

from dpjax.partitions._features import clipped
from dpjax.partitions._records import Records

_MOST_LABELS = 32
"""Largest number of different labels in a column whose first and last label are compared."""


def of_order(records: Records) -> dict[str, float]:
    """Return the first and last entries, and statistics of columns and row numbers."""
    rows = records.rows
    repeated = sum(one == other for one, other in pairwise(rows))
    found: dict[str, float] = {"rows equal to the row before": repeated} if repeated else {}
    places = np.arange(records.size, dtype=float)
    for name, column in records.numbers.items():
        is_known = ~np.isnan(column)
        numbers = clipped(column[is_known])
        found[f"correlation of {name} and row number"] = correlation(places[is_known], numbers)
        if numbers.size:
            found |= {f"first {name}": float(numbers[0]), f"last {name}": float(numbers[-1])}
    for name, column in records.labels.items():
        ranks = {text: rank for rank, text in enumerate(sorted({label or "" for label in column}))}
        codes = np.array([ranks[label or ""] for label in column], int)
        found[f"dependence of row number on {name}"] = explained(places, codes)
        if 0 < len(ranks) <= _MOST_LABELS:
            found[f"alphabetical place of the first {name}"] = int(codes[0])
            found[f"alphabetical place of the last {name}"] = int(codes[-1])
    return found


def explained(column: np.ndarray, codes: np.ndarray) -> float:
    """Return the fraction of a column's variance that lies between groups of rows.

    Args:
        column: float64 [rows].
        codes: The group of each row, int [rows].
    """
    is_known = ~np.isnan(column)
    x, codes = column[is_known], codes[is_known]
    if x.size < 2 or not x.std():
        return 0.0
    x = (x - x.mean()) / x.std()
    sums, sizes = np.bincount(codes, x), np.bincount(codes)
    return float((sums[sizes > 0] ** 2 / sizes[sizes > 0]).sum()) / x.size


def correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Return the correlation of two columns, or 0 if one of them is constant."""
    if x.size < 2 or not (x.std() and y.std()):
        return 0.0
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    return float((x * y).mean())
