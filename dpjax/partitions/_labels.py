"""Indices of the labels of outputs."""

from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np

from dpjax.core import validate
from dpjax.core.errors import text_of
from dpjax.core.exact import exact, is_exact, restored
from dpjax.core.wording import ERRORS, OUTCOMES, BadValue
from dpjax.partitions.missing import missing
from dpjax.partitions.previews import shortened


class Labels:
    """The index and the name of each label.

    Args:
        source: Origin of the outputs, as named in messages.
        special: "outcomes" to treat missing values and exceptions as labels, or "error" to reject
            them.

    Attributes:
        names: Name of each label. Index 0 stands for numbers without a label.
    """

    def __init__(self, source: str, special: str):
        self._source, self._special = source, special
        self._indices: dict[tuple[str, Hashable], int] = {}
        self.names: list[str] = ["a number"]

    def of(self, label: Hashable, text: str | None = None) -> int:
        """Return the index of a label, which `text` describes if it is given."""
        if isinstance(label, np.str_ | np.bytes_):
            # A NumPy string is the same output as a Python string.
            label = label.item()
        if isinstance(label, str | bytes) and not label:
            return self.outcome(missing(label) or "")
        # The type is part of the key, because a dict does not distinguish 1, True and 1.0.
        key = (type(label).__name__, label)
        if key not in self._indices:
            if len(self.names) > self._most_labels:
                validate.within_limit(
                    "labels",
                    len(self.names),
                    f"{self._source} gave too many distinct labels "
                    "(return numbers or group labels)",
                )
            self._indices[key] = len(self.names)
            self.names.append(shortened(text_of(label)) if text is None else text)
        return self._indices[key]

    def named(self, text: str) -> int:
        """Return the index of a label that dpjax creates instead of reading it from an output."""
        return self.of(DpjaxLabel(text), text)

    def outcome(self, text: str) -> int:
        """Return the index of a missing value, an exception, or numbers that are not finite."""
        if self._special == "error":
            raise BadValue(
                f"{self._source} gave the outcome {text!r}, which {ERRORS} refuses: pass "
                f"{OUTCOMES} to count it as a separate outcome."
            )
        return self.named(text)

    def of_strings(self, kinds: Sequence[str] | Sequence[bytes]) -> np.ndarray:
        """Return the index of each string, int32 [k]."""
        name = type(kinds[0]).__name__ if kinds else ""
        known = map(self._indices.get, zip(repeat(name), kinds, strict=False))
        numbers = [
            self.of(kind) if number is None else number
            for kind, number in zip(kinds, known, strict=True)
        ]
        return np.array(numbers, np.int32)

    @property
    def values(self) -> list[Hashable]:
        """The label at each index, beginning with index 1."""
        return [label for _, label in self._indices]

    def known(self, label: Hashable) -> bool:
        """Return whether a label has an index."""
        return (type(label).__name__, label) in self._indices

    def empty(self) -> "Labels":
        """Return an object without labels for the same outputs."""
        return Labels(self._source, self._special)

    def shuffle_from(self, start: int) -> np.ndarray:
        """Renumber the labels from index `start` on, with a fixed permutation.

        If labels had indices in order of first occurrence, a label's index would depend on the
        position of an output, and independent outputs would look dependent.

        Returns:
            The new index of each label, int32 [labels].
        """
        found, new = np.arange(len(self.names), dtype=np.int32), len(self.names) - start
        order = np.random.Generator(np.random.Philox(0)).permutation(new)
        names = self.names[start:]
        keys = [self._indices.popitem()[0] for _ in range(new)][::-1]
        for place, old in enumerate(order.tolist(), start):
            self._indices[keys[old]] = place
            self.names[place] = names[old]
            found[start + old] = place
        return found

    def to_plain(self) -> list[Any] | None:
        """Return the labels as JSON values, or None if JSON cannot represent them."""
        plain = [str(v) if isinstance(v, DpjaxLabel) else v for v in self.values]
        if not all(map(is_exact, plain)):
            return None
        kinds = [kind for kind, _ in self._indices]
        return [list(row) for row in zip(kinds, map(exact, plain), self.names[1:], strict=True)]

    def restore(self, plain: Sequence[Any]) -> None:
        """Restore the labels that `to_plain` returned.

        Raises:
            ValueError, TypeError: If the content is not what `to_plain` returned.
        """
        for kind, content, name in plain:
            label = restored(content)
            value: Any = DpjaxLabel(label) if kind == "DpjaxLabel" else label
            if type(value).__name__ != kind:
                raise ValueError(f"the label {label!r} does not have the type {kind}")
            self.of(value, str(name))

    @property
    def num_objects(self) -> int:
        """Number of objects that equal only themselves, among the labels and their parts."""
        return len({number for _, label in self._indices for number in _objects_of(label)})

    @cached_property
    def _most_labels(self) -> int:
        return validate.limit("labels")


class DpjaxLabel(str):
    """A label that dpjax creates. The label is distinct from an output with the same text."""

    __slots__ = ()


def _objects_of(label: object) -> Iterator[int]:
    """Yield the identity of each object in a label that equals only itself, except for types."""
    if isinstance(label, tuple):
        for part in label:
            yield from _objects_of(part)
    elif type(label).__eq__ is object.__eq__ and not isinstance(label, type):
        yield id(label)
