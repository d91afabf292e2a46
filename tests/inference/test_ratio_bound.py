"""The exact bound on a ratio of two probabilities, by enumeration of all counts."""

import math

import numpy as np
import pytest
from scipy import stats

from dpjax.inference import clopper_pearson, event_lower_bound
from dpjax.inference._blocks import Blocks, Windows
from dpjax.inference._ratio import _Tail, ratio_lower_bound, ratio_order

CHANCES = [(p, p * r) for p in (0.02, 0.3, 0.9) for r in (1.0, 0.6, 0.1)] + [(1.0, 0.5)]


def table(sizes, confidence, bound=event_lower_bound):
    first, second = (np.arange(size + 1) for size in sizes)
    return bound(first[:, None], second[None, :], *sizes, confidence)


def coverage(bounds, p, q):
    """P(bound <= ln(p / q)), by adding up both binomials."""
    held = bounds <= math.log(p / q) + 1e-12
    first, second = (np.arange(size) for size in held.shape)
    return (
        stats.binom.pmf(first, len(first) - 1, p)
        @ held
        @ stats.binom.pmf(second, len(second) - 1, q)
    )


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
@pytest.mark.parametrize("sizes", [(1, 1), (6, 6), (30, 30), (12, 25)])
def test_coverage_is_at_least_the_confidence_for_every_pair(sizes, confidence):
    bounds = table(sizes, confidence)
    assert all(coverage(bounds, p, q) >= confidence - 1e-9 for p, q in CHANCES)


def test_coverage_is_not_far_above_the_confidence():
    """A bound that gives away a tenth of its margin would be seen: 1.1 z is a coverage of 0.965."""
    bounds = table((40, 40), 0.95)
    least = min(coverage(bounds, p, 0.7 * p) for p in np.linspace(0.3, 0.9, 25))
    assert 0.95 <= least < 0.96


def test_enumeration_sees_too_large_an_error():
    """The check is worth something: a bound with an error of 7% does not pass as one of 5%."""
    bounds = table((30, 30), 0.93)
    assert min(coverage(bounds, p, 0.7 * p) for p in np.linspace(0.3, 0.9, 25)) < 0.95


@pytest.mark.parametrize("counts", [(25_000, 20_470), (9_900, 8_150), (8_350, 1_900)])
def test_as_tight_as_the_normal_bound_where_counts_are_large(counts):
    size = 50_000
    error = math.sqrt(1 / counts[0] + 1 / counts[1] - 2 / size)
    estimate = math.log(counts[0] / counts[1])
    exact = float(event_lower_bound(*counts, size, size, 0.95))
    # Within 3% of the margin, where two separate bounds give away 15% and more.
    assert exact == pytest.approx(estimate - stats.norm.ppf(0.95) * error, abs=0.05 * error)
    low, high = (clopper_pearson(count, size, 0.975) for count in counts)
    assert math.log(low[0] / high[1]) < exact - 0.15 * error


def naive_order(sizes, significance):
    """s of all pairs of counts, by the formula of Agresti and Coull."""
    z = max(stats.norm.isf(significance), 0.5)
    (k, m), sizes = np.indices([size + 1 for size in sizes]), np.array(sizes)
    p, q = ((x + z**2 / 2) / (size + z**2) for x, size in zip((k, m), sizes, strict=True))
    error = np.sqrt((1 - p) / p / (sizes[0] + z**2) + (1 - q) / q / (sizes[1] + z**2))
    return np.log(p / q) - z * error


def naive_tail(counts, sizes, significance, log_ratio, num_q=2_000):
    """The largest P(s >= observed) of many q, from whole tables: at most the supremum."""
    order, (n1, n2) = naive_order(sizes, significance), sizes
    wins = (order >= order[counts] - 1e-12).astype(float)
    share = 0.0025 * significance
    low = stats.beta.ppf(share, counts[1], n2 - counts[1] + 1) if counts[1] else 1e-9
    high = stats.beta.isf(share, counts[1] + 1, n2 - counts[1]) if counts[1] < n2 else 1.0
    q = np.geomspace(low, min(high, math.exp(-log_ratio)), num_q)[:, None]
    first = stats.binom.pmf(np.arange(n1 + 1), n1, np.minimum(q * math.exp(log_ratio), 1))
    return np.max(np.sum(first @ wins * stats.binom.pmf(np.arange(n2 + 1), n2, q), axis=1))


SMALL = [
    ((9, 1), (10, 10), 0.05),
    ((30, 9), (40, 40), 0.001),
    ((12, 0), (40, 40), 0.05),
    ((40, 11), (40, 40), 1e-6),
    ((3, 40), (5, 200), 0.1),
    ((100, 10), (300, 60), 0.4),
    ((39, 38), (40, 200), 0.01),
]


@pytest.mark.parametrize("counts, sizes, significance", SMALL)
def test_bound_is_the_naive_one_and_never_above(counts, sizes, significance):
    """A naive bound sees some q only, so that it is too high by a little, and never too low."""
    bound = ratio_lower_bound(*counts, *sizes, significance)
    allowed = 0.995 * significance
    assert bound > 0
    assert naive_tail(counts, sizes, significance, bound) <= allowed
    # By a fiftieth of a standard error, at most, it could be higher.
    error = 0.02 * math.sqrt(1 / counts[0] + 1 / max(counts[1], 1))
    assert naive_tail(counts, sizes, significance, bound + error) > allowed


@pytest.mark.parametrize("counts, sizes, significance", SMALL)
@pytest.mark.parametrize("num_q", [3, 9])
def test_few_values_of_q_bound_the_probability_at_all(counts, sizes, significance, num_q):
    tail = _Tail(counts, sizes, significance)
    for log_ratio in (0.0, 0.3, tail.observed, tail.observed + tail.error):
        bounds = tail.at(max(log_ratio, 0.0), np.linspace(0.0, 1.0, num_q))
        actual = naive_tail(counts, sizes, significance, max(log_ratio, 0.0))
        assert bounds.supremum >= math.log(actual) - 1e-9


def test_values_alone_would_not_bound_it():
    """So the gaps are needed: between three values of q the probability is much higher."""
    highest = _Tail(*SMALL[0]).at(0.3, np.linspace(0.0, 1.0, 3)).highest
    assert highest < math.log(naive_tail(*SMALL[0], 0.3)) - 0.3


def test_blocks_of_counts_change_little(monkeypatch):
    fine = ratio_lower_bound(8_350, 1_900, 50_000, 50_000, 0.05)
    monkeypatch.setattr("dpjax.inference._blocks._MOST_BLOCKS", 200)
    coarse = ratio_lower_bound(8_350, 1_900, 50_000, 50_000, 0.05)
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


@pytest.mark.parametrize("quantile", [0.5, 1.645, 4.75])
def test_the_order_rises_in_the_first_count_and_falls_in_the_second(quantile):
    k = np.arange(41)
    order = ratio_order(k[:, None], np.arange(31)[None, :], 40, 30, quantile)
    assert np.all(np.diff(order, axis=0) > 0)
    assert np.all(np.diff(order, axis=1) <= 1e-12)


def test_nothing_follows_from_nothing():
    assert event_lower_bound(0, 0, 100, 100, 0.95) == 0
    assert event_lower_bound(100, 100, 100, 100, 0.95) == 0
    assert event_lower_bound(5, 90, 100, 100, 0.95) == 0


def test_with_delta_two_bounds_split_the_error():
    low = stats.beta.ppf(0.01, 300, 701)
    high = stats.beta.ppf(1 - 0.04, 101, 900)
    actual = event_lower_bound(300, 100, 1000, 1000, 0.95, share=0.2, delta=0.05)
    assert actual == pytest.approx(math.log((low - 0.05) / high), rel=1e-9)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="confidence"):
        event_lower_bound(1, 1, 2, 2, 1.0)
    with pytest.raises(ValueError, match="delta"):
        event_lower_bound(1, 1, 2, 2, 0.9, delta=-0.1)


@pytest.mark.parametrize("error", [1e-3, 1e-5, 1e-7])
def test_bounds_rise_with_the_first_count_at_small_errors(error):
    """None of them is 0 where the search for it took too many steps."""
    bounds = [ratio_lower_bound(count, 0, 2000, 2000, error) for count in range(940, 1060, 3)]
    # To the tolerance of the search, in standard errors of about 1.
    assert bounds[0] > 3 and np.all(np.diff(bounds) > -0.05)
