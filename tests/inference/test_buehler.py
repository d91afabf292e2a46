"""Buehler's bounds, tested by enumerating all counts."""

import math
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import optimize, special, stats

from dpjax.inference import (
    Difference,
    Ratio,
    Shift,
    _buehler,
    clopper_pearson,
    event_lower_bound,
)
from dpjax.inference._blocks import Blocks, Windows
from dpjax.inference._buehler import _halved, buehler_bound
from dpjax.inference._tail import Tail, _line_gaps

CHANCES = [(p, p * r) for p in (0.02, 0.3, 0.9) for r in (1.0, 0.6, 0.1)] + [(1.0, 0.5)]


@cache
def table(sizes, confidence):
    first, second = (np.arange(size + 1) for size in sizes)
    return event_lower_bound(first[:, None], second[None, :], *sizes, confidence)


def binomial(size, p):
    """Return the probabilities of 0, ..., size in an additional axis; p is in (0, 1]."""
    k, p = np.arange(size + 1), np.asarray(p)[..., None]
    ways = special.gammaln(size + 1) - special.gammaln(k + 1) - special.gammaln(size - k + 1)
    return np.exp(ways + special.xlogy(k, p) + special.xlog1py(size - k, -p))


def test_probabilities_are_scipys():
    p = np.array([1e-9, 0.3, 0.999, 1.0])
    expected = stats.binom.pmf(np.arange(301), 300, p[:, None])
    np.testing.assert_allclose(binomial(300, p), expected, rtol=1e-11)


def coverage(bounds, p, q):
    """Return P(bound <= ln(p / q)), by summing both binomial distributions."""
    held = bounds <= math.log(p / q) + 1e-12
    first, second = (size - 1 for size in held.shape)
    return binomial(first, p) @ held @ binomial(second, q)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
@pytest.mark.parametrize("sizes", [(1, 1), (6, 6), (20, 20), (12, 25)])
def test_coverage_is_at_least_the_confidence_for_every_pair(sizes, confidence):
    bounds = table(sizes, confidence)
    assert all(coverage(bounds, p, q) >= confidence - 1e-9 for p, q in CHANCES)


def test_coverage_is_not_far_above_the_confidence():
    """A bound that loses a tenth of its margin would fail: 1.1 z is a coverage of 0.965."""
    bounds = table((20, 20), 0.95)
    least = min(coverage(bounds, p, 0.7 * p) for p in np.linspace(0.3, 0.9, 25))
    assert 0.95 <= least < 0.96


def test_enumeration_sees_too_large_an_error():
    """The check is powerful: a bound with an error of 7% instead of 5% does not pass."""
    bounds = table((20, 20), 0.93)
    assert min(coverage(bounds, p, 0.7 * p) for p in np.linspace(0.3, 0.9, 25)) < 0.95


@pytest.mark.parametrize("counts", [(25_000, 20_470), (9_900, 8_150), (8_350, 1_900)])
def test_as_tight_as_the_normal_bound_where_counts_are_large(counts):
    size = 50_000
    error = math.sqrt(1 / counts[0] + 1 / counts[1] - 2 / size)
    estimate = math.log(counts[0] / counts[1])
    exact = float(event_lower_bound(*counts, size, size, 0.95))
    # Within 3% of the margin; two separate bounds lose 15% or more.
    assert exact == pytest.approx(estimate - stats.norm.ppf(0.95) * error, abs=0.05 * error)
    low, high = (clopper_pearson(count, size, 0.975) for count in counts)
    assert math.log(low[0] / high[1]) < exact - 0.15 * error


def truth(hypothesis, p, q):
    """Return the level of the exact probabilities."""
    if isinstance(hypothesis, Shift):
        return (stats.norm.ppf(p) - stats.norm.ppf(q)) / hypothesis.distance
    if isinstance(hypothesis, Difference):
        return (p - q) / hypothesis.distance
    k, delta = hypothesis.distance, hypothesis.delta

    def missing(t):
        return p - math.exp(k * t) * q - delta * sum(math.exp(i * t) for i in range(k))

    return optimize.brentq(missing, 0.0, 60.0) if missing(0.0) > 0 else 0.0


HYPOTHESES = [
    Ratio(), Ratio(1e-5), Ratio(0.02), Ratio(0.1), Ratio(0.02, distance=3), Shift(), Difference(),
    Shift(2), Difference(3),
]  # fmt: skip


def largest_error(hypothesis, sizes, confidence, bounds=None):
    """Return approximately the supremum of P(bound > level), just below attained bounds."""
    first, second = (np.arange(size + 1) for size in sizes)
    found = event_lower_bound(
        first[:, None], second, *sizes, confidence if bounds is None else bounds, hypothesis
    )
    worst, q = 0.0, np.concatenate([np.geomspace(0.002, 0.3, 25), np.linspace(0.35, 0.9, 12)])
    seconds = binomial(sizes[1], q)
    for level in np.unique(found[found > 0])[::5] * (1 - 1e-9):
        p = np.minimum(hypothesis.likelier(level, q), 1.0)
        for i in np.flatnonzero(p < 1)[::3]:
            assert truth(hypothesis, p[i], q[i]) == pytest.approx(level, abs=1e-6)
        missed = binomial(sizes[0], p) @ (found > level)
        worst = max(worst, float(np.max(np.sum(missed * seconds, axis=1))))
    return worst


@pytest.mark.one_in(5)
@pytest.mark.parametrize("sizes", [(14, 14), (10, 18)])
@pytest.mark.parametrize("hypothesis", HYPOTHESES)
def test_the_error_is_at_most_what_is_allowed_and_nearly_that(hypothesis, sizes):
    assert 0.047 < largest_error(hypothesis, sizes, 0.95) <= 0.05


@pytest.mark.parametrize("hypothesis", [Ratio(0.02), Shift(), Difference()])
def test_enumeration_would_see_a_bound_of_another_error(hypothesis):
    assert largest_error(hypothesis, (14, 14), 0.95, 0.943) > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.8, 0.99])
@pytest.mark.parametrize("sizes", [(24, 24), (18, 30)])
@pytest.mark.parametrize("hypothesis", HYPOTHESES)
def test_the_error_at_more_draws(hypothesis, sizes, confidence):
    error = 1 - confidence
    assert 0.95 * error < largest_error(hypothesis, sizes, confidence) <= error


def test_counts_of_a_rare_event_are_worth_more_than_to_the_normal_order_of_logarithms():
    """20 and 0 of 1,000: 1.483 in that order, 1.814 in Fieller's with a coarser curve of q."""
    assert event_lower_bound(20, 0, 1000, 1000, 0.95) >= 1.814


@cache
def naive_order(hypothesis, sizes, significance):
    """Return s of all pairs of counts, by its formula."""
    z = max(stats.norm.isf(significance), 0.5)
    counts = np.indices([size + 1 for size in sizes])
    p, q = ((k + z**2 / 2) / (n + z**2) for k, n in zip(counts, sizes, strict=True))
    v1, v2 = (x * (1 - x) / (n + z**2) for x, n in zip((p, q), sizes, strict=True))
    if hypothesis == Difference():
        return p - q - z * np.sqrt(v1 + v2)
    if hypothesis == Shift():
        x, y = stats.norm.ppf(p), stats.norm.ppf(q)
        return (
            x - y - z * np.hypot(np.sqrt(v1) / stats.norm.pdf(x), np.sqrt(v2) / stats.norm.pdf(y))
        )
    # Fieller: the smaller root of (e - ratio q)^2 = z^2 (v1 + ratio^2 v2).
    e = p - hypothesis.delta
    found = -1e6 + e / np.sqrt(v1)
    a, b, c = q**2 - z**2 * v2, e * q, e**2 - z**2 * v1
    width = np.sqrt(np.maximum(b**2 - a * c, 0))
    roots = np.stack([(b - width) / a, (b + width) / a])
    smaller = np.min(np.where(roots > 0, roots, np.inf), axis=0)
    return np.where((e > 0) & (c > 0), np.log(smaller), found)


def naive_tail(hypothesis, counts, sizes, significance, level, num_q=1_000):
    """Return the largest P(s >= observed) of many q, which is at most the supremum."""
    order, (n1, n2) = naive_order(hypothesis, sizes, significance), sizes
    wins = (order >= order[counts] - 1e-9).astype(float)
    share = 0.0025 * significance
    low = stats.beta.ppf(share, counts[1], n2 - counts[1] + 1) if counts[1] else 1e-9
    high = stats.beta.isf(share, counts[1] + 1, n2 - counts[1]) if counts[1] < n2 else 1.0
    q = np.geomspace(low, high, num_q)
    p = np.minimum(hypothesis.likelier(level, q), 1)
    return np.max(np.sum(binomial(n1, p) @ wins * binomial(n2, q), axis=1))


SMALL = [
    ((9, 1), (10, 10), 0.05),
    ((30, 9), (40, 40), 0.001),
    ((12, 0), (40, 40), 0.05),
    ((40, 11), (40, 40), 1e-6),
    ((3, 40), (5, 200), 0.4),
    ((100, 10), (300, 60), 0.4),
    ((39, 20), (40, 200), 0.01),
    ((120, 0), (300, 20), 0.05),
]


@pytest.mark.parametrize("hypothesis", [Ratio(), Ratio(0.05), Shift(), Difference()])
@pytest.mark.parametrize("counts, sizes, significance", SMALL)
def test_bound_is_the_naive_one_and_never_above(hypothesis, counts, sizes, significance):
    """The naive bound uses only some q, so it may be slightly too high, but never too low."""
    bound = buehler_bound(hypothesis, *counts, sizes, significance)
    allowed = 0.995 * significance
    assert bound > 0
    assert naive_tail(hypothesis, counts, sizes, significance, bound) <= allowed
    # It could be higher by at most a twentieth of a standard error.
    z = max(stats.norm.isf(significance), 0.5)
    higher = bound + 0.05 * hypothesis.order_and_error(*counts, sizes, z)[1]
    assert naive_tail(hypothesis, counts, sizes, significance, higher) > allowed


def test_the_search_gives_away_half_of_what_it_tolerates_on_average():
    """Both tolerances together are 0.013 standard errors of the level.

    A bisection of the naive tail yields the level of a search without tolerances.
    """
    missed = []
    for hypothesis in (Ratio(), Ratio(0.05), Shift(), Difference()):
        for counts, sizes, significance in SMALL:
            z = max(stats.norm.isf(significance), 0.5)
            error = float(hypothesis.order_and_error(*counts, sizes, z)[1])
            bound = buehler_bound(hypothesis, *counts, sizes, significance)

            def spare(level, case=(hypothesis, counts, sizes, significance)):
                return naive_tail(*case, level, num_q=250) - 0.995 * case[-1]

            level = optimize.brentq(spare, bound, bound + 0.05 * error, xtol=1e-4 * error)
            missed.append((level - bound) / error)
    assert np.min(missed) >= 0 and np.max(missed) < 0.02 and np.mean(missed) < 0.0065


@pytest.mark.parametrize("hypothesis", [Ratio(), Ratio(0.05), Shift(), Difference()])
@pytest.mark.parametrize("counts, sizes, significance", SMALL)
def test_few_values_of_q_bound_the_probability_at_all(hypothesis, counts, sizes, significance):
    tail = Tail(hypothesis, counts, sizes, significance)
    for level in (0.0, 0.3, tail.observed, tail.observed + tail.error):
        level = max(level, 0.0)
        actual = naive_tail(hypothesis, counts, sizes, significance, level)
        for num_q in (3, 9):
            bounds = tail.at(level, np.linspace(0.0, 1.0, num_q))
            assert bounds.supremum >= math.log(actual) - 1e-9


def test_values_alone_would_not_bound_it():
    """Between three values of q, the probability is much higher, so the gaps are needed."""
    highest = Tail(Ratio(), *SMALL[0]).at(0.3, np.linspace(0.0, 1.0, 3)).highest
    assert highest < math.log(naive_tail(Ratio(), *SMALL[0], 0.3)) - 0.1


@pytest.mark.parametrize("level", [0.0, 0.2, 1.0, 3.0])
def test_a_lifted_curve_is_above_straight_lines(level):
    """Compares log odds of g between values of q with lines between lifted ends."""
    q = np.concatenate([np.geomspace(1e-6, 0.1, 9), [0.3, 0.5, 0.9, 0.99]])
    for hypothesis in HYPOTHESES:
        lift = hypothesis.lift(level, q)
        for i, between in enumerate(np.linspace(q[:-1], q[1:], 30).T):
            p, ends = (hypothesis.likelier(level, x) for x in (between, q[[i, i + 1]]))
            if np.any(ends >= 1):
                continue
            a, line = (np.log(x / (1 - x)) for x in (p, ends))
            b, places = (np.log(x / (1 - x)) for x in (between, q[[i, i + 1]]))
            assert np.all(a <= np.interp(b, places, line) + lift[i] + 1e-9)


def test_blocks_of_counts_change_little(monkeypatch):
    fine = event_lower_bound(8_350, 1_900, 50_000, 50_000, 0.95)
    monkeypatch.setattr("dpjax.inference._blocks._MOST_BLOCKS", 200)
    coarse = event_lower_bound(8_350, 1_900, 50_000, 50_000, 0.95)
    assert fine - 0.004 < coarse <= fine + 1e-4


@pytest.mark.parametrize("most", [4096, 20])
def test_blocks_hold_at_least_what_counts_in_them_have(monkeypatch, most):
    monkeypatch.setattr("dpjax.inference._blocks._MOST_BLOCKS", most)
    size, p = 1_000, np.array([0.0, 0.003, 0.2, 0.5, 0.97, 1.0])
    blocks = Blocks(0.0, 1.0, size, 1e-6)
    windows = Windows(blocks, p)
    mass = windows.masses(slice(None))
    first = (windows.start[:, None] + np.arange(windows.size) + blocks.begin) * blocks.stride
    below, above = (stats.binom.cdf(first + x - 1, size, p[:, None]) for x in (0, blocks.stride))
    exact = above - below
    assert np.all(mass >= exact - 1e-12) and np.all(exact.sum(axis=1) >= 1 - 1e-6)
    if blocks.stride == 1:
        np.testing.assert_allclose(mass, exact, atol=1e-12)


@pytest.mark.parametrize("ends", [(0.0, 0.01), (0.01, 0.4), (0.2, 0.9), (0.7, 1.0), (0.95, 1.0)])
def test_no_window_has_many_more_blocks_than_allowed(monkeypatch, ends):
    """Windows are longest near 1/2, which need not be an end of the range."""
    most, size = 20, 100_000
    monkeypatch.setattr("dpjax.inference._blocks._MOST_BLOCKS", most)
    blocks = Blocks(*ends, size, 1e-6)
    p = np.linspace(*ends, 101)
    windows = Windows(blocks, p)
    assert most / 2 <= windows.size <= most + 2
    low, high = stats.binom.ppf([0.5e-6], size, p[:, None]), stats.binom.isf(0.5e-6, size, p)
    assert np.all(blocks.counts[windows.start] <= low[:, 0])
    assert np.all(blocks.counts[windows.start] + windows.size * blocks.stride > high)


@pytest.mark.parametrize("quantile", [0.5, 1.645, 4.75])
@pytest.mark.parametrize("hypothesis", HYPOTHESES)
def test_orders_rise_in_the_first_count_and_fall_in_the_second(hypothesis, quantile):
    order = hypothesis.order(np.arange(41)[:, None], np.arange(31), (40, 30), quantile)
    assert np.all(np.diff(order, axis=0) > 0)
    # Fieller's order ignores the second count if it is hopeless.
    assert np.all(np.diff(order, axis=1) <= 1e-12)


def test_nothing_follows_from_nothing():
    assert event_lower_bound(0, 0, 100, 100, 0.95) == 0
    assert event_lower_bound(100, 100, 100, 100, 0.95) == 0
    assert event_lower_bound(5, 90, 100, 100, 0.95) == 0


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="confidence"):
        event_lower_bound(1, 1, 2, 2, 1.0)


@pytest.mark.parametrize("error", [1e-3, 1e-5, 1e-7])
def test_bounds_rise_with_the_first_count_at_small_errors(error):
    """None of the bounds is 0 because the search took too many steps."""
    bounds = [event_lower_bound(count, 0, 2000, 2000, 1 - error) for count in range(940, 1060, 3)]
    # Up to the tolerance of the search, for standard errors of about 1.
    assert bounds[0] > 3 and np.all(np.diff(bounds) > -0.05)


@pytest.mark.parametrize("kind", [Difference, Shift])
def test_levels_at_a_distance_are_shared_among_its_records(kind):
    """k records of level t have level k t: orders, errors and bounds decrease by the factor k."""
    counts, sizes, one = (70, 40), (100, 120), kind()
    bound = float(event_lower_bound(*counts, *sizes, 0.95, one))
    for k in (2, 5):
        many, q = kind(k), np.linspace(0.05, 0.3, 6)
        whole, share = (np.array(h.order_and_error(*counts, sizes, 1.6)) for h in (one, many))
        assert share == pytest.approx(whole / k, rel=1e-12)
        np.testing.assert_allclose(many.likelier(0.1, q), one.likelier(0.1 * k, q))
        np.testing.assert_allclose(many.other(0.1, many.likelier(0.1, q)), q)
        np.testing.assert_allclose(many.lift(0.1, q), one.lift(0.1 * k, q))
        # Up to the tolerance of the search, for standard errors of at most about 0.2.
        found = float(event_lower_bound(*counts, *sizes, 0.95, many))
        assert found == pytest.approx(bound / k, abs=0.002 / k)


@pytest.mark.parametrize("level", [0.2, 0.7, 1.5])
def test_the_curve_is_below_lines_between_its_lifted_points(level):
    """Both ends of an interval are lifted by its need, and by the need of its neighbors."""
    tail = Tail(Shift(), (120, 0), (300, 20), 0.05)
    q, p = tail._curve(level, np.linspace(0.0, 1.0, 5))
    for i in range(len(q) - 1):
        if p[i + 1] < 1:
            between = np.linspace(q[i], q[i + 1], 50)
            ends = special.logit(p[i : i + 2])
            curve = special.logit(Shift().likelier(level, between))
            chord = np.interp(special.logit(between), special.logit(q[i : i + 2]), ends)
            assert np.all(curve <= chord + 1e-9)
            # Each end is lifted by the whole gap of the line, which follows from slopes alone.
            own = special.logit(np.minimum(Shift().likelier(level, q), 1))
            lift = Shift().lift(level, q)[i]
            assert np.all(ends >= own[i : i + 2] + lift - 1e-9)


@pytest.mark.parametrize("hypothesis", [Ratio(), Ratio(0.05), Shift(), Difference()])
def test_bisection_finds_the_level_of_the_naive_tail(hypothesis):
    """It replaces secant steps that take too long, from any starting point."""
    counts, sizes, significance = SMALL[1]
    tail, allowed = Tail(hypothesis, counts, sizes, significance), 0.995 * significance
    for low in (0.0, 0.9 * tail.observed):
        level = _halved(tail, stats.norm.ppf(allowed), low, 0.005)
        assert naive_tail(hypothesis, counts, sizes, significance, level) <= allowed
        higher = (
            level
            + 0.05 * hypothesis.order_and_error(*counts, sizes, stats.norm.isf(significance))[1]
        )
        assert naive_tail(hypothesis, counts, sizes, significance, higher) > allowed


@pytest.mark.parametrize("hypothesis", [Ratio(), Ratio(0.01), Shift(), Difference()])
def test_secant_steps_converge_without_bisection(monkeypatch, hypothesis):
    """Bisection is correct but a hundred times slower, so other tests would not notice."""
    monkeypatch.setattr("dpjax.inference._buehler._halved", None)
    for larger, smaller, size in ((40, 0, 400), (300, 120, 1_000), (9_900, 8_150, 20_000),
                                  (50, 20, 10**6), (999, 1, 1_000)):  # fmt: skip
        for confidence in (0.9, 0.999, 1 - 1e-6):
            bound = event_lower_bound(larger, smaller, size, size, confidence, hypothesis)
            assert np.isfinite(bound)


def test_a_level_that_allows_everything_has_a_tail_of_1():
    """At e^60, every p is possible, also with few draws on either side."""
    for counts, sizes, significance in SMALL:
        bounds = Tail(Ratio(), counts, sizes, significance).at(60.0, np.linspace(0, 1, 5))
        assert bounds.supremum == bounds.highest == 0
    assert Ratio().line(1e3) == (math.inf, 0.0)
    assert Ratio(0.1, distance=2).line(1.0) == pytest.approx((math.e**2, 0.1 * (1 + math.e)))


def test_gaps_of_both_sides_add_up_each_with_its_own_draws():
    tail, places = Tail(Ratio(), (60, 9), (400, 150), 0.05), np.linspace(0.0, 1.0, 7)
    q, p = tail._curve(0.5, places)
    expected = _line_gaps(p, 400) + _line_gaps(q, 150)
    assert not np.allclose(p, q) and np.all(np.isfinite(expected))
    np.testing.assert_allclose(tail.at(0.5, places).lines, expected, rtol=1e-12)


@pytest.mark.parametrize("trials", [1, 300])
def test_gaps_below_lines_are_bounded_and_nearly_attained_by_short_ones(trials):
    """For n ln(1 + e^a) below its chord between log odds, on a grid in each interval."""
    for p, loosest in ((np.geomspace(1e-6, 0.9, 9), math.inf), (np.linspace(0.2, 0.8, 60), 1.1)):
        a, gaps = special.logit(p), _line_gaps(p, trials)
        for i, gap in enumerate(gaps):
            between = np.linspace(a[i], a[i + 1], 101)
            curve = trials * np.logaddexp(0, between)
            largest = np.max(np.interp(between, between[[0, -1]], curve[[0, -1]]) - curve)
            assert 0 < largest <= gap * (1 + 1e-9) and gap <= loosest * largest


@pytest.mark.parametrize("tries", [0, 1, 2, 4])
def test_without_enough_steps_the_level_is_bisected(monkeypatch, tries):
    """It starts from the interval that the steps have found; both bounds agree."""
    cases = [
        (kind, counts)
        for kind in (Ratio(), Ratio(0.01), Difference(), Shift())
        for counts in ((90, 30), (7, 0), (99, 98))
    ]
    usual = [buehler_bound(kind, *counts, (100, 120), 0.05) for kind, counts in cases]
    monkeypatch.setattr(_buehler, "_MOST_TRIES", tries)
    for (kind, counts), bound in zip(cases, usual, strict=True):
        error = Tail(kind, counts, (100, 120), 0.05).error
        found = buehler_bound(kind, *counts, (100, 120), 0.05)
        assert found == pytest.approx(bound, abs=0.02 * error), (kind, counts)


@pytest.mark.parametrize("level", [0.15, 0.77])
def test_bisection_goes_on_beyond_the_first_interval(level):
    """The interval starts with the observed ratio and one standard error."""
    tail = SimpleNamespace(
        observed=0.1, error=0.1,
        at=lambda tried, places: SimpleNamespace(supremum=stats.norm.logcdf(tried)),
    )  # fmt: skip
    assert _halved(tail, level, 0.0, 0.001) == pytest.approx(level, abs=1e-4)
