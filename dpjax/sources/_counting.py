"""Counts of outputs in the cells of a partition, and the progress of an audit."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpjax.partitions import Outputs, Partition
from dpjax.partitions._scored import fold_of


def count_halves(cells: Partition, sides: Sequence[Iterable[Outputs]]) -> NDArray[np.int64]:
    """Count both halves of the search set: outputs with even numbers and with odd numbers.

    Args:
        cells: Partition of the outputs.
        sides: Batches of outputs at the database and at its neighbor; batch sizes do not affect
            the counts.

    Returns:
        int64 [2, 2, cells], halves first.
    """
    halves = np.zeros((2, 2, cells.size), np.int64)
    for side, batches in enumerate(sides):
        number = 0
        for batch in batches:
            numbers = number + np.arange(len(batch.labels))
            halves[:, side] += halves_of(cells, batch, fold_of(numbers), numbers)
            number += len(batch.labels)
    return halves


def halves_of(
    cells: Partition, outputs: Outputs, fold: NDArray[np.int64], numbers: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count outputs of one side with even and with odd numbers, int64 [2, cells].

    Args:
        cells: Partition, which for each output uses what was learned without its fold.
        outputs: Outputs [n] of one side.
        fold: Fold of each output, int [n].
        numbers: Number of each output, int [n].
    """
    place = cells.index_held_out(outputs, fold) + cells.size * (numbers % 2)
    return np.bincount(place, minlength=2 * cells.size).reshape(2, -1)


def marks_counter(
    cells: Partition, marks: NDArray[np.int64], num_marks: int
) -> Callable[[Outputs], NDArray[np.int64]]:
    """Return a function that counts outputs by the marks of their cells, int64 [num_marks].

    Args:
        cells: Partition of the outputs.
        marks: Integers [cells], below `num_marks`.
        num_marks: Number of marks.
    """
    narrow, of_cells = cells.narrowed(marks)
    return lambda outputs: np.bincount(of_cells[narrow.index(outputs)], minlength=num_marks)


class Tally:
    """Counts of one audit so far, and its progress; an interrupt leaves them readable.

    Args:
        progress: Function of (number of outputs so far, expected number), or None.

    Attributes:
        searched: Number of outputs of the search, at both sides of all pairs.
        confirmed: Counts of the confirmation set, int64 [2, marks]; None before its first outputs.
    """

    def __init__(self, progress: Callable[[int, int], None] | None = None):
        self.searched = 0
        self.confirmed: NDArray[np.int64] | None = None
        self._tell, self._seen, self._total = progress, 0, 0

    def confirm(self, counts: NDArray[np.int64]) -> None:
        """Add counts of the confirmation set."""
        self.confirmed = counts if self.confirmed is None else self.confirmed + counts

    def expect(self, more: int) -> None:
        """Announce a number of further outputs; 0 if it is not known."""
        self._total = self._seen + more if more else 0
        self.saw(0)

    def saw(self, count: int) -> None:
        """Record that a number of outputs was drawn or read."""
        self._seen += count
        if self._tell is not None:
            self._tell(self._seen, self._total)
