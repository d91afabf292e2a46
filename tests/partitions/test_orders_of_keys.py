"""Order of the keys of dicts."""

import json

import numpy as np
import pytest

import dpjax
from dpjax.partitions.outputs import Encoder
from dpjax.partitions.summaries import summarize_parts

KEYS = ["a", "b", "c", "d", "e", "f"]


def release(database, rng):
    keys = [*KEYS]
    if database == 0:
        rng.shuffle(keys)
    return {key: float(rng.normal()) for key in keys}


def as_json(database, rng):
    return json.dumps(release(database, rng))


def bound(function, key=0):
    method = dpjax.Events(num_draws=600)
    return dpjax.audit(function, [(0, 1)], method=method, key=key).lower_bound


@pytest.mark.parametrize("function", [release, as_json])
@pytest.mark.slow
def test_the_order_of_keys_reveals_the_database(function):
    assert bound(function) > 3


@pytest.mark.slow
def test_random_orders_that_do_not_depend_on_the_database_reveal_nothing():
    """At a confidence of 0.999, one audit in 1,000 has a positive bound."""
    assert all(bound(lambda _, rng: release(0, rng), key=key) == 0 for key in range(3))


def encoded(*batches):
    encoder = Encoder("f")
    return encoder, [encoder.encode(batch) for batch in batches]


def test_shifts_are_relative_to_the_usual_order():
    encoder, (first, second) = encoded(
        [{"b": 1, "a": 2}, {"b": 3, "a": 4}], [{"b": 5, "a": 6}, {"a": 7, "b": 8}]
    )
    assert encoder.parts == ("['a']", "['b']", "['b'].shift", "['a'].shift")
    assert encoder.padded(first).values.tolist() == [[2, 1, 0, 0], [4, 3, 0, 0]]
    assert second.values.tolist() == [[6, 5, 0, 0], [7, 8, 1, -1]] and not second.labels.any()
    assert "The shift of a key is its place" in encoder.notes()[0]


@pytest.mark.parametrize(
    "batch",
    [
        [{"b": 1, "a": 2}, {"b": 3, "a": 4}],
        [{"b": 1, "a": 2, "c": 3}, {"a": 4, "c": 5}, {"b": 6, "c": 7}],
        [{"a": 1}, {"a": 2}],
    ],
)
def test_keys_in_one_order_have_no_shifts(batch):
    encoder, _ = encoded(batch)
    assert not [path for path in encoder.parts if path.endswith("shift")]


@pytest.mark.parametrize(
    ("one", "other", "paths"),
    [
        ({"x": {"b": 1, "a": 2}}, {"x": {"a": 1, "b": 2}}, ["['x']['b']", "['x']['a']"]),
        ({2: 1, 1: 2}, {1: 2, 2: 1}, ["[2]", "[1]"]),
        ([{"b": 1, "a": 2}], [{"a": 1, "b": 2}], ["[0]['b']", "[0]['a']"]),
        ({"b": np.eye(3), "a": 2.0}, {"a": 1.0, "b": np.eye(3)}, ["['b']", "['a']"]),
    ],
)
def test_keys_of_parts_have_shifts(one, other, paths):
    encoder, (outputs,) = encoded([one, one, other])
    shifts = [f"{path}.shift" for path in paths]
    assert [path for path in encoder.parts if path.endswith("shift")][-2:] == shifts
    assert outputs.values[:, -2:].tolist() == [[0, 0], [0, 0], [1, -1]]


def test_only_common_keys_count():
    encoder, (outputs,) = encoded([{"c": 1, "b": 2, "a": 3}] * 2 + [{"a": 1, "d": 5, "c": 2}])
    last = dict(zip(encoder.parts, outputs.values[-1].tolist(), strict=True))
    assert {path: last[path] for path in encoder.parts if "shift" in path} == {
        "['c'].shift": 1, "['b'].shift": 0, "['a'].shift": -1
    }  # fmt: skip


def test_later_batches_add_no_shifts():
    encoder, (first,) = encoded([{"b": 1, "a": 2}] * 3)
    encoder.fixed([first, first])
    assert encoder.encode([{"a": 1, "b": 2}]).values.tolist() == [[1, 2]]


def test_many_keys_have_no_shifts():
    for number, columns in ((256, 512), (257, 257)):
        keys = range(number)
        encoder, _ = encoded([dict.fromkeys(keys, 0.0), dict.fromkeys(reversed(keys), 0.0)])
        assert encoder.dimension == columns


def test_orders_are_stored_and_restored():
    encoder, (outputs,) = encoded([{"b": 1, "a": 2}] * 3 + [{"a": 1, "b": 2}])
    encoder.fixed([outputs, outputs])
    again = Encoder("f")
    again.restore(json.loads(json.dumps(encoder.to_plain())))
    batch = [{"a": 3, "b": 4}, {"b": 4, "a": 3}]
    assert again.encode(batch).values.tolist() == encoder.encode(batch).values.tolist()
    assert again.encode(batch).values.tolist() == [[3, 4, 1, -1], [3, 4, 0, 0]]


def test_summaries_contain_places_unless_keys_are_sorted():
    def places(text):
        return {name: n for name, n in summarize_parts(text, {}).items() if "place" in name}

    assert places('{"b": 1, "a": 2}') == {"place of b": 0, "place of a": 1}
    assert places('{"x": {"b": 1, "a": 2}}') == {"place of x.b": 0, "place of x.a": 1}
    assert places('{"a": 1, "b": 2}') == {}


def test_shifts_leave_columns_for_other_numbers():
    keys = range(100)
    one, other = dict.fromkeys(keys, 0.0), dict.fromkeys(reversed(keys), 0.0)
    encoder, _ = encoded([one, one, other, {**one, "rare": 1.0}])
    assert "['rare']" in encoder.parts


@pytest.mark.parametrize("kind", [float, "U3"])
@pytest.mark.parametrize("masked", [False, True])
def test_the_order_of_the_columns_of_structured_arrays_does_not_count(kind, masked):
    def table(*names):
        rows = np.ma.array(
            [(1.5, 2)], dtype=[(name, kind) for name in names[:1]] + [(names[1], float)]
        )
        if masked:
            rows = np.ma.concatenate([rows, rows])
            rows[names[1]][1] = np.ma.masked
        return rows if masked else np.asarray(rows)

    encoder, _ = encoded(table("b", "a"), table("a", "b"))
    assert not [path for path in encoder.parts if path.endswith("shift")]


def test_a_place_does_not_hide_a_number_of_the_same_name():
    found = summarize_parts({"place of b": 7.5, "b": 2.5, "a": 1.5}, {})
    assert found["place of b"] == 7.5 and found["place of a"] == 2 and found["b"] == 2.5
