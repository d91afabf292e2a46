"""Properties of every mechanism of the catalog, in one table.

Chi-square tests compare draws with the exact law at fixed seeds. Each rejects a correct sampler
with probability 1e-5; the same tests reject each mechanism with a parameter 10% off.
"""

import itertools
from collections import Counter
from dataclasses import replace
from decimal import Decimal

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from dpjax import mechanisms, reference
from dpjax.core import random
from dpjax.core.jit import jit_by_class
from dpjax.core.types import FiniteSpace, IntegerSpace, MixedSpace, RealSpace, VectorSpace
from dpjax.databases import Pairs
from dpjax.mechanisms import CATALOGUE, Mechanism, find_mechanism

FALSE_ALARM = 1e-5
NUM_DRAWS = 2**20
WRONG = 1.1

MIXED = np.array([2.0, 0.4, 1.1, 0.0], np.float32)
"""Four unordered query answers, on both sides of the threshold 1."""

THREE = np.array([0.4, 2.0, 1.1], np.float32)

CASES = {
    # A mechanism small enough to compile fast, its database, and its noise parameter.
    "laplace": (mechanisms.Laplace(0.7), np.float32(0.3), "epsilon"),
    "gaussian": (mechanisms.Gaussian(0.7), np.float32(0.3), "sigma"),
    "shuffled-batches": (mechanisms.ShuffledBatches(0.7, 20), np.float32(1.3), "sigma"),
    "two-sided-geometric": (mechanisms.TwoSidedGeometric(0.7), np.int32(2), "epsilon"),
    "randomized-response": (mechanisms.RandomizedResponse(0.7, 5), np.int32(3), "epsilon"),
    "report-noisy-max": (mechanisms.ReportNoisyMax(0.7, 4), MIXED, "epsilon"),
    "report-noisy-max-2": (mechanisms.ReportNoisyMax2(0.7, 4), MIXED, "epsilon"),
    "report-noisy-max-3": (mechanisms.ReportNoisyMax3(0.7, 4), MIXED, "epsilon"),
    "report-noisy-max-4": (mechanisms.ReportNoisyMax4(0.7, 4), MIXED, "epsilon"),
    "continuous-noisy-max": (mechanisms.ContinuousNoisyMax(0.7, 4), MIXED, "epsilon"),
    "exponential": (mechanisms.Exponential(0.7), np.float32(1.3), "epsilon"),
    "finite-exponential": (mechanisms.FiniteExponential(0.7, 4), MIXED, "epsilon"),
    "svt1": (mechanisms.SVT1(1.5, num_queries=4), MIXED, "epsilon"),
    "svt2": (mechanisms.SVT2(1.5, num_queries=4), MIXED, "epsilon"),
    "svt4": (mechanisms.SVT4(1.5, num_queries=4), MIXED, "epsilon"),
    "svt5": (mechanisms.SVT5(1.5, num_queries=4), MIXED, "epsilon"),
    "svt6": (mechanisms.SVT6(1.5, num_queries=4), MIXED, "epsilon"),
    "truncated-laplace": (mechanisms.TruncatedLaplace(0.4), np.float32(0.3), "scale"),
    "truncated-gaussian": (mechanisms.TruncatedGaussian(0.4), np.float32(0.3), "sigma"),
    "noisy-histogram-1": (mechanisms.NoisyHistogram1(0.7), np.float32(2.0), "epsilon"),
    "noisy-histogram-2": (mechanisms.NoisyHistogram2(0.7), np.float32(2.0), "epsilon"),
    "two-point": (mechanisms.TwoPoint(1.5, 0.5), np.int32(1), "log_rarity"),
    "snapped-laplace": (mechanisms.SnappedLaplace(0.7, 7.0), np.float32(0.3), "epsilon"),
    # 10% more needs one bit less.
    "truncated-geometric": (mechanisms.TruncatedGeometric(0.95, 5), np.int32(2), "epsilon"),
    "discrete-gaussian": (mechanisms.DiscreteGaussian(1.3), np.int32(2), "sigma"),
    "half-noise-max": (mechanisms.HalfNoiseMax(0.7, 4), MIXED, "epsilon"),
    "permute-and-flip": (mechanisms.PermuteAndFlip(0.7, 4), MIXED, "epsilon"),
    "one-time-rappor": (mechanisms.OneTimeRappor(0.5, 5), np.int32(3), "coin_chance"),
    "rappor": (mechanisms.Rappor(0.5, 0.7, 0.2, 5), np.int32(3), "coin_chance"),
    "symmetric-unary-encoding": (
        mechanisms.SymmetricUnaryEncoding(0.7, 3), np.int32(1), "epsilon"
    ),
    "optimized-unary-encoding": (
        mechanisms.OptimizedUnaryEncoding(0.7, 3), np.int32(1), "epsilon"
    ),
    "thresholded-histogram-encoding": (
        mechanisms.ThresholdedHistogramEncoding(0.7, 0.6, 3), np.int32(1), "epsilon"
    ),
    "local-hashing": (mechanisms.LocalHashing(0.7, 3, 3), np.int32(1), "epsilon"),
    "subset-selection": (mechanisms.SubsetSelection(0.7, 2, 5), np.int32(3), "epsilon"),
    "svt3": (mechanisms.SVT3(1.5, 1.0, 3), THREE, "epsilon"),
    "numerical-svt": (mechanisms.NumericalSVT(1.5, 1.0, 3), THREE, "epsilon"),
    "svt3-svt4": (mechanisms.SVT3And4(1.5, 1.0, 2), THREE[:2], "epsilon"),
    "parallel-laplace": (mechanisms.ParallelLaplace(0.7), np.float32(0.3), "epsilon"),
    "prefix-sum": (mechanisms.PrefixSum(0.7), THREE, "epsilon"),
    "summed-histogram-encoding": (
        mechanisms.SummedHistogramEncoding(0.7), np.int32(1), "epsilon"
    ),
}  # fmt: skip
VECTORS = [name for name, case in CASES.items() if isinstance(case[0].output_space, VectorSpace)]

MORE_LAWS = {
    "svt1, two positives": mechanisms.SVT1(1.5, num_queries=4, max_positives=2),
    "svt2, two positives": mechanisms.SVT2(1.5, num_queries=4, max_positives=2),
    "svt4, two positives": mechanisms.SVT4.at_level(6.0, num_queries=4, max_positives=2),
}

TRACES = Counter()
"""Number of traces of `draw`, by class."""


# By class, since jax 0.10 may confuse the programs of two classes.
@jit_by_class(static_argnames=("num_samples",))
def draw(mechanism, key, database, num_samples):
    TRACES[type(mechanism)] += 1
    return mechanism.sample(key, database, num_samples)


def draws_of(mechanism, database, num_samples=NUM_DRAWS, seed=1):
    """Draw with parameters, key and database as arguments: tests share one program per class."""
    return np.asarray(draw(mechanism, random.as_key(seed), jnp.asarray(database), num_samples))


def test_the_table_is_the_catalogue():
    assert set(CASES) == set(CATALOGUE)
    for name, (mechanism, _, _) in CASES.items():
        assert type(mechanism) is CATALOGUE[name] is find_mechanism(name)


@pytest.mark.parametrize("name", CASES)
def test_statements(name):
    mechanism = CATALOGUE[name]()
    assert isinstance(mechanism, Mechanism)
    assert mechanism.name == name and mechanism.source
    assert mechanism.level > 0
    assert "References:" in type(mechanism).__doc__
    pairs = mechanism.standard_pairs()
    assert isinstance(pairs, Pairs) and len(pairs) >= 1
    space = mechanism.output_space
    finite = isinstance(space, FiniteSpace)
    assert (mechanism.standard_region is None) == finite
    if not finite:
        low, high = mechanism.standard_region
        assert np.all(np.asarray(low) < np.asarray(high))
        assert np.shape(low) == ((space.dimension,) if isinstance(space, VectorSpace) else ())
    # Each class is a pytree whose numeric parameters are leaves.
    leaves = jax.tree.leaves(mechanism)
    assert leaves and all(isinstance(leaf, float) for leaf in leaves)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", CASES)
def test_draws_keep_the_contract(name):
    mechanism, database, parameter = CASES[name]
    space = mechanism.output_space
    one = draws_of(mechanism, database)
    width = {VectorSpace: getattr(space, "dimension", None), MixedSpace: 2}.get(type(space))
    assert one.shape == ((NUM_DRAWS,) if width is None else (NUM_DRAWS, width))
    integers = isinstance(space, FiniteSpace | IntegerSpace)
    assert one.dtype == (np.int32 if integers else np.float32)
    if isinstance(space, FiniteSpace):
        assert one.min() >= 0 and one.max() < space.size
    elif isinstance(space, RealSpace):
        assert one.min() >= space.low and one.max() <= space.high
        assert len(np.unique(one[:999])) > 990
    elif isinstance(space, MixedSpace):
        assert np.all(one[:, 0] == np.floor(one[:, 0]))
        assert one[:, 0].min() >= 0 and one[:, 0].max() < space.num_labels
    traces = TRACES[type(mechanism)]
    np.testing.assert_array_equal(one, draws_of(mechanism, database))
    assert not np.array_equal(one, draws_of(mechanism, database, seed=2))

    # A sweep over the parameter needs one compilation.
    draws_of(replace(mechanism, **{parameter: 0.6 * getattr(mechanism, parameter)}), database)
    assert TRACES[type(mechanism)] == traces


FIRST = {type(case[0]).__module__: name for name, case in reversed(CASES.items())}
"""First mechanism of each module."""


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", FIRST.values())
def test_vmap_over_a_parameter_and_databases_gives_the_same_draws(name):
    """Compare the first draws, which do not depend on the number of draws."""
    mechanism, database, parameter = CASES[name]
    base = getattr(mechanism, parameter)
    sweep = [replace(mechanism, **{parameter: base * factor}) for factor in (1.0, 0.6, 1.7)]
    moved = database - 1 if database.dtype == np.int32 else database + np.float32(0.25)
    asked = [*((m, database) for m in sweep), (mechanism, moved)]
    separate = np.stack([draws_of(*one)[:999] for one in asked])
    stacked = jax.tree.map(lambda *leaves: np.array(leaves, np.float32), *sweep)
    over_databases = jax.vmap(lambda m, x: m.sample(random.as_key(1), x, 999), (None, 0))
    over_both = jax.jit(jax.vmap(over_databases, (0, None)))
    together = np.asarray(over_both(stacked, np.stack([database, moved])))
    together = np.concatenate([together[:, 0], together[:1, 1]])
    if separate.dtype == np.int32:
        # Rounding may break a tie differently, in one draw in a million.
        assert np.mean(together != separate) < 2e-3
    else:
        np.testing.assert_allclose(together, separate, rtol=1e-4, atol=1e-5)


# Laws: counts of draws in cells, and their exact probabilities.


def mass_between(mechanism, database, edges):
    """Return exact probabilities of the cells between the edges."""
    space = mechanism.output_space

    def density(t):
        return float(reference.density(mechanism, database, t))

    inner = edges[(edges > space.low) & (edges < space.high)]
    ends = [max(space.low, edges[0] - 200.0), *inner, min(space.high, edges[-1] + 200.0)]
    masses = []
    for low, high in itertools.pairwise(ends):
        # One-sided noise starts inside a cell: its edge is a query answer, hence an edge of a cell.
        masses.append(integrate.quad(density, low, high, epsabs=1e-10, limit=200)[0])
    return inner, np.array(masses)


def alone(mechanism, label):
    k = mechanism.num_queries
    return (label // (k + 1) if isinstance(mechanism, mechanisms.SVT3And4) else label) == k


def masses(mechanism, database, edges, label):
    """Return the exact mass of each cell of the numbers at a label, by Gauss-Legendre."""
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


def real_cells(draws, pilot, mechanism, database):
    """Return about 30 cells of equal mass, with edges from an independent run."""
    inner = np.quantile(pilot, np.linspace(0, 1, 31)[1:-1])
    edges = np.unique(np.concatenate([inner, np.atleast_1d(database)]).astype(float))
    edges, mass = mass_between(mechanism, database, edges)
    return np.bincount(np.searchsorted(edges, draws), minlength=len(mass)), mass


def mixed_cells(draws, pilot, mechanism, database):
    """Return eight cells for the numbers of each label, one for a label that stands alone."""
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
    return np.concatenate(counts), np.concatenate(expected)


def p_values(mechanism, database, *laws):
    """Return chi-square p-values of a mechanism's draws under its exact law and under others."""
    draws, pilot = draws_of(mechanism, database), None
    if isinstance(mechanism.output_space, RealSpace | MixedSpace):
        pilot = draws_of(mechanism, database, seed=77)[: 2**14]
    return [p_value(draws, pilot, law, database) for law in (mechanism, *laws)]


def p_value(draws, pilot, law, database):
    """Return the chi-square p-value of draws under the exact law of a mechanism."""
    space = law.output_space
    if isinstance(space, RealSpace | MixedSpace):
        cells = real_cells if isinstance(space, RealSpace) else mixed_cells
        counts, mass = cells(draws, pilot, law, database)
    else:
        low, size = (0, space.size) if isinstance(space, FiniteSpace) else (-60, 121)
        mass = reference.density(law, database, np.arange(low, low + size))
        counts = np.bincount(draws - low, minlength=size)
    # 0 if an impossible output was drawn.
    if counts[mass == 0].any():
        return 0.0
    assert mass.sum() == pytest.approx(1, abs=1e-7)
    # Merge rare cells, so that each expects at least ten draws.
    rare = mass * NUM_DRAWS < 10
    counts = np.append(counts[~rare], counts[rare].sum())
    mass = np.append(mass[~rare], mass[rare].sum())
    if mass[-1] * NUM_DRAWS < 10:
        counts = np.append(counts[:-2], counts[-2:].sum())
        mass = np.append(mass[:-2], mass[-2:].sum())
    return stats.chisquare(counts, mass / mass.sum() * NUM_DRAWS).pvalue


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [name for name in CASES if name not in VECTORS])
def test_draws_follow_the_exact_law_and_no_other(name):
    mechanism, database, parameter = CASES[name]
    wrong = replace(mechanism, **{parameter: WRONG * getattr(mechanism, parameter)})
    own, other = p_values(mechanism, database, wrong)
    assert own > FALSE_ALARM
    assert other < FALSE_ALARM


@pytest.mark.parametrize("name", MORE_LAWS)
def test_several_positives_follow_the_exact_law(name):
    mechanism = MORE_LAWS[name]
    wrong = replace(mechanism, epsilon=WRONG * mechanism.epsilon)
    own, other = p_values(mechanism, MIXED, wrong)
    assert own > FALSE_ALARM
    assert other < FALSE_ALARM


@pytest.mark.parametrize("name", ["svt2", "svt6", "report-noisy-max", "continuous-noisy-max"])
def test_standard_sizes_follow_the_exact_law(name):
    mechanism = CATALOGUE[name](1.5)
    database = mechanism.standard_pairs().neighbor[2]
    assert p_values(mechanism, database)[0] > FALSE_ALARM


@pytest.mark.one_in(3)
@pytest.mark.parametrize("database", [0.0, 0.02, 0.5, 1.0])
def test_truncated_laws_at_the_ends(database):
    for mechanism in (
        mechanisms.TruncatedLaplace(0.05),
        mechanisms.TruncatedGaussian(0.05),
        mechanisms.TruncatedLaplace(30.0),
        mechanisms.TruncatedGaussian(30.0),
    ):
        assert p_values(mechanism, np.float32(database))[0] > FALSE_ALARM


def test_the_rare_answer_of_two_point_comes_at_its_rate():
    """P(1) = e^-12 in 2^22 draws: 26 expected."""
    mechanism = mechanisms.TwoPoint(12.0, 5.0)
    count = sum(int(draws_of(mechanism, np.int32(0), seed=seed).sum()) for seed in range(4))
    assert stats.binomtest(count, 4 * NUM_DRAWS, np.exp(-12.0)).pvalue > FALSE_ALARM


NOISES = {
    # The unit noise in the outputs, by hand: entry minus truth, over the scale.
    "parallel-laplace": lambda y, e: (y - 0.3) * e,
    "prefix-sum": lambda y, e: (y - np.c_[0 * y[:, :1], y[:, :-1]] - THREE) * e,
    "summed-histogram-encoding": lambda y, e: (y - [0, 1, 0]) * e / 2,
}


def vector_p_value(draws, name, epsilon):
    """Three unit noise terms fall into 6 x 6 x 6 cells of equal mass."""
    cells = np.floor(6 * stats.laplace.cdf(NOISES[name](draws, epsilon))).clip(0, 5).astype(int)
    counts = np.bincount(cells @ [36, 6, 1], minlength=216)
    return stats.chisquare(counts).pvalue


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", VECTORS)
def test_vector_draws_follow_the_exact_law_and_no_other(name):
    mechanism, database, _ = CASES[name]
    draws = draws_of(mechanism, database)
    assert vector_p_value(draws, name, 0.7) > FALSE_ALARM
    assert vector_p_value(draws, name, 0.7 * WRONG) < FALSE_ALARM
    # The density is that of the noise, times the change of volume by the scale.
    outputs = draws[:50].astype(float)
    scale = 2 / 0.7 if name == "summed-histogram-encoding" else 1 / 0.7
    expected = np.prod(stats.laplace.pdf(NOISES[name](outputs, 0.7)) / scale, axis=1)
    np.testing.assert_allclose(reference.density(mechanism, database, outputs), expected, rtol=1e-5)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 400.0, 1200.0])
def test_the_level_of_a_thresholded_histogram_has_all_digits(epsilon):
    """The probabilities 1 - p and q are far below the rounding error of 1 for large levels."""
    half = Decimal(epsilon) / 2
    rest = (half * Decimal("-0.25")).exp() / 2
    other = (half * Decimal("-0.75")).exp() / 2
    exact = ((1 - rest) * (1 - other) / (rest * other)).ln()
    found = mechanisms.ThresholdedHistogramEncoding(epsilon, 0.75).level
    assert found == pytest.approx(float(exact), rel=1e-13)
