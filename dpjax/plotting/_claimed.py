"""Conversion of a claim or bound in one privacy notion to privacy curves in other notions."""

import numpy as np
import scipy
from numpy.typing import NDArray

from dpjax.inference import two_points

_STEPS = 60
"""Number of bisection steps per error probability; the result is precise enough for any plot."""

_LARGEST = 700.0
"""Largest epsilon whose exponential is computed."""


class Claimed:
    """A privacy level or privacy curve in one notion, and the curves that it implies in others.

    The level or curve may be a claim or a lower bound.

    Args:
        kind: Name of the privacy notion, or None if there is no level or curve.
        claim: Level as a float, points of a curve as a list, or None if there is neither.
        delta: Delta of (epsilon, delta)-DP; used only if the level is an epsilon.
        order: Order of the Renyi divergence; used only if the level is a Renyi divergence.
    """

    def __init__(
        self,
        kind: str | None,
        claim: float | list[list[float]] | None,
        delta: float = 0.0,
        order: float | None = None,
    ):
        self.kind = kind
        self.points = np.array(claim, float) if isinstance(claim, list) else np.empty((0, 2))
        self.level = claim if isinstance(claim, float) else 0.0
        self.delta, self.order = delta, None if claim is None else order

    def deltas(self, epsilons: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the delta at each epsilon if the notion is Gaussian DP, and None otherwise."""
        if self.kind != "gdp" or self.level == 0:
            return None
        a, b = (s * self.level / 2 - epsilons / self.level for s in (1, -1))
        return scipy.special.ndtr(a) - np.exp(epsilons) * scipy.special.ndtr(b)

    def errors(self, x: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the smallest miss probability that this privacy level or curve allows a test.

        Args:
            x: Probabilities of a false alarm, float64 [n] in [0, 1].

        Returns:
            Probabilities of a miss, float64 [n], or None if there is no level or curve.
        """
        if self.kind == "trade-off":
            return np.interp(x, self.points[:, 0], self.points[:, 1])
        if self.kind == "gdp":
            return scipy.special.ndtr(scipy.special.ndtri(1 - x) - self.level)
        if self.kind == "epsilon":
            return errors_of(self.level, self.delta, x)
        if self.kind == "total-variation":
            return errors_of(0.0, self.level, x)
        if self.kind == "profile":
            return np.max([errors_of(e, delta, x) for e, delta in self.points], axis=0)
        if self.kind == "renyi":
            assert self.order is not None
            return _errors_of_divergence(self.order, self.level, x)
        if self.kind == "zcdp":
            # zCDP bounds the divergence of every order, so any selection of orders yields a valid
            # curve. The orders below are enough for a plot.
            orders = 2.0 ** np.arange(7)
            return np.max([_errors_of_divergence(a, a * self.level, x) for a in orders], axis=0)
        return None

    def divergences(self, orders: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return, for each order, the largest Renyi divergence that the level allows.

        The return value is None if the notion is neither zCDP nor Gaussian DP.
        """
        if self.kind == "zcdp":
            return self.level * orders
        if self.kind == "gdp":
            return self.level**2 / 2 * orders
        return None


def errors_of(epsilon: float, delta: float, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the smallest miss probability of a test with false-alarm probability `x`.

    The tests try to distinguish two databases from one output of an (epsilon, delta)-DP mechanism.
    The result is the same if the two databases swap roles.

    References:
        Wasserman, Zhou (2010); Kairouz, Oh, Viswanath (2015).
    """
    # Larger levels than _LARGEST would overflow, and allow the same errors.
    first = 1 - delta - np.exp(min(epsilon, _LARGEST)) * x
    return np.maximum(np.maximum(first, np.exp(-epsilon) * (1 - delta - x)), 0)


def _errors_of_divergence(
    order: float, level: float, x: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the smallest miss probability of a test if a Renyi divergence is at most `level`.

    A test has two outcomes, alarm and no alarm. By the data processing inequality, `level` also
    bounds the divergence between the two distributions of the test's outcome, one per database.
    Bisection finds the smallest miss probability for which the divergence between these two
    distributions is at most `level`.
    """
    low, high = np.zeros_like(x), 1 - x
    for _ in range(_STEPS):
        miss = (low + high) / 2
        with np.errstate(all="ignore"):
            forward, backward = two_points(1 - miss, x, order), two_points(x, 1 - miss, order)
        # NaN means that an outcome is possible for only one of the databases. In this case,
        # `within` is False, as for an infinite divergence.
        within = (forward <= level) & (backward <= level)
        low, high = np.where(within, low, miss), np.where(within, miss, high)
    return high
