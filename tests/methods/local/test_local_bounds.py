"""Bounds of MPL: which bound is used, and how it is computed."""

import math

import numpy as np
import pytest
from scipy import stats

from dpjax.inference import KernelSums, local_bounds

ROUGHNESS = 1 / math.sqrt(4 * math.pi)
HEIGHT = 1 / math.sqrt(2 * math.pi)
SIZE = 10_000


def of_outcomes(found, events, floor=0.001, confidence=0.95):
    return local_bounds(found, floor, events, None, SIZE, confidence)


def of_reals(found, totals, floor=0.001, events=(50, 50), bandwidth=0.1):
    kernel = KernelSums(totals, np.asarray(totals) / 2**0.5, bandwidth, HEIGHT, ROUGHNESS, 1)
    return local_bounds(found, floor, events, kernel, SIZE, 0.95)


def exact_bound(larger, smaller, tail=0.025):
    low = stats.beta.ppf(tail, larger, SIZE - larger + 1) if larger else 0.0
    high = stats.beta.ppf(1 - tail, smaller + 1, SIZE - smaller)
    return max(math.log(low / high), 0.0) if low else 0.0


def test_an_ordinary_outcome():
    bounds = of_outcomes([0.3, 0.1], [2900, 1100])
    assert not bounds.exact and not bounds.on_floor
    assert bounds.densities.tolist() == [0.29, 0.11]
    error = math.sqrt((1 / 0.29 + 1 / 0.11 - 2) / SIZE)
    assert bounds.estimate == pytest.approx(math.log(29 / 11), rel=1e-12)
    assert bounds.standard_error == pytest.approx(error, rel=1e-12)
    lower = math.log(29 / 11) - stats.norm.ppf(0.95) * error
    assert bounds.lower_bound == pytest.approx(lower, rel=1e-12)
    # Either side may have the larger density, but the search determines the direction.
    assert of_outcomes([0.1, 0.3], [1100, 2900]).lower_bound == bounds.lower_bound
    turned = of_outcomes([0.1, 0.3], [2900, 1100])
    assert not turned.exact and turned.lower_bound == 0
    assert turned.estimate == bounds.estimate


def test_an_ordinary_point():
    totals = np.array([300.0, 120.0])
    bounds = of_reals([0.3, 0.1], totals)
    density = totals * HEIGHT / (SIZE * 0.1)
    np.testing.assert_allclose(bounds.densities, density, rtol=1e-12)
    error = math.sqrt(ROUGHNESS * np.sum(1 / density) / (SIZE * 0.1))
    lower = math.log(2.5) - stats.norm.ppf(0.95) * error
    assert not bounds.exact
    assert bounds.lower_bound == pytest.approx(lower, rel=1e-12)


def test_two_dimensions():
    totals, height, roughness = np.array([3000.0, 1200.0]), 1 / (2 * math.pi), 1 / (4 * math.pi)
    kernel = KernelSums(totals, totals / 2, 0.5, height, roughness, 2)
    bounds = local_bounds([0.3, 0.1], 0.0, [50, 50], kernel, SIZE, 0.95)
    density = totals * height / (SIZE * 0.25)
    error = math.sqrt(roughness * np.sum(1 / density) / (SIZE * 0.25))
    assert bounds.standard_error == pytest.approx(error, rel=1e-12)


def test_a_density_at_the_floor_makes_the_bound_exact():
    for found in ([0.3, 0.001], [0.001, 0.3], [0.3, 0.0]):
        bounds = of_outcomes(found, [2900, 1100])
        assert bounds.on_floor and bounds.exact and np.isnan(bounds.standard_error)
    assert not of_outcomes([0.3, 0.0026], [2900, 1100]).on_floor
    # The floor changes the estimate, but neither the densities nor the bound.
    bounds = of_outcomes([0.3, 0.0], [3000, 2])
    assert bounds.densities.tolist() == [0.3, 0.0002]
    assert bounds.estimate == pytest.approx(math.log(0.3 / 0.001))
    assert bounds.lower_bound == pytest.approx(exact_bound(3000, 2), rel=1e-9)


def test_few_expected_draws_make_the_bound_exact():
    """25 of 10000 draws correspond to a probability of 0.0025, whichever side it is."""
    for rare, exact in ((0.0024, True), (0.0026, False)):
        for found in ([0.3, rare], [rare, 0.3], [1 - rare, 0.5], [0.5, 1 - rare]):
            bounds = of_outcomes(found, [3000, 30], floor=1e-4)
            assert bounds.exact == exact and not bounds.on_floor
    # A density has N h / K(0) = 2506.6 draws: 25 of them correspond to a density of 0.00997.
    for rare, exact in ((0.0099, True), (0.0101, False)):
        bounds = of_reals([0.3, rare], [300.0, 30.0])
        assert bounds.exact == exact and not bounds.on_floor


def test_the_search_stage_decides_the_direction_of_an_exact_bound():
    up = of_outcomes([0.002, 0.0], [30, 400])
    assert up.exact and up.lower_bound == 0
    down = of_outcomes([0.0, 0.002], [30, 400])
    assert down.lower_bound == pytest.approx(exact_bound(400, 30), rel=1e-9)
    # The estimate uses only the confirmation draws, and has no direction.
    assert up.estimate == down.estimate == pytest.approx(math.log(400 / 30))


def test_reals_on_the_floor_are_bounded_by_their_events():
    bounds = of_reals([0.3, 0.0], [300.0, 0.0], events=(700, 3))
    assert bounds.lower_bound == pytest.approx(exact_bound(700, 3), rel=1e-9)
    assert bounds.estimate == pytest.approx(math.log(300 * HEIGHT / 1000 / 0.001))


def test_confidence_is_used_in_both_bounds():
    assert of_outcomes([0.3, 0.0], [3000, 2], confidence=0.8).lower_bound == pytest.approx(
        exact_bound(3000, 2, tail=0.1), rel=1e-9
    )
    normal = of_outcomes([0.3, 0.1], [2900, 1100], confidence=0.8)
    expected = math.log(29 / 11) - stats.norm.ppf(0.8) * normal.standard_error
    assert normal.lower_bound == pytest.approx(expected, rel=1e-12)


def test_nothing_seen_without_a_floor():
    both = of_outcomes([0.0, 0.0], [0, 0], floor=0.0)
    assert both.on_floor and both.exact
    assert both.estimate == 0 and both.lower_bound == 0
    one = of_outcomes([0.3, 0.0], [3000, 0], floor=0.0)
    assert one.estimate == np.inf
    assert one.lower_bound == pytest.approx(exact_bound(3000, 0), rel=1e-9)


@pytest.mark.parametrize("events", [[0, 3000], [3000, 0], [0, 0]])
def test_a_witness_that_is_not_seen_again_bounds_nothing_by_the_normal(events):
    """If the search found it often and no confirmation draw has it, the bound must be 0."""
    bounds = of_outcomes([0.3, 0.1], events, floor=0.0)
    assert not bounds.exact
    assert bounds.lower_bound == 0


def test_outcomes_that_always_happen():
    bounds = of_outcomes([1.0, 0.5], [SIZE, 5000])
    assert bounds.exact
    low, high = 0.025 ** (1 / SIZE), stats.beta.ppf(0.975, 5001, SIZE - 5000)
    assert bounds.lower_bound == pytest.approx(math.log(low / high), rel=1e-9)


def test_runs_are_independent_of_their_stack():
    found = np.array([[0.3, 0.1], [0.3, 0.0], [0.1, 0.3]])
    events = np.array([[2900, 1100], [2900, 3], [1100, 2900]])
    floor = np.array([0.001, 0.002, 0.003])
    stacked = local_bounds(found, floor, events, None, SIZE, 0.95)
    for i in range(3):
        one = local_bounds(found[i], floor[i], events[i], None, SIZE, 0.95)
        for together, alone in zip(stacked, one, strict=True):
            np.testing.assert_array_equal(together[i], alone)
    bandwidth = np.array([0.1, 0.2, 0.3])
    kernel = KernelSums(events / 9.0, events / 9.0 / 2**0.5, bandwidth, HEIGHT, ROUGHNESS, 1)
    stacked = local_bounds(found, floor, events, kernel, SIZE, 0.95)
    for i in range(3):
        one = of_reals(found[i], events[i] / 9.0, floor[i], events[i], bandwidth[i])
        for together, alone in zip(stacked, one, strict=True):
            np.testing.assert_array_equal(together[i], alone)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, np.nan, "0.95"])
def test_refused_confidence(confidence):
    with pytest.raises((ValueError, TypeError), match=r"confidence must .* between 0 and 1"):
        of_outcomes([0.3, 0.1], [2900, 1100], confidence=confidence)


def test_an_atom_has_the_variance_of_its_counts():
    """If all mass is within a bandwidth, the kernel is 1 or 0, and the error is of frequencies."""
    counts = np.array([600.0, 300.0])
    kernel = KernelSums(counts, counts, 0.1, HEIGHT, ROUGHNESS, 1)
    bounds = local_bounds([1.0, 0.5], 0.001, [600, 300], kernel, SIZE, 0.95)
    exact = math.sqrt(sum((1 - c / SIZE) / c for c in counts))
    assert bounds.standard_error == pytest.approx(exact, rel=1e-12)
