"""One form for all data frames among the outputs of a mechanism.

A frame of records is summarized at once, but a frame with few rows, or whose rows seem to stand for
groups, is compared entry by entry. If names are unique except for one person who occurs twice, some
frames look like records and others like groups. Two forms would have different numbers, so that the
batches in which both sides are encoded would differ even if the sides do not.
"""

from collections.abc import Callable, Sequence

from dpjax.partitions._nested import Label, Nested, form_of
from dpjax.partitions._summary import Targets
from dpjax.partitions.missing import Raised, entries, is_table
from dpjax.partitions.summaries import summary_of_frame


class Frames:
    """The form of data frames, which the first batch with a frame determines.

    Attributes:
        as_records: Whether all frames are summarized, or None before the first frame.
    """

    __slots__ = ("as_records",)

    def __init__(self):
        self.as_records: bool | None = None

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

    def form(
        self, item: object, targets: Callable[[], Targets]
    ) -> Raised | Label | tuple[float, ...] | Nested:
        """Return the same as `form_of`, except for frames after a frame with the other form."""
        found = form_of(item, targets)
        if self.as_records is None or not isinstance(found, Nested) or not is_table(type(item)):
            return found
        if found.is_named == self.as_records:
            return found
        if not self.as_records:
            return Nested.of(entries(item))
        summary = summary_of_frame(item, targets, of_records=True)
        return found if summary is None else Nested.of_summary(summary, item)
