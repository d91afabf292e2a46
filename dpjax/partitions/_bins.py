"""Bins of numbers between edges, found by a grid of buckets instead of a binary search."""

import numpy as np
from numpy.typing import NDArray

_BUCKETS = 4096
"""Buckets of the grid, whose tables fit in a processor's first-level cache."""

_MOST_EDGES = 4
"""Largest number of edges in a bucket; more are left to a binary search."""

_FEW_EDGES, _FEW_VALUES = 8, 512
"""Numbers of edges and of values up to which a binary search is as fast."""


def bins_of(edges: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Compute `np.searchsorted(edges, values, side="right")`, several times faster.

    The bucket of a number is a product, rounded down, which does not decrease as the number grows.
    Edges in lower buckets are therefore at most the number, and those in higher buckets are above
    it. Only edges in the bucket of the number need a comparison.

    Args:
        edges: Increasing numbers.
        values: Numbers [n], none of them NaN.

    Returns:
        int64 [n], the number of edges that are at most each value.
    """
    if len(edges) <= _FEW_EDGES or len(values) <= _FEW_VALUES:
        return np.searchsorted(edges, values, side="right")
    with np.errstate(over="ignore", invalid="ignore"):
        scale = _BUCKETS / (edges[-1] - edges[0])
    if not np.isfinite(scale) or scale == 0:
        return np.searchsorted(edges, values, side="right")
    of_edges = _buckets(edges, edges[0], scale)
    below = np.searchsorted(of_edges, np.arange(_BUCKETS + 1))
    most = int(np.diff(below).max())
    if most > _MOST_EDGES:
        return np.searchsorted(edges, values, side="right")
    bucket = _buckets(values, edges[0], scale)
    found = below[:-1].take(bucket)
    # No number is at least NaN. Edges of later buckets exceed all numbers of this bucket.
    inside = np.append(edges, np.full(most, np.nan))
    for number in range(most):
        found += values >= inside[below[:-1] + number].take(bucket)
    return found


def _buckets(values: NDArray[np.float64], low: float, scale: float) -> NDArray[np.int64]:
    with np.errstate(over="ignore", invalid="ignore"):
        place = (values - low) * scale
    return np.clip(place, 0, _BUCKETS - 1, out=place).astype(np.int64)
