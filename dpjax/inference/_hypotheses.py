"""Hypotheses that relate a privacy level t to the probabilities of one event.

Let p be the event's probability on the side where the event is more likely, and let q be the
event's probability on the other side. If the level is t, then p <= g(t, q), where g increases with
t and with q.

Each hypothesis also orders pairs of counts by a score s, which is larger for counts that are
stronger evidence for a large t. The score increases with the count on the side where the event is
more likely, and decreases with the count on the other side. Therefore, P(s >= observed) increases
with p and decreases with q. Each score is the lower confidence bound on t from a normal
approximation.

In place of g, bets use straight lines r q + d above g. Let P and P' be the output distributions on
the two sides. A level is refuted if bets refute P(E) <= r P'(E) + d or P'(E) <= r P(E) + d for some
event E.

Notation: z is the normal quantile of the confidence; v1 and v2 are the variances of the estimates
of p and q.

References:
    Agresti, Coull (1998) for the estimates; Fieller (1954) for the order of ratios; Vadhan (2017),
    Lemma 2.2, for databases that differ in multiple records.
"""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Trials = tuple[int, int]

_HOPELESS = -1e6
"""Number that is added to the scores of counts that support no level, so that they rank last."""

NEARLY_ONE = 1 - 1e-13
"""Threshold above which a probability is treated as 1."""

POSITIVE = 1e-300
"""Positive number that replaces all smaller arguments of a logarithm."""

RANGE, _SHARES = (0.01, 10.0), (0.001, 0.999)
"""Ranges of the levels that bets test: RANGE for epsilon and mu, _SHARES for total variation."""

LEVELS = 2048
"""Number of levels that are tested by bets."""


class Lines(NamedTuple):
    """Straight lines r q + d above the function g: one line per pair and level.

    Attributes:
        slope: float64 [pairs, levels], slopes r >= 1 of the lines.
        start: float64 [pairs, levels], intercepts d >= 0 of the lines.
        most: float64 [pairs], approximate largest level that each pair's estimated distributions
            violate.
    """

    slope: Floats
    start: Floats
    most: Floats


class Hypothesis(Protocol):
    """The hypothesis that a mechanism's level, as defined by one privacy notion, is at most t."""

    @property
    def distance(self) -> int:
        """Number of records in which the databases of a pair differ."""
        ...

    @property
    def levels(self) -> Floats:
        """Levels, in increasing order, that are tested by the bets of a sequential audit."""
        ...

    def shown(self, p: Floats, q: Floats, v1: Floats, v2: Floats) -> tuple[Floats, Floats]:
        """Return estimates of t, and their approximate standard errors, from estimates of p and q.

        Args:
            p: Estimates of p.
            q: Estimates of q.
            v1: Variances of the estimates of p.
            v2: Variances of the estimates of q.
        """
        ...

    def lines(self, levels: Floats, p: Floats, q: Floats) -> Lines:
        """Return straight lines above g: one line per pair and level.

        Args:
            levels: float64 [levels], levels t.
            p: float64 [pairs, groups], estimated probabilities under the databases.
            q: float64 [pairs, groups], estimated probabilities under the neighbors.
        """
        ...

    def order(
        self, larger: ArrayLike, smaller: ArrayLike, trials: Trials, quantile: float
    ) -> Floats:
        """Return the score s of an event's counts.

        Args:
            larger: Counts on the side where the event is more likely.
            smaller: Counts on the other side.
            trials: Numbers of draws, first on the side where the event is more likely, then on the
                other side.
            quantile: Normal quantile z of the confidence.
        """
        ...

    def order_and_error(
        self, larger: ArrayLike, smaller: ArrayLike, trials: Trials, quantile: float
    ) -> tuple[Floats, Floats]:
        """Return the result of `order`, and approximate standard errors of estimates of t."""
        ...

    def likelier(self, level: float, smaller: Floats) -> Floats:
        """Return g(t, q), an upper bound on p at level t, for each q. The result may be above 1."""
        ...

    def other(self, level: float, larger: Floats) -> Floats:
        """Return, for each p, the smallest q that level t allows. This q solves p = g(t, q)."""
        ...

    def lift(self, level: float, smaller: Floats) -> Floats:
        """Return upper bounds on how far a function lies above its chords.

        The function maps the log odds of q to the log odds of g(t, q). Each chord connects two
        points on the function's graph that belong to adjacent values of q.

        Args:
            level: Level t.
            smaller: float64 [values], increasing values of q.

        Returns:
            One bound per interval between adjacent values of q, float64 [values - 1].
        """
        ...


class Estimates(NamedTuple):
    """Agresti and Coull's estimates of p and q, with the variances v1 and v2 of the estimates."""

    p: Floats
    q: Floats
    v1: Floats
    v2: Floats


def estimates(larger: ArrayLike, smaller: ArrayLike, trials: Trials, quantile: float) -> Estimates:
    added, found = quantile**2, []
    for count, most in zip((larger, smaller), trials, strict=True):
        total = most + added
        share = (np.minimum(np.asarray(count, np.float64), most) + added / 2) / total
        found.append((share, share * (1 - share) / total))
    (p, v1), (q, v2) = found
    return Estimates(p, q, v1, v2)


class _Straight:
    """Base class of hypotheses with g(t, q) = min(r q + d, 1), where r >= 1 and d >= 0 depend on t.

    Let p = g(t, q) < 1. As a function of the log odds of q, the log odds of p have slope (1 - d /
    p) (1 - q) / (1 - p). The slope of this function increases with q. Therefore, the function is
    convex, and its graph lies below its chords.
    """

    def line(self, level: ArrayLike) -> tuple[Floats, Floats]:
        """Return the slope r and the intercept d at each level."""
        raise NotImplementedError

    def most(self, p: Floats, q: Floats) -> Floats:
        """See `Lines`."""
        raise NotImplementedError

    def shown(self, p: Floats, q: Floats, v1: Floats, v2: Floats) -> tuple[Floats, Floats]:
        """See `Hypothesis`."""
        raise NotImplementedError

    def ordered(self, found: Estimates, quantile: float) -> Floats:
        """Return the score s of counts for given estimates of p and q."""
        raise NotImplementedError

    def order(
        self, larger: ArrayLike, smaller: ArrayLike, trials: Trials, quantile: float
    ) -> Floats:
        """See `Hypothesis`."""
        return self.ordered(estimates(larger, smaller, trials, quantile), quantile)

    def order_and_error(
        self, larger: ArrayLike, smaller: ArrayLike, trials: Trials, quantile: float
    ) -> tuple[Floats, Floats]:
        """See `Hypothesis`."""
        found = estimates(larger, smaller, trials, quantile)
        return self.ordered(found, quantile), self.shown(*found)[1]

    def lines(self, levels: Floats, p: Floats, q: Floats) -> Lines:
        """See `Hypothesis`."""
        slope, start = (np.broadcast_to(x, (len(p), len(levels))) for x in self.line(levels))
        return Lines(slope, start, self.most(p, q))

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
    """The hypothesis of (t, delta)-differential privacy for databases that differ in k records.

    (t, delta)-differential privacy for one record implies
    (k t, delta (e^(k t) - 1) / (e^t - 1))-differential privacy for k records.

    Attributes:
        delta: Delta of (t, delta)-differential privacy, in [0, 1).
        distance: k, the number of records in which the databases differ.
    """

    delta: float = 0.0
    distance: int = 1

    @property
    def levels(self) -> Floats:
        """See `Hypothesis`."""
        return np.geomspace(*RANGE, LEVELS)

    def line(self, level: ArrayLike) -> tuple[Floats, Floats]:
        """See `_Straight`."""
        levels = np.asarray(level, np.float64)
        with np.errstate(over="ignore"):
            # Compute the quotient (e^(k t) - 1) / (e^t - 1) as a sum of powers.
            powers = np.exp(levels[..., None] * np.arange(self.distance if self.delta else 1))
            return np.exp(self.distance * levels), self.delta * powers.sum(axis=-1)

    def most(self, p: Floats, q: Floats) -> Floats:
        """See `Lines`."""
        return np.abs(np.log(p / q)).max(axis=1) / self.distance

    def shown(self, p: Floats, q: Floats, v1: Floats, v2: Floats) -> tuple[Floats, Floats]:
        """See `Hypothesis`."""
        excess = p - self.delta * self.distance
        ratio = np.log(np.maximum(excess, POSITIVE) / q)
        error = np.sqrt(v1 / np.maximum(excess, np.sqrt(v1)) ** 2 + v2 / q**2)
        return ratio / self.distance, error / self.distance

    def ordered(self, found: Estimates, quantile: float) -> Floats:
        """Return the log of Fieller's lower bound on e / q, divided by k, where e = p - k delta.

        Let A = q^2 - z^2 v2, B = e q and C = e^2 - z^2 v1. The bound on e / q is C / (B + sqrt(B^2
        - A C)), the smaller root of A x^2 - 2 B x + C.
        """
        p, q, v1, v2 = found
        e, z2 = p - self.delta * self.distance, quantile**2
        b, c = e * q, e**2 - z2 * v1
        hopeless = (e <= 0) | (c <= 0)
        with np.errstate(invalid="ignore", divide="ignore"):
            # Compute B^2 - A C as a sum that has only positive terms if C > 0, which avoids
            # cancellation.
            root = np.sqrt(z2 * (v1 * q**2 + v2 * c))
            log_ratio = np.log(np.where(hopeless, 1.0, c / (b + root))) / self.distance
        return np.where(hopeless, _HOPELESS + e / np.sqrt(v1), log_ratio)


@dataclass(frozen=True)
class Difference(_Straight):
    """The hypothesis that the total variation distance for k records is at most k t.

    Attributes:
        distance: k, the number of records in which the databases differ.
    """

    distance: int = 1

    @property
    def levels(self) -> Floats:
        """See `Hypothesis`."""
        return np.geomspace(*_SHARES, LEVELS)

    def line(self, level: ArrayLike) -> tuple[Floats, Floats]:
        """See `_Straight`."""
        start = self.distance * np.asarray(level, np.float64)
        return np.ones_like(start), start

    def most(self, p: Floats, q: Floats) -> Floats:
        """See `Lines`."""
        return np.maximum(p - q, 0).sum(axis=1) / self.distance

    def shown(self, p: Floats, q: Floats, v1: Floats, v2: Floats) -> tuple[Floats, Floats]:
        """See `Hypothesis`."""
        return (p - q) / self.distance, np.sqrt(v1 + v2) / self.distance

    def ordered(self, found: Estimates, quantile: float) -> Floats:
        """Return the lower bound, by normal approximation, on (p - q) / k."""
        p, q, v1, v2 = found
        return (p - q - quantile * np.sqrt(v1 + v2)) / self.distance
