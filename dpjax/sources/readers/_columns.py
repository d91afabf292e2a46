"""Checks of files that are read without choosing a column, so that each row may be a vector."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from dpjax.sources.readers._entries import decimal_comma_text, is_integer

LOOKED_AT = 100
"""Number of first rows to search for a column that numbers the rows."""

_ENOUGH = 10
_INDEX_NAMES = {"", "unnamed: 0", "__index_level_0__"}
_PERHAPS_INDEX_NAMES = {"index", "id"}
"""Names of columns that are taken for an index unless their values repeat."""


def refuse_index(
    names: Sequence[str], columns: Sequence[Sequence[object]], *, header: bool
) -> None:
    """Refuse several columns if one of them numbers the rows.

    Row numbers would distinguish the outputs of any mechanism.

    Args:
        names: Names of all columns.
        columns: First entries of the columns, numbers or anything else.
        header: Whether the file gave the names.

    Raises:
        ValueError: When a column has the name of an index, or its entries rise by one constant
            step.
    """
    for name, column in zip(names, columns, strict=True):
        named = name.strip().lower() if header else "some column"
        perhaps = named in _PERHAPS_INDEX_NAMES and len(set(column)) == len(column)
        if not (_counts(column) or named in _INDEX_NAMES or perhaps):
            continue
        shown = ", ".join(repr(other) if header else other for other in names)
        raise ValueError(
            f"has the columns {shown}, of which {repr(name) if header else name} looks like a "
            "number of the row: choose the one with the outputs with column (--column), or delete "
            "that one"
        )


def refuse_decimal_commas(rows: Sequence[Sequence[str]]) -> None:
    """Refuse rows of two integers if they look like decimal numbers split at a comma.

    Nobody writes an integer as 05, but one in ten decimal numbers has a 0 after the comma.

    Args:
        rows: First rows of a file with commas between the entries.

    Raises:
        ValueError: When the rows look like split decimal numbers.
    """
    if not all(len(row) == 2 and is_integer(row[0]) and row[1].isdecimal() for row in rows):
        return
    if any(len(row[0]) > 1 and row[0].startswith("0") for row in rows):
        return  # Zeros pad the first entries too, so these are integers.
    for number, (whole, part) in enumerate(rows, start=1):
        if len(part) > 1 and part.startswith("0"):
            raise ValueError(decimal_comma_text(f"{whole},{part}", number))


def _counts(column: Sequence[Any]) -> bool:
    """Check whether entries are integers that rise by one constant step."""
    try:
        numbers = [float(entry) for entry in column]
    except (TypeError, ValueError):
        return False
    steps = {after - before for before, after in pairwise(numbers)}
    whole = all(number.is_integer() for number in numbers)
    return len(numbers) >= _ENOUGH and whole and len(steps) == 1 and min(steps) > 0
