"""Bands, curves and binomial bounds of a few outcomes, by their definitions."""

import numpy as np
import pytest
from scipy import stats

from dpjax.inference import (
    binomial_lower_bound,
    clopper_pearson,
    unseen_log_rarity,
    unseen_probability,
)
from dpjax.inference._band import Band, band, known_band, radius
from dpjax.inference._band_levels import _majorant, margins, trade_off


def test_sets_and_complements_of_a_known_law():
    """Outcomes are in the order of their ratios 5, 1 and 1/3; impossible ones are left out."""
    p, q = np.array([0.2, 0.5, 0.0, 0.3, 0.0]), np.array([0.6, 0.1, 0.0, 0.3, 0.0])
    found = known_band([p, q])
    np.testing.assert_allclose(found.power[0][:, 0], [0.5, 0.8])
    np.testing.assert_allclose(found.level[0][:, 0], [0.1, 0.4])
    np.testing.assert_allclose(found.power[1][:, 0], [0.9, 0.6])
    np.testing.assert_allclose(found.level[1][:, 0], [0.5, 0.2])
    np.testing.assert_allclose([part[:, 0] for part in found.roc], [[0.5, 0.8], [0.1, 0.4]])
    # Outcomes of one side only come first and last.
    apart = known_band([[0.0, 0.4, 0.6], [0.3, 0.7, 0.0]])
    np.testing.assert_allclose(apart.power[0][:, 0], [0.6, 1.0])
    np.testing.assert_allclose(apart.level[0][:, 0], [0.0, 0.7])
    tiny = known_band([[1 - 1e-20, 1e-20], [1e-20, 1 - 1e-20]])
    assert tiny.level[1][0, 0] == 1e-20 and tiny.power[1][0, 0] == 1 - 1e-20


def test_complements_exchange_the_bounds():
    lower = np.array([[0.1, 0.2], [0.3, 0.5], [0.6, 0.7]])
    upper = np.array([[0.05, 0.15], [0.2, 0.4], [0.5, 0.8]])
    found = Band.of(lower, upper, (2, 1))
    np.testing.assert_allclose(found.power[0], lower[:2])
    np.testing.assert_allclose(found.level[0], upper[:2])
    np.testing.assert_allclose(found.power[1], 1 - upper[1:])
    np.testing.assert_allclose(found.level[1], 1 - lower[1:])
    for direction, (p, q) in enumerate(zip(found.power, found.level, strict=True)):
        exact = [[min(p[s] - r * q[s]) for r in (1.0, 2.5)] for s in range(2)]
        np.testing.assert_allclose(margins(found, direction, np.array([1.0, 2.5])), exact)


def test_corners_of_a_band_are_exact_bounds():
    counts, trials = np.array([[4, 9], [1, 3]]), (10, 12)
    r, found = radius(2, 0.1), band(counts, trials, 0.1, corners=3)
    for one in range(2):
        for j in range(3):
            first = stats.norm.cdf(-r * np.cos(j * np.pi / 6))
            second = stats.norm.cdf(-r * np.sin((j + 1) * np.pi / 6))
            k, m = counts[:, one]
            assert found.roc[0][one, j] == pytest.approx(stats.beta.ppf(first, k, 11 - k))
            assert found.roc[1][one, j] == pytest.approx(stats.beta.isf(second, m + 1, 12 - m))


@pytest.mark.parametrize("seed", range(4))
def test_the_least_concave_function_above_points(seed):
    rng = np.random.default_rng(seed)
    x, y = np.sort(rng.random(12)), rng.random(12)
    found = _majorant(x, y)
    for i in range(12):
        chords = [
            y[a] + (y[b] - y[a]) * (x[i] - x[a]) / (x[b] - x[a])
            for a in range(i + 1)
            for b in range(i, 12)
            if a != b
        ]
        assert found[i] == pytest.approx(max([y[i], *chords]))


def test_the_curve_of_a_small_law():
    """Tests through (0.1, 0.5) and (0.4, 0.8), and randomized tests between them."""
    points = [0, 0.05, 0.1, 0.25, 0.4, 0.7]
    x, missed = trade_off(known_band([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]]), points)
    np.testing.assert_allclose(x, points)
    np.testing.assert_allclose(1 - missed, [0, 0.25, 0.5, 0.65, 0.8, 0.9], atol=1e-12)


@pytest.mark.parametrize("confidence", [0.8, 0.99])
def test_binomial_bounds_of_both_sides(confidence):
    error = (1 - confidence) / 2
    for k, m in ((30, 4), (40, 0), (4, 30), (0, 3), (7, 7)):
        low = stats.beta.ppf(error, k, 41 - k) if k else 0.0
        high = stats.beta.isf(error, m + 1, 40 - m)
        exact = max(np.log(low / high), 0) if k else 0.0
        assert float(binomial_lower_bound(k, m, 40, confidence)) == pytest.approx(exact, abs=1e-12)
    lower, upper = clopper_pearson([0, 7, 40], 40, 0.9)
    assert lower[0] == 0 and upper[2] == 1
    assert lower[1] == pytest.approx(stats.beta.ppf(0.1, 7, 34))
    assert upper[1] == pytest.approx(stats.beta.isf(0.1, 8, 33))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([1], 0, 0.9), "num_samples"), (([5], 4, 0.9), "counts"), (([-1], 4, 0.9), "counts"),
        (([1], 4, 1.0), "confidence"), (([1], 4, 0.49), "at least 0.5"),
        (([1, 2], 4, np.array([0.9, 0.4])), "at least 0.5"),
    ],
)  # fmt: skip
def test_bounds_that_are_none(arguments, message):
    with pytest.raises(ValueError, match=message):
        clopper_pearson(*arguments)
    low, high = clopper_pearson([1], 4, 0.5)
    assert low[0] < high[0]
    refused = {"larger": (5, 1, 4, 0.9), "smaller": (1, 5, 4, 0.9), "confidence": (1, 1, 4, 1.0)}
    for name, wrong in (refused | {"num_samples": (0, 0, 0, 0.9)}).items():
        with pytest.raises(ValueError, match=name):
            binomial_lower_bound(*wrong)


def test_unseen_events_by_default():
    """Missed by half of all audits, or by 95 of 100 on both sides."""
    assert (1 - unseen_probability(40)) ** 40 == pytest.approx(0.5)
    assert (1 - np.exp(-unseen_log_rarity(40))) ** 80 == pytest.approx(0.95)
