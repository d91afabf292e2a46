"""Partitions of vector outputs by a single entry."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from dpjax.core.types import Plain
from dpjax.partitions._batches import Outputs
from dpjax.partitions._lay import lay
from dpjax.partitions._partition import Partition

_MOST_LABELS = 64
"""Maximum number of labels beside numbers, such as patterns of NaN, by which a partition by one
entry also divides the outputs. With more labels, most cells would contain hardly any output.
"""


@dataclass(frozen=True)
class OneEntry(Partition):
    """A partition of vector outputs by a single entry.

    Attributes:
        column: Index of the entry.
        unlabeled: Whether only the entry, and not the label, divides outputs with numbers.
    """

    column: int = field(kw_only=True)
    unlabeled: bool = field(kw_only=True)

    @property
    def key(self) -> Hashable:
        """See `Cells`."""
        return super().key, self.column, self.unlabeled

    @property
    def columns(self) -> Sequence[int]:
        """See `Partition`."""
        return (self.column,)

    def index(self, outputs: Outputs) -> np.ndarray:
        """Return the cell of each output, int64 [n]."""
        return super().index(_with_number(outputs, self.number(outputs), self.unlabeled))

    def number(self, outputs: Outputs) -> np.ndarray:
        """Return the number of each output by which outputs are divided, [n]."""
        return outputs.values[:, self.column]

    def kind(self, whole: bool) -> str:
        """See `Cells`."""
        return f"a vector with {self.entry(self.column)}"

    def plain(self) -> Plain:
        """Return the entry as JSON values for a recipe."""
        return {"words": self.entry(self.column), "kind": "entry", "entry": self.column}


def _with_number(outputs: Outputs, numbers: np.ndarray, unlabeled: bool) -> Outputs:
    labels = np.where(outputs.alone, outputs.labels, 0) if unlabeled else outputs.labels
    return Outputs(labels, numbers[:, None].astype(np.float64, copy=False), outputs.alone)


def entry_partition(
    pilot: Sequence[Outputs],
    names: Sequence[str],
    column: int,
    laid_by: Callable[..., Partition] = lay,
) -> OneEntry:
    """Construct a partition by labels and, for vectors, by one entry.

    Args:
        pilot: Outputs from the database and from its neighbor.
        names: Names of all labels in the pilot.
        column: Index of the entry.
        laid_by: Function (pilot, names) -> partition of outputs that consist of one number.
    """
    beside = np.concatenate([side.labels[~side.alone] for side in pilot])
    unlabeled = np.unique(beside).size > _MOST_LABELS
    parts = [_with_number(side, side.values[:, column], unlabeled) for side in pilot]
    laid = laid_by(parts, names)
    return OneEntry(
        laid.names,
        laid.edges,
        laid.atoms,
        laid.boxed,
        laid.whole,
        column=column,
        unlabeled=unlabeled,
    )
