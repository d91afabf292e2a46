"""Bounds from guesses in one run, valid even if the number of guesses depends on the output.

There are n canaries. For each canary, a fair coin is tossed, and the canary is included in the run
if the coin shows heads. From the output of the run, an attacker guesses r of the coins. The number
r may depend on the output. For instance, suppose that some coins are revealed to the
attacker. The attacker chooses a larger r if the scores predict the revealed coins well. If r
depends on the output, the p-value of `one_run_p_value` is not valid because a mechanism may
concentrate its delta on outputs with a small r.

For a fixed r, the exact p-value is a concave function f_r of n delta. Let pi_r be the probability
that r guesses are made. Suppose that the mechanism uses delta_r if r guesses are made, where the
values pi_r delta_r sum to delta. Then the probability of refuting a true level is at most the sum
of pi_r f_r(n delta_r) over r. To limit this sum, each function f_r is replaced by a line above it,
and all lines have the same slope s. With the points (h_j, t_j) that `conditional_laws` returns, the
new p-value is

    p_r = max over j of (t_j - s h_j) + s n delta.

Because the lines have a common slope, the probability of refuting a true level is at most the error
no matter how the mechanism divides delta among the values of r. The slope, which `_slope` computes,
may depend on n, epsilon, delta and the error, but not on the output. For Gaussian canaries, the
resulting bounds on epsilon are at most 0.03 smaller than the exact bounds for the best fixed number
of guesses (with 1,000 to 1,000,000 canaries, delta = 1e-5 and confidence 0.95).

A claimed privacy profile is tested at only one of its points. The delta of this point depends on n
and the error; see `delta_of_curves`. For Gaussian differential privacy,
`dpjax.inference._chosen_curves` uses all points of the profile.
"""

import math

import numpy as np

from dpjax.inference._guesses import (
    Guessed,
    conditional_laws,
    largest_level,
    p_value,
    pure_epsilon,
)

_CURVE_DELTA = 0.4
"""Constant factor in the formula of `delta_of_curves`."""


def refuted_by_chosen(guessed: Guessed, epsilon: float, delta: float, error: float) -> bool:
    """Return whether guesses refute (epsilon, delta)-DP.

    The number of guesses may depend on the output.

    Args:
        guessed: Number of canaries with hidden coins, number of guesses, and number of correct
            guesses.
        epsilon: Epsilon, at least 0.
        delta: Delta, in [0, 1).
        error: Largest probability of refuting a true level.
    """
    if delta == 0:  # At delta = 0, the exact p-value is valid conditionally on the output.
        return p_value(guessed, epsilon, delta) <= error
    points = conditional_laws(guessed, epsilon)
    if points is None:
        return False
    (widths, heights), slope = points, _slope(guessed.canaries, epsilon, delta, error)
    return float(np.max(heights - slope * (widths - guessed.canaries * delta))) <= error


def _slope(n: int, epsilon: float, delta: float, error: float) -> float:
    """Return the common slope s of the lines that replace the exact p-values.

    The term s n delta is the fraction u / (1 + u) of the error, where u = n^(3/4) delta
    e^(-epsilon/2) / error. The fraction is small unless delta strongly affects the bound.
    """
    scale = math.exp(-epsilon / 2) * n**-0.25
    return scale / (1 + n * delta * scale / error)


def epsilon_of_chosen(guessed: Guessed, delta: float, error: float) -> float:
    """Return the largest refuted epsilon, rounded down, or 0 if no epsilon is refuted.

    Args:
        guessed: Number of canaries with hidden coins, number of guesses, and number of correct
            guesses.
        delta: Delta, in [0, 1).
        error: Largest probability that the bound is above the true value.
    """
    if guessed.right == 0 or not refuted_by_chosen(guessed, 0.0, delta, error):
        return 0.0
    return largest_level(
        lambda epsilon: refuted_by_chosen(guessed, epsilon, delta, error),
        pure_epsilon(guessed, error),
    )


def delta_of_chosen(guessed: Guessed, epsilon: float, error: float) -> float:
    """Return the largest refuted delta, rounded down, or 0 if no delta is refuted.

    Args:
        guessed: Number of canaries with hidden coins, number of guesses, and number of correct
            guesses.
        epsilon: Epsilon, at least 0.
        error: Largest probability that the bound is above the true value.
    """
    if not refuted_by_chosen(guessed, epsilon, 0.0, error):
        return 0.0
    return largest_level(lambda delta: refuted_by_chosen(guessed, epsilon, delta, error), 1.0)


def delta_of_curves(canaries: int, error: float) -> float:
    """Return the delta of the point at which a claimed profile is tested.

    Args:
        canaries: Number of canaries with hidden coins.
        error: Largest probability of refuting a true profile.
    """
    return _CURVE_DELTA * error * canaries ** (-1 / 3)
