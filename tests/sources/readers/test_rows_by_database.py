"""Files with the outputs of both databases, in which a column names the database."""

import json
import re
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

import dpjax
from dpjax.core import wording
from dpjax.sources import Trust
from dpjax.sources.readers import Recording
from dpjax.sources.readers._databases import recordings_by
from dpjax.sources.readers._rows import rows_with, texts_of, two_values


def drawn(number=4000):
    rng = np.random.default_rng(0)
    side = rng.integers(0, 2, number)
    return side, side + rng.laplace(size=number)


def write(path, columns):
    names, rows = list(columns), list(zip(*columns.values(), strict=True))
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(dict(zip(names, r, strict=True))) + "\n" for r in rows))
    elif path.suffix == ".parquet":
        pa.parquet.write_table(pa.table(columns), path)
    elif path.suffix == ".feather":
        pa.feather.write_feather(pa.table(columns), str(path))
    elif path.suffix == ".npz":
        np.savez(path, **{name: np.array(column) for name, column in columns.items()})
    else:
        sign = {".csv": ",", ".tsv": "\t", ".txt": " "}[path.suffix]
        path.write_text("\n".join(sign.join(map(str, row)) for row in [names, *rows]) + "\n")


def bound(recorded):
    found = dpjax.audit(recorded, claim=0.5)
    return found.lower_bound, found.witness.event_counts


@cache
def bound_of_arrays(first):
    """Return the bound of the drawn values if those of database `first` are the first side."""
    side, values = drawn()
    return bound(dpjax.Recorded(values[side == first], values[side != first]))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["csv", "tsv", "txt", "jsonl", "parquet", "feather", "npz"])
@pytest.mark.parametrize("named", [["without", "with"], [0, 1], [1.5, -2.0]])
def test_a_column_splits_a_file_as_two_files_do(tmp_path, kind, named):
    side, values = drawn()
    path = tmp_path / f"all.{kind}"
    write(path, {"side": [named[s] for s in side.tolist()], "answer": values.tolist()})
    column = "answer" if kind == "npz" else None
    found = dpjax.Recorded.from_file(path, "side", column)
    first = 0 if named == [0, 1] else 1
    assert [found.x.value, found.y.value] == sorted(map(lambda v: f"{v}".removesuffix(".0"), named))
    assert found.name == f"all.{kind}: side {found.x.value} / {found.y.value}"
    split = values[side == first], values[side != first]
    for recording, expected in zip((found.x, found.y), split, strict=True):
        np.testing.assert_array_equal(np.concatenate([*recording.chunks()]), expected)
    assert bound(found) == bound_of_arrays(first) and bound_of_arrays(first)[0] > 0.5


def test_rows_are_found_in_files_of_many_chunks(tmp_path):
    """Labels and numbers are read in chunks of other sizes."""
    side, values = drawn(80_000)
    names = np.where(side == 0, "a", "b")
    write(tmp_path / "all.csv", {"v": values, "side": names, "w": -values})
    found = dpjax.Recorded.from_file(tmp_path / "all.csv", "side", ["v", "w"])
    for recording, name in ((found.x, "a"), (found.y, "b")):
        expected = values[names == name]
        read = np.concatenate([*recording.chunks()])
        np.testing.assert_array_equal(read, np.stack([expected, -expected], 1))


def test_chunks_of_any_sizes_are_joined():
    outputs = iter([np.arange(3), np.empty(0), np.arange(3, 8)])
    named = iter([np.array(["a"]), np.array(["b", "a", "b", "b", "a", "a", "b"])])
    assert np.concatenate([*rows_with("s", "a", outputs, named)]).tolist() == [0, 2, 5, 6]
    for numbers in ((3, 4), (4, 3)):
        with pytest.raises(ValueError, match="in every row"):
            list(rows_with("s", "a", *(iter([np.full(n, "a")]) for n in numbers)))


def test_several_files_may_hold_rows_of_one_database(tmp_path):
    for number, name in enumerate("abab"):
        write(tmp_path / f"{number}.csv", {"side": [name] * 30, "answer": np.arange(30) + number})
    found = dpjax.Recorded.from_file(str(tmp_path / "*.csv"), "side")
    assert [len(np.concatenate([*side.chunks()])) for side in (found.x, found.y)] == [60, 60]
    assert found.name == "0.csv and 3 more: side a / b"


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"side": "aaa", "v": [1, 2, 3]}, {}, "but column 'side' has only 'a'"),
        ({"side": "abc", "v": [1, 2, 3]}, {}, "but column 'side' has at least 'a', 'b', 'c'"),
        (
            {"side": [1, 2, 1], "v": [1, 2, 3], "w": [1, 2, 3]},
            {},
            "2 columns besides 'side': 'v', 'w'",
        ),
        ({"side": [1, 2, 1], "v": [1, 2, 3]}, {"column": 0}, "column must be another column"),
        (
            {"v": [1, 2, 3], "side": [1, 2, 1]},
            {"column": ["v", 1]},
            "column must be another column",
        ),
        ({"side": "aba"}, {}, "has no columns besides 'side'"),
        ({"side": ["a", "", "b"], "v": [1, 2, 3]}, {}, "but column 'side' has none for output 2"),
        ({"side": [1, float("nan"), 2], "v": [1, 2, 3]}, {}, "has none for output 2"),
        ({"side": "aba", "v": [1, 2, 3]}, {"column": "side"}, "column must be another column"),
        ({"site": "aba", "v": [1, 2, 3]}, {}, "has no column 'side'"),
    ],
)
def test_columns_that_do_not_name_two_databases(tmp_path, columns, options, message):
    write(tmp_path / "all.csv", columns)
    with pytest.raises(ValueError, match=message.replace(".", "[.]")):
        dpjax.Recorded.from_file(tmp_path / "all.csv", "side", **options)


@pytest.mark.parametrize("given", [{"by": "s"}, {"value": "a"}, {"by": "s", "value": "a"}])
def test_rows_of_a_recording_need_three_names(tmp_path, given):
    write(tmp_path / "all.csv", {"s": "ab", "v": [1, 2]})
    with pytest.raises(ValueError, match="by and value must be given together, and with column"):
        Recording(tmp_path / "all.csv", **given)
    with pytest.raises(ValueError, match="value must be in column 's', but 'c' is not"):
        list(Recording(tmp_path / "all.csv", "v", "s", "c").chunks())


def test_the_same_rows_on_both_sides_are_refused(tmp_path):
    write(tmp_path / "all.csv", {"s": "ab" * 30, "v": np.arange(60)})
    rows = [Recording(tmp_path / "all.csv", "v", "s", value) for value in "aab"]
    with pytest.raises(ValueError, match=r"is on both sides.*from_file\(file, by=.database.\)"):
        dpjax.Recorded(*rows[:2])
    assert dpjax.Recorded(*rows[1:])


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "npz"])
def test_a_file_against_its_own_rows_is_refused(tmp_path, kind):
    path = tmp_path / f"all.{kind}"
    write(path, {"s": ["a", "b"] * 30, "t": ["c", "d"] * 30, "v": [*range(60)], "w": [*range(60)]})
    rows = Recording(path, "v", "s", "a")
    places = {"npz": ["v"]}.get(kind, ["v", 2, ["w", 2]])
    shared = [Recording(path, column) for column in places]
    shared += [Recording(path, column, "t", "c") for column in places]
    for other in [*shared, *([] if kind == "npz" else [Recording(path, "v", 0, "a")])]:
        with pytest.raises(ValueError, match="is on both sides"):
            dpjax.Recorded(rows, other)
        with pytest.raises(ValueError, match="is on both sides"):
            dpjax.Recorded(other, rows)
    for other in (
        Recording(path, "w"),
        Recording(path, "w", "s", "a"),
        Recording(path, "v", "s", "b"),
    ):
        assert dpjax.Recorded(rows, other)
    if kind != "npz":
        with pytest.raises(ValueError, match="is on both sides"):
            dpjax.Recorded(Recording(path), Recording(path, "w"))


def test_the_array_of_outputs_is_chosen_in_npz_files(tmp_path):
    write(tmp_path / "all.npz", {"s": [0, 1], "v": [0.5, 1.5]})
    with pytest.raises(ValueError, match="may hold several arrays besides 's', but was None"):
        dpjax.Recorded.from_file(tmp_path / "all.npz", "s")


def test_rows_without_a_database_are_refused_by_every_recording(tmp_path):
    write(tmp_path / "all.csv", {"s": ["a", "", "b"], "v": [1, 2, 3]})
    with pytest.raises(ValueError, match="column 's' has none for output 2"):
        list(Recording(tmp_path / "all.csv", "v", "s", "a").chunks())


def test_recordings_do_not_contain_the_names_of_their_databases(tmp_path):
    write(tmp_path / "all.csv", {"s": [0, 1], "v": [1, 2]})
    with pytest.raises(ValueError, match="column must be another column than by"):
        list(Recording(tmp_path / "all.csv", 0, "s", "1").chunks())
    with pytest.raises(TypeError, match="value must be a text, such as '1', but was 1"):
        Recording(tmp_path / "all.csv", "v", "s", 1)


def test_a_header_that_one_column_reads_as_a_row_is_explained(tmp_path):
    write(tmp_path / "all.csv", {"s": ["a", "b"], "v": [1, 2]})
    with pytest.raises(ValueError, match="choose all columns by their names"):
        list(Recording(tmp_path / "all.csv", "v", 0, "a").chunks())
    with pytest.raises(ValueError, match="'a', 'b', 's'; if the first row is a header, name the"):
        dpjax.Recorded.from_file(tmp_path / "all.csv", 0, "v")


def test_lists_name_no_database():
    with pytest.raises(ValueError, match="in each row, but holds lists"):
        texts_of(np.zeros((2, 2)))
    assert two_values("s", [np.array([True]), np.array([False])]) == ("False", "True")
    with pytest.raises(wording.BadValue):
        two_values("s", [])


def test_a_recipe_keeps_the_rows(tmp_path):
    side, values = drawn()
    write(tmp_path / "all.csv", {"side": side, "answer": values})
    found = dpjax.Recorded.from_file(tmp_path / "all.csv", "side", independent=True)
    again = dpjax.Recorded.from_plain(found.to_plain(), None, Trust(()))
    assert again.independent and (again.x.value, again.y.by) == ("0", "side")
    assert bound(again) == bound(found)
    assert "rows in which side is 0" in found._repr_html_()


def test_folders_that_name_the_databases_are_two_sides(tmp_path):
    folders = [tmp_path / "out" / f"side={side}" for side in "ab"]
    for folder in folders:
        folder.mkdir(parents=True)
        (folder / "part-0.csv").write_text("output\n1.5\n2.5\n")
    first, second = (re.escape(str(folder)) for folder in folders)
    with pytest.raises(
        ValueError,
        match=f"by must name a column in the files, but 'side' is in the names of folders: pass "
        f"the files of {first} as one side, and those of {second} as the other side[.]$",
    ):
        recordings_by(str(tmp_path / "out" / "side=*" / "*.csv"), "side")
    # If the files contain the column, the names of the folders do not matter.
    for folder in folders:
        (folder / "part-0.csv").write_text("output,side\n1.5,a\n2.5,b\n")
    first, second = recordings_by(str(tmp_path / "out" / "side=*" / "*.csv"), "side")
    assert (first.value, second.value) == ("a", "b")
