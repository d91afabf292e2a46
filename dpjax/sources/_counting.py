"""Counts of outputs in the cells of a partition, and the progress of an audit."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpjax.partitions import Outputs, Partition
from dpjax.partitions._scored import fold_of


def count_halves(cells: Partition, sides: Sequence[Iterable[Outputs]]) -> NDArray[np.int64]:
    """Count, in each cell, the outputs of both halves of the search set.

    One half consists of the even-numbered outputs, and the other half of the odd-numbered outputs.

    Returns:
        Counts, int64 [2 halves, 2 sides, cells].
    """
    halves = np.zeros((2, 2, cells.size), np.int64)
    for side, batches in enumerate(sides):
        number = 0
        for batch in batches:
            numbers = number + np.arange(len(batch.labels))
            fold = fold_of(numbers) if cells.cross_fitted else None
            halves[:, side] += halves_of(cells, batch, fold, numbers)
            number += len(batch.labels)
    return halves


def halves_of(
    cells: Partition,
    outputs: Outputs,
    fold: NDArray[np.int64] | None,
    numbers: NDArray[np.int64],
) -> NDArray[np.int64]:
    """Count one side's even- and odd-numbered outputs per cell, and return int64 [2 halves, cells].

    Args:
        cells: Partition of the outputs. If the partition uses a cross-fitted score, each output's
            cell is determined by the score that was fitted without the output's fold.
        outputs: Outputs [n] of one side.
        fold: Fold of each output, int [n]; or None if the partition uses no cross-fitted score.
        numbers: Index of each output in its stream, int [n].
    """
    cell = cells.index(outputs) if fold is None else cells.index_held_out(outputs, fold)
    place = cell + cells.size * (numbers & 1)
    return np.bincount(place, minlength=2 * cells.size).reshape(2, -1)


def marks_counter(
    cells: Partition, marks: NDArray[np.int64], num_marks: int
) -> Callable[[Outputs], NDArray[np.int64]]:
    """Return a function that counts outputs by the marks of their cells, int64 [num_marks].

    Args:
        cells: Partition of the outputs.
        marks: Mark of each cell, int64 [cells], in [0, num_marks).
        num_marks: Number of marks.
    """
    narrow, of_cells = cells.narrowed(marks)
    return lambda outputs: np.bincount(of_cells[narrow.index(outputs)], minlength=num_marks)


class Tally:
    """Counts and progress of an unfinished audit, which remain available after an interrupt.

    Args:
        progress: Function that is called with (number of outputs so far, expected total number); or
            None to report no progress.

    Attributes:
        searched: Number of search outputs so far, in total over both sides and all pairs.
        confirmed: Counts of the confirmation outputs so far, int64 [2 sides, marks]; None until the
            first of these outputs is counted.
        seen: Number of outputs so far.
    """

    def __init__(self, progress: Callable[[int, int], None] | None = None):
        self.searched = 0
        self.confirmed: NDArray[np.int64] | None = None
        self.seen = 0
        self._tell, self._total = progress, 0

    def confirm(self, counts: NDArray[np.int64]) -> None:
        """Add the counts of more confirmation outputs, int64 [2 sides, marks]."""
        self.confirmed = counts if self.confirmed is None else self.confirmed + counts

    def expect(self, more: int) -> None:
        """Set the number of outputs that are still expected; 0 means that the number is unknown."""
        self._total = self.seen + more if more else 0
        self.saw(0)

    def saw(self, count: int) -> None:
        """Record that `count` more outputs were drawn or read."""
        self.seen += count
        if self._tell is not None:
            self._tell(self.seen, self._total)
