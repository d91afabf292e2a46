"""Detection of resampled outputs, based on count ratios that jump between adjacent outcomes.

If many outputs are resampled from a few recorded outputs, the resampled counts repeat the random
errors of the recorded counts. Because the counts are large, the repeated random errors look
significant. Consider mechanisms whose outcomes are integers or lie on another lattice. For most of
them, the log ratio of an outcome's two probabilities is nearly linear in the outcome, except at a
few outcomes. The second differences of the log ratios should then not exceed their standard errors.

For each of several disjoint triples of adjacent cells, a second difference is computed, divided by
its standard error, and squared. The statistic is the sum of the smallest four fifths of these
squares. For independent draws, the statistic is distributed like a trimmed sum of squared normals.
This distribution is approximated by a gamma distribution with the same asymptotic mean and variance
(Stigler, "The asymptotic distribution of the trimmed mean", 1973).
"""

import numpy as np
import scipy
from numpy.typing import NDArray

from dpjax.partitions import Partition

_CHANCE = 1e-7
"""Tail probability, in the gamma approximation, below which a note is added. For independent draws,
the true probability of a note is at most ten times as large.
"""

_LEAST_COUNT = 20
"""Minimum count of a cell, on either side, for which the log of the count is nearly normal."""

_FEWEST = 5
"""Minimum number of triples of cells for which the test is carried out."""

_MEAN, _VARIANCE = 0.350180, 0.390672
"""Asymptotic mean and variance, divided by the number of terms, of a sum of squared normals from
which the largest fifth is removed.
"""


def notes_of_uneven_ratios(cells: Partition, counts: NDArray[np.int64]) -> list[str]:
    """Return a note if count ratios jump between adjacent outcomes, as in resampled outputs.

    There is also a note for a mechanism that treats adjacent outcomes differently, for example even
    and odd numbers.

    Args:
        cells: Partition of the outputs.
        counts: Counts of the outputs that were not used to determine the cells, int64 [2 sides,
            cells].
    """
    if len(cells.edges) != 1:
        return []
    squares = [
        _squares(x, y) for x, y in zip(cells.boxes(counts[0]), cells.boxes(counts[1]), strict=True)
    ]
    found = np.concatenate(squares or [np.empty(0)])
    if found.size < _FEWEST or _tail(found) >= _CHANCE:
        return []
    return [
        "The ratio of the two counts jumps between neighboring outcomes more than it does for "
        "independent draws from smooth distributions. The mechanism may treat neighboring outcomes "
        "differently (such as even and odd numbers). But if the outputs were resampled from fewer "
        "outputs, the bound does not hold."
    ]


def _squares(x: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return squared standardized second differences of ln(x / y) for disjoint triples of bins."""
    large = np.minimum(x, y) >= _LEAST_COUNT
    triples = large.sum() // 3
    # Adding one half to each count removes most of the bias of its log (Haldane, Anscombe).
    first, second = (side[large][: 3 * triples].reshape(triples, 3) + 0.5 for side in (x, y))
    weights = np.array([1.0, -2.0, 1.0])
    return (np.log(first / second) @ weights) ** 2 / ((1 / first + 1 / second) @ weights**2)


def _tail(squares: NDArray[np.float64]) -> float:
    """Return the probability that a trimmed sum of squared normals reaches the observed sum."""
    kept = np.sort(squares)[: 4 * squares.size // 5]
    mean, variance = _MEAN * squares.size, _VARIANCE * squares.size
    return float(scipy.special.gammaincc(mean**2 / variance, kept.sum() * mean / variance))
