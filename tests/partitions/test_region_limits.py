"""Regions at the limits of what is accepted."""

import numpy as np
import pytest

from dpjax.core.types import FiniteSpace, IntegerSpace, RealSpace, VectorSpace
from dpjax.partitions import Box, Outcomes, as_region
from dpjax.partitions._region import as_box, product_grid, region_text
from dpjax.partitions.low_bits import lowest_set_bit
from dpjax.partitions.missing import special_text
from dpjax.partitions.outputs import Encoder
from dpjax.partitions.previews import preview, shortened


@pytest.mark.parametrize(("dimension", "points"), [(1, 201), (2, 41), (3, 13), (4, 2)])
def test_points_of_grids(dimension, points):
    box = Box(np.zeros(dimension), np.ones(dimension))
    assert box.num_points == points and box.dimension == dimension
    assert Box(np.zeros(dimension), np.ones(dimension), 2).num_points == 2
    with pytest.raises(ValueError, match="num_points"):
        Box(np.zeros(dimension), np.ones(dimension), 1)


def test_a_grid_goes_through_the_last_axis_first():
    grid = np.asarray(product_grid(np.array([0.0, 5.0]), np.array([1.0, 7.0]), 3))
    np.testing.assert_allclose(grid[:4], [[0, 5], [0, 6], [0, 7], [0.5, 5]])
    assert grid.shape == (9, 2)


def test_dimensions_of_kernel_estimates():
    three = as_region((np.zeros(3), np.ones(3)), VectorSpace(3))
    assert three.dimension == 3 and str(three) == "[0, 1] x [0, 1] x [0, 1]"
    with pytest.raises(ValueError, match=r"dimension 4 have too many entries .* at most 3"):
        as_region((np.zeros(4), np.ones(4)), VectorSpace(4))
    with pytest.raises(ValueError, match="must have dimension 2, like the outputs, but had 3"):
        as_region((np.zeros(3), np.ones(3)), VectorSpace(2))


@pytest.mark.parametrize(
    ("region", "fits"), [((0.5, 2.0), True), ((1.0, 2.0), False), ((-2.0, 0.0), False),
                         ((-1.0, 0.1), True), ((0.9, 1.1), True)],
)  # fmt: skip
def test_regions_meet_the_support(region, fits):
    if fits:
        as_region(region, RealSpace(0.0, 1.0))
        return
    with pytest.raises(ValueError, match="lies outside the support"):
        as_region(region, RealSpace(0.0, 1.0))


@pytest.mark.parametrize(
    ("region", "low", "size"),
    [((-1.5, 2.5), -1, 4), ((-1, 2), -1, 4), ((3, 3.5), 3, 1), ((0, 2**20 - 1), 0, 2**20),
     ((2**24 - 2, 2**24), 2**24 - 2, 3), ((-(2**24), -(2**24) + 1), -(2**24), 2)],
)  # fmt: skip
def test_regions_of_integers(region, low, size):
    found = as_region(region, IntegerSpace())
    assert (found.low, found.size) == (low, size) and np.all(found.allowed)
    assert str(found) == f"{{{low}, ..., {low + size - 1}}}"


@pytest.mark.parametrize(
    ("region", "message"),
    [((0, 2**20), r"more than 2\^20 integers"), ((2**24, 2**24 + 2), r"past 2\^24"),
     ((-(2**24) - 2, 0), r"past 2\^24"), ((0.25, 0.75), "holds no integer"),
     (([0, 0], [1, 1]), "must have dimension 1, like the outputs, but had 2"),
     (Outcomes(0, 3, np.zeros(3, bool)), "but 0 of its 3 entries were True"),
     (Outcomes(0, 3, np.ones(2, bool)), "each of the 3 integers, .* 2 of its 2 entries")],
)  # fmt: skip
def test_regions_of_integers_that_are_refused(region, message):
    with pytest.raises(ValueError, match=message):
        as_region(region, IntegerSpace())


def test_regions_of_outcomes():
    space = FiniteSpace(5)
    assert as_region([4, 0], space).allowed.tolist() == [True, False, False, False, True]
    assert as_region(None, space).size == 5
    within = Outcomes(1, 4, np.array([True, False, True, False]))
    assert as_region(within, space) is within and str(within) == "2 of the outcomes 1, ..., 4"
    for low, size in ((1, 5), (-1, 3)):
        with pytest.raises(
            ValueError, match=rf"within the outcomes 0..4, but .* {low}..{low + size - 1}"
        ):
            as_region(Outcomes(low, size, np.ones(size, bool)), space)
    for wrong in ([5], [-1], [], [0.5], [[1]]):
        with pytest.raises((TypeError, ValueError), match="region must"):
            as_region(wrong, space)


def test_boxes_of_any_outputs():
    box = Box(0.0, 1.0)
    assert as_box(box) is box and as_box(None) is None and as_box((0, 2)).high.tolist() == [2.0]
    assert region_text(None) == "all outputs" and region_text(box) == "[0, 1]"
    for wrong in (3, (1, 2, 3), ("a", "b"), (1, 1), (2, 1), ([0, 1], [2]), (0, np.inf)):
        with pytest.raises((TypeError, ValueError), match=r"region must|must be"):
            as_box(wrong)
    with pytest.raises(ValueError, match="ends that are distinct float32 numbers"):
        Box(1e9, 1e9 + 1)


def test_texts_of_outputs():
    assert shortened("a" * 80) == "a" * 80 and shortened("a" * 81) == "a" * 80 + "..."
    assert special_text([np.nan]) == "NaN" and special_text([-np.inf]) == "-inf"
    assert special_text([1.0, np.inf, np.nan]) == "(number, +inf, NaN)"
    assert preview(np.zeros((2, 3))) == "an array of float64 of the shape [2, 3]"
    assert preview([1, 2]) == "a list of length 2" and preview(3) == "3 (int)"


def test_lowest_set_bits_at_the_ends():
    values = np.array([1.0, -6.0, 0.5, 5e-324, 2.0**1023, 1.75 * 2.0**1023, 3.0])
    assert lowest_set_bit(values).tolist() == [0, 1, -1, -1074, 1023, 1021, 0]


@pytest.mark.parametrize("bits", [9, 0, "high", 1.5])
def test_bits_that_cannot_be_looked_at(bits):
    with pytest.raises((TypeError, ValueError), match="bits"):
        Encoder("x", bits=bits)
    Encoder("x", bits=8)


def test_bits_are_named_in_order():
    encoder = Encoder("x", bits=2)
    found = encoder.encode(np.array([1.0, np.nextafter(1.0, 2.0), -0.0, 0.0, np.nan]))
    names = [encoder.names[label] for label in found.labels]
    assert names == ["lowest 2 bits 00", "lowest 2 bits 01", "-0.0", "0.0", "NaN"]
    assert found.alone.tolist() == [False, False, True, True, True]
    whole = Encoder("x", bits="auto")
    assert whole.encode(np.array([1, 2])).labels.tolist() == [0, 0]
    assert whole.encode(np.array([1.0])).labels.tolist() == [1]
    assert Encoder("x", bits="auto").encode(np.zeros((1, 2))).labels.tolist() == [0]
    with pytest.raises(ValueError, match="single reals, but x gave vectors"):
        Encoder("x", bits=2).encode(np.zeros((1, 2)))


def test_states_of_encoders_are_kept():
    encoder = Encoder("x")
    encoder.encode([1, 1.5, "a", None, {"n": 1.0, "s": "b"}])
    again = Encoder("x")
    again.restore(encoder.to_plain())
    assert again.names == encoder.names and again.to_plain() == encoder.to_plain()
    assert (again.dimension, again.parts) == (encoder.dimension, encoder.parts)
    assert again.labels.named("None") == encoder.labels.named("None") and len(again.names) == len(
        encoder.names
    )
    with pytest.raises(ValueError, match="does not have the type int"):
        Encoder("x").restore({"labels": [["int", "a", "a"]], "dimension": None, "columns": None})
