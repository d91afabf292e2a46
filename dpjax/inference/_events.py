"""Events to tell two databases apart by, and what their counts prove at every sample size.

The search stage's counts of cells choose an event: a set of cells and a direction. Fresh counts of
that event alone then bound epsilon from below, exactly.

Notation: p and q are the event's probabilities on its likelier and on its other side.
"""

from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpjax import _validate
from dpjax.inference._buehler import buehler_bound
from dpjax.inference._hypotheses import Hypothesis, Ratio

_SHARES = np.array([0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
"""Shares of the error that are tried for the likelier side's bound."""


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
    return expected_bound(larger, smaller, num_confirm, confidence, delta)


def expected_bound(
    larger: ArrayLike, smaller: ArrayLike, num_confirm: int, confidence: float, delta: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    n = num_confirm
    p, q = np.broadcast_arrays(*(np.asarray(x, np.float64) * n for x in (larger, smaller)))
    significance = 1 - confidence
    if delta == 0:
        bound = _log_order(p, q, n, max(-float(scipy.special.ndtri(significance)), 0.5))
        return bound, np.full(bound.shape, 0.5)
    best, share = np.full(p.shape, -np.inf), np.full(p.shape, 0.5)
    with np.errstate(divide="ignore"):
        for tried in _SHARES:
            low, _ = wilson(p, n, -scipy.special.ndtri(tried * significance))
            _, high = wilson(q, n, -scipy.special.ndtri((1 - tried) * significance))
            bound = np.log(np.maximum(low - delta, 0)) - np.log(high)
            share = np.where(bound > best, tried, share)
            best = np.maximum(bound, best)
    return best, share


def _log_order(p: NDArray, q: NDArray, trials: int, quantile: float) -> NDArray[np.float64]:
    """The normal lower bound on a ratio's logarithm, by Agresti and Coull's probabilities."""
    added = quantile**2
    first, second = (np.minimum(count, trials) + added / 2 for count in (p, q))
    error = np.sqrt(1 / first + 1 / second - 2 / (trials + added))
    return np.log(first / second) - quantile * error


def event_lower_bound(
    larger_count: ArrayLike,
    smaller_count: ArrayLike,
    larger_trials: int,
    smaller_trials: int,
    confidence: float,
    hypothesis: Hypothesis = Ratio(),  # noqa: B008 (frozen)
) -> NDArray[np.float64]:
    """Exact lower bound on a level of privacy from fresh counts of one event at both sides.

    The event, and the side that is taken as likelier, must not depend on these counts.

    Args:
        larger_count: How often the event happened on the side that was expected to be likelier, at
            most `larger_trials` times.
        smaller_count: How often on the other side.
        larger_trials: Draws on the likelier side.
        smaller_trials: Draws on the other side.
        confidence: Probability with which the bound is at most the level, at least.
        hypothesis: What a level says of the two probabilities: `Ratio(delta)` for epsilon,
            `Shift()` for mu of Gaussian privacy, `Difference()` for total variation.

    Returns:
        Float64 of the shape of the counts, at least 0.

    Raises:
        TypeError: An argument is not a number, or a number of draws not an integer.
        ValueError: The confidence is not strictly between 0 and 1, or a count is not one of so many
            draws.

    References:
        Buehler (1957).
    """
    _validate.open_unit(confidence=confidence)
    _validate.positive_int(larger_trials=larger_trials, smaller_trials=smaller_trials)
    _validate.counts(at_most=larger_trials, larger_count=larger_count)
    _validate.counts(at_most=smaller_trials, smaller_count=smaller_count)
    counts = np.stack(np.broadcast_arrays(larger_count, smaller_count))
    trials = int(larger_trials), int(smaller_trials)
    # Runs with equal counts have equal bounds.
    distinct, place = np.unique(counts.reshape(2, -1), axis=1, return_inverse=True)
    bounds = [
        buehler_bound(hypothesis, int(k), int(m), trials, 1 - confidence) for k, m in distinct.T
    ]
    return np.array(bounds, np.float64)[place].reshape(counts.shape[1:])


def wilson(
    counts: ArrayLike, num_samples: ArrayLike, quantile: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Wilson's bounds of probabilities: close to the exact ones, also where few or no draws are."""
    k, n, z = (np.asarray(x, np.float64) for x in (counts, num_samples, quantile))
    centre = k + z**2 / 2
    spread = z * np.sqrt(np.maximum(k * (1 - k / np.maximum(n, 1)), 0) + z**2 / 4)
    total = n + z**2
    return np.maximum(centre - spread, 0) / total, np.minimum(centre + spread, total) / total
