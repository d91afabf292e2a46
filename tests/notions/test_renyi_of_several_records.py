"""Renyi divergences of known distributions, and bounds from pairs at larger distances."""

import math

import numpy as np
import pytest

import dpjax
from dpjax.inference import known_band

LAWS = np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
BAND = known_band(LAWS)


def divergence(order, p=LAWS[0], q=LAWS[1]):
    """Compute it by definition, in the direction in which it is larger."""
    if order == 1:
        return max(np.sum(p * np.log(p / q)), np.sum(q * np.log(q / p)))
    sums = np.sum(p**order * q ** (1 - order)), np.sum(q**order * p ** (1 - order))
    return math.log(max(sums)) / (order - 1)


@pytest.mark.parametrize("order", [1.0001, 1.5, 2, 3.5, 8.0, 64.0])
def test_divergences_are_those_of_the_definition_from_below(order):
    found = dpjax.Renyi(order).of_band(BAND)
    assert 0.998 * divergence(order) < found <= divergence(order) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("distance", "halvings"), [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4)]
)
def test_each_doubling_of_the_distance_halves_the_order(distance, halvings):
    """Mironov (2017), Proposition 2: D_a of 2^c records is at most 3^c D_(2^c a) of one."""
    for order in (2.0 * 2**halvings, 40.0):
        found = dpjax.Renyi(order).of_band(BAND, distance)
        exact = divergence(order / 2**halvings) / 3**halvings
        assert 0.998 * exact < found <= exact * (1 + 1e-9)
    least = 2 * 2**halvings
    dpjax.Renyi(least).refuse_distance(distance)
    below = dpjax.Renyi(least * (1 - 1e-6))
    if distance == 1:
        below.refuse_distance(distance)
        return
    message = f"order must be at least {least} for pairs with distance {distance}, but"
    with pytest.raises(ValueError, match=message):
        below.refuse_distance(distance)


@pytest.mark.parametrize("distance", [1, 2, 3])
def test_rho_is_the_largest_divergence_over_its_order_and_the_squared_distance(distance):
    rho = max(divergence(a) / a for a in np.geomspace(1, 64, 2000)) / distance**2
    assert 0.998 * rho < dpjax.Zcdp().of_band(BAND, distance) <= rho * (1 + 1e-9)


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (math.inf, r"order must be finite, but was infinite: use dpjax.Epsilon\(\)"),
        (-math.inf, r"order must be a number \(finite\), but was -inf"),
        (math.nan, r"order must be a number \(finite\), but was nan"),
        (1, "order must be a number > 1, but was 1"),
        (0.5, "order must be a number > 1, but was 0.5"),
    ],
)
def test_orders_that_are_none(order, message):
    with pytest.raises(ValueError, match=message):
        dpjax.Renyi(order)
    assert dpjax.Renyi(1.001).symbol == "the Renyi divergence of order 1.001"
