"""Checks of files whose rows are read as vectors because no column was chosen."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from dpjax.core.errors import nearest
from dpjax.sources.readers._entries import GROUPED, decimal_comma_text, is_integer, is_number

LOOKED_AT = 100
"""Number of rows, from the beginning of a file, that are examined to detect row numbers."""

_ENOUGH = 10
_LONGEST = 10
"""Maximum number of digits in the name of a column."""

_DELIMITERS = ";\t|, "
_SEPARATE = (
    "separate entries by commas in csv files, by tabs in tsv files, and by white space in txt files"
)
_SHOWN = 60
_INDEX_NAMES = {"", "unnamed: 0", "__index_level_0__"}
_PERHAPS_INDEX_NAMES = {"index", "id"}
"""Column names that suggest row numbers. A column with such a name is assumed to contain row
numbers unless a value occurs twice in it.
"""


def without_indices(names: Sequence[str]) -> list[str]:
    """Return the names of a table's columns, or [] if the names are only indices."""
    return [] if [*names] == [*map(str, range(len(names)))] else [*names]


def place_of(column: str | int | None, names: list[str]) -> int | None:
    """Return the index of a column that is given by its name or index, or None for None.

    Raises:
        ValueError: If the file has no such column, or several columns of this name.
    """
    if column is None:
        return None
    if isinstance(column, str) and column in names:
        if names.count(column) > 1 and not column.isdecimal():
            raise ValueError(
                f"has several columns named {column!r}: pass the index of the column, such as "
                f"{names.index(column)}, or rename the columns"
            )
        return names.index(column)
    try:
        place = int(column)
    except ValueError:
        for sign in _DELIMITERS.rstrip(", "):  # Names may contain commas and spaces.
            for name in names:
                if sign in name and str(column) in map(str.strip, name.split(sign)):
                    raise ValueError(
                        f"has no column {column!r}, but {name[:_SHOWN]!r}, which seems to contain "
                        f"the names of several columns, separated by {sign!r}: {_SEPARATE}"
                    ) from None
        raise ValueError(f"has no column {column!r}; {nearest(str(column), names)}") from None
    if not 0 <= place < len(names):
        raise ValueError(f"has no column {place}: {columns_in_words(len(names))}")
    return place


def may_be_names(entries: Sequence[str]) -> bool:
    """Return whether a row of numbers may contain names: different natural numbers, like years."""
    is_short = all(entry.isdecimal() and len(entry) <= _LONGEST for entry in entries)
    return is_short and len(set(entries)) == len(entries)


def are_names(entries: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row of a text file seems to contain numbers as names of columns.

    This is assumed if some column contains an integer only in the first row.

    Args:
        entries: Entries of the first row, which may be names.
        rows: Entries of the next rows; there must be at least `_ENOUGH`.
    """
    if len(rows) < _ENOUGH or {len(row) for row in rows} != {len(entries)}:
        return False
    return any(not any(map(is_integer, column)) for column in zip(*rows, strict=True))


def look_like_names(entries: Sequence[str]) -> bool:
    """Return whether a row of integers is evenly spaced, as the years 2019, 2020, 2021 are."""
    steps = [int(after) - int(before) for before, after in pairwise(entries)]
    return len({*steps}) == 1 and (steps[0] == 1 or (steps[0] > 1 and len(steps) > 1))


def refuse_unchosen_names(names: Sequence[str]) -> None:
    """Raise an error because numbers that seem to be names of columns would be an output.

    Raises:
        ValueError: Always.
    """
    shown = ", ".join(names)
    raise ValueError(
        f"has {shown[:_SHOWN]}{'...' if len(shown) > _SHOWN else ''} in row 1, which seems to "
        "contain the names of the columns: choose columns by these names with column (--column), "
        f"such as {names[0]}; or write {names[0]}.0 in row 1 if it is an output"
    )


def columns_in_words(number: int) -> str:
    """Return a sentence about the indices of a file's columns."""
    return "its only column is 0" if number == 1 else f"its columns are 0 to {number - 1}"


def refuse_index(
    names: Sequence[str], columns: Sequence[Sequence[object]], *, header: bool
) -> None:
    """Raise an error if a column of a file with multiple columns seems to contain row numbers.

    If row numbers were part of the outputs, they could distinguish the two sides of any mechanism.

    Args:
        names: Names of all columns.
        columns: First entries of each column, of any type.
        header: Whether `names` were read from the file's header.

    Raises:
        ValueError: If a column has a name that suggests row numbers, or if its entries are integers
            that increase by a constant step.
    """
    for name, column in zip(names, columns, strict=True):
        named = name.strip().lower() if header else "some column"
        perhaps = named in _PERHAPS_INDEX_NAMES and len(set(column)) == len(column)
        if not (_counts(column) or named in _INDEX_NAMES or perhaps):
            continue
        shown = ", ".join(repr(other) if header else other for other in names)
        raise ValueError(
            f"has the columns {shown}, of which {repr(name) if header else name} seems to "
            "contain row numbers: choose the column of the outputs with column (--column), or "
            "delete the column of row numbers"
        )


def refuse_decimal_commas(rows: Sequence[Sequence[str]]) -> None:
    """Raise an error if a decimal comma seems to have been read as a column separator.

    This is assumed if every row consists of two integers, and if leading zeros (as in 05) occur in
    second integers but never in first integers.

    Args:
        rows: First rows of a file whose entries are separated by commas.

    Raises:
        ValueError: If a decimal comma seems to have been read as a column separator.
    """
    if not all(len(row) == 2 and is_integer(row[0]) and row[1].isdecimal() for row in rows):
        return
    if any(len(row[0]) > 1 and row[0].startswith("0") for row in rows):
        return  # The first integers are padded with zeros, too, so the rows are pairs of integers.
    for number, (whole, part) in enumerate(rows, start=1):
        if len(part) > 1 and part.startswith("0"):
            raise ValueError(decimal_comma_text(f"{whole},{part}", number))


def refuse_other_delimiter(entries: Sequence[str], row: int) -> None:
    """Raise an error if labels seem to be rows of numbers with another delimiter.

    As labels, numbers would only be compared for equality. An error is raised if a character splits
    all entries into equally many parts, at least two, and if some part is a real number in every
    entry. If the character may occur in a label (a comma or a space), all parts must be numbers.

    Args:
        entries: Entries that were read as labels.
        row: Number of the first entry's row. The entry in row 1 may be the name of a column.

    Raises:
        ValueError: If the entries seem to be rows of numbers with another delimiter.
    """
    looked_at = entries[row == 1 :]
    if looked_at and all(map(GROUPED.fullmatch, looked_at)):
        raise ValueError(
            f"has {looked_at[0][:_SHOWN]!r} in row {row + (row == 1)}, which seems to be a number "
            "with thousands separators: write numbers without separators."
        )
    for sign in _DELIMITERS:
        if not looked_at or sign not in looked_at[0]:
            continue
        rows = [entry.split(None if sign == " " else sign) for entry in looked_at]
        if any(len(parts) != len(rows[0]) for parts in rows):
            continue
        columns = [[part.strip() for part in column] for column in zip(*rows, strict=True)]
        numeric = [column for column in columns if all(map(is_number, column))]
        if len(numeric) < len(columns) and sign in ", ":
            continue
        if any(not all(map(is_integer, column)) for column in numeric):
            raise ValueError(
                f"has {looked_at[0][:_SHOWN]!r} in row {row + (row == 1)}, which seems to contain "
                f"several entries, separated by {sign!r}: {_SEPARATE}"
            )


def _counts(column: Sequence[Any]) -> bool:
    """Return whether entries are integers that increase by a constant step."""
    try:
        numbers = [float(entry) for entry in column]
    except (TypeError, ValueError):
        return False
    steps = {after - before for before, after in pairwise(numbers)}
    whole = all(number.is_integer() for number in numbers)
    return len(numbers) >= _ENOUGH and whole and len(steps) == 1 and min(steps) > 0
