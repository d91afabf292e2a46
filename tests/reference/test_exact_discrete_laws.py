"""Exact distributions of discrete mechanisms, compared with enumeration, and their levels."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from dpjax import mechanisms, reference
from dpjax.core import random


def table(mechanism, database):
    return reference.density(mechanism, database, np.arange(mechanism.output_space.size))


def worst_ratio(tables):
    """Return the largest |ln p - ln q| over pairs and outcomes, ignoring impossible outcomes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(tables)
        return max(np.nanmax(np.abs(p - q)) for p, q in itertools.combinations(logs, 2))


def test_permute_and_flip_by_permutations():
    scores, epsilon = np.array([2.0, 0.4, 1.1, 0.0]), 0.7
    chances = np.exp(epsilon * (scores - scores.max()) / 2)
    expected = np.zeros(4)
    for order in itertools.permutations(range(4)):
        none_yet = 1.0
        for i in order:
            expected[i] += none_yet * chances[i] / 24
            none_yet *= 1 - chances[i]
    np.testing.assert_allclose(
        table(mechanisms.PermuteAndFlip(epsilon, 4), scores), expected, rtol=1e-10
    )


@pytest.mark.parametrize(("epsilon", "k"), [(1.0, 1), (0.95, 2), (0.5, 2), (0.3, 3)])
def test_truncated_geometric_by_integer_arithmetic(epsilon, k):
    n = 4
    mechanism = mechanisms.TruncatedGeometric(epsilon, n)
    tables = []
    for c in range(n + 1):
        d = (2 ** (k + 1) + 1) * (2**k + 1) ** (n - 1)
        cdf = []
        for z in range(n + 1):
            if z < c:
                cdf.append(2 ** (k * (c - z)) * (2**k + 1) ** (n - (c - z)))
            elif z < n:
                cdf.append(d - 2 ** (k * (z - c + 1)) * (2**k + 1) ** (n - 1 - (z - c)))
            else:
                cdf.append(d)
        pmf = [Fraction(b - a, d) for a, b in itertools.pairwise([0, *cdf])]
        np.testing.assert_allclose(table(mechanism, c), [float(p) for p in pmf], rtol=1e-12)
        tables.append([float(p) for p in pmf])
    neighbours = [np.abs(np.log(p) - np.log(q)).max() for p, q in itertools.pairwise(tables)]
    assert max(neighbours) == pytest.approx(mechanism.level, rel=1e-12)
    assert mechanism.level == math.log1p(2.0**-k)


def test_discrete_gaussian_by_its_sum():
    mechanism = mechanisms.DiscreteGaussian(1.3)
    weights = [math.exp(-(k**2) / (2 * 1.3**2)) for k in range(-60, 61)]
    pmf = reference.density(mechanism, 2, np.arange(-8, 13))
    expected = [math.exp(-((t - 2) ** 2) / (2 * 1.3**2)) / sum(weights) for t in range(-8, 13)]
    np.testing.assert_allclose(pmf, expected, rtol=1e-12)
    assert reference.pair_level(mechanism, 0, 1) == math.inf
    # ln f_0(t) - ln f_1(t) = (1 - 2 t) / (2 sigma^2).
    assert reference.pair_level(mechanism, 0, 1, (-5, 6)) == pytest.approx(11 / (2 * 1.3**2))


def test_snapped_laplace():
    mechanism = mechanisms.SnappedLaplace(0.7, 7.0)
    assert float(mechanism.step()) == 2 and float(mechanisms.SnappedLaplace(1.0).step()) == 2
    assert float(mechanisms.SnappedLaplace(1.01).step()) == 1
    # 7 is 3.5 steps: the fourth step is clamped to 7.
    pmf = reference.density(mechanism, 0.3, np.arange(-4, 5))
    assert pmf.sum() == pytest.approx(1, abs=1e-12)
    assert pmf[0] == pytest.approx(0.5 * math.exp(-0.7 * 7.3), rel=1e-9)
    assert reference.density(mechanism, 0.3, 5) == 0
    level = reference.pair_level(mechanisms.SnappedLaplace(0.7), 0.0, 1.0)
    assert level == pytest.approx(0.7, rel=1e-11)


def test_unary_encodings_by_enumeration():
    epsilon, k = 0.7, 3
    lie = 1 / (1 + math.exp(epsilon / 2))
    for mechanism, p, q in (
        (mechanisms.SymmetricUnaryEncoding(epsilon, k), 1 - lie, lie),
        (mechanisms.OptimizedUnaryEncoding(epsilon, k), 0.5, 1 / (1 + math.exp(epsilon))),
        (
            mechanisms.ThresholdedHistogramEncoding(epsilon, 0.6, k),
            1 - math.exp(-0.4 * epsilon / 2) / 2,
            math.exp(-0.6 * epsilon / 2) / 2,
        ),
    ):
        tables = []
        for category in range(k):
            chance = [p if i == category else q for i in range(k)]
            expected = [
                math.prod(chance[i] if code >> i & 1 else 1 - chance[i] for i in range(k))
                for code in range(2**k)
            ]
            np.testing.assert_allclose(table(mechanism, category), expected, rtol=1e-12)
            tables.append(expected)
        assert worst_ratio(tables) == pytest.approx(mechanism.level, rel=1e-12)
    assert mechanisms.ThresholdedHistogramEncoding(epsilon).level < epsilon


def test_local_hashing_by_enumeration():
    epsilon, g, k = 0.7, 3, 2
    mechanism = mechanisms.LocalHashing(epsilon, g, k)
    truth = math.exp(epsilon) / (math.exp(epsilon) + g - 1)
    tables = []
    for category in range(k):
        expected = np.zeros(g ** (k + 1))
        for function, buckets in enumerate(itertools.product(range(g), repeat=k)):
            # Digit x of the function, from the lowest, is the bucket of x.
            bucket = buckets[::-1][category]
            for told in range(g):
                chance = truth if told == bucket else (1 - truth) / (g - 1)
                expected[function * g + told] = chance / g**k
        np.testing.assert_allclose(table(mechanism, category), expected, rtol=1e-12)
        tables.append(expected)
    assert worst_ratio(tables) == pytest.approx(mechanism.level, rel=1e-12)
    assert mechanisms.LocalHashing.binary().num_buckets == 2
    assert mechanisms.LocalHashing.optimized(2.0).num_buckets == 8


def test_subset_selection_by_enumeration():
    epsilon, d, k = 0.7, 2, 5
    mechanism = mechanisms.SubsetSelection(epsilon, d, k)
    with_truth = d * math.exp(epsilon) / (d * math.exp(epsilon) + k - d)
    tables = []
    for category in range(k):
        expected = np.zeros(2**k)
        for subset in itertools.combinations(range(k), d):
            inside = category in subset
            share = math.comb(k - 1, d - 1) if inside else math.comb(k - 1, d)
            chance = with_truth if inside else 1 - with_truth
            expected[sum(2**i for i in subset)] = chance / share
        np.testing.assert_allclose(table(mechanism, category), expected, rtol=1e-12, atol=0)
        tables.append(expected)
    assert worst_ratio(tables) == pytest.approx(mechanism.level, rel=1e-12)


def test_rappor_by_enumeration():
    f, q, p, bits = 0.5, 0.7, 0.2, 4
    for mechanism, once in (
        (mechanisms.OneTimeRappor(f, bits), True),
        (mechanisms.Rappor(f, q, p, bits), False),
    ):
        tables = []
        for value in range(16):
            filled = np.asarray(mechanisms.bloom_filter(value, bits, 2))
            chances = []
            for bit in filled:
                permanent = 1 - f / 2 if bit else f / 2
                chances.append(permanent if once else permanent * q + (1 - permanent) * p)
            expected = [
                math.prod(c if code >> i & 1 else 1 - c for i, c in enumerate(chances))
                for code in range(2**bits)
            ]
            np.testing.assert_allclose(table(mechanism, value), expected, rtol=1e-12)
            tables.append(expected)
        assert worst_ratio(tables) == pytest.approx(mechanism.level, rel=1e-12)


def test_bloom_filters_are_fixed_and_spread():
    filters = np.stack([mechanisms.bloom_filter(v, 8, 2) for v in range(200)])
    assert set(filters.sum(axis=1)) == {1, 2}
    # Each bit is set in 1 - (7/8)^2 = 23% of filters: 47 of 200, five deviations are 30.
    assert np.all(np.abs(filters.sum(axis=0) - 47) < 30)
    np.testing.assert_array_equal(filters[5], mechanisms.bloom_filter(np.float32(5), 8, 2))


def test_half_the_noise_is_twice_the_level():
    far = np.array([40.0, 0, 0, 0, 0, 0])
    mechanism = mechanisms.HalfNoiseMax(0.7)
    level = reference.pair_level(mechanism, far, far + np.array([-1.0, 1, 1, 1, 1, 1]))
    assert 0.999 * 1.4 < level <= 1.4 == mechanism.level


@pytest.mark.parametrize("epsilon", [0.2, 3.0])
def test_snapped_laplace_noise_has_the_law_of_its_draws(epsilon):
    """One of 60 cells differs by 6 standard errors with probability 60 * 2e-9."""
    snapped, database = mechanisms.SnappedLaplace(epsilon, bound=8.0), 0.75
    drawn = np.asarray(snapped.sample(random.as_key(5), database, 200_000))
    places = np.arange(drawn.min() - 1, drawn.max() + 2)
    law = reference.density(snapped, database, places)
    assert law.sum() == pytest.approx(1, abs=1e-4) and len(places) < 60
    counts = np.array([(drawn == place).sum() for place in places])
    errors = np.sqrt(len(drawn) * law * (1 - law))
    assert np.all(np.abs(counts - len(drawn) * law) <= 6 * errors + 1)
