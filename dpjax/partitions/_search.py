"""Findings of the search set at one pair, and the outputs left to confirm them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.partitions._partition import Partition


class Search(NamedTuple):
    """Counts of the search stage of one pair.

    Attributes:
        partition: Laid by the first outputs.
        halves: int64 [..., 2, 2, cells], counts of two halves of the outputs at both sides; leading
            axes are those of runs.
        allowed: bool [cells], which cells lie in the region; None for all.
    """

    partition: Partition
    halves: NDArray[np.int64]
    allowed: NDArray[np.bool_] | None

    def at(self, place: int | NDArray[np.integer]) -> "Search":
        """Return the counts of one run, or of several."""
        return self._replace(halves=self.halves[place])

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Bool [..., cells], which cells any of the outputs fell into."""
        return self.halves.sum(axis=(-3, -2)) > 0


class Budget(NamedTuple):
    """What a search may count on.

    Attributes:
        num_confirm: N, fresh outputs per side; on average, if shared.
        confidence: Confidence of the bound.
        num_rivals: Number of pairs that are searched.
        shared: Whether the event decides how fresh outputs are divided between both sides.
    """

    num_confirm: int
    confidence: float
    num_rivals: int = 1
    shared: bool = False
