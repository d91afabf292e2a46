"""Events that distinguish two databases, and exact bounds from the events' counts.

An event consists of a set of cells and a direction, both determined by counts from the search
stage. An exact lower bound on a privacy level is then computed from fresh counts of the event.

Notation: p is the event's probability on the side where the event is more likely, and q is the
event's probability on the other side.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpjax.core import validate
from dpjax.inference._buehler import buehler_bound
from dpjax.inference._hypotheses import Hypothesis, Ratio
from dpjax.inference._sizes import Shared, divided, size_ratio, tried_ratios

_MOST_EVENTS = 1 << 13
"""Maximum number of events whose expected bounds are computed together.

The number is chosen so that the arrays fit in a CPU cache.
"""


class Event(NamedTuple):
    """A set of cells in which confirmation draws are counted. Leading axes index runs.

    Attributes:
        cells: bool [..., cells], whether each cell is in the event.
        larger: int [...], side on which the event is expected to be more likely: 0 for the
            database, 1 for the neighbor.
        predicted: Float [...], expected lower bound from the confirmation stage.
        ratio: Float [...], number of fresh draws on the side where the event is less likely,
            divided by the number of fresh draws on the side where it is more likely.
    """

    cells: NDArray[np.bool_]
    larger: NDArray[np.int64]
    predicted: NDArray[np.float64]
    ratio: NDArray[np.float64] | float = 1.0

    def at(self, place: tuple[int, ...]) -> "Event":
        """Return the event at an index of the leading axes."""
        ratio = np.broadcast_to(self.ratio, np.shape(self.larger))
        return Event(*(np.asarray(column)[place] for column in (*self[:-1], ratio)))

    @classmethod
    def stacked(cls, events: "Sequence[Event]", batch: tuple[int, ...]) -> "Event":
        """Stack events of single runs into one `Event` with leading axes of shape `batch`."""
        columns = [np.stack(column) for column in zip(*events, strict=True)]
        return cls(*(column.reshape((*batch, *column.shape[1:])) for column in columns))


def expected_bound(
    larger: ArrayLike,
    smaller: ArrayLike,
    num_confirm: int | Shared,
    confidence: float,
    hypothesis: Hypothesis,
) -> NDArray[np.float64]:
    """Approximate the mean of the exact lower bound from an event with known probabilities.

    Let m be the value of `hypothesis.order` for the expected counts; m approximates the median of
    the bound. Let s be the bound's standard error. The result is m Phi(m / s) + s phi(m / s), which
    is the mean of max(X, 0) for a normal random variable X with mean m and standard deviation s.

    Args:
        larger: p, probabilities on the side where the event is more likely.
        smaller: q, probabilities on the other side, of the same shape.
        num_confirm: N, the number of draws per side. If `num_confirm` is a `Shared`, the draws are
            divided optimally for each event.
        confidence: Confidence of the bound.
        hypothesis: Hypothesis whose level is bounded.
    """
    asked = num_confirm, confidence, hypothesis
    p, q = (np.asarray(x, np.float64) for x in (larger, smaller))
    if p.size <= _MOST_EVENTS:
        return _expected_bound(p, q, *asked)
    found, flat = np.empty(p.size), (p.ravel(), q.ravel())
    for start in range(0, p.size, _MOST_EVENTS):
        part = slice(start, start + _MOST_EVENTS)
        found[part] = _expected_bound(flat[0][part], flat[1][part], *asked)
    return found.reshape(p.shape)


def _expected_bound(
    larger: NDArray[np.float64],
    smaller: NDArray[np.float64],
    num_confirm: int | Shared,
    confidence: float,
    hypothesis: Hypothesis,
) -> NDArray[np.float64]:
    if isinstance(num_confirm, Shared):
        return np.max(_by_ratio(larger, smaller, num_confirm, confidence, hypothesis)[1], axis=0)
    return _expected(larger, smaller, (num_confirm, num_confirm), confidence, hypothesis)


def best_ratio(
    larger: ArrayLike,
    smaller: ArrayLike,
    num_confirm: Shared,
    confidence: float,
    hypothesis: Hypothesis,
) -> NDArray[np.float64]:
    """Return the ratio N2 / N1 of sample sizes for which the expected bound is largest.

    Args:
        larger: p, probabilities on the side where the event is more likely, float [...].
        smaller: q, probabilities on the other side, of the same shape.
        num_confirm: N, the mean number of draws per side.
        confidence: Confidence of the bound.
        hypothesis: Hypothesis whose level is bounded.
    """
    ratios, bounds = _by_ratio(larger, smaller, num_confirm, confidence, hypothesis)
    return np.take_along_axis(ratios, np.argmax(bounds, axis=0)[None], axis=0)[0]


def _by_ratio(
    larger: ArrayLike,
    smaller: ArrayLike,
    num_confirm: Shared,
    confidence: float,
    hypothesis: Hypothesis,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return candidate ratios N2 / N1 of sample sizes, and the expected bound for each ratio."""
    ratios = tried_ratios(size_ratio(larger, smaller, hypothesis))
    trials = divided(ratios, num_confirm.mean)
    return ratios, _expected(larger, smaller, trials, confidence, hypothesis)


def _expected(
    larger: ArrayLike, smaller: ArrayLike, trials: Any, confidence: float, hypothesis: Hypothesis
) -> NDArray[np.float64]:
    """Return the expected bound for given numbers of draws on both sides."""
    quantile = max(-float(scipy.special.ndtri(1 - confidence)), 0.5)
    counts = np.multiply(larger, trials[0]), np.multiply(smaller, trials[1])
    middle, error = hypothesis.order_and_error(*counts, trials, quantile)
    z = np.clip(middle / np.maximum(error, 1e-300), -1e3, 1e3)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return np.maximum(middle * scipy.special.ndtr(z) + error * density, 0.0)


def event_lower_bound(
    larger_count: ArrayLike,
    smaller_count: ArrayLike,
    larger_trials: int,
    smaller_trials: int,
    confidence: float,
    hypothesis: Hypothesis = Ratio(),  # noqa: B008 (frozen)
) -> NDArray[np.float64]:
    """Return an exact lower bound on a level from the numbers of fresh draws in one event.

    Neither the event nor the choice of the side where it is expected to be more likely may depend
    on the counts.

    Args:
        larger_count: Counts of the event on the side where the event was expected to be more
            likely.
        smaller_count: Counts of the event on the other side.
        larger_trials: Number of draws on the side where the event was expected to be more likely.
        smaller_trials: Number of draws on the other side.
        confidence: Guaranteed probability that the bound is at most the level.
        hypothesis: Hypothesis that relates the level to both probabilities: `Ratio(delta)` for
            epsilon, `Shift()` for mu of Gaussian differential privacy, or `Difference()` for the
            total variation distance.

    Returns:
        Lower bounds, at least 0, a float64 array with the shape of the counts.

    Raises:
        TypeError: If an argument is not a number, or if a number of draws is not an integer.
        ValueError: If the confidence is not strictly between 0 and 1, or if a count is negative or
            above the number of draws.

    References:
        Buehler (1957).
    """
    validate.open_unit(confidence=confidence)
    validate.positive_int(larger_trials=larger_trials, smaller_trials=smaller_trials)
    validate.counts(at_most=larger_trials, larger_count=larger_count)
    validate.counts(at_most=smaller_trials, smaller_count=smaller_count)
    counts = np.stack(np.broadcast_arrays(larger_count, smaller_count))
    trials = int(larger_trials), int(smaller_trials)
    # Runs with equal counts have equal bounds.
    larger, smaller = counts.reshape(2, -1).astype(np.int64).tolist()
    pairs = list(zip(larger, smaller, strict=True))
    bounds = {
        (k, m): buehler_bound(hypothesis, k, m, trials, 1 - confidence) for k, m in set(pairs)
    }
    return np.array([bounds[pair] for pair in pairs], np.float64).reshape(counts.shape[1:])


def wilson(
    counts: ArrayLike, num_samples: ArrayLike, quantile: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return Wilson's lower and upper bounds on probabilities."""
    k, n, z = (np.asarray(x, np.float64) for x in (counts, num_samples, quantile))
    centre = k + z**2 / 2
    spread = z * np.sqrt(np.maximum(k * (1 - k / np.maximum(n, 1)), 0) + z**2 / 4)
    total = n + z**2
    return np.maximum(centre - spread, 0) / total, np.minimum(centre + spread, total) / total


def shrunk(
    larger: NDArray, draws: NDArray, smaller: NDArray, others: NDArray, quantile: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate two probabilities, and shrink their log ratio by `quantile` standard errors.

    Args:
        larger: Counts of the event on the side where the event is expected to be more likely.
        draws: Number of draws on the side where the event is expected to be more likely.
        smaller: Counts of the event on the other side.
        others: Number of draws on the other side.
        quantile: Number of standard errors.
    """
    p, q = (larger + 0.5) / (draws + 1), (smaller + 0.5) / (others + 1)
    low, high = wilson(larger, draws, quantile)[0], wilson(smaller, others, quantile)[1]
    with np.errstate(divide="ignore"):
        down = np.maximum(np.log(p) - np.log(low), 0.0)
    up = np.maximum(np.log(high) - np.log(q), 0.0)
    # Errors of independent logarithms add in quadrature; each side bears its part of the sum.
    known = np.isfinite(down)
    down = np.where(known, down, 0.0)
    part = np.where(known, np.hypot(down, up) / np.maximum(down + up, 1e-300), 1.0)
    return np.where(known, p * np.exp(-down * part), 0.0), np.minimum(q * np.exp(up * part), 1.0)
