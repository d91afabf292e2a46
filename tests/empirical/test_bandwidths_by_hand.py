"""Bandwidths, the choice of a density, and checks of databases, against naive computations."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, permutations

import numpy as np
import pytest
from scipy.stats import gaussian_kde, laplace, norm

from dpjax.empirical import Density, VariableBandwidth, _bandwidth, _checks, _density, _jackknife

RNG = np.random.default_rng(7)


def naive_distance(sample, i, k):
    return sorted(abs(sample[i] - other) for j, other in enumerate(sample) if j != i)[k - 1]


@pytest.mark.parametrize("n, used", [(2, 1), (3, 2), (6, 2), (7, 3), (13, 4), (30, 5)])
def test_the_number_of_neighbours_is_the_rounded_root(n, used):
    sample = RNG.normal(size=n)
    expected = [naive_distance(sample, i, used) for i in range(n)]
    np.testing.assert_allclose(_bandwidth.nearest_distances(sample), expected)


def test_no_more_neighbours_than_there_are_others():
    sample = np.array([3.0, 1.0, 7.0])
    np.testing.assert_array_equal(_bandwidth.nearest_distances(sample, 9), [4.0, 6.0, 6.0])
    np.testing.assert_array_equal(_bandwidth.nearest_distances(sample, 1), [2.0, 2.0, 4.0])


def test_widths_of_tied_points():
    sample = np.array([0.0, 0.0, 1.0, 3.0, 7.0, 15.0])
    # Distances to the nearest point are 0, 0, 1, 2, 4, 8; the median of the positive ones is 3.
    rule = VariableBandwidth(neighbor=1)
    np.testing.assert_allclose(rule.widths(sample), [0.3, 0.3, 1, 2, 4, 8])
    np.testing.assert_allclose(replace(rule, factor=2.5).widths(sample)[:3], [0.75, 0.75, 2.5])
    np.testing.assert_allclose(replace(rule, floor=2.0).widths(sample), [2, 2, 2, 2, 4, 8])
    # All distances to the nearest point are 0; distinct points differ by 4 and 6, median 5.
    ties = np.repeat([1.0, 5.0, 11.0], 2)
    np.testing.assert_allclose(rule.widths(ties), np.full(6, 0.5))
    np.testing.assert_allclose(rule.widths(1e-6 * ties), np.full(6, 0.5e-6))
    with pytest.raises(ValueError, match="need results that vary, but all results were 3"):
        rule.widths(np.full(4, 3.0))
    assert str(rule) == "likeliest factor times a nearest-neighbor distance"
    assert str(VariableBandwidth(factor=1 / 3)) == "0.3333 times a nearest-neighbor distance"


@pytest.mark.parametrize(
    "options, error, words",
    [
        (dict(factor=0.0), ValueError, "factor must be .*, but was 0.0"),
        (dict(factor="a"), TypeError, "factor"),
        (dict(neighbor=0), ValueError, "neighbor must be .*, but was 0"),
        (dict(neighbor=1.5), TypeError, "neighbor"),
    ],
)
def test_variable_bandwidths_that_cannot_be(options, error, words):
    with pytest.raises(error, match=words):
        VariableBandwidth(**options)
    assert VariableBandwidth(1e-9, 1).neighbor == 1


@pytest.mark.parametrize("rule", ["scott", "silverman"])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_rules_of_thumb(rule, d):
    samples = RNG.normal(size=(17, d)) * np.arange(1, d + 1)
    covariance = gaussian_kde(samples.T, bw_method=rule).covariance
    gaussian = _bandwidth.rule_of_thumb(samples, "gaussian", rule)
    np.testing.assert_allclose(gaussian, np.sqrt(np.diag(covariance)))
    # A Laplace kernel of scale b has standard deviation sqrt(2) b.
    scales = _bandwidth.rule_of_thumb(samples, "laplace", rule)
    np.testing.assert_allclose([laplace(scale=b).std() for b in scales], gaussian)


@pytest.mark.parametrize("kernel, law", [("gaussian", norm), ("laplace", laplace)])
@pytest.mark.parametrize("d", [1, 2])
def test_likelihood_of_what_is_left_out(kernel, law, d):
    samples, groups = RNG.normal(size=(9, d)), np.array([0, 0, 1, 1, 1, 2, 3, 3, 3])
    widths = RNG.uniform(0.5, 2, size=(9, d))
    total = 0.0
    for i in range(9):
        others = [j for j in range(9) if groups[j] != groups[i]]
        densities = [law.pdf(samples[i], samples[j], widths[j]).prod() for j in others]
        total += math.log(sum(densities) / len(others)) / 9
    found = _bandwidth.log_likelihood(samples, groups, kernel, widths)
    assert found == pytest.approx(total, rel=1e-12)
    alone = _bandwidth.log_likelihood(samples, np.zeros(9), kernel, widths)
    assert isinstance(alone, float) and math.isnan(alone)


@pytest.mark.slow
@pytest.mark.parametrize("kernel", ["gaussian", "laplace"])
def test_the_likeliest_factor_is_a_maximum(kernel):
    samples, groups = RNG.normal(size=(40, 1)), np.arange(40) // 2
    widths = RNG.uniform(0.5, 2, size=(40, 1))
    factor, value, notes = _bandwidth.likeliest_factor(samples, groups, kernel, widths)
    assert notes == ()
    grid = np.geomspace(1e-3, 1e2, 3001)
    values = [_bandwidth.log_likelihood(samples, groups, kernel, f * widths) for f in grid]
    best = int(np.argmax(values))
    assert factor == pytest.approx(grid[best], rel=4e-3) and value >= values[best] - 1e-8
    assert value == pytest.approx(
        _bandwidth.log_likelihood(samples, groups, kernel, factor * widths), abs=1e-12
    )


def test_factors_are_searched_up_to_100_and_down_to_a_thousandth():
    """Wide kernels are likelier for two distant groups, and narrow kernels for ties."""
    samples, groups = np.array([[0.0], [1e6]]), np.array([0, 1])
    factor, _, notes = _bandwidth.likeliest_factor(samples, groups, "laplace", np.ones((2, 1)))
    assert factor == pytest.approx(100, rel=1e-3) and notes == ()
    tied = np.array([[0.0], [0.0], [5.0], [5.0]])
    found = _bandwidth.likeliest_factor(tied, np.arange(4), "gaussian", np.ones((4, 1)))
    factor, value, notes = found
    at_one = _bandwidth.log_likelihood(tied, np.arange(4), "gaussian", np.ones((4, 1)))
    assert (factor, value) == (1.0, at_one)
    assert notes == (
        "Some query results are equal, so the likelihood has no maximum; a rule of thumb chose "
        "the bandwidth instead.",
    )


def test_samples_kept_for_the_likelihood(monkeypatch):
    assert _bandwidth._MAX_PAIRS_SAMPLES == 2000
    monkeypatch.setattr(_bandwidth, "_MAX_PAIRS_SAMPLES", 12)
    kept = _bandwidth._subsample
    np.testing.assert_array_equal(kept(np.arange(12)), np.arange(12))
    # Of 13 groups of one sample, 12 are kept, evenly spaced.
    np.testing.assert_array_equal(kept(np.arange(13)), [*range(11), 12])
    # Of ten groups of three, four are kept whole: 0, 3, 6, 9.
    groups = np.repeat(np.arange(10), 3)
    np.testing.assert_array_equal(groups[kept(groups)], np.repeat([0, 3, 6, 9], 3))
    # At least two groups are kept; if they are twice too large, every second sample is kept.
    large = np.repeat([0, 1, 2], 12)
    np.testing.assert_array_equal(kept(large), [*range(0, 12, 2), *range(24, 36, 2)])


def test_options_of_a_density():
    assert _density.KERNELS == ("laplace", "gaussian")
    assert _density.RULES == ("likelihood", "silverman", "scott", "variable")
    assert Density(bandwidth="variable").bandwidth == VariableBandwidth()
    assert Density(bandwidth=np.array([1, 2])).bandwidth == (1.0, 2.0)
    assert Density(bandwidth=np.float32(2)).bandwidth == 2.0
    assert type(Density(bandwidth=2).bandwidth) is float
    assert Density(bandwidth=[1, 2]).scales == (1.0, 2.0)
    assert Density(bandwidth=3).scales == (3.0,)
    for other in (Density(), Density("ecdf"), Density(bandwidth=VariableBandwidth())):
        assert other.scales == ()
    with pytest.raises(ValueError, match=r"no effect with kernel 'ecdf', but was 3\.0: leave out"):
        Density("ecdf", 3.0)
    assert Density(cells=4).cells == 4
    for cells, words in ((3, "cells must be .*4"), (5, "cells must be even, but was 5.")):
        with pytest.raises(ValueError, match=words):
            Density(cells=cells)
    np.testing.assert_array_equal(Density(bandwidth=[3.0, 4.0]).widths(np.zeros(3)), [3, 3, 3])
    np.testing.assert_array_equal(
        Density(bandwidth=VariableBandwidth(2.0, 1)).widths(np.array([1.0, 2.0, 4.0])), [2, 2, 4]
    )


def test_words_of_a_density():
    variable = VariableBandwidth(factor=0.25)
    assert [str(d) for d in (
        Density("ecdf"), Density("gaussian", variable), Density("laplace", [1 / 3, 2]),
        Density("gaussian", "scott"),
    )] == [
        "differences of the distribution function across sqrt(n) points",
        "gaussian kernel, variable bandwidth (0.25 times a nearest-neighbor distance)",
        "laplace kernel, bandwidth 0.3333, 2",
        "gaussian kernel, bandwidth scott",
    ]  # fmt: skip


def fits(samples, groups):
    """Return all fits that the density compares if both options are 'likelihood'."""
    rules = ("likelihood", "variable") if samples.shape[1] == 1 else ("likelihood",)
    return [Density(k, r).fit(samples, groups) for k in _density.KERNELS for r in rules]


@pytest.mark.parametrize("law", ["normal", "laplace", "standard_t", "lognormal"])
@pytest.mark.parametrize("d", [1, 2])
def test_the_likeliest_kernel_and_bandwidth(law, d):
    generator = np.random.default_rng(11)
    kind = {"standard_t": dict(df=1.5)}.get(law, {})
    samples = getattr(generator, law)(size=(60, d), **kind)
    found = Density("likelihood").fit(samples, np.arange(60))
    every = fits(samples, np.arange(60))
    assert found == max(every, key=lambda fit: fit.log_likelihood)
    assert len({fit.log_likelihood for fit in every}) == len(every) > 1


def test_fits_of_given_bandwidths():
    samples, groups = RNG.normal(size=(20, 2)), np.arange(20)
    widths = np.broadcast_to([0.5, 0.7], (20, 2))
    found = Density("gaussian", [0.5, 0.7]).fit(samples, groups)
    assert found.density == Density("gaussian", (0.5, 0.7)) and found.notes == ()
    expected = _bandwidth.log_likelihood(samples, groups, "gaussian", widths)
    assert found.log_likelihood == expected
    # A single number is the bandwidth of both queries.
    assert Density("gaussian", 0.5).fit(samples, groups).density.bandwidth == (0.5, 0.5)
    for rule in ("scott", "silverman"):
        found = Density("laplace", rule).fit(samples, groups)
        expected = _bandwidth.rule_of_thumb(samples, "laplace", rule)
        np.testing.assert_array_equal(found.density.bandwidth, expected)
        widths = np.broadcast_to(expected, (20, 2))
        assert found.log_likelihood == _bandwidth.log_likelihood(samples, groups, "laplace", widths)
    one = samples[:, :1]
    given = VariableBandwidth(factor=0.3, neighbor=2)
    found = Density("gaussian", given).fit(one, groups)
    assert found.density.bandwidth == replace(given, floor=given.floor_of(one[:, 0]))
    widths = given.widths(one[:, 0])[:, None]
    assert found.log_likelihood == _bandwidth.log_likelihood(one, groups, "gaussian", widths)
    free = Density("gaussian", VariableBandwidth(neighbor=2)).fit(one, groups)
    widths = VariableBandwidth(neighbor=2).widths(one[:, 0])[:, None]
    factor, value, _ = _bandwidth.likeliest_factor(one, groups, "gaussian", widths)
    floor = VariableBandwidth(neighbor=2).floor_of(one[:, 0])
    assert free.density.bandwidth == VariableBandwidth(factor=factor, neighbor=2, floor=floor)
    assert free.log_likelihood == value
    ecdf = Density("ecdf").fit(np.ones((1, 1)), np.zeros(1))
    assert ecdf.density == Density("ecdf") and math.isnan(ecdf.log_likelihood)
    assert ecdf.notes == ()


def test_fits_that_cannot_be():
    two, groups = RNG.normal(size=(4, 2)), np.arange(4)
    words = (
        "kernel 'ecdf' and variable bandwidths support only one query, but there were 2 queries: "
        "use another kernel with a fixed bandwidth."
    )
    for density in (Density("ecdf"), Density(bandwidth="variable")):
        with pytest.raises(ValueError) as raised:
            density.fit(two, groups)
        assert str(raised.value) == words
    with pytest.raises(ValueError) as raised:
        Density(bandwidth=[1, 2, 3]).fit(two, groups)
    assert str(raised.value) == (
        "bandwidth must be one number, or one for each of the 2 queries, but was (1.0, 2.0, 3.0)."
    )
    flat = np.stack([two[:, 0], np.full(4, 2.5)], axis=1)
    with pytest.raises(ValueError) as raised:
        Density().fit(flat, groups, ("mean", "count"))
    assert str(raised.value) == (
        "query 'count' was 2.5 in every database: bandwidth 'likelihood' cannot be chosen because "
        "the results do not vary; pass a number as bandwidth."
    )
    # The mean of equal numbers has a rounding error, and so has their deviation.
    with pytest.raises(ValueError, match=r"was 0\.1 in every database: bandwidth 'likelihood'"):
        Density().fit(np.full((3, 1), 0.1), np.arange(3))
    with pytest.raises(ValueError, match=r"was 2\.5 in the only database: bandwidth 'scott'"):
        Density(bandwidth="scott").fit(flat[:1, 1:], groups[:1])
    with pytest.raises(ValueError) as raised:
        Density().fit(two, np.zeros(4))
    assert str(raised.value) == (
        "bandwidth 'likelihood' needs at least two databases; pass a number as bandwidth."
    )
    # A given bandwidth requires neither a spread nor a second database.
    assert Density(bandwidth=1.0).fit(flat, np.zeros(4)).density.bandwidth == (1.0, 1.0)


def chance_of_runs(above, below):
    """Return the exact distribution of the number of runs, by enumeration."""
    found, orders = {}, set(permutations([1] * above + [0] * below))
    for order in orders:
        runs = 1 + sum(a != b for a, b in pairwise(order))
        found[runs] = found.get(runs, 0) + Fraction(1, len(orders))
    return found


@pytest.mark.parametrize("above, below", [(1, 1), (1, 4), (4, 1), (3, 3), (2, 5), (4, 3)])
def test_the_runs_test_against_enumeration(above, below):
    law = chance_of_runs(above, below)
    for runs in range(2, above + below + 1):
        seen = law.get(runs, 0)
        expected = sum(chance for chance in law.values() if chance <= seen)
        found = _checks.runs_p_value(runs, above, below)
        assert found == pytest.approx(float(expected), abs=1e-12)


def test_runs_of_one_side_have_no_p_value():
    assert math.isnan(_checks.runs_p_value(1, 0, 3)) and math.isnan(_checks.runs_p_value(1, 3, 0))


@pytest.mark.parametrize(
    "values, runs",
    [
        ([1, 2, 3, 4], 2), ([1, 4, 3, 2], 3), ([1, 4, 1, 4], 4), ([5, 5, 5], 0),
        ([3, 1, 3, 9, 3, 1], 3), ([1, 3, 1, 9, 9], 2), ([2, 1, 2, 3, 2, 2], 2),
    ],
)  # fmt: skip
def test_runs_by_hand(values, runs):
    """Values equal to the median do not belong to any run."""
    assert _checks._runs(np.array([values, values], float)).tolist() == [runs, runs]


def test_shares_of_larger_entries():
    entries = np.array([[3.0, 1], [1, np.nan], [3, 5], [2, 1]])
    expected = [[0.5, 0.75], [1, 1], [0.5, 0.25], [0.75, 0.75]]
    np.testing.assert_array_equal(_checks._ranked(entries), expected)


@pytest.mark.parametrize("key", [0, 3])
def test_independence_against_a_naive_twin(monkeypatch, key):
    """Compare adjusted p-values of two queries with naive code that uses the same random orders."""
    monkeypatch.setattr(_checks, "_PERMUTATIONS", 199)
    n, generator = 12, np.random.default_rng(key)
    drift = np.arange(n) * 0.2
    results = np.stack([RNG.normal(size=n) + drift, RNG.normal(size=n), np.ones(n)], axis=1)
    orders = generator.permuted(np.tile(np.arange(n), (200, 1)), axis=1)
    orders[0] = np.arange(n)
    extremes = np.zeros((200, 2, 2))
    for row, order in enumerate(orders):
        for query in range(2):
            values = results[order, query]
            centred = values - values.mean()
            correlation = (centred[1:] * centred[:-1]).sum() / (centred**2).sum()
            runs = _checks._runs(values[None])[0]
            extremes[row, query] = (
                -_checks.runs_p_value(int(runs), n // 2, n // 2),
                round(abs(correlation + 1 / n), 12),
            )
    shares = (extremes[None] >= extremes[:, None] - 1e-13).mean(axis=1)
    least = shares.min(axis=(1, 2))
    found = _checks.check_independence(results, ("a", "b", "flat"), key)
    for query, check in enumerate(found[:2]):
        centred = results[:, query] - results[:, query].mean()
        assert check.query == "ab"[query]
        assert check.autocorrelation == pytest.approx(
            (centred[1:] * centred[:-1]).sum() / (centred**2).sum()
        )
        assert check.runs_p_value == pytest.approx(-extremes[0, query, 0])
        assert check.autocorrelation_p_value == pytest.approx(shares[0, query, 1])
        assert check.p_value == pytest.approx(np.mean(least <= shares[0, query].min() + 1e-13))
    flat = found[2]
    assert flat.runs == 0 and not flat.dependent
    assert all(map(math.isnan, (flat.runs_p_value, flat.autocorrelation, flat.p_value)))


def test_orders_in_parts_of_any_size(monkeypatch):
    monkeypatch.setattr(_checks, "_PERMUTATIONS", 49)
    results = RNG.normal(size=(6, 2))
    whole = _checks._of_orders(results, 1)
    for numbers in (12, 12 * 7, 12 * 50):
        monkeypatch.setattr(_checks, "_NUMBERS", numbers)
        for one, other in zip(whole, _checks._of_orders(results, 1), strict=True):
            assert one.shape == (50, 2)
            np.testing.assert_array_equal(one, other)


def test_fewer_than_four_databases_are_not_tested():
    three = _checks.check_independence(np.array([[1.0], [2.0], [3.0]]))[0]
    assert math.isnan(three.p_value) and three.runs == 2 and three.query == "query"
    four = _checks.check_independence(np.array([[1.0], [2.0], [3.0], [4.0]]))[0]
    # Two, three and four runs are equally likely.
    assert four.runs == 2 and four.runs_p_value == 1.0
    assert str(three) == (
        "query: independence cannot be tested because there are too few databases or the results "
        "do not vary."
    )


def test_words_of_independence():
    check = _checks.IndependenceCheck("mean", 12, 0.01234, 0.5678, 0.00123, 0.01)
    assert check.dependent and not replace(check, p_value=0.0101).dependent
    start = "mean: 12 runs (p = 0.0123), lag-1 autocorrelation 0.568 (p = 0.00123), combined p = "
    assert str(check) == start + (
        "0.01: the databases look dependent, but the privacy levels assume independence "
        "(independent databases look dependent in at most one of 100 analyses)."
    )
    assert str(replace(check, p_value=0.25)) == start + (
        "0.25: no sign of dependence (threshold 0.01)."
    )


def test_coverage_by_hand():
    check = _checks.check_coverage(np.array([6, 6, 2, 3, 5]), 6)
    assert check == _checks.CoverageCheck(6, 2, 5.0, 2, 1)
    start = (
        "2 individuals appear in all 6 databases; the median individual appears in 5, the rarest "
        "in 2"
    )
    assert str(check) == start + (
        "; 1 individuals appear in fewer than half of the databases, so their influence is "
        "estimated from few results."
    )
    assert str(replace(check, num_rare=0)) == start + "."


@pytest.mark.parametrize("n, groups", [(50, 50), (51, 50), (7, 7), (120, 50)])
def test_groups_that_the_jackknife_leaves_out(n, groups):
    left_out, calls = [], []
    values = RNG.normal(size=n)

    def estimate(group):
        left_out.append(group)
        rest = np.delete(values, group)
        return np.array([rest.mean(), rest.max()])

    parts = [np.arange(0, n, 2), np.arange(1, n, 2)]
    found = _jackknife.jackknife_error(estimate, parts, 5, lambda *call: calls.append(call))
    assert len(left_out) == groups and calls == [(k + 1, groups) for k in range(groups)]
    np.testing.assert_array_equal(np.sort(np.concatenate(left_out)), np.arange(n))
    for part in parts:
        shares = [np.isin(group, part).sum() for group in left_out]
        assert max(shares) - min(shares) <= 1
    if n > 50:
        assert not np.array_equal(np.sort(left_out[0]), left_out[0])
    sizes = [len(group) for group in left_out]
    assert max(sizes) - min(sizes) <= 1 and sum(sizes) == n
    rest = np.array([[np.delete(values, g).mean(), np.delete(values, g).max()] for g in left_out])
    expected = np.sqrt((groups - 1) * rest.var(axis=0))
    np.testing.assert_allclose(found, expected)
