"""Summaries of tables at the limits of their rules, and of columns without variance."""

from datetime import date, datetime
from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from dpjax.partitions._records import label_text, number_of
from dpjax.partitions._summary import Summary
from dpjax.partitions.outputs import Encoder
from dpjax.partitions.summaries import summarize
from dpjax.partitions.targets import targets_of


def named(found, beginning):
    return {name for name in found if name.startswith(beginning)}


@pytest.mark.parametrize(
    ("sizes", "others", "counted"),
    [((8, 8), (), True), ((65, 1), (), False), ((4, 4), ("c",), True), ((17, 1), ("c",), False)],
)
def test_few_combinations_of_labels_are_counted(sizes, others, counted):
    rows = [(f"a{i}", f"b{j}", *others) for i, j in product(*map(range, sizes))]
    found = summarize(rows)
    assert len(named(found, "rows with 0 'a0' and 1 'b0'")) == counted
    assert named(found, "dependence of 0 and 1")


def test_the_first_four_columns_of_each_kind_are_combined():
    table = {f"l{i}": ["a", "b"] for i in range(5)} | {f"x{i}": [1.5, 2.5] for i in range(5)}
    found = summarize(table)
    labels, numbers = ([f"{kind}{i}" for i in range(4)] for kind in "lx")
    expected = {f"dependence of {one} and {other}" for one, other in combinations(labels, 2)}
    expected |= {f"dependence of {x} on {label}" for x, label in product(numbers, labels)}
    expected |= {f"dependence of row number on l{i}" for i in range(5)}
    assert named(found, "dependence") == expected
    pairs = combinations(numbers, 2)
    expected = {f"correlation of {x} and {y}" for x, y in pairs}
    expected |= {f"correlation of x{i} and row number" for i in range(5)}
    assert named(found, "correlation") == expected


@pytest.mark.parametrize("flags", [[True, False, True], np.array([True, False, True])])
def test_flags_are_labels(flags):
    found = summarize({"flag": flags})
    assert (found["rows with flag True"], found["rows with flag False"]) == (2, 1)


def test_long_labels_end_in_a_checksum():
    assert label_text("a" * 38) == repr("a" * 38)
    assert label_text("a" * 39).startswith("'" + "a" * 39 + "... (")
    assert label_text("a" * 50) != label_text("a" * 51)


def test_lists_of_lists_are_tables():
    assert summarize([[1.0, 2.0], [3.0, 4.0]])["mean of 1"] == 3.0


@pytest.mark.parametrize(("changed", "number"), [(2, 4), (3, 0)])
def test_up_to_four_rows_are_targets(changed, number):
    one = pd.DataFrame({"age": np.arange(10.0)})
    other = one.assign(age=one["age"] + 0.5 * (one["age"] < changed))
    assert len(targets_of(one, other)) == number


def test_numbers_beyond_floats_are_infinite():
    assert number_of(10**400) == float("inf")
    assert number_of(-(10**400)) == float("-inf")


def test_days_are_counted_from_one_date():
    second = date(1970, 1, 2), datetime(1970, 1, 2), np.datetime64("1970-01-02T00:00:00", "ns")
    assert [*map(number_of, second)] == [1, 1, 1]


def test_a_distance_that_overflows_is_large():
    found = summarize({"x": [0.0, 1e-300]}, [(1e300,)])
    assert 1e100 < found["distance to target 0"] < np.inf


@pytest.mark.parametrize(("entries", "compared"), [([1, 2.5] * 10, True), ([1, "a"] * 10, False)])
def test_entries_that_are_objects_are_compared_if_they_are_numbers(entries, compared):
    encoder = Encoder("the function")
    encoder.encode([pd.DataFrame({"x": pd.Series(entries, dtype=object)})])
    assert ("['x'][0]" in encoder.parts) == compared


def test_distances_in_a_constant_column_are_not_scaled():
    assert summarize({"x": [2.0, 2.0]}, [(5.0,)])["distance to target 0"] == 3.0


@pytest.mark.parametrize(("x", "y"), [([1.0, 1.0], [1.0, 2.0]), ([1.0, 2.0], [1.0, 1.0])])
def test_constant_columns_depend_on_nothing(x, y):
    found = summarize({"x": x, "y": y, "label": ["a", "b"]})
    assert found["correlation of x and y"] == 0
    assert found["dependence of x on label"] == (x[0] != x[1])
    assert found["dependence of y on label"] == (y[0] != y[1])


def test_two_rows_are_correlated():
    assert summarize({"x": [1.0, 2.0], "y": [5.0, 3.0]})["correlation of x and y"] == -1


def test_half_of_the_columns_are_left_to_the_second_side():
    encoder = Encoder("the function")
    many = {f"name {number}": 1.0 for number in range(300)}
    encoder.encode([Summary(rows=1.0), Summary(rows=1.0, **many)])
    assert len(encoder.parts) == 1 + 128
    encoder.encode([Summary(rows=1.0, other=1.0)])
    assert encoder.parts[-1] == "['other']"


def test_a_duration_is_no_number_of_a_summary():
    with pytest.raises(ValueError, match=r"the function gave a summary whose entry 'days' was"):
        Encoder("the function").encode([Summary(days=np.timedelta64(3, "D"))])
