"""Panels from every source of data, and data that are rejected."""

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from dpjax.empirical import panel_from_array, panel_from_table
from dpjax.empirical._panel_tables import as_panel

TABLE = pd.DataFrame(
    {
        "year": [2001, 2000, 2001, 2000, 2001],
        "firm": ["b", "a", "a", "b", "b"],
        "sales": [1.0, 2.0, 3.0, 4.0, 5.0],
    }
)
KEYS = {"database": "year", "individual": "firm"}


def totals(panel):
    return panel.databases, dict(zip(panel.individuals, panel.total(panel.column()).T.tolist()))  # noqa: B905


def test_every_source_gives_the_same_panel(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    TABLE.to_parquet(tmp_path / "t.parquet")
    expected = ((2000, 2001), {"b": [4.0, 6.0], "a": [2.0, 3.0]})
    for source in (
        TABLE,
        pa.Table.from_pandas(TABLE),
        tmp_path / "t.csv",
        str(tmp_path / "t.parquet"),
    ):
        assert totals(panel_from_table(source, **KEYS)) == expected
    panel = panel_from_table(TABLE, **KEYS)
    assert as_panel(panel) is panel


def test_order_of_databases():
    table = pd.DataFrame(
        {"database": ["jan", "feb", "jan"], "individual": [1, 1, 2], "value": [1.0, 2, 3]}
    )
    assert as_panel(table).databases == ("jan", "feb")
    dates = table.assign(database=pd.to_datetime(["2020-02-01", "2020-01-01", "2020-02-01"]))
    assert [d[:7] for d in as_panel(dates).databases] == ["2020-01", "2020-02"]
    days = table.assign(database=[date(2020, 2, 1), date(2020, 1, 1), date(2020, 2, 1)])
    assert as_panel(days).databases == ("2020-01-01", "2020-02-01")


@pytest.mark.parametrize("number", [Decimal, lambda value: int(value) * 10**30])
def test_columns_of_python_numbers_are_values(tmp_path, number):
    typed = TABLE.assign(sales=[number(value) for value in TABLE["sales"]])
    expected = TABLE["sales"] * float(number(1))
    panel = panel_from_table(typed, **KEYS)
    np.testing.assert_allclose(np.sort(panel.column()), expected, rtol=1e-15)
    typed.to_csv(tmp_path / "t.csv", index=False)
    panel = panel_from_table(tmp_path / "t.csv", **KEYS, value="sales")
    np.testing.assert_allclose(np.sort(panel.column()), expected, rtol=1e-15)


def test_decimal_columns_of_parquet_files_are_values(tmp_path):
    TABLE.assign(sales=[*map(Decimal, TABLE["sales"])]).to_parquet(tmp_path / "t.parquet")
    panel = panel_from_table(tmp_path / "t.parquet", **KEYS)
    assert totals(panel) == totals(panel_from_table(TABLE, **KEYS))


def test_dense_arrays_with_nan_and_with_a_mask():
    dense = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0]])
    mask = ~np.isnan(dense)
    for panel in (as_panel(dense), panel_from_array(np.nan_to_num(dense), mask=mask)):
        np.testing.assert_array_equal(panel.total(), mask)
        np.testing.assert_array_equal(panel.coverage(), [2, 1, 2])
        np.testing.assert_array_equal(panel.column(), [1, 3, 4, 5, 6])
    two = as_panel(np.stack([dense, 2 * dense], axis=2))
    assert two.columns == ("value_0", "value_1")
    np.testing.assert_array_equal(two.column("value_1"), 2 * panel.column())


def test_a_mask_may_be_a_list():
    panel = panel_from_array([[1.0, 2.0], [3.0, 4.0]], mask=[[True, False], [True, True]])
    np.testing.assert_array_equal(panel.column(), [1, 3, 4])


def test_records_of_a_database_keep_their_order():
    number = np.arange(60)
    frame = pd.DataFrame({"database": number % 3, "individual": number % 5, "value": number})
    panel = as_panel(frame)
    for d in range(3):
        np.testing.assert_array_equal(panel.column()[panel.rows(d)], number[number % 3 == d])


def test_labels_of_a_dense_array():
    panel = panel_from_array(np.ones((2, 3)), databases=("wet", "dry"), individuals="abc")
    assert panel.databases == ("wet", "dry") and panel.individuals == ("a", "b", "c")
    with pytest.raises(ValueError, match="individuals must be 3 distinct labels, but were 2"):
        panel_from_array(np.ones((2, 3)), individuals="ab")


def test_individuals_in_no_database_are_noted():
    dense = np.array([[1.0, np.nan], [2.0, np.nan]])
    assert "1 of 2 individuals are in no database (first: 1)" in as_panel(dense).notes[0]
    typed = TABLE.assign(firm=pd.Categorical(TABLE["firm"], ["a", "b", "c"]))
    assert "'c'" in panel_from_table(typed, **KEYS).notes[0]


def test_missing_values_and_repeated_keys(tmp_path):
    holed = TABLE.assign(sales=[1.0, np.nan, 3.0, 4.0, 5.0])
    with pytest.raises(ValueError, match=r"1 of 5 records have one \(first: row 1"):
        panel_from_table(holed, **KEYS)
    kept = panel_from_table(holed, **KEYS, missing="drop")
    assert "1 of 5 records" in kept.notes[0]
    with pytest.raises(ValueError, match=r"1 records repeat .* \(first: year=2001, firm=b\)"):
        panel_from_table(TABLE, **KEYS, records="one")
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ValueError, match=r"t.csv: .*1 records repeat"):
        panel_from_table(tmp_path / "t.csv", **KEYS, records="one")
    copied = pd.concat([TABLE, TABLE[:1]])
    assert "1 of 6 records are exact copies" in panel_from_table(copied, **KEYS).notes[0]


@pytest.mark.parametrize(
    ("table", "options", "error", "words"),
    [
        (TABLE, {}, ValueError, "database column 'database' is not in the table"),
        (TABLE, {"database": "yeer", "individual": "firm"}, ValueError, "did you mean 'year'"),
        (TABLE, KEYS | {"value": "firms"}, ValueError, "value column 'firms'"),
        (TABLE, KEYS | {"value": "firm"}, ValueError, "but named 'firm'"),
        (TABLE, KEYS | {"value": ["sales", "sales"]}, ValueError, "but named 'sales'"),
        (TABLE, {"database": "year", "individual": "year"}, ValueError, "different columns"),
        (TABLE.assign(sales=1j), KEYS | {"value": "sales"}, TypeError, "holds complex128"),
        (
            TABLE.assign(sales=[1, 2, "n/a", None, 3], staff=range(5)),
            KEYS,
            TypeError,
            r"'sales' holds 'n/a' in row 2 \(1 of 5 are not numbers\)\. Correct the column",
        ),
        (
            TABLE.assign(sales=[np.nan, 1, np.nan, np.inf, 2]),
            KEYS | {"missing": "drop"},
            ValueError,
            "must be finite, but row 3 was",
        ),
        (TABLE, KEYS | {"missing": "keep"}, ValueError, "missing 'keep'"),
        (TABLE[:0], KEYS, ValueError, "but the table has no rows"),
        (pd.concat([TABLE, TABLE[["sales"]]], axis=1), KEYS, ValueError, "'sales' is repeated"),
        (TABLE.assign(sales=np.inf), KEYS, ValueError, "must be finite, but row 0"),
        ("no.csv", {}, ValueError, "there is none at 'no.csv'"),
        ("data.xlsx", {}, ValueError, "ends in one of .csv"),
        (
            TABLE.assign(firm=[{"name": "a"}] * 5),
            KEYS,
            TypeError,
            "column 'firm' must hold labels, such as strings or numbers, but holds {'name': 'a'}",
        ),
        (TABLE.assign(sales=10**400), KEYS, TypeError, "'sales' holds object"),
        (np.ones((2, 2)), {}, TypeError, "table must be a pandas or pyarrow table"),
    ],
)
def test_bad_tables_are_named(table, options, error, words):
    with pytest.raises(error, match=words):
        panel_from_table(table, **options)


@pytest.mark.parametrize(
    ("array", "mask", "error", "words"),
    [
        (np.ones(4), None, ValueError, "shape was .4,"),
        (np.array([["a"]]), None, TypeError, "array of numbers"),
        (np.array([[np.inf, 1.0]]), None, ValueError, "finite where an individual is present"),
        (np.ones((2, 3)), np.ones((3, 2), bool), ValueError, "mask must have shape"),
        (np.ones((2, 3)), np.ones((2, 3)), TypeError, "mask must be .*booleans"),
        (np.array([[1.0, 2.0], [np.nan] * 2]), None, ValueError, "database 1 holds none"),
    ],
)
def test_bad_arrays_are_named(array, mask, error, words):
    with pytest.raises(error, match=words):
        panel_from_array(array, mask=mask)


def test_what_is_no_data_is_named():
    with pytest.raises(TypeError, match=r"table .* an array or a panel, but was int"):
        as_panel(3)


def test_a_half_missing_record_is_refused():
    dense = np.ones((2, 3, 2))
    dense[1, 2, 0] = np.nan
    with pytest.raises(ValueError, match="individual 2 in database 1"):
        as_panel(dense)


def test_missing_values_are_not_counted_as_text():
    texts = TABLE.assign(sales=[1.0, None, "many", "few", 5.0])
    with pytest.raises(TypeError, match=r"'many' in row 2 \(2 of 5 are not numbers\)"):
        panel_from_table(texts, **KEYS)


def test_a_table_of_keys_alone_has_no_values():
    """The query counts its records."""
    panel = panel_from_table(TABLE[["year", "firm"]], **KEYS)
    assert panel.columns == () and panel.values.shape == (5, 0)
    assert panel.database.tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize("options", [{}, {"value": "sales"}, {"value": ["sales"]}])
def test_columns_of_other_types_are_named_with_their_type(options):
    dates = TABLE.assign(sales=pd.to_datetime(["2020-01-01"] * 5))
    with pytest.raises(TypeError, match=r"but 'sales' holds datetime64\[\w+\]\.$"):
        panel_from_table(dates, **KEYS, **options)


def test_of_many_columns_the_numbers_are_values():
    wide = TABLE.assign(name=list("vwxyz"), staff=range(5))
    assert panel_from_table(wide, **KEYS).columns == ("sales", "staff")
    assert panel_from_table(wide, **KEYS, value="staff").columns == ("staff",)
    with pytest.raises(TypeError, match=r"^value columns must hold numbers, but 'name' holds 'v'"):
        panel_from_table(wide, **KEYS, value=["staff", "name"])
    with pytest.raises(ValueError, match=r"^value column 'staf' is not in the table; .*'staff'"):
        panel_from_table(wide, **KEYS, value="staf")


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "__index_level_0__"])
def test_row_numbers_that_pandas_wrote_are_no_values(tmp_path, name):
    frame = pd.DataFrame({"database": [1, 1, 2, 2], "individual": [1, 2] * 2, "v": [1.0, 2, 5, 4]})
    frame.insert(0, name, range(4))
    frame.to_csv(tmp_path / "panel.csv", index=False)
    for table in (frame, tmp_path / "panel.csv"):
        panel = panel_from_table(table)
        assert panel.columns == ("v",)
        assert "contains row numbers, so it is not a value column" in " ".join(panel.notes)
    frame[name] = [3, 1, 2, 0]  # These are no row numbers.
    assert panel_from_table(frame).columns == (name, "v")
    frame[name] = range(4)
    assert panel_from_table(frame, value=name).columns == (name,)
    assert panel_from_table(frame.drop(columns="v")).columns == (name,)
