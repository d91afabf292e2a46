"""The hypothesis of Gaussian differential privacy, defined by shifted normal distributions.

References:
    Dong, Roth, Su (2022).
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpjax.inference._hypotheses import (
    LEVELS,
    NEARLY_ONE,
    POSITIVE,
    RANGE,
    Floats,
    Lines,
    Trials,
    estimates,
)

_LARGEST_EPSILON = 600.0
"""Largest epsilon of a tangent. A tangent's slope is e^epsilon, which must be finite in float64."""


@dataclass(frozen=True)
class Shift:
    """mu-Gaussian differential privacy with mu = t, for which g(t, q) is Phi(Phi^-1(q) + k t).

    Attributes:
        distance: k, the number of records in which the databases differ.
    """

    distance: int = 1

    def order(
        self, larger: ArrayLike, smaller: ArrayLike, trials: Trials, quantile: float
    ) -> Floats:
        """Return the lower bound, by normal approximation, on t = (Phi^-1(p) - Phi^-1(q)) / k."""
        return self.order_and_error(larger, smaller, trials, quantile)[0]

    def order_and_error(
        self, larger: ArrayLike, smaller: ArrayLike, trials: Trials, quantile: float
    ) -> tuple[Floats, Floats]:
        """See `Hypothesis`."""
        shift, error = self.shown(*estimates(larger, smaller, trials, quantile))
        return shift - quantile * error, error

    def shown(self, p: Floats, q: Floats, v1: Floats, v2: Floats) -> tuple[Floats, Floats]:
        """See `Hypothesis`."""
        x, y = scipy.special.ndtri(p), scipy.special.ndtri(q)
        variance = 2 * math.pi * (v1 * np.exp(x**2) + v2 * np.exp(y**2))
        return (x - y) / self.distance, np.sqrt(variance) / self.distance

    @property
    def levels(self) -> Floats:
        """See `Hypothesis`."""
        return np.geomspace(*RANGE, LEVELS)

    def lines(self, levels: Floats, p: Floats, q: Floats) -> Lines:
        """For each pair, return tangents of g near the event with the largest estimated level.

        The slope of a tangent is exp(-s z), where s is the shift k t and z is the mean of the
        normal quantiles of the event's two probabilities. The tangent's intercept is the delta of
        s-Gaussian differential privacy at epsilon = ln(slope).

        References:
            Dong, Roth, Su (2022), Corollary 2.13.
        """
        order = np.argsort(p / q, axis=1, kind="stable")
        # Compute the probabilities of all sets that contain the groups with the smallest ratios.
        # Their complements contain the groups with the largest ratios.
        below = [np.take_along_axis(law, order, axis=1).cumsum(axis=1)[:, :-1] for law in (p, q)]
        x, y = (scipy.special.ndtri(np.clip(law, POSITIVE, NEARLY_ONE)) for law in below)
        best = np.argmax(y - x, axis=1)[:, None]
        shift = self.distance * levels
        middle = np.abs(np.take_along_axis(x + y, best, axis=1)) / 2
        middle = np.minimum(middle, _LARGEST_EPSILON / shift)
        slope = np.exp(middle * shift)
        start = scipy.special.ndtr(shift / 2 - middle) - slope * scipy.special.ndtr(
            -shift / 2 - middle
        )
        return Lines(slope, np.maximum(start, 0.0), (y - x).max(axis=1) / self.distance)

    def likelier(self, level: float, smaller: Floats) -> Floats:
        """See `Hypothesis`."""
        p = scipy.special.ndtr(scipy.special.ndtri(smaller) + self.distance * level)
        return np.where(p > NEARLY_ONE, 2.0, p)

    def other(self, level: float, larger: Floats) -> Floats:
        """See `Hypothesis`."""
        x = scipy.special.ndtri(np.minimum(larger, NEARLY_ONE))
        return scipy.special.ndtr(x - self.distance * level)

    def lift(self, level: float, smaller: Floats) -> Floats:
        """See `Hypothesis`.

        The bound is computed from the largest change in the slope within each interval.
        """
        x = scipy.special.ndtri(smaller)
        low, high = _slopes(x)
        lifted_low, lifted_high = _slopes(x + self.distance * level)
        change = lifted_high / low - lifted_low / high
        return np.nan_to_num(change * np.diff(scipy.special.logit(smaller)) / 4, posinf=0.0)


def _slopes(x: Floats) -> tuple[Floats, Floats]:
    """Return the smallest and largest slopes of ln(Phi(x) / (1 - Phi(x))) between adjacent points.

    The slope increases with |x|.

    Args:
        x: float64 [points], increasing points.

    Returns:
        The smallest and the largest slope in each interval, float64 [points - 1].
    """

    def slope(x: Floats) -> Floats:
        log_density = -(x**2) / 2 - math.log(2 * math.pi) / 2
        return np.exp(log_density - scipy.special.log_ndtr(x) - scipy.special.log_ndtr(-x))

    ends = np.abs(x)
    nearest = np.where(x[:-1] * x[1:] < 0, 0.0, np.minimum(ends[:-1], ends[1:]))
    return slope(nearest), slope(np.maximum(ends[:-1], ends[1:]))
