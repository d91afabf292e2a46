"""Upper bounds on probabilities of binomial counts, vectorized over success probabilities.

For each success probability, there is a window of counts. The total probability of the counts
outside the window is negligible. Long windows are divided into blocks of successive counts. The
probability of a block is at most the number of its counts times the probability of its likeliest
count.
"""

import math
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

_MOST_BLOCKS = 4096
"""Approximate maximum number of blocks per window."""

_SHARED = 512
"""Number of log binomial coefficients that are computed and cached together."""

_HUGE = 1e300
"""Finite number that replaces infinity in logarithms because infinity times 0 would be NaN."""


class Blocks:
    """Blocks that cover all non-negligible counts for success probabilities in a range.

    Attributes:
        low: Smallest success probability.
        high: Largest success probability.
        trials: n, number of trials.
        negligible: Largest total probability of the counts outside a window.
        stride: Number of counts in a block.
        begin: Index of the first block. Block i begins at count i * stride.
        counts: int64 [blocks], first count of each block.
        log_ways: float64 [blocks + 1], log binomial coefficients of `counts`. The last entry of
            `log_ways` is -infinity.
    """

    def __init__(self, low: float, high: float, trials: int, negligible: float):
        self.low, self.high, self.trials, self.negligible = low, high, trials, negligible
        # Windows increase with the probability, and are longest near 1/2.
        first, last = self.ends(np.array([low, min(max(low, 0.5), high), high]))
        self.stride = -(-int(np.max(last - first) + 1) // _MOST_BLOCKS)
        self.begin = int(first[0]) // self.stride
        num_blocks = int(last[-1]) // self.stride - self.begin + 2
        self.counts = (self.begin + np.arange(num_blocks)) * self.stride
        self.log_ways = np.append(self._log_ways(num_blocks), -np.inf)

    def _log_ways(self, num_blocks: int) -> NDArray[np.float64]:
        """Return log binomial coefficients of `counts`, from a cache if possible."""
        first, last = self.begin // _SHARED, (self.begin + num_blocks - 1) // _SHARED
        parts = [_shared_log_ways(self.trials, self.stride, k) for k in range(first, last + 1)]
        start = self.begin - first * _SHARED
        return np.concatenate(parts)[start : start + num_blocks]

    def ends(self, p: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return each window's first and last count, int64 [p], from Bernstein's inequality."""
        mean, depth = self.trials * p, math.log(2 / self.negligible)
        spread = depth / 3 + np.sqrt(depth**2 / 9 + 2 * depth * mean * (1 - p))
        first = np.floor(np.maximum(mean - spread, 0))
        last = np.ceil(np.minimum(mean + spread, self.trials))
        return first.astype(np.int64), last.astype(np.int64)


class Windows:
    """Windows of blocks, one for each success probability.

    Attributes:
        start: int64 [p], index of the first block of each window, relative to `Blocks.begin`.
        size: Number of blocks in every window. Blocks of counts above n have probability 0.
    """

    def __init__(self, blocks: Blocks, p: NDArray[np.float64]):
        n, self._stride = blocks.trials, blocks.stride
        first, last = (count // self._stride - blocks.begin for count in blocks.ends(p))
        self.start, self.size = first, int(np.max(last - first)) + 1
        with np.errstate(divide="ignore"):
            won, lost = (np.maximum(x, -_HUGE) for x in (np.log(p), np.log1p(-p)))
        self._slope = self._stride * (won - lost)
        count = blocks.counts[first]
        self._level = count * won + (n - count) * lost
        self._log_ways, self._number = blocks.log_ways, np.arange(self.size + 1)
        if self._stride > 1:
            mode = np.minimum(np.floor((n + 1) * p).astype(np.int64), n)
            self._mode = mode // self._stride - blocks.begin - first
            self._most = np.exp(_log_ways(mode, n) + mode * won + (n - mode) * lost)

    def numbers(self, part: slice) -> NDArray[np.int64]:
        """Return indices of the blocks in the windows `part`, relative to `Blocks.begin`."""
        return self.start[part, None] + self._number

    def masses(self, part: slice, least: int = 0) -> NDArray[np.float64]:
        """Return upper bounds on probabilities of blocks, float64 [windows, size - least].

        Args:
            part: Windows whose blocks are used.
            least: Index, within each window, of the first block that is used.
        """
        number = self._number[least:]
        # Compute in place, since allocating memory costs more than the computation.
        nodes = self._log_ways.take(self.start[part, None] + number, mode="clip")
        nodes += self._level[part, None]
        nodes += np.multiply.outer(self._slope[part], number)
        np.exp(nodes, out=nodes)
        if self._stride == 1:
            return nodes[:, :-1]
        # A block's likeliest count is its first one, its last one (nearly the next block's first),
        # or the mode of the distribution.
        mass = np.maximum(nodes[:, :-1], nodes[:, 1:])
        (here,) = np.nonzero(self._mode[part] >= least)
        mass[here, self._mode[part][here] - least] = self._most[part][here]
        mass *= self._stride
        return np.minimum(mass, 1.0, out=mass)


@lru_cache(maxsize=256)
def _shared_log_ways(trials: int, stride: int, number: int) -> NDArray[np.float64]:
    """Return log binomial coefficients of the first counts in `_SHARED` successive blocks."""
    return _log_ways((number * _SHARED + np.arange(_SHARED)) * stride, trials)


def _log_ways(counts: NDArray, trials: int) -> NDArray[np.float64]:
    """Return logs of binomial coefficients; the log is -infinity for counts above `trials`."""
    n, k = float(trials), counts.astype(np.float64)
    log_factorial = scipy.special.gammaln
    return log_factorial(n + 1) - log_factorial(k + 1) - log_factorial(n - k + 1)
