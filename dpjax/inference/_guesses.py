"""Exact bounds from guesses which canaries were included in a single run of a mechanism.

Each of n canaries is included by a fair coin of its own; from one output, r of the coins are
guessed, and c guesses are right. (epsilon, delta)-DP limits the probability of at least c correct
guesses.

Let C be the number of correct guesses, and W ~ Bin(r, e^epsilon / (1 + e^epsilon)). The largest
P(C >= c) of all (epsilon, delta)-DP mechanisms is the value at n delta of the upper concave
envelope of the points (h_j, t_j), j = 0..c, where h_j = j P(W = j) / P(W >= j) and
t_j = P(W >= c) / P(W >= j).

Derivation: let p_a = P(C = a). Consider the event that guess i is right and C lies in a set A, flip
coin i, and add over i. This gives

    sum over A of a p_a - e^epsilon (r - a + 1) p_(a-1) <= n delta    for every A.

Write p_a = b_a u_a with b_a = binom(r, a) e^(epsilon a). The inequalities then say that sum a b_a
(u_a - u_(a-1))_+ <= n delta. Maximizing P(C >= c) under this condition is a linear program. Its
optima are mixtures of at most two laws of W given W >= j. These laws occur: randomized response,
given at least j right answers, has the law of W given W >= j. Therefore, no larger bound that
depends only on c is valid for every mechanism.

References:
    Steinke, Nasr, Jagielski (2023), whose theorem has a looser term for delta.
    Mahloujifar, Melis, Chaudhuri (2024), Algorithm 1, for trade-off curves.
"""

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dpjax.core import validate
from dpjax.core.wording import BadValue

_NORMAL = NormalDist()

_TAIL, _MORE = 12, 50
"""A binomial law has negligible mass at a distance of more than _TAIL standard deviations plus
_MORE counts from its mean."""

_CHORDS = 60
"""Maximum number of chords tried for an envelope. If the maximum is reached, the p-value may be too
large, which keeps bounds valid."""

_HALVINGS = 50
"""Number of bisection steps in the search for a bound."""

LARGEST_MU = 40.0
"""Largest mu that the search for a refuted mu considers."""


class Guessed(NamedTuple):
    """Numbers of canaries, guesses and correct guesses in one run.

    Attributes:
        canaries: n, number of canaries whose coins the guesser does not know.
        made: r, number of guesses.
        right: c, number of correct guesses.
    """

    canaries: int
    made: int
    right: int

    def check(self) -> None:
        """Validate the numbers.

        Raises:
            TypeError: If a number is not an integer.
            ValueError: If 0 <= right <= made <= canaries does not hold, or if `made` is 0.
        """
        n, r, c = self
        validate.positive_int(n=n, r=r)
        validate.counts(c=c)
        if r > n:
            raise BadValue(f"r must be at most n = {n}, but was {r}.")
        if c > r:
            raise BadValue(f"c must be at most r = {r}, but was {c}.")


def one_run_p_value(n: int, r: int, c: int, epsilon: float, delta: float) -> float:
    """Return the largest probability of at least c correct guesses under (epsilon, delta)-DP.

    Args:
        n: Number of canaries, each included by a fair coin of its own.
        r: Number of guesses, which must not depend on the coins of the canaries.
        c: Number of correct guesses.
        epsilon: Epsilon, at least 0.
        delta: Delta, in [0, 1).

    Returns:
        The exact supremum over all mechanisms, whether canaries are independent or not.

    Raises:
        TypeError: If an argument is not a number.
        ValueError: If an argument is out of its range.
    """
    Guessed(n, r, c).check()
    validate.non_negative(epsilon=epsilon)
    _check_delta(delta)
    return p_value(Guessed(n, r, c), epsilon, delta)


def one_run_lower_bound(n: int, r: int, c: int, *, delta: float, confidence: float) -> float:
    """Return a lower bound on epsilon at delta from the number of correct guesses in one run.

    If r was fixed in advance, the bound is valid for every mechanism, and no larger bound that
    depends only on c is valid for every mechanism.

    Args:
        n: Number of canaries, each included by a fair coin of its own.
        r: Number of guesses, which must not depend on the coins of the canaries.
        c: Number of correct guesses.
        delta: Delta, in [0, 1).
        confidence: Least probability that the bound is at most the true value.

    Returns:
        The bound, at least 0.

    Raises:
        TypeError: If an argument is not a number.
        ValueError: If an argument is out of its range.

    References:
        Steinke, Nasr, Jagielski (2023), for the design.
    """
    Guessed(n, r, c).check()
    _check_delta(delta)
    validate.open_unit(confidence=confidence)
    return epsilon_of_guesses(Guessed(n, r, c), delta, 1 - confidence)


def _check_delta(delta: float) -> None:
    validate.finite(delta=delta)
    if not 0 <= delta < 1:
        raise BadValue(f"delta must lie in [0, 1), but was {delta!r}.")


def p_value(guessed: Guessed, epsilon: float, delta: float) -> float:
    """Return `one_run_p_value` without validating the arguments."""
    points = conditional_laws(guessed, epsilon)
    return 1.0 if points is None else _envelope(*points, guessed.canaries * delta)


def conditional_laws(
    guessed: Guessed, epsilon: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Compute the points (h_j, t_j) of the p-value's envelope, for j up to c.

    Args:
        guessed: Numbers of canaries, guesses and correct guesses.
        epsilon: Epsilon, at least 0.

    Returns:
        The increasing arrays h and t, or None if c is so small that the p-value is 1.
    """
    _, r, c = guessed
    mean = r / (1 + math.exp(-epsilon))
    reach = _TAIL * math.sqrt(mean / (1 + math.exp(epsilon))) + _MORE
    low, high = max(math.floor(mean - reach), 0), min(math.ceil(max(c, mean) + reach), r)
    if c <= low:
        return None
    # Log of P(W = j) / P(W = low), summed from ratios of neighbors; then log of P(W >= j).
    places = np.arange(low, high + 1, dtype=np.float64)
    steps = np.log((r - places[:-1]) / places[1:]) + epsilon
    mass = np.concatenate([[0.0], np.cumsum(steps)])
    tails = np.logaddexp.accumulate(mass[::-1])[::-1]
    right = c - low
    # The point of j = 0 comes first; the points between it and `low` lie below the envelope.
    heights = np.exp(tails[right] - tails[: right + 1])
    widths = places[: right + 1] * np.exp(mass[: right + 1] - tails[: right + 1])
    if low > 0:
        heights, widths = np.append(heights[0], heights), np.append(0.0, widths)
    return widths, heights


def _envelope(x: NDArray[np.float64], y: NDArray[np.float64], place: float) -> float:
    """Return the upper concave envelope of points at `place`, or 1 beyond the last point."""
    if place >= x[-1]:
        return 1.0
    if place <= 0:
        return float(y[0])
    left, right, slope = 0, len(x) - 1, 0.0
    for _ in range(_CHORDS):
        slope = (y[right] - y[left]) / (x[right] - x[left])
        best = int(np.argmax(y - slope * x))
        if best in (left, right):
            break
        left, right = (best, right) if x[best] <= place else (left, best)
    return min(float(np.max(y - slope * (x - place))), 1.0)


def epsilon_of_guesses(guessed: Guessed, delta: float, error: float) -> float:
    """Return the largest epsilon that the guesses refute, rounded down; 0 if none is refuted.

    Args:
        guessed: Numbers of canaries, guesses and right guesses.
        delta: Delta, in [0, 1).
        error: Probability that the bound is above the true value.
    """
    if guessed.right == 0 or p_value(guessed, 0.0, delta) > error:
        return 0.0
    # p-values are smaller at delta = 0, so the bound at delta = 0 is an upper limit of the search.
    return largest_level(
        lambda epsilon: p_value(guessed, epsilon, delta) <= error, pure_epsilon(guessed, error)
    )


def pure_epsilon(guessed: Guessed, error: float) -> float:
    """Return the bound on epsilon at delta = 0, which no bound at a larger delta exceeds.

    The number of correct guesses must not be 0.
    """
    _, r, c = guessed
    share = float(scipy.special.betaincinv(c, r - c + 1, error))
    return math.log(share / (1 - share)) if share < 1 else math.inf


def delta_of_guesses(guessed: Guessed, epsilon: float, error: float) -> float:
    """Return the largest delta that the guesses refute, rounded down; 0 if none is refuted.

    Args:
        guessed: Numbers of canaries, guesses and right guesses.
        epsilon: Epsilon, at least 0.
        error: Probability that the bound is above the true value.
    """
    if p_value(guessed, epsilon, 0.0) > error:
        return 0.0
    return largest_level(lambda delta: p_value(guessed, epsilon, delta) <= error, 1.0)


def mu_of_guesses(guessed: Guessed, error: float) -> float:
    """Return the largest refuted mu of Gaussian differential privacy, rounded down; 0 if none is.

    Args:
        guessed: Numbers of canaries, guesses and right guesses.
        error: Probability that the bound is above the true value.
    """

    def refuted(mu: float) -> bool:
        return refutes(guessed, gaussian_gain(mu), error)

    return largest_level(refuted, LARGEST_MU) if refuted(0.0) else 0.0


def largest_level(holds: Callable[[float], bool], high: float) -> float:
    """Return the largest level up to which `holds` is true, by bisection in [0, high]."""
    low = 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def gaussian_gain(mu: float) -> Callable[[float], float]:
    """Return the gain function of mu-Gaussian differential privacy, as an argument of `refutes`."""

    def gain(y: float) -> float:
        if not 0 < y < 1:
            return y if y <= 0 else 1.0
        return 0.5 * math.erfc((mu - _NORMAL.inv_cdf(y)) / math.sqrt(2))

    return gain


def refutes(guessed: Guessed, gain: Callable[[float], float], error: float) -> bool:
    """Return whether guesses in one run refute a trade-off curve.

    Args:
        guessed: Numbers of canaries, guesses and right guesses.
        gain: Function that maps y to the least probability, at a neighbor, of an event that has
            probability y.
        error: Probability of refuting a true curve.

    References:
        Mahloujifar, Melis, Chaudhuri (2024), Algorithm 1.
    """
    n, r, c = guessed
    right, wrong = error * c / n, error * (r - c) / n
    for i in range(c, 0, -1):
        if right + wrong > r / n:
            return True
        least = gain(right)
        if least <= wrong:
            return False
        right += (i - 1) / (r - i + 1) * (least - wrong)
        wrong = least
    return right + wrong > r / n
