"""Databases that are stored as JSON and restored with the same content and types."""

import json

import numpy as np
import pytest

import dpjax
from dpjax.core.exact import exact, is_exact, restored
from dpjax.results.recipes import pairs_from_plain, pairs_to_plain
from dpjax.sources import AnyPairs
from dpjax.testing._replay import _code


def same(one, other):
    """Compare types and contents at every depth."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray | np.generic):
        return one.dtype == other.dtype and one.shape == other.shape and repr(one) == repr(other)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[name], other[name]) for name in one)
    return repr(one) == repr(other)


@pytest.mark.parametrize(
    "database",
    [
        0, 1.5, -0.0, True, None, "a" * 5000, float("nan"), float("-inf"), 2**80,
        [1, [2.5]], {"a": [True]}, (), (1,), ((1, 2), [(3,)]), {"a": (1, {"b": ()})},
        np.arange(3), np.float32(1.5), np.zeros((2, 2), bool), np.array([]), np.zeros((2, 0)),
        np.array(["a", "bc"]), np.array([np.nan, -np.inf]), np.arange(3, dtype=">f8"),
        [np.array([1.0])], {"a": np.zeros(2, np.int8)}, (np.bool_(True), np.str_("a")),
    ],
    ids=lambda database: type(database).__name__,
)  # fmt: skip
def test_databases_are_restored_exactly(database):
    assert is_exact(database)
    pairs = AnyPairs.of([(database, [database])])
    text = json.dumps(pairs_to_plain(pairs, None), allow_nan=False)
    found = pairs_from_plain(json.loads(text), stacked=False)
    assert same(found.database[0], database) and same(found.neighbor[0], [database])
    assert same(eval(_code(database), {"numpy": np}), database)


def holds_itself():
    found = []
    found.append(found)
    return found


@pytest.mark.parametrize(
    "database",
    [
        {1, 2}, {1: "a"}, {"dpjax:type": "tuple"}, object(), 2 + 1j, b"a", holds_itself(),
        np.array([None]), np.array([b"a"]), np.array([1j]), np.array([1], "M8[s]"),
        np.ones(2, np.longdouble), np.zeros((0, 3)), np.ma.array([1.0]), [({1},)],
    ],
    ids=lambda database: type(database).__name__,
)  # fmt: skip
def test_databases_that_cannot_be_restored_are_refused(database):
    assert not is_exact(database)
    pairs = AnyPairs.of([(0, 1), (database, 0)])
    with pytest.raises(ValueError, match="a sweep stores its pairs, so the databases of a Python"):
        pairs_to_plain(pairs, None)


@pytest.mark.parametrize(
    "content",
    [
        {"dpjax:type": "tuple"},
        {"dpjax:type": "tuple", "values": 1},
        {"dpjax:type": "float", "values": "one"},
        {"dpjax:type": "no type", "values": [1]},
        {"dpjax:type": "int8", "values": [None]},
        {"dpjax:type": ["tuple"], "values": []},
    ],
)
def test_damaged_databases_are_refused(content):
    with pytest.raises(ValueError, match="a database or a label in the file is damaged"):
        restored([content])


def test_users_may_state_one_dtype_for_all_databases():
    content = {"database": [[1, 2]], "neighbor": [[1, 3]], "dtype": "float32"}
    found = pairs_from_plain(content, stacked=False)
    assert same(found.database[0], np.array([1, 2], np.float32))
    assert same(found.neighbor[0], np.array([1, 3], np.float32))


def test_a_rerun_receives_tuples():
    """The function fails for lists, because they have no hash."""

    def noisy(database, rng):
        return hash(database) % 2 + rng.normal()

    mechanism = dpjax.HostMechanism(noisy, batched=False)
    result = dpjax.audit(mechanism, [((1, 2), (1, 3))], method=dpjax.Events(50, 50), key=1)
    again = dpjax.rerun(result, mechanism)
    assert again.statement == result.statement
    assert exact((1, 2)) == again.recipe["pairs"]["database"][0]
