"""Counts of outputs in the cells of a partition, and how far an audit is."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from dpjax.partitions import Outputs, Partition
from dpjax.partitions._scored import fold_of


def count_halves(cells: Partition, sides: Sequence[Iterable[Outputs]]) -> NDArray[np.int64]:
    """Counts of both halves of what searches, those of an even number and of an odd one.

    Args:
        cells: In which is counted.
        sides: Batches of outputs at the database and at its neighbor. How they are cut does not
            matter.

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
    """Counts of outputs of one side, int64 [2, cells], of even numbers and of odd ones.

    Args:
        cells: In which is counted, by what was learned without each output's fold.
        outputs: n of them.
        fold: int [n].
        numbers: int [n].
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
    """What was counted so far in one audit: all that an interrupt leaves, and its progress.

    Args:
        progress: Told (outputs so far, of how many), or None.

    Attributes:
        searched: Outputs that searched, at both sides of all pairs.
        confirmed: int64 [2, marks], counts of the fresh outputs; None before the first of them.
    """

    def __init__(self, progress: Callable[[int, int], None] | None = None):
        self.searched = 0
        self.confirmed: NDArray[np.int64] | None = None
        self._tell, self._seen, self._total = progress, 0, 0

    def confirm(self, counts: NDArray[np.int64]) -> None:
        """Adds counts of fresh outputs."""
        self.confirmed = counts if self.confirmed is None else self.confirmed + counts

    def expect(self, more: int) -> None:
        """So many outputs are still to come; 0 where that is not known."""
        self._total = self._seen + more if more else 0
        self.saw(0)

    def saw(self, count: int) -> None:
        """So many more outputs were drawn or read."""
        self._seen += count
        if self._tell is not None:
            self._tell(self._seen, self._total)
