"""Detection of resampled counts: probability ratios that jump between neighboring outcomes.

Values drawn again from a few recorded ones inherit the errors of the few, which their large counts
then seem to prove. On integers and other lattices, no value gives this away. But under most
mechanisms the log ratio of an outcome's probabilities is nearly linear in the outcome, except at a
few places, and so its second differences are no larger than their standard errors.

The statistic is the sum of squares of the standardized second differences of log ratios in disjoint
triples of neighboring cells, without the largest fifth of the squares. Its null distribution is
that of a trimmed sum of squares of normals, approximated by a gamma distribution with the
asymptotic mean and variance (Stigler, The asymptotic distribution of the trimmed mean, 1973).
"""

import numpy as np
import scipy
from numpy.typing import NDArray

from dpjax.partitions import Partition

_CHANCE = 1e-7
"""Tail of the approximation below which a note is added; the true tail is at most ten times it."""

_LEAST_COUNT = 20
"""Smallest count of a cell whose log is nearly normal."""

_FEWEST = 5
"""Smallest number of triples that are compared."""

_MEAN, _VARIANCE = 0.350180, 0.390672
"""Asymptotic mean and variance, per term, of a sum of squared normals without its largest fifth."""


def notes_of_uneven_ratios(cells: Partition, counts: NDArray[np.int64]) -> list[str]:
    """Return a note if ratios of counts jump between neighbors, as those of resamples do.

    Mechanisms that treat neighboring outcomes differently, such as even and odd numbers, cause the
    note as well.

    Args:
        cells: Partition of the outputs.
        counts: Counts of outputs that did not shape the cells, int64 [2, cells].
    """
    if len(cells.edges) != 1:
        return []
    squares = [
        _squares(x, y) for x, y in zip(cells.boxes(counts[0]), cells.boxes(counts[1]), strict=True)
    ]
    found = np.concatenate([np.empty(0), *squares])
    if found.size < _FEWEST or _tail(found) >= _CHANCE:
        return []
    return [
        "The ratio of the two counts jumps between neighboring outcomes more than independent "
        "draws of a smooth law explain. The mechanism may treat neighboring outcomes differently "
        "(even and odd numbers, say); but if outputs were resampled from fewer ones, the bound "
        "does not hold."
    ]


def _squares(x: NDArray[np.int64], y: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return squared standardized second differences of ln(x / y) in disjoint triples of bins."""
    large = np.minimum(x, y) >= _LEAST_COUNT
    triples = large.sum() // 3
    # Half a count more removes most of the bias of a log (Haldane, Anscombe).
    first, second = (side[large][: 3 * triples].reshape(triples, 3) + 0.5 for side in (x, y))
    weights = np.array([1.0, -2.0, 1.0])
    return (np.log(first / second) @ weights) ** 2 / ((1 / first + 1 / second) @ weights**2)


def _tail(squares: NDArray[np.float64]) -> float:
    """Return the probability that normals have a trimmed sum of squares at least as large."""
    kept = np.sort(squares)[: 4 * squares.size // 5]
    mean, variance = _MEAN * squares.size, _VARIANCE * squares.size
    return float(scipy.special.gammaincc(mean**2 / variance, kept.sum() * mean / variance))
