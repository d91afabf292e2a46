"""Exact densities, each against an independent computation.

Independent means: SciPy's laws, its adaptive quadrature of a naive integrand, a numerical
derivative, or a computation by hand.
"""

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from dpjax import mechanisms, reference
from dpjax.core.types import MixedSpace, VectorSpace
from dpjax.mechanisms import CATALOGUE

ONE_NUMBER = [
    name
    for name, cls in CATALOGUE.items()
    if not isinstance(cls().output_space, VectorSpace | MixedSpace)
]
"""Mechanisms whose total mass is tested here; test_mechanism_laws.py covers the others."""

VARIED = np.array([1.3, 0.2, 2.0, 0.9])
"""Unordered query answers, on both sides of the threshold 1."""


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
    """Return SciPy's law of a mechanism that adds noise."""
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
            # Lambda by brute force from its defining equation.
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
    """1e-500 underflows float64; its logarithm does not."""
    t = -3000.0
    for mechanism in (mechanisms.Laplace(), mechanisms.ContinuousNoisyMax()):
        database = np.zeros(getattr(mechanism, "num_queries", 1)).squeeze()
        log_density = reference.log_density(mechanism, database, t)
        assert np.isfinite(log_density) and log_density < -2900


def test_bad_input():
    user = mechanisms.from_function(lambda key, x: x + 0.0, 0.0)
    with pytest.raises(TypeError, match="FromFunction, whose exact density is unknown"):
        reference.density(user, 0.0, 0.0)
    with pytest.raises(ValueError, match="one value per parameter, but a parameter of Laplace was"):
        reference.density(mechanisms.Laplace(np.ones(2)), 0.0, 0.0)
    with pytest.raises(ValueError, match=r"database must have shape \(10,\) for SVT2.*\(9,\)"):
        reference.density(mechanisms.SVT2(), np.ones(9), 0)
    with pytest.raises(ValueError, match=r"database must have shape \(\) for Laplace"):
        reference.density(mechanisms.Laplace(), [0.0], 0)
    with pytest.raises(ValueError, match=r"database must be an integer in \[0, 1\], but was 2"):
        reference.density(mechanisms.RandomizedResponse(), 2, 0)
    for mechanism, database in (
        (mechanisms.SVT3(num_queries=3), np.ones(3)),
        (mechanisms.PrefixSum(), np.ones(3)),
    ):
        with pytest.raises(ValueError, match="outputs must have a last axis of length"):
            reference.density(mechanism, database, np.zeros(5))
