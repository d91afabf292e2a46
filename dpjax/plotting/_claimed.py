"""Privacy curves of other notions, implied by a level of one notion."""

import numpy as np
import scipy
from numpy.typing import NDArray

from dpjax.inference import ZCDP_ORDERS, two_points

_STEPS = 60
"""Number of bisection steps for an error probability, more than a plot can show."""


class Claimed:
    """Privacy curves of other notions, implied by a claimed or shown level or curve.

    Args:
        kind: Name of the notion of the level; None without a level.
        claim: A level, or points of a curve.
        delta: Delta, if the level is an epsilon.
        order: Order, if the level is a Renyi divergence.
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
        """Return the deltas that a claim of Gaussian DP implies; None for other claims."""
        if self.kind != "gdp" or self.level == 0:
            return None
        a, b = (s * self.level / 2 - epsilons / self.level for s in (1, -1))
        return scipy.special.ndtr(a) - np.exp(epsilons) * scipy.special.ndtr(b)

    def errors(self, x: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the smallest probability of a miss that the claim allows.

        Args:
            x: Probabilities of a false alarm, float64 [n] in [0, 1].

        Returns:
            Float64 [n], or None without a claim.
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
            # A few orders suffice: the claim implies a bound at each of them.
            orders = ZCDP_ORDERS[[0, 1, 3, 7, 15, 31, 63]]
            return np.max([_errors_of_divergence(a, a * self.level, x) for a in orders], axis=0)
        return None

    def divergences(self, orders: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the largest divergences that the claim allows; None if it implies none."""
        if self.kind == "zcdp":
            return self.level * orders
        if self.kind == "gdp":
            return self.level**2 / 2 * orders
        return None


def errors_of(epsilon: float, delta: float, x: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the smallest probabilities of a miss at false-alarm probabilities x.

    Under (epsilon, delta)-DP, no test has a smaller one, in either direction between the databases.

    References:
        Wasserman, Zhou (2010); Kairouz, Oh, Viswanath (2015).
    """
    first = 1 - delta - np.exp(epsilon) * x
    return np.maximum(np.maximum(first, np.exp(-epsilon) * (1 - delta - x)), 0)


def _errors_of_divergence(
    order: float, level: float, x: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the same as `errors_of`, under a bound on the Renyi divergence.

    By data processing, the divergence between a test's two outcomes obeys the same bound.
    """
    low, high = np.zeros_like(x), 1 - x
    for _ in range(_STEPS):
        miss = (low + high) / 2
        with np.errstate(all="ignore"):
            forward, backward = two_points(1 - miss, x, order), two_points(x, 1 - miss, order)
        # NaN means that only one of the two distributions has some outcome.
        within = (forward <= level) & (backward <= level)
        low, high = np.where(within, low, miss), np.where(within, miss, high)
    return high
