"""Mechanisms whose outputs are more than one number: contract, laws and levels.

Draws are compared with the exact law by chi-square tests at a fixed seed, which fail a right
sampler with probability 1e-5; the same tests reject each mechanism with its epsilon 10% off.
"""

import itertools
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from dpjax import _random, mechanisms, reference
from dpjax._types import MixedSpace, VectorSpace
from dpjax.databases import Pairs
from dpjax.mechanisms import CATALOGUE, Mechanism

FALSE_ALARM = 1e-5
NUM_DRAWS = 2**20
WRONG = 1.1

ANSWERS = np.array([0.4, 2.0, 1.1], np.float32)
CASES = {
    "svt3": (mechanisms.SVT3(1.5, 1.0, 3), ANSWERS),
    "numerical-svt": (mechanisms.NumericalSVT(1.5, 1.0, 3), ANSWERS),
    "svt3-svt4": (mechanisms.SVT3And4(1.5, 1.0, 2), ANSWERS[:2]),
    "parallel-laplace": (mechanisms.ParallelLaplace(0.7), np.float32(0.3)),
    "prefix-sum": (mechanisms.PrefixSum(0.7), ANSWERS),
    "summed-histogram-encoding": (mechanisms.SummedHistogramEncoding(0.7), np.int32(1)),
}
MIXED = [name for name, (m, _) in CASES.items() if isinstance(m.output_space, MixedSpace)]
VECTORS = [name for name in CASES if name not in MIXED]


def draws_of(mechanism, database, num_samples=NUM_DRAWS, seed=1):
    draw = jax.jit(lambda key, x: mechanism.sample(key, x, num_samples))
    return np.asarray(draw(_random.as_key(seed), jnp.asarray(database)))


@pytest.mark.parametrize("name", CASES)
def test_statements_and_contract(name):
    mechanism, database = CASES[name]
    assert type(mechanism) is CATALOGUE[name] and isinstance(mechanism, Mechanism)
    assert mechanism.source and "References:" in type(mechanism).__doc__
    assert isinstance(mechanism.standard_pairs(), Pairs)
    low, high = mechanism.standard_region
    assert np.all(np.asarray(low) < np.asarray(high))
    space = mechanism.output_space
    width = 2 if name in MIXED else space.dimension
    assert isinstance(space, MixedSpace | VectorSpace)
    assert np.shape(low) == (() if name in MIXED else (width,))

    traces = 0

    @jax.jit
    def draw(mechanism, key):
        nonlocal traces
        traces += 1
        return mechanism.sample(key, jnp.asarray(database), 999)

    key = _random.as_key(1)
    one = np.asarray(draw(mechanism, key))
    assert one.shape == (999, width) and one.dtype == np.float32
    np.testing.assert_array_equal(one, draw(mechanism, key))
    assert not np.array_equal(one, draw(replace(mechanism, epsilon=0.9), _random.as_key(2)))
    assert traces == 1
    if name in MIXED:
        assert np.all(one[:, 0] == np.floor(one[:, 0])) and np.all(one[:, 0] >= 0)
        assert one[:, 0].max() < space.num_labels


def alone(mechanism, label):
    k = mechanism.num_queries
    return (label // (k + 1) if isinstance(mechanism, mechanisms.SVT3And4) else label) == k


def masses(mechanism, database, edges, label):
    """Exact mass of each cell of the numbers that come with a label, by Gauss-Legendre."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    total = np.zeros(len(edges) + 1)
    kinks = [*database.tolist(), 1.0, *np.arange(-160.0, 161.0, 4.0)]
    cuts = np.unique(np.concatenate([edges, kinks]))
    middle, half = (cuts[1:] + cuts[:-1]) / 2, np.diff(cuts) / 2
    v = middle[:, None] + half[:, None] * nodes
    outputs = np.stack([np.full_like(v, label), v], axis=-1)
    mass = (reference.density(mechanism, database, outputs) @ weights) * half
    np.add.at(total, np.searchsorted(edges, middle), mass)
    return total


def mixed_p_value(mechanism, database):
    draws, pilot = draws_of(mechanism, database), draws_of(mechanism, database, 2**14, seed=7)
    counts, expected = [], []
    for label in range(mechanism.output_space.num_labels):
        here = draws[draws[:, 0] == label, 1]
        if alone(mechanism, label):
            assert np.all(here == 0)
            counts.append([len(here)])
            expected.append(reference.density(mechanism, database, [[label, 0.0]]))
            continue
        of_pilot = pilot[pilot[:, 0] == label, 1]
        edges = np.unique(np.quantile(of_pilot, np.linspace(0, 1, 9)[1:-1]).astype(float))
        counts.append(np.bincount(np.searchsorted(edges, here), minlength=len(edges) + 1))
        expected.append(masses(mechanism, database, edges, label))
    counts, expected = np.concatenate(counts), np.concatenate(expected)
    assert expected.sum() == pytest.approx(1, abs=1e-8)
    assert np.all(expected * NUM_DRAWS > 10)
    return stats.chisquare(counts, expected / expected.sum() * NUM_DRAWS).pvalue


@pytest.mark.parametrize("name", MIXED)
def test_mixed_draws_follow_the_exact_law_and_no_other(name):
    mechanism, database = CASES[name]
    assert mixed_p_value(mechanism, database) > FALSE_ALARM


@pytest.mark.parametrize("name", MIXED)
def test_another_epsilon_is_seen(name, monkeypatch):
    mechanism, database = CASES[name]
    wrong = replace(mechanism, epsilon=WRONG * mechanism.epsilon)
    exact = reference.density
    monkeypatch.setattr(reference, "density", lambda m, x, t: exact(mechanism, x, t))
    assert mixed_p_value(wrong, database) < FALSE_ALARM


NOISES = {
    # The unit noises that the outputs are made of, by hand: entry minus truth, over the scale.
    "parallel-laplace": lambda y, e: (y - 0.3) * e,
    "prefix-sum": lambda y, e: (y - np.c_[0 * y[:, :1], y[:, :-1]] - ANSWERS) * e,
    "summed-histogram-encoding": lambda y, e: (y - [0, 1, 0]) * e / 2,
}


def vector_p_value(draws, name, epsilon):
    """Three unit noises fall into 6 x 6 x 6 cells of equal mass."""
    cells = np.floor(6 * stats.laplace.cdf(NOISES[name](draws, epsilon))).clip(0, 5).astype(int)
    counts = np.bincount(cells @ [36, 6, 1], minlength=216)
    return stats.chisquare(counts).pvalue


@pytest.mark.parametrize("name", VECTORS)
def test_vector_draws_follow_the_exact_law_and_no_other(name):
    mechanism, database = CASES[name]
    draws = draws_of(mechanism, database)
    assert vector_p_value(draws, name, 0.7) > FALSE_ALARM
    assert vector_p_value(draws, name, 0.7 * WRONG) < FALSE_ALARM
    # The density is that of the noises, times what the scale does to volumes.
    outputs = draws[:50].astype(float)
    scale = 2 / 0.7 if name == "summed-histogram-encoding" else 1 / 0.7
    expected = np.prod(stats.laplace.pdf(NOISES[name](outputs, 0.7)) / scale, axis=1)
    np.testing.assert_allclose(reference.density(mechanism, database, outputs), expected, rtol=1e-5)


# Laws by another route than the reference's.


def quad(integrand, low, high, kinks):
    edges = [low, *sorted(x for x in kinks if low < x < high), high]
    return sum(
        integrate.quad(integrand, *ends, epsabs=1e-14, epsrel=1e-11, limit=200)[0]
        for ends in itertools.pairwise(edges)
    )


@pytest.mark.parametrize(("index", "told"), [(0, -1.5), (1, 0.2), (2, 3.0), (2, -9.0)])
def test_svt3_by_adaptive_quadrature(index, told):
    """The noisy threshold lies below what was told and above the earlier noisy answers."""
    noise, answers = stats.laplace(scale=2 / 1.5), ANSWERS.astype(float)

    def integrand(t):
        return noise.pdf(t - 1) * np.prod(noise.cdf(t - answers[:index]))

    below = quad(integrand, told - 80, told, [1.0, *answers])
    expected = below * noise.pdf(told - answers[index])
    mechanism = CASES["svt3"][0]
    actual = reference.density(mechanism, ANSWERS, [index, told])
    assert actual == pytest.approx(expected, rel=1e-8)


def test_numerical_svt_by_adaptive_quadrature():
    threshold, query = stats.laplace(scale=2.0), stats.laplace(scale=4.0)
    answers = ANSWERS.astype(float)

    def integrand(t):
        return threshold.pdf(t - 1) * query.cdf(t - answers[0]) * query.sf(t - 2.0)

    second = quad(integrand, -150, 150, [1.0, *answers])
    expected = second * stats.laplace(2.0, 2.0).pdf(2.7)
    actual = reference.density(CASES["numerical-svt"][0], ANSWERS, [1, 2.7])
    assert actual == pytest.approx(expected, rel=1e-6)


# Levels.


def test_mixed_levels():
    for k in (1, 2, 4):
        third = mechanisms.SVT3(0.7, num_queries=k)
        ones = np.ones(k)
        assert reference.pair_level(third, ones, 2 * ones) == pytest.approx(third.level, rel=1e-9)
    numerical = mechanisms.NumericalSVT(0.7, num_queries=6)
    both = mechanisms.SVT3And4(0.7, num_queries=4)
    pattern = np.eye(6)[-1]
    level = reference.pair_level(numerical, 9 * (1 - pattern), 9 * (1 - pattern) + 1 - 2 * pattern)
    assert 0.99 * numerical.level < level < numerical.level
    # Answers far above the threshold, the last far below it and moving against the others.
    pattern = np.eye(4)[-1]
    far = 20 * (1 - 2 * pattern)
    level = reference.pair_level(both, far, far + 1 - 2 * pattern)
    assert 0.999 * both.level < level < both.level
    rng = np.random.default_rng(0)
    for mechanism in (mechanisms.SVT3(0.7, num_queries=4), both):
        for _ in range(3):
            x = rng.normal(1, 2, 4)
            y = x + rng.choice([-1, 0, 1], 4)
            assert reference.pair_level(mechanism, x, y) <= mechanism.level * (1 + 1e-9)


def test_vector_levels():
    """The loss at random outputs comes near the closed form and never passes it."""
    rng = np.random.default_rng(0)
    for name, database, neighbor in (
        ("parallel-laplace", 0.0, 1.0),
        ("prefix-sum", np.ones(3), 2 * np.ones(3)),
        ("summed-histogram-encoding", 0, 2),
    ):
        mechanism = CASES[name][0]
        level = reference.pair_level(mechanism, database, neighbor)
        assert level == pytest.approx(mechanism.level, rel=1e-12)
        outputs = np.concatenate([rng.normal(size=(500, 3)) * 5, [[9, -9, -9], [-9, -19, -29]]])
        losses = reference.log_density(mechanism, database, outputs) - reference.log_density(
            mechanism, neighbor, outputs
        )
        assert np.abs(losses).max() == pytest.approx(level, rel=1e-12)


def test_regions_are_refused():
    for name in ("svt3", "prefix-sum"):
        mechanism, database = CASES[name]
        with pytest.raises(ValueError, match="region must be None for outputs in"):
            reference.pair_level(mechanism, database, database + 1, (0.0, 1.0))
        with pytest.raises(ValueError, match="outputs must have a last axis of"):
            reference.density(mechanism, database, np.zeros(5))


def test_signed_levels_cover_both_directions():
    mechanism = mechanisms.SVT3(0.7, num_queries=3)
    x, y = np.array([1.0, 1, 1]), np.array([2.0, 0, 0])
    assert reference.pair_level(mechanism, x, y) == reference.pair_level(mechanism, y, x)
