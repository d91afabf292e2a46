"""Exact lower confidence bounds from the counts of one event under two databases.

If a mechanism is epsilon-DP, then P(E) <= e^epsilon P'(E) for every event E. If the event is fixed
before the draws are made, the event's counts give exact confidence bounds on both probabilities at
any sample size (Clopper, Pearson).
"""

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpjax.core import validate
from dpjax.core.wording import BadValue


def clopper_pearson(
    counts: ArrayLike, num_samples: int, confidence: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return exact one-sided bounds on binomial probabilities at confidence level `confidence`.

    The lower and the upper bound hold simultaneously with probability at least 2 * confidence - 1.

    Args:
        counts: Numbers of successes, integers in [0, num_samples].
        num_samples: Number of trials.
        confidence: Confidence of each bound, at least 0.5 and below 1: one number, or one number
            per count.

    Returns:
        Lower and upper bounds, float64 arrays with the shape of `counts`.

    Raises:
        TypeError: If an argument is not a number, or if `num_samples` is not an integer.
        ValueError: If an argument is out of range.

    References:
        Clopper, Pearson (1934).
    """
    validate.positive_int(num_samples=num_samples)
    validate.counts(at_most=num_samples, counts=counts)
    validate.open_unit(confidence=confidence)
    if np.min(confidence) < 0.5:
        raise BadValue(
            "confidence must be at least 0.5, so that the lower bound is not above the upper "
            f"bound, but was {confidence!r}: if this number is a significance level, pass 1 minus "
            "the level."
        )
    return one_sided_bounds(counts, num_samples, 1 - np.asarray(confidence, np.float64))


def one_sided_bounds(
    counts: ArrayLike, num_samples: int, significance: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the bounds of `clopper_pearson` without validating the arguments.

    Args:
        counts: As in `clopper_pearson`.
        num_samples: As in `clopper_pearson`.
        significance: 1 minus the confidence of each bound. The argument is the significance and not
            the confidence because computing 1 - confidence would lose digits if the significance is
            small.
    """
    k = np.asarray(counts, np.float64)
    n, error = num_samples, np.asarray(significance, np.float64)
    lower = np.where(k > 0, scipy.special.betaincinv(np.maximum(k, 1), n - k + 1, error), 0.0)
    upper = np.where(k < n, scipy.special.betaincinv(k + 1, np.maximum(n - k, 1), 1 - error), 1.0)
    return lower, upper


def binomial_lower_bound(
    larger: ArrayLike, smaller: ArrayLike, num_samples: int, confidence: float
) -> NDArray[np.float64]:
    """Return an exact lower bound on ln(P(E) / P'(E)) from counts of an event E on both sides.

    The error probability 1 - confidence is split evenly between the two sides. The side where the
    event is expected to be more likely must be chosen without using the counts.

    Args:
        larger: Counts of the event on the side where the event is expected to be more likely.
        smaller: Counts of the event on the other side.
        num_samples: Number of draws on each side.
        confidence: Guaranteed probability that the bound is at most the true value.

    Returns:
        Lower bounds, at least 0, a float64 array with the shape of the counts.

    Raises:
        TypeError: If an argument is not a number, or if `num_samples` is not an integer.
        ValueError: If the confidence is not strictly between 0 and 1, or if a count is not between
            0 and `num_samples`.
    """
    validate.open_unit(confidence=confidence)
    validate.positive_int(num_samples=num_samples)
    validate.counts(at_most=num_samples, larger=larger, smaller=smaller)
    significance = (1 - confidence) / 2
    lower, _ = one_sided_bounds(larger, num_samples, significance)
    _, upper = one_sided_bounds(smaller, num_samples, significance)
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(lower) - np.log(upper), 0.0)
