"""Tables of records as columns of numbers and labels."""

from collections.abc import Collection, Mapping, Sequence, Set
from datetime import date, datetime, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from dpjax.core.arrays import to_numpy
from dpjax.core.wording import BadType, BadValue
from dpjax.partitions.missing import (
    Raised,
    as_columns,
    entries,
    has_index,
    is_array,
    is_table,
    missing,
    unmasked,
)
from dpjax.partitions.previews import described

_LONGEST = 40
"""Longest text of a label, in characters. The rest of a longer text is replaced by a checksum."""

INDEX = "index"
"""Name of the column of the labels of rows, unless these are just the row numbers."""

_EPOCH = datetime(1970, 1, 1)
"""Date that counts as day 0, which is that of NumPy."""

Row = tuple[float | str | None, ...]


class Records(NamedTuple):
    """The columns of a table.

    Attributes:
        size: Number of rows.
        names: Names of all columns, in the order of the table.
        numbers: Map from the name of each numeric column to float64 [rows]. NaN marks missing
            values.
        labels: Map from the name of each other column to the text of each entry, or None for a
            missing value.
    """

    size: int
    names: tuple[str, ...]
    numbers: dict[str, np.ndarray]
    labels: dict[str, list[str | None]]

    @classmethod
    def of(cls, table: Any) -> "Records":
        """Read the columns of a table; see `summarize` for the accepted types."""
        given = columns_of(table)
        columns = {str(name): column for name, column in given.items()}
        if len(columns) < len(given):
            raise BadValue(f"table must have columns whose names differ as text, not {[*given]}.")
        _check_columns(columns)
        sizes = {len(column) for column in columns.values()}
        if len(sizes) > 1:
            raise BadValue(
                "table must have columns of equal length, but the lengths were "
                f"{', '.join(f'{len(c)} ({name!r})' for name, c in columns.items())}."
            )
        numbers, labels = {}, {}
        for name, column in columns.items():
            found = _numbers(column)
            if found is not None:
                numbers[name] = found
            else:
                labels[name] = _texts(column)
        size = next(iter(sizes), len(table) if is_table(type(table)) else 0)
        return cls(size, tuple(columns), numbers, labels)

    @property
    def rows(self) -> list[Row]:
        """The rows: the numbers, followed by the labels. None stands for a missing value."""
        numbers = [
            [None if number != number else number for number in column.tolist()]
            for column in self.numbers.values()
        ]
        if not self.names:
            return [()] * self.size
        return list(zip(*numbers, *self.labels.values(), strict=True))

    def named(self, row: Row) -> dict[str, float | str | None]:
        """Return the entries of one of the `rows` by the names of their columns."""
        return dict(zip([*self.numbers, *self.labels], row, strict=True))


def _check_columns(columns: Mapping[str, Any]) -> None:
    """Raise an error if a column is not a collection of entries in the order of the rows."""
    for name, column in columns.items():
        has_order = isinstance(column, Collection) and not isinstance(
            column, Mapping | Set | str | bytes
        )
        if not has_order or getattr(column, "ndim", 1) != 1:
            raise BadType(
                "table must have columns that are lists or arrays of one entry per row, but "
                f"column {name!r} was {described(column)}."
            )


def as_records(part: Any) -> Any:
    """Return a series as a table if its entries have labels, and else as a list.

    Any other object is returned unchanged.
    """
    if not has_index(type(part)) or is_table(type(part)):
        return part
    content, counted = entries(part), [*range(len(part))]
    if part.index.tolist() == counted or not isinstance(content, list):
        return content
    return dict(zip((INDEX, "value"), content, strict=True))


def without_index(table: Any) -> Any:
    """Return a table whose rows have no labels other than the row numbers."""
    return table.reset_index(drop=True) if has_index(type(table)) else table


def label_text(label: Any) -> str | None:
    """Return the text of a label, or None for a missing value."""
    if type(label) is not str:  # Most labels are, and the other tests take longer.
        is_nan = isinstance(label, float | np.floating) and np.isnan(label)
        if is_nan or missing(label) not in (None, "empty text", "empty bytes"):
            return None
    text = repr(label.item() if isinstance(label, np.generic) else label)
    if len(text) <= _LONGEST:
        return text
    return f"{text[:_LONGEST]}... ({crc32(text.encode()):08x})"


def number_of(entry: Any) -> float | None:
    """Convert a number or date to a float, a missing value to NaN, and anything else to None.

    Dates are converted to days since 1970-01-01, and durations to days.
    """
    if isinstance(entry, bool | np.bool_ | str | bytes):
        return float("nan") if isinstance(entry, Raised) else None
    is_duration = isinstance(entry, np.timedelta64)  # NumPy treats durations as integers.
    if isinstance(entry, Real | Decimal) and not is_duration:
        return _float(entry)
    if is_array(type(entry)) and not entry.ndim:
        return number_of(entry.item())
    if missing(entry) is not None:
        return float("nan")
    if isinstance(entry, np.datetime64):
        return _float((entry - np.datetime64(0, "D")) / np.timedelta64(1, "D"))
    if is_duration:
        return _float(entry / np.timedelta64(1, "D"))
    if isinstance(entry, timedelta):
        return entry / timedelta(days=1)
    if isinstance(entry, datetime):
        return (entry.replace(tzinfo=None) - _EPOCH) / timedelta(days=1)
    return float(entry.toordinal() - _EPOCH.toordinal()) if isinstance(entry, date) else None


def unit_of(entry: Any) -> str:
    """Return the unit of a date's or duration's number, and "" for other objects."""
    if isinstance(entry, np.datetime64 | date):
        return "days since 1970-01-01"
    return "days" if isinstance(entry, np.timedelta64 | timedelta) else ""


def _float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:
        return float("-inf") if number < 0 else float("inf")
    except ValueError:  # The signaling NaN of Decimal.
        return float("nan")


def _numbers(column: Any) -> np.ndarray | None:
    """Return a column as float64, or None if it contains labels or is missing altogether."""
    if isinstance(column, np.ndarray) and column.dtype.kind in "iuf":
        return column.astype(np.float64)
    if isinstance(column, np.ndarray) and column.dtype.kind in "bUS":
        return None
    if (days := _days(column)) is not None:
        return days
    numbers: list[float] = []
    for entry in column:
        number = entry if type(entry) is float else number_of(entry)
        if number is None:
            return None
        numbers.append(number)
    found = np.array(numbers)
    return None if np.isnan(found).all() else found


def _days(column: Any) -> np.ndarray | None:
    """Convert dates to days since 1970-01-01 all at once, or return None if that is impossible.

    Dates with a time zone, and mixtures of several types, are left to `number_of`.
    """
    kinds = {*map(type, column)}
    if kinds == {date}:
        return np.array([entry.toordinal() for entry in column], float) - _EPOCH.toordinal()
    if kinds == {np.datetime64}:
        return (np.array(column) - np.datetime64(0, "D")) / np.timedelta64(1, "D")
    if not kinds or not all(issubclass(kind, datetime) for kind in kinds):
        return None
    if {entry.tzinfo for entry in column} != {None}:
        return None
    if kinds == {datetime}:
        return np.array([*column], "datetime64[us]").astype(np.int64) / 86_400e6
    try:  # Dates of pandas contain their number of nanoseconds.
        nanoseconds = np.array([entry.value for entry in column], np.int64)
    except (AttributeError, OverflowError):
        return None
    # The smallest integer marks a missing date.
    is_missing = nanoseconds == np.iinfo(np.int64).min
    # Microseconds are below 2^53, so that the first quotient is exact up to one rounding.
    days = nanoseconds // 1000 / 86_400e6 + nanoseconds % 1000 / 86_400e9
    return np.where(is_missing, np.nan, days)


def _texts(column: Any) -> list[str | None]:
    """Return the text of each label."""
    texts: dict[str, str | None] = {}
    found = []
    for label in column:
        if type(label) is not str:
            found.append(label_text(label))
            continue
        if label not in texts:
            texts[label] = label_text(label)
        found.append(texts[label])
    return found


def columns_of(table: Any) -> Mapping[Any, Any]:
    """Return the columns of a table as arrays or lists."""
    if is_table(type(table)):
        columns = as_columns(table)
        if columns is None:  # The columns are named 0, 1, and so on.
            columns = {name: list(table[name]) for name in table.columns}
        index = table.index.tolist() if has_index(type(table)) else None
        if index not in (None, [*range(len(table))]):
            columns = {INDEX: index, **columns}
        return columns
    if isinstance(table, Mapping):
        return {name: _listed(column) for name, column in table.items()}
    if isinstance(table, np.ndarray) and table.dtype.names:
        return {name: _listed(table[name]) for name in table.dtype.names}
    if isinstance(table, Sequence) and table and all(isinstance(row, Mapping) for row in table):
        names = dict.fromkeys(name for row in table for name in row)
        return {name: [row.get(name) for row in table] for name in names}
    if isinstance(table, Sequence) and not isinstance(table, str | bytes):
        if not table:
            return {}
        widths = {len(row) if isinstance(row, list | tuple | np.ndarray) else 0 for row in table}
        if len(widths) == 1 and widths != {0}:
            return dict(enumerate(map(list, zip(*table, strict=True))))
    elif hasattr(table, "__array__") and getattr(table, "ndim", 0) == 2:
        return dict(enumerate(map(_listed, _listed(table).T)))
    raise BadType(
        "table must be a table of pandas, Polars or Arrow, a dict of columns, a list of records, "
        f"or an array of the shape [rows, columns], but was {described(table)}."
    )


def _listed(column: Any) -> Any:
    """Return an array without a mask, or the column itself if it is no array."""
    if isinstance(column, np.ndarray):
        return unmasked(column)
    return to_numpy(column) if hasattr(column, "__array__") else column
