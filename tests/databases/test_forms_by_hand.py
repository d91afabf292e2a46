"""Forms of databases, labels of new rows of a frame, and random pairs."""

from datetime import datetime, timedelta
from itertools import islice

import numpy as np
import pytest

from dpjax.core import random
from dpjax.databases import query_patterns, random_answers
from dpjax.databases.spaces._forms import _are_columns, _each_bit, column_of, form_of
from dpjax.databases.spaces._frames import _labelled, _new_labels
from dpjax.databases.spaces._records import Row

pd = pytest.importorskip("pandas")


def test_bytes_to_try():
    flipped = {1 ^ 1 << bit for bit in range(8)}
    assert _each_bit(b"\x01\x01") == tuple(sorted({0, 255, 1} | flipped))
    assert 254 not in _each_bit(bytes(16) + b"\xfe")  # Only the first 16 bytes are used.
    last = _each_bit(bytes(15) + b"\x7f")
    assert {127, 126, 255} <= {*last} and len(form_of(b"").alphabet) == 2
    assert form_of(bytearray(b"ab")).name == "bytearray" and form_of(b"ab").name == "bytes"
    assert form_of("ab").alphabet == tuple(sorted({*"ab", *"a 0\n\x00\u00e9\U0001f600"}))


@pytest.mark.parametrize(
    ("like", "records", "back"),
    [
        (np.array([1.5, 2.5]), [1.5, 2.5], np.array([1.5, 2.5])),
        (np.array([[1, 2], [3, 4]], np.int8), [(1, 2), (3, 4)], None),
        ((np.array([1, 2]), [0.5, 1.5]), [(1, 0.5), (2, 1.5)], None),
        ((np.ones((2, 3)), np.array([7, 8])), [(1.0, 1.0, 1.0, 7), (1.0, 1.0, 1.0, 8)], None),
        ({"x": np.array([1, 2]), "y": ["a", "b"]}, [(1, "a"), (2, "b")], None),
        ([(1, 2), (3, 4)], [(1, 2), (3, 4)], None), ("ab", ["a", "b"], None),
        (b"\x01\x02", [1, 2], None), ((1, "a"), [1, "a"], None),
    ],
    ids=str,
)  # fmt: skip
def test_forms_are_taken_apart(like, records, back):
    form = form_of(like)
    found = form.records(like)
    assert found == records and [*map(type, found)] == [*map(type, records)]
    again = form.database(found)
    assert type(again) is type(like) and repr(again) == repr(like)
    assert form.size(like) == len(records)


def test_columns_of_forms():
    form = form_of({"x": np.ones((2, 2)), "y": ["a", "b"]})
    assert [column.name for column in form.columns] == ["x", "x", "y"]
    assert [column.kind for column in form.columns] == [float, float, None]
    assert form.blank == () and form.exact
    pair = form_of((np.ones(2), np.array([1, 2])))
    assert [column.kind for column in pair.columns] == [float, int] and pair.blank == ()
    assert form_of(np.ones(2)).blank is None and form_of(np.ones((2, 2))).blank == ()
    assert len(form_of(np.ones((2, 3))).columns) == 3 and len(form_of(np.ones(2)).columns) == 1
    objects = form_of(np.array([1, "a"], object))
    assert objects.columns == () and not objects.exact
    dicts = form_of([{"b": 1, "a": 2}, {"a": 3, "b": 4}])
    assert [column.name for column in dicts.columns] == ["b", "a"]
    assert [list(row.values()) for row in dicts.records([{"a": 3, "b": 4}])] == [[4, 3]]
    assert dicts.records([{"a": 1}, 5]) == [{"a": 1}, 5]


@pytest.mark.parametrize(
    ("dtype", "kind", "number", "given", "stored"),
    [
        (np.int8, int, True, 5.7, 5), (np.uint8, int, True, 5, 5),
        (np.float32, float, True, 1, 1.0), (bool, bool, False, 1, True),
        ("U2", str, False, "abc", "ab"), (object, None, False, {}, {}),
    ],
)  # fmt: skip
def test_columns_of_arrays(dtype, kind, number, given, stored):
    column = column_of(np.dtype(dtype))
    assert column.kind is kind and (column.dtype is not None) == number
    assert column.stored(given) == stored and type(column.stored(given)) is type(stored)
    assert (column.name, column.categories, column.missing) == (None, (), ())


@pytest.mark.parametrize(
    ("parts", "are"),
    [
        ((np.ones(2), [1, 2]), True), (([1, 2], [3, 4]), False), ((np.ones(2),), False),
        ((np.ones(2), np.array(1)), False), ((np.ones(2), (1, 2)), False),
        ((np.ones(2), np.ones((2, 3))), True), ((np.ones(2), 5), False),
    ],
)  # fmt: skip
def test_which_tuples_are_columns(parts, are):
    assert _are_columns(parts) is are


def test_columns_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match=r"equally long columns, but their lengths were \[2, 1\]"):
        _are_columns((np.ones(2), [1]))


@pytest.mark.parametrize("like", [{}, {"x": 5}, {"x": [1], "y": [1, 2]}, {"x": (1, 2)}])
def test_dicts_that_are_no_columns(like):
    with pytest.raises(ValueError, match=r"^like must be a dict of equally long columns"):
        form_of(like)


@pytest.mark.parametrize(
    ("index", "labels"),
    [
        (pd.Index([3, 7, 5]), [8, 9, 10]), (pd.Index([], dtype=int), [0, 1, 2]),
        (pd.Index([0.5, 2.5]), [3.5, 4.5, 5.5]), (pd.Index(["a"]), ["new 0", "new 1", "new 2"]),
        (pd.DatetimeIndex(["2020-01-01"]), [datetime(2020, 1, d) for d in (2, 3, 4)]),
        (pd.DatetimeIndex([]), [datetime(2000, 1, d) for d in (1, 2, 3)]),
        (pd.TimedeltaIndex([timedelta(days=2)]), [timedelta(days=d) for d in (3, 4, 5)]),
        (pd.TimedeltaIndex([]), [timedelta(days=d) for d in (0, 1, 2)]),
        (pd.MultiIndex.from_tuples([("a", 4), ("b", 2)]), [("a", 5), ("a", 6), ("a", 7)]),
    ],
)  # fmt: skip
def test_labels_of_new_rows(index, labels):
    assert [*islice(_new_labels(index), 3)] == labels


def test_rows_with_labels():
    index = pd.Index([0, 1])
    rows = [Row((5,), 0), Row((6,), 1)]
    assert _labelled(rows, index) is rows
    found = _labelled([Row((5,), 0), Row((6,), 0), (7,)], index)
    assert [(tuple(row), row.label) for row in found] == [((5,), 0), ((6,), 2), ((7,), 3)]
    twice = pd.Index([0, 0])
    same = [Row((5,), 0), Row((6,), 0)]
    assert _labelled(same, twice) is same
    assert [row.label for row in _labelled([*same, (7,)], twice)] == [0, 1, 2]
    # A label of the example is never used for another row, even if its row was removed.
    words = pd.Index(["new 0", "a", "new 2"])
    assert [row.label for row in _labelled([Row((5,), "a"), (6,), (7,)], words)] == [
        "a", "new 1", "new 3",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="no new label can be made for an index of type boolean"):
        next(_new_labels(pd.Index([True])))
    with pytest.raises(ValueError, match="an empty index with multiple levels has no labels"):
        next(_new_labels(pd.MultiIndex.from_tuples([], names=["a", "b"])))


@pytest.mark.parametrize("queries", [1, 3])
def test_random_answers_by_hand(queries):
    number = 40
    found = random_answers(7, number, queries, -1.0, 3.0)
    root, count = random.as_key(7), number * queries

    def uniform(part, row):
        key = random.fold_in(root, part)
        return np.asarray(random.uniform(key, count, row), float).reshape(number, queries)

    first = -1 + 4 * uniform(0, 0)
    moves = np.ceil(3 * uniform(0, 1)) - 2  # -1, 0 and 1 are equally likely.
    for pair in range(number):
        if not moves[pair].any():
            place = int(np.ceil(queries * uniform(1, 0)[pair, 0])) - 1
            moves[pair, place] = -1 if uniform(1, 1)[pair, 0] <= 0.5 else 1
    np.testing.assert_allclose(found.database, first, rtol=1e-6)
    np.testing.assert_allclose(found.neighbor, first + moves, rtol=1e-6, atol=1e-6)
    assert found.labels == tuple(f"random {k}" for k in range(number))


def test_patterns_by_hand():
    found = query_patterns(3)
    rows = {
        "One Above": ("111", "211"), "One Below": ("111", "011"),
        "One Above Rest Below": ("111", "200"), "One Below Rest Above": ("111", "022"),
        "Half Half": ("111", "011"), "All Above All Below": ("111", "222"),
        "X Shape": ("100", "011"), "Last Above Rest Below": ("111", "002"),
        "Last Below Rest Above": ("111", "220"), "Half Half Mirrored": ("111", "100"),
    }  # fmt: skip
    assert found.labels == tuple(rows)
    for k, (one, other) in enumerate(rows.values()):
        assert found.database[k].tolist() == [*map(float, one)]
        assert found.neighbor[k].tolist() == [*map(float, other)]
