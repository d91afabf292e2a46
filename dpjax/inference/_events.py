"""Events to tell two databases apart by, and what their counts prove at every sample size.

The search stage's counts of cells choose an event: a set of cells, a direction, and how the error
is split. Fresh counts of that event alone then bound epsilon from below, exactly.

Notation: p and q are the event's probabilities on its likelier and on its other side.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from dpjax import _validate

_SHARES = np.array([0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
"""Shares of the error that are tried for the likelier side's bound."""

_SHRINKAGE = 1.0
"""Standard errors of the search by which a ratio is shrunk before it is believed."""


_JUDGED_SHRINKAGE = 2.0
"""Of the sets, where other draws judge them: the best of many is still better than it is."""


class Event(NamedTuple):
    """A set of cells whose counts will be confirmed; leading axes are those of the counts.

    Attributes:
        cells: bool [..., cells], the cells in it.
        larger: int [...], the side that is expected to be likelier: 0 the database, 1 the neighbor.
        share: Float [...], the part of the error that the likelier side's bound may use.
        predicted: Float [...], the lower bound that is to be expected of the confirm stage.
    """

    cells: NDArray[np.bool_]
    larger: NDArray[np.int64]
    share: NDArray[np.float64]
    predicted: NDArray[np.float64]


def choose_event(
    counts: ArrayLike,
    num_confirm: int,
    confidence: float,
    *,
    allowed: ArrayLike | None = None,
    delta: float = 0.0,
    judge: ArrayLike | None = None,
) -> Event:
    """The set of cells whose exact lower bound on fresh draws is expected to be largest.

    Cells are sorted by a ratio that is shrunk by its standard error, and every set of the first so
    many is tried, in both directions and with several splits of the error. What a set is expected
    to give is computed with its own ratio shrunk, so that sets which only look good lose.

    Args:
        counts: Integers [..., 2, cells] of the search stage, database and neighbor; every draw must
            be in some cell.
        num_confirm: N, fresh draws a side that will be counted.
        confidence: Of the bound.
        allowed: bool [cells], the cells that an event may hold; all if None.
        delta: As in `event_lower_bound`.
        judge: Integers of the shape of `counts` from other draws of the search stage. The sets are
            then made by `counts` and judged by these, so that no set looks good because of the
            draws that made it; by `counts` if None.

    Returns:
        One event for each entry of the leading axes. Its cells are never all of them.

    Raises:
        ValueError: The confidence is not strictly between 0 and 1, or the counts have another shape
            or hold no draws.

    References:
        Neyman, Pearson (1933): sets of large likelihood ratios are the ones to test by.
    """
    _validate.open_unit(confidence=confidence)
    _validate.positive_int(num_confirm=num_confirm)
    counts = np.asarray(counts, np.float64)
    if counts.ndim < 2 or counts.shape[-2] != 2 or counts.shape[-1] < 2:
        raise ValueError(
            f"counts must have the shape [..., 2, cells] with at least 2 cells, but had "
            f"{counts.shape}."
        )
    draws = counts.sum(axis=-1)
    if np.any(draws <= 0):
        raise ValueError("counts must hold at least one draw at each side.")
    judges = counts if judge is None else np.asarray(judge, np.float64)
    judge_draws = judges.sum(axis=-1)
    if judges.shape != counts.shape or np.any(judge_draws <= 0):
        raise ValueError(
            f"judge must have the shape of counts, {counts.shape}, and hold draws at each side, "
            f"but had {judges.shape}."
        )
    # Axis -2 becomes the direction: in entry s, side s is the likelier one.
    larger, smaller = counts, counts[..., ::-1, :]
    larger_draws, smaller_draws = draws[..., None], draws[..., ::-1, None]
    low, _ = _wilson(larger, larger_draws, _SHRINKAGE)
    _, high = _wilson(smaller, smaller_draws, _SHRINKAGE)
    with np.errstate(divide="ignore"):
        score = np.log(low) - np.log(high)
    if allowed is not None:
        allowed = np.asarray(allowed, bool)
        # Behind all others, and without draws, so that adding one changes nothing.
        score = np.where(allowed, score, -np.inf)
        judges = judges * allowed
    # Sets are judged by what need not be what they were made of.
    larger, smaller = judges, judges[..., ::-1, :]
    larger_draws, smaller_draws = judge_draws[..., None], judge_draws[..., ::-1, None]
    order = np.argsort(-score, axis=-1, kind="stable")
    first_larger, first_smaller = (
        np.cumsum(np.take_along_axis(side, order, -1), axis=-1)[..., :-1]
        for side in (larger, smaller)
    )
    shrinkage = _SHRINKAGE if judge is None else _JUDGED_SHRINKAGE
    predicted, share = predicted_bound(
        _wilson(first_larger, larger_draws, shrinkage)[0],
        _wilson(first_smaller, smaller_draws, shrinkage)[1],
        num_confirm,
        confidence,
        delta,
    )
    shape = predicted.shape
    flat = predicted.reshape(*shape[:-2], -1)
    best = np.argmax(flat, axis=-1)
    direction, last = np.divmod(best, shape[-1])
    chosen_order = np.take_along_axis(order, direction[..., None, None], -2)[..., 0, :]
    rank = np.argsort(chosen_order, axis=-1)
    cells = rank <= last[..., None]
    if allowed is not None:
        cells &= allowed
    return Event(
        cells=cells,
        larger=direction,
        share=np.take_along_axis(share.reshape(flat.shape), best[..., None], -1)[..., 0],
        predicted=np.maximum(np.take_along_axis(flat, best[..., None], -1)[..., 0], 0.0),
    )


def predicted_bound(
    larger: ArrayLike,
    smaller: ArrayLike,
    num_confirm: int,
    confidence: float,
    delta: float = 0.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The exact lower bound to be expected of an event with known probabilities.

    Args:
        larger: p, probabilities at the likelier side.
        smaller: q, at the other side.
        num_confirm: N, draws a side.
        confidence: Of the bound.
        delta: As in `event_lower_bound`.

    Returns:
        The bound, possibly below 0, and the share of the error at which it is largest; both of the
        common shape of the probabilities.
    """
    p, q = (np.asarray(x, np.float64) * num_confirm for x in (larger, smaller))
    significance = 1 - confidence
    best = np.full(np.broadcast_shapes(p.shape, q.shape), -np.inf)
    share = np.full(best.shape, 0.5)
    with np.errstate(divide="ignore"):
        for tried in _SHARES:
            low, _ = _wilson(p, num_confirm, -ndtri(tried * significance))
            _, high = _wilson(q, num_confirm, -ndtri((1 - tried) * significance))
            bound = np.log(np.maximum(low - delta, 0)) - np.log(high)
            better = bound > best
            best = np.where(better, bound, best)
            share = np.where(better, tried, share)
    return best, share


def _wilson(
    counts: ArrayLike, num_samples: ArrayLike, quantile: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Wilson's bounds of probabilities: close to the exact ones, also for a count of 0."""
    k, n, z = (np.asarray(x, np.float64) for x in (counts, num_samples, quantile))
    centre = k + z**2 / 2
    spread = z * np.sqrt(np.maximum(k * (1 - k / n), 0) + z**2 / 4)
    total = n + z**2
    return np.maximum(centre - spread, 0) / total, np.minimum(centre + spread, total) / total
