"""Entries of text files and of programs: numbers where they are numbers, else labels."""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from dpjax.core import validate

SPACE = " \t\r\n\v\f"
"""White space around an entry; any other character is a part of it."""

_NO_NUMBER = re.compile(r"[^\t\n\v\f\r -^`-~]")
"""What no number has, though Python reads one where it is: 1_0, other digits, other white space."""

_WIDE = 2**24
"""Characters of an array of texts, each as long as the longest, that may hold labels."""

_EXACT = 2**53
_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


def as_numbers(entries: Sequence[str]) -> np.ndarray | None:
    """All entries as numbers of one type, or None where there is none that holds them.

    Args:
        entries: Texts.

    Returns:
        int64 or uint64 [n] where all were written as integers, else float64 [n]. None where one is
        no number, or where an integer is too large for its type.
    """
    if any(map(_NO_NUMBER.search, entries)):
        return None
    try:
        values = np.array([float(entry) for entry in entries], np.float64)
    except ValueError:
        return None
    # Integers as they were written stay integers: outcomes, not reals. Past 2^53 a float would
    # merge neighbours.
    if not (np.all(values == np.floor(values)) and all(map(is_integer, entries))):
        return values if first_inexact(values, entries) is None else None
    # 2^53 may have been written as 2^53 + 1.
    if np.all(np.abs(values) < _EXACT):
        return values.astype(np.int64)
    if too_large(entries) is not None:
        return None
    integers = [int(entry) for entry in entries]
    return np.array(integers, np.int64 if max(integers) <= _LARGEST else np.uint64)


def is_number(entry: str) -> bool:
    """Whether a text is a number (or NaN or an infinity)."""
    if _NO_NUMBER.search(entry):
        return False
    try:
        float(entry)
    except ValueError:
        return False
    return True


def is_integer(entry: str) -> bool:
    """Whether a text is written as an integer."""
    digits = entry.strip()
    return digits.removeprefix(digits[:1] if digits[:1] in ("+", "-") else "").isdecimal()


def too_large(entries: Sequence[str]) -> int | None:
    """The place of the first integer that 64 bits do not hold beside the others, or None.

    uint64 holds integers past 2^63, but none below 0.
    """
    # Python makes no int of very many digits.
    integers = [Decimal(entry) if is_integer(entry) else 0 for entry in entries]
    largest = _LARGEST if min(integers) < 0 else 2 * _LARGEST + 1
    places = (i for i, value in enumerate(integers) if not _SMALLEST <= value <= largest)
    return next(places, None)


def first_inexact(values: np.ndarray, entries: Sequence[str]) -> int | None:
    """The place of the first integer that is not its float, which merges neighbours, or None."""
    for place in np.flatnonzero(np.abs(values) >= _EXACT).tolist():
        if is_integer(entry := entries[place]) and Decimal(entry) != Decimal(values[place]):
            return place
    return None


def has_decimal_comma(entry: str) -> bool:
    """Whether a text is a number with a comma where Python has a point."""
    return re.fullmatch(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*", entry) is not None


def decimal_comma_text(entry: str, row: int) -> str:
    """The sentence that refuses such a number."""
    written = entry.strip()
    return (
        f"has {written!r} in row {row}, but decimal commas are not read: write "
        f"{written.replace(',', '.')} (or, for the numbers of a vector, a csv file without quotes)"
    )


def as_labels(entries: Sequence[str]) -> np.ndarray:
    """Texts as labels [n], each of which stays apart from every other.

    Args:
        entries: Texts.

    Returns:
        An array of texts; of objects where an array of texts would lose a NUL at an end, or hold
        little but padding.

    Raises:
        ValueError: One is longer than the limit.
    """
    longest = max(map(len, entries), default=0)
    validate.within_limit("label_length", longest, "has a label of too many characters")
    if longest * len(entries) <= _WIDE and not any(entry.endswith("\0") for entry in entries):
        return np.array(entries, np.str_)
    labels = np.empty(len(entries), object)
    labels[:] = entries
    return labels


def as_outputs(lines: Sequence[str]) -> np.ndarray | list[Any]:
    """Lines that a program printed, one output each: numbers, vectors with commas, or labels.

    Args:
        lines: Without their ends.

    Returns:
        An array where all are numbers, else a list with a number, a tuple of numbers or a label
        for each line. A label is the whole line, white space included.

    Raises:
        ValueError: A label is longer than the limit.
    """
    numbers = as_numbers(lines)
    return list(map(_output, lines)) if numbers is None else numbers


def _output(line: str) -> object:
    validate.within_limit("label_length", len(line), "a line of too many characters")
    parts = line.split(",")
    if not all(map(is_number, parts)):
        return line
    numbers = tuple(int(part) if is_integer(part) else float(part) for part in parts)
    return numbers[0] if len(numbers) == 1 else numbers
