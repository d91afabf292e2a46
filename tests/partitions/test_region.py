"""Regions of outputs: accepted notations and rejected values."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.types import FiniteSpace, IntegerSpace, RealSpace, VectorSpace
from dpjax.partitions import Box, Outcomes, as_region, product_grid
from dpjax.partitions._curve import curve_of


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
    # Both ends are included, exactly.
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
    assert str(some) == "2 of the outcomes 0, ..., 3"
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
    # A region that extends beyond the support is not outside of it.
    assert as_region((-1, 1), RealSpace(0.0)).low.tolist() == [-1]
    # A part of it may be outside.
    for ends in ((0.5, 2), (-1, 0.5), (-1, 2)):
        assert as_region(ends, RealSpace(0.0, 1.0)).high.tolist() == [ends[1]]
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
        (([0, 0], [1, 1]), RealSpace(), ValueError, "region must have dimension 1, .* had 2"),
        ((0, 1), VectorSpace(2), ValueError, "region must have dimension 2, .* had 1"),
        (([0, 0], [1, 1, 1]), VectorSpace(2), ValueError, "ends of the same shape"),
        ((-3, -1), RealSpace(0.0), ValueError, r"region \[-3, -1\] lies outside the support"),
        ((1, 2), RealSpace(0.0, 1.0), ValueError, r"region \[1, 2\] lies outside the support"),
        ((-1, 0), RealSpace(0.0, 1.0), ValueError, r"region \[-1, 0\] lies outside the support"),
        (Outcomes(0, 2, np.ones(2, bool)), RealSpace(), TypeError, "an interval or a box"),
        (([0] * 4, [1] * 4), VectorSpace(4), ValueError, "dimension 4 have too many .*at most 3"),
        ((0.2, 0.8), IntegerSpace(), ValueError, r"region \[0\.2, 0\.8\] holds no integer"),
        ((0, 2**21), IntegerSpace(), ValueError, r"holds more than 2\^20 integers"),
        (([0, 0], [1, 1]), IntegerSpace(), ValueError, "region must have dimension 1, .* had 2"),
        ([], FiniteSpace(4), ValueError, "region must hold at least one outcome, but was empty"),
        ([4], FiniteSpace(4), ValueError, r"outcomes 0\.\.3, but was \[4\]"),
        ([-1], FiniteSpace(4), ValueError, r"outcomes 0\.\.3, but was \[-1\]"),
        ([0.5], FiniteSpace(4), TypeError, r"a list of outcomes \(integers\), but was \[0\.5\]"),
        (2, FiniteSpace(4), TypeError, "a list of outcomes"),
        ([[0, 1]], FiniteSpace(4), TypeError, "a list of outcomes"),
        (Box(0, 1), FiniteSpace(4), TypeError, "a list of outcomes"),
        (Outcomes(0, 9, np.ones(9, bool)), FiniteSpace(4), ValueError, r"outcomes 0\.\.3"),
        (Outcomes(0, 4, np.zeros(4, bool)), FiniteSpace(4), ValueError, "at least one of them"),
        (Outcomes(0, 2, np.zeros(2, bool)), IntegerSpace(), ValueError, "at least one of them"),
    ],
)
def test_refused_regions(region, space, error, message):
    with pytest.raises(error, match=message):
        as_region(region, space)


def test_refused_boxes():
    with pytest.raises(ValueError, match="num_points must be an integer >= 2, but was 1"):
        Box(0, 1, 1)
    with pytest.raises(ValueError, match="region must have ends of the same shape"):
        Box([[0, 0]], [[1, 1]])


def test_an_outline_keeps_what_is_seen_most():
    """2,000 numbers are kept by their counts and 60 labels by their losses, in cell order."""
    random = np.random.default_rng(2)
    counts = random.integers(0, 50, (2, 2600))
    bounds = np.stack([np.arange(2600.0), np.arange(2600.0) + 1], axis=1)
    bounds[:100] = np.nan
    bounds[100, 0], bounds[-1, 1] = -np.inf, np.inf
    counts[:, [100, -1]] = 60
    found = curve_of(counts, np.arange(2600) % 2 == 0, bounds, lambda cell: f"label {cell}")
    kept = [int(name[6:]) for name in found["points"] if isinstance(name, str)]
    assert kept == sorted(kept) and len(kept) == 60
    shares = (counts + 0.5) / (counts.sum(axis=1, keepdims=True) + 1)
    weights = (np.abs(np.log(shares[0] / shares[1])) * shares.max(axis=0))[:100]
    assert weights[kept].min() >= np.delete(weights, kept).max()
    numbers = [point for point in found["points"] if not isinstance(point, str)]
    assert len(numbers) == 2000 and numbers[0] == bounds[100, 1] and numbers[-1] == 2599
    cells = [int(np.floor(point)) for point in numbers[1:-1]]
    most = counts.max(axis=0)
    left_out = np.setdiff1d(np.arange(101, 2599), cells)
    assert most[cells].min() >= most[left_out].max()
    np.testing.assert_allclose(numbers[1:-1], np.array(cells) + 0.5)


@pytest.mark.parametrize("outcomes", [[0, 4], [-1, 2], [9]])
def test_outcomes_outside_of_a_finite_space_are_refused(outcomes):
    with pytest.raises(ValueError, match=r"region must hold only outcomes 0\.\.3, but was"):
        as_region(outcomes, FiniteSpace(4))


def test_what_a_compiled_program_knows_of_a_region():
    """The range of outcomes is static; the outcomes, and the ends of a box, are arguments."""
    outcomes = Outcomes(2, 3, np.array([True, False, True]))
    (allowed,) = jax.tree.leaves(outcomes)
    assert allowed is outcomes.allowed
    other = jax.tree.structure(Outcomes(2, 3, np.ones(3, bool)))
    assert jax.tree.structure(outcomes) == other
    for changed in (Outcomes(1, 3, np.ones(3, bool)), Outcomes(2, 4, np.ones(3, bool))):
        assert jax.tree.structure(changed) != other
    low, high = jax.tree.leaves(Box(0.0, 1.0))
    assert (low.tolist(), high.tolist()) == ([0.0], [1.0])
    assert jax.tree.structure(Box(0.0, 1.0)) == jax.tree.structure(Box(0.0, 2.0))
    assert jax.tree.structure(Box(0.0, 1.0)) != jax.tree.structure(Box(0.0, 1.0, 7))
