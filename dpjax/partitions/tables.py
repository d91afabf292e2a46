"""Summaries of tables of records, such as the synthetic data that a generator returns.

The rows of a synthetic table have no order, and hardly any table occurs twice. An audit therefore
compares how often labels occur, and the location, spread and extremes of numeric columns. A few
numbers depend on the order of rows, in case a mechanism does not shuffle them. If each row stands
for a group of records, its numbers are compared with those of the same group in other tables.

References:
    Stadler, Oprisanu, Troncoso (2022), "Synthetic Data -- Anonymisation Groundhog Day", for attacks
    that compare summaries of synthetic tables.
"""

from collections.abc import Callable, Mapping
from datetime import date
from itertools import pairwise
from typing import Any

import numpy as np

from dpjax.core.wording import BadType, BadValue
from dpjax.partitions._groups import has_groups, of_groups
from dpjax.partitions._records import (
    INDEX,
    Records,
    columns_of,
    label_text,
    number_of,
)
from dpjax.partitions._statistics import Target, statistics_of
from dpjax.partitions._summary import Summary, Targets
from dpjax.partitions.missing import is_table
from dpjax.partitions.previews import described

_FEWEST, _MOST_NUMBERS = 10, 1000
"""Smallest number of rows of a data frame that is summarized without a request, and the largest
number of numbers in a frame without labels whose entries are compared, too.
"""


def summary_of_table(table: Any, targets: Targets, *, strict: bool = True) -> Summary:
    """Return the summary of a table of records; see `summarize`.

    Args:
        table: The table.
        targets: Records to look for.
        strict: Whether to raise an error if a target lacks a column. Otherwise, the target is
            ignored.

    Raises:
        TypeError: If a target is not a record.
        ValueError: If the table has two columns of the same name, or if a target lacks a column.
    """
    records = Records.of(table)
    found = {}
    for place, (name, target) in enumerate(targets.items()):
        try:
            found[name] = _record(place, target, records)
        except (BadType, BadValue):
            if strict:
                raise
    return statistics_of(records, found) | of_groups(records)


def summary_of_output(
    output: Any, targets: Callable[[], Targets], *, of_records: bool = False
) -> Summary | None:
    """Return the summary of a data frame if its rows have no meaning of their own, else None.

    The result is None if the frame has few rows, or if each row stands for a group of records, as
    in the answer to a query.

    If `of_records` is True, the rows of every frame are regarded as records.
    """
    if not is_table(type(output)) or (len(output) < _FEWEST and not of_records):
        return None
    try:
        records = Records.of(output)
    except BadValue as error:
        raise BadValue(f"a table that cannot be summarized: {error}") from None
    if has_groups(records) and not of_records:
        return None
    columns = {*records.names}
    found = {
        name: _record(0, target, records)
        for name, target in targets().items()
        if isinstance(target, Mapping) and target.keys() in (columns, columns - {INDEX})
    }
    return statistics_of(records, found)


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
