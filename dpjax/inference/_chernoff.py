"""Chernoff bounds on tail probabilities of counts, and union bounds for histogram estimators.

An estimator with m intervals counts n outputs for each of k inputs. The estimate has the required
precision if two conditions hold: certain intervals are not empty, and the counts that determine the
estimate are close to their means. A `UnionBound` contains the number of events that violate each
condition. The `shortfall` method of a `UnionBound` returns an upper bound on the total probability
of these events. This bound must be at most 1 - confidence.

All computations use logarithms because terms such as (1 - p)^n underflow for n = 1e13.

Notation: n is the number of samples, p is the probability of one interval, S is the number of
samples in the interval, and z is a bound on |ln(S / (n p))|.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Lemma 2, eqs. (7), (8), (16).
"""

import math
from dataclasses import dataclass

import numpy as np

from dpjax.core import validate


def log_chernoff_tail(num_samples: int, probability: float, deviation: float) -> float:
    """Return the log of a bound on the probability that a nonzero count is far from its mean.

    The result is at least ln P(|ln(S / (n p))| >= z | S > 0), where S ~ Binomial(n, p). A result
    above 0 is a vacuous bound.

    Args:
        num_samples: n >= 1, the number of samples. Values of 1e13 and larger are accepted.
        probability: p, strictly between 0 and 1.
        deviation: z > 0, the bound on |ln(S / (n p))|.

    Returns: The natural logarithm of the bound that the paper denotes by f(n, p, z).

    Raises:
        ValueError: If an argument is out of range.

    References:
        Gorla et al., Lemma 2 and eq. (8).
    """
    validate.positive_int(num_samples=num_samples)
    validate.open_unit(probability=probability)
    validate.positive(deviation=deviation)
    return _log_tail(float(num_samples), probability, deviation)


def _log_tail(n: float, p: float, z: float) -> float:
    # Compute (e^z - 1)^2 / (1 + e^z) as expm1(z) tanh(z/2), which avoids cancellation.
    # A smaller z gives a larger bound; e^700 is near the largest float64.
    above = -n * p * math.expm1(min(z, 700.0)) * math.tanh(z / 2)
    below = -n * p * math.expm1(-z) ** 2 / 2
    return float(np.logaddexp(above, below)) - _log_seen(n, p)


def _log_seen(n: float, p: float) -> float:
    """Return ln(1 - (1 - p)^n), the log probability that the count is not 0."""
    return math.log(-math.expm1(n * math.log1p(-p)))


@dataclass(frozen=True)
class UnionBound:
    """A union bound over the events in which a histogram estimator fails or is imprecise.

    Attributes:
        probability: Smallest probability of an interval.
        deviation: z, the largest tolerated value of |ln(S / (n p))|.
        num_empty: Number of counts that must not be 0.
        num_tails: Number of counts S for which |ln(S / (n p))| must be at most z.

    References:
        Gorla et al., eqs. (7) and (16).
    """

    probability: float
    deviation: float
    num_empty: int
    num_tails: int

    def shortfall(self, num_samples: int) -> float:
        """Return a bound on the probability that the estimator fails or is not precise enough.

        The bound may exceed 1. The bound decreases as `num_samples` grows.
        """
        n = float(num_samples)
        empty = self.num_empty * math.exp(n * math.log1p(-self.probability))
        log_tail = _log_tail(n, self.probability, self.deviation)
        # A log tail above 700 is vacuous, and its exponential would overflow.
        return math.inf if log_tail > 700 else empty + self.num_tails * math.exp(log_tail)

    def smallest_num_samples(self, allowed: float, at_most: int) -> int | None:
        """Return the smallest number of samples for which the shortfall is at most `allowed`.

        The result is None if the smallest sufficient number is above `at_most`. The search doubles
        the number of samples until the shortfall is small enough, and then bisects.
        """
        enough = 1
        while self.shortfall(enough) > allowed:
            if enough >= at_most:
                return None
            enough = min(2 * enough, at_most)
        too_few = enough // 2
        while enough - too_few > 1:
            middle = (too_few + enough) // 2
            if self.shortfall(middle) <= allowed:
                enough = middle
            else:
                too_few = middle
        return enough
