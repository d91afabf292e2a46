"""Nested outputs whose lists of numbers have different lengths, such as {"scores": [0.5, 1.25]}.

Each combination of lengths is a structure of its own, so the numbers of two outputs could only be
compared place by place. Outputs with many lengths are therefore labels until they are summarized.
"""

import re
from collections.abc import Hashable, Mapping
from decimal import Decimal
from functools import lru_cache
from numbers import Real
from typing import Any

import numpy as np

from dpjax.partitions._fields import Fields, fields_of
from dpjax.partitions._labels import DpjaxLabel
from dpjax.partitions._nested import Nested
from dpjax.partitions._records import as_records
from dpjax.partitions.missing import entries, has_entries

_FEWEST = 4
"""Smallest number of structures that are lists of different lengths. If there are fewer, their
names are short, and an event can name each of them.
"""

_LIST = re.compile(r"\((?:number(?:, number)*)?\)")
"""Pattern of a list of numbers in the text of a structure."""


class Lengths:
    """The structures of nested outputs that differ only in the lengths of lists of numbers.

    Attributes:
        varied: Texts of structures without lengths. Outputs with such a structure are labels.
    """

    def __init__(self):
        self.varied: set[str] = set()
        self._structures: dict[str, set[str]] = {}

    def add(self, one: Nested) -> None:
        """Take an output into account from which the partition is learned."""
        if one.is_named or not isinstance(one.key, str):
            return
        form = _without_lengths(one.key)
        structures = self._structures.setdefault(form, set())
        structures.add(one.key)
        if len(structures) >= _FEWEST:
            self.varied.add(form)

    def label(self, one: Nested) -> DpjaxLabel | None:
        """Return an output as a label, or None if its numbers are compared place by place."""
        if one.is_named or not self.varied or not isinstance(one.key, str):
            return None
        return whole_label(one) if _without_lengths(one.key) in self.varied else None


def structure_label(one: Nested) -> Hashable:
    """Return the label of a structure, which differs from a string with the same text."""
    return DpjaxLabel(one.key) if isinstance(one.key, str) else one.key


def whole_label(one: Nested) -> DpjaxLabel:
    """Return a label that two outputs share if their structures and numbers are equal."""
    return DpjaxLabel(f"{one.key} with the numbers {one.numbers}")


@lru_cache(2**12)
def _without_lengths(structure: str) -> str:
    return _LIST.sub("(numbers)", structure)


def with_numbers(part: Any, numbers: Mapping[str, float], path: str = "") -> Any:
    """Return an output of the same structure with other numbers.

    Args:
        part: The output, or the part of it at `path`.
        numbers: The numbers to replace, by their paths; see `Nested.entries`.
        path: Path of the part.
    """
    if path in numbers and isinstance(part, Real | Decimal | np.bool_):
        return numbers[path]
    if isinstance(table := as_records(part), dict) and table is not part:
        # The structure of a series is a list of its labels and its numbers.
        names = ("[0]", "[1]")
        return {
            name: with_numbers(column, numbers, f"{path}{place}")
            for place, (name, column) in zip(names, table.items(), strict=True)
        }
    if has_entries(type(part)):
        part = entries(part)
    part = fields_of(part) or part
    if isinstance(part, dict):
        found = {k: with_numbers(inner, numbers, f"{path}[{k!r}]") for k, inner in part.items()}
        return Fields(found, part.kind) if isinstance(part, Fields) else found
    if isinstance(part, list | tuple):
        found = [with_numbers(inner, numbers, f"{path}[{i}]") for i, inner in enumerate(part)]
        return tuple(found) if isinstance(part, tuple) else found
    return part
