"""Data for a plot of the probability and the loss of each cell."""

import math
from collections.abc import Callable

import numpy as np

from dpjax.core.numerics import finite_or_none

_LABELS, _NUMBERS = 60, 2000
"""Maximum number of labels, and maximum number of numeric cells, in a plot.

If there are more labels, the plot shows only the labels with the largest products of probability
and loss. If there are more numeric cells, the plot shows only the cells with the largest counts.
"""


def curve_of(
    counts: np.ndarray,
    event: np.ndarray,
    bounds: np.ndarray,
    name_of: Callable[[int], str],
) -> dict[str, list]:
    """Return the probabilities and losses of the cells that contain outputs of the search set.

    Args:
        counts: Counts of outputs from the database and from its neighbor, integers [2, cells].
        event: Whether the counted event contains each cell, bool [cells].
        bounds: Ends of each cell's interval, [cells, 2]. The two ends of an atom are equal, and the
            ends of a label are NaN.
        name_of: Function that maps a label's cell to its name.

    Returns:
        Dict of lists with one entry per cell. "points": the value of an atom; the middle of an
        interval, or its only finite end; or the name of a label. "bounds": the two ends of an
        interval, where None stands for an infinite end; or None for a label. "density" and
        "neighbor_density": the shares of the database's outputs and of the neighbor's outputs that
        lie in the cell. "loss": the privacy loss. "event": whether the event contains the cell.
    """
    # Adding half an output to each count gives empty cells a finite loss.
    shares = (counts + 0.5) / (counts.sum(axis=1, keepdims=True) + 1)
    loss = np.abs(np.log(shares[0]) - np.log(shares[1]))
    seen = np.flatnonzero(counts.any(axis=0))
    alone = np.isnan(bounds[seen, 0])
    labels, numbers = seen[alone], seen[~alone]
    labels = labels[np.argsort(-(loss * shares.max(axis=0))[labels], kind="stable")[:_LABELS]]
    numbers = numbers[np.argsort(-counts[:, numbers].max(axis=0), kind="stable")[:_NUMBERS]]
    kept: list[int] = sorted([*numbers.tolist(), *labels.tolist()])
    ends: list[list[float]] = bounds[kept].tolist()
    return {
        "points": [
            name_of(cell) if math.isnan(low) else _point(low, high)
            for cell, (low, high) in zip(kept, ends, strict=True)
        ],
        "bounds": [
            None if math.isnan(low) else [finite_or_none(low), finite_or_none(high)]
            for low, high in ends
        ],
        "density": (counts[0, kept] / counts[0].sum()).tolist(),
        "neighbor_density": (counts[1, kept] / counts[1].sum()).tolist(),
        "loss": loss[kept].tolist(),
        "event": event[kept].tolist(),
    }


def ranked_bounds(counts: np.ndarray, num_alone: int) -> np.ndarray:
    """Arrange boxes along an axis in decreasing order of P(database) / P(neighbor).

    Args:
        counts: Counts of outputs from the database and from its neighbor, integers [2, cells].
        num_alone: Number of labels. The first cells contain one label each.

    Returns:
        The ends of each box on the axis, [cells, 2]. The lower end of a box is the share of outputs
        in all preceding boxes. The upper end is the sum of the lower end and the share of outputs
        in the box. The ends of labels are NaN.
    """
    ratio = np.log((counts[0] + 0.5) / (counts[1] + 0.5))
    shares = (counts / counts.sum(axis=1, keepdims=True)).mean(axis=0)
    order = num_alone + np.argsort(-ratio[num_alone:], kind="stable")
    ends = np.cumsum(shares[order])
    bounds = np.full((counts.shape[1], 2), np.nan)
    bounds[order] = np.stack([np.append(0.0, ends[:-1]), ends], axis=1)
    return bounds


def _point(low: float, high: float) -> float:
    """Return the middle of an interval, or the finite end if the other end is infinite."""
    if math.isinf(low) or math.isinf(high):
        return high if math.isinf(low) else low
    return (low + high) / 2
