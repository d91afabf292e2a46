"""Summaries of tables of records, such as the synthetic data that a generator returns.

The rows of a synthetic table have no order, and the labels of a whole table hardly ever occur
twice. An audit therefore compares numbers that are computed from each table: how often labels
occur, and the location, spread and extremes of numeric columns. The bounds of the audit are valid
for the tables because a function of an output reveals no more than the output.

References:
    Stadler, Oprisanu, Troncoso (2022), "Synthetic Data -- Anonymisation Groundhog Day", for attacks
    that compare summaries of synthetic tables.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np

from dpjax.core.wording import BadType, BadValue
from dpjax.partitions._records import (
    INDEX,
    Records,
    columns_of,
    label_text,
    number_of,
    without_index,
)
from dpjax.partitions._summaries import TableSummary, Target, Targets, summary_of
from dpjax.partitions.missing import is_table
from dpjax.partitions.previews import described

_FEWEST, _MOST_NUMBERS = 10, 1000
"""Smallest number of rows of a data frame that is summarized without a request, and the largest
number of numbers in a frame without labels whose entries are compared, too.
"""

_LONGEST, _MOST_TARGETS = 10_000, 4
"""Largest number of rows of two data frames whose differences are targets, and the largest number
of such targets.
"""


def summarize_table(table: Any, targets: Sequence[Any] = ()) -> TableSummary:
    """Summarize a table of records by numbers that do not depend on the order of its rows.

    If an audited function returns data frames with at least ten rows, dpjax summarizes them and
    looks for the rows in which the two databases differ, unless each row of a frame seems to stand
    for a group of records. To summarize other tables, or to look for other records, call
    `summarize_table` in the audited function, and return the result.

    The summary contains the number of rows, the number of different rows, and the size of the
    largest group of equal rows. For each column of labels, the summary contains the number of rows
    with each label. For each numeric column, it contains the mean, the standard deviation, the
    extremes, five quantiles, the number of different values, and the number of rows with the most
    frequent value. For two columns, it contains the number of rows with two labels, the mean square
    contingency of two labels, the fraction of the variance of numbers that the labels explain, or
    the correlation of two numbers.

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
    records = Records.of(table)
    named = {f"target {n}": _record(n, target, records) for n, target in enumerate(targets)}
    return summary_of(records, named)


def summary_of_output(output: Any, targets: Callable[[], Targets]) -> TableSummary | None:
    """Return the summary of a data frame if its rows have no meaning of their own, else None.

    The result is None if the frame has few rows, or if each row stands for a group of records, as
    in the answer to a query.

    Args:
        output: Any output.
        targets: Function that returns records to look for.
    """
    if not is_table(type(output)) or len(output) < _FEWEST:
        return None
    try:
        records = Records.of(output)
    except BadValue as error:
        raise BadValue(f"a table that cannot be summarized: {error}") from None
    if _has_groups(records):
        return None
    columns = {*records.names}
    found = {k: t for k, t in targets().items() if t.keys() in (columns, columns - {INDEX})}
    return summary_of(records, found)


def _has_groups(records: Records) -> bool:
    """Return whether each row probably stands for a group of records, which its labels name.

    All rows of such a table have different labels. This also holds for many tables of records with
    several columns of labels. However, groups are sorted, or most combinations of labels occur.
    """
    keys = list(zip(*records.labels.values(), strict=True))
    if not keys or len({*keys}) < len(keys):
        return False
    texts = [tuple(map(str, key)) for key in keys]
    num_combinations = math.prod(len({*column}) for column in records.labels.values())
    return len(records.labels) == 1 or texts == sorted(texts) or 2 * len(keys) >= num_combinations


def targets_of(database: Any, neighbor: Any) -> Targets:
    """Return the rows in which two data frames differ, or none if these are many.

    The labels of the rows do not count, because a function that removes a row may renumber the
    others.
    """
    sides = {"database": database, "neighbor": neighbor}
    if not all(is_table(type(side)) and len(side) <= _LONGEST for side in sides.values()):
        return {}
    try:
        records = {name: Records.of(without_index(side)) for name, side in sides.items()}
    except (TypeError, ValueError):  # Only the function has to read the databases.
        return {}
    rows = {name: Counter(side.rows) for name, side in records.items()}
    targets: Targets = {}
    for name, other in (("database", "neighbor"), ("neighbor", "database")):
        for number, row in enumerate(rows[name] - rows[other]):
            targets[f"row {number} that only the {name} has"] = records[name].named(row)
    return targets if len(targets) <= _MOST_TARGETS else {}


def has_comparable_entries(output: Any) -> bool:
    """Return whether a data frame consists of a moderate number of numbers, without labels.

    Such a frame may be the answer to a query, so its entries are compared, beside its summary. A
    column of increasing dates may name the rows of the answer. Other dates would be labels that
    hardly any two tables share.
    """
    columns = columns_of(output).values()
    is_moderate = len(output) * len(columns) <= _MOST_NUMBERS
    return is_moderate and all(_has_numbers(column) or _increases(column) for column in columns)


def _has_numbers(column: Any) -> bool:
    if isinstance(column, np.ndarray):
        return column.dtype.kind in "iuf"
    return {*map(type, column)} <= {int, float}


def _increases(column: Any) -> bool:
    """Return whether a column consists of dates, each of which is later than the one before."""
    are_dates = all(isinstance(entry, date | np.datetime64) for entry in column)
    try:
        return are_dates and all(first < second for first, second in pairwise(column))
    except TypeError:  # Some dates have a time zone, and others have none.
        return False


def _record(place: int, target: Any, records: Records) -> Target:
    """Return a target's number or text in each column of a table."""
    names, without = records.names, [name for name in records.names if name != INDEX]
    if not isinstance(target, Mapping) and hasattr(target, "to_dict"):
        target = target.to_dict()
    if isinstance(target, list | tuple | np.ndarray):
        names = without if len(target) == len(without) else names
        if len(target) != len(names):
            raise BadValue(
                f"targets[{place}] must have one entry per column, but had {len(target)} entries, "
                f"and the table has {len(names)} columns."
            )
        target = dict(zip(names, target, strict=True))
    if not isinstance(target, Mapping):
        raise BadType(
            f"targets[{place}] must be a dict, a tuple or a Series, but was {described(target)}."
        )
    found = {str(name): entry for name, entry in target.items()}
    names = names if INDEX in found else without
    absent = [name for name in names if name not in found]
    if absent:
        raise BadValue(
            f"targets[{place}] must have an entry for each column, but lacked {absent[0]!r}."
        )
    return {name: _entry(found[name], is_number=name in records.numbers) for name in names}


def _entry(entry: Any, *, is_number: bool) -> float | str | None:
    """Return a number or text; a text in a column of numbers equals no entry of the column."""
    number = number_of(entry) if is_number else None
    return label_text(entry) if number is None else number
