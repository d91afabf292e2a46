"""The privacy loss, its maximum, and the region that it is maximised over."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax._types import FiniteSpace, IntegerSpace, RealSpace, VectorSpace
from dpjax.methods.local import largest_loss, privacy_loss
from dpjax.partitions import Box, Outcomes, as_region, product_grid

# The loss.


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
    # Two float32 logarithms of up to 69, each within a few 2^-24 of itself.
    np.testing.assert_allclose(actual, expected, rtol=1e-6, atol=3e-5)
    assert not np.any(np.isnan(actual)) and np.all(actual >= 0)


def test_the_loss_is_symmetric_and_the_floor_may_vary():
    f, g = jnp.array([0.1, 0.0, 0.2]), jnp.array([0.4, 0.3, 0.0])
    np.testing.assert_array_equal(privacy_loss(f, g), privacy_loss(g, f))
    floors = jnp.array([0.2, 0.3, 0.1])
    expected = [math.log(2), 0.0, math.log(2)]
    np.testing.assert_allclose(privacy_loss(f, g, floors), expected, atol=1e-6)


INF = math.inf
SLOPES = {
    # f, f', floor: the derivative of the loss with respect to f and to f', by hand.
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
    # ln 4 twice: the first counts.
    first = find(0.0, jnp.array([True, True, True, True, False]))
    assert first == (1, pytest.approx(math.log(4)), pytest.approx(math.log(4)))
    assert find(0.0, jnp.array([True, False, False, True, False])) == (
        3,
        pytest.approx(math.log(2)),
        pytest.approx(math.log(2)),
    )
    # At the floor 0.2 the last entry has ln(0.9 / 0.2), which is still the largest.
    assert find(0.2, everywhere)[:2] == (4, pytest.approx(math.log(4.5)))


def test_the_penalty_moves_the_choice_but_not_the_loss():
    f, g = jnp.array([0.1, 0.4, 0.2]), jnp.array([0.4, 0.1, 0.1])
    penalty = jnp.array([0.2, 0.9, 0.1])
    everywhere = jnp.ones(3, bool)
    index, loss, score = largest_loss(f, g, 0.0, everywhere, penalty)
    assert int(index) == 0
    assert float(loss) == pytest.approx(math.log(4))
    assert float(score) == pytest.approx(math.log(4) - 0.2)
    index, loss, score = largest_loss(f, g, 0.0, everywhere, jnp.array([2.0, 2.0, 0.1]))
    assert int(index) == 2
    assert float(loss) == pytest.approx(math.log(2), rel=1e-6)
    assert float(score) == pytest.approx(math.log(2) - 0.1, rel=1e-6)
    # What is not allowed loses to any score, a negative one included.
    index, _, score = largest_loss(f, g, 0.0, jnp.array([False, False, True]), 5.0)
    assert int(index) == 2 and float(score) == pytest.approx(math.log(2) - 5)


# Regions.


@pytest.mark.parametrize(("dimension", "num_points"), [(1, 5), (2, 4), (3, 3)])
def test_product_grid_is_the_product_of_its_axes(dimension, num_points):
    low = np.array([-1.0, 2.0, 10.0], np.float32)[:dimension]
    high = np.array([1.0, 5.0, 10.5], np.float32)[:dimension]
    grid = np.asarray(product_grid(jnp.asarray(low), jnp.asarray(high), num_points))
    axes = [
        [a + (b - a) * i / (num_points - 1) for i in range(num_points)]
        for a, b in zip(low.tolist(), high.tolist(), strict=True)
    ]
    np.testing.assert_allclose(grid, list(itertools.product(*axes)), rtol=1e-6)
    # Both ends are there, exactly.
    np.testing.assert_array_equal(grid[0], low)
    np.testing.assert_array_equal(grid[-1], high)


def test_boxes():
    interval = Box(-1, 2)
    assert (interval.dimension, interval.num_points, str(interval)) == (1, 201, "[-1, 2]")
    assert interval.grid().shape == (201, 1)
    square = Box([0, 0], [1, 2])
    assert square.num_points == 41 and square.grid().shape == (41**2, 2)
    assert Box(np.zeros(3), np.ones(3)).num_points == 13
    assert Box(0, 1, 7).grid().shape == (7, 1)
    assert str(square) == "[0, 1] x [0, 2]"
    # A region may be a traced argument: its ends are leaves, its resolution is not.
    assert len(jax.tree.leaves(square)) == 2
    grid = jax.jit(lambda box: box.grid())(square)
    np.testing.assert_allclose(grid, square.grid(), rtol=1e-6)


def test_regions_of_a_finite_space():
    whole = as_region(None, FiniteSpace(4))
    assert (whole.low, whole.size, whole.allowed.tolist()) == (0, 4, [True] * 4)
    assert str(whole) == "{0, ..., 3}"
    some = as_region([2, 0, 2], FiniteSpace(4))
    assert some.allowed.tolist() == [True, False, True, False]
    assert str(some) == "2 of the outcomes from 0 on"
    assert as_region(np.array([3]), FiniteSpace(4)).allowed.tolist() == [False] * 3 + [True]
    assert as_region(some, FiniteSpace(4)) is some


def test_regions_of_the_integers():
    region = as_region((-2.5, 3.5), IntegerSpace())
    assert (region.low, region.size, region.allowed.all()) == (-2, 6, True)
    assert as_region((-1, 1), IntegerSpace()).size == 3
    assert as_region(Box(-1, 1), IntegerSpace()).low == -1
    outcomes = Outcomes(-5, 3, np.ones(3, bool))
    assert as_region(outcomes, IntegerSpace()) is outcomes


def test_regions_of_reals():
    for region in ((-1, 1), [-1, 1], np.array([-1, 1]), Box(-1, 1)):
        box = as_region(region, RealSpace())
        assert (box.low.tolist(), box.high.tolist()) == ([-1], [1])
    # A region that reaches over the edge of the support is not outside it.
    assert as_region((-1, 1), RealSpace(0.0)).low.tolist() == [-1]
    square = as_region(([0, 1], [2, 3]), VectorSpace(2))
    assert square.low.tolist() == [0, 1] and square.high.tolist() == [2, 3]


@pytest.mark.parametrize(
    ("region", "space", "error", "message"),
    [
        (None, RealSpace(), ValueError, r"region must be given as \(low, high\) .* reals"),
        (None, IntegerSpace(), ValueError, r"region must be given as \(low, high\) .* integers"),
        (3.0, RealSpace(), TypeError, r"region must be \(low, high\), but was 3\.0"),
        ((1, 2, 3), RealSpace(), TypeError, r"region must be \(low, high\), but was \(1, 2, 3\)"),
        ("ab", RealSpace(), TypeError, "region must have numbers as ends, but had 'a' and 'b'"),
        ((1, 1), RealSpace(), ValueError, r"region must have low < high .* low \[1\.0\]"),
        ((2, 1), RealSpace(), ValueError, r"region must have low < high .* high \[1\.0\]"),
        (([0, 3], [1, 2]), VectorSpace(2), ValueError, "region must have low < high on every"),
        ((0, np.inf), RealSpace(), ValueError, "region must have finite bounds"),
        ((np.nan, 1), RealSpace(), ValueError, "region must have finite bounds"),
        (([0, 0], [1, 1]), RealSpace(), ValueError, "region must have dimension 1 .* had 2"),
        ((0, 1), VectorSpace(2), ValueError, "region must have dimension 2 .* had 1"),
        (([0, 0], [1, 1, 1]), VectorSpace(2), ValueError, "region must have ends of one shape"),
        ((-3, -1), RealSpace(0.0), ValueError, r"region \[-3, -1\] lies outside the support"),
        ((1, 2), RealSpace(0.0, 1.0), ValueError, r"region \[1, 2\] lies outside the support"),
        (Outcomes(0, 2, np.ones(2, bool)), RealSpace(), TypeError, "an interval or a box"),
        (([0] * 4, [1] * 4), VectorSpace(4), ValueError, "dimension 4 are too many .*at most 3"),
        ((0.2, 0.8), IntegerSpace(), ValueError, r"region \[0\.2, 0\.8\] holds no integer"),
        ((0, 2**21), IntegerSpace(), ValueError, r"holds more than 2\^20 integers"),
        (([0, 0], [1, 1]), IntegerSpace(), ValueError, "region must have dimension 1 .* had 2"),
        ([], FiniteSpace(4), ValueError, "region must hold at least one outcome, but was empty"),
        ([4], FiniteSpace(4), ValueError, r"outcomes 0\.\.3, but was \[4\]"),
        ([-1], FiniteSpace(4), ValueError, r"outcomes 0\.\.3, but was \[-1\]"),
        ([0.5], FiniteSpace(4), TypeError, r"a list of outcomes \(integers\), but was \[0\.5\]"),
        (2, FiniteSpace(4), TypeError, "a list of outcomes"),
        ([[0, 1]], FiniteSpace(4), TypeError, "a list of outcomes"),
        (Box(0, 1), FiniteSpace(4), TypeError, "a list of outcomes"),
        (Outcomes(0, 9, np.ones(9, bool)), FiniteSpace(4), ValueError, r"outcomes 0\.\.3"),
        (Outcomes(0, 4, np.zeros(4, bool)), FiniteSpace(4), ValueError, "at least one outcome"),
        (Outcomes(0, 2, np.zeros(2, bool)), IntegerSpace(), ValueError, "at least one outcome"),
    ],
)
def test_refused_regions(region, space, error, message):
    with pytest.raises(error, match=message):
        as_region(region, space)


def test_refused_boxes():
    with pytest.raises(ValueError, match="num_points must be an integer >= 2, but was 1"):
        Box(0, 1, 1)
    with pytest.raises(ValueError, match="region must have ends of one shape"):
        Box([[0, 0]], [[1, 1]])
