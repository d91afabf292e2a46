"""Exact bounds from guesses about which of two databases each call of a mechanism got.

A fair coin before each of n calls decides which database the call gets. From all outputs, an
attacker chooses r calls and guesses their coins, and c of the guesses are correct. Suppose that
each call satisfies a claim, whatever the earlier outputs were. Then each output is a function of
the earlier outputs, of independent randomness, and of an output of the claim's worst mechanism for
the call's own coin (Blackwell's theorem). So no attacker is right more often than one who sees n
independent outputs of the worst mechanism, and guesses the r coins about which they say most.

Let a(u) be the probability that a guess is right if the worst mechanism's output is among the
fraction u of outputs that say most about the coin. Let U ~ Beta(r + 1, n - r) be the place of the
first output about which there is no guess, or U = 1 if r = n. Given U, the number of correct
guesses is Bin(r, a(U)). Therefore, P(C >= c) is at most the mean of P(Bin(r, a(U)) >= c).

At delta = 0, a(u) is constant, and the bound equals that of `_guesses`, which holds under the
weaker assumption that the claim is true of the joint distribution of all outputs. For other claims,
the bounds of `_guesses` are much lower: a joint failure of all calls has probability delta there,
whereas here calls fail independently.

References:
    Kairouz, Oh, Viswanath (2015), for the worst mechanism of (epsilon, delta)-DP.
    Dong, Roth, Su (2022), for other trade-off curves.
"""

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
import scipy
from numpy.typing import NDArray

from dpjax.inference._guesses import LARGEST_MU, Guessed, largest_level, pure_epsilon

_PROBABILITIES = np.concatenate([np.geomspace(1e-18, 1e-2, 33), np.linspace(0.02, 1, 50)])
"""Probabilities at which the distribution of U is divided into cells.

In each cell, a(u) is replaced by its value at the left end, which is the largest one.
"""

_STEPS = 60
"""Number of bisection steps in the computation of a(u) for Gaussian differential privacy."""

_Accuracy = Callable[[NDArray[np.float64]], NDArray[np.float64]]


@lru_cache(maxsize=256)
def _left_ends(n: int, r: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the left ends of the cells of U, and the probabilities of the cells."""
    if r == n:
        return np.ones(1), np.ones(1)
    inner = scipy.special.betaincinv(r + 1, n - r, _PROBABILITIES[:-1])
    return np.append(0.0, inner), np.diff(_PROBABILITIES, prepend=0.0)


def _p_value(guessed: Guessed, accuracy: _Accuracy) -> float:
    """Return an upper bound on the probability of at least c correct guesses, given a(u)."""
    n, r, c = guessed
    if c == 0:
        return 1.0
    ends, masses = _left_ends(n, r)
    return float(masses @ scipy.special.betainc(c, r - c + 1, accuracy(ends)))


def _of_line(epsilon: float, delta: float) -> _Accuracy:
    """Return a(u) for (epsilon, delta)-DP: a fraction delta of the outputs reveals the coin."""
    truthful = 1 / (1 + math.exp(-epsilon))

    def accuracy(u: NDArray[np.float64]) -> NDArray[np.float64]:
        revealed = np.minimum(delta / np.maximum(u, np.finfo(float).tiny), 1.0)
        return revealed + (1 - revealed) * truthful

    return accuracy


def _of_mu(mu: float) -> _Accuracy:
    """Return a(u) for mu-Gaussian DP, where the guesses are about outputs beyond thresholds."""

    def accuracy(u: NDArray[np.float64]) -> NDArray[np.float64]:
        # Find the threshold t with P(X > t) = u / 2 for a fair mixture of N(0, 1) and N(mu, 1).
        low, high = np.full(len(u), mu / 2), np.full(len(u), mu + 40.0)
        for _ in range(_STEPS):
            middle = (low + high) / 2
            above = scipy.special.ndtr(-middle) + scipy.special.ndtr(mu - middle) >= u
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        # At the lower end, the accuracy is smaller, so use the upper end.
        right, wrong = scipy.special.ndtr(mu - high), scipy.special.ndtr(-high)
        return 1 - wrong / np.maximum(right + wrong, np.finfo(float).tiny)

    return accuracy


def p_value_of_calls(guessed: Guessed, claim: Sequence[tuple[float, float]]) -> float:
    """Return the largest probability of at least c correct guesses about calls, rounded up.

    Args:
        guessed: Numbers of calls with hidden coins, of guesses and of correct guesses.
        claim: Points (epsilon, delta) of the claim. Each call satisfies all of them.
    """
    lines = [_of_line(epsilon, delta) for epsilon, delta in claim]
    return _p_value(guessed, lambda u: np.minimum.reduce([line(u) for line in lines]))


def epsilon_of_calls(guessed: Guessed, delta: float, error: float, above: float = 0.0) -> float:
    """Return the largest epsilon that guesses about calls refute, rounded down, or 0.

    Args:
        guessed: Numbers of calls with hidden coins, of guesses and of correct guesses.
        delta: Delta, in [0, 1).
        error: Largest probability that the bound is above the true value.
        above: Return 0 if this level, or level 0, is not refuted.
    """

    def refuted(epsilon: float) -> bool:
        return p_value_of_calls(guessed, [(epsilon, delta)]) <= error

    if not refuted(above):
        return 0.0
    # The bound is largest at delta = 0.
    most = pure_epsilon(guessed, error)
    return most if delta == 0 else largest_level(refuted, most)


def delta_of_calls(guessed: Guessed, epsilon: float, error: float, above: float = 0.0) -> float:
    """Return the largest delta that guesses about calls refute, rounded down, or 0.

    Args:
        guessed: Numbers of calls with hidden coins, of guesses and of correct guesses.
        epsilon: Epsilon, at least 0.
        error: Largest probability that the bound is above the true value.
        above: Return 0 if this level, or level 0, is not refuted.
    """

    def refuted(delta: float) -> bool:
        return p_value_of_calls(guessed, [(epsilon, delta)]) <= error

    return largest_level(refuted, 1.0) if refuted(above) else 0.0


def mu_of_calls(guessed: Guessed, error: float, above: float = 0.0) -> float:
    """Return the largest mu that guesses about calls refute, rounded down, or 0.

    Args:
        guessed: Numbers of calls with hidden coins, of guesses and of correct guesses.
        error: Largest probability that the bound is above the true value.
        above: Return 0 if this level, or level 0, is not refuted.
    """

    def refuted(mu: float) -> bool:
        return _p_value(guessed, _of_mu(mu)) <= error

    return largest_level(refuted, LARGEST_MU) if refuted(above) else 0.0
