"""What every mechanism of the catalogue keeps to, in one table.

Draws are compared with the exact law by a chi-square test at a fixed seed, which fails a right
sampler with probability 1e-5; the same test rejects each mechanism with one parameter 10% off.
"""

import itertools
import subprocess
import sys
import textwrap
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from dpjax import _random, mechanisms, reference
from dpjax._types import FiniteSpace, IntegerSpace, RealSpace, VectorSpace
from dpjax.databases import Pairs
from dpjax.mechanisms import CATALOGUE, Mechanism, find_mechanism, from_function

FALSE_ALARM = 1e-5
NUM_DRAWS = 2**20
WRONG = 1.1

MIXED = np.array([2.0, 0.4, 1.1, 0.0], np.float32)
"""Four query answers in no order, on both sides of the threshold 1."""

CASES = {
    # A mechanism small enough to compile fast, its database, and the parameter of its noise.
    "laplace": (mechanisms.Laplace(0.7), np.float32(0.3), "epsilon"),
    "gaussian": (mechanisms.Gaussian(0.7), np.float32(0.3), "sigma"),
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
    # 10% more asks for one bit less.
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
}  # fmt: skip
"""Outputs of more than one number are in test_mixed_and_vectors."""

MORE_LAWS = {
    "svt1, two positives": mechanisms.SVT1(1.5, num_queries=4, max_positives=2),
    "svt2, two positives": mechanisms.SVT2(1.5, num_queries=4, max_positives=2),
    "svt4, two positives": mechanisms.SVT4.at_level(6.0, num_queries=4, max_positives=2),
}


def draws_of(mechanism, database, num_samples, seed=1):
    draw = jax.jit(lambda key, x: mechanism.sample(key, x, num_samples))
    return np.asarray(draw(_random.as_key(seed), jnp.asarray(database)))


def test_the_table_is_the_catalogue():
    several = {"svt3", "numerical-svt", "svt3-svt4"}
    several |= {"parallel-laplace", "prefix-sum", "summed-histogram-encoding"}
    assert set(CASES) == set(CATALOGUE) - several
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
    finite = isinstance(mechanism.output_space, FiniteSpace)
    assert (mechanism.standard_region is None) == finite
    if not finite:
        low, high = mechanism.standard_region
        assert low < high
    # Each class is a pytree whose numeric parameters are leaves.
    leaves = jax.tree.leaves(mechanism)
    assert leaves and all(isinstance(leaf, float) for leaf in leaves)


@pytest.mark.parametrize("name", CASES)
def test_draws_keep_the_contract(name):
    mechanism, database, parameter = CASES[name]
    database = jnp.asarray(database)
    space = mechanism.output_space
    traces = 0

    @jax.jit
    def draw(mechanism, key, database):
        nonlocal traces
        traces += 1
        return mechanism.sample(key, database, 999)

    key, other = _random.as_key(1), _random.as_key(2)
    one = draw(mechanism, key, database)
    assert one.shape == (999,)
    assert one.dtype == (jnp.float32 if isinstance(space, RealSpace) else jnp.int32)
    if isinstance(space, FiniteSpace):
        assert one.min() >= 0 and one.max() < space.size
    elif isinstance(space, RealSpace):
        assert one.min() >= space.low and one.max() <= space.high
        assert len(np.unique(one)) > 990
    np.testing.assert_array_equal(one, draw(mechanism, key, database))
    assert not np.array_equal(one, draw(mechanism, other, database))

    # A sweep over the parameter is one compile, and vmap over it gives the same draws.
    base = getattr(mechanism, parameter)
    sweep = [replace(mechanism, **{parameter: base * factor}) for factor in (1.0, 0.6, 1.7)]
    separate = np.stack([draw(m, key, database) for m in sweep])
    assert traces == 1
    stacked = jax.tree.map(lambda *leaves: jnp.array(leaves, jnp.float32), *sweep)
    together = jax.jit(jax.vmap(lambda m: m.sample(key, database, 999)))(stacked)
    np.testing.assert_array_equal(separate[0], one)
    if isinstance(space, RealSpace):
        np.testing.assert_allclose(together, separate, rtol=1e-4, atol=1e-5)
    else:
        # Rounding may decide a tie otherwise, in one draw of a million.
        assert np.mean(together != separate) < 2e-3


@pytest.mark.parametrize("name", ["laplace", "report-noisy-max", "svt2", "exponential"])
def test_vmap_over_databases(name):
    mechanism, database, _ = CASES[name]
    databases = jnp.stack([database, database + 0.25, 2 * database])
    key = _random.as_key(1)
    draw = jax.jit(lambda x: mechanism.sample(key, x, 64))
    together = jax.jit(jax.vmap(draw))(databases)
    for x, row in zip(databases, together, strict=True):
        np.testing.assert_allclose(row, draw(x), rtol=1e-4, atol=1e-5)


# Laws.


def cells_of(mechanism, database):
    """Edges of about 30 cells of equal mass for a real output, from an independent run."""
    pilot = draws_of(mechanism, database, 2**14, seed=77)
    inner = np.quantile(pilot, np.linspace(0, 1, 31)[1:-1])
    return np.unique(np.concatenate([inner, np.atleast_1d(database)]).astype(float))


def mass_between(mechanism, database, edges):
    """Exact probabilities of the cells that the edges cut the line into."""
    space = mechanism.output_space

    def density(t):
        return float(reference.density(mechanism, database, t))

    inner = edges[(edges > space.low) & (edges < space.high)]
    ends = [max(space.low, edges[0] - 200.0), *inner, min(space.high, edges[-1] + 200.0)]
    masses = []
    for low, high in itertools.pairwise(ends):
        # One-sided noise starts inside a cell: its edge is a query's answer, hence a cell's edge.
        masses.append(integrate.quad(density, low, high, epsabs=1e-10, limit=200)[0])
    return inner, np.array(masses)


def p_value(draws, mechanism, database):
    """Chi-square of draws against the exact law; 0 where something impossible was drawn."""
    space = mechanism.output_space
    if isinstance(space, RealSpace):
        edges, mass = mass_between(mechanism, database, cells_of(mechanism, database))
        counts = np.bincount(np.searchsorted(edges, draws), minlength=len(mass))
    else:
        low, size = (0, space.size) if isinstance(space, FiniteSpace) else (-60, 121)
        mass = reference.density(mechanism, database, np.arange(low, low + size))
        counts = np.bincount(draws - low, minlength=size)
    if counts[mass == 0].any():
        return 0.0
    assert mass.sum() == pytest.approx(1, abs=1e-7)
    # Rare cells together, so that each expects at least ten.
    rare = mass * len(draws) < 10
    counts = np.append(counts[~rare], counts[rare].sum())
    mass = np.append(mass[~rare], mass[rare].sum())
    if mass[-1] * len(draws) < 10:
        counts = np.append(counts[:-2], counts[-2:].sum())
        mass = np.append(mass[:-2], mass[-2:].sum())
    return stats.chisquare(counts, mass / mass.sum() * len(draws)).pvalue


@pytest.mark.parametrize("name", CASES)
def test_draws_follow_the_exact_law_and_no_other(name):
    mechanism, database, parameter = CASES[name]
    draws = draws_of(mechanism, database, NUM_DRAWS)
    assert p_value(draws, mechanism, database) > FALSE_ALARM
    wrong = replace(mechanism, **{parameter: WRONG * getattr(mechanism, parameter)})
    assert p_value(draws, wrong, database) < FALSE_ALARM


@pytest.mark.parametrize("name", MORE_LAWS)
def test_several_positives_follow_the_exact_law(name):
    mechanism = MORE_LAWS[name]
    draws = draws_of(mechanism, MIXED, NUM_DRAWS)
    assert p_value(draws, mechanism, MIXED) > FALSE_ALARM
    wrong = replace(mechanism, epsilon=WRONG * mechanism.epsilon)
    assert p_value(draws, wrong, MIXED) < FALSE_ALARM


@pytest.mark.parametrize("name", ["svt2", "svt6", "report-noisy-max", "continuous-noisy-max"])
def test_standard_sizes_follow_the_exact_law(name):
    mechanism = CATALOGUE[name](1.5)
    database = mechanism.standard_pairs().neighbor[2]
    draws = draws_of(mechanism, database, NUM_DRAWS)
    assert p_value(draws, mechanism, database) > FALSE_ALARM


@pytest.mark.parametrize("database", [0.0, 0.02, 0.5, 1.0])
def test_truncated_laws_at_the_ends(database):
    for mechanism in (
        mechanisms.TruncatedLaplace(0.05),
        mechanisms.TruncatedGaussian(0.05),
        mechanisms.TruncatedLaplace(30.0),
        mechanisms.TruncatedGaussian(30.0),
    ):
        draws = draws_of(mechanism, np.float32(database), 2**17)
        assert p_value(draws, mechanism, np.float32(database)) > FALSE_ALARM


# Levels and parameters.


def test_stated_levels():
    assert mechanisms.NoisyHistogram2(0.5).level == 2
    assert mechanisms.ReportNoisyMax3(1.5, 6).level == 4.5
    assert mechanisms.SVT4(0.4, max_positives=1).level == pytest.approx(0.7)
    assert mechanisms.SVT4.at_level(0.7, max_positives=3).level == pytest.approx(0.7)
    assert mechanisms.SVT6(1.0).level == 5
    assert mechanisms.TwoPoint(20.0, 5.0).level == 5
    # Where 1 is not rare, the answer 0 leaks as well.
    assert mechanisms.TwoPoint(0.1, 0.2).level == pytest.approx(
        np.log1p(-np.exp(-0.3)) - np.log1p(-np.exp(-0.1))
    )
    for name in ("gaussian", "report-noisy-max-4", "svt5"):
        assert np.isinf(CATALOGUE[name]().level)


@pytest.mark.parametrize("epsilon", [0.01, 0.2, 0.7, 1.5, 10.0])
def test_exponential_rate_solves_its_equation(epsilon):
    rate = float(mechanisms.Exponential(epsilon).rate())
    level = rate + np.log(2 - np.exp(-2 * rate)) - np.log(2 - np.exp(-rate))
    assert level == pytest.approx(epsilon, rel=1e-6)


def test_the_rare_answer_of_two_point_comes_at_its_rate():
    """P(1) = e^-12 in 2^22 draws: 26 expected."""
    mechanism = mechanisms.TwoPoint(12.0, 5.0)
    count = int(draws_of(mechanism, np.int32(0), 2**22).sum())
    assert stats.binomtest(count, 2**22, np.exp(-12.0)).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (
            lambda: mechanisms.Laplace(0.0),
            ValueError,
            r"epsilon must be a number > 0, but was 0\.0",
        ),
        (lambda: mechanisms.Laplace(-1), ValueError, "epsilon must be a number > 0, but was -1"),
        (lambda: mechanisms.SVT6(np.nan), ValueError, r"epsilon .*\(finite\), but was nan"),
        (lambda: mechanisms.Gaussian(np.inf), ValueError, r"sigma .*\(finite\), but was inf"),
        (lambda: mechanisms.Laplace("1"), TypeError, "epsilon must be a number > 0, but was '1'"),
        (lambda: mechanisms.Laplace(True), TypeError, "epsilon .* but was True"),
        (lambda: mechanisms.TruncatedLaplace(0), ValueError, "scale must be a number > 0"),
        (lambda: mechanisms.TruncatedGaussian(-2), ValueError, "sigma must be a number > 0"),
        (lambda: mechanisms.TwoPoint(0.0), ValueError, "log_rarity must be a number > 0"),
        (lambda: mechanisms.TwoPoint(ratio=0.0), ValueError, "ratio must be a number > 0"),
        (lambda: mechanisms.ReportNoisyMax(1.0, 1), ValueError, "num_queries .* >= 2, but was 1"),
        (lambda: mechanisms.ReportNoisyMax(1.0, 2.0), TypeError, "num_queries .*2.0 .float"),
        (lambda: mechanisms.RandomizedResponse(1.0, 1), ValueError, "num_categories .* >= 2"),
        (lambda: mechanisms.SVT1(max_positives=0), ValueError, "max_positives .* >= 1, but was 0"),
        (lambda: mechanisms.SVT2(num_queries=21), ValueError, "num_queries must be at most 20"),
        (lambda: mechanisms.SVT4(threshold=np.inf), ValueError, "threshold must be a number"),
        (lambda: mechanisms.SVT4.at_level(0.0), ValueError, "level must be a number > 0"),
        (
            lambda: mechanisms.Laplace(jnp.array([1.0, -0.5])),
            ValueError,
            "epsilon must be a number > 0",
        ),
        (lambda: find_mechanism("svt7"), ValueError, "'svt7' is not known; did you mean 'svt"),
        (lambda: mechanisms.DiscreteGaussian(20.0), ValueError, "largest_noise .* 10 sigma"),
        (lambda: mechanisms.TruncatedGeometric(largest_count=0), ValueError, "largest_count"),
        (lambda: mechanisms.SnappedLaplace(bound=0.0), ValueError, "bound must be a number > 0"),
        (lambda: mechanisms.OneTimeRappor(1.0), ValueError, "coin_chance must lie strictly"),
        (lambda: mechanisms.OneTimeRappor(num_bits=3), ValueError, "num_bits .* 2 num_hashes = 4"),
        (
            lambda: mechanisms.Rappor(set_chance=0.4),
            ValueError,
            r"clear_chance \(p\) must be below",
        ),
        (
            lambda: mechanisms.ThresholdedHistogramEncoding(threshold=0.5),
            ValueError,
            "threshold must lie above 1/2, but was 0.5",
        ),
        (lambda: mechanisms.SubsetSelection(subset_size=6), ValueError, "subset_size .* 6 of 6"),
        (lambda: mechanisms.LocalHashing(num_buckets=20), ValueError, "num_buckets.* at most 2"),
        (lambda: mechanisms.SymmetricUnaryEncoding(1.0, 21), ValueError, "num_categories .* 20"),
    ],
)
def test_bad_parameters(make, error, message):
    with pytest.raises(error, match=message):
        make()


# Users' functions.


def test_a_user_function_is_batched():
    def noisy(key, x):
        return x + jax.random.normal(key)

    mechanism = from_function(noisy, 0.5)
    assert mechanism.output_space == RealSpace()
    draws = draws_of(mechanism, np.float32(0.5), 2**16)
    assert draws.dtype == np.float32 and draws.shape == (2**16,)
    assert stats.kstest(draws, stats.norm(0.5).cdf).pvalue > FALSE_ALARM
    key = _random.as_key(1)
    one = noisy(_random.sample_keys(key, 7)[4], 0.5)
    assert mechanism.sample(key, jnp.float32(0.5), 7)[4] == pytest.approx(float(one), rel=1e-6)


def test_output_spaces_of_user_functions():
    spaces = {
        IntegerSpace(): from_function(
            lambda key, x: jnp.int32(x - jax.random.exponential(key)), 3.0
        ),
        FiniteSpace(2): from_function(
            lambda key, x: jax.random.bernoulli(key, x), 0.3, num_outcomes=2
        ),
        VectorSpace(3): from_function(lambda key, x: x + jax.random.normal(key, (3,)), np.zeros(3)),
    }
    for space, mechanism in spaces.items():
        assert mechanism.output_space == space
    draws = spaces[FiniteSpace(2)].sample(_random.as_key(0), jnp.float32(0.3), 50)
    assert draws.dtype == jnp.int32 and draws.shape == (50,)
    assert spaces[VectorSpace(3)].sample(_random.as_key(0), jnp.zeros(3), 50).shape == (50, 3)


def branches(key, x):
    return x if jax.random.uniform(key) > 0.5 else -x


def to_numpy(key, x):
    return float(np.asarray(jax.random.uniform(key))) + x


def impure(key, x):
    return x + np.random.default_rng().normal()


def impure_constants(key, x):
    return x + jax.random.choice(key, jnp.asarray(np.random.default_rng().normal(size=1000)))


def impure_on_the_host(key, x):
    def noise(x):
        return x + np.float32(np.random.default_rng().normal())

    return jax.pure_callback(
        noise, jax.ShapeDtypeStruct((), jnp.float32), x, vmap_method="sequential"
    )


def pure_on_the_host(key, x):
    def cube(x):
        return x**3

    noisy = x + jax.random.laplace(key)
    return jax.pure_callback(
        cube, jax.ShapeDtypeStruct((), x.dtype), noisy, vmap_method="sequential"
    )


SHAPES = itertools.cycle([2, 3])


def of_varying_shape(key, x):
    return x + jax.random.normal(key, (next(SHAPES),))


def crashes(key, x):
    return x @ jnp.ones(3)


def matrix(key, x):
    return x + jax.random.normal(key, (2, 2))


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (3, TypeError, "must be a mechanism or a function, but was 3"),
        (branches, TypeError, "branches cannot be traced by JAX .*dpjax.HostMechanism"),
        (to_numpy, TypeError, "to_numpy cannot be traced by JAX .*jax.numpy and jax.random"),
        (impure, ValueError, "impure gave different outputs .* for the same key.*from the key"),
        (impure_constants, ValueError, "impure_constants gave different outputs"),
        (impure_on_the_host, ValueError, "impure_on_the_host gave different outputs"),
        (of_varying_shape, ValueError, "of_varying_shape gave different outputs or shapes"),
        (crashes, TypeError, r"crashes failed for \(key, database of shape \(\)\)"),
        (matrix, TypeError, r"matrix must return one number or one vector, but .*2, 2"),
        (lambda key, x: (x, x), TypeError, "must return one number or one vector, but returned"),
        (lambda key, x: None, TypeError, "must return one number or one vector, but .*None"),
        (lambda key, x: key, TypeError, "must return numbers, but returned key"),
        (lambda key, x: x + 1j, TypeError, "must return numbers, but returned complex64"),
        (lambda key, x: jnp.ones(1) * x, TypeError, "vector of length 1: return its one entry"),
        (lambda key, x: jnp.arange(3), TypeError, "vector of int32; encode it"),
    ],
)
def test_bad_user_functions(function, error, message):
    with pytest.raises(error, match=message):
        from_function(function, 0.0)


def adds_in_place(key, x):
    x += jax.random.laplace(key)
    return x


def centres_in_place(key, x):
    x -= x.mean()
    return x[0] + jax.random.laplace(key)


@pytest.mark.parametrize(
    ("function", "dimension"),
    [
        (lambda key, x: x.at[0].add(jax.random.laplace(key)), 3),
        (lambda key, x: x[jax.random.randint(key, (), 0, 3)], 1),
        (adds_in_place, 3),
        (centres_in_place, 1),
    ],
)
def test_user_functions_see_jax_arrays_and_change_nothing(function, dimension):
    database = np.arange(1, 4, dtype=np.float32)
    mechanism = from_function(function, database)
    assert mechanism.output_space == (RealSpace() if dimension == 1 else VectorSpace(dimension))
    np.testing.assert_array_equal(database, [1, 2, 3])


def test_a_function_may_call_the_host():
    mechanism = from_function(pure_on_the_host, np.float32(2.0))
    key = _random.as_key(0)
    expected = [(2 + float(jax.random.laplace(k))) ** 3 for k in _random.sample_keys(key, 4)]
    np.testing.assert_allclose(mechanism.sample(key, jnp.float32(2), 4), expected, rtol=1e-5)


def test_outcomes_must_be_integers():
    with pytest.raises(TypeError, match=r"num_outcomes .* returned float32\[\]"):
        from_function(lambda key, x: x + jax.random.normal(key), 0.0, num_outcomes=4)


def test_float64_where_jax_is_told_so():
    code = """
        import jax
        jax.config.update("jax_enable_x64", True)
        import jax.numpy as jnp
        import numpy as np
        from dpjax import _random, mechanisms
        key = _random.as_key(0)
        for mechanism, database, dtype in (
            (mechanisms.Laplace(0.7), 0.1, "float64"),
            (mechanisms.Exponential(0.7), 1.1, "float64"),
            (mechanisms.TruncatedGaussian(0.7), 0.1, "float64"),
            (mechanisms.ContinuousNoisyMax(0.7, 2), np.zeros(2), "float64"),
            (mechanisms.ReportNoisyMax(0.7, 2), np.ones(2), "int32"),
            (mechanisms.TwoSidedGeometric(0.7), 1, "int32"),
            (mechanisms.RandomizedResponse(0.7), 1, "int32"),
            (mechanisms.SVT2(0.7, num_queries=2), np.ones(2), "int32"),
        ):
            draws = mechanism.sample(key, jnp.asarray(database), 100)
            assert draws.dtype == dtype, (mechanism, draws.dtype)
            assert draws.shape == (100,)
        assert mechanisms.Laplace().standard_pairs().neighbor.dtype == np.float64
    """
    subprocess.run([sys.executable, "-W", "error", "-c", textwrap.dedent(code)], check=True)
