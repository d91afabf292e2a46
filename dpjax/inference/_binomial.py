"""Exact lower confidence bounds from the counts of one event at two databases.

If a mechanism has level epsilon then P(E) <= e^epsilon P'(E) for every event E. Fresh counts of an
event that was fixed before bound both probabilities exactly (Clopper, Pearson), at any sample size.
"""

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpjax import _validate


def clopper_pearson(
    counts: ArrayLike, num_samples: int, significance: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Exact one-sided bounds of binomial probabilities, each wrong with at most `significance`.

    Args:
        counts: Successes, integers in [0, num_samples].
        num_samples: Trials.
        significance: Error probability of each of the two bounds, a number or one a count.

    Returns:
        Lower and upper bounds, float64 of the shape of counts.

    Raises:
        ValueError: The significance is not strictly between 0 and 1.

    References:
        Clopper, Pearson (1934).
    """
    _validate.open_unit(significance=significance)
    k = np.asarray(counts, np.float64)
    n, error = num_samples, np.asarray(significance, np.float64)
    lower = np.where(k > 0, scipy.special.betaincinv(np.maximum(k, 1), n - k + 1, error), 0.0)
    upper = np.where(k < n, scipy.special.betaincinv(k + 1, np.maximum(n - k, 1), 1 - error), 1.0)
    return lower, upper


def binomial_lower_bound(
    larger: ArrayLike, smaller: ArrayLike, num_samples: int, confidence: float
) -> NDArray[np.float64]:
    """Exact lower bound on ln(P(E) / P'(E)) from counts of an event at both sides.

    The error is split evenly between the two sides. Which side is the larger one must be decided
    without these counts (in an audit: by the search stage).

    Args:
        larger: How often the event happened on the side expected to be larger.
        smaller: How often on the other side.
        num_samples: Draws at each side.
        confidence: Probability with which the bound is at most the true value, at least.

    Returns:
        Float64 of the shape of the counts, at least 0.

    Raises:
        ValueError: The confidence is not strictly between 0 and 1.
    """
    _validate.open_unit(confidence=confidence)
    significance = (1 - confidence) / 2
    lower, _ = clopper_pearson(larger, num_samples, significance)
    _, upper = clopper_pearson(smaller, num_samples, significance)
    with np.errstate(divide="ignore"):
        return np.maximum(np.log(lower) - np.log(upper), 0.0)
