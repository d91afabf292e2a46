"""Descriptions of the difference between two wide databases."""

import math

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

import dpjax
from dpjax.databases import difference, records_apart
from dpjax.databases._difference import _same

ZEROS = np.zeros(50)
NO_SEVEN = [n for n in range(40) if n != 7]


def changed(array, place, value):
    array = np.array(array)
    array[place] = value
    return array


@pytest.mark.parametrize(
    ("database", "neighbor", "said"),
    [
        (ZEROS, changed(ZEROS, 49, 1.0), "entry 49: 0.0 and 1.0"),
        ([0] * 50, [0] * 49 + [1], "entry 49: 0 and 1"),
        (ZEROS, ZEROS + 1,
         "entry 0: 0.0 and 1.0; entry 1: 0.0 and 1.0; entry 2: 0.0 and 1.0; 47 more"),
        (np.arange(60.0).reshape(20, 3), changed(np.arange(60.0).reshape(20, 3), (4, 1), -1.0),
         "entry 4, 1: 13.0 and -1.0"),
        (list(range(40)), NO_SEVEN, "entry 7 is missing from the neighbor: 7"),
        (NO_SEVEN, list(range(40)), "entry 7 is missing from the database: 7"),
        (np.arange(60.0).reshape(20, 3), np.delete(np.arange(60.0).reshape(20, 3), 2, axis=0),
         "row 2 is missing from the neighbor: (6.0, 7.0, 8.0)"),
        ({"ages": ZEROS, "k": 3}, {"ages": changed(ZEROS, 3, 9.0), "k": 3},
         "'ages', entry 3: 0.0 and 9.0"),
        ({"ages": ZEROS, "k": 3}, {"ages": ZEROS, "k": 4}, "'k': 3 and 4"),
        ({"ages": ZEROS, "k": 3}, {"ages": ZEROS}, "'k' is missing from the neighbor"),
        (["yes"] * 30, ["yes"] * 29 + ["no"], "entry 29: 'yes' and 'no'"),
        # NaN on both sides is not a difference.
        (changed(ZEROS, 2, np.nan), changed(changed(ZEROS, 2, np.nan), 3, 1.0),
         "entry 3: 0.0 and 1.0"),
    ],
)  # fmt: skip
def test_places_by_hand(database, neighbor, said):
    assert difference(database, neighbor) == said


@pytest.mark.parametrize("number", [2**20, 2**20 + 2])
def test_more_than_a_million_entries_are_not_compared(number):
    """The limit applies to both databases together; test arrays and frames."""
    half = np.zeros(number // 2)
    said = "entry 5: 0.0 and 1.0" if number == 2**20 else None
    assert difference(half, changed(half, 5, 1.0)) == said
    frames = [pd.DataFrame({"age": side}) for side in (half, changed(half, 5, 1.0))]
    said = "row 5, age: 0.0 and 1.0" if number == 2**20 else None
    assert difference(*frames) == said


def test_frames_with_other_columns_are_not_compared():
    frame = pd.DataFrame({"age": range(50)})
    assert difference(frame, frame.assign(more=1.0)) is None
    assert difference(frame, frame.rename(columns={"age": "year"})) is None
    assert difference(frame, frame.iloc[1:]) == "row 0 is missing from the neighbor: (0,)"


@pytest.mark.parametrize("number", [3, 4, 5])
def test_three_differences_are_described(number):
    said = "; ".join(f"entry {place}: 0.0 and 1.0" for place in range(3))
    more = "" if number == 3 else f"; {number - 3} more"
    assert difference(ZEROS, changed(ZEROS, range(number), 1.0)) == said + more


@pytest.mark.parametrize("length", [60, 61])
def test_long_values_are_cut_after_60_characters(length):
    text = "x" * (length - 2)
    shown = repr(text)[:60] + ("..." if length > 60 else "")
    assert difference([text] * 9, [text] * 8 + ["y"]) == f"entry 8: {shown} and 'y'"


def test_short_and_strange_databases_are_shown_whole():
    class Odd:
        def __repr__(self):
            return "odd" * 50

        def __eq__(self, other):
            raise RuntimeError("not compared")

    cyclic = [0.0] * 50
    cyclic.append(cyclic)
    for database, neighbor in (
        (0.0, 1.0), ([1.0, 2.0], [1.0, 3.0]), (Odd(), Odd()), (cyclic, [0.0] * 50),
        (ZEROS, ZEROS), (ZEROS, ZEROS[:, None]), ("a" * 99, "b" * 99),
        # The shorter database is not contained in the longer one.
        (list(range(40)), list(range(100, 139))),
    ):  # fmt: skip
        assert difference(database, neighbor) is None


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames(library):
    frames = pytest.importorskip(library)
    age, name = list(range(30, 60)), [f"person {n}" for n in range(30)]
    whole = frames.DataFrame({"age": age, "name": name})
    less = frames.DataFrame({"age": age[:2] + age[3:], "name": name[:2] + name[3:]})
    other = frames.DataFrame({"age": [*age[:-1], 99], "name": name})
    assert difference(whole, less) == "row 2 is missing from the neighbor: (32, 'person 2')"
    assert difference(whole, other) == "row 29, age: 59 and 99"
    assert difference(whole, frames.DataFrame({"age": age})) is None


def test_databases_of_other_forms_are_not_compared():
    pandas = pytest.importorskip("pandas")
    rows = list(range(40))
    frame = pandas.DataFrame({"a": rows, "b": rows})
    assert difference(frame, frame.rename(columns={"b": "c"})) is None
    table = np.arange(60.0).reshape(20, 3)
    assert difference(table, table.reshape(30, 2)) is None
    assert difference(table, table.ravel()) is None


def test_a_result_shows_the_difference(tmp_path):
    neighbor = changed(ZEROS, 49, 1.0)

    def total(rows, num_samples, rng):
        return rows.sum() + rng.laplace(0.0, 0.5, num_samples)

    pairs, few = [(ZEROS, neighbor)], dpjax.Events(2000, 5000)
    result = dpjax.audit(dpjax.HostMechanism(total), pairs, method=few, claim=1.0)
    assert "  databases    entry 49: 0.0 and 1.0\n" in str(result)
    (story,) = (s for s in result.page(".md").sections if s.title == "The witness")
    assert story.paragraphs[0] == "The two databases (pair 0) differ: entry 49: 0.0 and 1.0."
    assert dpjax.AuditResult.from_json(result.to_json()).witness == result.witness
    with pytest.raises(AssertionError, match=r"pair         pair 0: entry 49: 0\.0 and 1\.0\n"):
        dpjax.testing.assert_private(
            dpjax.HostMechanism(total), 1.0, pairs=pairs, num_samples=4000, num_confirm=9000
        )
    # The whole database is kept.
    assert result.witness.neighbor == neighbor.tolist()


TABLE = pd.DataFrame({"age": [30, 40, 50], "town": ["x", "y", "x"]})
ROWS = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize(
    ("database", "neighbor", "number"),
    [
        (TABLE, TABLE.assign(age=[30, 41, 50]), 1),
        (TABLE, TABLE.assign(age=[31, 41, 50], town=["x", "y", "z"]), 3),
        (TABLE, TABLE.iloc[[2, 0]], 1),
        (TABLE, TABLE.iloc[:0], 3),
        (TABLE, TABLE.iloc[[0, 0, 1]], 1),
        (ROWS, ROWS[::-1], 0),
        (ROWS, ROWS + 1, 4),
        (jnp.asarray(ROWS), jnp.asarray(ROWS[1:]), 1),
        ((ROWS, np.arange(4)), (ROWS, np.array([0, 1, 3, 2])), 2),
        ({"a": [1, 2], "b": [3, 4]}, {"a": [1, 2, 3], "b": [3, 5, 6]}, 2),
        ([("ann", 1), ("bob", 2)], [("bob", 2), ("cid", 3)], 1),
        ([{"a": 1, "b": math.nan}], [{"b": math.nan, "a": 1}, {"a": 1, "b": 2}], 1),
        (["yes", "no"], ["no", "no", "no"], 2),
        ([], ["yes", "no"], 2),
        (np.zeros((2**12, 16)), np.ones((2**12, 16)), 2**12),
        # These may be query answers or single records, have unequal types, or are too large.
        ([1, 2, 3], [4, 5, 6], None),
        (ROWS[0], ROWS[1], None),
        (["yes", 1], ["no", 1], None),
        ("a text", "a word", None),
        (b"bytes", b"texts", None),
        (1.0, 2.0, None),
        (None, ["a", "b"], None),
        (TABLE, TABLE.to_numpy(), None),
        ({"a": [1, 2], "b": 3}, {"a": [1, 3], "b": 4}, None),
        (ROWS.reshape(2, 2, 3), ROWS.reshape(2, 2, 3) + 1, None),
        (["a"] * (2**16 + 1), ["b"] * (2**16 + 1), None),
        ([("a", 1)] * (2**15 + 1), [("b", 1)] * (2**15 + 1), None),
        (np.zeros((2**12 + 1, 16)), np.ones((2**12 + 1, 16)), None),
        (
            {"x": np.zeros(2**16), "y": np.zeros(2**16)},
            {"x": np.ones(2**16), "y": np.ones(2**16)},
            None,
        ),
    ],
    ids=lambda value: str(value)[:20],
)
def test_number_of_records_that_differ(database, neighbor, number):
    assert records_apart(database, neighbor) == number
    assert records_apart(neighbor, database) == number


@pytest.mark.parametrize("number", [20, 21])
def test_databases_of_up_to_60_characters_need_no_description(number):
    """The text of 20 digits in a list has 60 characters."""
    database = [0] * number
    assert len(str(database)) == 3 * number
    said = None if number == 20 else "entry 0: 0 and 1"
    assert difference(database, [1, *database[1:]]) == said


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (np.array([1, 2]), [1, 2], True), ([1, 2], np.array([1, 2]), True),
        ([1, 2], np.array([1, 3]), False), ("a", "a", True), (1, 1.0, True), ([1], (1,), False),
        (np.array([1]), np.array([1, 1]), False),
    ],
    ids=str,
)  # fmt: skip
def test_parts_that_are_the_same(first, second, same):
    assert _same(first, second) is same
