"""Histogram estimators on the device: exact counts, guarantees at the planned n, bad inputs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare

from dpjax.core import random, streaming
from dpjax.core.categories import interval_counts
from dpjax.core.errors import Status
from dpjax.core.execution import Execution
from dpjax.core.numerics import WideCount
from dpjax.core.streaming import block_size_for, blocks_of
from dpjax.inference import (
    ldp_levels,
    plan,
    plan_finite,
    plan_safety,
    renyi_levels,
    unseen_log_rarity,
)
from dpjax.mechanisms import (
    Laplace,
    RandomizedResponse,
    TruncatedGaussian,
    TruncatedLaplace,
    TwoPoint,
    from_function,
)
from dpjax.methods.histogram import HistogramEstimate, Unplanned, histogram_levels, midpoints
from dpjax.methods.histogram._counts import count_outputs
from dpjax.methods.histogram._estimate import HistogramResult
from dpjax.methods.histogram._findings import rows_of
from dpjax.reference import ExactTruncatedGaussian, ExactTruncatedLaplace

NUM_RUNS = 1_000

FEW = Unplanned(91, 24_476)
"""Three blocks of 8192 draws, the last one not full; tests with equal shapes share a program."""

THREE = midpoints(0, 1, 3)


def test_counts_are_those_of_the_same_draws_counted_naively():
    mechanism, n, m = TruncatedLaplace(0.7), FEW.num_samples, FEW.num_intervals
    result = histogram_levels(mechanism, [0.1, 0.8], FEW, key=5, num_runs=2)
    size = block_size_for(n)
    sample = jax.jit(mechanism.sample, static_argnums=2)
    for run in range(2):
        for index, x in enumerate((0.1, 0.8)):
            key = random.fold_in(random.fold_in(random.as_key(5), run), index)
            blocks = [
                sample(random.fold_in(key, b), jnp.float32(x), size) for b in range(-(-n // size))
            ]
            draws = np.concatenate(blocks)[:n]
            expected = np.bincount(np.minimum((draws * m).astype(int), m - 1), minlength=m)
            # A draw that is within the rounding error of an edge may fall on either side.
            moved = np.abs(result.counts[run, index] - expected).sum()
            assert moved <= 4
            assert result.counts[run, index].sum() == n


@pytest.mark.parametrize(
    ("mechanism", "law"),
    [
        (TruncatedLaplace(1.0), ExactTruncatedLaplace(1.0)),
        (TruncatedGaussian(0.6), ExactTruncatedGaussian(0.6)),
    ],
    ids=["laplace", "gaussian"],
)
def test_counts_follow_the_exact_law_and_reject_a_near_one(mechanism, law):
    """Four chi-square tests at level 1e-6; a scale that is wrong by 5% must be rejected."""
    n, m = 2_000_000, FEW.num_intervals
    halves = histogram_levels(mechanism, [0.0, 0.3], Unplanned(m, n // 2), key=7, num_runs=2)
    counts = halves.counts.sum(axis=0)
    edges = np.linspace(0, 1, m + 1)
    (parameter,) = vars(law).values()
    wrong = type(law)(1.05 * parameter)
    for row, x in zip(counts, (0.0, 0.3), strict=True):
        assert chisquare(row, n * np.diff(law.cdf(x, edges))).pvalue > 1e-6
        assert chisquare(row, n * np.diff(wrong.cdf(x, edges))).pvalue < 1e-6


def test_progress_is_told_in_draws_of_all_inputs_and_runs(monkeypatch):
    """Each call draws one block of each stream, like the first call of a long estimate."""
    monkeypatch.setattr(streaming, "_FIRST_DRAWS", 1)
    monkeypatch.setattr(streaming, "_CALL_SECONDS", 0.0)
    told = []
    execution = Execution(progress=lambda *both: told.append(both))
    histogram_levels(TruncatedLaplace(0.7), [0.1, 0.8], FEW, key=5, num_runs=2, execution=execution)
    total = 2 * 2 * FEW.num_samples
    done = [number for number, _ in told]
    assert {whole for _, whole in told} == {total} and done[0] == 0 and done[-1] == total
    assert done == sorted(done) and len(done) == 4


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([0, 1], "pairs must be a list of"),
        ([(0, 1, 1)], "pairs must be a list of"),
        ([(0.0, 1.0)], "pairs must be a list of"),
        ([(0, 2)], "indices >= 0 and < 2"),
        ([(-1, 0)], "indices >= 0 and < 2"),
    ],
)
def test_pairs_of_inputs_are_indices(pairs, message):
    with pytest.raises(ValueError, match=message):
        histogram_levels(TruncatedLaplace(0.7), [0.1, 0.8], FEW, key=5, num_runs=2, pairs=pairs)


def test_both_ends_belong_and_what_lies_outside_is_set_apart():
    reducer = interval_counts(-1.0, 3.0, 4)
    samples = jnp.array([-1.0, 3.0, 0.0, 0.5, -1.001, 3.001, jnp.nan, jnp.inf, 2.0])
    valid = jnp.ones(9, bool).at[-1].set(False)
    counts = jax.jit(reducer.update)(reducer.init(), samples, valid).as_int()
    assert counts[:4].tolist() == [1, 2, 0, 1]
    assert counts[:4].sum() == 4


def test_counts_pass_2_to_the_31_without_wrapping():
    reducer = interval_counts(0.0, 1.0, 2)
    full = WideCount(jnp.full(3, 2**30 - 1, jnp.int32), jnp.full(3, 9, jnp.int32))
    after = jax.jit(reducer.update)(full, jnp.full(100, 0.25), jnp.ones(100, bool)).as_int()
    assert after[0] == 10 * 2**30 - 1 + 100
    assert after[1] == 10 * 2**30 - 1


@pytest.mark.slow
def test_execution_never_changes_the_counts():
    def counts(execution):
        return histogram_levels(
            TruncatedLaplace(1.0), THREE, FEW, key=3, num_runs=9, execution=execution
        ).counts

    one_by_one = counts(Execution(1, 1))
    assert np.array_equal(one_by_one, counts(Execution(3, 2)))
    assert not np.array_equal(one_by_one[0], one_by_one[1])


def test_memory_does_not_grow_with_the_number_of_samples():
    def count(key):
        return count_outputs(
            TruncatedLaplace(1.0),
            jnp.array([0.0, 1.0]),
            key,
            (0.0, 1.0),
            blocks_of(10**10),
            jnp.arange(1, dtype=jnp.int32),
            num_intervals=91,
            execution=Execution(1, 2),
        )

    analysis = jax.jit(count).lower(random.as_key(0)).compile().memory_analysis()
    # The scan keeps the block numbers: 4 bytes for every 8192 draws.
    assert analysis.temp_size_in_bytes + analysis.output_size_in_bytes < 8 * 2**20


def drawn_counts(law, planned, inputs=(0.0, 1.0)):
    """Draw counts of 1000 runs directly; the test above shows that outputs agree with them."""
    edges = np.linspace(0, 1, planned.num_intervals + 1)
    rows = [np.diff(law.cdf(x, edges)) for x in inputs]
    rng = np.random.default_rng(planned.num_samples)
    return np.stack(
        [rng.multinomial(planned.num_samples, row / row.sum(), size=NUM_RUNS) for row in rows], 1
    )


@pytest.mark.parametrize(("epsilon", "precision"), [(0.5, 1.0), (0.7, 1.0), (0.5, 0.5)])
def test_ldp_is_within_the_precision_as_often_as_planned(epsilon, precision):
    law = ExactTruncatedLaplace(1 / epsilon)
    planned = plan(lipschitz=law.lipschitz, precision=precision, confidence=0.8)
    levels = ldp_levels(drawn_counts(law, planned), [(0, 1)])[:, 0]
    # More than 0.99 of the runs are within the precision: fewer than 0.9 has probability 1e-50.
    assert (np.abs(levels - law.epsilon) <= precision).filled(False).mean() >= 0.9
    assert planned.confidence == 0.8


@pytest.mark.parametrize(("scale", "precision"), [(5.0, 1.0), (5.0, 0.5), (3.0, 1.0)])
def test_renyi_is_within_the_precision_as_often_as_planned(scale, precision):
    law = ExactTruncatedLaplace(scale)
    planned = plan(lipschitz=law.lipschitz, precision=precision, confidence=0.9, order=2)
    levels = renyi_levels(drawn_counts(law, planned), [(0, 1)], 2)[:, 0]
    error = np.abs(levels - law.pair_renyi(0, 1, 2))
    assert (error <= precision).filled(False).mean() >= 0.9


@pytest.mark.slow
def test_all_pairs_of_mid_points_find_the_extremes():
    """Precision 0.5 and confidence 0.8 need 91 midpoints with n = 1863132 each, and 4095 pairs."""
    inputs = midpoints(0, 1, 91)
    result = histogram_levels(TruncatedLaplace(1.0), inputs, Unplanned(91, 1_863_132), key=0)
    assert result.levels.shape == (1, 4095)
    assert result.estimates[0] == pytest.approx(1.0, abs=0.02)
    first, second = result.witness()
    assert first < 0.1
    assert second > 0.9
    law = ExactTruncatedLaplace(1.0)
    exact = np.array([law.pair_epsilon(inputs[i], inputs[j]) for i, j in result.pairs])
    # The maximum of noisy log-ratios has a bias; their standard deviation is about 0.01.
    assert np.abs(result.levels[0] - exact).max() < 0.1
    assert np.corrcoef(result.levels[0], exact)[0, 1] > 0.99


def test_mid_points_halve_their_buckets():
    assert midpoints(-1.0, 3.0, 4).tolist() == [-0.5, 0.5, 1.5, 2.5]
    with pytest.raises(ValueError, match="the input interval must have low < high"):
        midpoints(1.0, 1.0, 4)


@pytest.mark.slow
def test_table_4_largest_renyi_level():
    result = histogram_levels(
        TruncatedLaplace(3.5), midpoints(0, 1, 20), Unplanned(20, 1_000_000), key=0, order=2
    )
    assert result.estimates[0] == pytest.approx(0.027, abs=0.003)


def plan_of_four(order):
    return plan_finite(
        num_outputs=4,
        least_probability=0.17,
        precision=0.1,
        confidence=0.95,
        num_inputs=4,
        order=order,
    )


@pytest.mark.parametrize("order", [None, 2.0])
def test_finite_outputs_and_inputs(order):
    """4-ary randomized response at level 1: all pairs of inputs, P(output) >= 1 / (3 + e)."""
    likely = np.exp(1.0) / (3 + np.exp(1.0))
    rare = 1 / (3 + np.exp(1.0))
    planned = plan_of_four(order)
    result = histogram_levels(
        RandomizedResponse(1.0, 4), np.arange(4), planned, key=0, num_runs=100
    )
    assert result.levels.shape == (100, 6) and result.confidence == planned.confidence
    truth = 1.0
    if order is not None:
        truth = np.log(likely**2 / rare + rare**2 / likely + 2 * rare)
    assert np.mean(np.abs(result.estimates - truth) <= 0.1) >= 0.95


def test_given_pairs_only():
    result = histogram_levels(
        RandomizedResponse(1.0, 4), np.arange(4), plan_of_four(None), key=0, num_runs=100,
        pairs=[(0, 2)],
    )  # fmt: skip
    assert result.levels.shape == (100, 1)


SAFE = Unplanned(8, 8192)
"""Number of intervals and block size of the safety check below."""


def test_an_empty_interval_is_a_status_and_never_a_number():
    # In the interval at the other end, less than one draw of 8192 is expected.
    result = histogram_levels(TruncatedLaplace(0.1), [0.0, 1.0], SAFE, key=0, num_runs=20)
    assert 0 < result.num_failed < 20
    assert result.status is Status.OK
    failed = np.any(result.counts == 0, axis=(1, 2))
    assert result.num_failed == failed.sum()
    listed = result.to_dict()["estimates"]
    assert [entry is None for entry in listed] == failed.tolist()
    all_failed = histogram_levels(TruncatedLaplace(0.02), [0.0, 1.0], SAFE, key=0, num_runs=20)
    assert all_failed.status is Status.EMPTY_INTERVAL
    assert all_failed.witness() is None
    assert all_failed.to_dict()["estimates"] == [None] * 20


def test_rows_of_runs_of_which_some_pairs_or_all_failed():
    levels = np.ma.masked_array(
        [[0.5, 2.0, 1.0], [0.5, 9.0, 1.0], [7.0, 8.0, 9.0]],
        [[False, False, False], [False, True, False], [True, True, True]],
    )
    pairs, counts = np.array([[0, 1], [0, 2], [1, 2]]), np.zeros((3, 3, 2), int)
    result = HistogramResult(np.arange(3), pairs, levels, counts, Unplanned(2, 10), None)
    rows = [(r.statement.lower_bound, r.statement.estimate, r.pair, r.status)
            for r in rows_of(result)]  # fmt: skip
    assert rows == [
        (0.0, 2.0, 1, "OK"), (0.0, 1.0, 2, "OK"), (0.0, None, 0, "EMPTY_INTERVAL"),
    ]  # fmt: skip
    assert result.num_failed == 1 and result.status is Status.OK
    assert result.witness(1) == (1, 2) and result.witness(2) is None
    alone = result.of_run(2)
    assert alone.num_runs == 1 and alone.status is Status.EMPTY_INTERVAL
    # The repr does not contain the arrays of all runs, which would fill the screen.
    assert "levels" not in repr(result) and "counts" not in repr(result)


def test_failed_pairs_are_left_out_of_the_maximum():
    result = histogram_levels(
        TruncatedLaplace(0.12), THREE, FEW, key=1, num_runs=9, execution=Execution(1, 1)
    )
    mask = np.ma.getmaskarray(result.levels)
    partly = mask.any(1) & ~mask.all(1)
    assert partly.any()
    for run in np.flatnonzero(partly):
        assert result.estimates[run] == result.levels.data[run][~mask[run]].max()


def test_hidden_leak_is_never_estimated():
    """Theorem 1: if all n draws are almost surely 0, the run fails instead of returning 0."""
    n = 10_000
    hidden = TwoPoint(log_rarity=unseen_log_rarity(n, 0.95), ratio=10.0)
    result = histogram_levels(hidden, [0, 1], Unplanned(2, n), key=0, num_runs=100)
    assert result.num_failed >= 85


def test_safety_check_takes_the_counts_of_the_runs():
    law = ExactTruncatedLaplace(1.0)
    claim = plan(lipschitz=law.lipschitz / 2, precision=1.0, confidence=0.8)
    raised, check = plan_safety(claim)
    result = histogram_levels(TruncatedLaplace(1.0), [0.0, 1.0], raised, key=0, num_runs=20)
    assert check.verdict(result.counts).refuted(0.01)


def test_user_function_with_a_stated_interval():
    def rounded_uniform(key, x):
        return 2 * jax.random.uniform(key) + 0 * x

    mechanism = from_function(rounded_uniform, 0.0)
    result = histogram_levels(
        mechanism, [0.0, 1.0], Unplanned(4, 40_000), key=0, output_interval=(0.0, 2.0)
    )
    assert result.estimates[0] < 0.1
    with pytest.raises(ValueError, match=r"outputs in \[0, 1\], but .* of 80000 draws lay outside"):
        histogram_levels(
            mechanism, [0.0, 1.0], Unplanned(4, 40_000), key=0, output_interval=(0.0, 1.0)
        )


def test_refusals():
    laplace, pair = TruncatedLaplace(1.0), [0.0, 1.0]
    ldp = plan(lipschitz=1.0, precision=1.0, confidence=0.8)
    renyi = plan(lipschitz=0.3, precision=1.0, confidence=0.8, order=2)
    with pytest.raises(ValueError, match="order must equal the plan's order, None, but was 2"):
        histogram_levels(laplace, pair, ldp, 0, order=2)
    with pytest.raises(ValueError, match="order must equal the plan's order"):
        histogram_levels(laplace, pair, renyi, 0, order=3)
    with pytest.raises(ValueError, match="order must be a number > 1"):
        histogram_levels(laplace, pair, FEW, 0, order=1.0, num_runs=2)
    with pytest.raises(ValueError, match="inputs must have the plan's length, 2, but had length 3"):
        histogram_levels(laplace, [0.0, 0.5, 1.0], ldp, 0)
    with pytest.raises(ValueError, match="inputs must hold at least two inputs"):
        histogram_levels(laplace, [0.0], ldp, 0)
    with pytest.raises(ValueError, match="output_interval must be given"):
        histogram_levels(Laplace(1.0), pair, ldp, 0)
    with pytest.raises(ValueError, match="plan must be for an output interval of width 2"):
        histogram_levels(Laplace(1.0), pair, ldp, 0, output_interval=(0.0, 2.0))
    with pytest.raises(ValueError, match="plan must have num_intervals = 3"):
        histogram_levels(RandomizedResponse(1.0, 3), [0, 1], Unplanned(2, 100), 0)
    with pytest.raises(ValueError, match="pairs must hold indices >= 0 and < 2"):
        histogram_levels(laplace, pair, FEW, 0, num_runs=2, pairs=[(0, 2)])
    with pytest.raises(ValueError, match="num_runs must be an integer >= 1"):
        histogram_levels(laplace, pair, ldp, 0, num_runs=0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((0, 100, (0, 1)), "num_intervals must be an integer >= 1"),
        ((4, 0, (0, 1)), "num_samples must be an integer >= 1"),
        ((4, 100, (0,)), "inputs must hold at least two numbers, but was"),
        ((4, 100, (0, 1), 1.0), "order must be a number > 1"),
    ],
)
def test_estimates_of_sizes_that_are_none_are_refused(given, message):
    assert HistogramEstimate(4, 100, (0, 1), 2.0).inputs == (0.0, 1.0)
    with pytest.raises(ValueError, match=message):
        HistogramEstimate(*given)
