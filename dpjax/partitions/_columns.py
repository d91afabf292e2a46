"""Columns of the numbers in nested outputs, such as {"count": 3.5, "mean": 0.25}."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from dpjax.core.types import JsonObject
from dpjax.partitions._nested import Nested, usual

_MOST_EXTRA, _MOST_PARTS, _MOST_SHOWN = 64, 20, 3
"""_MOST_EXTRA is the maximum number of further columns.

A note lists at most _MOST_PARTS columns and at most _MOST_SHOWN ignored paths.
"""


class Columns:
    """The columns of a table of numbers, fixed by the first batch with nested outputs.

    The first columns are for the entries of vectors, or else for the numbers of the most common
    structure. Further columns are for the numbers at other paths, such as ['debug'] if only some
    outputs have this entry. A number is 0 in outputs that do not have it; the labels of outputs
    tell which numbers an output has.

    Attributes:
        usual: First output with the most common structure, or None if no output was nested.
        extra: Index of the column of each further path.
        ignored: Paths of numbers that have no column, because they were in no output of the first
            batch, or because there would be too many columns.
    """

    def __init__(self):
        self.usual: Nested | None = None
        self.extra: dict[str, int] = {}
        self.ignored: set[str] = set()
        self._first: dict[str, int] = {}

    @property
    def paths(self) -> tuple[str, ...]:
        """Path of each column, or () if no output was nested."""
        return (*self._first, *self.extra)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self._first) + len(self.extra)

    def fix(self, nested: Sequence[Nested], base: int | None, is_first: bool) -> None:
        """Determine the columns from the nested outputs of a batch, unless they are fixed.

        Args:
            nested: Nested outputs that contain numbers.
            base: Number of entries of outputs that are numbers or vectors; None if there are none.
            is_first: Whether the batch is the first one; a later batch adds no columns.
        """
        if self.usual is not None or not nested:
            return
        self.usual = usual(nested)
        first = self.usual.entries
        if base not in (None, len(first)):
            first = [f"[{place}]" for place in range(base)]
        self._first = {path: place for place, path in enumerate(first)}
        if not is_first:
            return
        counts = Counter(one.entries for one in nested if len(one.numbers) != len(first))
        for entries, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            for path in entries:
                if self._place(path) is None and len(self.extra) < _MOST_EXTRA:
                    self.extra[path] = self.width

    def row(self, one: Nested) -> tuple[float, ...] | None:
        """Return the numbers of a nested output, one per column, or None if it has none."""
        if not one.numbers:
            return None
        if len(one.numbers) == len(self._first):
            return self.padded(one.numbers)
        row, has_numbers = [0.0] * self.width, False
        for path, number in zip(one.entries, one.numbers, strict=True):
            place = self._place(path)
            if place is None:
                self.ignored.add(path)
            else:
                row[place], has_numbers = number, True
        return tuple(row) if has_numbers else None

    def is_usual(self, one: Nested) -> bool:
        """Return whether an output consists of the numbers of the most common structure alone."""
        return self.usual is not None and one.key == self.usual.key and one.numeric

    def padded(self, row: tuple[float, ...]) -> tuple[float, ...]:
        """Return a number or vector with zeros in the further columns."""
        return row + (0.0,) * len(self.extra) if len(row) == len(self._first) else row

    def wide(self, rows: np.ndarray) -> np.ndarray:
        """Return numbers or vectors, [n, d], with columns of zeros for the further columns."""
        if not self.extra or rows.shape[1] != len(self._first):
            return rows
        return np.pad(rows, [(0, 0), (0, len(self.extra))])

    def _place(self, path: str) -> int | None:
        return self._first.get(path, self.extra.get(path))

    def notes(self) -> list[str]:
        """Return notes for a result: the order of the numbers, and which numbers were ignored."""
        if self.usual is None:
            return []
        lacking = " A number that an output lacks is 0." if self.extra else ""
        listed = [parts_note(self.paths) + lacking] if len(self.paths) > 1 else []
        return [*listed, *self.notes_of_ignored()]

    def notes_of_ignored(self) -> list[str]:
        """Return a note on the numbers that have no column, if there are any."""
        if not self.ignored:
            return []
        shown = ", ".join(sorted(self.ignored)[:_MOST_SHOWN])
        more = " and others" if len(self.ignored) > _MOST_SHOWN else ""
        return [
            f"The numbers at {shown}{more} were not compared, because the first outputs did not "
            f"have them, or had more than {_MOST_EXTRA} such numbers; only their presence was "
            "compared."
        ]

    def to_plain(self) -> JsonObject | None:
        """Return the columns as JSON values, or None if no output was nested."""
        if self.usual is None:
            return None
        form = self.usual
        return {
            "usual": [form.structure, list(form.numbers), list(form.entries), form.numeric],
            "first": list(self._first),
            "extra": list(self.extra),
        }

    def restore(self, plain: JsonObject) -> None:
        """Restore the columns that `to_plain` returned."""
        structure, numbers, entries, numeric = plain["usual"]
        self.usual = Nested(
            str(structure), tuple(numbers), tuple(entries), bool(numeric), str(structure)
        )
        self._first = {str(path): place for place, path in enumerate(plain["first"])}
        self.extra = {
            str(path): place for place, path in enumerate(plain["extra"], len(self._first))
        }


def parts_note(entries: Sequence[str]) -> str:
    """Return a note that lists, in order, which part of an output each number represents."""
    shown, left_out = ", ".join(entries[:_MOST_PARTS]), len(entries) - _MOST_PARTS
    more = f" and {left_out} more" if left_out > 0 else ""
    return f"Outputs have multiple parts; the numbers in each output are, in order: {shown}{more}."
