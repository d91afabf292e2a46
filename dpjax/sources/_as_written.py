"""Notes on recordings whose sides seem to be written differently, or whose numbers are strings.

If one program rounds the outputs of one side when it exports them, or writes True where another
writes true, then the files differ although the mechanism may be private.
"""

from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

import numpy as np

from dpjax.sources.readers._entries import MISSING, SPACE, is_number

_EXAMINED = 8192
"""Maximum number of outputs per side that are examined."""

_LOOKED_AT = 200
"""Maximum number of outputs per side whose digits are counted."""

_ENTRIES = 64
"""Maximum number of entries of a vector whose digits are counted."""

_FEWEST = 20
"""Minimum number of finite numbers per side for a note on their digits."""

_MORE = 3
"""A number has many digits if it has at least this many more digits than all numbers of the side
whose numbers have few digits.
"""

_USUAL = 0.9
"""Minimum fraction of a side's numbers that must have many digits."""

_MOST_ROUNDED = 9
"""Maximum number of significant digits, or of decimals, of numbers that may have been rounded."""

_APART = 0.01
"""Maximum fraction of outputs whose label may occur on both sides if the sides are said to write
labels differently.
"""

_SAME = 0.5
"""Minimum fraction of outputs whose labels differ from a label of the other side only in case,
white space or quotation marks, if the sides are said to write labels differently.
"""

_KINDS = 10
"""Minimum number of different numbers, written as strings, for a note on these numbers. Fewer may
be codes of categories.
"""

_FEWEST_ROUNDED = 3
"""Minimum number of different numbers on a side for a note that they may have been rounded."""

_SHOWN = 40
"""Maximum number of characters that a note quotes from an output."""


def notes_as_written(names: Sequence[str], raw: Sequence[np.ndarray]) -> list[str]:
    """Return notes if the sides seem to be written differently, or hold numbers as strings.

    A mechanism may also round its outputs on one side only, so the notes do not change the verdict.

    Args:
        names: Names of both sides.
        raw: Outputs of both sides, as they were recorded.
    """
    if any(not len(side) for side in raw):
        return []
    raw = [side[:_EXAMINED] for side in raw]
    if all(side.dtype.kind in "iuf" for side in raw):
        return _notes_of_digits(names, [side.reshape(len(side), -1) for side in raw])
    if all(_are_texts(side) for side in raw):
        return _notes_of_labels(names, [side.tolist() for side in raw])
    return []


def _are_texts(side: np.ndarray) -> bool:
    return side.dtype.kind == "U" or all(isinstance(output, str) for output in side)


def _notes_of_digits(names: Sequence[str], sides: Sequence[np.ndarray]) -> list[str]:
    """Return a note on the first entry that seems to be rounded on one side only."""
    if all(side.dtype.kind != "f" for side in sides):
        return []
    for place in range(min(sides[0].shape[1], _ENTRIES)):
        columns = [side[:, place] for side in sides]
        finite = [column[np.isfinite(column)][:_LOOKED_AT] for column in columns]
        if min(map(len, finite)) < _FEWEST:
            continue
        digits = [np.array([_digits(str(value)) for value in column]) for column in finite]
        for few, many in ((0, 1), (1, 0)):
            for kind, what in enumerate(("decimals", "significant digits")):
                most = int(digits[few][:, kind].max())
                longer = digits[many][:, kind] >= most + _MORE
                if most > _MOST_ROUNDED or longer.mean() < _USUAL:
                    continue
                if len(np.unique(finite[few])) < _FEWEST_ROUNDED:
                    continue
                where = "numbers" if sides[0].shape[1] == 1 else f"numbers in entry {place}"
                return [
                    f"The examined {where} of {names[few]} have at most {most} {what}, but "
                    f"{longer.mean():.0%} of those of {names[many]} have at least {most + _MORE}. "
                    "If the mechanism does not round one side, but the program that wrote the "
                    "outputs does, the bound does not hold: write both sides with all digits."
                ]
    return []


def _digits(number: str) -> tuple[int, int]:
    """Return the number of decimals and of significant digits of a finite number."""
    _, digits, exponent = Decimal(number).normalize().as_tuple()
    assert isinstance(exponent, int)
    return max(-exponent, 0), len(digits)


def _notes_of_labels(names: Sequence[str], sides: Sequence[list[str]]) -> list[str]:
    notes, counts = [], [Counter(side) for side in sides]
    every = counts[0] + counts[1]
    numbers = {kind: number for kind, number in every.items() if is_number(kind)}
    if sum(numbers.values()) >= _USUAL * every.total() and len(numbers) >= _KINDS:
        notes.append(
            f"The outputs are strings, but {sum(numbers.values()):,} of the {every.total():,} "
            f"examined ones contain numbers, such as {next(iter(numbers))[:_SHOWN]!r}. Strings are "
            "compared as labels or texts: to compare numbers, convert the strings to numbers, and "
            "write them without quotation marks in JSON lines."
        )
    kinds = [{*side} for side in counts]
    gaps = [sorted(kind for kind in side if _plain(kind) in MISSING) for side in kinds]
    if all(gaps) and not {*gaps[0]} & {*gaps[1]}:
        notes.append(
            f"Labels that may mark a missing value differ: {gaps[0][0]!r} occurs only in "
            f"{names[0]}, and {gaps[1][0]!r} only in {names[1]}. If the mechanism does not write "
            "them differently, the bound does not hold: write the same label on both sides."
        )
        return notes
    both = kinds[0] & kinds[1]
    plain = [{_plain(kind): kind for kind in sorted(side - both)} for side in kinds]
    in_both = plain[0].keys() & plain[1].keys()
    for side in counts:
        shared = sum(side[kind] for kind in both)
        alike = sum(number for kind, number in side.items() if _plain(kind) in in_both)
        if shared > _APART * side.total() or alike < _SAME * side.total():
            return notes
    first = min(in_both)
    shown = [repr(side[first][:_SHOWN]) for side in plain]
    return [
        *notes,
        f"Labels of {names[0]} and {names[1]} differ only in case, white space or quotation marks, "
        f"such as {shown[0]} and {shown[1]}, so they count as different outcomes. If the mechanism "
        "does not write them differently, the bound does not hold: write the labels of both sides "
        "in the same way.",
    ]


def _plain(label: str) -> str:
    return label.strip(SPACE + "'\"").casefold()
