"""Text files in which semicolons separate the fields, and numbers have decimal commas.

Spreadsheets write such csv files in countries in which the decimal sign is a comma.
"""

import csv
import re
from collections.abc import Iterable, Sequence
from itertools import chain, islice

SEMICOLON = ";"

_LOOKED_AT = 100
"""Number of rows, from the beginning of a file, that decide about its form."""

_SHOWN = 60
"""Maximum number of characters that an error message quotes from a field."""

_INTEGER = re.compile(r"\s*[+-]?\d+\s*")
_COMMA = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")
_POINT = re.compile(r"\s*[+-]?(\d+\.\d*|\.\d+)([eE][+-]?\d+)?\s*")
"""Patterns of an integer, and of numbers with a decimal comma and with a decimal point."""


def has_semicolons(lines: Iterable[str]) -> bool:
    """Return whether fields are separated by semicolons, and numbers have decimal commas.

    This is assumed if semicolons split the first rows into equally many fields, at least two, if no
    comma occurs except in numbers, and if a column consists of integers and of numbers with decimal
    commas. The first row may contain the names of the columns.
    """
    lines = iter(lines)
    first = next(lines, "")
    if SEMICOLON not in first:
        return False
    try:
        rows = list(islice(csv.reader(chain([first], lines), delimiter=SEMICOLON), _LOOKED_AT))
    except csv.Error:  # Entries are too long, so the file is read and refused like others.
        return False
    rows = [row for row in rows if row]
    if not rows or len(rows[0]) < 2 or any(len(row) != len(rows[0]) for row in rows):
        return False
    if any("," in field and not _COMMA.fullmatch(field) for row in rows for field in row):
        return False
    return any(
        any(map(_COMMA.fullmatch, column))
        and all(_COMMA.fullmatch(f) or _INTEGER.fullmatch(f) for f in column[1:] or column)
        for column in zip(*rows, strict=True)
    )


def with_points(row: Sequence[str], line: int) -> list[str]:
    """Return a row with decimal points instead of decimal commas.

    Raises:
        ValueError: If a number has a point, which may be a decimal point or separate thousands.
    """
    for field in row:
        if _POINT.fullmatch(field):
            raise ValueError(
                f"has {field.strip()[:_SHOWN]!r} in line {line}, but other numbers have decimal "
                "commas: write all numbers with decimal points"
            )
    return [field.replace(",", ".") if _COMMA.fullmatch(field) else field for field in row]
