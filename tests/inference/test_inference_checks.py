"""Counts, fractions and confidences that bounds reject, and results at the limits."""

import math
import warnings

import numpy as np
import pytest

from dpjax.core import validate
from dpjax.inference import (
    LipschitzOutputs,
    Plan,
    Ratio,
    binomial_lower_bound,
    choose_event,
    clopper_pearson,
    event_lower_bound,
    frequency_standard_error,
    kernel_exact_standard_error,
    kernel_standard_error,
    ldp_levels,
    local_bounds,
    renyi_levels,
    safety_check,
    unseen_log_rarity,
)

PAIR = [(0, 1)]
CHECK = safety_check(
    Plan(2, 10**6, 2, 0.5, 0.9, None, "published", LipschitzOutputs(0.5)), probability=0.5
)

# Each takes one table of counts [2, 2] out of 10 draws per row; nothing else is wrong.
TAKES_A_TABLE = {
    "choose_event": lambda t: choose_event(t, 100, 0.9),
    "choose_event, judge": lambda t: choose_event([[5, 5], [5, 5]], 100, 0.9, judge=t),
    "ldp_levels": lambda t: ldp_levels(t, PAIR),
    "renyi_levels": lambda t: renyi_levels(t, PAIR, 2.0),
    "safety_check": CHECK.gaps,
}

# Each takes one count out of 10 draws.
TAKES_A_COUNT = {
    "clopper_pearson": lambda k: clopper_pearson(k, 10, 0.9),
    "binomial, larger": lambda k: binomial_lower_bound(k, 1, 10, 0.9),
    "binomial, smaller": lambda k: binomial_lower_bound(1, k, 10, 0.9),
    "event, larger": lambda k: event_lower_bound(k, 1, 10, 99, 0.9),
    "event, smaller": lambda k: event_lower_bound(1, k, 99, 10, 0.9),
    "event with delta": lambda k: event_lower_bound(k, 1, 10, 10, 0.9, Ratio(0.01)),
    "local_bounds": lambda k: local_bounds([0.5, 0.4], 0.01, [k, 5], None, 10, 0.9),
}

# Each takes a probability.
TAKES_A_SHARE = {
    "frequencies": lambda p: frequency_standard_error([p, 0.5], 10),
    "mean": lambda p: kernel_exact_standard_error([p, 0.5], [0.3, 0.3], 10),
    "mean_square": lambda p: kernel_exact_standard_error([0.3, 0.3], [p, 0.3], 10),
}

TAKES_DRAWS = {
    "clopper_pearson": lambda n: clopper_pearson(0, n, 0.9),
    "binomial": lambda n: binomial_lower_bound(0, 0, n, 0.9),
    "event, larger": lambda n: event_lower_bound(0, 0, n, 10, 0.9),
    "event, smaller": lambda n: event_lower_bound(0, 0, 10, n, 0.9),
    "choose_event": lambda n: choose_event([[5, 5], [5, 5]], n, 0.9),
    "local_bounds": lambda n: local_bounds([0.5, 0.4], 0.01, [0, 0], None, n, 0.9),
    "frequencies": lambda n: frequency_standard_error([0.5, 0.5], n),
    "kernel": lambda n: kernel_standard_error([0.5, 0.5], n, 0.1, 0.28, 1),
    "kernel, exact": lambda n: kernel_exact_standard_error([0.5, 0.5], [0.3, 0.3], n),
    "unseen": lambda n: unseen_log_rarity(n),
}

TAKES_A_CONFIDENCE = {
    "clopper_pearson": lambda c: clopper_pearson(1, 10, c),
    "binomial": lambda c: binomial_lower_bound(1, 1, 10, c),
    "event": lambda c: event_lower_bound(1, 1, 10, 10, c),
    "choose_event": lambda c: choose_event([[5, 5], [5, 5]], 10, c),
    "local_bounds": lambda c: local_bounds([0.5, 0.4], 0.01, [1, 1], None, 10, c),
}


@pytest.mark.parametrize("wrong", [-1, 11, 2.5, math.nan, math.inf])
@pytest.mark.parametrize("name", TAKES_A_COUNT)
def test_what_is_no_count_of_ten_draws(name, wrong):
    with pytest.raises(ValueError, match=rf"must be whole numbers from 0 to 10, but held {wrong}"):
        TAKES_A_COUNT[name](wrong)


@pytest.mark.parametrize("name", TAKES_A_COUNT)
def test_no_and_all_draws_are_counts(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for count in (0, 10, 10.0, np.int8(10)):
            TAKES_A_COUNT[name](count)


@pytest.mark.parametrize("wrong", [-1, 2.5, math.nan, math.inf])
@pytest.mark.parametrize("name", TAKES_A_TABLE)
def test_what_is_no_table_of_counts(name, wrong):
    with pytest.raises(ValueError, match=rf"must be whole numbers >= 0, but held {wrong}"):
        TAKES_A_TABLE[name]([[wrong, 7], [5, 5]])
    with pytest.raises(TypeError, match="must be whole numbers >= 0, but held <U1"):
        TAKES_A_TABLE[name]([["3", "7"], ["5", "5"]])


def test_renyi_levels_are_of_rows_with_one_sum():
    with pytest.raises(ValueError, match="same sum in every row, but had sums from 10 to 12"):
        renyi_levels([[3, 7], [5, 7]], PAIR, 2.0)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan])
@pytest.mark.parametrize("name", TAKES_A_SHARE)
def test_what_is_no_share(name, wrong):
    with pytest.raises(ValueError, match=rf"must be in .0, 1\], but held {wrong}"):
        TAKES_A_SHARE[name](wrong)


def test_a_standard_error_needs_something_seen():
    with pytest.raises(ValueError, match=r"frequencies must be in \(0, 1\], but held 0"):
        frequency_standard_error([0.0, 0.5], 10)
    with pytest.raises(ValueError, match=r"mean must be in \(0, 1\], but held 0"):
        kernel_exact_standard_error([0.0, 0.5], [0.3, 0.3], 10)
    with pytest.raises(ValueError, match=r"mean_square must be in \(0, 1\], but held 0"):
        kernel_exact_standard_error([0.3, 0.5], [0.0, 0.3], 10)
    with pytest.raises(ValueError, match="densities must be a number > 0"):
        kernel_standard_error([0.0, 0.5], 10, 0.1, 0.28, 1)


@pytest.mark.parametrize("name", TAKES_DRAWS)
def test_draws_are_counted_from_one(name):
    with pytest.raises(ValueError, match="must be an integer >= 1, but was 0"):
        TAKES_DRAWS[name](0)
    with pytest.raises(TypeError, match=r"must be an integer >= 1, but was 10\.0 \(float\)"):
        TAKES_DRAWS[name](10.0)


@pytest.mark.parametrize("wrong", [0, 1, -0.5, 1.95, math.nan])
@pytest.mark.parametrize("name", TAKES_A_CONFIDENCE)
def test_confidences_lie_strictly_between_0_and_1(name, wrong):
    with pytest.raises(ValueError, match=r"confidence must .*between 0 and 1.*, but was"):
        TAKES_A_CONFIDENCE[name](wrong)


def test_a_significance_is_no_confidence():
    with pytest.raises(ValueError, match=r"at least 0\.5, .* but was 0\.05"):
        clopper_pearson(10, 100, 0.05)
    # At 0.5, the bounds are the two medians, in order.
    lower, upper = clopper_pearson(np.arange(101), 100, 0.5)
    assert np.all(lower < upper)


def test_one_wrong_count_among_many_is_found():
    counts = np.full(10_000, 5)
    counts[7_777] = 11
    with pytest.raises(ValueError, match=r"counts must be .* but held 11"):
        clopper_pearson(counts, 10, 0.9)
    validate.counts(at_most=5, counts=np.zeros((0, 3)))
