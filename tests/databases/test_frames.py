"""Data frames as databases; an independent naive check covers every proposed or varied pair."""

import datetime
import math
import sys
import warnings
from collections import Counter

import numpy as np
import pytest
from every_pair import every_pair

import dpjax
from dpjax import Domain, neighbors
from dpjax.databases import AddRemove, ChangeOne
from dpjax.databases.spaces._fields import _reals
from dpjax.databases.spaces._forms import form_of

pd = pytest.importorskip("pandas")

DAYS = pd.to_datetime(["2020-01-01", "2020-05-01", "2021-01-01"])
PEOPLE = pd.DataFrame({"age": [30, 40, 50], "pay": [1.5, 2.5, 0.0], "town": ["x", "y", "x"]})
FRAMES = {
    "kinds": pd.DataFrame({
        "age": [1, 2, 3], "pay": [1.5, 2.0, 3.0], "ill": [True, False, True],
        "town": ["x", "y", "z"], "born": DAYS,
        "size": pd.Categorical(["s", "m", "s"], categories=["s", "m", "l"]),
    }),
    "small numbers": pd.DataFrame({
        "a": np.array([1, 2], np.float32), "b": np.array([1, 2], np.uint8),
        "c": np.array([0.5, 1], np.float16),
    }),
    "missing": pd.DataFrame({
        "a": pd.array([1, None, 2**53 + 1], dtype="Int64"), "b": [1.0, math.nan, 2.0],
        "c": pd.array([True, None, False], dtype="boolean"), "d": ["x", None, "y"],
        "e": pd.to_datetime(["2020-01-01", None, "2021-01-01"]),
    }),
    "objects": pd.DataFrame({"a": pd.Series([1, "x", None], dtype=object)}),
    "spans": pd.DataFrame({"a": pd.to_timedelta([1, 2], unit="D")}),
    "zones": pd.DataFrame({"a": DAYS.tz_localize("Europe/Berlin")}),
    "periods": pd.DataFrame({"a": pd.period_range("2020", periods=3, freq="M")}),
    "labels": PEOPLE.set_index(pd.Index([7, 3, 9], name="id")),
    "names": PEOPLE.set_index(pd.Index(["u", "v", "w"])),
    "repeated labels": PEOPLE.set_index(pd.Index([7, 7, 3])),
    "dates as labels": PEOPLE.set_index(DAYS),
    "levels": PEOPLE.set_index(pd.MultiIndex.from_tuples([(1, "a"), (1, "b"), (2, "a")])),
    "the same name twice": pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=["a", "a"]),
    "numbers as names": pd.DataFrame({2: [1.0, 2.0], 0: [3, 4]}),
    "levels of names": pd.DataFrame(
        [[1.0, 2], [3.0, 4]], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)])
    ),
    "one row": pd.DataFrame({"a": [1.0]}),
    "empty": pd.DataFrame({
        "a": np.array([], float), "b": pd.Categorical([], categories=["p", "q"]),
        "c": pd.Series([], dtype=object), "d": pd.to_datetime([]),
    }),
}  # fmt: skip


def rows_of(frame):
    """Return each row as text, with its label if the labels are not 0, 1, ...."""
    labels = frame.index if labelled(frame) else [None] * len(frame)
    cells = [
        [f"{type(v).__name__} {v!r}" for v in frame.iloc[:, i].tolist()]
        for i in range(frame.shape[1])
    ]
    return [(*row, repr(label)) for *row, label in zip(*cells, labels, strict=True)]


def labelled(frame):
    return list(frame.index) != list(range(len(frame)))


def multiset_distance(one, other):
    """Return the number of rows of two lists by which the lists differ in any order."""
    counts = [Counter(side) for side in (one, other)]
    return sum(((counts[0] - counts[1]) + (counts[1] - counts[0])).values())


def values_of(pairs, column):
    return [v for pair in pairs for side in pair[:2] for v in side[column].tolist()]


@pytest.mark.one_in(8)
@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("relation", ["add-remove", "change-one"])
def test_no_pair_outside_of_the_relation(name, relation):
    like = FRAMES[name]
    pairs = every_pair(neighbors(like, relation))
    assert len(pairs) >= 6
    for one, other, _ in pairs:
        for side in (one, other):
            assert type(side) is pd.DataFrame
            assert side.columns.equals(like.columns) and list(side.dtypes) == list(like.dtypes)
            assert side.index.dtype == like.index.dtype and side.index.names == like.index.names
            assert side.index.is_unique or not like.index.is_unique
        sides = rows_of(one), rows_of(other)
        assert multiset_distance(*sides) <= (1 if relation == "add-remove" else 2)
        assert relation == "add-remove" or len(one) == len(other)
        assert sides[0] != sides[1]


@pytest.mark.parametrize("name", FRAMES)
def test_frames_are_taken_apart_and_put_together(name):
    like, form = FRAMES[name], form_of(FRAMES[name])
    pd.testing.assert_frame_equal(form.database(form.records(like)), like, check_freq=False)
    empty = form.database([])
    assert len(empty) == 0 and list(empty.dtypes) == list(like.dtypes)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", ["labels", "repeated labels", "levels"])
def test_ordered_relations_keep_the_order_and_the_labels(name):
    for one, other, _ in every_pair(neighbors(FRAMES[name], ChangeOne(1, ordered=True))):
        sides = rows_of(one), rows_of(other)
        assert sum(a != b for a, b in zip(*sides, strict=True)) == 1
    for one, other, _ in every_pair(neighbors(FRAMES[name], AddRemove(1, ordered=True))):
        short, long = sorted((rows_of(one), rows_of(other)), key=len)
        assert any(long[:i] + long[i + 1 :] == short for i in range(len(long)))


@pytest.mark.slow
def test_what_is_tried():
    domain = {"age": Domain(bounds=(0, 120)), "pay": Domain(bounds=(0.0, 9.5), nan=True)}
    pairs = neighbors(PEOPLE, domain=domain, num_pairs=1000).proposed()
    ages, pays, towns = (set(map(repr, values_of(pairs, c))) for c in ("age", "pay", "town"))
    assert {"0", "120", "1", "119"} <= ages and {"''", "'new'", "'x'"} <= towns
    wanted = (0.0, -0.0, 9.5, math.nextafter(0.0, 1.0), math.nextafter(9.5, 0.0), math.nan)
    assert set(map(repr, wanted)) <= pays
    held = [(rows_of(one), rows_of(other)) for one, other, _ in pairs]
    example = rows_of(PEOPLE)
    assert (example, example[1:]) in held  # one row fewer
    assert any(not one and len(other) == 1 for one, other in held)  # an empty frame
    assert any(one == example and len(other) == 4 for one, other in held)  # one row more
    assert (example, [*example, example[0]]) in held  # one duplicate more
    assert any(sorted(one) == sorted(two[:-1]) and one != two[:-1] for one, two in held)  # order
    labels = [pair.label for pair in pairs]
    assert any(label.startswith("the example, town is ") for label in labels)  # a constant column
    assert any(
        side["age"].nunique() == 1 and side["pay"].tolist() == PEOPLE["pay"].tolist()
        for one, other, _ in pairs
        for side in (one, other)
    )
    changed = neighbors(PEOPLE, "change-one", domain, num_pairs=300).proposed()
    assert any(
        rows_of(one) == example and rows_of(other)[:2] == example[:2] for one, other, _ in changed
    )
    assert (example, example[::-1]) in [(rows_of(one), rows_of(two)) for one, two, _ in changed]


@pytest.mark.slow
def test_domains_of_columns():
    like = FRAMES["kinds"]
    domain = Domain(
        bounds=(-5, 5),
        columns={
            "pay": Domain(bounds=(0.1, 0.7), nan=True, infinite=False),
            "town": Domain(categories=["x", "w"], nan=True),
            "born": Domain(bounds=(datetime.datetime(2019, 1, 1), datetime.datetime(2022, 1, 1))),
        },
    )
    pairs = every_pair(neighbors(like, "add-remove", domain, num_pairs=300))
    assert all(-5 <= age <= 5 for age in values_of(pairs, "age"))
    pays = values_of(pairs, "pay")
    assert all(0.1 <= pay <= 0.7 for pay in pays if not math.isnan(pay))
    assert {0.1, 0.7} <= set(pays) and any(map(math.isnan, pays))
    towns = values_of(pairs, "town")
    assert {town for town in towns if town == town} == {"x", "w"}
    assert any(town != town for town in towns)
    assert set(values_of(pairs, "size")) == {"s", "m", "l"}
    born = values_of(pairs, "born")
    low, high = pd.Timestamp(2019, 1, 1), pd.Timestamp(2022, 1, 1)
    assert all(low <= day <= high for day in born) and {low, high} <= set(born)


def test_bounds_that_a_type_cannot_store_are_rounded_into_the_interval():
    like = pd.DataFrame({"a": np.array([0.2, 0.5], np.float32)})
    pairs = neighbors(like, domain=Domain(bounds=(0.1, 0.7)), num_pairs=300).proposed()
    values = set(values_of(pairs, "a"))
    assert all(0.1 <= value <= 0.7 for value in values)
    # The float32 nearest to 0.1 is larger, and the float32 nearest to 0.7 is smaller.
    assert {float(np.float32(0.1)), float(np.float32(0.7))} <= values


def test_bounds_beyond_a_type_overflow_without_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = _reals((-1e300, 1e300), np.dtype(np.float32))
    most = float(np.finfo(np.float32).max)
    assert found[:2] == [-most, most] and all(abs(value) <= most for value in found)


@pytest.mark.slow
def test_missing_values_only_where_a_column_may_have_them():
    like = pd.DataFrame({"a": [1.0, math.nan], "b": [1.0, 2.0], "c": ["x", "y"]})
    pairs = every_pair(neighbors(like, num_pairs=300))
    assert any(map(math.isnan, values_of(pairs, "a")))
    assert not any(map(math.isnan, values_of(pairs, "b")))
    assert not any(value != value for value in values_of(pairs, "c"))
    # A domain without missing values also excludes those of the example.
    strict = every_pair(neighbors(like, domain=Domain(bounds=(0, 9)), num_pairs=300))
    assert not any(map(math.isnan, values_of(strict, "a")))


@pytest.mark.slow
def test_sizes_and_members():
    for one, other, _ in every_pair(neighbors(PEOPLE, AddRemove(2), Domain(size=3))):
        assert len(one) == len(other) == 3
    poor = Domain(member=lambda frame: frame["pay"].sum() < 10)
    for one, other, _ in every_pair(neighbors(PEOPLE, domain=poor)):
        assert one["pay"].sum() < 10 and other["pay"].sum() < 10


def test_records_of_dicts_and_columns_have_domains_by_name():
    domain = {"age": Domain(bounds=(0, 9)), "town": Domain(categories=["x", "y"])}
    for like in (
        [{"age": 3, "town": "x"}, {"age": 5, "town": "y"}],
        {"age": np.array([3, 5]), "town": ["x", "y"]},
    ):
        for one, other, _ in every_pair(neighbors(like, "change-one", domain)):
            for side in (one, other):
                rows = side if isinstance(side, list) else [
                    {"age": a, "town": t} for a, t in zip(side["age"], side["town"], strict=True)
                ]  # fmt: skip
                assert all(0 <= row["age"] <= 9 and row["town"] in "xy" for row in rows)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["labels", "repeated labels", "levels"])
def test_an_audit_finds_the_missing_values_that_break_a_mean(name):
    """One of three values in [0, 9] changes the mean by at most 3, unless values are missing."""

    def mean(frame, num_samples, seed):
        pay = frame.loc[frame.index.unique()]["pay"].clip(0, 9).mean()
        return pay + np.random.default_rng(seed).laplace(0, 3, num_samples)

    method, found = dpjax.Events(num_draws=2_000), []
    for nan in (False, True):
        domain = Domain(size=3, columns={"pay": Domain(bounds=(0, 9), nan=nan)})
        space = neighbors(FRAMES[name], "change-one", domain, num_pairs=60)
        release = dpjax.HostMechanism(mean)
        # The level is 1, and the bound exceeds it with probability 1e-5.
        result = dpjax.audit(release, space, claim=1.0, method=method, confidence=1 - 1e-5)
        found.append(result.verdict)
    assert found == ["not refuted", "violated"]


def test_pandas_is_not_imported(monkeypatch):
    monkeypatch.delitem(sys.modules, "pandas")
    with pytest.raises(TypeError, match="like must be a list or tuple of records"):
        neighbors(PEOPLE)
    assert "pandas" not in sys.modules and neighbors([1.0]).proposed()


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: neighbors(PEOPLE, domain={"agee": Domain()}), ValueError, "did you mean 'age'"),
        (lambda: neighbors(PEOPLE, domain={"age": (0, 1)}), TypeError, r"domain\['age'\] must be"),
        (lambda: neighbors([1.0], domain={"age": Domain()}), ValueError, "must not name columns"),
        (lambda: Domain(columns=[Domain()]), TypeError, "columns must be a dict of dpjax.Domain"),
        (lambda: Domain(columns={"a": Domain(size=3)}), ValueError, "must have no size, member"),
        (
            lambda: Domain(bounds=(datetime.date(2020, 1, 2), datetime.date(2020, 1, 1))),
            ValueError,
            "bounds must have low < high",
        ),
        (
            lambda: neighbors(PEOPLE, domain={"town": Domain(categories=[3])}).proposed(),
            ValueError,
            "like must have neighbors in the domain",
        ),
    ],
)
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.slow
def test_new_rows_have_labels_of_the_type_of_the_index():
    frame = PEOPLE.set_index(pd.Index([7, 3, 9]))
    added = [pair.neighbor.index for pair in neighbors(frame).proposed()]
    assert any(10 in index for index in added)
    assert all(index.dtype == np.int64 for index in added if len(index))
    dated = PEOPLE.set_index(DAYS)
    later = [pair.neighbor.index.max() for pair in neighbors(dated).proposed()]
    assert DAYS[-1] + pd.Timedelta(days=1) in later
