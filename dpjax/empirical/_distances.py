"""Distances between the results of a query with and without an individual."""

import numpy as np


def hausdorff_distance(first: np.ndarray, second: np.ndarray) -> float:
    """Return the largest distance from a point of one finite set to the nearest of the other.

    Args:
        first: Numbers, [n].
        second: Numbers, [m].

    Returns:
        The distance, in the unit of the numbers. Multiplicities of points do not matter.

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
    """Return the largest distance that mass must travel to turn one sample into the other.

    On the line this is the largest gap between the two quantile functions; for equal sizes, between
    the sorted samples.

    Args:
        first: Numbers, [n].
        second: Numbers, [m].

    Returns:
        The distance, in the unit of the numbers.
    """
    a, b = np.sort(first), np.sort(second)
    n, m = len(a), len(b)
    # Levels at which either quantile function steps, in units of 1 / (n m), so that ties are exact.
    steps = np.union1d(np.arange(n) * m, np.arange(m) * n)
    return float(np.abs(a[steps // m] - b[steps // n]).max())
