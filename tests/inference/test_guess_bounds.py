"""Bounds of one run: numbers from the literature, a linear program, and enumeration."""

import itertools
import math
import time

import numpy as np
import pytest
from scipy import optimize, stats

from dpjax.inference import one_run_lower_bound, one_run_p_value
from dpjax.inference._guesses import (
    Guessed,
    _envelope,
    delta_of_guesses,
    gaussian_gain,
    mu_of_guesses,
    refutes,
)

P_VALUES = [
    ((50, 20, 18, 1.0, 1e-3), 0.0682208887),
    ((100, 100, 80, 0.5, 1e-2), 0.0206605029),
    ((100, 60, 50, 1.0, 0.02), 0.119506734),
]


def linear_program(n, r, c, epsilon, delta):
    """max P(C >= c) where sum_a (a p_a - e^epsilon (r - a + 1) p_(a-1))_+ <= n delta.

    The variables are p_0..p_r and the positive parts z_1..z_r.
    """
    rows = np.zeros((r + 1, 2 * r + 1))
    for a in range(1, r + 1):
        rows[a - 1, a], rows[a - 1, a - 1] = a, -math.exp(epsilon) * (r - a + 1)
        rows[a - 1, r + a] = -1
    rows[r, r + 1 :] = 1
    limits = np.append(np.zeros(r), n * delta)
    total = np.append(np.ones(r + 1), np.zeros(r))[None]
    wanted = np.zeros(2 * r + 1)
    wanted[c : r + 1] = -1
    # Equations are divided by their sizes, because the program's tolerances are absolute.
    sizes = np.abs(rows).max(axis=1)
    found = optimize.linprog(
        wanted,
        rows / sizes[:, None],
        limits / sizes,
        total,
        [1.0],
        method="highs-ds",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    assert found.status == 0
    return -found.fun


def steinke(n, r, c, epsilon, delta):
    """Return the bound of Steinke, Nasr, Jagielski (2023), which is looser in delta."""
    law = stats.binom(r, 1 / (1 + math.exp(-epsilon)))
    below = [(law.cdf(c - 1) - law.cdf(c - i - 1)) / i for i in range(1, c + 1)]
    return min(law.sf(c - 1) + 2 * n * delta * max(below), 1.0)


@pytest.mark.parametrize(("case", "value"), P_VALUES)
def test_p_values_of_the_specification(case, value):
    assert one_run_p_value(*case) == pytest.approx(value, abs=5.1e-10)
    assert steinke(*case) > value


@pytest.mark.parametrize(
    ("case", "bound"),
    [
        ((1000, 100, 95), 2.171855),
        ((100_000, 1000, 980), 3.508349),
        ((1_000_000, 1000, 990), 4.002889),
    ],
)
def test_bounds_of_the_specification(case, bound):
    found = one_run_lower_bound(*case, delta=1e-5, confidence=0.95)
    assert found == pytest.approx(bound, abs=5.1e-7)
    # At the bound, the p-value crosses the error from below.
    assert one_run_p_value(*case, found, 1e-5) <= 0.05 < one_run_p_value(*case, found + 1e-9, 1e-5)


@pytest.mark.parametrize(
    ("case", "mu"), [((1000, 100, 95), 0.786812), ((10_000, 2500, 2136), 0.606218)]
)
def test_gaussian_bounds_of_the_specification(case, mu):
    assert mu_of_guesses(Guessed(*case), 0.05) == pytest.approx(mu, abs=5.1e-7)


def test_one_right_guess_of_one_has_probability_one_half():
    """If nothing is revealed, this holds for any number of canaries."""
    for canaries in (1, 2, 50):
        assert refutes(Guessed(canaries, 1, 1), lambda y: y, 0.51)
        assert not refutes(Guessed(canaries, 1, 1), lambda y: y, 0.49)


def test_the_linear_program_gives_the_same():
    """Compared for up to 60 guesses, with deltas on every part of the envelope."""
    rng = np.random.default_rng(0)
    for r in (1, 2, 3, 7, 19, 33, 60):
        for _ in range(5):
            n = r + int(rng.integers(0, 3 * r + 1))
            c, epsilon = int(rng.integers(1, r + 1)), float(rng.uniform(0, 3))
            delta = float(10 ** rng.uniform(-5, -0.5))
            expected = linear_program(n, r, c, epsilon, delta)
            assert one_run_p_value(n, r, c, epsilon, delta) == pytest.approx(expected, abs=1e-9)


def conditioned(n, least, epsilon):
    """Return randomized response of n coins with enough correct answers: [inputs, outputs]."""
    bits = np.array(list(itertools.product((0, 1), repeat=n)))
    right = (bits[:, None] == bits).sum(axis=-1)
    weights = np.where(right >= least, np.exp(epsilon * right), 0.0)
    return weights / weights.sum(axis=1, keepdims=True), right


def smallest_delta(chances, epsilon):
    """Return the delta of a table [inputs, outputs], over all flips of one coin."""
    size = len(chances)
    flips = [(i, i ^ (1 << k)) for i in range(size) for k in range(size.bit_length() - 1)]
    return max(np.maximum(chances[a] - math.exp(epsilon) * chances[b], 0).sum() for a, b in flips)


@pytest.mark.parametrize(("n", "epsilon"), [(3, 0.7), (6, 1.5), (7, 0.0)])
def test_enumerated_mechanisms_attain_the_bound(n, epsilon):
    """A public coin selects one of two mechanisms, which mixes their deltas and tails."""
    tables = [conditioned(n, least, epsilon) for least in range(n + 1)]
    deltas = np.array([smallest_delta(table, epsilon) for table, _ in tables])
    assert deltas[0] < 1e-12
    for c in range(1, n + 1):
        tails = np.array([table[0][right[0] >= c].sum() for table, right in tables])
        for delta in (0.3 * deltas[1], *(0.2 * deltas[:-1] + 0.8 * deltas[1:])):
            best = max(
                np.interp(delta, deltas[[i, j]], tails[[i, j]])
                for i, j in itertools.combinations(range(n + 1), 2)
                if deltas[i] <= delta <= deltas[j]
            )
            found = one_run_p_value(n, n, c, epsilon, delta)
            assert found == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize(("r", "n"), [(1, 1), (5, 9), (300, 1000), (20_000, 10**6)])
def test_without_delta_it_is_a_binomial_tail(r, n):
    for epsilon in (0.0, 0.3, 2.0, 8.0):
        for share in (0.2, 0.6, 0.9, 1.0):
            c = max(round(share * r), 1)
            expected = stats.binom.sf(c - 1, r, 1 / (1 + math.exp(-epsilon)))
            found = one_run_p_value(n, r, c, epsilon, 0.0)
            # Sums of up to 20,000 logarithms lose some digits.
            assert found == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_it_is_monotone():
    rng = np.random.default_rng(1)
    for _ in range(100):
        r = int(rng.integers(2, 200))
        n, c = r + int(rng.integers(0, 300)), int(rng.integers(1, r))
        epsilon, delta = rng.uniform(0, 3), 10 ** rng.uniform(-6, -1)
        p = one_run_p_value(n, r, c, epsilon, delta)
        slack = 1e-12
        assert one_run_p_value(n, r, c, epsilon + 0.1, delta) >= p - slack
        assert one_run_p_value(n, r, c, epsilon, 1.3 * delta) >= p - slack
        assert one_run_p_value(n + 10, r, c, epsilon, delta) >= p - slack
        assert one_run_p_value(n, r, c + 1, epsilon, delta) <= p + slack
        assert p > 0.5 or p <= steinke(n, r, c, epsilon, delta) + slack


def test_a_public_coin_is_not_reported_above_its_truth():
    """With probability 0.2, guesses have accuracy 0.8689, which is 1-GDP (epsilon 4.377).

    A bound that assumes independent guesses is 11.5 in a fifth of the runs. The exact distribution
    of the number of correct guesses is used instead of runs.
    """
    epsilon, delta, accuracy = 4.377178, 1e-5, 0.8689
    for n, r in [(100, 100), (1000, 60)]:
        counts = np.arange(r + 1)
        law = 0.2 * stats.binom.pmf(counts, r, accuracy) + 0.8 * stats.binom.pmf(counts, r, 0.5)
        for confidence in (0.7, 0.9, 0.99):
            above = [
                one_run_lower_bound(n, r, c, delta=delta, confidence=confidence) > epsilon
                or mu_of_guesses(Guessed(n, r, c), 1 - confidence) > 1
                for c in counts
            ]
            assert law[above].sum() <= 1 - confidence
    # Assuming independence would claim more than 1-GDP allows, for every likely count.
    common = 87
    share = stats.beta.ppf(0.05, common, 100 - common + 1)
    assert stats.norm.ppf(share) - stats.norm.ppf(1 - share) > 1


@pytest.mark.parametrize("confidence", [0.95, 0.5])
def test_gaussian_canaries_are_covered(confidence):
    """Independent guesses on N(1 or 0, 1), with mu = 1, are correct with probability Phi(1/2)."""
    for n, r in [(40, 40), (1000, 200)]:
        counts = np.arange(r + 1)
        law = stats.binom.pmf(counts, r, stats.norm.cdf(0.5))
        bounds = np.array([mu_of_guesses(Guessed(n, r, c), 1 - confidence) for c in counts])
        assert law[bounds > 1].sum() <= 1 - confidence
        assert np.all(np.diff(bounds) >= -1e-9) and bounds[-1] > 0.5


def test_a_trade_off_curve_of_pure_privacy_is_no_sharper_than_the_exact_p_value():
    """y -> max(e^-epsilon y, 1 - e^epsilon (1 - y)) is refuted only if the p-value is small."""
    factor = math.e
    for c in range(50, 100, 7):
        refuted = refutes(
            Guessed(100, 100, c), lambda y: max(y / factor, 1 - factor * (1 - y)), 0.05
        )
        assert not refuted or one_run_p_value(100, 100, c, 1.0, 0.0) <= 0.05
    assert refutes(Guessed(100, 100, 99), lambda y: max(y / factor, 1 - factor * (1 - y)), 0.05)


def test_the_gain_of_a_gaussian():
    y = np.array([1e-12, 0.2, 0.5, 0.999])
    expected = stats.norm.cdf(stats.norm.ppf(y) - 1.3)
    np.testing.assert_allclose([gaussian_gain(1.3)(v) for v in y], expected, rtol=1e-10)


def test_impossible_and_certain_events_have_the_same_probability_at_a_neighbor():
    gain = gaussian_gain(1.3)
    assert (gain(0.0), gain(1.0)) == (0.0, 1.0)


def test_delta_is_the_inverse_of_the_p_value():
    guessed = Guessed(200, 150, 140)
    delta = delta_of_guesses(guessed, 1.0, 0.05)
    assert (
        one_run_p_value(*guessed, 1.0, delta)
        <= 0.05
        < one_run_p_value(*guessed, 1.0, 1.001 * delta)
    )
    assert delta_of_guesses(guessed, 5.0, 0.05) == 0


def test_a_million_canaries_are_fast():
    """The limit is fifty times the duration on two busy cores."""
    start = time.perf_counter()
    for r, c in [(1000, 990), (10_000, 8000), (900_000, 600_000)]:
        assert one_run_lower_bound(10**6, r, c, delta=1e-5, confidence=0.95) > 0.3
        assert mu_of_guesses(Guessed(10**6, r, c), 0.05) > 0.1
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize(
    ("case", "sentence"),
    [
        ((10, 11, 5), "r must be at most n = 10, but was 11"),
        ((10, 10, 11), "c must be at most r = 10, but was 11"),
        ((0, 1, 1), "n must be"),
        ((10, 0, 0), "r must be"),
        ((10, 5, -1), "c must"),
    ],
)
def test_impossible_numbers_are_refused(case, sentence):
    for ask in (
        lambda: one_run_p_value(*case, 1.0, 1e-5),
        lambda: one_run_lower_bound(*case, delta=1e-5, confidence=0.9),
    ):
        with pytest.raises(ValueError) as refused:
            ask()
        assert sentence in str(refused.value)


def test_impossible_levels_are_refused():
    for delta in (-0.1, 1.0, math.nan):
        with pytest.raises(ValueError, match="delta must"):
            one_run_lower_bound(10, 5, 4, delta=delta, confidence=0.9)
    with pytest.raises(ValueError, match="confidence must"):
        one_run_lower_bound(10, 5, 4, delta=0.1, confidence=1.0)
        with pytest.raises(ValueError, match="delta must"):
            one_run_p_value(10, 5, 4, 1.0, delta)
    with pytest.raises(ValueError, match="epsilon must"):
        one_run_p_value(10, 5, 4, -0.1, 0.1)
    with pytest.raises(ValueError, match="c must"):
        one_run_lower_bound(10, 5, 4.5, delta=0.1, confidence=0.9)


@pytest.mark.parametrize("seed", range(4))
def test_the_envelope_is_the_highest_chord(seed):
    """Compared with all chords over a point; a search finds the chord in a few steps."""
    rng = np.random.default_rng(seed)
    x = np.append(0.0, np.cumsum(rng.random(40)))
    y = np.sort(rng.random(41)) ** rng.choice([0.3, 1.0, 3.0])
    for place in [*rng.uniform(0, x[-1], 20), *x[1:-1:7]]:
        chords = [
            y[i] + (y[j] - y[i]) * (place - x[i]) / (x[j] - x[i])
            for i, j in itertools.combinations(range(41), 2)
            if x[i] <= place <= x[j]
        ]
        assert _envelope(x, y, place) == pytest.approx(max(chords), rel=1e-9)
    assert _envelope(x, y, 0.0) == _envelope(x, y, -1.0) == y[0]
    assert _envelope(x, y, x[-1]) == _envelope(x, y, x[-1] + 1) == 1.0


def test_a_large_epsilon_refutes_nothing():
    """All guesses are correct with probability near 1, and e^800 is not a finite float."""
    for epsilon, delta in itertools.product((700.0, 800.0, 1e6), (0.0, 1e-3)):
        assert one_run_p_value(100, 20, 20, epsilon, delta) == pytest.approx(1.0)
