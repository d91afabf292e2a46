"""Summaries of tables, compared with pandas, and tables as outputs."""

from collections import namedtuple
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpjax.partitions._columns import notes_of_ignored
from dpjax.partitions._nested import form_of
from dpjax.partitions._summary import Summary
from dpjax.partitions.outputs import Encoder
from dpjax.partitions.summaries import summarize
from dpjax.partitions.tables import summary_of_output
from dpjax.partitions.targets import targets_of

QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


def people(size=60, seed=0):
    """Return a table with two columns of labels and two columns of numbers, and missing values."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], size),
            "age": rng.integers(18, 80, size),
            "city": rng.choice(["A", "B", "C"], size),
            "income": rng.gamma(2.0, 1e4, size).round(2),
        }
    )
    table.loc[3, "city"] = None
    table.loc[4:6, "income"] = np.nan
    return table


def test_statistics_equal_those_of_pandas():
    table = people()
    found = summarize(table)
    assert found["rows"] == 60
    assert found["different rows"] == len(table.drop_duplicates())
    assert found["rows in the largest group of equal rows"] == table.value_counts().max()
    for name in ("sex", "city"):
        for label, count in table[name].value_counts().items():
            assert found[f"rows with {name} {label!r}"] == count
        assert found[f"different values of {name}"] == table[name].nunique()
    for name in ("age", "income"):
        column = table[name].dropna()
        assert found[f"mean of {name}"] == pytest.approx(column.mean(), rel=1e-12)
        assert found[f"deviation of {name}"] == pytest.approx(column.std(ddof=0), rel=1e-12)
        assert found[f"smallest {name}"] == column.min()
        assert found[f"largest {name}"] == column.max()
        assert found[f"different values of {name}"] == column.nunique()
        assert found[f"rows with the most frequent {name}"] == column.value_counts().max()
        for quantile in QUANTILES:
            value = column.quantile(quantile, interpolation="nearest")
            assert found[f"{quantile}-quantile of {name}"] == value
    both = table[["age", "income"]].dropna()
    expected = np.corrcoef(both["age"], both["income"])[0, 1]
    assert found["correlation of age and income"] == pytest.approx(expected, rel=1e-12)
    for (sex, city), count in table.value_counts(["sex", "city"]).items():
        assert found[f"rows with sex {sex!r} and city {city!r}"] == count
    frequencies = pd.crosstab(table["sex"], table["city"].fillna("missing"), normalize=True)
    product = np.outer(frequencies.sum(axis=1), frequencies.sum(axis=0))
    contingency = ((frequencies.to_numpy() - product) ** 2 / product).sum()
    assert found["dependence of sex and city"] == pytest.approx(contingency, rel=1e-9)
    known = table.dropna(subset="income")
    means = known.groupby("sex")["income"].transform("mean")
    explained = means.var() / known["income"].var()
    assert found["dependence of income on sex"] == pytest.approx(explained, rel=1e-9)
    assert found["rows without income"] == 3
    assert found["rows without city"] == 1
    assert "rows without sex" not in found


def test_summaries_do_not_depend_on_the_order_of_rows():
    table = people()
    other = table.sample(frac=1, random_state=1).reset_index(drop=True)
    found, again = (
        {
            name: value
            for name, value in summarize(either).items()
            if not any(word in name for word in ("row number", "first", "last", "before"))
        }
        for either in (table, other)
    )
    assert found.keys() == again.keys() and len(found) > 30
    assert [*found.values()] == pytest.approx([again[name] for name in found], rel=1e-12)


RECORDS = [{"sex": "f", "age": 30}, {"sex": "m", "age": 40}, {"sex": "f", "age": 30}]


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(RECORDS),
        pa.Table.from_pylist(RECORDS),
        {"sex": ["f", "m", "f"], "age": np.array([30, 40, 30])},
        RECORDS,
        np.array([("f", 30), ("m", 40), ("f", 30)], [("sex", "U1"), ("age", int)]),
    ],
    ids=["pandas", "arrow", "columns", "records", "structured"],
)
def test_all_kinds_of_tables_have_equal_summaries(table):
    found = summarize(table)
    assert found == {
        "rows": 3,
        "different rows": 2,
        "rows in the largest group of equal rows": 2,
        "rows with sex 'f'": 2,
        "rows with sex 'm'": 1,
        "different values of sex": 2,
        "different values of age": 2,
        "dependence of age on sex": pytest.approx(1, rel=1e-15),
        "correlation of age and row number": pytest.approx(0, abs=1e-15),
        "dependence of row number on sex": pytest.approx(0, abs=1e-15),
        "first age": 30,
        "last age": 30,
        "alphabetical place of the first sex": 0,
        "alphabetical place of the last sex": 0,
        "rows with age a multiple of 10": 3,
        "rows with the most frequent age": 2,
        "mean of age": pytest.approx(100 / 3, rel=1e-15),
        "deviation of age": pytest.approx(np.std([30, 40, 30]), rel=1e-15),
        "smallest age": 30,
        "largest age": 40,
        "0.1-quantile of age": 30,
        "0.25-quantile of age": 30,
        "0.5-quantile of age": 30,
        "0.75-quantile of age": 40,
        "0.9-quantile of age": 40,
    }


@pytest.mark.parametrize("rows", [np.array([[1.5, 2.0], [3.0, 2.0]]), [(1.5, 2.0), (3.0, 2.0)]])
def test_columns_without_names_are_numbered(rows):
    found = summarize(rows)
    assert found["mean of 0"] == 2.25
    assert found["mean of 1"] == found["rows with 1 2"] == 2
    assert found["correlation of 0 and 1"] == 0


def test_an_index_that_is_not_the_row_numbers_is_a_column():
    table = pd.DataFrame({"x": [1.5, 2.5]}, index=[7, 9])
    assert summarize(table)["mean of index"] == 8


def test_rows_with_small_integers_are_counted():
    found = summarize({"children": [0, 1, 1, 15, 16, -1]})
    counts = {name: found[name] for name in found if name.startswith("rows with children")}
    assert counts == {
        "rows with children 0": 1,
        "rows with children 1": 2,
        "rows with children 15": 1,
        "rows with children a multiple of 10": 1,
    }
    assert not any("children 0" in name for name in summarize({"children": [0.0, 0.5]}))


def test_many_labels_are_counted_in_groups():
    names = [f"name {number}" for number in range(100)] * 2
    found = summarize([{"name": name} for name in names])
    groups = [found[name] for name in found if "in group" in name]
    assert len(groups) == 16
    assert sum(groups) == 200
    assert found["rows with the most frequent name"] == 2
    assert found["different values of name"] == 100


def test_dates_and_durations_are_numbers_of_days():
    days = [date(2020, 1, 1), datetime(2020, 1, 2, 12), pd.Timestamp("2020-01-03")]
    found = summarize({"day": days})
    assert found["largest day"] - found["smallest day"] == 2
    assert found["0.5-quantile of day"] - found["smallest day"] == 1.5
    column = np.array(["2020-01-01", "2020-01-03T12", "NaT"], "datetime64[h]")
    found = summarize({"day": column})
    assert found["largest day"] - found["smallest day"] == 2.5
    assert found["rows without day"] == 1
    spans = [timedelta(hours=12), np.timedelta64(36, "h")]
    assert summarize({"span": spans})["mean of span"] == 1


@pytest.mark.parametrize("unit", ["s", "ns"])
@pytest.mark.parametrize("zone", [None, "Europe/Berlin"])
def test_dates_of_any_resolution_count_from_the_same_day(unit, zone):
    table = pd.DataFrame({"day": pd.date_range("2020-01-01", periods=3, unit=unit, tz=zone)})
    targets = [{"day": date(2020, 1, 2)}, {"day": np.datetime64("2020-01-02")}]
    found = summarize(table, targets)
    assert found["smallest day"] == 18262  # days since 1970-01-01
    assert found["rows equal to target 0"] == found["rows equal to target 1"] == 1


def test_numbers_of_any_type_and_size_are_finite():
    column = [10**400, -(10**400), Decimal("1.5"), 1e300, None, float("inf")]
    found = summarize({"x": column, "y": [1e300, -1e300, 0.0, 0.0, 0.0, 0.0]})
    assert found["rows with infinite x"] == 3
    assert found["rows without x"] == 1
    assert np.isfinite([*found.values()]).all()


def test_wide_tables_have_fewer_statistics():
    wide = summarize({f"c{number}": [1.5, 2.5] for number in range(21)})
    narrow = summarize({f"c{number}": [1.5, 2.5] for number in range(20)})
    assert not any("quantile" in name or "correlation" in name for name in wide)
    assert "0.5-quantile of c0" in narrow
    assert "correlation of c0 and c1" in narrow


def test_targets_are_looked_for():
    table = pd.DataFrame({"sex": ["f", "m", "m"], "age": [30.0, 40.0, 50.0]})
    targets = [{"age": 40, "sex": "m"}, ("f", 55.0), table.iloc[0]]
    found = summarize(table, targets)
    assert found["rows equal to target 0"] == 1
    assert found["entries in common with target 0"] == 2
    assert found["distance to target 0"] == 0
    assert found["rows equal to target 1"] == 0
    assert found["entries in common with target 1"] == 1
    # The standard deviation of 30, 40 and 50 is 10 sqrt(2/3); the nearest row is ("m", 50).
    expected = min(1 + 5 / (10 * (2 / 3) ** 0.5), 25 / (10 * (2 / 3) ** 0.5))
    assert found["distance to target 1"] == pytest.approx(expected, rel=1e-12)
    assert found["rows equal to target 2"] == 1


def test_a_text_equals_no_number_and_no_missing_number():
    found = summarize({"age": [30.0, None]}, [{"age": "unknown"}, {"age": None}])
    assert found["rows equal to target 0"] == 0
    assert found["distance to target 0"] == 1
    assert found["rows equal to target 1"] == 1


@pytest.mark.parametrize(
    ("table", "targets", "error", "text"),
    [
        ({1: [1], "1": [2]}, (), ValueError, "whose names differ as text, not [1, '1']"),
        (np.zeros(3, [("a", float, 2)]), (), TypeError, "but column 'a' was array([[0."),
        (RECORDS, [("f",)], ValueError, "targets[0] must have one entry per column, but had 1"),
        (RECORDS, [{"sex": "f"}], ValueError, "targets[0] must have an entry for each column"),
        (RECORDS, [("f", 3), 5], TypeError, "targets[1] must be a dict, a tuple or a Series"),
    ],
)
def test_anything_else_is_refused(table, targets, error, text):
    with pytest.raises(error) as caught:
        summarize(table, targets)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    "table",
    [
        {"x": np.ma.array([1.0, 2.0, 9.0], mask=[0, 0, 1])},
        np.ma.array([[1.0], [2.0], [9.0]], mask=[[0], [0], [1]]),
        np.ma.array([(1.0,), (2.0,), (9.0,)], [("x", float)], mask=[(0,), (0,), (1,)]),
        pd.DataFrame({"x": [np.array(1.0), np.array(2.0), None]}),
        [(1.0,), (2.0,), (Decimal("sNaN"),)],
    ],
    ids=["column", "array", "structured", "0-d", "sNaN"],
)
def test_masked_and_boxed_numbers_are_read(table):
    found = summarize(table)
    (name,) = [name.removeprefix("mean of ") for name in found if "mean of" in name]
    assert found[f"mean of {name}"] == 1.5
    assert found[f"largest {name}"] == 2
    assert found[f"rows without {name}"] == 1


def test_rows_without_columns_are_counted():
    found = summarize(pd.DataFrame(index=range(12)))
    assert found == {
        "rows": 12,
        "different rows": 1,
        "rows in the largest group of equal rows": 12,
        "rows equal to the row before": 11,
    }


@pytest.mark.parametrize("names", [[1, "1"], ["a", "a"]])
def test_outputs_with_equal_column_names_are_refused(names):
    with pytest.raises(ValueError, match="the function gave a table that cannot be summarized: t"):
        encoded([pd.DataFrame(np.zeros((12, 2)), columns=names)])


def test_empty_tables_have_a_summary():
    found = summarize(people().iloc[:0], [("f", 30, "A", 1.0)])
    assert found["rows"] == found["different rows"] == found["rows equal to target 0"] == 0


def test_frames_are_summarized_unless_each_row_is_a_group_of_records():
    assert summary_of_output(people(10), dict) is not None
    assert summary_of_output(people(9), dict) is None
    groups = pd.DataFrame({"key": [*"abcdefghij"], "count": range(10)})
    assert summary_of_output(groups, dict) is None
    assert summary_of_output(RECORDS * 4, dict) is None
    assert summary_of_output(namedtuple("Columns", "columns")(3), dict) is None


def test_rows_with_different_labels_are_groups_if_sorted_or_complete():
    """The records have different labels among 256 combinations."""
    columns = [*"abcd"]
    combinations = [*product("abcd", repeat=4)]
    rows = [combinations[n] for n in np.random.default_rng(0).permutation(256)[:12]]
    assert summary_of_output(pd.DataFrame(rows, columns=columns), dict) is not None
    assert summary_of_output(pd.DataFrame(sorted(rows), columns=columns), dict) is None
    groups = [(first, second) for second in "cab" for first in "wxyz"]
    assert summary_of_output(pd.DataFrame(groups, columns=[*"ab"]), dict) is None
    assert summary_of_output(pd.DataFrame(groups[:10], columns=[*"ab"]), dict) is None


def test_rows_in_which_two_databases_differ_are_targets():
    one, other = people(20), people(20)
    other.loc[19, ["age", "city"]] = [81, "C"]
    found = targets_of(one, other)
    assert found == {
        f"row 0 that only the {name} has": {
            "sex": table["sex"][19],
            "age": table["age"][19],
            "city": table["city"][19],
            "income": table["income"][19],
        }
        for name, table in (("database", one), ("neighbor", other))
    }
    summary = summary_of_output(other, lambda: found)
    assert summary["rows equal to row 0 that only the neighbor has"] == 1
    assert summary["rows equal to row 0 that only the database has"] == 0
    assert summary["entries in common with row 0 that only the database has"] >= 2
    assert (
        summary_of_output(other[["sex", "age"]], lambda: found).keys()
        == summarize(other[["sex", "age"]]).keys()
    )


@pytest.mark.parametrize(
    ("one", "other", "number"),
    [
        (people(20), people(20), 0),
        (people(20), people(20).iloc[:-1], 1),
        (people(20), people(20)[::-1].reset_index(drop=True), 0),
        (people(20), people(20).assign(age=range(20)).iloc[:5], 0),
        (people(20), RECORDS, 0),
        (people(10_001), people(10_001).iloc[1:], 0),
        (people(20), people(20).set_axis([*"aabc"], axis=1), 0),
    ],
)
def test_a_few_rows_of_moderate_frames_are_targets(one, other, number):
    assert len(targets_of(one, other)) == number


def test_targets_have_no_index():
    """The neighbor lacks a row in the middle, and the output has drawn rows with their labels."""
    one, other = people(20), people(20).drop(7)
    (target,) = targets_of(one, other).values()
    assert target["age"] == one["age"][7]
    drawn = one.iloc[[7, 7, *range(10)]]
    name = "row 0 that only the database has"
    summary = summary_of_output(drawn, lambda: {name: target})
    assert summary[f"rows equal to {name}"] == 3
    assert summary[f"entries in common with {name}"] == 4
    found = summarize(drawn, [one.iloc[7], tuple(one.iloc[7])])
    assert found["rows equal to target 0"] == found["rows equal to target 1"] == 3


def encoded(outputs):
    encoder = Encoder("the function")
    return encoder, encoder.encode(outputs)


def test_summaries_are_compared_by_name():
    """The second table has no label 'm', and the third has another one."""
    tables = [
        pd.DataFrame({"sex": ["f"] * first + ["m"] * second + ["x"] * third})
        for first, second, third in ((6, 6, 0), (12, 0, 0), (6, 5, 1))
    ]
    encoder, found = encoded(tables)
    assert (found.labels == 0).all()
    columns = {name: found.values[:, place] for place, name in enumerate(encoder.parts)}
    assert columns["[\"rows with sex 'f'\"]"].tolist() == [6, 12, 6]
    assert columns["[\"rows with sex 'm'\"]"].tolist() == [6, 0, 5]
    assert columns["[\"rows with sex 'x'\"]"].tolist() == [0, 0, 1]
    assert columns["['rows']"].tolist() == [12, 12, 12]


def test_summaries_with_as_many_numbers_are_compared_by_name():
    tables = [Summary(rows=3, m=1), Summary(rows=3, f=2)]
    encoder, found = encoded(tables)
    assert encoder.parts == ("['rows']", "['m']", "['f']")
    assert found.values.tolist() == [[3, 1, 0], [3, 0, 2]]


def test_frequent_labels_of_the_second_side_get_a_column():
    """The first 100 tables have 200 labels that occur twice, and others that occur once."""
    first = [
        Summary({"rows": 3, f"{n // 2}": 1, f"{n // 2} b": 1, f"once {n}": 1}) for n in range(200)
    ]
    second = [Summary({"rows": 3, "secret": 1, f"once {n}": 1}) for n in range(100)]
    encoder = Encoder("the function")
    encoder.encode(first)
    encoder.encode(second)
    encoder.fixed([])
    encoder.encode(second)
    assert "['secret']" in encoder.parts
    assert not any("once" in part for part in encoder.parts[4:])
    (note,) = notes_of_ignored([encoder.columns])
    assert "were not compared, because hardly any of the first tables had them" in note


def test_numbers_are_added_to_summaries():
    summary = summarize(RECORDS) | {"loss": np.float32(1.5), "converged": True}
    encoder, found = encoded([summary.copy()])
    assert found.values[0, [encoder.parts.index(f"[{name!r}]") for name in summary]].tolist() == [
        *summary.values()
    ]
    with pytest.raises(ValueError, match=r"a summary whose entry 'model' was 'x' \(str\): add"):
        encoded([summary | {"model": "x"}])


def test_equal_paths_of_summaries_are_stored_once():
    """A hundred columns of thousands of tables would otherwise need gigabytes."""
    one, other = (form_of(summarize(people(seed=seed))) for seed in (0, 1))
    places = {path: place for place, path in enumerate(other.entries)}
    assert all(path is other.entries[places[path]] for path in one.entries if path in places)


def test_entries_of_moderate_tables_of_numbers_are_compared_too():
    table = pd.DataFrame({"x": np.arange(20) / 2})
    encoder, found = encoded([table])
    assert found.values[0, :20].tolist() == table["x"].tolist()
    assert encoder.parts[19:21] == ("['x'][19]", "['rows']")
    encoder, _ = encoded([pd.DataFrame({"x": np.arange(1001) / 2})])
    assert encoder.parts[0] == "['rows']"


def test_dates_in_order_name_the_entries_of_a_table():
    """The dates of the second table would be labels that no other table has."""
    days = pd.date_range("2020-01-01", periods=12)
    counts = pd.DataFrame({"x": np.arange(12) / 2}, index=days)
    encoder, _ = encoded([counts])
    assert "[1]['x'][3]" in encoder.parts
    encoder, found = encoded(
        [pd.DataFrame({"day": days[::-1]}), pd.DataFrame({"day": days[[0] * 12]})]
    )
    assert encoder.parts[0] == "['rows']"
    assert (found.labels == 0).all()


def test_tables_of_arrow_are_outputs():
    encoder, found = encoded([pa.table({"x": [1.5, 2.5]})])
    assert encoder.parts == ("['x'][0]", "['x'][1]")
    assert found.values.tolist() == [[1.5, 2.5]]
    assert (encoded([pa.table(people())])[1].values == encoded([people()])[1].values).all()


def test_rows_with_two_labels_are_counted_if_there_are_two_columns_of_labels():
    """With more columns, at most 16 combinations are counted."""
    rows, name = np.arange(65), "rows with job 'j3' and zip 'z5'"
    table = pd.DataFrame({"job": [f"j{n}" for n in rows // 8], "zip": [f"z{n}" for n in rows % 8]})
    assert summarize(table[:64])[name] == 1
    assert name not in summarize(table)
    assert name not in summarize(table[:64].assign(sex="f"))
    assert summarize(table[20:36].assign(sex="f"))[name] == 1
