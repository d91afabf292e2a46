"""Claims are read once, and rejected with a message that names the invalid point."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import norm

import dpjax
from dpjax import Epsilon, Gdp, Profile, TradeOff
from dpjax.mechanisms import Laplace


def profile(epsilon):
    """Return the profile of the Gaussian mechanism with mu = 1."""
    return norm.cdf(0.5 - epsilon) - math.exp(epsilon) * norm.cdf(-0.5 - epsilon)


class Distribution:
    """An accountant's distribution, with a method instead of a function."""

    def __init__(self, value):
        self.get_epsilon_for_delta = lambda delta: value


BAD = [
    (lambda e: math.nan, ValueError, "must give a delta in .0, 1. at epsilon = 0, but gave nan"),
    (lambda e: 0.5 if e < 0.01 else math.nan, ValueError, "at epsilon = 0.02, but gave nan"),
    (lambda e: None, TypeError, "at epsilon = 0, but gave None"),
    (lambda e: "0.1", TypeError, r"but gave '0.1' \(str\)"),
    (lambda e: True, TypeError, r"but gave True \(bool\)"),
    (lambda e: np.array([0.1, 0.2]), TypeError, "at epsilon = 0, but gave array"),
    (lambda e: 1.5, ValueError, "but gave 1.5"),
    (lambda e: -1e-9, ValueError, "but gave -1e-09"),
    (lambda e: 1 / 0, ValueError, "claim raised ZeroDivisionError at epsilon = 0: div"),
]  # fmt: skip


@pytest.mark.parametrize("notion", [Profile(), Epsilon(1e-5)], ids=lambda notion: notion.name)
@pytest.mark.parametrize(("claim", "error", "message"), BAD)
def test_functions_that_are_no_profile(notion, claim, error, message):
    with pytest.raises(error, match=message):
        dpjax.audit(Laplace(1.0), notion=notion, claim=claim)


@pytest.mark.parametrize("value", [math.nan, math.inf, -1.0, None, "1", [1.0], True])
def test_distributions_that_give_no_epsilon(value):
    with pytest.raises((TypeError, ValueError), match=r"a finite epsilon .* delta = 1e-05, but"):
        dpjax.audit(Laplace(1.0), notion=Epsilon(1e-5), claim=Distribution(value))


def test_functions_that_are_no_trade_off():
    with pytest.raises(ValueError, match=r"an error in \[0, 1\] at level = .*gave nan"):
        dpjax.audit(Laplace(1.0), notion=TradeOff(), claim=lambda level: math.nan)


@pytest.mark.parametrize(
    ("claim", "point"),
    [
        (lambda level: level, "(0.505, 0.505)"),  # a ROC curve that reveals nothing
        (lambda level: level**0.5, "(0.385, 0.62"),
        ([(0.0, 0.0), (0.5, 0.7), (1.0, 1.0)], "(0.5, 0.7)"),
    ],
)
def test_curves_that_no_mechanism_satisfies_are_no_trade_off(claim, point):
    """Otherwise, every mechanism would violate a ROC curve that is passed by mistake."""
    with pytest.raises(ValueError, match="errors of at most 1 - level") as caught:
        dpjax.audit(Laplace(1.0), notion=TradeOff(), claim=claim)
    assert f"(level, error) = {point}" in str(caught.value)
    assert "one minus the power" in str(caught.value)


def test_the_curve_of_two_equal_distributions_is_a_trade_off():
    points = TradeOff().claimed(lambda level: np.float32(1) - np.float32(level))
    assert points[0] == (0.0, 1.0) and points[-1] == (1.0, 0.0)


@pytest.mark.parametrize("claim", [math.nan, math.inf, -0.1, "1", True, [1.0], None])
def test_numbers_that_are_no_level(claim):
    if claim is None:
        assert dpjax.audit(Laplace(1.0), claim=None).verdict == "no claim"
        return
    with pytest.raises((TypeError, ValueError), match="claim"):
        dpjax.audit(Laplace(1.0), notion=Gdp(), claim=claim)


def test_a_function_of_jax_is_one():
    result = Epsilon(1e-5).claimed(lambda e: jnp.asarray(profile(e)))
    assert result == pytest.approx(4.377, abs=1e-3)


def test_the_least_epsilon_of_a_claimed_function():
    """It is where the profile is 1e-5, to all digits; later increases are ignored."""
    exact = Epsilon(1e-5).claimed(profile)
    assert profile(exact) == pytest.approx(1e-5, rel=1e-9)
    bumpy = Epsilon(1e-5).claimed(lambda e: 1.0 if 6 < e < 39 else profile(e))
    assert bumpy == exact


@pytest.mark.parametrize("claim", ["12", "", b"12", [], None, 3.0])
def test_what_has_no_points_is_no_curve(claim):
    with pytest.raises(TypeError, match=r"^claim must be .*, but was "):
        Profile().claimed(claim)


def test_one_point_is_a_claimed_curve():
    point, curve = (
        dpjax.audit(
            Laplace(1.0), [(0.0, 1.0)], notion=Profile(), claim=claim,
            method=dpjax.Events(500, 500),
        ).claim
        for claim in ((1.0, 0.1), [(1.0, 0.1)])
    )  # fmt: skip
    assert point == curve


@pytest.mark.parametrize(
    ("points", "message"),
    [
        ([(1e-5, 3.0), (1e-6, 0.5)], r"had \(1e-05, 3\.0\): if .* \(delta, epsilon\), swap"),
        ([(1e-5, 1.0)], r"below 1, .* only \(1e-05, 1\.0\): if .*, swap"),
        ([(2.0, 3.0)], r"deltas in \[0, 1\], but had \(2\.0, 3\.0\)\.$"),
        ([(2.0, 1.0), (3.0, 1.0)], r"every mechanism .* only \(2\.0, 1\.0\)\.$"),
    ],
)
def test_points_of_a_profile_whose_columns_are_swapped(points, message):
    """Epsilon = 3 at delta = 1e-5 is the point (3, 1e-5); delta = 1 would claim nothing."""
    with pytest.raises(ValueError, match=message):
        dpjax.Profile().claimed(points)


def test_a_profile_may_start_at_delta_1():
    assert dpjax.Profile().claimed([(0, 1), (0.5, 0.9)]) == ((0.0, 1.0), (0.5, 0.9))
