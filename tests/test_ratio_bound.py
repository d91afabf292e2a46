"""The exact bound on a ratio of two probabilities, by enumeration of all counts."""

import math

import numpy as np
import pytest
from scipy import stats

from dpjax.inference import clopper_pearson, event_lower_bound
from dpjax.inference._ratio import ratio_lower_bound, ratio_order

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


def test_blocks_of_counts_change_little(monkeypatch):
    fine = ratio_lower_bound(8_350, 1_900, 50_000, 50_000, 0.05)
    monkeypatch.setattr("dpjax.inference._ratio._MOST_POINTS", 200)
    coarse = ratio_lower_bound(8_350, 1_900, 50_000, 50_000, 0.05)
    assert fine - 0.004 < coarse <= fine + 1e-4


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
