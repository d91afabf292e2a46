"""Notes on outputs: their parts, outputs outside a finite space, and outputs that are all equal."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dpjax.core.types import FiniteSpace, OutputSpace
from dpjax.core.wording import Unvaried
from dpjax.partitions import Partition, Search


def notes_of_search(
    found: Sequence[Search], space: OutputSpace, labels: Sequence[str]
) -> list[str]:
    """Return notes on the outputs of a search."""
    return [*_lost_outcomes(found, space), *_unvaried(found, labels)]


def _lost_outcomes(found: Sequence[Search], space: OutputSpace) -> list[str]:
    """If any outputs lie outside a finite space, return a note that states their share."""
    if not isinstance(space, FiniteSpace):
        return []
    share = 0.0
    for search in found:
        low, high = search.partition.bounds().T
        outside = ((low < 0) & (high <= 0)) | (low >= space.size)
        counts = search.halves.sum(axis=(0, 1))
        share = max(share, float((counts[:, outside].sum(axis=1) / counts.sum(axis=1)).max()))
    if share == 0:
        return []
    return [
        f"Up to {share:.2%} of the outputs from a database were integers outside 0 .. "
        f"{space.size - 1} (num_outcomes): all smaller integers were counted as one outcome, "
        "and all larger integers as another."
    ]


def _unvaried(found: Sequence[Search], labels: Sequence[str]) -> list[Unvaried]:
    """Return a note for each pair in which the search outputs are constant on both sides."""
    notes = []
    for search, label in zip(found, labels, strict=True):
        counts = search.halves.sum(axis=(0, 1))
        if _is_unvaried(search.partition, counts):
            notes.append(Unvaried((int(counts[0].sum()), int(counts[1].sum())), label))
    return notes


def unvaried_runs(found: Sequence[Search]) -> NDArray[np.bool_]:
    """Return whether the search outputs of each run are constant on both sides of each pair.

    Args:
        found: For each pair, the cells and the counts that the search returned.

    Returns:
        bool [runs, pairs].
    """
    columns = np.zeros((len(found), len(found[0].halves)), bool)
    for column, search in zip(columns, found, strict=True):
        counts = search.halves.sum(axis=1)
        for run in np.flatnonzero((np.count_nonzero(counts, axis=2) == 1).all(axis=1)):
            column[run] = _is_unvaried(search.partition, counts[run])
    return columns.T


def _is_unvaried(cells: Partition, counts: NDArray[np.int64]) -> bool:
    """Return whether all outputs on each side are equal, given counts [2 sides, cells]."""
    if (np.count_nonzero(counts, axis=1) != 1).any():
        return False
    return all(_is_value(cells, int(cell)) for cell in counts.argmax(axis=1))


def _is_value(cells: Partition, cell: int) -> bool:
    """Return whether a numeric cell contains a single value."""
    if cell < cells.num_alone or cells.plain():
        return False
    box = np.unravel_index((cell - cells.num_alone) % int(np.prod(cells.shape)), cells.shape)
    for column, place in enumerate(box):
        low, high = (float(ends[place]) for ends in cells.ends(column))
        if low != high and not (cells.whole and high == low + 1):
            return False
    return True
