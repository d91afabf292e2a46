"""Summaries of tables of records, such as the synthetic data that a generator returns.

The rows of a synthetic table have no order, and the labels of a whole table hardly ever occur
twice. An audit therefore compares numbers that are computed from each table: how often labels
occur, and the location, spread and extremes of numeric columns. The bounds of the audit are valid
for the tables because a function of an output reveals no more than the output.

References:
    Stadler, Oprisanu, Troncoso (2022), "Synthetic Data -- Anonymisation Groundhog Day", for attacks
    that compare summaries of synthetic tables.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any
from zlib import crc32

import numpy as np

from dpjax.core.wording import BadType, BadValue
from dpjax.partitions._features import clipped
from dpjax.partitions._records import Records, label_text, number_of
from dpjax.partitions.missing import is_table
from dpjax.partitions.previews import described

_MOST_LABELS, _BUCKETS = 32, 16
"""If a column has more than _MOST_LABELS different labels, a checksum assigns each label to one of
_BUCKETS groups, and the rows of each group are counted.
"""

_SMALL = 16
"""In a column of integers, rows with each value of at least 0 and below _SMALL are counted."""

_FEWEST, _MOST_NUMBERS = 10, 1000
"""Smallest number of rows of a data frame that is summarized without a request, and the largest
number of numbers in a frame without labels whose entries are compared, too.
"""

_QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)

_MOST_COMBINED, _MOST_JOINT = 4, 16
"""Limits on statistics of two columns. The first _MOST_COMBINED columns of labels are combined with
one another, and so are the first _MOST_COMBINED numeric columns. Rows with two labels are counted
only if at most _MOST_JOINT combinations occur.
"""

_MOST_WIDE = 20
"""If a table has more than _MOST_WIDE columns, quantiles and statistics of two columns are left
out.
"""


class TableSummary(dict[str, float]):
    """The numbers that summarize one table, by name; see `summarize_table`.

    An audit compares summaries name by name. A number that a summary lacks counts as 0.
    """


def summarize_table(table: Any, targets: Sequence[Any] = ()) -> TableSummary:
    """Summarize a table of records by numbers that do not depend on the order of its rows.

    An audit of a function that returns data frames summarizes each frame that has at least ten rows
    and two rows with equal labels. To summarize other tables, or to look for certain records, call
    `summarize_table` in the audited function.

    The summary contains the number of rows, the number of different rows, and the size of the
    largest group of equal rows. For each column of labels, the summary contains the number of rows
    with each label. For each numeric column, it contains the mean, the standard deviation, the
    extremes, five quantiles, the number of different values, and the number of rows with the most
    frequent value. For two columns, it contains the number of rows with two labels, or the
    correlation of two numbers.

    Args:
        table: A table of pandas, Polars or Arrow, a dict of columns, a list of records (dicts or
            tuples), a structured array, or an array of the shape [rows, columns].
        targets: Records to look for, such as the record in which two databases differ. A target is
            a dict, a tuple with one entry per column, or a pandas Series. For each target, the
            summary contains the number of rows that are equal to the target, the largest number of
            entries that a row has in common with the target, and the distance of the nearest row.
            The distance is the sum of the absolute differences of numbers, each divided by the
            column's standard deviation, plus the number of labels that differ.

    Raises:
        TypeError: If `table` is not a table, or if a target is not a record.
        ValueError: If the columns differ in length, or if a target lacks a column of the table.
    """
    return _summary(Records.of(table), targets)


def summary_of_output(output: Any) -> TableSummary | None:
    """Return the summary of a data frame if its rows have no meaning of their own, else None.

    The result is None if the frame has few rows, or if all rows have different labels: the rows of
    a query's answer are groups of records.
    """
    if not is_table(type(output)) or len(output) < _FEWEST:
        return None
    records = Records.of(output)
    keys = list(zip(*records.labels.values(), strict=True))
    return None if keys and len({*keys}) == len(keys) else _summary(records, ())


def has_comparable_entries(output: Any) -> bool:
    """Return whether a data frame consists of a moderate number of numbers, without labels.

    Such a frame may be the answer to a query, so its entries are compared, beside its summary.
    """
    records = Records.of(output)
    return not records.labels and records.size * len(records.names) <= _MOST_NUMBERS


def _summary(records: Records, targets: Sequence[Any]) -> TableSummary:
    groups = Counter(records.rows)
    found = TableSummary({"rows": records.size, "different rows": len(groups)})
    found["rows in the largest group of equal rows"] = max(groups.values(), default=0)
    is_wide = len(records.names) > _MOST_WIDE
    for name, column in records.numbers.items():
        found.update(_of_numbers(name, column, is_wide))
    for name, column in records.labels.items():
        found.update(_of_labels(name, column))
    if not is_wide:
        found.update(_of_two_columns(records))
    for place, target in enumerate(targets):
        found.update(_of_target(place, target, records))
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
    if np.array_equal(finite, np.floor(finite)):
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
    """Return counts of two labels, and correlations of two numeric columns."""
    found: dict[str, float] = {}
    for one, other in combinations([*records.labels][:_MOST_COMBINED], 2):
        pairs = Counter(zip(records.labels[one], records.labels[other], strict=True))
        for (first, second), count in pairs.items() if len(pairs) <= _MOST_JOINT else ():
            found[f"rows with {one} {first} and {other} {second}"] = count
    for one, other in combinations([*records.numbers][:_MOST_COMBINED], 2):
        x, y = (clipped(records.numbers[name]) for name in (one, other))
        is_known = ~(np.isnan(x) | np.isnan(y))
        found[f"correlation of {one} and {other}"] = _correlation(x[is_known], y[is_known])
    return found


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    if x.size < 2 or not (x.std() and y.std()):
        return 0.0
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    return float((x * y).mean())


def _of_target(place: int, target: Any, records: Records) -> dict[str, float]:
    """Return how similar the rows of a table are to a target."""
    record = _record(place, target, records.names)
    equal, distance = np.zeros(records.size, int), np.zeros(records.size)
    for name, column in records.numbers.items():
        value = number_of(record[name])
        value = float("nan") if value is None else value
        is_equal = (column == value) | (np.isnan(column) & np.isnan(value))
        finite = clipped(column[np.isfinite(column)])
        scale = float(finite.std()) if finite.size else 0.0
        with np.errstate(invalid="ignore", over="ignore"):
            gap = np.abs(clipped(column) - clipped(np.array(value))) / (scale or 1.0)
        equal += is_equal
        distance += np.where(is_equal, 0.0, np.nan_to_num(gap, nan=1.0, posinf=1.0))
    for name, column in records.labels.items():
        text = label_text(record[name])
        is_equal = np.array([label == text for label in column], bool)
        equal += is_equal
        distance += ~is_equal
    return {
        f"rows equal to target {place}": int((equal == len(records.names)).sum()),
        f"entries in common with target {place}": int(equal.max(initial=0)),
        f"distance to target {place}": float(distance.min(initial=np.inf)) if records.size else 0.0,
    }


def _record(place: int, target: Any, names: Sequence[str]) -> Mapping[str, Any]:
    """Return a target as a map from the name of each column to the target's entry."""
    if not isinstance(target, Mapping) and hasattr(target, "to_dict"):
        target = target.to_dict()
    if isinstance(target, list | tuple | np.ndarray):
        if len(target) != len(names):
            raise BadValue(
                f"targets[{place}] must have one entry per column, but had {len(target)} entries, "
                f"and the table has {len(names)} columns."
            )
        return dict(zip(names, target, strict=True))
    if not isinstance(target, Mapping):
        raise BadType(
            f"targets[{place}] must be a dict, a tuple or a Series, but was {described(target)}."
        )
    found = {str(name): entry for name, entry in target.items()}
    absent = [name for name in names if name not in found]
    if absent:
        raise BadValue(
            f"targets[{place}] must have an entry for each column, but lacked {absent[0]!r}."
        )
    return found


def _without_zeros(found: dict[str, float]) -> dict[str, float]:
    """Leave out numbers of rows that are 0, which are the same in every table that lacks them."""
    return {name: number for name, number in found.items() if number or "rows" not in name}
