"""The privacy loss and its maximum."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.methods.local import largest_loss, privacy_loss
from dpjax.methods.local._options import LocalOptions
from dpjax.methods.local._penalty import kernel_penalty, outcome_penalty


def naive_loss(f, g, floor):
    f, g = max(f, floor), max(g, floor)
    if f == g:
        return 0.0
    return math.inf if 0 in (f, g) else abs(math.log(f / g))


@pytest.mark.parametrize("floor", [0.0, 1e-3, 0.5, 3.0])
def test_privacy_loss_entry_by_entry(floor):
    values = np.array([0.0, 1e-30, 1e-4, 1e-3, 0.2, 0.5, 1.0, 7.0], np.float32)
    f, g = (np.array(side) for side in zip(*itertools.product(values, values), strict=True))
    actual = np.asarray(privacy_loss(jnp.asarray(f), jnp.asarray(g), floor))
    floor = float(np.float32(floor))
    expected = [naive_loss(float(a), float(b), floor) for a, b in zip(f, g, strict=True)]
    # Two float32 logarithms of up to 69 have errors of a few 2^-24 of their sizes.
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=3e-5)
    assert not np.any(np.isnan(actual)) and np.all(actual >= 0)


@pytest.mark.parametrize("floor", [-1, -1e-30, np.array([0.1, -0.1]), math.nan, math.inf])
def test_floors_that_are_no_density(floor):
    f, g = jnp.array([0.1, 0.3]), jnp.array([0.4, 0.2])
    with pytest.raises(ValueError, match=r"^floor must be a number >= 0"):
        privacy_loss(f, g, floor)
    with pytest.raises(TypeError, match=r"^floor must be a number >= 0, but was '1'"):
        privacy_loss(f, g, "1")


def test_the_loss_is_symmetric_and_the_floor_may_vary():
    f, g = jnp.array([0.1, 0.0, 0.2]), jnp.array([0.4, 0.3, 0.0])
    np.testing.assert_array_equal(privacy_loss(f, g), privacy_loss(g, f))
    floors = jnp.array([0.2, 0.3, 0.1])
    expected = [math.log(2), 0.0, math.log(2)]
    np.testing.assert_allclose(privacy_loss(f, g, floors), expected, atol=1e-6)


INF = math.inf
SLOPES = {
    # (f, f', floor); the derivatives of the loss with respect to f and f' by hand.
    "nothing at either side": (0.0, 0.0, 0.0, (0.0, 0.0)),
    "nothing at one side": (0.0, 0.25, 0.0, (-INF, 4.0)),
    "nothing at the other": (0.25, 0.0, 0.0, (4.0, -INF)),
    "above the floor": (0.5, 0.2, 0.1, (2.0, -5.0)),
    "above the floor, the other way": (0.2, 0.5, 0.1, (-5.0, 2.0)),
    "no floor": (0.5, 0.2, 0.0, (2.0, -5.0)),
    "one below the floor": (0.01, 0.5, 0.1, (0.0, 2.0)),
    "nothing, with a floor": (0.0, 0.5, 0.1, (0.0, 2.0)),
    "both below the floor": (0.01, 0.02, 0.1, (0.0, 0.0)),
    "nothing at either side, with a floor": (0.0, 0.0, 0.1, (0.0, 0.0)),
}


@pytest.mark.parametrize("case", SLOPES)
def test_the_slope_of_the_loss(case):
    f, g, floor, slopes = SLOPES[case]
    gradient = jax.grad(privacy_loss, (0, 1))
    np.testing.assert_allclose(gradient(f, g, floor), slopes, rtol=1e-6)
    if 0 not in (f, g):
        # Central differences of ln have an error of h^2 / (3 f^3).
        step = 1e-6
        differences = [
            (naive_loss(f + a, g + b, floor) - naive_loss(f - a, g - b, floor)) / (2 * step)
            for a, b in ((step, 0), (0, step))
        ]
        np.testing.assert_allclose(gradient(f, g, floor), differences, rtol=1e-5, atol=1e-6)


def test_an_entry_without_density_leaves_the_slopes_of_others():
    f, g = jnp.array([0.0, 0.5, 0.2]), jnp.array([0.0, 0.25, 0.4])
    slopes = jax.jit(jax.grad(lambda f: jnp.sum(privacy_loss(f, g))))(f)
    np.testing.assert_allclose(slopes, [0, 2, -5], rtol=1e-6)


def test_largest_loss_among_what_is_allowed():
    f = jnp.array([0.5, 0.1, 0.4, 0.2, 0.0])
    g = jnp.array([0.5, 0.4, 0.1, 0.1, 0.9])
    everywhere = jnp.ones(5, bool)

    def find(*args):
        index, loss, score = jax.jit(largest_loss)(f, g, *args)
        return int(index), float(loss), float(score)

    assert find(0.0, everywhere) == (4, math.inf, math.inf)
    # ln 4 occurs twice, and the first counts.
    first = find(0.0, jnp.array([True, True, True, True, False]))
    assert first == (1, pytest.approx(math.log(4)), pytest.approx(math.log(4)))
    assert find(0.0, jnp.array([True, False, False, True, False])) == (
        3,
        pytest.approx(math.log(2)),
        pytest.approx(math.log(2)),
    )
    # At the floor 0.2, the last entry is ln(0.9 / 0.2), which is still the largest.
    assert find(0.2, everywhere)[:2] == (4, pytest.approx(math.log(4.5)))


def test_the_penalty_moves_the_choice_but_not_the_loss():
    f, g = jnp.array([0.1, 0.4, 0.2]), jnp.array([0.4, 0.1, 0.1])
    penalty = jnp.array([0.2, 0.9, 0.1])
    everywhere = jnp.ones(3, bool)
    find = jax.jit(largest_loss)
    index, loss, score = find(f, g, 0.0, everywhere, penalty)
    assert int(index) == 0
    assert float(loss) == pytest.approx(math.log(4))
    assert float(score) == pytest.approx(math.log(4) - 0.2)
    index, loss, score = find(f, g, 0.0, everywhere, jnp.array([2.0, 2.0, 0.1]))
    assert int(index) == 2
    assert float(loss) == pytest.approx(math.log(2), rel=1e-6)
    assert float(score) == pytest.approx(math.log(2) - 0.1, rel=1e-6)
    # Points that are not allowed lose to all scores, including negative scores.
    far = jnp.full(3, 5.0)
    index, _, score = find(f, g, 0.0, jnp.array([False, False, True]), far)
    assert int(index) == 2 and float(score) == pytest.approx(math.log(2) - 5)


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_the_penalty_is_2_5_standard_errors_of_both_stages(kernel, dimension):
    """Each is sqrt(R (1 / f + 1 / f') / (n h^d)), with R computed on a grid of radii."""
    settings = LocalOptions(num_samples=1000, num_confirm=4000, bandwidth=0.5, kernel=kernel)
    radii = np.linspace(0, 12, 400_001)
    profile = np.exp(-(radii**2) / 2) if kernel == "gaussian" else np.maximum(1 - radii**2, 0)
    surface = 2 * math.pi ** (dimension / 2) / math.gamma(dimension / 2) * radii ** (dimension - 1)
    first, second = (np.trapezoid(profile**power * surface, radii) for power in (1, 2))
    densities = jnp.array([[0.1, 0.02], [0.4, 0.5]])
    found = kernel_penalty(densities, 0.05, jnp.array([0.5, 0.5]), settings, dimension)
    worth = [n * 0.5**dimension * first**2 / second for n in (1000, 4000)]
    expected = [
        sum(2.5 * math.sqrt((1 / f + 1 / g) / draws) for draws in worth)
        for f, g in ((0.1, 0.4), (0.05, 0.5))
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_the_penalty_of_outcomes_is_half_of_a_standard_error():
    settings = LocalOptions(num_samples=1000, num_confirm=4000)
    densities = jnp.array([[0.1, 0.02], [0.4, 0.5]])
    found = outcome_penalty(densities, 0.05, settings)
    expected = [
        sum(0.5 * math.sqrt((1 / p + 1 / q - 2) / n) for n in (1000, 4000))
        for p, q in ((0.1, 0.4), (0.05, 0.5))
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    plain = LocalOptions(num_samples=1000, num_confirm=4000, objective="loss")
    assert outcome_penalty(densities, 0.05, plain) == 0
