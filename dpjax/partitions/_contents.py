"""The first outputs with each label, from which summaries are computed if labels are unique."""

from collections.abc import Sequence, Sized
from copy import copy

import numpy as np

from dpjax.core.types import JsonObject
from dpjax.partitions._fields import fields_of
from dpjax.partitions._frames import Frames
from dpjax.partitions._graphs import content_of_graph, is_graph
from dpjax.partitions._labels import DpjaxLabel, Labels
from dpjax.partitions._lengths import Lengths
from dpjax.partitions._nested import Nested

Kind = int | tuple[float, ...] | Nested
"""A classified output: the index of its label, its numbers, or its nested form."""


class Contents:
    """The first output with each label.

    Attributes:
        lists: Whether lists of numbers are labels, because their lengths differ.
        lengths: The structures of nested outputs that are labels, because their lengths differ.
        frames: The form of data frames.
    """

    def __init__(self):
        self._items: dict[int, object] = {}
        self.lists, self.lengths, self.frames = False, Lengths(), Frames()

    def add(self, label: int, item: object) -> None:
        """Store an output, unless an earlier output has the same label."""
        if label not in self._items:
            if is_graph(type(item)):  # The function may modify the graph later.
                item = content_of_graph(item)
            item = fields_of(item) or item
            self._items[label] = copy(item) if isinstance(item, list | dict | set) else item

    def first(self, label: int) -> object:
        """Return the first output with a label, or None if it was not stored."""
        return self._items.get(label)

    def close(self) -> None:
        """Fix all forms, and forget all outputs but strings, which labels contain."""
        self._items = {}
        self.frames.close()

    def renumber(self, new: np.ndarray) -> None:
        """Adapt to new indices of labels, int32 [labels]."""
        self._items = {int(new[label]): item for label, item in self._items.items()}

    def of(self, labels: Labels) -> dict[int, object]:
        """Return the output behind each label, except for labels that dpjax created.

        An output of the most common structure has the index 0 if nested outputs became labels.
        """
        found = {
            index: self._items.get(index, label)
            for index, label in enumerate(labels.values, 1)
            if index in self._items or not isinstance(label, DpjaxLabel)
        }
        usual = {0: self._items[0]} if self.lengths.varied and 0 in self._items else {}
        return usual | found

    def label_lists(
        self, kinds: list[Kind], items: Sequence[object], labels: Labels, base: int | None
    ) -> list[Kind]:
        """Label lists of numbers if their lengths differ, except for those of the first length.

        Args:
            kinds: Classified outputs of a batch.
            items: The outputs themselves.
            labels: Labels, to which the lists are added.
            base: Length of the outputs of earlier batches, or None if none of them had numbers.
        """
        plain = {
            place: kind
            for place, kind in enumerate(kinds)
            if isinstance(kind, tuple) and not isinstance(kind, Nested)
        }
        sizes = {*map(len, plain.values())} | ({base} if base else set())
        if not self.lists and len(sizes) < 2:
            return kinds
        self.lists, found = True, kinds.copy()
        for place, row in plain.items():
            is_number = len(row) == 1 and not isinstance(items[place], Sized)
            if len(row) != base and not is_number:
                index = found[place] = labels.of(row)
                self.add(index, row)
        return found

    def label_nested(
        self, kinds: list[Kind], items: Sequence[object], labels: Labels, *, closed: bool
    ) -> list[Kind]:
        """Label nested outputs whose lists of numbers have many different lengths.

        Args:
            kinds: Classified outputs of a batch.
            items: The outputs themselves.
            labels: Labels, to which the outputs are added.
            closed: Whether the partition has been learned, so that no further structures count.
        """
        if closed and not self.lengths.varied:
            return kinds
        nested = {place: kind for place, kind in enumerate(kinds) if isinstance(kind, Nested)}
        if not closed:
            for one in nested.values():
                self.lengths.add(one)
        if not self.lengths.varied:
            return kinds
        found = kinds.copy()
        for place, one in nested.items():
            if (label := self.lengths.label(one)) is not None:
                index = found[place] = labels.of(label)
                if not closed:
                    self.add(index, items[place])
        return found

    def to_plain(self) -> JsonObject:
        """Return the forms of outputs as JSON values, without the outputs."""
        varied = sorted(self.lengths.varied)
        return {"lists": self.lists, "varied": varied, **self.frames.to_plain()}

    def restore(self, plain: JsonObject) -> None:
        """Restore the forms that `to_plain` returned."""
        self.lists = bool(plain.get("lists"))
        self.lengths.varied = {*plain.get("varied", ())}
        self.frames.restore(plain)
