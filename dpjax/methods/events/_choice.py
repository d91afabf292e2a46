"""The event that tells two databases apart best, chosen among sets of cells."""

from typing import NamedTuple

import numpy as np

from dpjax.inference import Event, choose_event
from dpjax.partitions._output_cells import OutputCells

_GROUPS = (3, 9, 27)
"""Neighbouring bins that are tried as one."""


class Found(NamedTuple):
    """What the search knows about one pair.

    Attributes:
        cells: The partition.
        counts: int64 [2, cells] of the search part.
        event: That was chosen.
    """

    cells: OutputCells
    counts: np.ndarray
    event: Event


def choose_in_cells(
    cells: OutputCells, halves: np.ndarray, num_confirm: int, confidence: float, delta: float
) -> Event:
    """The event with the largest bound to be expected, of fine cells or of coarser ones.

    Fine cells tell more where there is more to tell; of coarse ones it is better known which are
    likelier.

    Args:
        cells: The fine ones.
        halves: int64 [2, 2, cells], counts of two halves of the search part at both sides: one
            makes sets of cells, the other judges them.
        num_confirm: N, fresh outputs a side.
        confidence: Of the bound.
        delta: As in `event_lower_bound`.

    Raises:
        ValueError: delta is not in [0, 1).
    """
    first, second = halves
    event = choose_event(
        first,
        num_confirm,
        confidence,
        delta=delta,
        judge=second,
        coarser=[cells.groups(width) for width in _GROUPS],
        positions=cells.positions(),
    )
    # Before the confirm part is looked at, so that the words and the counts are of one event.
    return event._replace(cells=cells.settled(event.cells, halves.sum(axis=(0, 1)) > 0))
