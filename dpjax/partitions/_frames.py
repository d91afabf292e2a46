"""One form for all data frames among the outputs of a mechanism.

A frame of records is summarized at once, but a frame with few rows, or whose rows seem to stand for
groups, is compared entry by entry. If names are unique except for one person who occurs twice, some
frames look like records and others like groups. Two forms would have different numbers, so that the
batches in which both sides are encoded would differ even if the sides do not.

Most functions return series and frames with the same names, which therefore are no part of their
form. An output with other names than the first one gets a structure that contains the names.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache

from dpjax.core.types import JsonObject
from dpjax.partitions._metadata import metadata, with_metadata
from dpjax.partitions._nested import Label, Nested, form_of
from dpjax.partitions._summary import Targets
from dpjax.partitions.missing import Raised, entries, has_index, is_table
from dpjax.partitions.summaries import summary_of_frame

Form = Raised | Label | tuple[float, ...] | Nested
"""What `form_of` returns."""

_BUILTIN = frozenset({dict, tuple, list, str, int, float})
"""Most frequent types of outputs, which are no frames."""


class Frames:
    """The form of series and data frames, which the first ones determine.

    Attributes:
        as_records: Whether all frames are summarized, or None before the first frame.
    """

    __slots__ = ("_is_closed", "_metadata", "as_records")

    def __init__(self):
        self.as_records: bool | None = None
        # An audit may have thousands of encoders, and few outputs are series or frames.
        self._metadata: dict[str, str] | None = None
        self._is_closed = False

    def close(self) -> None:
        """Let no further output determine which metadata are usual."""
        self._is_closed = True

    def decide(
        self, kinds: Sequence[object], items: Sequence[object], *, closed: bool
    ) -> list[int]:
        """Choose the form of most frames in a batch, unless an earlier batch had frames.

        Args:
            kinds: The classified outputs.
            items: The outputs themselves.
            closed: Whether the partition has been learned, so that no further forms count.

        Returns:
            Indices of the outputs that have the other form.
        """
        if closed or self.as_records is not None:
            return []
        named = {
            place: kind.is_named
            for place, (kind, item) in enumerate(zip(kinds, items, strict=True))
            if isinstance(kind, Nested) and is_table(type(item))
        }
        if not named:
            return []
        self.as_records = 2 * sum(named.values()) >= len(named)
        return [place for place, is_named in named.items() if is_named != self.as_records]

    def form(self, item: object, targets: Callable[[], Targets]) -> Form:
        """Return the same as `form_of`, except for frames and series that differ from the first.

        These are frames after a frame with the other form, and outputs with other metadata.
        """
        found = form_of(item, targets)
        if (kind := type(item)) in _BUILTIN:
            return found
        name, is_frame = _labeled(kind)
        if is_frame and isinstance(found, Nested):
            found = self._of_table(item, found, targets)
        if not name:
            return found
        text = metadata(item)
        usual = None if self._metadata is None else self._metadata.get(name)
        if usual is None and not self._is_closed:
            self._metadata = {**(self._metadata or {}), name: text}
            usual = text
        return found if text == (usual or "") else _with_metadata(found, text)

    def _of_table(self, item: object, found: Nested, targets: Callable[[], Targets]) -> Nested:
        if self.as_records is None:
            return found
        if found.is_named == self.as_records:
            return found
        if not self.as_records:
            return Nested.of(entries(item))
        summary = summary_of_frame(item, targets, of_records=True)
        return found if summary is None else Nested.of_summary(summary, item)

    def to_plain(self) -> JsonObject:
        """Return the form as JSON values."""
        return {"as_records": self.as_records, "metadata": [self._metadata or {}, self._is_closed]}

    def restore(self, plain: JsonObject) -> None:
        """Restore the form that `to_plain` returned."""
        self.as_records = plain.get("as_records")
        texts, is_closed = plain.get("metadata", ({}, False))
        self._metadata = {str(kind): str(text) for kind, text in texts.items()} or None
        self._is_closed = bool(is_closed)


@lru_cache
def _labeled(kind: type) -> tuple[str, bool]:
    """Return the name of a type whose rows have labels, or "", and whether it is a table."""
    return kind.__name__ if has_index(kind) else "", is_table(kind)


def _with_metadata(form: Form, text: str) -> Nested:
    """Return the form of an output with unusual metadata, given its form without metadata."""
    if not isinstance(form, Nested):
        form = Nested.of(form.value if isinstance(form, Label) else form)
    structure, key = with_metadata(form.structure, text), form.key
    key = with_metadata(key, text) if isinstance(key, str) else (key, with_metadata("", text))
    return form._replace(structure=structure, key=key)
