"""What an encoder of outputs has learned from them: their labels, and the form of their numbers."""

from collections.abc import Callable

from dpjax.core.types import JsonObject
from dpjax.partitions._columns import NestedColumns
from dpjax.partitions._contents import Contents
from dpjax.partitions._entries import Entries
from dpjax.partitions._labels import Labels
from dpjax.partitions._summarizer import Summarizer
from dpjax.partitions._summary import Targets
from dpjax.partitions._wide import Wide


class LearnedForm:
    """The labels of outputs, and the form of their numbers, which later outputs have, too.

    Args:
        source: Origin of the outputs, as named in messages.
        special: "outcomes" or "error"; see `Encoder`.
        names_of_entries: Names of the entries of vectors, for descriptions; () if unknown.

    Attributes:
        targets: Function that returns the records that are looked for in summarized outputs.
    """

    def __init__(self, source: str, special: str, names_of_entries: tuple[str, ...]):
        self.labels = Labels(source, special)
        self.targets: Callable[[], Targets] = dict
        self._base: int | None = None
        self._names_of_entries = names_of_entries
        self.columns = NestedColumns()
        self._contents = Contents()
        self._summarizer: Summarizer | None = None
        self._wide: Wide | None = None

    @property
    def names(self) -> list[str]:
        """Name of each label; the first one stands for numbers without a label."""
        return self.labels.names

    @property
    def dimension(self) -> int | None:
        """Number of columns, or None if no output so far had numbers."""
        return self._width if self._wide is None else self._wide.size

    @property
    def _width(self) -> int | None:
        """Number of numeric entries, or None if no output so far had numbers."""
        return None if self._base is None else self._base + len(self.columns.extra)

    @property
    def parts(self) -> tuple[str, ...]:
        """Paths of the numbers in nested outputs or vectors with names; () for other outputs."""
        return self.entries.paths

    @property
    def entries(self) -> Entries:
        """Description of the columns of numbers."""
        paths = self.columns.named_paths
        if not paths and len(self._names_of_entries) == self._base:
            paths = tuple(f"[{name!r}]" for name in self._names_of_entries)
        if self._wide is not None:
            return self._wide.entries(paths)
        if self._summarizer is None:
            return Entries(paths)
        candidates, reliable, num_outputs = self._summarizer.chosen
        return Entries(paths, candidates, reliable, num_outputs)

    def notes(self) -> list[str]:
        """Return notes on the numbers that are compared."""
        return self.columns.notes() if self._wide is None else [self._wide.note()]

    def to_plain(self) -> JsonObject | None:
        """Return the state as JSON values, or None if JSON cannot represent the labels."""
        columns, labels = self.columns, self.labels.to_plain()
        usual = columns.usual
        if labels is None or not (usual is None or isinstance(usual.key, str)):
            return None
        return {
            "summarizer": None if self._summarizer is None else self._summarizer.to_plain(),
            "wide": None if self._wide is None else self._wide.to_plain(),
            "labels": labels,
            "base": self._base,
            "columns": columns.to_plain(),
            "closed": columns.closed,
            **self._contents.to_plain(),
        }

    def restore(self, plain: JsonObject) -> None:
        """Restore the state that `to_plain` returned; call this before any batch is encoded.

        Raises:
            KeyError, ValueError, TypeError: If the content is not a state that `to_plain`
                returned.
        """
        self.labels.restore(plain["labels"])
        base, columns = plain["base"], plain["columns"]
        self._base = None if base is None else int(base)
        if columns is not None:
            self.columns.restore(columns)
        self.columns.closed = bool(plain["closed"])
        self._contents.restore(plain)
        if plain.get("wide") is not None:
            self._wide = Wide.restored(plain["wide"])
        if (state := plain.get("summarizer")) is not None:
            self._summarizer = Summarizer.restored(state, self.labels, self.targets)

    @property
    def is_wide(self) -> bool:
        """Whether only some entries of long vectors are compared."""
        return self._wide is not None

    @property
    def is_reduced(self) -> bool:
        """Whether outputs are summarized, or whether only some of their entries are compared."""
        return self._summarizer is not None or self._wide is not None
