"""Bounds for numbers of guesses chosen by the output are valid for every way of choosing."""

import itertools
import math

import numpy as np
import pytest
from scipy import optimize, stats

from dpjax.inference import (
    Guessed,
    delta_of_chosen,
    epsilon_of_chosen,
    epsilon_of_guesses,
    one_run_p_value,
)
from dpjax.inference._chosen_guesses import _slope, refuted_by_chosen


def false_alarms(n, needed, epsilon, delta):
    """Return the largest probability of enough correct guesses for (epsilon, delta)-DP mechanisms.

    The output determines the number of guesses r, and `needed` maps r to the number of correct
    guesses that refutes. The variables are P(r and C = a), and the positive parts of a P(r and C =
    a) - e^epsilon (r - a + 1) P(r and C = a - 1), whose sum over r and a is at most n delta.
    """
    places = {pair: i for i, pair in enumerate((r, a) for r in needed for a in range(r + 1))}
    flips = [(r, a) for r, a in places if a > 0]
    rows = np.zeros((len(flips) + 1, len(places) + len(flips)))
    for i, (r, a) in enumerate(flips):
        rows[i, places[r, a]] = a
        rows[i, places[r, a - 1]] = -math.exp(epsilon) * (r - a + 1)
        rows[i, len(places) + i] = -1
    rows[-1, len(places) :] = 1
    limits = np.append(np.zeros(len(flips)), n * delta)
    wanted = np.zeros(rows.shape[1])
    for (r, a), place in places.items():
        wanted[place] = -(a >= needed[r])
    total = np.append(np.ones(len(places)), np.zeros(len(flips)))[None]
    sizes = np.abs(rows).max(axis=1)
    found = optimize.linprog(wanted, rows / sizes[:, None], limits / sizes, total, [1.0])
    assert found.status == 0
    return -found.fun


def fewest(refutes, r):
    """Return the smallest refuting number of correct guesses, or one more than possible."""
    return next((c for c in range(r + 1) if refutes(c)), r + 1)


CASES = [
    (400, (30, 90), 1.0, 3e-3, 0.05),
    (300, (20, 50, 100), 0.5, 2e-3, 0.05),
    (1000, (40, 100), 2.0, 1e-3, 0.05),
    (200, (10, 80), 0.0, 1e-3, 0.01),
]


@pytest.mark.parametrize(("n", "numbers", "epsilon", "delta", "error"), CASES)
def test_no_choice_of_numbers_exceeds_the_error(n, numbers, epsilon, delta, error):
    needed = {
        r: fewest(lambda c, r=r: refuted_by_chosen(Guessed(n, r, c), epsilon, delta, error), r)
        for r in numbers
    }
    assert min(c - r for r, c in needed.items()) <= 0
    assert false_alarms(n, needed, epsilon, delta) <= error + 1e-8


def test_the_exact_p_value_does_not_hold_for_chosen_numbers():
    """If few guesses are made, a mechanism can use all of its delta."""
    n, numbers, epsilon, delta, error = CASES[1]
    needed = {
        r: fewest(lambda c, r=r: one_run_p_value(n, r, c, epsilon, delta) <= error, r)
        for r in numbers
    }
    assert false_alarms(n, needed, epsilon, delta) > 1.25 * error
    for r in numbers:
        assert false_alarms(n, {r: needed[r]}, epsilon, delta) <= error + 1e-8


def test_the_line_of_the_common_slope_lies_above_the_exact_p_value():
    """Guesses refute if and only if the p-value of every delta is below the line."""
    rng, outcomes = np.random.default_rng(0), set()
    for _ in range(200):
        r = int(rng.integers(2, 80))
        n, epsilon, error = r + int(rng.integers(0, 500)), rng.uniform(0, 2), rng.uniform(0.01, 0.3)
        delta = float(10 ** rng.uniform(-5, -2))
        # The number of correct guesses is close to the one that refutes.
        law = stats.binom(r, 1 / (1 + math.exp(-epsilon)))
        c = min(int(law.isf(error)) + int(rng.integers(0, 6)), r)
        places = np.arange(1, r + 1)
        corners = places * law.pmf(places) / law.sf(places - 1) / n
        slope = n * _slope(n, epsilon, delta, error)
        margins = [
            error + slope * (other - delta) - one_run_p_value(n, r, c, epsilon, float(other))
            for other in (0, *corners[corners < 1])
        ]
        found = refuted_by_chosen(Guessed(n, r, c), epsilon, delta, error)
        outcomes.add(found)
        assert found == (min(margins) >= 0) or abs(min(margins)) < 1e-9
    assert outcomes == {True, False}


def test_bounds_are_where_refutation_ends():
    for case, delta, error in itertools.product(
        [(1000, 100, 95), (100_000, 1000, 980), (700, 76, 60), (20, 9, 9)],
        (0.0, 1e-5, 1e-3),
        (0.05, 3e-4, 0.4),
    ):
        guessed = Guessed(*case)
        found = epsilon_of_chosen(guessed, delta, error)
        # The refuted levels form an interval, although the slope of the lines depends on the level.
        grid = np.linspace(0, max(2 * found, 1), 41)
        refuted = [refuted_by_chosen(guessed, float(e), delta, error) for e in grid]
        assert refuted == [bool(e <= found) and found > 0 for e in grid]
        assert found <= epsilon_of_guesses(guessed, delta, error)
        if delta:
            shown = delta_of_chosen(guessed, found / 2, error)
            assert shown >= delta * (found > 0)


def test_it_is_nearly_as_large_as_the_bound_for_fixed_numbers():
    """The numbers of guesses suit Gaussian canaries with epsilon 1 to 8."""
    for case in [(700, 128, 80), (7000, 212, 190), (70_000, 640, 470), (700_000, 2254, 1560)]:
        guessed = Guessed(*case)
        exact = epsilon_of_guesses(guessed, 1e-5, 0.05)
        assert exact - 0.03 < epsilon_of_chosen(guessed, 1e-5, 0.05) <= exact


@pytest.mark.parametrize("error", [0.6, 0.9])
def test_one_right_guess_has_a_bound_at_large_errors(error):
    """A guess is correct with probability at most e^epsilon / (1 + e^epsilon)."""
    bound = epsilon_of_chosen(Guessed(5, 1, 1), 0.0, error)
    assert bound == pytest.approx(math.log(error / (1 - error)), rel=1e-9)
    assert epsilon_of_chosen(Guessed(5, 1, 0), 0.0, error) == 0
