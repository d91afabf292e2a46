"""Bounds on mu for numbers of guesses chosen by the output, compared with linear programs."""

import math

import numpy as np
import pytest
from scipy import optimize, sparse, stats

from dpjax.inference import Guessed, mu_of_chosen
from dpjax.inference import _chosen_curves as curves
from dpjax.inference._chosen_curves import Weights, gaussian_weights, refutes_chosen
from dpjax.inference._guesses import gaussian_gain, mu_of_guesses, refutes


def profile(mu, x):
    first, second = (stats.norm.cdf(sign * mu / 2 - x / mu) for sign in (1, -1))
    return first - math.exp(x) * second


def program(numbers, points):
    """Return rows of a linear program in P(r and C = a) and positive parts for a curve's points.

    The part of (r, a) and x is that of a P(r and C = a) - e^x (r - a + 1) P(r and C = a - 1).
    """
    places = {pair: i for i, pair in enumerate((r, a) for r in numbers for a in range(r + 1))}
    flips = [(r, a) for r, a in places if a > 0]
    rows = sparse.lil_matrix((len(points) * len(flips), len(places) + len(points) * len(flips)))
    for k, x in enumerate(points):
        for i, (r, a) in enumerate(flips):
            row, size = k * len(flips) + i, max(a, math.exp(x) * (r - a + 1))
            rows[row, places[r, a]] = a / size
            rows[row, places[r, a - 1]] = -math.exp(x) * (r - a + 1) / size
            rows[row, len(places) + row] = -1 / size
    return places, len(flips), rows.tocsr()


def false_alarms(n, needed, points, deltas):
    """Return the largest probability of enough correct guesses for mechanisms with this profile.

    The output determines the number of guesses r, and `needed` maps r to the number of correct
    guesses that refutes. The profile is required only at some points, which can only increase the
    result.
    """
    places, flips, rows = program(needed, points)
    sums = sparse.lil_matrix((len(points), rows.shape[1]))
    for k in range(len(points)):
        start = len(places) + k * flips
        sums[k, start : start + flips] = 1
    wanted, total = np.zeros(rows.shape[1]), np.zeros((1, rows.shape[1]))
    total[0, : len(places)] = 1
    for (r, a), place in places.items():
        wanted[place] = -(a >= needed[r])
    limits = np.append(np.zeros(rows.shape[0]), n * np.asarray(deltas))
    found = optimize.linprog(wanted, sparse.vstack([rows, sums.tocsr()]), limits, total, [1.0])
    assert found.status == 0
    return -found.fun


def fewest(refuted, r):
    """Return the smallest refuting number of correct guesses, or one more than possible."""
    return next((c for c in range(r + 1) if refuted(c)), r + 1)


CASES = [(60, (15, 30), 0.4, 0.05), (100, (12, 30, 50), 0.5, 0.1)]


@pytest.mark.parametrize(("n", "numbers", "mu", "error"), CASES)
def test_no_choice_of_numbers_exceeds_the_error(n, numbers, mu, error, monkeypatch):
    monkeypatch.setattr(curves, "_PER_FACTOR", 2)  # Use a smaller linear program.
    weights = gaussian_weights(n, mu, error)
    needed = {
        r: fewest(lambda c, r=r: refutes_chosen((n, r, c), weights, error), r) for r in numbers
    }
    assert max(c - r for r, c in needed.items()) <= 0
    points = np.union1d(np.log(weights.factors), np.linspace(0, 4, 9))
    found = false_alarms(n, needed, points, [profile(mu, x) for x in points])
    assert 0.2 * error < found <= error + 1e-8


def test_the_bound_for_fixed_numbers_does_not_hold_for_chosen_ones():
    """Each number alone has at most the error, but together they exceed it if outputs choose."""
    n, numbers, mu, error = 68, (11, 41), 0.87, 0.232
    points = np.linspace(0, 4, 81)
    deltas = [profile(mu, x) for x in points]
    needed = {
        r: fewest(lambda c, r=r: refutes(Guessed(n, r, c), gaussian_gain(mu), error), r)
        for r in numbers
    }
    for r in numbers:
        assert false_alarms(n, {r: needed[r]}, points, deltas) < error
    assert false_alarms(n, needed, points, deltas) > 1.01 * error


def test_the_recursion_solves_the_linear_program():
    """The largest P(C >= c) minus the cost of a mechanism, for 40 random weights."""
    rng = np.random.default_rng(0)
    for _ in range(40):
        r = int(rng.integers(1, 25))
        c, number = int(rng.integers(1, r + 1)), int(rng.integers(1, 6))
        lengths, points = 10 ** rng.uniform(-3, -0.5, number), np.sort(rng.uniform(0, 3, number))
        places, flips, rows = program([r], points)
        paid = np.zeros(rows.shape[1])
        paid[: len(places)] = np.where(np.arange(r + 1) >= c, -1.0, 0.0)
        paid[len(places) :] = np.repeat(lengths, flips)
        total = (np.arange(rows.shape[1]) <= r)[None].astype(float)
        found = optimize.linprog(paid, rows, np.zeros(rows.shape[0]), total, [1.0])
        assert found.status == 0
        spent = 0.3
        weights = Weights(np.append(0.0, np.cumsum(lengths)), np.exp(points), spent)
        for step in (-1e-6, 1e-6):
            assert refutes_chosen(Guessed(100, r, c), weights, spent - found.fun + step) == (
                step > 0
            )


@pytest.mark.parametrize("error", [0.05, 1e-3])
def test_it_is_not_far_below_the_bound_for_fixed_numbers(error):
    for case in [(700, 101, 101), (7000, 1018, 1018), (7000, 600, 540), (70_000, 1300, 1150)]:
        exact = mu_of_guesses(Guessed(*case), error)
        assert 0.87 * exact < mu_of_chosen(Guessed(*case), error) < exact
    assert mu_of_chosen(Guessed(7000, 600, 310), error) == 0
    assert mu_of_chosen(Guessed(700, 50, 0), error) == 0


def test_counts_far_above_c_may_be_bounded(monkeypatch):
    cases = [Guessed(7000, 3000, 2100), Guessed(70_000, 30_000, 24_000), Guessed(900, 600, 400)]
    found = [mu_of_chosen(case, 0.01) for case in cases]
    monkeypatch.setattr(curves, "_MORE", 10**6)
    for case, bound in zip(cases, found, strict=True):
        assert 0.1 < bound <= (whole := mu_of_chosen(case, 0.01)) + 1e-12
        assert bound == pytest.approx(whole, rel=1e-6)


def test_it_increases_with_correct_guesses():
    bounds = [mu_of_chosen(Guessed(500, 60, c), 0.05) for c in range(0, 61, 10)]
    assert np.all(np.diff(bounds) >= 0) and bounds[0] == 0 and bounds[-1] > 0.5
    # All levels below a refuted level are refuted.
    guessed = Guessed(500, 60, 56)
    grid = np.linspace(0.01, 2, 40)
    refuted = [refutes_chosen(guessed, gaussian_weights(500, mu, 0.05), 0.05) for mu in grid]
    bound = mu_of_chosen(guessed, 0.05)
    assert refuted == [bool(mu <= bound) for mu in grid]


@pytest.mark.parametrize("guesses", [0, 1, 30])
def test_no_correct_guess_refutes_nothing(guesses):
    """This includes the case that no canary was guessed."""
    assert not refutes_chosen(Guessed(60, guesses, 0), gaussian_weights(60, 0.4, 0.05), 0.05)


def test_points_have_the_deltas_of_the_profile():
    for n, mu, error in [(1000, 0.5, 0.05), (10**6, 3.0, 1e-4), (50, 0.01, 0.3)]:
        weights = gaussian_weights(n, mu, error)
        lengths, points = np.diff(weights.ends), np.log(weights.factors)
        assert lengths.sum() == pytest.approx(1) and np.all(np.diff(points) >= 0)
        spent = n * sum(s * profile(mu, x) for s, x in zip(lengths, points, strict=True))
        assert weights.spent == pytest.approx(spent, rel=1e-4)
        assert weights.spent <= 0.75 * error * (1 + 1e-9)
