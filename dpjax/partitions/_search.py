"""Counts of one pair's search set, and the budget of the confirmation."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.partitions._partition import Partition


class Search(NamedTuple):
    """Counts of one pair's search set in the cells of a partition.

    Attributes:
        partition: Partition, which was constructed from the first outputs of the search set.
        halves: Counts for each half of the search set, each side and each cell, int64 [..., 2
            halves, 2 sides, cells]. Leading axes index runs.
        allowed: Whether each cell lies in the region, bool [cells], or None if there is no region.
    """

    partition: Partition
    halves: NDArray[np.int64]
    allowed: NDArray[np.bool_] | None

    def at(self, place: int | NDArray[np.integer]) -> "Search":
        """Return a `Search` that holds only the counts of the selected runs."""
        return self._replace(halves=self.halves[place])

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Whether each cell contains at least one output, bool [..., cells]."""
        return self.halves.sum(axis=(-3, -2)) > 0


class Budget(NamedTuple):
    """Settings of a confirmation, such as the sample size, that determine the expected bound.

    Attributes:
        num_confirm: N, the number of fresh outputs per side. If `shared` is True, N is the mean of
            the numbers on the two sides.
        confidence: Confidence level of the bound.
        num_rivals: Number of pairs among which the search chooses.
        num_partitions: Number of partitions among which the search chooses for each pair.
        shared: Whether the fresh outputs may be divided unequally between the two sides, in a ratio
            that depends on the event.
    """

    num_confirm: int
    confidence: float
    num_rivals: int = 1
    shared: bool = False
    num_partitions: int = 1
