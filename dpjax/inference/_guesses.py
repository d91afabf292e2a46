"""Exact bounds from guesses about which canaries were included in a single run of a mechanism.

There are n canaries. For each canary, a fair coin is tossed, and the canary is included in the run
if the coin shows heads. From the output of the run, an attacker guesses r of the coins, and c of
these guesses are correct. If the mechanism is (epsilon, delta)-DP, then the probability of c or
more correct guesses is limited.

Let C be the random number of correct guesses, and let W ~ Bin(r, e^epsilon / (1 + e^epsilon)). For
j = 0, ..., c, let h_j = j P(W = j) / P(W >= j) and t_j = P(W >= c) / P(W >= j). The largest value
of P(C >= c) over all (epsilon, delta)-DP mechanisms equals the upper concave envelope of the points
(h_j, t_j), evaluated at n delta.

Derivation: let p_a = P(C = a). Let A be a set of numbers of correct guesses, and consider the event
that guess i is correct and that C lies in A. Compare the probability of this event with its
probability after coin i is flipped. Summing this comparison over all guesses i gives

    sum over A of a p_a - e^epsilon (r - a + 1) p_(a-1) <= n delta    for every A.

Write p_a = b_a u_a with b_a = binom(r, a) e^(epsilon a). The inequalities hold for all sets A if
and only if the sum of a b_a max(u_a - u_(a-1), 0) over a is at most n delta. Maximizing P(C >= c)
under this condition is a linear program. The optimal solutions of this program are mixtures of at
most two conditional distributions of W given W >= j, with different values of j. Some mechanisms
attain these distributions. For example, if randomized response is conditioned on at least j correct
answers, the number of correct guesses has the distribution of W given W >= j. Therefore, no larger
lower bound that depends only on c is valid for every mechanism.

References:
    Steinke, Nasr, Jagielski (2023), who prove a theorem with a larger term for delta.
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
"""Binomial probabilities are evaluated up to this distance from the mean.

The distance is _TAIL standard deviations plus _MORE counts. The total probability of all counts at
larger distances is negligible.
"""

_CHORDS = 60
"""Maximum number of chords in the computation of an envelope.

If the maximum is reached, the p-value may be larger than necessary, but the bounds remain valid.
"""

_HALVINGS = 50
"""Number of bisection steps in the search for a bound."""

LARGEST_MU = 40.0
"""Largest mu that is considered in the search for a refuted mu."""


class Guessed(NamedTuple):
    """Numbers of canaries, guesses and correct guesses in one run.

    Attributes:
        canaries: n, the number of canaries whose coins are hidden from the attacker.
        made: r, the number of guesses.
        right: c, the number of correct guesses.
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
        n: Number of canaries. For each canary, a fair coin decides whether the canary is included.
        r: Number of guesses, which must not depend on the coins of the canaries.
        c: Number of correct guesses.
        epsilon: Epsilon, at least 0.
        delta: Delta, in [0, 1).

    Returns:
        The exact supremum of the probability over all mechanisms, which may process the canaries
        jointly.

    Raises:
        TypeError: If an argument is not a number.
        ValueError: If an argument is out of range.
    """
    Guessed(n, r, c).check()
    validate.non_negative(epsilon=epsilon)
    _check_delta(delta)
    return p_value(Guessed(n, r, c), epsilon, delta)


def one_run_lower_bound(n: int, r: int, c: int, *, delta: float, confidence: float) -> float:
    """Return a lower bound on epsilon for a given delta from guesses in one run.

    If r was fixed in advance, the bound is valid for every mechanism. No larger bound that depends
    only on c is valid for every mechanism.

    Args:
        n: Number of canaries. For each canary, a fair coin decides whether the canary is included.
        r: Number of guesses, which must not depend on the coins of the canaries.
        c: Number of correct guesses.
        delta: Delta, in [0, 1).
        confidence: Guaranteed probability that the bound is at most the true value.

    Returns:
        The bound, at least 0.

    Raises:
        TypeError: If an argument is not a number.
        ValueError: If an argument is out of range.

    References:
        Steinke, Nasr, Jagielski (2023), for audits in one run.
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
    """Return the result of `one_run_p_value` without validation of the arguments."""
    points = conditional_laws(guessed, epsilon)
    return 1.0 if points is None else _envelope(*points, guessed.canaries * delta)


def conditional_laws(
    guessed: Guessed, epsilon: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the points (h_j, t_j), j = 0, ..., c, whose concave envelope gives the p-value.

    Args:
        guessed: Numbers of canaries, guesses and correct guesses.
        epsilon: Epsilon, at least 0.

    Returns:
        The increasing arrays h and t. The result is None if c is so far below the mean of W that
        the p-value is 1.
    """
    _, r, c = guessed
    small = math.exp(-epsilon)  # For a large epsilon, e^epsilon would overflow.
    mean = r / (1 + small)
    reach = _TAIL * math.sqrt(mean * small / (1 + small)) + _MORE
    low, high = max(math.floor(mean - reach), 0), min(math.ceil(max(c, mean) + reach), r)
    if c <= low:
        return None
    # Compute the logs of P(W = j) / P(W = low) as cumulative sums of log ratios of consecutive
    # probabilities. From these logs, compute the logs of P(W >= j) / P(W = low).
    places = np.arange(low, high + 1, dtype=np.float64)
    steps = np.log((r - places[:-1]) / places[1:]) + epsilon
    mass = np.concatenate([[0.0], np.cumsum(steps)])
    tails = np.logaddexp.accumulate(mass[::-1])[::-1]
    right = c - low
    # Put the point for j = 0 first. The points between j = 0 and j = low lie below the envelope.
    heights = np.exp(tails[right] - tails[: right + 1])
    widths = places[: right + 1] * np.exp(mass[: right + 1] - tails[: right + 1])
    if low > 0:
        heights, widths = np.append(heights[0], heights), np.append(0.0, widths)
    return widths, heights


def _envelope(x: NDArray[np.float64], y: NDArray[np.float64], place: float) -> float:
    """Return the value at `place` of the upper concave envelope of points (x, y).

    Beyond the last point, the value is 1.
    """
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
    """Return the largest epsilon that guesses refute, rounded down.

    The result is 0 if no epsilon is refuted.

    Args:
        guessed: Numbers of canaries, guesses and correct guesses.
        delta: Delta, in [0, 1).
        error: Largest probability that the bound is above the true value.
    """
    if guessed.right == 0 or p_value(guessed, 0.0, delta) > error:
        return 0.0
    # p-values are smallest at delta = 0, so the bound at delta = 0 limits the search from above.
    return largest_level(
        lambda epsilon: p_value(guessed, epsilon, delta) <= error, pure_epsilon(guessed, error)
    )


def pure_epsilon(guessed: Guessed, error: float) -> float:
    """Return the lower bound on epsilon for delta = 0.

    For any larger delta, the lower bound is at most the returned bound. The number of correct
    guesses must not be 0.
    """
    _, r, c = guessed
    share = float(scipy.special.betaincinv(c, r - c + 1, error))
    return math.log(share / (1 - share)) if share < 1 else math.inf


def delta_of_guesses(guessed: Guessed, epsilon: float, error: float) -> float:
    """Return the largest delta that guesses refute, rounded down.

    The result is 0 if no delta is refuted.

    Args:
        guessed: Numbers of canaries, guesses and correct guesses.
        epsilon: Epsilon, at least 0.
        error: Largest probability that the bound is above the true value.
    """
    if p_value(guessed, epsilon, 0.0) > error:
        return 0.0
    return largest_level(lambda delta: p_value(guessed, epsilon, delta) <= error, 1.0)


def mu_of_guesses(guessed: Guessed, error: float) -> float:
    """Return the largest mu for which guesses refute mu-Gaussian DP, rounded down.

    The result is 0 if no mu is refuted.

    Args:
        guessed: Numbers of canaries, guesses and correct guesses.
        error: Largest probability that the bound is above the true value.
    """

    def refuted(mu: float) -> bool:
        return refutes(guessed, gaussian_gain(mu), error)

    return largest_level(refuted, LARGEST_MU) if refuted(0.0) else 0.0


def largest_level(holds: Callable[[float], bool], high: float) -> float:
    """Return the largest level at which `holds` is true, by bisection in [0, high].

    The result is rounded down. The function `holds` must return True up to some level and False
    above this level.
    """
    low = 0.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def gaussian_gain(mu: float) -> Callable[[float], float]:
    """Return the gain function of mu-Gaussian differential privacy for use in `refutes`."""

    def gain(y: float) -> float:
        if not 0 < y < 1:
            return y if y <= 0 else 1.0
        return 0.5 * math.erfc((mu - _NORMAL.inv_cdf(y)) / math.sqrt(2))

    return gain


def refutes(guessed: Guessed, gain: Callable[[float], float], error: float) -> bool:
    """Return whether guesses in one run refute a trade-off curve.

    Args:
        guessed: Numbers of canaries, guesses and correct guesses.
        gain: Function that maps the probability y of an event under one database to the smallest
            possible probability of the event under a neighboring database.
        error: Largest probability of refuting a true curve.

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
