"""Bounds on mu from guesses in one run, if the number of guesses depends on the output.

One run includes each of n canaries by a fair coin of its own, and an attacker guesses r of the
coins from the output. Let the number r depend on the output. Let p(r, a) be the probability that r
guesses are made and a of them are correct. Let delta(x) be the claimed profile. As in
`dpjax.inference._guesses`, consider the event that guess i is correct and that (r, number of
correct guesses) lies in some set. Compare the probability of this event with its probability after
coin i is flipped, and sum over i. For every x and every function phi(r, a) in [0, 1], the sum
satisfies

    sum over r, a of phi(r, a) (a p(r, a) - e^x (r - a + 1) p(r, a - 1)) <= n delta(x).       (1)

Choose points x_1 < ... < x_K and weights s_k > 0 that do not depend on the output, and let D = n
times the sum of s_k delta(x_k). For a given r, let c be the smallest number of correct guesses that
refutes the profile. Suppose that functions phi_k satisfy, for all numbers a of correct guesses,

    1[a >= c] <= error - D + sum over k of s_k (a phi_k(a) - e^(x_k) (r - a) phi_k(a + 1)).   (2)

Multiply (2) by p(r, a), sum over a and r, and apply (1). The result is that a true profile is
refuted with a probability of at most the error, for any dependence of r on the output.

A recursion decides whether such phi_k exist. Let v = error - D, let S be the sum of all weights,
and let Psi(w) be the integral from 0 to w of e^(x(u)), where x(u) = x_k on the k-th of consecutive
intervals of lengths s_k. Starting at a = r, let

    V(a) = 1[a >= c] - v + (r - a) Psi(max(V(a + 1), 0) / (a + 1)).

If V(a) <= S a for all a, let s_k phi_k(a) be the length of the part of [0, V(a) / a] in the k-th
interval. Then the sum of s_k a phi_k(a) is max(V(a), 0), so (2) holds. Otherwise, no functions
satisfy (2) because these phi_k are the smallest candidates. V increases with the profile, so if a
mu is refuted, every smaller mu is refuted.

For r guesses, V(a) / a decreases from 1 / r to about error / r. Therefore, the intervals of weights
cover [error / n, 1] evenly on a logarithmic scale, and all intervals contribute about equally to D.
"""

import math
from bisect import bisect_left
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dpjax.inference._guesses import LARGEST_MU, Guessed, largest_level

_PER_FACTOR = 8
"""Number of intervals of weights per unit of the natural logarithm."""

_PROFILE_SHARE = 0.75
"""Largest D / error: the fraction of the error that the deltas of the profile may use."""

_LARGEST_X, _STEPS = 600.0, 50
"""Parameters of the search for the points x_k.

_LARGEST_X is the largest x that is considered, for which e^x is finite in float64. _STEPS is the
number of bisection steps for each x.
"""

_TAIL, _MORE = 12, 50
"""Start of the recursion: _TAIL standard deviations plus _MORE counts above c.

At the start, an upper bound replaces V.
"""


class Weights(NamedTuple):
    """Weights s_k of points x_k of a profile.

    Attributes:
        ends: float64 [K + 1], ends of the consecutive intervals of lengths s_k, from 0 to S.
        factors: float64 [K], values e^(x_k) in increasing order.
        spent: D, n times the sum of s_k delta(x_k).
    """

    ends: NDArray[np.float64]
    factors: NDArray[np.float64]
    spent: float


def mu_of_chosen(guessed: Guessed, error: float) -> float:
    """Return the largest refuted mu of Gaussian differential privacy, rounded down.

    The result is 0 if no mu is refuted. The bound is valid even if the number of guesses depends on
    the output.

    Args:
        guessed: Numbers of canaries with hidden coins, guesses and correct guesses.
        error: Largest probability that the bound is above the true value.

    References:
        Dong, Roth, Su (2022), Corollary 2.13, for the profile.
        Mahloujifar, Melis, Chaudhuri (2024), Algorithm 1, for a fixed number of guesses.
    """
    if guessed.right == 0:
        return 0.0
    # The bisection never evaluates mu = 0, for which `gaussian_weights` is not defined.
    return largest_level(
        lambda mu: refutes_chosen(guessed, gaussian_weights(guessed.canaries, mu, error), error),
        LARGEST_MU,
    )


def gaussian_weights(n: int, mu: float, error: float) -> Weights:
    """Return weights for the profile of mu-GDP.

    Args:
        n: Number of canaries with hidden coins.
        mu: Mu of Gaussian differential privacy, positive.
        error: Largest probability of refuting a true profile.
    """
    number = math.ceil(_PER_FACTOR * math.log(n / error))
    ends = np.concatenate([[0.0], np.geomspace(error / n, 1.0, number)])
    lengths = np.diff(ends)
    # The part of D for an interval is proportional to the interval's length divided by its upper
    # end.
    parts = lengths / ends[1:]
    wanted = _PROFILE_SHARE * error * parts / parts.sum() / (n * lengths)
    low, high = np.zeros(number), np.full(number, _LARGEST_X)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        small = _gaussian_delta(mu, middle) <= wanted
        low, high = np.where(small, low, middle), np.where(small, middle, high)
    points = np.where(_gaussian_delta(mu, np.zeros(1)) <= wanted, 0.0, high)
    spent = n * float(np.sum(lengths * _gaussian_delta(mu, points)))
    return Weights(ends, np.exp(points), spent)


def _gaussian_delta(mu: float, x: NDArray[np.float64]) -> NDArray[np.float64]:
    first = np.exp(scipy.special.log_ndtr(mu / 2 - x / mu))
    second = np.exp(x + scipy.special.log_ndtr(-mu / 2 - x / mu))
    return np.maximum(first - second, 0.0)


def refutes_chosen(guessed: Guessed, weights: Weights, error: float) -> bool:
    """Return whether guesses refute a claimed profile.

    The profile is refuted if functions phi_k exist that satisfy (2) in the module's docstring.

    Args:
        guessed: Numbers of canaries, guesses and correct guesses.
        weights: Weights for the profile, which must not depend on the output.
        error: Largest probability of refuting a true profile.
    """
    _, r, c = guessed
    v = error - weights.spent
    if v <= 0 or c == 0:
        return False
    ends, factors = weights.ends.tolist(), weights.factors.tolist()
    integrals = np.concatenate([[0.0], np.cumsum(np.diff(weights.ends) * weights.factors)]).tolist()
    total = ends[-1]

    def psi(w: float) -> float:
        k = bisect_left(ends, w) - 1
        return integrals[k] + (w - ends[k]) * factors[k]

    a = min(r, c + math.ceil(_TAIL * math.sqrt(c * (r - c) / r)) + _MORE)
    value = 1 - v
    if a < r:
        # If 1 - v + (r - a) Psi(w) <= a w for some w, then V(b) <= a w for all b from a to r, by
        # induction. Use the smallest such w.
        spare = a * weights.ends - (r - a) * np.array(integrals) - value
        if not (spare >= 0).any():
            return False
        k = int(np.argmax(spare >= 0))
        share = spare[k] / (spare[k] - spare[k - 1])
        value = a * (ends[k] - share * (ends[k] - ends[k - 1]))
    while value > 0:
        if value > total * a:
            return False
        a -= 1
        value = (1.0 if a >= c else 0.0) - v + (r - a) * psi(value / (a + 1))
    return True
