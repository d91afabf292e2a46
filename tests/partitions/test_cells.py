"""How cells are numbered and named, and which outputs of a label count as unseen."""

import numpy as np
import pytest

from dpjax.core.types import MixedSpace, RealSpace
from dpjax.partitions import Encoder, Outputs
from dpjax.partitions._cells import Cells, after, entry_name, name_of_path
from dpjax.partitions._lookup import encode_drawn
from dpjax.partitions._one_entry import OneEntry
from dpjax.partitions._partition import Partition, _filled
from dpjax.partitions._words import _Words
from dpjax.partitions.targets import targets_of


def cells(kind=Partition, **options):
    """Return cells of two labels, one of them with numbers, and of vectors with two entries."""
    edges = (np.array([0.0, 1.0]), np.array([5.0]))
    atoms = (np.array([0.0]), np.empty(0))
    return kind(("a number", "a", "b"), edges, atoms, np.array([0, 2]), **options)


def test_numbers_of_cells():
    found = cells()
    assert (found.shape, found.num_alone, found.size) == ((3, 2), 4, 16)
    expected = [0, 1, 2, 3, *[0] * 6, *[2] * 6]
    np.testing.assert_array_equal(found.labels(), expected)
    boxes = found.boxes(np.arange(16))
    assert boxes.shape == (2, 3, 2) and boxes[1, 0, 1] == 11
    low, high = found.ends(0)
    np.testing.assert_array_equal(low, [-np.inf, 0.0, 1.0])
    np.testing.assert_array_equal(high, [0.0, 0.0, np.inf])


def test_outputs_and_their_cells():
    """If a label without numbers gets a number, it counts as an unseen label."""
    labels = np.array([0, 1, 1, 2, 2, 3, 3, 0])
    values = np.array(
        [[0.5, 9], [0, 0], [0.5, 9], [2, 0], [0, 0], [0.5, 9], [0, 0], [-1, 0]], float
    )
    alone = np.array([False, True, False, False, True, False, True, False])
    found = cells().index(Outputs(labels, values, alone))
    assert found.tolist() == [4 + 2 + 1, 1, 3, 10 + 4, 2, 3, 3, 4]
    # This is also the case if all outputs have numbers.
    rows = ~alone & (labels != 1) & (labels != 3)
    some = cells().index(Outputs(labels[rows], values[rows], alone[rows]))
    assert some.tolist() == found[rows].tolist()


def test_numbers_beside_labels_that_had_none():
    """Only numbers with numbers were seen; the outputs may come in any order."""
    only = Partition(("a number", "a"), (np.array([0.0]),), (np.empty(0),), np.zeros(1, int))
    values = np.array([[1.0], [1.0], [-1.0], [0.0]])
    for labels, alone, expected in (
        ([0, 1, 0, 0], [0, 0, 0, 0], [4, 2, 3, 4]),
        ([0, 1, 0, 1], [0, 1, 0, 1], [4, 1, 3, 1]),
        ([0, 0, 0, 0], [0, 0, 0, 0], [4, 4, 3, 4]),
        ([0, 0, 0, 0], [0, 0, 1, 0], [4, 4, 0, 4]),
        ([2, 0, 0, 0], [1, 0, 0, 0], [2, 4, 3, 4]),
    ):
        found = only.index(Outputs(np.array(labels), values, np.array(alone, bool)))
        assert found.tolist() == expected


@pytest.mark.parametrize("whole", [False, True])
def test_groups_of_two_entries(whole):
    """Groups have two adjacent cells; an atom is separate, unless it is one of many integers."""
    edges = (np.array([0.0, 1.0, 2.0, 3.0]), np.array([5.0, 6.0]))
    atoms = (np.array([1.0]), np.empty(0))
    found = Partition(("a number",), edges, atoms, np.zeros(1, int), whole)
    first = [0, 0, 1, 1, 2] if whole else [0, 0, 1, 2, 3]
    expected = [0, 1, *[2 + 2 * row + column for row in first for column in (0, 0, 1)]]
    np.testing.assert_array_equal(found.groups(2), expected)
    both = Partition(("a number", "a"), edges, atoms, np.array([0, 1]), whole)
    size = max(expected) - 1
    more = [number + 1 for number in expected[2:]]
    np.testing.assert_array_equal(
        both.groups(2), [0, 1, 2, *more, *(number + size for number in more)]
    )


def test_what_is_left_out_is_usual():
    one = Cells((), (np.empty(0),), (np.empty(0),), np.empty(0, int))
    assert (one.whole, one.ordered, one.parts) == (False, True, ())


def test_keys_tell_all_parts_apart():
    keys = {
        cells().key,
        cells(whole=True).key,
        cells(ordered=False).key,
        cells(parts=("['a']", "['b']")).key,
        cells(Cells).key,
        cells(OneEntry, column=0, unlabeled=False).key,
        cells(OneEntry, column=1, unlabeled=False).key,
        cells(OneEntry, column=1, unlabeled=True).key,
    }
    assert len(keys) == 8 and cells().key == cells().key
    for place in range(4):
        parts = [("a number", "a", "b"), [0.0, 1.0], [0.0], [0, 2]]
        parts[place] = [("a number", "a", "c"), [0.0, 2.0], [1.0], [0, 1]][place]
        names, edges, atoms, boxed = parts
        other = Partition(
            names,
            (np.array(edges), np.array([5.0])),
            (np.array(atoms), np.empty(0)),
            np.array(boxed),
        )
        assert other.key != cells().key


def test_names_of_entries():
    assert entry_name(0, ()) == "0" and entry_name(1, ("['a']",)) == "1"
    assert entry_name(0, ("['a']",)) == "'a'" and entry_name(0, ("['a'][0]",)) == "['a'][0]"
    assert cells().entry(1) == "entry 1" and cells(parts=("['a']", "[1]")).entry(1) == "entry 1"
    assert cells().kind(True) == "a vector with"
    single = Partition(("a number",), (np.empty(0),), (np.empty(0),), np.zeros(1, int))
    assert single.kind(True) == "a number"
    assert single.plain() is None and cells().plain()["kind"] == "boxes"


def test_intervals_are_of_single_numbers_alone():
    single = Partition(("a number", "a"), (np.array([2.0]),), (np.array([2.0]),), np.zeros(1, int))
    bounds = single.bounds()
    assert np.isnan(bounds[:3]).all()
    np.testing.assert_array_equal(bounds[3:], [[-np.inf, 2.0], [2.0, 2.0]])
    assert np.isnan(cells().bounds()).all()
    beside = Partition(("a number", "a"), (np.array([2.0]),), (np.empty(0),), np.ones(1, int))
    assert np.isnan(beside.bounds()).all()


def test_the_number_after_an_atom():
    np.testing.assert_array_equal(after(np.array([3.0]), whole=True), [4.0])
    np.testing.assert_array_equal(after(np.array([3.0]), whole=False), [np.nextafter(3.0, np.inf)])


def test_what_is_beside_bins_without_outputs():
    values, seen = np.array([7, 1, 8, 9, 2, 3]), np.array([0, 1, 0, 0, 1, 0], bool)
    assert _filled(values, seen, np.minimum).tolist() == [1, 1, 1, 1, 2, 2]
    assert _filled(values, seen, np.maximum).tolist() == [1, 1, 2, 2, 2, 2]
    assert _filled(values, seen, np.subtract).tolist() == [0, 1, -1, -1, 2, 0]
    chosen = np.array([0, 1, 0, 0, 1, 0], bool)
    assert _filled(chosen, seen, np.logical_and).tolist() == [True] * 6
    chosen[4] = False
    found = _filled(chosen, seen, np.logical_and).tolist()
    assert found == [True, True, False, False, False, False]
    assert _filled(chosen, np.zeros(6, bool), np.logical_and).tolist() == chosen.tolist()


def test_labels_alone():
    without = cells().without_numbers()
    assert without.size == 4 and without.shape == (1,)
    found = without.index(Outputs(np.array([0, 2]), np.zeros((2, 2)), np.array([False, True])))
    assert found.tolist() == [3, 2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_devices_flush_to_zero_is_zero_on_the_host(dtype):
    tiny = np.finfo(dtype).tiny
    raw = np.array([tiny, tiny / 2, -tiny / 2, -tiny, 0.0, 1.0], dtype)
    found = encode_drawn(Encoder("x"), raw, RealSpace())
    assert found.values[:, 0].tolist() == [tiny, 0.0, 0.0, -tiny, 0.0, 1.0]


def test_drawn_labels_with_and_without_numbers():
    encoder = Encoder("x")
    raw = np.array([[0, 1.5], [1, 0], [0, np.nan], [5, 2.5], [0, np.inf], [0.5, 0], [-1, 1]])
    found = encode_drawn(encoder, raw, MixedSpace(2))
    assert [encoder.names[label] for label in found.labels] == [
        "label 0", "label 1", "label 0 with NaN", "no label", "label 0 with +inf", "no label",
        "no label",
    ]  # fmt: skip
    assert found.alone.tolist() == [False, True, True, False, True, True, False]
    assert found.values[:, 0].tolist() == [1.5, 0, 0, 2.5, 0, 0, 1]


@pytest.mark.parametrize("seed", range(10))
def test_mixed_outputs_are_encoded_one_by_one(seed):
    """Each output has the label and the value that it would have in a separate batch."""
    rng = np.random.default_rng(seed)
    num_labels, encoder = int(rng.integers(2, 30)), Encoder("x")
    for _ in range(2):
        label = rng.integers(-1, num_labels + 2, 200).astype(np.float32)
        value = rng.normal(size=200).astype(np.float32)
        label[:5] = 0.5, np.nan, np.inf, -np.inf, 0
        for special in (0, np.nan, np.inf, -np.inf):
            value[rng.random(200) < 0.1] = special
        found = encode_drawn(encoder, np.stack([label, value], axis=1), MixedSpace(num_labels))
        for row, (one, other) in enumerate(zip(label.tolist(), value.tolist(), strict=True)):
            is_label = one in range(num_labels)
            kinds = {np.inf: " with +inf", -np.inf: " with -inf"}
            kind = " with NaN" if np.isnan(other) else kinds.get(other, "")
            name = (f"label {one:.0f}" if is_label else "no label") + kind
            assert encoder.names[found.labels[row]] == name
            assert found.alone[row] == (kind != "" or other == 0)
            assert found.values[row, 0] == (0 if kind else other)


@pytest.mark.parametrize(
    ("value", "beside", "text"),
    [
        (1.23456781, 1.3, "1.23457"), (1.23456781, 1.234569, "1.234568"),
        (1.23456781, 1.23456791, "1.2345678"), (1.23456781, 1.23456782, "1.23456781"),
    ],
)  # fmt: skip
def test_numbers_have_the_digits_that_tell_them_apart(value, beside, text):
    """From six to eight digits, or else nine."""
    edges = np.array([value, beside])
    only = Partition(("a number",), (edges,), (np.empty(0),), np.zeros(1, int))
    assert _Words(only, False).number(value, edges) == text
    assert _Words(only, True).number(value, edges) == "1.2345678099999999"


def test_numbers_that_depend_on_records_of_a_pair_have_their_own_cells():
    """The number has the same name for each pair, but counts another record for each pair."""
    one, other = (
        cells(parts=("['age']", f"['rows equal to {name}']"))
        for name in targets_of(["ann", "bob"], ["bob"])
        for _ in range(2)
    )
    assert one.key == one.key != other.key


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("['count']", "'count'"),
        ("[3]", "3"),
        ("['s'][3]", "['s'][3]"),
        ("['s']['count']", "['s']['count']"),
        ("a number", "a number"),
        ("5", "5"),
        ("None", "None"),
        ("[" * 100_000, "[" * 100_000),
        ("""["count of 'flu'"]""", "[count of 'flu']"),
        ("""["count of '['"]""", "[count of '[']"),
        (repr(["""count of "'" """]), """[count of "'" ]"""),
        (repr(["a 'b'\nc"]), repr("a 'b'\nc")),
    ],
)
def test_names_of_paths(path, name):
    assert name_of_path(path) == name
