"""Distances between the results of a query with and without an individual."""

import numpy as np


def hausdorff_distance(first: np.ndarray, second: np.ndarray) -> float:
    """Return the Hausdorff distance between two sets of points.

    The Hausdorff distance is the largest distance from a point of either set to the other set.

    Args:
        first: Points, [n].
        second: Points, [m].

    Returns:
        The distance, in the unit of the points. Repeated points do not change the distance.

    References:
        Burchard, Daoud, Dotterrer 2020, Proposition 1.
    """
    return max(_directed(first, np.sort(second)), _directed(second, np.sort(first)))


def _directed(points: np.ndarray, ordered: np.ndarray) -> float:
    place = np.searchsorted(ordered, points)
    above = ordered[np.minimum(place, len(ordered) - 1)]
    below = ordered[np.maximum(place - 1, 0)]
    return float(np.minimum(np.abs(above - points), np.abs(points - below)).max())


def wasserstein_infinity(first: np.ndarray, second: np.ndarray) -> float:
    """Return the infinity-Wasserstein distance between two samples.

    The distance is the largest gap between the quantile functions of the two samples. If the
    samples have equal sizes, the distance is the largest difference between values of equal rank.

    Args:
        first: First sample, [n].
        second: Second sample, [m].

    Returns:
        The distance, in the unit of the samples.
    """
    a, b = np.sort(first), np.sort(second)
    n, m = len(a), len(b)
    # The levels at which a quantile function jumps are stored as integer multiples of 1 / (n m), so
    # that equal levels are recognized exactly.
    steps = np.union1d(np.arange(n) * m, np.arange(m) * n)
    return float(np.abs(a[steps // m] - b[steps // n]).max())
