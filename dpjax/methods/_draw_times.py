"""Measured times of draws, which decide how many draws fit before a deadline."""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

_REMEMBERED = 4
"""Number of the last blocks of a pair whose times count. A mechanism may become slower."""


class DrawTimes:
    """The shortest time per draw of each pair in its last blocks.

    Args:
        pairs: Number of pairs.
        compiles: Whether the first measured time includes compilation. If so, it is ignored.

    Attributes:
        shortest: float64 [pairs], the shortest time per draw in the last blocks of each pair, in
            seconds; 0 while unknown.
    """

    def __init__(self, pairs: int, *, compiles: bool):
        self.shortest = np.zeros(pairs)
        self._last = [deque[float](maxlen=_REMEMBERED) for _ in range(pairs)]
        self._is_timed = not compiles

    @contextmanager
    def measured(self, pair: int, size: int) -> Iterator[None]:
        """Measure the time in which `size` draws per side are made for a pair."""
        began = time.perf_counter()
        yield
        if self._is_timed:
            self._last[pair].append((time.perf_counter() - began) / size)
            self.shortest[pair] = min(self._last[pair])
        self._is_timed = True

    def share_until(self, deadline: float | None, draws: NDArray[np.int64]) -> float:
        """Return the fraction of planned draws that can be made before a deadline.

        Args:
            deadline: Value of `time.perf_counter()` at the deadline, or None for no deadline.
            draws: int64 [pairs], planned number of draws per side of each pair.
        """
        if deadline is None:
            return 1.0
        # Assume that pairs without earlier draws are as slow as the slowest other pair.
        each = np.where(self.shortest > 0, self.shortest, self.shortest.max())
        needed, left = float(draws @ each), deadline - time.perf_counter()
        share = min(left / needed, 1.0) if needed > 0 else 1.0
        return share if left > 0 else 0.0
