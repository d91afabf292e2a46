"""Scores of outputs from the counts of calls with known coins in cells.

The score of an output estimates ln P(output | database) - ln P(output | neighbor), shrunk towards 0
by its standard error. Adjacent bins are merged if this improves predictions.
"""

import numpy as np
from numpy.typing import NDArray

from dpjax.partitions import Partition
from dpjax.sources._flips import in_order


def gain_of(cells: Partition, halves: NDArray[np.int64], compared: int) -> float:
    """Return how well one half of the calls predicts the coins of the other half.

    Args:
        cells: Partition of the outputs.
        halves: Counts of the outputs in the cells, int64 [2 halves, 2 sides, cells].
        compared: Number of partitions among which the best one is chosen, which does not matter.

    Returns:
        Mean log-likelihood of a coin, in nats, minus that of a fair coin; at least 0. The value is
        the largest one among the groupings of adjacent cells.
    """
    return max(_predicted(halves, group) for group in _groups(cells))


def best_group(cells: Partition, halves: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the grouping of cells with the largest gain; arguments as in `gain_of`."""
    return max(_groups(cells), key=lambda group: _predicted(halves, group))


def scores_of_cells(counts: NDArray[np.int64], group: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the score of each cell, float64 [cells].

    Args:
        counts: Counts of the outputs in the cells, int64 [2 sides, cells].
        group: For each cell, the index of the merged cell that contains it, int64 [cells].
    """
    first, second = _merged(counts, group)
    ratio = _log_ratio(first, second)
    error = np.sqrt(1 / (first + 0.5) + 1 / (second + 0.5))
    return (np.sign(ratio) * np.maximum(np.abs(ratio) - error, 0.0))[group]


def sorted_coins(
    halves: NDArray[np.int64], group: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.bool_]:
    """Return the coins of the counted calls in decreasing order of score.

    The scores of the calls in one half are learned from the other half. Calls with equal scores are
    in random order. For the arguments, see `gain_of` and `scores_of_cells`.

    Returns:
        Whether each call got the database, bool [calls].
    """
    scores, coins = [], []
    for known, other in (halves, halves[::-1]):
        learned = scores_of_cells(known, group)
        for counts, coin in zip(other, (True, False), strict=True):
            scores.append(np.repeat(learned, counts))
            coins.append(np.full(int(counts.sum()), coin))
    return in_order(np.concatenate(scores), np.concatenate(coins), generator)


def _groups(cells: Partition) -> list[NDArray[np.int64]]:
    """Return the groupings of cells, as for `Partition.groups`; the first has no merged cells."""
    return [np.arange(cells.size), *cells.coarser()]


def _merged(counts: NDArray[np.int64], group: NDArray[np.int64]) -> list[NDArray[np.intp]]:
    """Return the counts of both sides in merged cells."""
    return [np.bincount(group, side) for side in counts]


def _log_ratio(first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.float64]:
    shares = ((side + 0.5) / (side.sum() + 1) for side in (first, second))
    return np.log(next(shares)) - np.log(next(shares))


def _predicted(halves: NDArray[np.int64], group: NDArray[np.int64]) -> float:
    """Return the gain for one grouping of cells, at least 0; see `gain_of`."""
    merged = [_merged(half, group) for half in halves]
    found = 0.0
    for known, other in (merged, merged[::-1]):
        odds = _log_ratio(*known)
        # ln(2 sigmoid(x)) is ln 2 minus the softplus of -x.
        for side, sign in zip(other, (1, -1), strict=True):
            found += float(side @ (np.log(2) - np.logaddexp(0, -sign * odds)))
    return max(found / max(int(halves.sum()), 1), 0.0)
