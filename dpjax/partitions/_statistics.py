"""Statistics that summarize a table, and the similarity of its rows to given records."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from zlib import crc32

import numpy as np

from dpjax.partitions._features import LARGE, clipped
from dpjax.partitions._records import Records
from dpjax.partitions._row_order import correlation, explained, of_order
from dpjax.partitions._summary import Summary

_MOST_LABELS, _BUCKETS = 32, 16
"""If a column has more than _MOST_LABELS different labels, a checksum assigns each label to one of
_BUCKETS groups, and the rows of each group are counted.
"""

_SMALL = 16
"""In a column of integers, rows with each value of at least 0 and below _SMALL are counted."""

_LARGE_UNITS, _UNITS, _ROUNDED = (10.0,), (1.0, 0.1, 0.01), 1e-6
"""Units of columns that may be rounded: _LARGE_UNITS of integers, and _UNITS of others. Rows are
counted whose number is a multiple of a unit, up to the fraction _ROUNDED of the unit.
"""

_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)

_MOST_COMBINED, _MOST_JOINT, _MOST_JOINT_OF_TWO = 4, 16, 64
"""Limits on statistics of two columns. The first _MOST_COMBINED columns of labels and the first
_MOST_COMBINED numeric columns are combined. Rows with two labels are counted only if at most
_MOST_JOINT combinations occur, or _MOST_JOINT_OF_TWO if a table has only two columns of labels.
With more such columns, the combinations would outnumber other statistics.
"""

_MOST_MATCHED = 6
"""Rows that have two entries of a target are counted for each two of its first columns."""

_MOST_WIDE = 20
"""If a table has more than _MOST_WIDE columns, quantiles and statistics of two columns are left
out.
"""

Target = Mapping[str, float | str | None]
"""A record: the number or the text of each entry, by the name of the column."""


def statistics_of(records: Records, targets: Mapping[str, Target]) -> Summary:
    """Return the numbers that summarize a table."""
    groups = Counter(records.rows)
    found = Summary({"rows": records.size, "different rows": len(groups)})
    found["rows in the largest group of equal rows"] = max(groups.values(), default=0)
    is_wide = len(records.names) > _MOST_WIDE
    for name, column in records.numbers.items():
        found.update(_of_numbers(name, column, is_wide))
    for name, column in records.labels.items():
        found.update(_of_labels(name, column))
    if not is_wide:
        found.update(_of_two_columns(records) | of_order(records))
    scales = {name: _scale(column) for name, column in records.numbers.items()} if targets else {}
    for name, target in targets.items():
        found.update(_of_target(name, target, records, scales))
    return found


def _of_numbers(name: str, column: np.ndarray, is_wide: bool) -> dict[str, float]:
    """Return statistics of a numeric column."""
    finite = np.sort(clipped(column[np.isfinite(column)]))
    found: dict[str, float] = {f"rows without {name}": int(np.isnan(column).sum())}
    found[f"rows with infinite {name}"] = int(np.isinf(column).sum())
    if not finite.size:
        return _without_zeros(found)
    ends = np.flatnonzero(np.diff(finite, append=np.inf))
    found |= {f"different values of {name}": ends.size}
    found[f"rows with the most frequent {name}"] = int(np.diff(ends, prepend=-1).max())
    found[f"mean of {name}"] = float(finite.mean())
    found[f"deviation of {name}"] = float(finite.std())
    found[f"smallest {name}"], found[f"largest {name}"] = float(finite[0]), float(finite[-1])
    for quantile in () if is_wide else _QUANTILES:
        value = float(finite[round(quantile * (finite.size - 1))])
        found[f"{quantile}-quantile of {name}"] = value
    is_whole = np.array_equal(finite, np.floor(finite))
    for unit in _LARGE_UNITS if is_whole else _UNITS:
        is_multiple = np.abs(finite / unit - np.round(finite / unit)) < _ROUNDED
        found[f"rows with {name} a multiple of {unit:g}"] = int(is_multiple.sum())
    if is_whole:
        small = finite[(finite >= 0) & (finite < _SMALL)].astype(int)
        counts = np.bincount(small, minlength=_SMALL).tolist()
        found |= {f"rows with {name} {value}": count for value, count in enumerate(counts)}
    return _without_zeros(found)


def _of_labels(name: str, column: Sequence[str | None]) -> dict[str, float]:
    """Return the number of rows with each label."""
    counts = Counter(column)
    found: dict[str, float] = {
        f"rows without {name}": counts.pop(None, 0),
        f"different values of {name}": len(counts),
    }
    if len(counts) <= _MOST_LABELS:
        return _without_zeros(found | {f"rows with {name} {v}": n for v, n in counts.items()})
    found[f"rows with the most frequent {name}"] = max(counts.values())
    for label, count in counts.items():
        group = f"rows with {name} in group {crc32(str(label).encode()) % _BUCKETS}"
        found[group] = found.get(group, 0) + count
    return _without_zeros(found)


def _of_two_columns(records: Records) -> dict[str, float]:
    """Return counts of two labels, and measures of the dependence of two columns."""
    found: dict[str, float] = {}
    labels = [*records.labels][:_MOST_COMBINED]
    most_joint = _MOST_JOINT_OF_TWO if len(records.labels) == 2 else _MOST_JOINT
    numbers = {name: clipped(records.numbers[name]) for name in [*records.numbers][:_MOST_COMBINED]}
    for one, other in combinations(labels, 2):
        pairs = Counter(zip(records.labels[one], records.labels[other], strict=True))
        found[f"dependence of {one} and {other}"] = _contingency(pairs)
        for (first, second), count in pairs.items() if len(pairs) <= most_joint else ():
            found[f"rows with {one} {first} and {other} {second}"] = count
    for name in labels:
        known: dict[str | None, int] = {}
        codes = np.array([known.setdefault(v, len(known)) for v in records.labels[name]], int)
        for other, column in numbers.items():
            found[f"dependence of {other} on {name}"] = explained(column, codes)
    for one, other in combinations(numbers, 2):
        x, y = numbers[one], numbers[other]
        is_known = ~(np.isnan(x) | np.isnan(y))
        found[f"correlation of {one} and {other}"] = correlation(x[is_known], y[is_known])
    return found


def _contingency(pairs: Mapping[tuple[str | None, str | None], int]) -> float:
    """Return the mean square contingency of two labels, which is 0 if they are independent."""
    rows, columns = Counter[str | None](), Counter[str | None]()
    for (first, second), count in pairs.items():
        rows[first] += count
        columns[second] += count
    return sum(n * n / (rows[i] * columns[j]) for (i, j), n in pairs.items()) - 1 if pairs else 0.0


def _scale(column: np.ndarray) -> float:
    """Return the standard deviation by which the distances in a column are divided."""
    finite = clipped(column[np.isfinite(column)])
    return (float(finite.std()) if finite.size else 0.0) or 1.0


def _of_target(
    name: str, target: Target, records: Records, scales: Mapping[str, float]
) -> dict[str, float]:
    """Return how similar the rows of a table are to a target, which may lack the index."""
    equal, distance = np.zeros(records.size, int), np.zeros(records.size)
    found, matches = dict[str, float](), dict[str, np.ndarray]()
    for column_name, column in records.numbers.items():
        if column_name not in target:
            continue
        given = target[column_name]
        value = given if isinstance(given, float) else float("nan")
        is_missing = np.isnan(value) and not isinstance(given, str)
        is_equal = np.isnan(column) if is_missing else column == value
        with np.errstate(invalid="ignore", over="ignore"):
            gap = np.abs(clipped(column) - clipped(np.array(value))) / scales[column_name]
        matches[column_name] = is_equal
        equal += is_equal
        distance += np.where(is_equal, 0.0, np.nan_to_num(gap, nan=1.0, posinf=LARGE))
    for column_name, column in records.labels.items():
        if column_name not in target:
            continue
        is_equal = np.array([label == target[column_name] for label in column], bool)
        matches[column_name] = is_equal
        equal += is_equal
        distance += ~is_equal
    if len(matches) > 2:
        for (one, first), (other, second) in combinations([*matches.items()][:_MOST_MATCHED], 2):
            found[f"rows with the {one} and {other} of {name}"] = int((first & second).sum())
    return _without_zeros(found) | {
        f"rows equal to {name}": int((equal == len(target)).sum()),
        f"entries in common with {name}": int(equal.max(initial=0)),
        f"distance to {name}": float(distance.min(initial=np.inf)) if records.size else 0.0,
        f"row number of the row nearest to {name}": int(distance.argmin()) if records.size else 0,
    }


def _without_zeros(found: dict[str, float]) -> dict[str, float]:
    """Leave out numbers of rows that are 0, which are the same in every table that lacks them."""
    return {name: number for name, number in found.items() if number or "rows" not in name}
