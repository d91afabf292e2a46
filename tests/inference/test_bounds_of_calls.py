"""Bounds from guesses about calls: enumeration, closed forms, and simulated worst mechanisms."""

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, special, stats

from dpjax.inference import (
    Guessed,
    delta_of_calls,
    epsilon_of_calls,
    epsilon_of_guesses,
    mu_of_calls,
    one_run_p_value,
    p_value_of_calls,
)
from dpjax.inference._guesses_of_calls import _of_mu, _p_value


def worst(n, r, c, epsilon, delta):
    """P(C >= c): Bin(n, delta) coins are revealed, and the other guesses are randomized response.

    An attacker guesses the revealed coins first.
    """
    p, known = 1 / (1 + math.exp(-epsilon)), np.arange(n + 1)
    told = np.minimum(known, r)
    return stats.binom.pmf(known, n, delta) @ stats.binom.sf(c - told - 1, r - told, p)


@pytest.mark.parametrize(("n", "r"), [(1, 1), (9, 4), (60, 20), (60, 60), (400, 60)])
def test_p_values_are_those_of_the_worst_mechanism(n, r):
    for epsilon, delta in itertools.product((0.0, 0.7, 3.0), (1e-6, 0.01, 0.2)):
        for c in {1, r // 2 + 1, math.ceil(0.8 * r), r}:
            exact = worst(n, r, c, epsilon, delta)
            found = p_value_of_calls(Guessed(n, r, c), [(epsilon, delta)])
            # The cells of the distribution of U only increase the p-value.
            assert exact * (1 - 1e-9) - 1e-15 <= found <= 1.2 * exact + 1e-15, (epsilon, delta, c)


def test_without_delta_the_bound_is_that_of_one_run():
    for n, r, c in [(700, 200, 170), (700, 700, 400), (50, 10, 10)]:
        for epsilon in (0.0, 0.5, 2.0):
            found = p_value_of_calls(Guessed(n, r, c), [(epsilon, 0.0)])
            assert found == pytest.approx(one_run_p_value(n, r, c, epsilon, 0.0), rel=1e-9)
        one = epsilon_of_guesses(Guessed(n, r, c), 0.0, 0.05)
        assert epsilon_of_calls(Guessed(n, r, c), 0.0, 0.05) == pytest.approx(one, abs=1e-9)


def test_p_values_of_gaussian_outputs():
    """Integrate over the place of the largest output about which there is no guess."""
    n, r, mu = 40, 15, 1.3

    def accuracy(u):
        def excess(t):
            return special.ndtr(-t) + special.ndtr(mu - t) - u

        low, high = mu / 2, 60.0
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if excess(middle) > 0 else (low, middle)
        return stats.norm.sf(low, mu) / u

    for c in (10, 13, 15):

        def density(u, c=c):
            return stats.beta.pdf(u, r + 1, n - r) * stats.binom.sf(c - 1, r, accuracy(u))

        exact = integrate.quad(density, 0.02, 0.98, limit=200)[0]
        assert exact <= _p_value(Guessed(n, r, c), _of_mu(mu)) <= 1.15 * exact
    # If all coins are guessed, each guess is right with probability Phi(mu / 2).
    found = _p_value(Guessed(30, 30, 25), _of_mu(mu))
    assert found == pytest.approx(stats.binom.sf(24, 30, stats.norm.cdf(mu / 2)), rel=1e-9)
    assert _p_value(Guessed(30, 10, 9), _of_mu(0.0)) == pytest.approx(stats.binom.sf(8, 10, 0.5))


def test_bounds_are_the_largest_refuted_levels():
    guessed, error = Guessed(500, 120, 105), 0.03
    found = epsilon_of_calls(guessed, 1e-3, error)
    assert p_value_of_calls(guessed, [(found, 1e-3)]) <= error
    assert p_value_of_calls(guessed, [(found + 1e-9, 1e-3)]) > error
    delta = delta_of_calls(guessed, 0.5, error)
    assert p_value_of_calls(guessed, [(0.5, delta)]) <= error
    assert p_value_of_calls(guessed, [(0.5, delta + 1e-9)]) > error
    mu = mu_of_calls(guessed, error)
    assert _p_value(guessed, _of_mu(mu)) <= error < _p_value(guessed, _of_mu(mu + 1e-9))
    # Levels that are not above a known one are not computed.
    assert epsilon_of_calls(guessed, 1e-3, error, found - 1e-6) == found
    assert epsilon_of_calls(guessed, 1e-3, error, found + 1e-6) == 0
    assert delta_of_calls(guessed, 0.5, error, delta + 1e-6) == 0
    assert mu_of_calls(guessed, error, mu + 1e-6) == 0
    for none in (Guessed(500, 120, 0), Guessed(500, 120, 60)):
        assert epsilon_of_calls(none, 0.0, error) == 0 == mu_of_calls(none, error)


def test_a_curve_is_refuted_if_its_points_are():
    guessed = Guessed(400, 90, 80)
    points = [(0.0, 0.3), (1.0, 0.05), (2.5, 0.001), (4.0, 1.0)]
    alone = [p_value_of_calls(guessed, [point]) for point in points]
    assert p_value_of_calls(guessed, points) <= min(alone) and alone[-1] == 1


@pytest.mark.slow
def test_bounds_on_gaussian_outputs_are_above_the_truth_no_more_often_than_allowed():
    """The attacker guesses the coins about which outputs of the worst mechanism say most."""
    rng, mu, high = np.random.default_rng(5), 1.0, 0
    for _ in range(400):
        coins = rng.random(300) < 0.5
        outputs = rng.normal(size=300) + mu * coins - mu / 2
        chosen = np.argsort(-np.abs(outputs))[:60]
        right = int(((outputs > 0) == coins)[chosen].sum())
        high += mu_of_calls(Guessed(300, 60, right), 0.2) > mu
    # A false alarm has probability at most 1e-6. The bound is nearly exact, so it is often above.
    assert stats.binom.ppf(1e-6, 400, 0.1) <= high <= stats.binom.ppf(1 - 1e-6, 400, 0.2)
