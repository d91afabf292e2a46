"""The relation between a level t of privacy and one event, and orders of counts as evidence.

If the level is t then p <= g(t, q), where p and q are the event's probabilities at its likelier and
at its other side; g rises in t and in q. An order s ranks counts by their evidence for a large t;
it rises in the first and falls in the second count, so P(s >= observed) rises in p and falls in q.
Each order is an approximate normal lower bound on t.

Notation: z is the normal quantile of the confidence, v1 and v2 are variances of estimates of p, q.

References:
    Agresti, Coull (1998) for the probabilities; Fieller (1954) for the order of ratios; Dong, Roth,
    Su (2022) for g of normal laws; Vadhan (2017), Lemma 2.2, for groups.
"""

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Trials = tuple[int, int]

_HOPELESS = -1e6
"""Offset of the order for counts without evidence for any level."""

NEARLY_ONE = 1 - 1e-13
"""Smallest probability that is treated as 1."""


class Hypothesis(Protocol):
    """The hypothesis that the level of one notion is at most t."""

    def order(
        self, larger: ArrayLike, smaller: ArrayLike, trials: Trials, quantile: float
    ) -> Floats:
        """The order s of counts at the likelier and at the other side."""
        ...

    def error(
        self, larger: ArrayLike, smaller: ArrayLike, trials: Trials, quantile: float
    ) -> Floats:
        """Approximate standard error of t."""
        ...

    def likelier(self, level: float, smaller: Floats) -> Floats:
        """g(t, q), possibly above 1."""
        ...

    def other(self, level: float, larger: Floats) -> Floats:
        """The q with p = g(t, q)."""
        ...

    def lift(self, level: float, smaller: Floats) -> Floats:
        """Largest distance of the log odds of g above their chord in the log odds of q.

        Between neighbouring q, [intervals].
        """
        ...


class _Estimates(NamedTuple):
    """Agresti and Coull's probabilities and their variances."""

    p: Floats
    q: Floats
    v1: Floats
    v2: Floats


def _estimates(
    larger: ArrayLike, smaller: ArrayLike, trials: Trials, quantile: float
) -> _Estimates:
    added, found = quantile**2, []
    for count, most in zip((larger, smaller), trials, strict=True):
        total = most + added
        share = (np.minimum(np.asarray(count, np.float64), most) + added / 2) / total
        found.append((share, share * (1 - share) / total))
    (p, v1), (q, v2) = found
    return _Estimates(p, q, v1, v2)


class _Straight:
    """A hypothesis with g = r q + d, r >= 1 and d >= 0, cut off at 1.

    The slope of the log odds of g in those of q is (1 - d / p) (1 - q) / (1 - p), which rises in q.
    The curve is therefore convex and lies below its chords.
    """

    def line(self, level: float) -> tuple[float, float]:
        """The slope r and the intercept d."""
        raise NotImplementedError

    def likelier(self, level: float, smaller: Floats) -> Floats:
        """See `Hypothesis`."""
        slope, start = self.line(level)
        return slope * smaller + start

    def other(self, level: float, larger: Floats) -> Floats:
        """See `Hypothesis`."""
        slope, start = self.line(level)
        return np.maximum(larger - start, 0.0) / slope

    def lift(self, level: float, smaller: Floats) -> Floats:
        """See `Hypothesis`."""
        return np.zeros(len(smaller) - 1)


@dataclass(frozen=True)
class Ratio(_Straight):
    """(t, delta)-differential privacy of one record, at databases that differ in k records.

    Attributes:
        delta: The delta of the definition, in [0, 1).
        distance: k; the pair is then (k t, delta (e^(k t) - 1) / (e^t - 1))-private.
    """

    delta: float = 0.0
    distance: int = 1

    def line(self, level: float) -> tuple[float, float]:
        """See `_Straight`."""
        # The quotient as a sum of powers.
        powers = np.exp(level * np.arange(self.distance)) if self.delta else np.zeros(1)
        with np.errstate(over="ignore"):
            return float(np.exp(self.distance * level)), self.delta * float(powers.sum())

    def order(
        self, larger: ArrayLike, smaller: ArrayLike, trials: Trials, quantile: float
    ) -> Floats:
        """Logarithm of Fieller's lower bound on the ratio of e = p - delta and q.

        The bound is C / (B + sqrt(B^2 - A C)), the smaller root of A x^2 - 2 B x + C with
        A = q^2 - z^2 v2, B = e q and C = e^2 - z^2 v1.
        """
        p, q, v1, v2 = _estimates(larger, smaller, trials, quantile)
        e, z2 = p - self.delta * self.distance, quantile**2
        b, c = e * q, e**2 - z2 * v1
        hopeless = (e <= 0) | (c <= 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            # B^2 - A C as a sum of terms that are positive where C is, to avoid cancellation.
            root = np.sqrt(z2 * (v1 * q**2 + v2 * c))
            log_ratio = np.log(np.where(hopeless, 1.0, c / (b + root))) / self.distance
        return np.where(hopeless, _HOPELESS + e / np.sqrt(v1), log_ratio)

    def error(
        self, larger: ArrayLike, smaller: ArrayLike, trials: Trials, quantile: float
    ) -> Floats:
        """See `Hypothesis`."""
        p, q, v1, v2 = _estimates(larger, smaller, trials, quantile)
        excess = np.maximum(p - self.delta * self.distance, np.sqrt(v1))
        return np.sqrt(v1 / excess**2 + v2 / q**2) / self.distance


@dataclass(frozen=True)
class Difference(_Straight):
    """Total variation of at most t for one record, and of k t for k records.

    Attributes:
        distance: k, records in which the databases differ.
    """

    distance: int = 1

    def line(self, level: float) -> tuple[float, float]:
        """See `_Straight`."""
        return 1.0, self.distance * level

    def order(
        self, larger: ArrayLike, smaller: ArrayLike, trials: Trials, quantile: float
    ) -> Floats:
        """The normal lower bound on p - q."""
        p, q, v1, v2 = _estimates(larger, smaller, trials, quantile)
        return (p - q - quantile * np.sqrt(v1 + v2)) / self.distance

    def error(
        self, larger: ArrayLike, smaller: ArrayLike, trials: Trials, quantile: float
    ) -> Floats:
        """See `Hypothesis`."""
        found = _estimates(larger, smaller, trials, quantile)
        return np.sqrt(found.v1 + found.v2) / self.distance


@dataclass(frozen=True)
class Shift:
    """mu-Gaussian differential privacy with mu = t: g is Phi(Phi^-1(q) + k t).

    Attributes:
        distance: k, records in which the databases differ.
    """

    distance: int = 1

    def order(
        self, larger: ArrayLike, smaller: ArrayLike, trials: Trials, quantile: float
    ) -> Floats:
        """The normal lower bound on the difference of normal quantiles."""
        shift, error = self._normal(larger, smaller, trials, quantile)
        return (shift - quantile * error) / self.distance

    def error(
        self, larger: ArrayLike, smaller: ArrayLike, trials: Trials, quantile: float
    ) -> Floats:
        """See `Hypothesis`."""
        return self._normal(larger, smaller, trials, quantile)[1] / self.distance

    def _normal(
        self, larger: ArrayLike, smaller: ArrayLike, trials: Trials, quantile: float
    ) -> tuple[Floats, Floats]:
        p, q, v1, v2 = _estimates(larger, smaller, trials, quantile)
        x, y = scipy.special.ndtri(p), scipy.special.ndtri(q)
        variance = 2 * math.pi * (v1 * np.exp(x**2) + v2 * np.exp(y**2))
        return x - y, np.sqrt(variance)

    def likelier(self, level: float, smaller: Floats) -> Floats:
        """See `Hypothesis`."""
        p = scipy.special.ndtr(scipy.special.ndtri(smaller) + self.distance * level)
        return np.where(p > NEARLY_ONE, 2.0, p)

    def other(self, level: float, larger: Floats) -> Floats:
        """See `Hypothesis`."""
        x = scipy.special.ndtri(np.minimum(larger, NEARLY_ONE))
        return scipy.special.ndtr(x - self.distance * level)

    def lift(self, level: float, smaller: Floats) -> Floats:
        """See `Hypothesis`; from the largest change of the slope within an interval."""
        x = scipy.special.ndtri(smaller)
        low, high = _slopes(x)
        lifted_low, lifted_high = _slopes(x + self.distance * level)
        change = lifted_high / low - lifted_low / high
        with np.errstate(invalid="ignore"):
            return np.nan_to_num(change * np.diff(scipy.special.logit(smaller)) / 4, posinf=0.0)


def _slopes(x: Floats) -> tuple[Floats, Floats]:
    """Least and greatest slope, which rises in |x|, of the log odds of Phi between neighbours."""

    def slope(x: Floats) -> Floats:
        log_density = -(x**2) / 2 - math.log(2 * math.pi) / 2
        return np.exp(log_density - scipy.special.log_ndtr(x) - scipy.special.log_ndtr(-x))

    ends = np.abs(x)
    nearest = np.where(x[:-1] * x[1:] < 0, 0.0, np.minimum(ends[:-1], ends[1:]))
    return slope(nearest), slope(np.maximum(ends[:-1], ends[1:]))
