"""Search-set counts for one pair, and the budget of the confirmation stage."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.partitions._partition import Partition


class Search(NamedTuple):
    """Counts for one pair in the search stage.

    Attributes:
        partition: Partition constructed from the pilot, the first outputs of the search set.
        halves: Counts for each half of the search set on each side, int64 [..., half, side, cells].
            Leading axes index runs.
        allowed: Whether each cell lies in the region, bool [cells], or None if there is no region.
    """

    partition: Partition
    halves: NDArray[np.int64]
    allowed: NDArray[np.bool_] | None

    def at(self, place: int | NDArray[np.integer]) -> "Search":
        """Select the counts of one or more runs."""
        return self._replace(halves=self.halves[place])

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Whether each cell contains at least one output, bool [..., cells]."""
        return self.halves.sum(axis=(-3, -2)) > 0


class Budget(NamedTuple):
    """Sample size, confidence and other settings of a confirmation, for its expected bound.

    Attributes:
        num_confirm: Number N of fresh outputs per side. If `shared` is True, the mean over both
            sides.
        confidence: Confidence of the bound.
        num_rivals: Number of pairs that are searched.
        num_partitions: Number of partitions that are compared for each pair.
        shared: Whether fresh outputs may be divided unequally between the two sides, depending on
            the event.
    """

    num_confirm: int
    confidence: float
    num_rivals: int = 1
    shared: bool = False
    num_partitions: int = 1
