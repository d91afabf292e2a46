"""Counts of the search set for one pair, and the budget of the confirmation."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.partitions._partition import Partition


class Search(NamedTuple):
    """Counts of the search stage of one pair.

    Attributes:
        partition: Partition that was constructed from the first outputs.
        halves: int64 [..., half, side, cells], counts of two halves of the outputs at both sides.
            Leading axes index runs.
        allowed: bool [cells], whether each cell lies in the region, or None if there is no region.
    """

    partition: Partition
    halves: NDArray[np.int64]
    allowed: NDArray[np.bool_] | None

    def at(self, place: int | NDArray[np.integer]) -> "Search":
        """Select the counts of one run, or of several."""
        return self._replace(halves=self.halves[place])

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Bool [..., cells], the cells that contain at least one output."""
        return self.halves.sum(axis=(-3, -2)) > 0


class Budget(NamedTuple):
    """The numbers on which the expected bound of a confirmation depends.

    Attributes:
        num_confirm: N, the number of fresh outputs per side, or the mean of both sides if `shared`
            is True.
        confidence: Confidence of the bound.
        num_rivals: Number of pairs that are searched.
        num_partitions: Number of partitions of one pair that are compared.
        shared: Whether fresh outputs may be divided unequally between the two sides, depending on
            the event.
    """

    num_confirm: int
    confidence: float
    num_rivals: int = 1
    shared: bool = False
    num_partitions: int = 1
