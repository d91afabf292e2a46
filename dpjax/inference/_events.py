"""Events to tell two databases apart by, and what their counts prove at every sample size.

The search stage's counts of cells choose an event: a set of cells and a direction. Fresh counts of
that event alone then bound epsilon from below, exactly.

Notation: p and q are the event's probabilities on its likelier and on its other side.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpjax import _validate
from dpjax.inference._binomial import one_sided_bounds
from dpjax.inference._ratio import ratio_lower_bound, ratio_order

_SHARES = np.array([0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
"""Shares of the error that are tried for the likelier side's bound."""

_CELL_SHRINKAGE, _LINE_SHRINKAGE, _SET_SHRINKAGE = 1.0, 2.5, 0.6
"""Standard errors of the search by which ratios are shrunk: of a cell, of a set made by position.

For a set made by ratios it is the last number times ln cells, for there are more that may only look
good. Measured on the local approach's experiments (a) to (f).
"""

_MASSES = np.geomspace(1e-5, 0.99, 56)
"""Sizes of the sets that are tried, in shares of the draws."""


class Event(NamedTuple):
    """A set of cells whose counts will be confirmed; leading axes are those of the counts.

    Attributes:
        cells: bool [..., cells], the cells in it.
        larger: int [...], the side that is expected to be likelier: 0 the database, 1 the neighbor.
        share: Float [...], the part of the error that the likelier side's bound may use where
            delta > 0; see `event_lower_bound`.
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
    coarser: Sequence[ArrayLike] = (),
    positions: Sequence[ArrayLike] = (),
) -> Event:
    """The set of cells whose exact lower bound on fresh draws is expected to be largest.

    Cells are sorted by a ratio that is shrunk by its standard error, and sets of the first so many
    are tried, in both directions. A set of the cells that look best looks better than it is, so
    each half of the draws makes sets that the other half judges; the way of making sets that is
    judged best is then applied to all draws.

    Args:
        counts: Whole numbers [..., 2, cells] of the search stage, database and neighbor; every draw
            must be in some cell.
        num_confirm: N, fresh draws a side that will be counted.
        confidence: Of the bound.
        allowed: bool [cells], the cells that an event may hold; all if None.
        delta: As in `event_lower_bound`.
        judge: Integers of the shape of `counts`, from other draws of the search stage, as the
            second half. If None, counts are split in two at random, with a fixed seed.
        coarser: Integers [cells] that number groups of cells. Each is another way to sort: a cell
            by the ratio of its group, which is better known.
        positions: Numbers [cells], along which half-lines of cells are tried from both ends; NaN
            for a cell that has no place on the line.

    Returns:
        One event for each entry of the leading axes. Its cells are never all of them.

    Raises:
        TypeError: An argument is not a number, or `num_confirm` not an integer.
        ValueError: The confidence is not strictly between 0 and 1, or the counts have another
            shape, hold no draws or are not whole numbers >= 0.

    References:
        Neyman, Pearson (1933): sets of large likelihood ratios are the ones to test by.
    """
    _validate.open_unit(confidence=confidence)
    _validate.positive_int(num_confirm=num_confirm)
    _validate.non_negative(delta=delta)
    halves = _halves(counts, judge)
    total = halves[0] + halves[1]
    draws = total.sum(axis=-1)[..., None]
    may = np.ones(total.shape[-1], bool) if allowed is None else np.asarray(allowed, bool)
    batch = total.shape[:-2]
    event = Event(
        cells=np.zeros(total.shape[:-2] + total.shape[-1:], bool),
        larger=np.zeros(batch, np.int64),
        share=np.full(batch, 0.5),
        predicted=np.full(batch, -np.inf),
    )
    # Cells without a draw are in no set, so they do not count.
    num_seen = (total.sum(axis=-2) > 0).sum(axis=-1)[..., None, None]
    set_shrinkage = _SET_SHRINKAGE * np.log(np.maximum(num_seen, 2))
    ways: list[tuple[Callable[[NDArray], NDArray], ArrayLike]] = [
        (partial(_ratio_score, group=group), set_shrinkage)
        for group in (None, *(np.asarray(labels) for labels in coarser))
    ]
    for line in (np.asarray(values, np.float64) for values in positions):
        score = np.where(np.isnan(line), -np.inf, np.stack([-line, line]))
        ways += [(lambda _, s=s: s, _LINE_SHRINKAGE) for s in (score, score[::-1])]
    for way, shrinkage in ways:
        first, second = (
            _inside(held, *_sets(made, way(made), may)) for made, held in (halves, halves[::-1])
        )
        inside = first + second
        # Axis -3 says which side is counted, axis -2 which one the set was made to be likelier on.
        larger = np.stack([inside[..., 0, 0, :], inside[..., 1, 1, :]], axis=-2)
        smaller = np.stack([inside[..., 1, 0, :], inside[..., 0, 1, :]], axis=-2)
        predicted, share = _predicted_bound(
            _wilson(larger, draws, shrinkage)[0],
            _wilson(smaller, draws[..., ::-1, :], shrinkage)[1],
            num_confirm,
            confidence,
            delta,
        )
        event = _better(event, predicted, share, _sets(total, way(total), may))
    return event._replace(predicted=np.maximum(event.predicted, 0.0))


def predicted_bound(
    larger: ArrayLike,
    smaller: ArrayLike,
    num_confirm: int,
    confidence: float,
    delta: float = 0.0,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """About the lower bound to be expected of an event with known probabilities.

    Args:
        larger: p, probabilities at the likelier side.
        smaller: q, at the other side.
        num_confirm: N, draws a side.
        confidence: Of the bound.
        delta: As in `event_lower_bound`.

    Returns:
        The bound, possibly below 0, and the share of the error at which it is largest (0.5 where
        delta is 0); both of the common shape of the probabilities.

    Raises:
        TypeError: An argument is not a number, or `num_confirm` not an integer.
        ValueError: A probability is not in [0, 1], the confidence not strictly between 0 and 1, or
            delta not at least 0.
    """
    _validate.open_unit(confidence=confidence)
    _validate.positive_int(num_confirm=num_confirm)
    _validate.non_negative(delta=delta)
    _validate.shares(larger=larger, smaller=smaller)
    return _predicted_bound(larger, smaller, num_confirm, confidence, delta)


def _predicted_bound(
    larger: ArrayLike, smaller: ArrayLike, num_confirm: int, confidence: float, delta: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    n = num_confirm
    p, q = np.broadcast_arrays(*(np.asarray(x, np.float64) * n for x in (larger, smaller)))
    significance = 1 - confidence
    if delta == 0:
        bound = ratio_order(p, q, n, n, max(-float(scipy.special.ndtri(significance)), 0.5))
        return bound, np.full(bound.shape, 0.5)
    best, share = np.full(p.shape, -np.inf), np.full(p.shape, 0.5)
    with np.errstate(divide="ignore"):
        for tried in _SHARES:
            low, _ = _wilson(p, n, -scipy.special.ndtri(tried * significance))
            _, high = _wilson(q, n, -scipy.special.ndtri((1 - tried) * significance))
            bound = np.log(np.maximum(low - delta, 0)) - np.log(high)
            share = np.where(bound > best, tried, share)
            best = np.maximum(bound, best)
    return best, share


def event_lower_bound(
    larger_count: ArrayLike,
    smaller_count: ArrayLike,
    larger_trials: int,
    smaller_trials: int,
    confidence: float,
    share: ArrayLike = 0.5,
    delta: float = 0.0,
) -> NDArray[np.float64]:
    """Exact lower bound on epsilon from fresh counts of one event at both sides.

    P(E) <= e^epsilon P'(E) + delta for every event. With delta = 0, epsilon is at least ln of the
    ratio of the probabilities, which is bounded as one number. Otherwise it is at least ln of a
    lower bound of P(E) - delta, less ln of an upper bound of P'(E). The event, the side that is
    taken as likelier and the share must not depend on these counts.

    Args:
        larger_count: How often the event happened on the side that was expected to be likelier, at
            most `larger_trials` times.
        smaller_count: How often on the other side.
        larger_trials: Draws on the likelier side.
        smaller_trials: Draws on the other side.
        confidence: Probability with which the bound is at most epsilon, at least.
        share: Where delta > 0, the part of the error that the likelier side's bound may use.
        delta: Of (epsilon, delta)-differential privacy; 0 for pure.

    Returns:
        Float64 of the shape of the counts, at least 0.

    Raises:
        TypeError: An argument is not a number, or a number of draws not an integer.
        ValueError: The confidence or the share is not strictly between 0 and 1, delta is not at
            least 0, or a count is not one of so many draws.

    References:
        Buehler (1957) for delta = 0; Clopper, Pearson (1934) otherwise.
    """
    _validate.open_unit(confidence=confidence, share=share)
    _validate.non_negative(delta=delta)
    _validate.positive_int(larger_trials=larger_trials, smaller_trials=smaller_trials)
    _validate.counts(at_most=larger_trials, larger_count=larger_count)
    _validate.counts(at_most=smaller_trials, smaller_count=smaller_count)
    error, share = 1 - confidence, np.asarray(share, np.float64)
    if delta == 0:
        larger, smaller = np.broadcast_arrays(larger_count, smaller_count)
        bounds = [
            ratio_lower_bound(int(k), int(m), int(larger_trials), int(smaller_trials), error)
            for k, m in zip(larger.ravel(), smaller.ravel(), strict=True)
        ]
        return np.array(bounds, np.float64).reshape(larger.shape)
    lower, _ = one_sided_bounds(larger_count, larger_trials, error * share)
    _, upper = one_sided_bounds(smaller_count, smaller_trials, error * (1 - share))
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(np.maximum(lower - delta, 0.0)) - np.log(upper), 0.0)


def _halves(counts: ArrayLike, judge: ArrayLike | None) -> tuple[NDArray, NDArray]:
    """Two halves of the search stage's draws, float64 [..., 2, cells] each."""
    _validate.counts(counts=counts)
    counts = np.asarray(counts, np.int64)
    if counts.ndim < 2 or counts.shape[-2] != 2 or counts.shape[-1] < 2:
        raise ValueError(
            f"counts must have the shape [..., 2, cells] with at least 2 cells, but had "
            f"{counts.shape}."
        )
    second = np.zeros_like(counts)
    if judge is not None:
        _validate.counts(judge=judge)
        second = np.asarray(judge, np.int64)
    if second.shape != counts.shape:
        raise ValueError(
            f"judge must have the shape of counts, {counts.shape}, but had {second.shape}."
        )
    if np.any((counts + second).sum(axis=-1) <= 0):
        raise ValueError("counts, with judge, must hold at least one draw at each side.")
    # Of few draws one half may be empty: what it says is then nothing, not an error.
    if judge is None:
        first = np.random.default_rng(0).binomial(counts, 0.5)
        return first.astype(np.float64), (counts - first).astype(np.float64)
    return counts.astype(np.float64), second.astype(np.float64)


def _ratio_score(counts: NDArray, group: NDArray | None) -> NDArray:
    """How much likelier each cell is at side s, for sure: [..., s, cells]."""
    known = counts if group is None else _sums(counts, group)[..., group]
    draws = counts.sum(axis=-1)[..., None]
    low, _ = _wilson(known, draws, _CELL_SHRINKAGE)
    _, high = _wilson(known[..., ::-1, :], draws[..., ::-1, :], _CELL_SHRINKAGE)
    with np.errstate(divide="ignore"):
        return np.log(low) - np.log(high)


def _sets(
    counts: NDArray, score: NDArray, allowed: NDArray
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Cells in the order of their score, and where sets of them end.

    Args:
        counts: [..., 2, cells].
        score: [..., 2, cells], for sets that shall be likelier at side s; -infinity for cells that
            are in no set.
        allowed: bool [cells].

    Returns:
        Cells [..., 2, cells], highest score first; and the number of cells of each set,
        [..., 2, sets].
    """
    score = np.broadcast_to(np.where(allowed, score, -np.inf), counts.shape)
    order = np.argsort(-score, axis=-1, kind="stable")
    pooled = np.broadcast_to(counts.sum(axis=-2, keepdims=True), counts.shape)
    mass = np.cumsum(np.take_along_axis(pooled, order, axis=-1), axis=-1)
    mass /= np.maximum(counts.sum(axis=(-2, -1), keepdims=True), 1)
    size = (mass[..., None, :] < _MASSES[:, None]).sum(axis=-1) + 1
    most = np.isfinite(score).sum(axis=-1)[..., None]
    return order, np.minimum(size, np.clip(most, 1, counts.shape[-1] - 1))


def _inside(counts: NDArray, order: NDArray, size: NDArray) -> NDArray:
    """Draws in each set, [..., side, direction, sets]."""
    cells = counts.shape[-1]
    sides = np.broadcast_to(counts[..., :, None, :], (*counts.shape[:-1], 2, cells))
    ordered = np.take_along_axis(sides, order[..., None, :, :], axis=-1)
    return np.take_along_axis(np.cumsum(ordered, axis=-1), size[..., None, :, :] - 1, axis=-1)


def _better(
    event: Event, predicted: NDArray, share: NDArray, sets: tuple[NDArray, NDArray]
) -> Event:
    """The event, or the best one of these sets where it is better."""
    flat = predicted.reshape(*predicted.shape[:-2], -1)
    best = np.argmax(flat, axis=-1)[..., None]
    value = np.take_along_axis(flat, best, axis=-1)[..., 0]
    direction = best[..., 0] // predicted.shape[-1]
    order, size = sets
    chosen = np.take_along_axis(order, direction[..., None, None], axis=-2)[..., 0, :]
    end = np.take_along_axis(size.reshape(flat.shape), best, axis=-1)
    cells = np.argsort(chosen, axis=-1) < end
    better = value > event.predicted
    return Event(
        cells=np.where(better[..., None], cells, event.cells),
        larger=np.where(better, direction, event.larger),
        share=np.where(
            better, np.take_along_axis(share.reshape(flat.shape), best, -1)[..., 0], event.share
        ),
        predicted=np.where(better, value, event.predicted),
    )


def _sums(counts: NDArray, group: NDArray) -> NDArray:
    """Counts of groups, [..., groups]."""
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    sums = np.zeros((*counts.shape[:-1], int(group.max()) + 1))
    sums[..., group[order][starts]] = np.add.reduceat(counts[..., order], starts, axis=-1)
    return sums


def _wilson(
    counts: ArrayLike, num_samples: ArrayLike, quantile: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Wilson's bounds of probabilities: close to the exact ones, also where few or no draws are."""
    k, n, z = (np.asarray(x, np.float64) for x in (counts, num_samples, quantile))
    centre = k + z**2 / 2
    spread = z * np.sqrt(np.maximum(k * (1 - k / np.maximum(n, 1)), 0) + z**2 / 4)
    total = n + z**2
    return np.maximum(centre - spread, 0) / total, np.minimum(centre + spread, total) / total
