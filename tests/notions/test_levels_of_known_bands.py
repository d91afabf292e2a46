"""Levels, margins and tables of bands with known probabilities, at any distance."""

import math

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

import dpjax
from dpjax.inference import known_band, trade_off

LAWS = np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
"""Three outcomes with ratio 5 in one direction and 3 in the other; total variation 0.4."""
BAND = known_band(LAWS)
APART = known_band([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
"""Outcomes that occur on one side only."""


def delta(epsilon, p, q):
    """Return the smallest delta at an epsilon, by the definition."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize("distance", [1, 2, 3])
def test_a_profile_is_tabled_from_0_to_the_largest_epsilon_of_one_record(distance):
    table = dpjax.Profile().columns(BAND, distance)
    epsilons = np.array(table["epsilon"])
    np.testing.assert_allclose(epsilons, np.linspace(0, math.log(5) / distance, 101))
    group = sum(np.exp(i * epsilons) for i in range(distance))
    for name, (p, q) in (("delta", LAWS), ("reverse_delta", LAWS[::-1])):
        expected = [delta(distance * e, p, q) for e in epsilons] / group
        np.testing.assert_allclose(table[name], expected, atol=1e-12)
    whole = dpjax.Profile().columns(APART, distance)
    assert whole["epsilon"] == pytest.approx(np.linspace(0, 1, 101))
    assert whole["delta"][0] == pytest.approx(0.5 / distance)


@pytest.mark.parametrize("distance", [1, 2])
def test_a_profile_is_compared_where_it_exceeds_the_claim_most(distance):
    claim = ((0.0, 0.38), (0.2, 0.05), (0.5, 0.2), (3.0, 0.0))
    shown = [
        max(delta(distance * e, *LAWS), delta(distance * e, *LAWS[::-1]))
        / sum(math.exp(i * e) for i in range(distance))
        for e, _ in claim
    ]
    excess = np.array(shown) - np.array(claim)[:, 1]
    assert excess.argmax() == 1
    found, crossing = dpjax.Profile().compare(BAND, claim, distance)
    assert found == pytest.approx(excess[1])
    assert crossing == pytest.approx((0.2, shown[1], 0.05))
    # If it attains the claim or is below, there is no point, but a margin.
    for added in (excess[1], excess[1] + 0.1):
        above = tuple((e, d + added) for e, d in claim)
        found, crossing = dpjax.Profile().compare(BAND, above, distance)
        assert found == pytest.approx(excess[1] - added, abs=1e-11)
    assert crossing is None


def test_a_bound_that_rounding_lifts_above_the_claim_refutes_nothing():
    """For equal distributions, the power of each test is its level, as the claim says."""
    equal = known_band([[0.3, 0.7], [0.3, 0.7]])
    levels = np.linspace(0, 1, 201)
    for errors in (1 - levels, (200 - np.arange(201)) / 200, ndtr(-ndtri(levels))):
        excess, crossing = dpjax.TradeOff().compare(equal, points_of(levels, errors), 1)
        assert -1e-11 < excess <= 0 and crossing is None
    # A bound that exceeds the claim by more than rounding refutes it.
    larger = points_of(levels, np.minimum(1 - levels + 1e-9, 1.0))
    excess, crossing = dpjax.TradeOff().compare(equal, larger, 1)
    assert excess == pytest.approx(1e-9, abs=1e-11) and crossing is not None


def points_of(levels, errors):
    return tuple(zip(levels.tolist(), errors.tolist(), strict=True))


def test_the_trade_off_of_laws_with_different_supports():
    """At level 0, a test rejects for outcomes that occur only under the other distribution."""
    _, errors = trade_off(APART, [0.0, 0.25, 0.5, 1.0])
    np.testing.assert_allclose(errors, [0.5, 0.25, 0.0, 0.0], atol=1e-12)
    excess, crossing = dpjax.TradeOff().compare(APART, ((0.0, 0.75), (1.0, 0.0)), 1)
    assert crossing == pytest.approx((0.0, 0.5, 0.25)) and excess == pytest.approx(0.25)


def test_the_power_of_tests_is_compared_in_both_directions():
    """Curves of the most powerful tests through (0, 1), (.1, .5), (.4, .2) and (1, 0)."""
    levels = np.array([0.05, 0.1, 0.25, 0.5, 0.8])
    points = [(0.0, 1.0), (0.1, 0.5), (0.4, 0.2), (1.0, 0.0)]
    x, y = np.array(points).T
    one, other = np.interp(levels, x, y), np.interp(levels, y[::-1], x[::-1])
    claim = np.stack([levels, [0.9, 0.6, 0.3, 0.2, 0.1]], axis=1)
    shown, claimed = dpjax.TradeOff().margins(BAND, claim, 1)
    np.testing.assert_allclose(shown, 1 - np.minimum(one, other), atol=1e-12)
    assert one[1] < other[1] and other[3] < one[3]
    np.testing.assert_allclose(claimed, [0.1, 0.4, 0.7, 0.8, 0.9])
    table = dpjax.TradeOff().columns(BAND, 1)
    assert np.interp(levels, table["level"], table["error"]) == pytest.approx(one)


@pytest.mark.parametrize("distance", [1, 2, 5])
def test_levels_of_one_record_are_shares_of_the_whole(distance):
    for notion, whole in (
        (dpjax.Epsilon(), math.log(5)), (dpjax.TotalVariation(), 0.4),
        (dpjax.Profile(), 0.4), (dpjax.TradeOff(), 0.4),
    ):  # fmt: skip
        assert notion.of_band(BAND, distance) == pytest.approx(whole / distance)
    assert dpjax.Epsilon().of_band(APART, distance) == math.inf
    # This is above every level that is searched for a delta.
    huge = known_band([[1 - 1e-60, 1e-60], [1e-60, 1 - 1e-60]])
    assert dpjax.Epsilon().of_band(huge, distance) == pytest.approx(60 * math.log(10) / distance)
    if distance == 2:
        # 1e-60 x^2 + 1e-20 (1 + x) = 1 for x = e^epsilon.
        assert dpjax.Epsilon(1e-20).of_band(huge, 2) == pytest.approx(20 * math.log(10))
    assert dpjax.Epsilon.takes_delta and not dpjax.Gdp.takes_delta


@pytest.mark.parametrize(("delta", "distance"), [(0.0, 1), (0.0, 4), (0.1, 1), (0.1, 2)])
def test_epsilon_of_the_probabilities_of_events(delta, distance):
    p, q = np.array([[0.6, 0.2], [0.1, 0.05]]), np.array([[0.3, 0.4], [0.0, 0.0]])
    found = dpjax.Epsilon(delta).of_shares(p, q, distance)
    assert found.shape == p.shape and found[0, 1] == pytest.approx(0, abs=1e-12)
    if distance == 2:
        # e^(2 e) q + delta (1 + e^e) = p is a quadratic equation in e^e.
        root = (-0.1 + math.sqrt(0.01 + 4 * 0.3 * 0.5)) / 0.6
        assert found[0, 0] == pytest.approx(math.log(root))
        return
    assert found[0, 0] == pytest.approx(math.log((0.6 - delta) / 0.3) / distance)
    assert found[1].tolist() == ([math.inf, math.inf] if delta == 0 else [0, 0])


@pytest.mark.parametrize(
    ("delta", "kind"), [("0.5", TypeError), ([0.5], TypeError), (True, TypeError),
                        (math.nan, ValueError), (-1e-9, ValueError), (1.0, ValueError),
                        (math.inf, ValueError)],
)  # fmt: skip
def test_a_delta_that_is_none_is_refused_by_name(delta, kind):
    with pytest.raises(kind, match=r"^delta must (be a number|lie in \[0, 1\))"):
        dpjax.Epsilon(delta)
    assert dpjax.Epsilon(0.0).delta == 0 and dpjax.Epsilon(1 - 1e-9).symbol[:7] == "epsilon"


@pytest.mark.parametrize(
    "notion",
    [dpjax.Epsilon(), dpjax.Epsilon(0.1), dpjax.TotalVariation(), dpjax.Zcdp(), dpjax.Gdp()],
    ids=lambda notion: notion.symbol,
)
def test_levels_of_probabilities_0_and_1_warn_of_nothing(notion):
    p, q = np.array([0.0, 1.0, 0.5, 1.0, 0.0]), np.array([0.0, 1.0, 0.0, 0.0, 0.5])
    with np.errstate(all="raise"):
        found = notion.of_shares(p, q, 1)
    assert found[[0, 1, 4]].tolist() == [0.0] * 3 and (found[2:4] > 0).all()
