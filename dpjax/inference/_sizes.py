"""Division of an event's confirmation draws between the two sides.

Let p be an event's probability on the side where the event is more likely, and let q be the event's
probability on the other side. Let N1 and N2 be the numbers of draws on these sides. An estimated
level has a variance of the form s1^2 / N1 + s2^2 / N2. For a given sum N1 + N2, the variance is
smallest at N2 / N1 = s2 / s1. For epsilon with delta = 0, the ratio s2 / s1 is sqrt((1 / q - 1) /
(1 / p - 1)). Therefore, the side on which the event has a smaller probability needs more draws.

References:
    Neyman (1934) for the optimal allocation.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpjax.inference._hypotheses import Hypothesis

_STEPS, _MOST = 4, 12
"""Ratios of sample sizes are rounded to 2^(k / _STEPS) with integers |k| <= _MOST.

Because of the rounding, machines that compute slightly different logarithms use the same sample
sizes.
"""

_PARTS = 0.5, 0.75
"""Exponents, in addition to 0 and 1, to which the best ratio is raised to obtain candidates."""

_UNIT = 1e-12
"""Variance of an average of many draws, relative to the variance of one draw."""


class Shared(NamedTuple):
    """A number of fresh draws that may be divided unequally between both sides.

    Attributes:
        mean: N, the average number of draws per side.
    """

    mean: int


class Rivals(NamedTuple):
    """Number of pairs and number of partitions among which an event is chosen.

    Only the event with the largest predicted bound over all pairs and partitions is confirmed.

    Attributes:
        pairs: Number of searched pairs.
        partitions: Number of partitions of the outputs that are compared for each pair.
    """

    pairs: int = 1
    partitions: int = 1


def size_ratio(p: ArrayLike, q: ArrayLike, hypothesis: Hypothesis) -> NDArray[np.float64]:
    """Return the asymptotically best ratio N2 / N1 of sample sizes, in [1/8, 8].

    Args:
        p: Float [...], probabilities of events on the side where the event is more likely.
        q: Float [...], probabilities of events on the other side.
        hypothesis: Hypothesis whose level is bounded.
    """
    p, q = np.asarray(p, np.float64), np.asarray(q, np.float64)
    first, second = _UNIT * p * (1 - p), _UNIT * q * (1 - q)
    with np.errstate(all="ignore"):
        at_first = hypothesis.shown(p, q, first, np.zeros_like(q))[1]
        at_second = hypothesis.shown(p, q, np.zeros_like(p), second)[1]
        steps = np.rint(_STEPS * np.log2(at_second / at_first))
    # Use the ratio 1 for events that are certain or impossible on both sides.
    return np.exp2(np.clip(np.nan_to_num(steps, nan=0.0), -_MOST, _MOST) / _STEPS)


def tried_ratios(ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return four ratios to compare, which range from 1 to the given ratio.

    The given ratio is best for a large number of draws. With a small number of draws, the given
    ratio would leave too few draws for the side where the event is more likely. The table contains
    exact means of the bound on epsilon. The last four numbers of a row are the means if the best
    ratio is raised to the power 0, 1/2, 3/4 or 1. The result has shape [4, ...].

        p = 0.01, q = 0.00135, N = 2,000, confidence 0.95:  0.98  1.03  1.03  1.01
        p = 0.02, q = 0.0005,  N = 2,000, confidence 0.95:  2.17  2.37  2.38  2.34
        p = 0.98, q = 0.42,    N = 20,    confidence 0.999: 0.20  0.08  0.02  0.00
    """
    steps = _STEPS * np.log2(ratio)
    between = [np.exp2(np.rint(part * steps) / _STEPS) for part in _PARTS]
    return np.stack([np.ones_like(ratio), *between, ratio])


def divided(ratio: ArrayLike, mean: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return sample sizes N1 >= 1 and N2 >= 1 that sum to 2 N.

    Args:
        ratio: Ratio N2 / N1 before rounding.
        mean: N, the mean number of draws per side.
    """
    first = np.rint(2 * mean / (1 + np.asarray(ratio, np.float64))).astype(np.int64)
    first = np.clip(first, 1, 2 * mean - 1)
    return first, 2 * mean - first
