"""Chernoff bounds on tails of counts, and union bounds for histogram estimators.

An estimator with m intervals counts n outputs at each of k inputs. The answer of the estimator is
right if no required interval is empty, and if the counts that determine the answer are close to
their means. A `UnionBound` holds the number of failure events of each kind; its `shortfall` bounds
their total probability, which must be at most 1 - confidence.

All computations use logarithms, because terms such as (1 - p)^n underflow for n = 1e13.

Notation: n is the number of samples, p is the probability of one interval, S is the count of its
samples, and z is the deviation of ln(S / (n p)) from 0.

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
        num_samples: n >= 1, of any size (1e13 and more).
        probability: p, strictly between 0 and 1.
        deviation: z > 0, the deviation of ln(S / (n p)) from 0.

    Returns:
        ln f(n, p, z) in float64.

    Raises:
        ValueError: If an argument is out of its range.

    References:
        Gorla et al., Lemma 2 and eq. (8).
    """
    validate.positive_int(num_samples=num_samples)
    validate.open_unit(probability=probability)
    validate.positive(deviation=deviation)
    return _log_tail(float(num_samples), probability, deviation)


def _log_tail(n: float, p: float, z: float) -> float:
    # (e^z - 1)^2 / (1 + e^z) is expm1(z) tanh(z/2), which avoids cancellation.
    above = -n * p * math.expm1(z) * math.tanh(z / 2)
    below = -n * p * math.expm1(-z) ** 2 / 2
    return float(np.logaddexp(above, below)) - _log_seen(n, p)


def _log_seen(n: float, p: float) -> float:
    """Return ln(1 - (1 - p)^n), the log-probability that the count is not 0."""
    return math.log(-math.expm1(n * math.log1p(-p)))


@dataclass(frozen=True)
class UnionBound:
    """A union bound over the events at which a histogram estimator fails.

    Attributes:
        probability: The least probability of an interval (w tau).
        deviation: The tolerated deviation z of the logarithm of a count.
        num_empty: Number of counts that must not be 0.
        num_tails: Number of counts whose logarithm must lie within the deviation.

    References:
        Gorla et al., eqs. (7) and (16).
    """

    probability: float
    deviation: float
    num_empty: int
    num_tails: int

    def shortfall(self, num_samples: int) -> float:
        """Return a bound on the probability that the estimator fails or misses its precision.

        The bound may exceed 1. The bound decreases as `num_samples` grows.
        """
        n = float(num_samples)
        empty = self.num_empty * math.exp(n * math.log1p(-self.probability))
        log_tail = _log_tail(n, self.probability, self.deviation)
        # Above 700 the bound is vacuous, and exp would overflow.
        return math.inf if log_tail > 700 else empty + self.num_tails * math.exp(log_tail)

    def smallest_num_samples(self, allowed: float, at_most: int) -> int | None:
        """Return the smallest n with a shortfall of at most `allowed`; None if above `at_most`.

        The number n is doubled until the shortfall is small enough, and then bisected.
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
