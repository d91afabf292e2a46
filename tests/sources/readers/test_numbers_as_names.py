"""Text files whose first row consists of numbers: names of columns, or an output."""

import numpy as np
import pytest

import dpjax
from dpjax.sources.readers import read_samples

REALS = np.random.default_rng(0).normal(size=(20, 3))
COUNTS = np.random.default_rng(1).integers(0, 50, (20, 3))
NAMES = "names of the columns"


def written(path, header, table):
    rows = [",".join(map(str, row)) for row in table.tolist()]
    path.write_text("\n".join([header, *rows] if header else rows) + "\n")
    return path


@pytest.mark.parametrize("header", ["2019,2020,2021", "0,1,2", "2,0,1", '"7","1","5"'])
def test_names_are_not_read_as_an_output(tmp_path, header):
    path = written(tmp_path / "x.csv", header, REALS)
    for column in (None, 1, [0, 1]):
        with pytest.raises(ValueError, match="in row 1, which seems to contain the names of the"):
            read_samples(path, column)
    names = header.replace('"', "").split(",")
    for place, name in enumerate(names):
        np.testing.assert_array_equal(read_samples(path, name), REALS[:, place])
    np.testing.assert_array_equal(read_samples(path, names), REALS)


def test_the_message_says_what_to_choose(tmp_path):
    path = written(tmp_path / "x.csv", "2019", REALS[:, :1])
    with pytest.raises(ValueError) as refused:
        read_samples(path)
    assert str(refused.value).endswith(
        "x.csv has 2019 in row 1, which seems to contain the names of the columns: choose columns "
        "by these names with column (--column), such as 2019; or write 2019.0 in row 1 if it is an "
        "output."
    )
    path.write_text(path.read_text().replace("2019", "2019.0"))
    assert read_samples(path)[0] == 2019.0 and len(read_samples(path)) == 21


@pytest.mark.parametrize(
    "first", ["0.5,1,2", "-1,0,1", "1,1,2", "5,1,2", "0,1,2", "1" * 11 + ",1,2"]
)
def test_a_row_that_may_be_an_output_is_one(tmp_path, first):
    table = REALS if "." in first or "-" in first or "1,1" in first else COUNTS
    path = written(tmp_path / "x.csv", first, table)
    expected = np.vstack([[float(entry) for entry in first.split(",")], table])
    np.testing.assert_array_equal(read_samples(path), expected)
    for place in range(3):
        for column in (place, str(place)):
            np.testing.assert_array_equal(read_samples(path, column), expected[:, place])


def test_few_rows_show_no_names(tmp_path):
    assert len(read_samples(written(tmp_path / "x.csv", "3", REALS[:9, :1]))) == 10
    with pytest.raises(ValueError, match=NAMES):
        read_samples(written(tmp_path / "x.csv", "3", REALS[:10, :1]))


def test_a_year_is_a_name_above_counts(tmp_path):
    path = written(tmp_path / "x.csv", "2019,2020,2021", COUNTS)
    np.testing.assert_array_equal(read_samples(path, "2020"), COUNTS[:, 1])
    path = written(tmp_path / "x.csv", "2019,2019,2021", COUNTS)
    with pytest.raises(ValueError, match="has no column 2019: its columns are 0 to 2"):
        read_samples(path, "2019")


@pytest.mark.parametrize(
    ("first", "is_noted"),
    [("2019,2020,2021", True), ("10,20,30", True), ("3,1,2", False), ("1,3", False),
     ("0,1", True), ("3,3,3", False), ("3,2,1", False), ("4.5,5.5,6.5", False), ("a,b,c", False)],
)  # fmt: skip
def test_a_note_says_that_row_1_is_an_output(tmp_path, first, is_noted):
    table = COUNTS[:, : first.count(",") + 1]
    (note,) = dpjax.Recording(written(tmp_path / "x.csv", first, table)).notes
    assert note.endswith("contains the names of the columns, delete it.") == is_noted


@pytest.mark.parametrize("first", [0, 1])
def test_columns_of_a_file_without_names_are_given_by_indices(tmp_path, first):
    """The first value of the column that names the database is the index of a column, too."""
    table = np.column_stack([np.arange(40) // 20, np.tile(REALS[:, 0], 2)])
    rows = [f"{(int(by) + first) % 2},{output}" for by, output in table.tolist()]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(rows))
    recorded = dpjax.Recorded.from_file(path, "0", "1")
    for side in (recorded.x, recorded.y):
        np.testing.assert_array_equal(np.concatenate([*side.chunks()]), REALS[:, 0])
    path.write_text("\n".join(["0,1", *rows]))
    np.testing.assert_array_equal(
        np.concatenate([*dpjax.Recorded.from_file(path, "0", "1").x.chunks()]), REALS[:, 0]
    )


def test_a_blank_line_is_named_by_its_number(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("1\n2.5\n\n" + "3.5\n" * 20)
    with pytest.raises(ValueError, match="after a blank line, line 3"):
        read_samples(path)
