"""empirical_privacy end to end: true values, composition of its parts, JSON, and refusals."""

import json
from itertools import combinations, pairwise, permutations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy
from scipy.integrate import quad

from dpjax.empirical import (
    Adversary,
    Density,
    EmpiricalPrivacy,
    JaxQuery,
    VariableBandwidth,
    _bandwidth,
    _checks,
    calibrate_noise,
    empirical_privacy,
    panel_from_array,
)
from dpjax.empirical._bandwidth import _subsample, nearest_distances
from dpjax.empirical._checks import check_coverage, check_independence, runs_p_value


def years(num_databases=12, num_individuals=8, seed=0):
    rng = np.random.default_rng(seed)
    return rng.gamma(2.0, 3.0, num_individuals) * np.exp(
        0.3 * rng.normal(size=(num_databases, num_individuals))
    )


def naive_delta(full, without, width, epsilon):
    """Compute Algorithm 2 as printed, with scipy's quad between the kinks."""

    def density(sample):
        return lambda x: np.mean(np.exp(-np.abs(x - sample) / width)) / (2 * width)

    p, q = density(full), density(without)
    ends = np.unique(np.concatenate([full, without]))
    ends = np.concatenate([[ends[0] - 30 * width], ends, [ends[-1] + 30 * width]])
    sides = []
    for u, v in ((p, q), (q, p)):
        parts = [
            quad(lambda x, u=u, v=v: max(u(x) - np.exp(epsilon) * v(x), 0), a, b, epsabs=1e-10)[0]
            for a, b in pairwise(ends)
        ]
        sides.append(sum(parts))
    return max(sides)


def test_algorithm_1_as_printed():
    values = years(4, 3)
    result = empirical_privacy(
        values, "mean", epsilon=[0.0, 0.2, 1.0], density=Density(bandwidth=0.4)
    )
    for e, epsilon in enumerate(result.epsilons):
        deltas = [
            naive_delta(values.mean(1), np.delete(values, i, 1).mean(1), 0.4, epsilon)
            for i in range(3)
        ]
        np.testing.assert_allclose(result.deltas[:, e], deltas, atol=1e-6)
        assert result.delta[e] == pytest.approx(max(deltas), abs=1e-6)
        assert result.total_risk[e] == pytest.approx(1 - np.prod(1 - np.array(deltas)), abs=1e-6)


def test_two_points_by_hand():
    # The densities are Laplace kernels of scale 1 at 0 and at d. TV is 1 - e^(-d/2), and
    # the largest log ratio is d, so delta is 0 for epsilon >= d.
    d = 0.8
    values = np.array([[0.0, d]])
    result = empirical_privacy(
        values, "sum", epsilon=[0.0, d - 0.01, d], density=Density(bandwidth=1.0)
    )
    assert result.deltas[1, 0] == pytest.approx(1 - np.exp(-d / 2), abs=1e-14)
    # The formula gives the mass beyond the crossing x = (d - eps) / 2.
    crossing = (d - (d - 0.01)) / 2
    by_hand = 1 - np.exp(-crossing) / 2 - np.exp(d - 0.01) * np.exp(crossing - d) / 2
    assert result.deltas[1, 1] == pytest.approx(by_hand, abs=1e-12)
    assert result.deltas[1, 2] == 0
    assert result.epsilon_at_zero == pytest.approx(d, abs=1e-3)
    assert result.epsilon_at_zero <= d
    np.testing.assert_array_equal(result.deltas[0], 0)


@pytest.mark.parametrize("kernel", ["laplace", "gaussian", "ecdf"])
def test_epsilon_at_zero_is_where_delta_vanishes(kernel):
    values = years(20, 30, seed=3)
    first = empirical_privacy(
        values, "mean", epsilon=[0.1], density=Density(kernel), tolerance=1e-6
    )
    zero = first.epsilon_at_zero
    if np.isinf(zero):
        assert kernel == "ecdf"
        return
    around = [zero * (1 + 1e-6), zero * (1 - 1e-3)]
    result = empirical_privacy(
        values, "mean", epsilon=around, density=Density(kernel), tolerance=1e-6
    )
    assert result.delta[0] <= 1e-6 * (1 + 1e-3)
    assert result.delta[1] > 1e-6


@pytest.mark.parametrize(
    "bandwidth", ["likelihood", "silverman", "scott", "variable", VariableBandwidth(0.7, 3), 0.5]
)
@pytest.mark.parametrize("kernel", ["laplace", "gaussian", "likelihood"])
def test_deltas_fall_with_epsilon_for_every_density(kernel, bandwidth):
    epsilons = np.linspace(0, 2, 9)
    result = empirical_privacy(
        years(9, 4), "mean", epsilon=epsilons, density=Density(kernel, bandwidth)
    )
    assert (np.diff(result.deltas, axis=1) <= 1e-9).all()
    assert ((result.deltas >= 0) & (result.deltas <= 1)).all()
    assert result.integration_error < 1e-6
    assert (result.total_risk >= result.delta - 1e-12).all()


def test_individuals_in_other_rows_and_blocks_do_not_matter(monkeypatch):
    values = years(10, 40)
    whole = empirical_privacy(values, "mean", epsilon=[0.0, 0.1], density=Density(bandwidth=0.3))
    monkeypatch.setattr("dpjax.empirical._risk._BLOCK_SIZE", 200)
    blocks = empirical_privacy(values, "mean", epsilon=[0.0, 0.1], density=Density(bandwidth=0.3))
    np.testing.assert_array_equal(whole.deltas, blocks.deltas)
    assert blocks.epsilon_at_zero == pytest.approx(whole.epsilon_at_zero, abs=1e-8)
    order = np.random.default_rng(0).permutation(40)
    mixed = empirical_privacy(
        values[:, order], "mean", epsilon=[0.0, 0.1], density=Density(bandwidth=0.3)
    )
    np.testing.assert_allclose(mixed.deltas, whole.deltas[order], atol=1e-12)


def test_composition_can_reveal_what_the_parts_hide():
    # The paper's example releases a sum with and a sum without one individual together.
    values = years(30, 4, seed=1)
    values[:, 2] = 3.0
    both = np.stack([values, values * (np.arange(4) != 2)], axis=2)
    density = Density(bandwidth=1.0, cells=128)
    options = {"epsilon": [0.5], "density": density}
    alone = empirical_privacy(both, "sum:value_0", **options).deltas[2, 0]
    together = empirical_privacy(both, ("sum:value_0", "sum:value_1"), **options)
    assert together.deltas[2, 0] > alone + 0.1
    assert 0 < together.integration_error < 5e-3


def test_adversary_buckets_are_the_parts_of_the_data():
    values = years(16, 5)
    labels = np.array(["wet", "dry"] * 8)
    result = empirical_privacy(
        values,
        "mean",
        epsilon=[0.0, 0.3],
        density=Density(bandwidth=0.5),
        adversary=Adversary(labels),
    )
    parts = [
        empirical_privacy(
            values[labels == z], "mean", epsilon=[0.0, 0.3], density=Density(bandwidth=0.5)
        )
        for z in ("dry", "wet")
    ]
    np.testing.assert_array_equal(result.deltas, np.max([p.deltas for p in parts], axis=0))
    assert result.epsilon_at_zero == max(p.epsilon_at_zero for p in parts)
    assert [b.num_databases for b in result.buckets] == [8, 8]
    assert result.density is None and "adversary value dry" in str(result)


def test_the_error_of_all_buckets_is_the_largest():
    values, labels = years(16, 5), np.array(["wet", "dry"] * 8)
    options = {"epsilon": 0.3, "density": Density("gaussian", 0.5)}
    together = empirical_privacy(values, "mean", adversary=Adversary(labels), **options)
    errors = [
        empirical_privacy(values[labels == z], "mean", **options).integration_error
        for z in ("dry", "wet")
    ]
    assert together.integration_error == max(errors) > min(errors)


def test_adversary_queries_are_cut_into_buckets_of_equal_size():
    values = years(20, 5)
    queries = ("max", lambda v: float(np.max(v)), JaxQuery(lambda v, present: v.max(), "max"))
    results = [
        empirical_privacy(
            values, "mean", epsilon=0.1, density=Density(bandwidth=0.5), adversary=Adversary(q, 4)
        )
        for q in queries
    ]
    assert [b.num_databases for b in results[0].buckets] == [5, 5, 5, 5]
    for other in results[1:]:
        np.testing.assert_array_equal(results[0].deltas, other.deltas)


def test_a_randomised_query_hides_more_than_its_exact_form():
    import jax
    import jax.numpy as jnp

    values = years(10, 5)
    noisy = JaxQuery(
        lambda key, v, present: jnp.sum(v) + 20 * jax.random.laplace(key), num_draws=20
    )
    exact = empirical_privacy(values, "sum", epsilon=[0.0])
    hidden = empirical_privacy(values, noisy, epsilon=[0.0], key=1)
    assert hidden.results.shape == (200, 1)
    assert hidden.delta[0] < exact.delta[0] / 2


def test_bandwidth_maximises_the_likelihood_of_the_left_out_database():
    rng = np.random.default_rng(0)
    x = rng.normal(size=40)
    choice = Density("laplace").fit(x[:, None], np.arange(40))

    def naive(width):
        scores = []
        for j in range(40):
            rest = np.delete(x, j)
            scores.append(np.log(np.mean(np.exp(-np.abs(x[j] - rest) / width) / (2 * width))))
        return np.mean(scores)

    assert choice.log_likelihood == pytest.approx(naive(choice.density.scales[0]), abs=1e-12)
    for factor in (0.5, 0.9, 1.1, 2.0):
        assert naive(factor * choice.density.scales[0]) < choice.log_likelihood
    best = Density("likelihood").fit(x[:, None], np.arange(40))
    kinds = [
        Density(k, b).fit(x[:, None], np.arange(40)).log_likelihood
        for k in ("laplace", "gaussian")
        for b in ("likelihood", "variable")
    ]
    assert best.log_likelihood == max(kinds)


def test_draws_on_one_database_are_left_out_together():
    rng = np.random.default_rng(0)
    centers = np.repeat(rng.normal(size=10), 20)
    x = (centers + 0.01 * rng.normal(size=200))[:, None]
    groups = np.repeat(np.arange(10), 20)
    together = Density("gaussian").fit(x, groups)
    apart = Density("gaussian").fit(x, np.arange(200))
    assert together.density.scales[0] > 2 * apart.density.scales[0]


def test_nearest_distances():
    x = np.random.default_rng(0).normal(size=30)
    x[3] = x[4]
    for k in (1, 3, 29, 50):
        distances = np.sort(np.abs(x[:, None] - x), axis=1)[:, min(k, 29)]
        np.testing.assert_allclose(nearest_distances(x, k), distances, atol=1e-15)
    assert nearest_distances(np.array([2.0])) == [0]


def test_tied_results_fall_back_on_a_rule_and_say_so():
    values = np.repeat(years(6, 3), 2, axis=0)
    result = empirical_privacy(values, "mean", epsilon=0.1)
    assert any("a rule of thumb" in note for note in result.notes)


def test_json_and_back():
    for options in (
        {},
        {"density": Density("ecdf")},
        {"adversary": Adversary([0, 1] * 6)},
        {"density": Density(bandwidth="variable")},
    ):
        result = empirical_privacy(years(), "mean", epsilon=[0.0, 0.5], **options)
        text = result.to_json()
        names = ["epsilons", "deltas", "delta", "total_risk", "individuals", "epsilon_at_zero"]
        assert set(names) <= set(json.loads(text))
        back = EmpiricalPrivacy.from_json(text)
        assert back.to_json() == text
        np.testing.assert_array_equal(back.deltas, result.deltas)
        assert back.individuals == result.individuals
        assert back.density == result.density
        assert back.ranking() == result.ranking()
        assert str(back) == str(result)
    with pytest.raises(ValueError, match="to_json"):
        EmpiricalPrivacy.from_json("{}")


def test_the_example_of_the_docstring():
    import doctest

    import dpjax.empirical._privacy as module

    assert doctest.testmod(module).failed == 0


def test_settings_are_kept():
    settings = empirical_privacy(
        years(), "mean", epsilon=0.5, density=Density(bandwidth=VariableBandwidth(0.7)), key=3
    ).settings
    assert settings["density"]["bandwidth"] == {
        "factor": 0.7,
        "neighbor": None,
        "floor": None,
    }
    assert settings["key"] == 3 and settings["versions"]["numpy"] == np.__version__


def test_ranking_and_worst():
    values = years(10, 5)
    values[:, 3] *= 30
    result = empirical_privacy(values, "mean", epsilon=[0.3, 0.0])
    assert result.worst_individual == 3
    ranking = result.ranking(0.3)
    assert ranking[0] == (3, result.deltas[3, 0])
    assert [d for _, d in ranking] == sorted(result.deltas[:, 0], reverse=True)
    np.testing.assert_array_equal(
        result.results_without_worst[:, 0], np.delete(values, 3, 1).mean(axis=1)
    )
    with pytest.raises(ValueError, match=r"epsilon must be one of the 2 .* but was 0.7"):
        result.ranking(0.7)


def test_individuals_without_whom_the_query_is_undefined_have_no_privacy():
    values = np.array([[1.0, np.nan]] * 3 + [[2.0, np.nan]] * 3)
    result = empirical_privacy(values, "mean", epsilon=1.0, density=Density(bandwidth=1.0))
    assert result.deltas[0, 0] == 1 and result.deltas[1, 0] == 0
    assert np.isinf(result.epsilon_at_zero)
    assert any("in no database" in note for note in result.notes)
    assert any("undefined" in note for note in result.notes)
    assert "For every epsilon" in str(result)


def test_few_databases_are_said_to_be_few():
    result = empirical_privacy(years(3, 4), "mean", epsilon=1.0)
    assert any("3 databases" in note for note in result.notes)


GOOD = years()
JOINT = {"query": ("mean", "max")}


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"epsilon": -1.0}, ValueError, "epsilon must be a number >= 0"),
        ({"epsilon": [0.1, np.nan]}, ValueError, "epsilon must be"),
        ({"epsilon": "one"}, TypeError, "epsilon must be"),
        ({"epsilon": []}, ValueError, "epsilon must be"),
        ({"epsilon": 501.0}, ValueError, "from 0 to 500"),
        ({"epsilon": [[0.1, 0.2]]}, ValueError, "a number, or a list of numbers"),
        ({"density": Density(bandwidth=[1.0, 2.0])}, ValueError, "one for each of the 1 queries"),
        ({"query": ("mean", "sum", "min", "max")}, ValueError, "at most 3 numbers"),
        (JOINT | {"density": Density(bandwidth="variable")}, ValueError, "only one query"),
        (JOINT | {"density": Density("ecdf")}, ValueError, "only one query"),
        ({"query": ()}, ValueError, "query must hold at least one"),
        ({"query": "count"}, ValueError, "query 'count' was 8 in every database"),
        ({"databases": GOOD[:1]}, ValueError, "in the only database"),
        ({"adversary": Adversary([1, 2])}, ValueError, "one value for each of the 12 databases"),
        ({"adversary": Adversary(np.arange(12) // 11, 9)}, ValueError, "at least 2 databases"),
        ({"tolerance": -1.0}, ValueError, "tolerance"),
        ({"key": 0.5}, TypeError, "key must be an integer"),
        ({"density": "laplace"}, TypeError, "density must be a dpjax.empirical.Density"),
        ({"adversary": "max"}, TypeError, "adversary must be an Adversary or None"),
        ({"uncertainty": "yes"}, TypeError, "uncertainty must be True or False"),
        ({"progress": 3}, TypeError, "progress must be a function"),
        ({"databases": [[1.0, 2.0], [3.0]]}, ValueError, "lists or arrays of different shapes"),
    ],
)
def test_bad_arguments_are_named(change, error, words):
    arguments = {"databases": GOOD, "query": "mean", "epsilon": 0.1} | change
    with pytest.raises(error, match=words):
        empirical_privacy(**arguments)


def test_noise_is_calibrated_only_for_levels_and_densities_that_can_be_evaluated():
    for change, error, words in (
        ({"epsilon": 501.0}, ValueError, "epsilon must be at most 500, but was 501"),
        ({"density": "laplace"}, TypeError, "density must be a dpjax.empirical.Density"),
    ):
        with pytest.raises(error, match=words):
            calibrate_noise(GOOD, "mean", **{"epsilon": 1.0, **change})


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: Density("laplac"), ValueError, "did you mean 'laplace'"),
        (lambda: Density(bandwidth="silvermann"), ValueError, "did you mean 'silverman'"),
        (lambda: Density(bandwidth=0.0), ValueError, "bandwidth must be a number > 0"),
        (lambda: Density(cells=7), ValueError, "cells must be even"),
        (lambda: Adversary("max", 1.5), TypeError, "num_buckets"),
    ],
)
def test_options_are_checked_where_they_are_given(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_of_many_results_evenly_spaced_databases_are_kept(monkeypatch):
    monkeypatch.setattr(_bandwidth, "_MAX_PAIRS_SAMPLES", 100)
    assert _subsample(np.arange(100)).tolist() == list(range(100))
    groups = np.repeat(np.arange(50), 10)
    kept = _subsample(groups)
    assert sorted({*groups[kept]}) == [0, 5, 10, 16, 21, 27, 32, 38, 43, 49] and len(kept) == 100
    # There are two databases of 400 results each; use every eighth result of both.
    few = _subsample(np.repeat([0, 1], 400))
    assert few.tolist() == list(range(0, 800, 8))


def test_variable_bandwidths_are_for_one_query():
    samples = np.exp(3 * np.random.default_rng(1).normal(size=(30, 2)))
    groups, density = np.arange(30), Density("likelihood", "likelihood")
    assert isinstance(density.fit(samples[:, :1], groups).density.bandwidth, VariableBandwidth)
    fixed = density.fit(samples, groups, ("one", "two")).density.bandwidth
    assert isinstance(fixed, tuple) and len(fixed) == 2


def test_a_rule_needs_two_databases():
    with pytest.raises(ValueError, match="needs at least two databases; pass a number"):
        Density(bandwidth="likelihood").fit(np.array([[1.0], [2.0]]), np.array([3, 3]))
    with pytest.raises(ValueError, match=r"query 'query' was 1 in every database: bandwidth"):
        Density(bandwidth="likelihood").fit(np.ones((2, 1)), np.array([0, 1]))


def test_runs_test_is_exact():
    # Enumerate all orders of 4 values above and 3 values below the median.
    counts = {}
    for above in combinations(range(7), 4):
        row = [k in above for k in range(7)]
        runs = 1 + sum(a != b for a, b in pairwise(row))
        counts[runs] = counts.get(runs, 0) + 1
    total = sum(counts.values())
    for runs, count in counts.items():
        naive = sum(c for c in counts.values() if c <= count) / total
        assert runs_p_value(runs, 4, 3) == pytest.approx(naive, abs=1e-12)
    assert np.isnan(runs_p_value(1, 0, 5))


def test_autocorrelation_is_compared_with_all_orders():
    results = np.array([0.3, 1.7, 2.2, -0.4, 0.9])
    centred = results - results.mean()

    def correlation(order):
        return centred[list(order[1:])] @ centred[list(order[:-1])] / (centred @ centred)

    orders = np.array([correlation(order) for order in permutations(range(5))])
    # The mean over all orders is -1/5.
    exact = np.mean(np.abs(orders + 1 / 5) >= np.abs(orders[0] + 1 / 5) - 1e-12)
    (check,) = check_independence(results[:, None])
    assert check.autocorrelation == pytest.approx(orders[0], abs=1e-12)
    # For 9999 random orders, allow 4.5 standard errors; the false-alarm rate is 7e-6.
    error = np.sqrt(exact * (1 - exact) / 9999)
    assert check.autocorrelation_p_value == pytest.approx(exact, abs=4.5 * error + 1e-4)
    walk = np.cumsum(np.random.default_rng(0).normal(size=60))
    # The second query is constant and has no order.
    check, constant = check_independence(np.stack([walk, np.ones(60)], 1), ("walk", "one"))
    assert check.runs_p_value < 1e-3 and check.autocorrelation_p_value < 1e-3
    assert check.p_value < 1e-3 and "look dependent" in str(check)
    assert "one: independence cannot be tested" in str(constant)
    swapped = check_independence(np.stack([np.ones(60), walk], 1), ("one", "walk"))
    assert swapped[1] == check and np.isnan(swapped[0].p_value)
    (few,) = check_independence(np.arange(3.0)[:, None])
    assert "too few" in str(few) and (few.runs, few.query) == (2, "query")


@pytest.mark.slow
@pytest.mark.parametrize("num_queries", [1, 3])
def test_independent_databases_look_dependent_as_rarely_as_is_said(monkeypatch, num_queries):
    """The rate is that of all tests together. Two tests at 0.05 each had a rate of 0.087."""
    # This is valid for any number of orders whose product with 0.01 is an integer.
    monkeypatch.setattr(_checks, "_PERMUTATIONS", 199)
    rng, alarms = np.random.default_rng(5), 0
    for number in range(2000):
        # There are two shapes of results. For odd numbers of databases, one result is the median.
        results = rng.normal(size=(15 + number % 10, num_queries)) ** (1 + 2 * (number % 2))
        checks = check_independence(results, ("q",) * num_queries, key=number)
        alarms += any("look dependent" in str(check) for check in checks)
    # At a rate of 0.01, more alarms have probability 1e-5. For one query, no alarm would have
    # probability 1e-5 at a rate of 0.006; for several, the smallest p-values are tied for so few
    # orders, so there is no alarm.
    assert alarms <= scipy.stats.binom.ppf(1 - 1e-5, 2000, 0.01)
    assert alarms > 0 or num_queries > 1


@pytest.mark.slow
def test_dependent_databases_look_dependent():
    """Test 41 years with a correlation of 0.7 between consecutive years."""
    rng, seen = np.random.default_rng(6), 0
    for number in range(40):
        noise, results = rng.normal(size=41), np.zeros(41)
        for year in range(41):
            results[year] = 0.7 * results[year - 1] * (year > 0) + noise[year]
        (check,) = check_independence(results[:, None], key=number)
        seen += "look dependent" in str(check)
    # The power, measured with 500 panels, is 0.95; even at 0.93, fewer have probability 1e-5.
    assert seen >= 28


def test_coverage_in_words():
    check = check_coverage(np.array([4, 4, 1, 0]), 4)
    assert (check.fewest, check.num_everywhere, check.num_rare) == (0, 2, 2)
    assert "2 individuals appear in fewer than half" in str(check)


@pytest.mark.parametrize("dependent", [False, True])
def test_the_headline_says_that_databases_look_dependent(dependent):
    noise = np.random.default_rng(5).normal(size=(60, 20))
    steps = np.cumsum(noise, axis=0) if dependent else noise
    result = empirical_privacy(10 + steps, "mean", epsilon=[0.0, 1.0])
    for verdict in (result._document(Path("x.md"))[0].verdict, result._glance().verdict):
        assert (verdict.kind == "doubtful") == dependent
        assert ("look dependent" in verdict.headline) == dependent
        assert ("DOUBTFUL: The privacy levels assume" in str(result)) == dependent


@pytest.mark.parametrize("flat", [0, 1])
def test_the_query_that_does_not_vary_is_named(flat):
    queries = ("count", "mean")[:: 1 - 2 * flat]
    with pytest.raises(ValueError, match=r"query 'count' was 8 in every database"):
        empirical_privacy(GOOD, queries, epsilon=0.1)


@pytest.mark.parametrize("uncertainty", [False, True])
def test_a_printed_result_has_a_row_for_each_of_nine_epsilons(uncertainty):
    """A row has epsilon, delta, the total risk and, if it is known, the standard error of delta."""
    options = {"epsilon": np.linspace(0, 2, 33), "uncertainty": uncertainty}
    result = empirical_privacy(years(), "mean", **options, density=Density(bandwidth=0.4))
    head, *lines = str(result).splitlines()
    assert head == "Empirical privacy of mean: 8 individuals, 12 databases"
    start = lines.index(next(line for line in lines if "total risk" in line))
    assert ("standard error of delta" in lines[start]) == uncertainty
    rows = [[float(word) for word in line.split()] for line in lines[start + 1 : start + 10]]
    assert [row[0] for row in rows] == np.linspace(0, 2, 9).tolist()
    places = [result.epsilons.tolist().index(row[0]) for row in rows]
    for row, place in zip(rows, places, strict=True):
        expected = [result.epsilons[place], result.delta[place], result.total_risk[place]]
        if uncertainty:
            expected.append(result.delta_error[place])
        assert row == pytest.approx(expected, rel=1e-3)
    assert (
        lines[start + 10] == "" and len({len(line) for line in lines[start + 1 : start + 10]}) == 1
    )


@pytest.mark.parametrize("buckets", [2, 3, 7])
def test_databases_with_equal_knowledge_share_a_bucket(buckets):
    """The adversary knows one of eight numbers of each of 200 databases."""
    rng = np.random.default_rng(5)
    known = rng.integers(0, 8, 200) / 4
    found = Adversary(known, buckets).buckets(panel_from_array(np.ones((200, 3))), 0)
    assert sorted(np.concatenate([members for _, members in found])) == list(range(200))
    levels = [set(known[members]) for _, members in found]
    assert all(max(one) < min(other) for one, other in pairwise(levels))
    # Each number is known of about 25 databases, so no bucket differs by more from its share.
    assert all(abs(len(members) - 200 / buckets) < 25 for _, members in found)
    order = rng.permutation(200)
    again = Adversary(known[order], buckets).buckets(panel_from_array(np.ones((200, 3))), 0)
    assert [label for label, _ in again] == [label for label, _ in found]
    for (_, one), (_, other) in zip(found, again, strict=True):
        np.testing.assert_array_equal(np.sort(order[other]), one)


@pytest.mark.parametrize(
    "known",
    [
        np.repeat([0.0, 1.0, np.nan], 10),
        np.array([0.0] * 10 + [1] * 10 + [None] * 10, object),
        np.array(["a"] * 10 + ["b"] * 10 + [None] * 10, object),
        np.array([0.0] * 10 + [1] * 10 + [pd.NA] * 10, object),
    ],
    ids=["nan", "none", "labels", "pandas"],
)
def test_databases_about_which_nothing_is_known(known):
    found = Adversary(known).buckets(panel_from_array(np.ones((30, 3))), 0)
    assert [label for label, _ in found][2] == "adversary value unknown"
    assert [members.tolist() for _, members in found] == np.arange(30).reshape(3, 10).tolist()
