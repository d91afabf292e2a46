"""What a plot shows of counted cells."""

from collections.abc import Callable, Sequence

import numpy as np

_LABELS = 60
"""Labels that are kept: those that tell most."""


def curve_of(
    counts: np.ndarray,
    event: np.ndarray,
    bounds: Sequence[list[float | None] | None],
    name_of: Callable[[int], str],
) -> dict[str, list]:
    """Probabilities and losses of the cells that happened in the search.

    Args:
        counts: Integers [2, cells], at the database and at its neighbor.
        event: bool [cells], the event that was counted.
        bounds: [low, high) of the cells of numbers, None for what is infinite; None for labels.
        name_of: The name of a label, by cell.

    Returns:
        Lists of one entry a cell: "points" (a value of its own, the middle or the one end of an
        interval, or a name), "bounds", "density" and "neighbor_density" (shares of the outputs),
        "loss" and "event".
    """
    # Half an output more at each side: an empty cell then has a loss that can be drawn.
    shares = (counts + 0.5) / (counts.sum(axis=1, keepdims=True) + 1)
    loss = np.abs(np.log(shares[0]) - np.log(shares[1]))
    seen = np.flatnonzero(counts.any(axis=0))
    alone = np.array([bounds[cell] is None for cell in seen.tolist()], bool)
    telling = np.argsort(-(loss * shares.max(axis=0))[seen[alone]], kind="stable")
    kept: list[int] = sorted([*seen[~alone].tolist(), *seen[alone][telling[:_LABELS]].tolist()])
    return {
        "points": [_point(bounds[cell], name_of, cell) for cell in kept],
        "bounds": [bounds[cell] for cell in kept],
        "density": (counts[0, kept] / counts[0].sum()).tolist(),
        "neighbor_density": (counts[1, kept] / counts[1].sum()).tolist(),
        "loss": loss[kept].tolist(),
        "event": event[kept].tolist(),
    }


def _point(
    bound: list[float | None] | None, name_of: Callable[[int], str], cell: int
) -> float | str | None:
    if bound is None:
        return name_of(cell)
    low, high = bound
    if low is None or high is None:
        return high if low is None else low
    return low if high <= np.nextafter(low, np.inf) else (low + high) / 2
