"""Assignment of values to bins, with a table of equally wide buckets instead of a binary search."""

from functools import lru_cache
from typing import NamedTuple

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

_AT_ONCE = 2**15
"""Number of values that are processed at a time, so that temporary arrays fit in the L2 cache."""

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
    table = _table(edges.tobytes())
    if table is None:
        return np.searchsorted(edges, values, side="right")
    found = np.empty(len(values), np.int64)
    for start in range(0, len(values), _AT_ONCE):
        part, counted = values[start : start + _AT_ONCE], found[start : start + _AT_ONCE]
        bucket = _buckets(part, edges[0], table.scale)
        table.below.take(bucket, out=counted, mode="clip")
        for edge in table.inside:
            counted += part >= edge.take(bucket)
    return found


class _Table(NamedTuple):
    """The edges in each bucket.

    Attributes:
        scale: Number of buckets per unit.
        below: Number of edges in all lower buckets, int64 [buckets].
        inside: First edge in each bucket, second edge in each bucket, and so on, float64 [buckets].
            If a bucket contains fewer edges, these are NaN or edges of later buckets.
    """

    scale: float
    below: NDArray[np.int64]
    inside: list[NDArray[np.float64]]


@lru_cache(maxsize=16)
def _table(content: bytes) -> _Table | None:
    """Return the table for edges, given as bytes, or None if a binary search is faster."""
    edges = np.frombuffer(content)
    with np.errstate(over="ignore", invalid="ignore"):
        scale = _BUCKETS / (edges[-1] - edges[0])
    if not np.isfinite(scale) or scale == 0:
        return None
    below = np.searchsorted(_buckets(edges, edges[0], scale), np.arange(_BUCKETS + 1))
    most = int(np.diff(below).max())
    if most > _MOST_EDGES:
        return None
    # Comparisons with NaN are False. Edges of later buckets exceed every value in this bucket.
    padded = np.append(edges, np.full(most, np.nan))
    inside = [padded[below[:-1] + number] for number in range(most)]
    return _Table(scale, below[:-1], inside)


def _buckets(values: NDArray[np.float64], low: float, scale: float) -> NDArray[np.int64]:
    with np.errstate(over="ignore", invalid="ignore"):
        place = (values - low) * scale
    return np.clip(place, 0, _BUCKETS - 1, out=place).astype(np.int64)
