"""Conversion of text-file entries and program outputs to numbers or labels."""

import re
from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from dpjax.core import validate
from dpjax.core.numerics import MOST_EXACT
from dpjax.partitions._distinct import labels_at

SPACE = " \t\r\n\v\f"
"""Characters that count as white space around an entry. All other characters are part of the
entry.
"""

_NO_NUMBER = re.compile(r"[^\t\n\v\f\r -^`-~]")
"""Characters in numbers that Python accepts but the readers reject, such as _ in 1_0."""

_DECIMAL_COMMA = re.compile(r"\s*[+-]?(0|[1-9][0-9]*),0[0-9]+\s*")
"""Pattern of two integers of which only the second has leading zeros. These are not the entries of
a vector, but the digits of a number with a decimal comma, as in 1,05.
"""

GROUPED = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?\s*")
"""Pattern of a number whose thousands seem to be separated by commas, as in 12,001.5. If there is
one comma and no point, as in 12,001, the comma may also be a decimal comma.
"""

MISSING = {"", "-", ".", "?", "na", "n/a", "#n/a", "<na>", "null", "none", "\\n", "missing"}
"""Texts that mark missing values in files of common programs, in lower case."""

_MINUS = "\N{MINUS SIGN}"

_PERCENT = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)\s*%\s*")
_THOUSANDS = re.compile(r"\s*[+-]?[1-9]\d{0,2}([ '\u2019\u00a0\u202f]\d{3})+(\.\d*)?\s*")
"""Pattern of a number whose thousands are separated by spaces or apostrophes, as in 12 001."""

_AMOUNT = r"(\d+|\d{1,3}(,\d{3})+)(\.\d+)?"
_CURRENCY = re.compile(
    rf"\s*[+-]?([$\u00a3\u00a5\u20ac]\s*[+-]?{_AMOUNT}|{_AMOUNT}\s*[$\u00a3\u00a5\u20ac])\s*"
)
"""Pattern of a number with the sign of the dollar, pound, yen or euro, as in $1,200.50."""

_FEWEST_WRITTEN = 10
"""Minimum number of entries of a file from which `refuse_written_numbers` concludes anything. Fewer
labels may all be percentages although other labels of the recording are not.
"""

_WRITTEN = (
    (_PERCENT, "percent signs"),
    (_CURRENCY, "currency signs"),
    (_THOUSANDS, "separators of thousands"),
)
"""Patterns of numbers that would be labels, and what makes them labels."""

_DIGITS = 60
"""Maximum number of digits that an error message quotes from a number."""

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


class MissingEntry(ValueError):
    """An error about a missing entry of a file.

    Args:
        found: Where an entry is missing, such as "has an empty entry in row 2 among numbers".
        advice: What to write in its place if the entries are outputs.
    """

    def __init__(self, found: str, advice: str):
        super().__init__(f"{found}: {advice}")
        self.found, self.advice = found, advice


def as_numbers(entries: Sequence[str]) -> np.ndarray | None:
    """Convert strings to numbers of one dtype, or return None if no dtype can represent them all.

    Args:
        entries: Strings.

    Returns:
        Numbers [n], of dtype int64 or uint64 if all entries are integers, and float64 otherwise.
        The result is None if an entry is not a number, or if the dtype cannot represent an integer
        exactly.
    """
    if any(map(_NO_NUMBER.search, entries)):
        return None
    try:
        values = np.array([float(entry) for entry in entries], np.float64)
    except ValueError:
        return None
    # Numbers that are written as integers remain integers, since integers are usually outcomes, not
    # reals. Besides, adjacent integers above 2^53 would be equal as floats.
    if not (np.all(values == np.floor(values)) and all(map(is_integer, entries))):
        return values if first_inexact(values, entries) is None else None
    # From 2^53 on, a float may differ from the integer in the file: 2^53 + 1 becomes 2^53.
    if np.all(np.abs(values) < MOST_EXACT):
        return values.astype(np.int64)
    if too_large(entries) is not None:
        return None
    integers = [int(entry) for entry in entries]
    return np.array(integers, np.int64 if max(integers) <= _LARGEST else np.uint64)


def is_number(entry: str) -> bool:
    """Return whether a string represents a number, NaN or an infinity."""
    if _NO_NUMBER.search(entry):
        return False
    try:
        float(entry)
    except ValueError:
        return False
    return True


def is_integer(entry: str) -> bool:
    """Return whether a string consists of digits after an optional sign."""
    digits = entry.strip()
    return digits.removeprefix(digits[:1] if digits[:1] in ("+", "-") else "").isdecimal()


def too_large(entries: Sequence[str]) -> int | None:
    """Return the index of the first integer that is too large for the common dtype, or None.

    The common dtype is int64 if any integer is negative, and uint64 otherwise.
    """
    # Use Decimal, since Python refuses to convert very long strings of digits to int.
    integers = [Decimal(entry) if is_integer(entry) else 0 for entry in entries]
    largest = _LARGEST if min(integers) < 0 else 2 * _LARGEST + 1
    places = (i for i, value in enumerate(integers) if not _SMALLEST <= value <= largest)
    return next(places, None)


def first_inexact(values: np.ndarray, entries: Sequence[str]) -> int | None:
    """Return the index of the first integer that float64 cannot represent exactly, or None."""
    for place in np.flatnonzero(np.abs(values) >= MOST_EXACT).tolist():
        if is_integer(entry := entries[place]) and Decimal(entry) != Decimal(values[place]):
            return place
    return None


def inexact_text(entries: Sequence[str], width: int, row: int) -> str:
    """Return an error message about numbers that no 64-bit type can represent together.

    Args:
        entries: Entries that are all numbers.
        width: Number of entries per row.
        row: Number of the first entry's row.
    """
    where = too_large(entries)
    if where is None:
        where = first_inexact(np.array([float(entry) for entry in entries]), entries) or 0
    return (
        f"has the integer {entries[where].strip(SPACE)[:_DIGITS]} in row {row + where // width}, "
        "and no 64-bit type can represent it together with the other numbers: write reals with a "
        "point or an exponent, and outcomes as labels"
    )


def has_decimal_comma(entry: str) -> bool:
    """Return whether a string is a number with a decimal comma."""
    return re.fullmatch(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*", entry) is not None


def refuse_written_numbers(entries: Sequence[str], row: int) -> None:
    """Raise an error if all labels seem to be percentages, amounts or have separated thousands.

    As labels, numbers would only be compared for equality.

    Args:
        entries: Entries at the beginning of a file that were read as labels.
        row: Number of the first entry's row.

    Raises:
        ValueError: If there are at least ten entries, and all of them are percentages, all have
            currency signs, or all have separated thousands.
    """
    if len(entries) < _FEWEST_WRITTEN:
        return
    for pattern, what in _WRITTEN:
        if all(map(pattern.fullmatch, entries)):
            entry = entries[0].strip()
            number = re.sub(r"[^\d.+-]", "", entry)
            raise ValueError(
                f"has {entry!r} in row {row}, but {what} are not supported: write {number}"
            )


def refuse_number_in_words(entry: str, row: int) -> None:
    """Raise an error if an entry among numbers is a number that is written in another way.

    Args:
        entry: Entry that is not read as a number.
        row: Number of the entry's row.

    Raises:
        ValueError: If the entry has a decimal comma, separated thousands or the minus sign of
            typography.
    """
    if has_decimal_comma(entry):
        raise ValueError(decimal_comma_text(entry, row))
    plain = entry.strip(SPACE).replace(_MINUS, "-")
    if GROUPED.fullmatch(plain):
        plain = plain.replace(",", "")
        raise ValueError(
            f"has {entry.strip()!r} in row {row}, but separators of thousands are not supported: "
            f"write {plain}"
        )
    if _MINUS in entry and is_number(plain):
        raise ValueError(
            f"has {entry.strip()!r} in row {row}, whose minus sign is not a hyphen: write {plain}"
        )


def refuse_output_as_name(entry: str) -> None:
    """Raise an error if an entry in row 1, above numbers, is no name of a column but an output.

    Raises:
        ValueError: If the entry is a number that is written in another way, or a missing value.
    """
    refuse_number_in_words(entry, 1)
    if (text := entry.strip(SPACE)).casefold() in MISSING:
        raise MissingEntry(
            f"has {text!r} in row 1 above numbers",
            "write a missing number as nan, which is an outcome of its own; if this is the name of "
            "the column, rename the column",
        )


def refuse_decimal_comma(entries: Sequence[str], row: int) -> None:
    """Raise an error if all entries have decimal commas.

    Args:
        entries: Entries of one column, from the beginning of a file.
        row: Number of the first entry's row. The entry in row 1 may be the name of the column.

    Raises:
        ValueError: If all entries have decimal commas, except perhaps the entry in row 1.
    """
    named = int(row == 1 and len(entries) > 1 and not has_decimal_comma(entries[0]))
    if not all(map(has_decimal_comma, entries[named:])):
        return
    # Prefer an example whose comma cannot separate thousands.
    clear = (place for place in range(named, len(entries)) if not GROUPED.fullmatch(entries[place]))
    place = next(clear, named)
    raise ValueError(decimal_comma_text(entries[place], row + place))


def decimal_comma_text(entry: str, row: int) -> str:
    """Return an error message about a number that has a decimal comma."""
    if GROUPED.fullmatch(entry):
        shown = entry.strip()
        return (
            f"has {shown!r} in row {row}, but commas in numbers are not supported: write "
            f"{shown.replace(',', '')} if the comma separates thousands, and "
            f"{shown.replace(',', '.')} if it is a decimal comma"
        )
    return f"has {entry.strip()!r} in row {row}, {_no_commas(entry, 'a csv file without quotes')}"


def _no_commas(entry: str, vector: str) -> str:
    return (
        "but decimal commas are not supported: write "
        f"{entry.strip().replace(',', '.')} (or, if these are two entries of a vector, write "
        f"{vector})"
    )


def as_labels(entries: Sequence[str], places: np.ndarray | None = None) -> np.ndarray:
    """Convert strings to an array of labels.

    Raises:
        ValueError: If a label is longer than the limit.
    """
    longest = max(map(len, entries), default=0)
    validate.within_limit("label_length", longest, "has a label of too many characters")
    return labels_at(entries, places)


def as_outputs(lines: Sequence[str]) -> np.ndarray | list[object]:
    """Convert the lines that a program has printed to outputs.

    Args:
        lines: Lines without their line-end characters.

    Returns:
        An array if all lines are numbers. Otherwise, a list with one entry per line; each entry is
        a number, a tuple of the numbers in a comma-separated vector, or a label. A label is the
        whole line, including white space.

    Raises:
        ValueError: If a label is longer than the limit, or if a line seems to be a number with a
            decimal comma.
    """
    numbers = as_numbers(lines)
    return list(map(_output, lines)) if numbers is None else numbers


def _output(line: str) -> object:
    validate.within_limit("label_length", len(line), "a line of too many characters")
    parts = line.split(",")
    if not all(map(is_number, parts)):
        return line
    if _DECIMAL_COMMA.fullmatch(line):
        said = _no_commas(line, "them without leading zeros")
        raise ValueError(f"the program printed {line.strip()!r}, {said}.")
    numbers = tuple(int(part) if is_integer(part) else float(part) for part in parts)
    return numbers[0] if len(numbers) == 1 else numbers
