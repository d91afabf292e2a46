"""The smallest count K1 for which (K1, K2) is at least as extreme as the observed counts.

Notation: K1 is the count of an event on the side where the event is more likely, and K2 is the
count on the other side. The numbers of draws on these sides are n1 and n2. The score s ranks
pairs of counts (see `_hypotheses`) and increases with K1.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpjax.inference._hypotheses import Hypothesis

_ROUNDING = 1e-12
"""Tolerated rounding error of the score s."""

_SECANTS, _SURE = 3, 8.0
"""Parameters for guessing the smallest K1.

The guess uses at most _SECANTS secant steps and one final secant step. If a step is shorter than
_SURE, the next step is the final one.
"""


def least_larger(
    hypothesis: Hypothesis,
    smaller: NDArray[np.int64],
    observed: float,
    counts: tuple[int, int],
    trials: tuple[int, int],
    quantile: float,
) -> NDArray[np.int64]:
    """Return, for each K2, the smallest K1 with s >= observed, or n1 + 1 if there is none.

    Args:
        hypothesis: Hypothesis that defines the score s.
        smaller: Values of K2, increasing.
        observed: Score s of the observed counts.
        counts: Observed counts K1 and K2, from which the search starts.
        trials: n1 and n2, the numbers of draws on the two sides.
        quantile: Normal quantile that is passed to `hypothesis.order`.
    """
    most = trials[0]

    def excess(larger: NDArray, smaller: NDArray) -> NDArray[np.float64]:
        order = hypothesis.order(np.minimum(larger, most), smaller, trials, quantile)
        # Rounding must not exclude the observed counts.
        return order - (observed - _ROUNDING)

    def is_reached(larger: NDArray, smaller: NDArray) -> NDArray[np.bool_]:
        return excess(larger, smaller) >= 0

    guess = _guessed(excess, smaller, counts, most)
    # The smallest K1 is above `below` and at most `at`. Since s increases with K1, the values of s
    # at the guess and at the next smaller count show whether the guess is right.
    at, below = np.full((2, *smaller.shape), [[most + 1], [-1]])
    for tried in (guess, guess - 1):
        reached = is_reached(np.maximum(tried, 0), smaller) & (tried >= 0)
        at = np.where(reached & (tried <= most), tried, at)
        below = np.where(~reached & (tried > below), tried, below)
    (open_,) = np.nonzero(at - below > 1)
    while open_.size:
        middle = (below[open_] + at[open_]) // 2
        reached = is_reached(middle, smaller[open_])
        at[open_[reached]], below[open_[~reached]] = middle[reached], middle[~reached]
        open_ = open_[at[open_] - below[open_] > 1]
    return at


def _guessed(
    excess: Callable[[NDArray, NDArray], NDArray[np.float64]],
    smaller: NDArray[np.int64],
    counts: tuple[int, int],
    most: int,
) -> NDArray[np.int64]:
    """For each K2, approximate the smallest K1 in [0, n1] with `excess` >= 0, by secant steps."""
    k, m = counts
    step, other = max(math.isqrt(k), 1), max(math.isqrt(m), 1)
    near = excess(np.array([k, k - step, k, k]), np.array([m, m, m, m + other]))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        slope, fall = (near[0] - near[1]) / step, (near[2] - near[3]) / other
        tried = np.clip(k + (smaller - m) * (fall / slope), 0.0, most)
        value = excess(tried, smaller)
        for _ in range(_SECANTS):
            later = np.clip(tried - value / slope, 0.0, most)
            if np.all(np.abs(later - tried) < _SURE):
                break
            found = excess(later, smaller)
            slope = np.where(later != tried, (found - value) / (later - tried), slope)
            tried, value = later, found
        tried = np.clip(tried - value / slope, 0.0, most)
    return np.ceil(np.nan_to_num(tried, nan=k)).astype(np.int64)
