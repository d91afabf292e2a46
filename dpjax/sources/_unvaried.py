"""Notes on drawn outputs that are the same in every draw of the search."""

from collections.abc import Sequence

import numpy as np

from dpjax.core.wording import Unvaried
from dpjax.partitions import Partition, Search


def notes_of_unvaried(found: Sequence[Search], labels: Sequence[str]) -> list[Unvaried]:
    """Return a note for each pair at which no output of the search varied at either database.

    Args:
        found: Searched cells of each pair, with their counts.
        labels: Labels of the pairs.
    """
    notes = []
    for search, label in zip(found, labels, strict=True):
        counts = search.halves.sum(axis=(0, 1))
        occupied = [np.flatnonzero(side).tolist() for side in counts]
        if all(len(cells) == 1 and _is_value(search.partition, *cells) for cells in occupied):
            notes.append(Unvaried((int(counts[0].sum()), int(counts[1].sum())), label))
    return notes


def _is_value(cells: Partition, cell: int) -> bool:
    """Check whether a numeric cell holds a single value, such as one number or one vector."""
    if cell < cells.num_alone or cells.plain():
        return False
    box = np.unravel_index((cell - cells.num_alone) % int(np.prod(cells.shape)), cells.shape)
    for column, place in enumerate(box):
        low, high = (float(ends[place]) for ends in cells.ends(column))
        if low != high and not (cells.whole and high == low + 1):
            return False
    return True
