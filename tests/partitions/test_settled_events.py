"""Events that are simplified, narrowed and described, at the limits of the rules."""

from itertools import pairwise

import numpy as np
import pytest

from dpjax.partitions import Outputs
from dpjax.partitions._cells import Cells
from dpjax.partitions._partition import GROUPS, Partition
from dpjax.partitions._words import _Words

NONE = np.empty(0)
LABELS = tuple(f"'a label with the number {number}'" for number in range(5))


NEAR = (1.2345674, float(np.nextafter(1.2345674, 2)), 1.2345674 + 2 * float(np.spacing(1.2)))
"""A number and the next two floats."""


def line(bins, names=("a number",), atoms=NONE, **options):
    """Return numbers in bins that end at 1, 2, 3, ..."""
    return Partition(names, (np.arange(1.0, bins),), (atoms,), np.zeros(1, int), **options)


def mask(partition, *numbers, alone=()):
    """Return an event of some bins and some cells of labels without numbers."""
    found = np.zeros(partition.size, bool)
    found[[*alone, *(partition.num_alone + number for number in numbers)]] = True
    return found


def test_exactly_half_of_the_cells_are_described_as_they_are():
    cells = line(10)
    half = mask(cells, 0, 1, 8, 9, alone=(0, 1))
    assert 2 * half.sum() == cells.size
    assert cells.describe(half) == (
        "the output is a number, some other label or a number below 2 or of at least 8"
    )
    more = mask(cells, 0, 1, 2, 8, 9, alone=(0, 1))
    assert cells.describe(more) == "the output is not in [3, 8)"
    # Few cells with long names are not described by what they exclude.
    few = line(20, ("a number", *LABELS))
    said = few.describe(mask(few, alone=range(7)), whole=True)
    assert said.startswith("the output is a number, 'a label with the number 0', ")


@pytest.mark.parametrize(("bins", "is_together"), [(6, True), (7, False), (10, False), (11, False)])
def test_labels_that_never_happened_are_added_where_that_is_simpler_to_say(bins, is_together):
    """Only if the event then has more than half of the cells; the other cells are numbers."""
    cells = line(bins, ("a number", *LABELS))
    event = mask(cells, alone=range(1, 6))
    seen = np.ones(cells.size, bool)
    seen[[0, 6]] = False
    found = cells.settled(event, seen)
    expected = mask(cells, alone=range(7) if is_together else range(1, 6))
    np.testing.assert_array_equal(found, expected)
    # They are removed as well as added.
    np.testing.assert_array_equal(cells.settled(expected, seen), found)


def test_bins_that_never_happened_join_what_is_on_both_sides():
    cells = line(10)
    seen = np.isin(np.arange(cells.size) - cells.num_alone, [1, 2, 5, 6, 8])
    for chosen, expected in (
        ([1, 2], [0, 1, 2]), ([1, 5], [0, 1, 5]), ([2, 5], [2, 3, 4, 5]), ([5], [5]),
        ([8], [8, 9]), ([6, 8], [6, 7, 8, 9]), ([5, 8], [5, 8, 9]), ([1, 2, 5], range(6)),
        ([5, 7], [5]), ([0, 5], [5]),
    ):  # fmt: skip
        found = cells.settled(mask(cells, *chosen), seen)
        np.testing.assert_array_equal(found, mask(cells, *expected))
    # The description of the complement is shorter by more than ten characters.
    found = cells.settled(mask(cells, 1, 2, 6, 8), seen)
    np.testing.assert_array_equal(found, mask(cells, 0, 1, 2, 6, 7, 8, 9, alone=(0, 1)))
    # An event that contains all outputs is unchanged.
    whole = mask(cells, 1, 2, 5, 6, 8, alone=(1,))
    np.testing.assert_array_equal(cells.settled(whole, seen), whole)


def test_boxes_of_vectors_keep_their_sets():
    """Only labels without outputs are in no set; the first box may also have no outputs."""
    cells = Partition(("a number",), (np.arange(2.0),) * 2, (NONE, NONE), np.zeros(1, int))
    places = np.array([0, 1, 3, 2, 1, 0, 4, 2, 1, 5, 0])
    seen = np.zeros(cells.size, bool)
    seen[[1, 5]] = True
    found = cells.spread(places, seen, 7)
    assert found.tolist() == [7, *places[1:].tolist()]
    event = np.zeros(cells.size, bool)
    event[[0, 2, 4, 5]] = True
    assert np.flatnonzero(cells.settled(event, seen)).tolist() == [2, 4, 5]


def test_bins_without_outputs_are_in_the_first_set_with_both_neighbors():
    cells = line(8, ("a number", "'a'"))
    places = np.array([0, 1, 2, 6, 4, 6, 1, 6, 3, 6, 6])
    seen = np.array([False, True, False, False, True, False, True, False, True, True, False])
    found = cells.spread(places, seen, 6)
    assert found.tolist() == [6, 1, 6, 4, 4, 4, 1, 3, 3, 6, 6]
    nothing = cells.spread(places, seen & (np.arange(11) < 3), 6)
    assert nothing.tolist() == [6, 1, 6, *places[3:].tolist()]


@pytest.mark.parametrize(("bins", "number"), [(5, 0), (6, 1), (17, 1), (18, 2), (53, 2), (54, 3)])
def test_coarser_partitions_have_at_least_two_bins(bins, number):
    assert GROUPS == (3, 9, 27)
    cells = line(bins)
    found = cells.coarser()
    assert len(found) == number
    for groups, width in zip(found, (3, 9, 27), strict=False):
        np.testing.assert_array_equal(groups[2:], 2 + np.arange(bins) // width)
        assert groups[:2].tolist() == [0, 1]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("bins", [(9,), (4, 5), (2, 3, 4)])
def test_fewer_edges_give_each_output_the_same_mark(bins, seed):
    rng = np.random.default_rng(seed)
    edges = tuple(np.sort(rng.normal(size=number - 1)) for number in bins)
    names = ("a number", "'a'", "'b'")
    cells = Partition(names, edges, (NONE,) * len(bins), np.array([0, 2]))
    marks = rng.integers(0, 2, cells.size)
    # Some edges of each entry separate nothing.
    boxes = marks[cells.num_alone :].reshape(2, *bins).copy()
    for axis in range(1, len(bins) + 1):
        boxes = np.take(boxes, np.arange(bins[axis - 1]) // 2 * 2, axis=axis)
    marks = np.concatenate([marks[: cells.num_alone], boxes.ravel()])
    narrow, own = cells.narrowed(marks)
    labels, alone = rng.integers(0, 5, 400).astype(np.int32), rng.random(400) < 0.2
    outputs = Outputs(labels, rng.normal(size=(400, len(bins))), alone)
    np.testing.assert_array_equal(own[narrow.index(outputs)], marks[cells.index(outputs)])
    assert narrow.size == len(own) < cells.size
    # No kept edge could be left out.
    for column, kept in enumerate(narrow.edges):
        assert len(kept) <= (bins[column] - 1) // 2
        of_bin = np.moveaxis(narrow.boxes(own), column + 1, 0)
        assert all(not np.array_equal(x, y) for x, y in pairwise(of_bin))


def test_long_lists_tell_how_many_cells_are_left_out():
    cells = line(20, ("a number", *LABELS, "'x'", "'y'"))
    found = cells.describe(mask(cells, 3, 4, 5, alone=range(1, 8)))
    assert found.endswith("'a label with the number 3' or 4 more such sets (6 cells)")
    only = cells.describe(mask(cells, 3, alone=range(1, 8)))
    assert only.endswith("'a label with the number 3' or 4 more such sets")
    # There is one part more than the limit.
    five = cells.describe(mask(cells, alone=range(1, 6)))
    assert five.endswith("number 3' or 'a label with the number 4'")


@pytest.mark.parametrize(
    ("edges", "place", "text"),
    [
        # In addition to the ends of an atom's cell, the second edge on either side counts.
        ((1.2345671, *NEAR[:2]), 2, "1.2345674"),
        ((*NEAR[:2], 1.23456744), 0, "1.2345674"),
        # The third edge does not count.
        ((1.2345671, *NEAR), 3, "1.23457"), ((*NEAR, 1.23456744), 0, "1.23457"),
        ((1.2345671, 1.2345674), 0, "1.2345671"), ((1.234567, 1.23458), 0, "1.23457"),
        ((1.0, 2.0), 1, "2"), ((-1e300, 1e300), 0, "-1e+300"),
    ],
)  # fmt: skip
def test_digits_of_ends_beside_atoms(edges, place, text):
    only = line(2)
    edges = np.array(edges)
    assert _Words(only, False).number(float(edges[place]), edges) == text


def test_cells_are_of_reals_in_order_unless_it_is_said():
    cells = Cells(("a number",), (NONE,), (NONE,), np.zeros(1, int))
    assert (cells.whole, cells.ordered, cells.parts) == (False, True, ())
    assert line(3).key != line(3, whole=True).key != line(3, whole=True, ordered=False).key
    assert line(3).key == line(3).key != line(4).key
    assert line(3).key != line(3, atoms=np.ones(1)).key
    assert line(3, ("a number", "'a'")).key != line(3, ("a number", "'b'")).key
