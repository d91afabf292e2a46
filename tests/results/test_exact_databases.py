"""Databases that are stored as JSON and restored with the same content and types."""

import json
import sys

import numpy as np
import pandas as pd
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
    if isinstance(one, pd.DataFrame):
        equal = one.equals(other) and repr(one.index) == repr(other.index)
        return equal and same(*(list(map(str, side.dtypes)) for side in (one, other)))
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


FRAMES = [
    pd.DataFrame({"age": [30, 41], "pay": [1.5, float("nan")], "town": ["x", "y"]}),
    pd.DataFrame({"town": ["x", None], "old": [True, False]}),
    pd.DataFrame({"town": pd.Series(["x", None], dtype=object), "n": np.arange(2, dtype="uint8")}),
    pd.DataFrame(
        {"day": pd.to_datetime(["2024-02-29", None]), "took": pd.to_timedelta([1, 2], "h")}
    ),
    pd.DataFrame({"x": np.array([0.1, -np.inf], np.float32), 7: [2**63 - 1, -1]}),
    pd.DataFrame({"x": np.zeros(0, np.int16), "town": pd.Series([], dtype=str)}),
    pd.DataFrame(np.arange(6.0).reshape(3, 2)),
    pd.DataFrame({"x": [1, 2, 3]}, index=pd.RangeIndex(3)),
]


@pytest.mark.parametrize("frame", FRAMES, ids=range(len(FRAMES)))
def test_frames_are_restored_exactly(frame):
    assert is_exact(frame) and is_exact([frame, 1])
    found = restored(json.loads(json.dumps(exact(frame), allow_nan=False)))
    assert same(found, frame) and list(found.columns) == list(frame.columns)
    written = eval(_code(frame), {"numpy": np, "pandas": pd})
    assert same(written, frame) and list(written.columns) == list(frame.columns)


class Table(pd.DataFrame):
    """A frame of another class."""


@pytest.mark.parametrize(
    "frame",
    [
        FRAMES[0].iloc[1:], FRAMES[0].set_index("town"), FRAMES[0].rename_axis("row"),
        FRAMES[0].rename_axis("field", axis=1), FRAMES[0].assign(town=pd.Categorical(["x", "y"])),
        pd.concat([FRAMES[0], FRAMES[0]], axis=1), pd.DataFrame({1.5: [1]}), pd.DataFrame(),
        pd.DataFrame({"x": pd.Series([1, "a"], dtype=object)}), pd.DataFrame({"x": [1 + 1j]}),
        pd.DataFrame({"x": pd.Series([1, None], dtype="Int64")}), Table({"x": [1]}),
        pd.DataFrame({"x": np.ones(2, np.longdouble)}), pd.DataFrame({"x": np.zeros(2**14 + 1)}),
        pd.DataFrame({"day": pd.to_datetime(["2024-02-29"]).tz_localize("UTC")}),
        pd.DataFrame({"x": [1]}).pipe(lambda frame: frame.attrs.update(a=1) or frame),
        pd.DataFrame({("a", "b"): [1]}), pd.DataFrame(index=pd.RangeIndex(2)),
    ],
    ids=range(18),
)  # fmt: skip
def test_frames_that_cannot_be_restored_are_left_out(frame):
    assert not is_exact(frame)


@pytest.mark.parametrize(
    "columns",
    [
        [["x", "int64", [1]], ["y", "int64", [1, 2]]], [["x", "int64", [1]], ["x", "int64", [2]]],
        [["x", "int64", ["a"]]], [["x", "category", ["a"]]], [["x", "V8", [1]]], [["x", "int64"]],
        [[1.5, "int64", [1]]], [["x", 7, [1]]], 3, [None], [["x", "M8[s]", ["2024-02-29"]]],
        [["x", "int8", [300]]],
    ],
)  # fmt: skip
def test_damaged_frames_are_refused(columns):
    with pytest.raises(ValueError, match="a database or a label in the file is damaged: "):
        restored({"dpjax:type": "pandas.DataFrame", "values": columns})


def test_an_audit_of_frames_runs_again_from_its_recipe(tmp_path):
    def total(frame, num_samples, seed):
        return frame["pay"].sum() + np.random.default_rng(seed).laplace(0, 2, num_samples)

    few = pd.DataFrame({"pay": [1.0, 2.0], "town": ["x", "y"]})
    pairs = [(few, few.iloc[:1])]
    first = dpjax.audit(total, pairs, method=dpjax.Events(1000, 2000), claim=0.5)
    (tmp_path / "audit.json").write_text(first.to_json())
    again = dpjax.rerun(tmp_path / "audit.json", total)
    assert again.statement == first.statement and again.witness == first.witness
    assert again.recipe == first.recipe


def test_without_pandas_frames_are_not_restored(monkeypatch):
    content = exact(FRAMES[0])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ValueError, match="install pandas to restore them"):
        restored(content)


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
        {"dpjax:type": "int8", "values": [300]},
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
