"""Columns of which none was chosen: whether all may be the entries of vectors."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from dpjax.sources.readers._entries import decimal_comma_text, is_integer

LOOKED_AT = 100
"""Rows at the head of a file that tell whether a column counts them."""

_ENOUGH = 10
_INDEX_NAMES = {"", "unnamed: 0", "__index_level_0__"}
_PERHAPS_INDEX_NAMES = {"index", "id"}
"""Names of columns that may be an index, or an output whose values repeat."""


def refuse_index(
    names: Sequence[str], columns: Sequence[Sequence[object]], *, header: bool
) -> None:
    """Refuses several columns one of which numbers the rows.

    Rows that are numbered are told apart by their numbers, for whatever mechanism.

    Args:
        names: Of all columns.
        columns: Their first entries, numbers or anything else.
        header: Whether the file gave the names.

    Raises:
        ValueError: The name of a column says that it is an index, or it goes up by one step.
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
    """Refuses pairs of integers that are the two parts of a decimal number.

    Nobody writes 05 for 5, but every tenth decimal number has a 0 there.

    Args:
        rows: The first ones, in a file with commas between the entries.

    Raises:
        ValueError: The entries are such pairs.
    """
    if not all(len(row) == 2 and is_integer(row[0]) and row[1].isdecimal() for row in rows):
        return
    if any(len(row[0]) > 1 and row[0].startswith("0") for row in rows):
        return  # Both entries are padded with zeros.
    for number, (whole, part) in enumerate(rows, start=1):
        if len(part) > 1 and part.startswith("0"):
            raise ValueError(decimal_comma_text(f"{whole},{part}", number))


def _counts(column: Sequence[Any]) -> bool:
    """Whether these are whole numbers that go up by one constant step."""
    try:
        numbers = [float(entry) for entry in column]
    except (TypeError, ValueError):
        return False
    steps = {after - before for before, after in pairwise(numbers)}
    whole = all(number.is_integer() for number in numbers)
    return len(numbers) >= _ENOUGH and whole and len(steps) == 1 and min(steps) > 0
