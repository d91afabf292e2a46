"""Assignment of values to bins, with a table of equally wide buckets instead of a binary search."""

import numpy as np
from numpy.typing import NDArray

_BUCKETS = 4096
"""Number of equally wide buckets, chosen so that tables of this length fit in the L1 cache."""

_MOST_EDGES = 4
"""Maximum number of bin edges per bucket. If a bucket contains more edges, a binary search is used
instead.
"""

_FEW_EDGES, _FEW_VALUES = 8, 512
"""A binary search is used if there are at most _FEW_EDGES edges or at most _FEW_VALUES values."""

_FEWEST_EDGES = 4
"""Maximum number of bin edges for which every value is compared with all edges."""


def bins_of(edges: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Compute `np.searchsorted(edges, values, side="right")` several times faster than NumPy.

    Each value is compared only with the edges in its own bucket. Edges in lower buckets are never
    above the value, and edges in higher buckets are always above it.

    Args:
        edges: Increasing edges of bins, float64 [edges].
        values: Values without NaN, float64 [n].

    Returns:
        For each value, the number of edges that do not exceed the value, int64 [n].
    """
    if len(edges) <= _FEWEST_EDGES:
        found = np.zeros(len(values), np.int8)
        for edge in edges:
            found += values >= edge
        return found.astype(np.int64)
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
    # Comparisons with NaN are False. Edges of later buckets exceed every value in this bucket.
    inside = np.append(edges, np.full(most, np.nan))
    for number in range(most):
        found += values >= inside[below[:-1] + number].take(bucket)
    return found


def _buckets(values: NDArray[np.float64], low: float, scale: float) -> NDArray[np.int64]:
    with np.errstate(over="ignore", invalid="ignore"):
        place = (values - low) * scale
    return np.clip(place, 0, _BUCKETS - 1, out=place).astype(np.int64)
