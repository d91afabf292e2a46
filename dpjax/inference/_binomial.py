"""Exact lower confidence bounds from the counts of one event at two databases.

If a mechanism has level epsilon, then P(E) <= e^epsilon P'(E) for every event E. Fresh counts of a
fixed event give exact bounds on both probabilities (Clopper, Pearson), at any sample size.
"""

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpjax.core import validate
from dpjax.core.wording import BadValue


def clopper_pearson(
    counts: ArrayLike, num_samples: int, confidence: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return exact one-sided bounds on binomial probabilities, each valid with `confidence`.

    Both bounds hold simultaneously with probability at least 2 confidence - 1.

    Args:
        counts: Successes, whole numbers in [0, num_samples].
        num_samples: Number of trials.
        confidence: Confidence of each bound, at least 0.5 and below 1: one number, or one number
            per count.

    Returns:
        Lower and upper bounds, float64 of the shape of counts.

    Raises:
        TypeError: If an argument is not a number, or `num_samples` not an integer.
        ValueError: If an argument is out of its range.

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
    """Return the bounds of `clopper_pearson` from the significance, without validation.

    A small significance would lose digits if it were passed as 1 minus a confidence.
    """
    k = np.asarray(counts, np.float64)
    n, error = num_samples, np.asarray(significance, np.float64)
    lower = np.where(k > 0, scipy.special.betaincinv(np.maximum(k, 1), n - k + 1, error), 0.0)
    upper = np.where(k < n, scipy.special.betaincinv(k + 1, np.maximum(n - k, 1), 1 - error), 1.0)
    return lower, upper


def binomial_lower_bound(
    larger: ArrayLike, smaller: ArrayLike, num_samples: int, confidence: float
) -> NDArray[np.float64]:
    """Return an exact lower bound on ln(P(E) / P'(E)) from counts of an event at both sides.

    The error probability 1 - confidence is split evenly between the two sides. The choice of the
    likelier side must not depend on the counts.

    Args:
        larger: Counts of the event at the side where it is expected to be likelier.
        smaller: Counts of the event at the other side.
        num_samples: Draws at each side.
        confidence: Least probability that the bound is at most the true value.

    Returns:
        Float64 of the shape of the counts, at least 0.

    Raises:
        TypeError: If an argument is not a number, or `num_samples` not an integer.
        ValueError: If the confidence is not strictly between 0 and 1, or a count is not between 0
            and `num_samples`.
    """
    validate.open_unit(confidence=confidence)
    validate.positive_int(num_samples=num_samples)
    validate.counts(at_most=num_samples, larger=larger, smaller=smaller)
    significance = (1 - confidence) / 2
    lower, _ = one_sided_bounds(larger, num_samples, significance)
    _, upper = one_sided_bounds(smaller, num_samples, significance)
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(lower) - np.log(upper), 0.0)
