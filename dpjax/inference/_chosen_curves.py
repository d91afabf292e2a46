"""Bounds on mu from guesses in one run, valid even if the number of guesses depends on the output.

There are n canaries. For each canary, a fair coin is tossed, and the canary is included in the run
if the coin shows heads. From the output of the run, an attacker guesses r of the coins. The number
r may depend on the output. Let p(r, a) be the probability that r guesses are made and that exactly
a of them are correct. Let delta(x) be the claimed privacy profile, that is, delta as a function of
epsilon = x. As in `dpjax.inference._guesses`, consider the event that guess i is correct and that
(r, number of correct guesses) lies in some set. Compare the probability of this event with its
probability after coin i is flipped, and sum the comparisons over i. For every x and every function
phi(r, a) in [0, 1], the sum satisfies

    sum over r, a of phi(r, a) (a p(r, a) - e^x (r - a + 1) p(r, a - 1)) <= n delta(x).       (1)

Choose points x_1 < ... < x_K and weights s_k > 0 that do not depend on the output, and let D be n
times the sum of s_k delta(x_k). For a given r, let c be the smallest number of correct guesses that
refutes the profile. Suppose that functions phi_k satisfy, for all numbers a of correct guesses,

    1[a >= c] <= error - D + sum over k of s_k (a phi_k(a) - e^(x_k) (r - a) phi_k(a + 1)).   (2)

Multiply (2) by p(r, a), and sum over a and r. Then (1) implies that a true profile is refuted with
probability at most `error`. No assumption about how r depends on the output is needed for this
conclusion.

A recursion decides whether functions phi_k that satisfy (2) exist. Let v = error - D, and let S be
the sum of all weights s_k. Divide [0, S] into consecutive intervals of lengths s_1, ..., s_K, and
let x(u) = x_k on the k-th interval. Let Psi(w) be the integral of e^(x(u)) from 0 to w. Starting at
a = r and proceeding downwards, let

    V(a) = 1[a >= c] - v + (r - a) Psi(max(V(a + 1), 0) / (a + 1)).

If V(a) <= S a for all a, let s_k phi_k(a) be the length of the part of [0, V(a) / a] in the k-th
interval. For these functions, the sum of s_k a phi_k(a) over k is max(V(a), 0), so (2) holds. If
V(a) > S a for some a, then no functions satisfy (2) because the functions phi_k defined above are
the smallest candidates. For a larger profile, V is also larger. Therefore, if a value of mu is
refuted, every smaller value is also refuted.

For r guesses, V(a) / a decreases from 1 / r to about error / r. Therefore, the ends of the
intervals are equally spaced on a logarithmic scale between error / n and 1. The points x_k are
chosen such that all intervals contribute about equally to D.
"""

import math
from bisect import bisect_left
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dpjax.inference._guesses import LARGEST_MU, Guessed, largest_level

_PER_FACTOR = 8
"""Number of intervals per factor of e; the ends of the intervals are on a logarithmic scale."""

_PROFILE_SHARE = 0.75
"""Upper limit on D / error, where D is the part of the error probability due to the deltas."""

_LARGEST_X, _STEPS = 600.0, 50
"""Parameters of the search for the points x_k.

_LARGEST_X is the largest x that is considered; e^x is finite in float64 for this x. _STEPS is the
number of bisection steps for each x.
"""

_TAIL, _MORE = 12, 50
"""The recursion starts above c, at a distance of _TAIL standard deviations plus _MORE counts.

At the starting point, V is replaced by an upper bound on V.
"""


class Weights(NamedTuple):
    """Weights s_k for the points x_k of a profile.

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
        guessed: Number of canaries with hidden coins, number of guesses, and number of correct
            guesses.
        error: Largest allowed probability that the bound is above the true value.

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
    # Each interval's part of D is proportional to the interval's length divided by its upper end.
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
        guessed: Number of canaries, number of guesses, and number of correct guesses.
        weights: Weights for the profile. The weights must not depend on the output.
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
