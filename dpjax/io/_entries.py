"""Entries of text files and of programs: numbers where they are numbers, else labels."""

from collections.abc import Sequence
from typing import Any

import numpy as np

_EXACT = 2**53


def as_numbers(entries: Sequence[str]) -> np.ndarray | None:
    """All entries as numbers of one type, or None where one is no number.

    Args:
        entries: Texts.

    Returns:
        int64 [n] where all were written as integers that it holds, else float64 [n].
    """
    try:
        values = np.array(entries, dtype=np.str_).astype(np.float64)
    except ValueError:
        return None
    # Integers as they were written stay integers: outcomes, not reals. Past 2^53 a float would
    # merge neighbours, past int64 it is all there is.
    whole = np.isfinite(values).all() and np.all(values == np.floor(values))
    if whole and np.all(np.abs(values) < 2**63) and all(map(is_integer, entries)):
        # 2^53 may have been written as 2^53 + 1.
        if np.all(np.abs(values) < _EXACT):
            return values.astype(np.int64)
        return np.array([int(entry) for entry in entries], np.int64)
    return values


def is_number(entry: str) -> bool:
    """Whether a text is a number (or NaN or an infinity)."""
    try:
        float(entry)
    except ValueError:
        return False
    return True


def is_integer(entry: str) -> bool:
    """Whether a text is written as an integer."""
    digits = entry.strip()
    return digits.removeprefix(digits[:1] if digits[:1] in ("+", "-") else "").isdecimal()


def as_outputs(lines: Sequence[str]) -> np.ndarray | list[Any]:
    """Lines that a program printed, one output each: numbers, vectors with commas, or labels.

    Args:
        lines: Without their ends.

    Returns:
        An array where all are numbers, else a list with a number, a tuple of numbers or a label
        for each line.
    """
    numbers = as_numbers(lines)
    return [_output(line.strip()) for line in lines] if numbers is None else numbers


def _output(line: str) -> Any:
    parts = line.split(",")
    if not all(is_number(part) for part in parts):
        return line
    numbers = tuple(int(part) if is_integer(part) else float(part) for part in parts)
    return numbers[0] if len(numbers) == 1 else numbers
