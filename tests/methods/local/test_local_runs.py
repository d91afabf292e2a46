"""DPL and MPL compared with naive code on the same draws, in every layout, compiled once."""

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from dpjax import Execution, Local, mechanisms, reference
from dpjax.core import random
from dpjax.core.jit import jit_by_class
from dpjax.core.numerics import FIXED_POINT
from dpjax.core.streaming import block_size_for
from dpjax.databases import Pairs
from dpjax.densities import Fixed, Silverman, as_rule
from dpjax.methods.local import _search, dpl_runs, mpl_runs
from dpjax.methods.local._confirm import confirm_pair
from dpjax.methods.local._findings import evidence_of
from dpjax.methods.local._method import _searched
from dpjax.methods.local._search import search_pair
from dpjax.partitions import Box, as_region, product_grid
from dpjax.sources.streams import DrawnStreams

ONE = Execution()
RUN = jnp.zeros(1, jnp.int32)
SMALL = Local(300, 400)
NUM_SEARCH, NUM_CONFIRM = 4500, 9000
"""Sizes of one block and of two blocks, for which the naive code needs only one program."""


def shifts(number):
    """Return the last standard pairs of the Laplace mechanism."""
    pairs = mechanisms.Laplace(1.0).standard_pairs()
    return Pairs(pairs.database[-number:], pairs.neighbor[-number:])


def statistics(mechanism, pairs, region, settings, key=3, runs=RUN, execution=ONE):
    return mpl_runs(streams_of(mechanism, pairs, key), region, settings, runs, execution=execution)


def streams_of(mechanism, pairs, key):
    return DrawnStreams(mechanism, pairs.database, pairs.neighbor, random.as_key(key))


@jit_by_class(static_argnames=("size",))
def sample(mechanism, key, database, *, size):
    return mechanism.sample(key, database, size)


def draws(mechanism, database, key, pair, side, stage, n):
    """Return the draws of a stream, using only the documented keys."""
    for part in (0, pair, side, stage):
        key = jax.random.fold_in(key, part)
    size = block_size_for(n)
    blocks = [
        sample(mechanism, jax.random.fold_in(key, b), database, size=size)
        for b in range(-(-n // size))
    ]
    return np.concatenate([np.asarray(b) for b in blocks])[:n].astype(float)


def naive_kde(samples, points, h):
    scaled = (points[:, None] - samples[None, :]) / h
    return np.exp(-(scaled**2) / 2).sum(axis=1) / (len(samples) * h * np.sqrt(2 * np.pi))


def naive_nrd0(samples, n):
    low, high = np.quantile(samples, [0.25, 0.75])
    return 0.9 * min(np.std(samples, ddof=1), (high - low) / 1.34) * n**-0.2


@pytest.mark.parametrize("density", ["binned", "direct"])
def test_mpl_of_a_density_is_its_naive_twin(density):
    mechanism = mechanisms.Laplace(1.5)
    pairs = shifts(3)
    n, confirm = NUM_SEARCH, NUM_CONFIRM
    settings = Local(
        n, confirm, bandwidth=Silverman(), floor=1e-3, density=density, objective="loss"
    )
    found = jax.tree.map(lambda leaf: leaf[0], statistics(mechanism, pairs, Box(-1, 1), settings))
    key = random.as_key(3)
    grid = np.linspace(-1, 1, 401)
    size = 2048  # Draws of the pilot that determines the bandwidth.
    losses, points = [], []
    for b in range(3):
        sides = [
            draws(mechanism, d, key, b, side, 0, n)
            for side, d in enumerate((pairs.database[b], pairs.neighbor[b]))
        ]
        density = [np.maximum(naive_kde(x, grid, naive_nrd0(x[:size], n)), 1e-3) for x in sides]
        loss = np.abs(np.log(density[0] / density[1]))
        losses.append(loss.max())
        points.append(grid[loss.argmax()])
    # The bandwidth is rounded to 12 bits, and quartiles are counted: error 1e-3 in the loss.
    np.testing.assert_allclose(found.pair_scores, losses, atol=4e-3)
    best = int(np.argmax(losses))
    assert int(found.pair) == best
    assert abs(float(found.found.point[0]) - points[best]) < 0.02

    # The confirmation uses exactly the point and the bandwidth of the search.
    point, h = float(found.found.point[0]), float(found.confirmation.bandwidth)
    fresh = [
        draws(mechanism, d, key, best, side, 1, confirm)
        for side, d in enumerate((pairs.database[best], pairs.neighbor[best]))
    ]
    search = [
        draws(mechanism, d, key, best, side, 0, n)[:size]
        for side, d in enumerate((pairs.database[best], pairs.neighbor[best]))
    ]
    rate = confirm ** -(0.2 + settings.confirm_undersmoothing)
    expected_h = np.mean([naive_nrd0(x, n) / n**-0.2 for x in search]) * rate
    # Quartiles are observed values, which differ from NumPy's by at most one spacing.
    np.testing.assert_allclose(h, expected_h, rtol=4e-3)
    kernel = [np.exp(-(((x - point) / h) ** 2) / 2) for x in fresh]
    np.testing.assert_allclose(
        found.confirmation.kernel_sum.as_int() / FIXED_POINT, [k.sum() for k in kernel], rtol=1e-4
    )
    np.testing.assert_allclose(
        found.confirmation.kernel_sum_of_squares.as_int() / FIXED_POINT,
        [(k**2).sum() for k in kernel],
        rtol=1e-4,
    )
    inside = [np.sum((x >= max(point - h, -1)) & (x <= min(point + h, 1))) for x in fresh]
    assert np.max(np.abs(found.confirmation.events.as_int() - inside)) <= 1  # A float32 at an edge.


def test_mpl_of_outcomes_is_its_naive_twin():
    mechanism = mechanisms.ReportNoisyMax(1.5, 3)
    pairs = mechanism.standard_pairs()
    n, confirm, tau = NUM_SEARCH, NUM_CONFIRM, 1e-3
    settings = Local(n, confirm, floor=tau, objective="loss")
    region = as_region(None, mechanism.output_space)
    found = jax.tree.map(lambda leaf: leaf[0], statistics(mechanism, pairs, region, settings))
    key = random.as_key(3)
    losses, outcomes = [], []
    for b in range(10):
        p = [
            np.bincount(draws(mechanism, d, key, b, side, 0, n).astype(int), minlength=3) / n
            for side, d in enumerate((pairs.database[b], pairs.neighbor[b]))
        ]
        loss = np.abs(np.log(np.maximum(p[0], tau)) - np.log(np.maximum(p[1], tau)))
        losses.append(loss.max())
        outcomes.append(loss.argmax())
    np.testing.assert_allclose(found.pair_scores, losses, rtol=1e-5)
    best = int(np.argmax(losses))
    assert (int(found.pair), int(found.found.point)) == (best, outcomes[best])
    counts = [
        np.sum(draws(mechanism, d, key, best, side, 1, confirm) == outcomes[best])
        for side, d in enumerate((pairs.database[best], pairs.neighbor[best]))
    ]
    np.testing.assert_array_equal(found.confirmation.events.as_int(), counts)


# The fast tests use the layouts of a sweep, whose rows are these results.
@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism", [mechanisms.Laplace(0.7), mechanisms.ReportNoisyMax(0.7)], ids=lambda m: m.name
)
def test_layout_never_changes_a_result(mechanism):
    pairs = mechanism.standard_pairs()
    region = as_region(mechanism.standard_region, mechanism.output_space)
    runs = jnp.arange(3, dtype=jnp.int32)
    alone, together = (
        statistics(mechanism, pairs, region, SMALL, runs=runs, execution=execution)
        for execution in (ONE, Execution(3, 10))
    )
    assert together.pair.tolist() == alone.pair.tolist()
    np.testing.assert_array_equal(together.found.point, alone.found.point)
    # The last bits of floats may differ, because no counts depend on them.
    for expected, actual in zip(*map(jax.tree.leaves, (alone, together)), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=2e-6, atol=1e-6)
    for expected, actual in zip(
        *(jax.tree.leaves(s.confirmation) for s in (alone, together)), strict=True
    ):
        np.testing.assert_array_equal(expected, actual)


def test_stages_pairs_and_sides_share_no_draw():
    mechanism = mechanisms.Laplace(1.0)
    key = random.as_key(0)
    streams = [
        draws(mechanism, jnp.float32(0), key, pair, side, stage, 256)
        for pair in (0, 1)
        for side in (0, 1)
        for stage in (0, 1)
    ]
    assert len({stream.tobytes() for stream in streams}) == 8


@pytest.mark.slow
def test_a_sweep_over_epsilon_compiles_once():
    pairs = shifts(1)
    program = mpl_runs.program(
        *(streams_of(mechanisms.Laplace(1.0), pairs, 0), Box(-1, 1), SMALL, RUN), execution=ONE
    )
    before = program._cache_size()
    for epsilon in np.linspace(0.2, 2, 20):
        statistics(mechanisms.Laplace(float(epsilon)), pairs, Box(-1, 1), SMALL)
    assert program._cache_size() == before + 1


def lowered(mechanism, settings):
    """Return the program of one run with ten pairs before it is compiled."""
    pairs = shifts(10)
    arguments = (streams_of(mechanism, pairs, 0), Box(-1, 2), settings, RUN)
    return mpl_runs.program(*arguments, execution=ONE).lower(*arguments, execution=ONE)


@pytest.mark.parametrize("density", ["binned", "direct"])
def test_a_slow_sampler_is_traced_a_few_times_only(density):
    """Once or twice per side and stage, however often a stream is read."""
    traced = []

    def slow(key, x):
        traced.append(1)
        return x + jax.random.normal(key)

    mechanism = mechanisms.from_function(slow, np.float32(0))
    traced.clear()
    lowered(mechanism, Local(20_000, 30_000, density=density))
    assert 4 <= len(traced) <= 8


def test_memory_does_not_grow_with_the_number_of_samples():
    """3e8 float32 draws would need 1.2 GB; a block of 8192 needs 32 KiB."""
    program = lowered(mechanisms.Laplace(1.0), Local(100_000_000, 200_000_000))
    assert program.compile().memory_analysis().temp_size_in_bytes < 8 * 2**20


class Scaled:
    """Sides with very different spreads: separate bandwidths would differ by a factor of eight."""

    def sample(self, key, database, num_samples):
        return database * random.laplace(key, num_samples)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("rule", ["silverman", "scott", Fixed(0.3)])
def test_the_confirm_stage_has_one_bandwidth(rule):
    settings = Local(2000, 4000, bandwidth=as_rule(rule))

    @jax.jit
    def run(key):
        """Return only spread and bandwidth, so that XLA omits all other computations."""
        source = DrawnStreams(Scaled(), jnp.ones(1), jnp.full(1, 8.0), key)
        region = Box(-1, 1)
        found = search_pair(source, jnp.int32(0), region, settings, with_curves=False)
        confirmation = confirm_pair(source, jnp.int32(0), found, region, settings)
        return found.spread, confirmation.bandwidth

    spread, bandwidth = run(random.as_key(1))
    assert bandwidth.shape == ()
    if not isinstance(rule, Fixed):
        power = 4000 ** -(0.2 + settings.confirm_undersmoothing)
        np.testing.assert_allclose(bandwidth, np.mean(spread) * power, rtol=1e-5)


def searched_directly(database, neighbor, region):
    """Return what a direct search of one pair found, which is compiled as one program."""
    settings = Local(2000, 4000, density="direct", objective="loss")

    @jax.jit
    def search(key):
        source = DrawnStreams(Scaled(), jnp.full(1, database), jnp.full(1, neighbor), key)
        return search_pair(source, jnp.int32(0), region, settings, with_curves=True)

    return search(random.as_key(1))


@pytest.mark.slow
def test_a_direct_search_looks_closer_around_the_best_point_of_its_grid():
    """Nine points of [-3, 3] are tried, and then 33 points within a step of the best one."""
    region = Box(-3, 3, 9)
    found = searched_directly(1.0, 8.0, region)
    first, second = np.maximum(found.curves.densities, found.floor)
    losses = np.abs(np.log(first / second))
    coarse = float(region.grid()[losses.argmax(), 0])
    assert -3 < coarse < 3 and abs(float(found.point[0]) - coarse) < 6 / 8
    assert float(found.loss) > losses.max()


def test_the_fine_grid_of_a_direct_search_reaches_one_step_to_each_side(monkeypatch):
    seen = []

    def recorded(low, high, num_points):
        jax.debug.callback(lambda *ends: seen.append(ends), low, high)
        return product_grid(low, high, num_points)

    monkeypatch.setattr(_search, "product_grid", recorded)
    region = Box(-1, 7, 9)
    found = searched_directly(2.0, 6.0, region)
    jax.effects_barrier()
    losses = np.abs(np.log(np.divide(*np.maximum(found.curves.densities, found.floor))))
    coarse = float(region.grid()[losses.argmax(), 0])
    low, high = (float(end[0]) for end in seen[-1])
    assert (low, high) == (max(coarse - 1, -1), min(coarse + 1, 7))


def test_one_bandwidth_keeps_the_smoothed_loss_below_epsilon():
    """Smoothing with one bandwidth is post-processing; two bandwidths break it, by quadrature."""
    epsilon, t = 0.7, np.linspace(0, 2, 21)
    mechanism = mechanisms.Exponential(epsilon)
    grid = np.linspace(0, 60, 60_001)
    f, g = (reference.density(mechanism, s, grid) for s in (1.0, 2.0))

    def smoothed(density, h):
        step = grid[1] - grid[0]
        weights = np.exp(-(((t[:, None] - grid) / h) ** 2) / 2) / (h * np.sqrt(2 * np.pi))
        return (weights * density).sum(axis=1) * step

    for h in (0.05, 0.3, 1.0):
        assert np.max(np.abs(np.log(smoothed(f, h) / smoothed(g, h)))) <= epsilon + 1e-4
    assert np.max(np.abs(np.log(smoothed(f, 0.1) / smoothed(g, 0.3)))) > epsilon + 0.01


PAPER = {
    "a": mechanisms.Laplace,
    "b": mechanisms.ReportNoisyMax,
    "g": mechanisms.SVT5,
    "h": mechanisms.SVT6,
}


def paper_bounds(letter, epsilon, runs):
    """Return exact level and lower bounds of the paper's experiments with its settings and 0.95."""
    mechanism = PAPER[letter](epsilon)
    pairs = mechanism.standard_pairs()
    region = as_region(mechanism.standard_region, mechanism.output_space)
    n, confirm, floor = (100_000, 500_000, 1e-4) if letter in "gh" else (20_000, 50_000, 1e-3)
    settings = Local(n, confirm, floor=floor, objective="loss", bandwidth=Silverman())
    found = statistics(
        mechanism, pairs, region, settings, key=5, runs=jnp.arange(runs, dtype=jnp.int32)
    )
    level = reference.best_level(mechanism, pairs, mechanism.standard_region)
    return level, evidence_of(found, settings, region).bounds(0.95).lower_bound


@pytest.mark.slow
@pytest.mark.parametrize("letter", "ab")
def test_coverage_and_median(letter):
    """With 2000 runs, a coverage of 0.928 suffices, and 0.91 fails in 99 of 100 tests."""
    exact, bounds = paper_bounds(letter, 1.5, 2000)
    assert np.sum(bounds <= exact) >= stats.binom.ppf(1e-5, 2000, 0.95)
    # The median over 1000 runs is 1.41 to 1.45, and the deviation of a run is below 0.06.
    assert np.median(bounds) > 1.38


@pytest.mark.slow
@pytest.mark.parametrize("letter", "gh")
@pytest.mark.parametrize("epsilon", [0.7, 1.5])
def test_broken_sparse_vectors_are_refuted_in_every_run(letter, epsilon):
    assert np.all(paper_bounds(letter, epsilon, 5)[1] > epsilon)


def test_bounds_fail_as_often_as_they_may():
    """A bound that is too low or too high by half a standard error would be noticed here.

    For randomized response, the loss of both outcomes is epsilon. In 2000 runs, the fraction of
    bounds above the true level is 0.05, up to 5 standard errors (0.0049 each).
    """
    mechanism = mechanisms.RandomizedResponse(1.0)
    pairs = mechanism.standard_pairs()
    settings = Local(400, 1000)
    region = as_region([0], mechanism.output_space)
    found = statistics(mechanism, pairs, region, settings, runs=jnp.arange(2000, dtype=jnp.int32))
    bounds = evidence_of(found, settings, region).bounds(0.95)
    share = np.mean(bounds.lower_bound > 1.0)
    assert abs(share - 0.05) < 5 * np.sqrt(0.05 * 0.95 / 2000)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mechanism", "limits"),
    [
        (mechanisms.ContinuousNoisyMax(1.5), {5000: 0.05, 20_000: 0.025}),
        (mechanisms.Exponential(1.5), {5000: 0.007, 20_000: 0.0035}),
    ],
)
def test_mean_squared_error_of_dpl(mechanism, limits):
    """At or below Figure 6, with default settings: 300 runs on the pair with the full level."""
    pairs = mechanism.standard_pairs().one(9)
    region = as_region(mechanism.standard_region, mechanism.output_space)
    for n, limit in limits.items():
        found = dpl_runs(
            streams_of(mechanism, pairs, 8),
            region,
            Local(n, 5 * n // 2, floor=1e-3),
            jnp.arange(300, dtype=jnp.int32),
            execution=ONE,
        )
        assert np.mean((np.asarray(found.loss)[:, 0] - 1.5) ** 2) <= limit


@pytest.mark.parametrize(("num_samples", "num_confirm"), [(10**3, 10**6), (10**4, 10**6)])
def test_the_undersmoothing_is_one_percent_above_its_least_value(num_samples, num_confirm):
    """Condition (C4) is gamma > nu / (6 (1 + nu)), where N = n^(1 + nu)."""
    nu = {10**3: 1.0, 10**4: 0.5}[num_samples]
    found = Local(num_samples, num_confirm).confirm_undersmoothing
    assert found == pytest.approx(1.01 * nu / (6 * (1 + nu)))
    assert Local(num_samples, num_samples + 1).confirm_undersmoothing == 0.02
    assert Local(num_samples, num_confirm, undersmoothing=0.3).confirm_undersmoothing == 0.3


def test_rows_of_a_search_tell_where_a_density_is_at_the_floor():
    """Two runs of two pairs; the row of a run describes the pair with the larger score."""
    densities = np.array([[[0.5, 0.4], [0.3, 0.05]], [[0.2, 0.3], [0.9, 0.9]]])
    found = SimpleNamespace(
        score=np.array([[0.1, 0.2], [0.4, 0.3]]),
        densities=densities,
        floor=np.array([[0.1, 0.1], [0.1, 0.1]]),
        loss=np.array([[1.0, np.inf], [3.0, 4.0]]),
        point=np.arange(4.0).reshape(2, 2, 1),
    )
    first, second = _searched(found)
    assert (first.pair, second.pair) == (1, 0)
    assert (first.status, second.status) == ("ON_FLOOR", "OK")
    assert (first.statement.estimate, second.statement.estimate) == (None, 3.0)
    assert {row.statement.basis for row in (first, second)} == {"search"}
    assert (first.output, second.output) == ([1.0], [2.0])
    found.floor[0, 1] = 0.05
    assert _searched(found)[0].status == "ON_FLOOR"
    found.floor[0, 1] = 0.04
    assert _searched(found)[0].status == "OK"
