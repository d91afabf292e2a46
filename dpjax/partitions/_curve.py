"""Data for a plot of the probability and the loss of each cell."""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from dpjax.core.numerics import finite_or_none

_STEPS = 500
"""Approximate maximum number of merged boxes in a plot."""

_LABELS, _NUMBERS = 60, 2000
"""Maximum number of labels, and maximum number of numeric cells, in a plot.

If there are more labels, the plot shows only the labels with the largest products of probability
and loss. If there are more numeric cells, the plot shows only the cells with the largest counts.
"""

_LARGEST = 1e300
"""Largest absolute value of an output in a plot. Distances and margins then do not overflow."""


def curve_of(
    counts: np.ndarray,
    event: np.ndarray,
    bounds: np.ndarray,
    name_of: Callable[[int], str],
) -> dict[str, list] | None:
    """Return the probabilities and losses of the cells that contain outputs of the search set.

    The result is None if an end is so large that distances between outputs may overflow.

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
    if np.any(np.abs(bounds[kept]) > _LARGEST, where=np.isfinite(bounds[kept])):
        return None
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


def ranked_boxes(
    halves: np.ndarray, event: np.ndarray, groups: Sequence[np.ndarray], num_alone: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arrange boxes along an axis: first the event, then the others, each sorted by ratio.

    The ratio is P(database) / P(neighbor). It decreases if the event is more likely at the
    database, and increases otherwise. If boxes were sorted by their own counts, the first and last
    boxes would be those with the largest errors, and would show a privacy loss where there is none.
    Therefore, the counts of each half of the search set are sorted by ratios that are estimated
    from the other half.

    Args:
        halves: Counts of each half of the search set, integers [2 halves, 2 sides, cells].
        event: Whether the event contains each cell, bool [cells].
        groups: Integer arrays [cells], each with the group of each cell. The cells are sorted by
            the ratios of the groups in the array that predicts the other half best.
        num_alone: Number of labels. The first cells contain one label each.

    Returns:
        The counts of the labels and of merged adjacent boxes, [2 sides, merged]; whether the event
        contains them, bool [merged]; and their ends on the axis, [merged, 2]. The lower end is the
        share of outputs in all preceding boxes, and the upper end also includes the box itself. The
        ends of labels are NaN.
    """
    inside = halves[:, :, event].sum(axis=(0, 2)) / halves.sum(axis=(0, 2))
    sign = 1 if inside[0] >= inside[1] else -1
    ratios = (_other_ratios(halves, labels) for labels in groups)
    ranks = max(ratios, key=partial(_fit, halves))
    total = halves.sum(axis=0)
    boxes, is_inside = np.concatenate(halves[..., num_alone:], axis=1), event[num_alone:]
    member = np.tile(is_inside, 2)
    order = np.lexsort((-sign * ranks[:, num_alone:].ravel(), ~member))
    order = order[boxes[:, order].any(axis=0)]
    boxes, member = boxes[:, order], member[order]
    places = np.append(0.0, np.cumsum((boxes / total.sum(axis=1, keepdims=True)).mean(axis=0)))
    steps = np.floor(_STEPS * places[:-1]).astype(int)
    first = np.flatnonzero(np.diff(steps, prepend=-1) | np.diff(member, prepend=False))
    ends = np.stack([places[first], places[np.append(first, len(order))[1:]]], axis=1)
    labels = np.full((num_alone, 2), np.nan)
    return (
        np.concatenate([total[:, :num_alone], np.add.reduceat(boxes, first, axis=1)], axis=1),
        np.append(event[:num_alone], member[first]),
        np.concatenate([labels, ends]),
    )


def _other_ratios(halves: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return log ratios of groups for each half, estimated from the other half, [2, boxes]."""
    found = [
        [np.bincount(labels, counts)[labels] + 0.5 for counts in half] for half in halves[::-1]
    ]
    ratios = np.log(np.array(found)) - np.log(halves[::-1].sum(axis=2) + 1)[..., None]
    return ratios[:, 0] - ratios[:, 1]


def _fit(halves: np.ndarray, ratios: np.ndarray) -> float:
    """Return the log-likelihood of the sides given the boxes, for log ratios of the boxes."""
    sides = np.stack([np.logaddexp(0, -ratios), np.logaddexp(0, ratios)], axis=1)
    return -float(np.sum(halves * sides))


def _point(low: float, high: float) -> float:
    """Return the middle of an interval, or the finite end if the other end is infinite."""
    if math.isinf(low) or math.isinf(high):
        return high if math.isinf(low) else low
    return (low + high) / 2
