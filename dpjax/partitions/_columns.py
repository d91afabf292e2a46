"""Columns of the numbers in nested outputs, such as {"count": 3.5, "mean": 0.25}."""

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from dpjax.core.types import JsonObject
from dpjax.partitions._batches import widened
from dpjax.partitions._key_order import NO_ORDERS, Orders
from dpjax.partitions._nested import SPREAD, SUMMARY, UNUSED, Nested, usual

_MOST_EXTRA, _MOST_OF_TABLES, _MANY = 64, 256, 100
"""Largest number of further columns, and that for summaries of tables. Among at least _MANY
summaries, a number that only one of them has gets no column.
"""

_MOST_PARTS, _MOST_SHOWN = 20, 3
"""A note lists at most _MOST_PARTS columns and at most _MOST_SHOWN ignored paths."""

_SHIFT = (
    " Outputs have their keys in different orders. The shift of a key is its place minus its place "
    "in one of the first outputs."
)


class NestedColumns:
    """The columns of a table of numbers from nested outputs.

    The first columns are for the entries of vectors, or else for the numbers of the most common
    structure. Further columns are for the numbers at other paths, such as ['debug'] if only some
    outputs have this entry. They are added by each batch until `closed` is set. A number is 0 in
    outputs that do not have it; the labels of outputs tell which numbers an output has.

    Attributes:
        usual: First output with the most common structure, or None if no output was nested.
        extra: Index of the column of each further path.
        closed: Whether later batches add no columns.
        ignored: Paths of numbers that have no column, because they were in no output before
            `closed` was set, or because there would be too many columns.
        of_tables: Whether some of these paths belong to summaries of tables.
        names: Names of numbers by their paths, if descriptions use other names than the paths;
            otherwise None, since there may be thousands of encoders.
        orders: Order of the keys. If orders differ, there is a further column for each key.
    """

    def __init__(self):
        self.usual: Nested | None = None
        self.extra: dict[str, int] = {}
        self.ignored: set[str] = set()
        self.of_tables = False
        self.names: dict[str, str] | None = None
        self.orders = NO_ORDERS
        self._first: dict[str, int] = {}
        self._after_plain = False
        self.closed = False

    @classmethod
    def of_summaries(cls, paths: Sequence[str]) -> "NestedColumns":
        """Return columns for the given numbers of outputs that are summarized."""
        found, zeros = cls(), (0.0,) * len(paths)
        found.usual = Nested(SUMMARY, zeros, tuple(paths), True, SUMMARY, is_named=True)
        found._first = {path: place for place, path in enumerate(paths)}
        found.closed = True
        return found

    @property
    def paths(self) -> tuple[str, ...]:
        """Path of each column, or () if no output was nested."""
        return (*self._first, *self.extra)

    @property
    def named_paths(self) -> tuple[str, ...]:
        """Path of each column, or its name, for descriptions."""
        return (
            tuple(self.names.get(path, path) for path in self.paths) if self.names else self.paths
        )

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self._first) + len(self.extra)

    @property
    def _num_extra(self) -> int:
        """Number of further columns without those of shifts, which have a limit of their own."""
        return len(self.extra) - len(self.orders.columns)

    def add(self, nested: Sequence[Nested], base: int | None) -> None:
        """Add columns for the nested outputs of a batch, unless `closed` is set.

        Args:
            nested: Nested outputs that contain numbers.
            base: Number of entries of outputs that are numbers or vectors; None if there are none.
        """
        if not nested:
            return
        if self.usual is None:
            self.usual, self._after_plain = usual(nested), base is not None
            first = self.usual.entries
            if base not in (None, len(first)):
                first = [f"[{place}]" for place in range(base)]
            self._first = {path: place for place, path in enumerate(first)}
            self.orders = Orders(self.usual.order)
        if self.closed:
            return
        self._add_of_tables([one.entries for one in nested if one.is_named])
        for path in self.orders.add([one.order for one in nested]):
            self.extra[path] = self.width
        counts = Counter(
            one.entries for one in nested if not (self._is_in_order(one) or one.is_named)
        )
        for entries, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
            for path in entries:
                if self._place(path) is None and self._num_extra < _MOST_EXTRA:
                    self.extra[path] = self.width

    def _add_of_tables(self, outputs: Sequence[tuple[str, ...]]) -> None:
        """Add columns for the numbers that most summaries have, such as the counts of labels.

        At most half of the free columns are used, so that labels of the other side get columns.
        """
        times = Counter(path for paths in outputs for path in paths if self._place(path) is None)
        least = 2 if len(outputs) >= _MANY else 1
        number = (_MOST_OF_TABLES - self._num_extra + 1) // 2
        for path, count in times.most_common(max(number, 0)):
            if count >= least:
                self.extra[path] = self.width

    def row(self, one: Nested) -> tuple[float, ...] | None:
        """Return the numbers of a nested output, one per column, or None if it has none."""
        row = self._row(one)
        if row is None or not self.orders.columns:
            return row
        changed = [*row]
        for path, shift in self.orders.shifts(one.order).items():
            changed[self.extra[path]] = shift
        return tuple(changed)

    def _row(self, one: Nested) -> tuple[float, ...] | None:
        # A number that a summary lacks is 0, even if it lacks all of them.
        is_summary = one.key == SUMMARY
        if not (one.numbers or is_summary):
            return None
        if self._is_in_order(one):
            return self.padded(one.numbers)
        row, has_numbers = [0.0] * self.width, is_summary
        for path, number in zip(one.entries, one.numbers, strict=True):
            place = self._place(path)
            if place is None:
                self.ignored.add(path)
                self.of_tables |= one.is_named
            else:
                row[place], has_numbers = number, True
        return tuple(row) if has_numbers else None

    @property
    def excludes_plain(self) -> bool:
        """Whether plain numbers and vectors need a label, because nested outputs have none."""
        return self.usual is not None and not self._after_plain

    def needs_no_label(self, one: Nested) -> bool:
        """Return whether an output consists of the numbers of the most common structure alone.

        If numbers or vectors occurred before, these have no label, and all nested outputs have one.
        """
        usual_key = None if self.usual is None else self.usual.key
        return not self._after_plain and usual_key == one.key and one.numeric

    def padded(self, row: tuple[float, ...]) -> tuple[float, ...]:
        """Return a number or vector with zeros in the further columns."""
        return row + (0,) * len(self.extra)

    def wide(self, rows: np.ndarray) -> np.ndarray:
        """Return numbers or vectors, [n, d], with columns of zeros for the further columns."""
        return widened(rows, rows.shape[1] + len(self.extra))

    def _is_in_order(self, one: Nested) -> bool:
        """Return whether the numbers of a nested output belong to the first columns."""
        return len(one.numbers) == len(self._first) and not one.is_named

    def _place(self, path: str) -> int | None:
        return self._first.get(path, self.extra.get(path))

    def notes(self) -> list[str]:
        """Return a note that lists the numbers in order, if there is more than one."""
        if len(self.paths) < 2:
            return []
        if self.usual is not None and self.usual.key == SUMMARY:
            paths = [path for path in self.paths if not path.startswith((SPREAD, UNUSED))]
            names = [path[2:-2] if path.startswith("[") else path for path in paths]
            more = f"; and {len(names) - _MOST_SHOWN} others" if len(names) > _MOST_SHOWN else ""
            return [
                "Hardly any two outputs are equal. Therefore, the audit compares numbers that "
                f"summarize each output: {'; '.join(names[:_MOST_SHOWN])}{more}."
            ]
        lacking = " A number that an output lacks is 0." if self.extra else ""
        return [parts_note(self.named_paths) + lacking + (_SHIFT if self.orders.columns else "")]

    def to_plain(self) -> JsonObject | None:
        """Return the columns as JSON values, or None if no output was nested."""
        if self.usual is None:
            return None
        form = self.usual
        return {
            "usual": [form.structure, list(form.entries), form.numeric],
            "after_plain": self._after_plain,
            "first": list(self._first),
            "extra": list(self.extra),
            "order": list(self.orders.usual),
            "names": self.names or {},
        }

    def restore(self, plain: JsonObject) -> None:
        """Restore the columns that `to_plain` returned."""
        text, entries, numeric = plain["usual"]
        # The numbers of this output do not matter.
        zeros = (0.0,) * len(entries)
        self.usual = Nested(str(text), zeros, tuple(entries), bool(numeric), str(text))
        self._after_plain = bool(plain["after_plain"])
        self._first = {str(path): place for place, path in enumerate(plain["first"])}
        self.extra = {
            str(path): place for place, path in enumerate(plain["extra"], len(self._first))
        }
        names = {str(path): str(name) for path, name in plain.get("names", {}).items()}
        self.names = names or None
        self.orders = Orders.restored(map(str, plain.get("order", ())), self.extra)


def notes_of_ignored(tables: Iterable[NestedColumns]) -> list[str]:
    """Return a note on the paths of numbers that have no column, if there are any."""
    found = [columns for columns in tables if columns.ignored]
    if not found:
        return []
    ignored = set().union(*(columns.ignored for columns in found))
    shown = ", ".join(sorted(ignored)[:_MOST_SHOWN])
    more = " and others" if len(ignored) > _MOST_SHOWN else ""
    if any(columns.of_tables for columns in found):
        return [
            f"The numbers {shown}{more} were not compared, because hardly any of the first tables "
            "had them, or because there were too many."
        ]
    return [
        f"The numbers at {shown}{more} were not compared, because the first outputs did not have "
        f"them, or had more than {_MOST_EXTRA} such numbers; only their presence was compared."
    ]


def parts_note(entries: Sequence[str]) -> str:
    """Return a note that lists, in order, which part of an output each number represents."""
    shown, left_out = ", ".join(entries[:_MOST_PARTS]), len(entries) - _MOST_PARTS
    more = f" and {left_out} more" if left_out > 0 else ""
    return f"Outputs have multiple parts; the numbers in each output are, in order: {shown}{more}."
