"""Exact laws of the sparse vectors, each against an independent computation.

Independent means: SciPy's adaptive quadrature of a naive integrand, a sum over cases, or a naive
NumPy simulation, with the scales of the papers' pseudo-code written out. Simulations have fixed
seeds and would reject a correct reference with probability at most 1e-5 each.
"""

import math
import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from dpjax import mechanisms, reference

FALSE_ALARM = 1e-5
EPSILONS = (0.2, 0.7, 1.5)

VARIED = np.array([1.3, 0.2, 2.0, 0.9])
"""Unordered query answers, on both sides of the threshold 1."""

ANSWERS = np.array([0.4, 2.0, 1.1])
"""The same for variants that report a number."""


def laplace_cdf(x):
    """Return the cdf, ten times faster than SciPy for a single number; called 100,000 times."""
    tail = np.exp(-np.abs(x)) / 2
    return np.where(np.less(x, 0), tail, 1 - tail)


def test_the_cdf_is_scipys():
    x = np.array([-np.inf, -40, -1, -1e-9, 0, 0.3, 2, 50, np.inf])
    np.testing.assert_allclose(laplace_cdf(x), stats.laplace.cdf(x), rtol=1e-14)


def over_threshold(integrand, scale, kinks):
    """Integrate integrand(z) times the density of the threshold's noise z, by SciPy."""

    def weighted(z):
        return integrand(z) * math.exp(-abs(z) / scale) / (2 * scale)

    edges = np.unique([*kinks, 0.0, -60 * scale, 60 * scale])
    return sum(
        integrate.quad(weighted, low, high, epsabs=1e-15, epsrel=1e-12, limit=200)[0]
        for low, high in pairwise(edges)
    )


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize(
    ("variant", "threshold", "query"),
    [(mechanisms.SVT1, 2, 4), (mechanisms.SVT2, 2, 4), (mechanisms.SVT4, 4, 4 / 3)],
)
def test_first_positive_by_adaptive_quadrature(variant, threshold, query, epsilon):
    mechanism = variant(epsilon, num_queries=4)

    def given(z, outcome):
        above = laplace_cdf((VARIED - (1 + z)) / (query / epsilon))
        below = np.prod(1 - above[:outcome])
        return below * above[outcome] if outcome < 4 else below

    expected = [
        over_threshold(lambda z, o=o: given(z, o), threshold / epsilon, VARIED - 1)
        for o in range(5)
    ]
    actual = reference.density(mechanism, VARIED, np.arange(5))
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


def test_svt6_patterns_by_adaptive_quadrature():
    mechanism = mechanisms.SVT6(0.7, threshold=1.0, num_queries=4)

    def given(z, pattern):
        above = laplace_cdf((VARIED - (1 + z)) / (2 / 0.7))
        return np.prod(np.where(pattern, above, 1 - above))

    expected = [
        over_threshold(lambda z, c=c: given(z, [c >> i & 1 for i in range(4)]), 2 / 0.7, VARIED - 1)
        for c in range(16)
    ]
    actual = reference.density(mechanism, VARIED, np.arange(16))
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("variant", "threshold", "query"), [(mechanisms.SVT1, 2, 8), (mechanisms.SVT4, 4, 4 / 3)]
)
def test_two_positives_by_adaptive_quadrature(variant, threshold, query):
    mechanism = variant(0.7, num_queries=4, max_positives=2)
    threshold, query = threshold / 0.7, query / 0.7

    def given(z, pattern):
        """Run the textbook loop: answer queries until the second positive, then stop."""
        chance, positives = 1.0, 0
        for i, answer in enumerate(VARIED):
            if positives == 2:
                return 0.0 if any(pattern[i:]) else chance
            above = laplace_cdf((answer - (1 + z)) / query)
            chance *= above if pattern[i] else 1 - above
            positives += pattern[i]
        return chance

    expected = [
        over_threshold(
            lambda z, c=c: given(z, [c >> i & 1 for i in range(4)]), threshold, VARIED - 1
        )
        for c in range(16)
    ]
    actual = reference.density(mechanism, VARIED, np.arange(16))
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-14)


def test_redrawn_thresholds_by_adaptive_quadrature():
    """SVT2 with c = 2: Lap(4 / eps) on every threshold, Lap(8 / eps) on queries."""
    mechanism = mechanisms.SVT2(0.7, num_queries=4, max_positives=2)

    def stretch(answers, bits):
        def given(z):
            above = laplace_cdf((np.array(answers) - (1 + z)) / (8 / 0.7))
            return np.prod(np.where(bits, above, 1 - above))

        return over_threshold(given, 4 / 0.7, np.array(answers) - 1)

    def chance(answers, bits, positives):
        """One threshold is used until the next positive; then the rest is a new problem."""
        if positives == 2:
            return float(not any(bits))
        if not any(bits):
            return stretch(answers, bits) if bits else 1.0
        end = bits.index(1) + 1
        return stretch(answers[:end], bits[:end]) * chance(answers[end:], bits[end:], positives + 1)

    expected = [chance(list(VARIED), [c >> i & 1 for i in range(4)], 0) for c in range(16)]
    actual = reference.density(mechanism, VARIED, np.arange(16))
    np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-14)


def simulate_svt(rng, answers, threshold_scale, query_scale, redraw_scale, most, size):
    """Run the pseudo-code of Lyu, Su, Li, one run at a time, threshold 1; return pattern codes."""
    codes = np.zeros(size, int)
    for run in range(size):
        rho = rng.laplace(0, threshold_scale)
        positives = 0
        for i, answer in enumerate(answers):
            noise = rng.laplace(0, query_scale) if query_scale else 0.0
            if answer + noise >= 1 + rho:
                codes[run] |= 1 << i
                positives += 1
                if redraw_scale:
                    rho = rng.laplace(0, redraw_scale)
                if positives == most:
                    break
    return codes


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("mechanism", "scales"),
    [
        (mechanisms.SVT1(1.5, num_queries=4, max_positives=2), (2, 8, 0, 2)),
        (mechanisms.SVT2(1.5, num_queries=4, max_positives=2), (4, 8, 4, 2)),
        (mechanisms.SVT2(1.5, num_queries=4, max_positives=3), (6, 12, 6, 3)),
        (mechanisms.SVT4(1.5, num_queries=4, max_positives=2), (4, 4 / 3, 0, 2)),
        (mechanisms.SVT5(1.5, num_queries=4), (2, 0, 0, 9)),
        (mechanisms.SVT6(1.5, num_queries=4), (2, 2, 0, 9)),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, tuple) else "",
)
def test_sparse_vector_by_simulation(mechanism, scales):
    *noise, most = scales
    size = 60_000
    codes = simulate_svt(np.random.default_rng(7), VARIED, *(s / 1.5 for s in noise), most, size)
    probability = reference.density(mechanism, VARIED, np.arange(16))
    counts = np.bincount(codes, minlength=16)
    assert not counts[probability == 0].any()
    possible = probability > 0
    result = stats.chisquare(counts[possible], probability[possible] * size)
    assert result.pvalue > FALSE_ALARM


def test_svt5_by_cases():
    """The threshold falls into one of five intervals between the sorted answers."""
    scale = 2 / 0.7
    actual = reference.density(mechanisms.SVT5(0.7, num_queries=4), VARIED, np.arange(16))
    expected = np.zeros(16)
    cuts = [-np.inf, *np.sort(VARIED), np.inf]
    for low, high in pairwise(cuts):
        code = sum(1 << i for i in range(4) if VARIED[i] >= high)
        expected[code] += np.diff(laplace_cdf((np.array([low, high]) - 1) / scale))[0]
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


def quad(integrand, low, high, kinks):
    edges = [low, *sorted(x for x in kinks if low < x < high), high]
    return sum(
        integrate.quad(integrand, *ends, epsabs=1e-14, epsrel=1e-11, limit=200)[0]
        for ends in pairwise(edges)
    )


@pytest.mark.parametrize(("index", "told"), [(0, -1.5), (1, 0.2), (2, 3.0), (2, -9.0)])
def test_svt3_by_adaptive_quadrature(index, told):
    """The noisy threshold lies below the reported number and above the earlier noisy answers."""
    noise, answers = stats.laplace(scale=2 / 1.5), ANSWERS

    def integrand(t):
        return noise.pdf(t - 1) * np.prod(noise.cdf(t - answers[:index]))

    below = quad(integrand, told - 80, told, [1.0, *answers])
    expected = below * noise.pdf(told - answers[index])
    mechanism = mechanisms.SVT3(1.5, 1.0, 3)
    actual = reference.density(mechanism, ANSWERS, [index, told])
    assert actual == pytest.approx(expected, rel=1e-8)


def test_numerical_svt_by_adaptive_quadrature():
    threshold, query = stats.laplace(scale=2.0), stats.laplace(scale=4.0)
    answers = ANSWERS

    def integrand(t):
        return threshold.pdf(t - 1) * query.cdf(t - answers[0]) * query.sf(t - 2.0)

    second = quad(integrand, -150, 150, [1.0, *answers])
    expected = second * stats.laplace(2.0, 2.0).pdf(2.7)
    actual = reference.density(mechanisms.NumericalSVT(1.5, 1.0, 3), ANSWERS, [1, 2.7])
    assert actual == pytest.approx(expected, rel=1e-6)


@pytest.mark.slow
def test_queries_that_are_never_positive_have_density_zero():
    """Probabilities that underflow are 0, without a warning."""
    far = np.full(3, -1e5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = reference.log_density(
            mechanisms.NumericalSVT(num_queries=3), far, [[0, -1e5], [3, 0.0]]
        )
        assert np.isneginf(found[0]) and found[1] == pytest.approx(0.0, abs=1e-12)
        assert reference.log_density(mechanisms.SVT3(num_queries=3), -far, [[3, 0.0]])[0] == -np.inf
