"""Notes on drawn outputs outside a finite space."""

from dpjax.core.types import FiniteSpace, OutputSpace
from dpjax.partitions import Search


def lost_outcomes(found: list[Search], space: OutputSpace) -> list[str]:
    """Return a note on the share of outputs outside a finite space, or an empty list."""
    if not isinstance(space, FiniteSpace):
        return []
    share = 0.0
    for search in found:
        low, high = search.partition.bounds().T
        outside = (low < 0) | (high > space.size)
        counts = search.halves.sum(axis=(0, 1))
        share = max(share, float((counts[:, outside].sum(axis=1) / counts.sum(axis=1)).max()))
    if share == 0:
        return []
    return [
        f"Up to {share:.2%} of the outputs at a database were integers outside of 0 .. "
        f"{space.size - 1} (num_outcomes): all below were counted as one outcome, and all above as "
        "another."
    ]
