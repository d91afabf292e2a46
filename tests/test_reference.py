"""Exact densities and levels, each against an independent computation.

Independent means: SciPy's adaptive quadrature of a naive integrand, a sum over cases, or a naive
NumPy simulation. Simulations have fixed seeds and would fail a correct reference with probability
at most 1e-5 each.
"""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from scipy import integrate, stats

from dpjax import mechanisms, reference
from dpjax._types import MixedSpace, VectorSpace
from dpjax.databases import Pairs, query_patterns, shifts
from dpjax.mechanisms import CATALOGUE

FALSE_ALARM = 1e-5
EPSILONS = (0.2, 0.7, 1.5)

ONE_NUMBER = [
    name
    for name, cls in CATALOGUE.items()
    if not isinstance(cls().output_space, VectorSpace | MixedSpace)
]
"""The others are in test_mixed_and_vectors."""

VARIED = np.array([1.3, 0.2, 2.0, 0.9])
"""Query answers in no order, on both sides of the threshold 1."""


def laplace_cdf(x):
    return stats.laplace.cdf(x)


def over_threshold(integrand, scale, kinks):
    """Integral over the threshold's noise z of integrand(z) times its density, by SciPy."""

    def weighted(z):
        return integrand(z) * stats.laplace.pdf(z, scale=scale)

    edges = np.unique([*kinks, 0.0, -60 * scale, 60 * scale])
    return sum(
        integrate.quad(weighted, low, high, epsabs=1e-15, epsrel=1e-12, limit=200)[0]
        for low, high in pairwise(edges)
    )


def sums_to_one(mechanism, database):
    space = mechanism.output_space
    if hasattr(space, "size"):
        total = reference.density(mechanism, database, np.arange(space.size)).sum()
    elif not hasattr(space, "low"):
        total = reference.density(mechanism, database, np.arange(-400, 400)).sum()
    else:
        inside = [x for x in np.unique(database) if space.low < x < space.high]
        edges = [max(space.low, -90.0), *inside, min(space.high, 90.0)]
        total = sum(
            integrate.quad(
                lambda t: float(reference.density(mechanism, database, t)), *ends, epsabs=1e-11
            )[0]
            for ends in pairwise(edges)
        )
    return total


@pytest.mark.parametrize("name", ONE_NUMBER)
def test_total_mass_is_one(name):
    mechanism = CATALOGUE[name]()
    pairs = mechanism.standard_pairs()
    for database in (pairs.database[0], pairs.neighbor[-1]):
        assert sums_to_one(mechanism, database) == pytest.approx(1, abs=1e-9)


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
        """The textbook loop: answer queries until the second positive, then stop."""
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
        """One threshold serves until the next positive; then the rest is a new problem."""
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
    """Lyu, Su, Li's pseudo-code, one run after the other, threshold 1; the pattern as a code."""
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


@pytest.mark.parametrize(
    ("variant", "noise"),
    [(mechanisms.ReportNoisyMax, stats.laplace), (mechanisms.ReportNoisyMax2, stats.expon)],
)
def test_winner_by_adaptive_quadrature(variant, noise):
    scale = 2 / 0.7
    expected = []
    for i in range(4):

        def wins(t, i=i):
            x = (t - VARIED) / scale
            return noise.pdf(x[i]) / scale * np.prod(noise.cdf(np.delete(x, i)))

        edges = [-160.0, *np.sort(VARIED), 160.0]
        expected.append(
            sum(
                integrate.quad(wins, low, high, epsabs=1e-15, epsrel=1e-12)[0]
                for low, high in pairwise(edges)
            )
        )
    actual = reference.density(variant(0.7, num_queries=4), VARIED, np.arange(4))
    np.testing.assert_allclose(actual, expected, rtol=1e-9)


@pytest.mark.parametrize(
    ("mechanism", "noise", "scale"),
    [
        (mechanisms.ReportNoisyMax3(0.7, num_queries=4), stats.laplace, 2 / 0.7),
        (mechanisms.ReportNoisyMax4(0.7, num_queries=4), stats.expon, 2 / 0.7),
        (mechanisms.ContinuousNoisyMax(0.7, num_queries=4), stats.laplace, 4 / 0.7),
    ],
)
def test_maximum_is_the_derivative_of_its_distribution(mechanism, noise, scale):
    t = np.array([-3.0, 0.5, 1.6, 1.9, 2.1, 5.0, 30.0])

    def cdf(t):
        return np.prod(noise.cdf((t[:, None] - VARIED) / scale), axis=1)

    step = 1e-5
    expected = (cdf(t + step) - cdf(t - step)) / (2 * step)
    np.testing.assert_allclose(reference.density(mechanism, VARIED, t), expected, atol=1e-9)


def frozen(mechanism, database):
    """SciPy's own law of a mechanism that adds noise."""
    match type(mechanism).__name__:
        case "Laplace" | "NoisyHistogram1":
            return stats.laplace(database, 1 / mechanism.epsilon)
        case "NoisyHistogram2":
            return stats.laplace(database, mechanism.epsilon)
        case "Gaussian":
            return stats.norm(database, mechanism.sigma)
        case "TwoSidedGeometric":
            return stats.dlaplace(mechanism.epsilon, loc=database)
        case "TruncatedGaussian":
            ends = (np.array([0, 1]) - database) / mechanism.sigma
            return stats.truncnorm(*ends, database, mechanism.sigma)


@pytest.mark.parametrize(
    "mechanism",
    [
        mechanisms.Laplace(0.7),
        mechanisms.NoisyHistogram1(0.7),
        mechanisms.NoisyHistogram2(0.7),
        mechanisms.Gaussian(0.7),
        mechanisms.TruncatedGaussian(0.7),
    ],
)
def test_additive_densities_are_scipys(mechanism):
    t = np.linspace(-3, 4, 57)
    actual = reference.log_density(mechanism, 1.0, t)
    np.testing.assert_allclose(actual, frozen(mechanism, 1.0).logpdf(t), rtol=1e-12)


def test_two_sided_geometric_is_scipys():
    k = np.arange(-40, 40)
    mechanism = mechanisms.TwoSidedGeometric(0.7)
    actual = reference.log_density(mechanism, 3, k)
    np.testing.assert_allclose(actual, frozen(mechanism, 3).logpmf(k), rtol=1e-12)


def test_conditioned_densities_by_normalising():
    for mechanism, rate, low, high, s in (
        (mechanisms.TruncatedLaplace(0.4), 1 / 0.4, 0.0, 1.0, 0.3),
        (mechanisms.TruncatedLaplace(0.4), 1 / 0.4, 0.0, 1.0, 1.0),
        (mechanisms.Exponential(1.5), None, 0.0, 60.0, 1.7),
    ):
        if rate is None:
            # Lambda by brute force on its defining equation.
            grid = np.linspace(0.7, 1.5, 2_000_001)
            level = grid + np.log(2 - np.exp(-2 * grid)) - np.log(2 - np.exp(-grid))
            rate = np.interp(1.5, level, grid)
        mass = sum(
            integrate.quad(lambda t, r=rate, s=s: np.exp(-r * abs(t - s)), *ends, epsabs=1e-13)[0]
            for ends in ((low, s), (s, high))
        )
        t = np.linspace(0, 1, 21)
        expected = np.exp(-rate * np.abs(t - s)) / mass
        np.testing.assert_allclose(reference.density(mechanism, s, t), expected, rtol=1e-9)


def test_choices_by_hand():
    response = mechanisms.RandomizedResponse(math.log(3), num_categories=4)
    np.testing.assert_allclose(
        reference.density(response, 2, np.arange(4)), [1 / 6, 1 / 6, 3 / 6, 1 / 6], rtol=1e-12
    )
    two = mechanisms.TwoPoint(log_rarity=2.0, ratio=3.0)
    np.testing.assert_allclose(reference.density(two, 1, [1]), [math.exp(-5)], rtol=1e-12)
    np.testing.assert_allclose(reference.density(two, 0, [0]), [1 - math.exp(-2)], rtol=1e-12)
    finite = mechanisms.FiniteExponential(2 * math.log(2), num_queries=3)
    np.testing.assert_allclose(
        reference.density(finite, [0.0, 1.0, 2.0], np.arange(3)), [1 / 7, 2 / 7, 4 / 7], rtol=1e-12
    )


def test_density_is_zero_outside_the_outputs():
    assert reference.density(mechanisms.SVT2(), np.ones(10), [-1, 11, 0.5]).tolist() == [0, 0, 0]
    assert reference.density(mechanisms.Exponential(), 1.0, -0.1) == 0
    assert reference.density(mechanisms.TruncatedLaplace(), 0.0, [-0.1, 1.1]).tolist() == [0, 0]
    assert reference.density(mechanisms.TwoSidedGeometric(), 0, 0.5) == 0


def test_tails_do_not_underflow():
    """1e-500 is beyond float64, its logarithm is not."""
    t = -3000.0
    for mechanism in (mechanisms.Laplace(), mechanisms.ContinuousNoisyMax()):
        database = np.zeros(getattr(mechanism, "num_queries", 1)).squeeze()
        log_density = reference.log_density(mechanism, database, t)
        assert np.isfinite(log_density) and log_density < -2900


# Levels: the known facts.


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_closed_form_levels(epsilon):
    for b, shift in enumerate(shifts(0.0).neighbor, start=1):
        level = reference.pair_level(mechanisms.Laplace(epsilon), 0.0, shift, (-1, 1))
        # Pairs hold float32, so b / 10 is what the mechanism is given.
        assert level == pytest.approx(epsilon * b / 10, rel=1e-6)
    assert reference.pair_level(mechanisms.Exponential(epsilon), 1.0, 2.0) == pytest.approx(
        epsilon, rel=1e-12
    )
    assert reference.pair_level(
        mechanisms.Exponential(epsilon), 1.0, 2.0, (0.0, 2.0)
    ) == pytest.approx(epsilon, rel=1e-12)
    sigma = mechanisms.Gaussian(2.0)
    assert reference.pair_level(sigma, 0.0, 1.0, (-3, 3)) == pytest.approx(3.5 / 4, rel=1e-12)
    assert reference.pair_level(sigma, 0.0, 1.0) == math.inf
    assert reference.pair_level(sigma, 1.0, 1.0) == 0


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_continuous_noisy_max_leaks_on_the_left_only(epsilon):
    """Example 1: the loss of 0^k against 1^k is epsilon on t <= 0 and epsilon / k far right."""
    mechanism = mechanisms.ContinuousNoisyMax(epsilon)

    def level(low, high):
        return reference.pair_level(mechanism, np.zeros(3), np.ones(3), (low, high))

    assert level(-1, 1) == pytest.approx(epsilon, rel=1e-12)
    assert level(-9, 0) == pytest.approx(epsilon, rel=1e-12)
    assert level(900, 999) == pytest.approx(epsilon / 3, rel=1e-9)
    t = np.linspace(-9, 0, 50)
    loss = reference.log_density(mechanism, np.zeros(3), t) - reference.log_density(
        mechanism, np.ones(3), t
    )
    np.testing.assert_allclose(loss, epsilon, rtol=1e-12)


@pytest.mark.parametrize("name", ONE_NUMBER)
def test_no_pair_exceeds_the_stated_level(name):
    mechanism = CATALOGUE[name]()
    level = reference.best_level(mechanism, mechanism.standard_pairs())
    assert 0 < level <= mechanism.level + 1e-12
    region = mechanism.standard_region
    assert reference.best_level(mechanism, mechanism.standard_pairs(), region) <= level + 1e-12


def test_levels_that_are_attained():
    """For these the standard pairs and region hold the worst case."""
    for name in (
        "laplace two-sided-geometric randomized-response report-noisy-max-2 report-noisy-max-3 "
        "report-noisy-max-4 continuous-noisy-max exponential truncated-laplace truncated-gaussian "
        "noisy-histogram-1 noisy-histogram-2 two-point svt5 truncated-geometric permute-and-flip "
        "one-time-rappor rappor symmetric-unary-encoding optimized-unary-encoding "
        "thresholded-histogram-encoding local-hashing subset-selection"
    ).split():
        mechanism = CATALOGUE[name]()
        level = reference.best_level(
            mechanism, mechanism.standard_pairs(), mechanism.standard_region
        )
        assert level == pytest.approx(mechanism.level, rel=1e-12), name


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_sparse_vector_levels(epsilon):
    pairs = query_patterns(10)
    first_seven = Pairs(pairs.database[:7], pairs.neighbor[:7])
    second = reference.best_level(mechanisms.SVT2(epsilon), pairs)
    assert 0.985 * epsilon < second < epsilon
    assert reference.best_level(mechanisms.SVT2(epsilon), first_seven) < 0.88 * epsilon
    for x in (*pairs.database, *pairs.neighbor):
        np.testing.assert_allclose(
            reference.log_density(mechanisms.SVT1(epsilon), x, np.arange(11)),
            reference.log_density(mechanisms.SVT2(epsilon), x, np.arange(11)),
            rtol=1e-12,
        )
    fourth = mechanisms.SVT4.at_level(epsilon)
    assert 0.999 * epsilon < reference.best_level(fourth, pairs) < epsilon
    assert reference.best_level(mechanisms.SVT5(epsilon), pairs) == math.inf
    assert 3.9 * epsilon < reference.best_level(mechanisms.SVT6(epsilon), pairs) < 5 * epsilon


def test_svt6_supremum_is_approached_and_not_attained():
    """Half of the answers far above, half far below: no threshold can swap all ten reports."""
    mechanism = mechanisms.SVT6(1.0)
    sides = np.repeat([1.0, -1.0], 5)
    levels = [
        reference.pair_level(mechanism, 1 + far * sides, 1 + (far - 1) * sides)
        for far in (0.5, 2.0, 5.0, 10.0, 20.0)
    ]
    assert np.all(np.diff(levels) > 0)
    assert levels[-2] < levels[-1] < 5
    assert levels[-1] == pytest.approx(5, rel=1e-3)


def test_data_centric_levels_of_figure_5():
    epsilon = 1.5
    noisy_max = mechanisms.ReportNoisyMax(epsilon)
    level = max(
        reference.pair_level(noisy_max, np.zeros(6), np.array(x, float))
        for x in product((0, 1), repeat=6)
    )
    assert level == pytest.approx(0.4951 * epsilon, abs=1e-4)
    maximum = mechanisms.ContinuousNoisyMax(epsilon)
    level = max(
        reference.pair_level(maximum, np.full(3, 0.5), np.array(x))
        for x in product((0, 0.5, 1), repeat=3)
    )
    assert level == pytest.approx(0.5 * epsilon, rel=1e-9)


@pytest.mark.parametrize(
    ("mechanism", "database", "neighbor", "region"),
    [
        (mechanisms.ContinuousNoisyMax(1.5), [0.0, 0.3, 1.0], [0.9, 0.0, 0.4], (-0.7, 1.9)),
        (mechanisms.ReportNoisyMax3(0.7, num_queries=3), [0, 0.3, 1], [1, 0, 0.4], (-1, 9)),
        (mechanisms.Exponential(0.7), 1.2, 1.9, (0.1, 1.3)),
        (mechanisms.TruncatedGaussian(0.3), 0.1, 0.7, (0.2, 0.6)),
        (mechanisms.Gaussian(0.3), 0.1, 0.7, (-2.0, 0.6)),
    ],
)
def test_pair_level_is_the_maximum_of_a_dense_grid(mechanism, database, neighbor, region):
    t = np.linspace(*region, 400_001)
    loss = np.abs(
        reference.log_density(mechanism, database, t)
        - reference.log_density(mechanism, neighbor, t)
    )
    level = reference.pair_level(mechanism, database, neighbor, region)
    assert loss.max() - 1e-12 <= level <= loss.max() + 1e-5


def test_integer_regions():
    mechanism = mechanisms.TwoSidedGeometric(0.7)
    assert reference.pair_level(mechanism, 0, 3) == pytest.approx(2.1, rel=1e-12)
    assert reference.pair_level(mechanism, 0, 3, (1, 2)) == pytest.approx(0.7, rel=1e-12)
    assert reference.pair_level(mechanism, 0, 3, (7, 9)) == pytest.approx(2.1, rel=1e-12)
    finite = mechanisms.FiniteExponential(1.0, num_queries=3)
    scores = ([0.0, 1.0, 1.0], [1.0, 0.0, 0.0])
    whole = reference.pair_level(finite, *scores)
    parts = [reference.pair_level(finite, *scores, (i, i)) for i in range(3)]
    assert whole == max(parts) and parts[0] != parts[1]


def test_bad_input():
    user = mechanisms.from_function(lambda key, x: x + 0.0, 0.0)
    with pytest.raises(TypeError, match="FromFunction: no exact density"):
        reference.density(user, 0.0, 0.0)
    with pytest.raises(ValueError, match="one value per parameter, but the Laplace had stacked"):
        reference.density(mechanisms.Laplace(np.ones(2)), 0.0, 0.0)
    with pytest.raises(ValueError, match=r"database must have shape \(10,\) for SVT2.*\(9,\)"):
        reference.density(mechanisms.SVT2(), np.ones(9), 0)
    with pytest.raises(ValueError, match=r"database must have shape \(\) for Laplace"):
        reference.density(mechanisms.Laplace(), [0.0], 0)
    with pytest.raises(ValueError, match=r"database must be an integer in \[0, 1\], but was 2"):
        reference.density(mechanisms.RandomizedResponse(), 2, 0)
    with pytest.raises(ValueError, match=r"region must be .* low <= high"):
        reference.pair_level(mechanisms.Laplace(), 0.0, 1.0, (1, -1))
