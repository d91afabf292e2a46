"""Files of recorded outputs: what is read equals what was written, or the file is rejected."""

import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import dpjax
from dpjax.core import parquet
from dpjax.sources.readers import read_samples
from dpjax.sources.readers._parquet import parquet_chunks


def write(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "samples",
    [
        np.random.default_rng(0).normal(size=50),
        np.random.default_rng(0).normal(size=(50, 3)).astype(np.float32),
        np.arange(-5, 45),
        np.array([True, False, True]),
        np.array(["yes", "no", "no"]),
    ],
    ids=["reals", "vectors", "integers", "booleans", "labels"],
)
def test_arrays_round_trip(tmp_path, samples):
    np.save(tmp_path / "x.npy", samples)
    np.savez(tmp_path / "x.npz", outputs=samples)
    np.savez_compressed(tmp_path / "y.npz", samples)
    (tmp_path / "y.npz").rename(tmp_path / "Y.NPZ")
    for name in ("x.npy", "x.npz", "Y.NPZ"):
        for path in (tmp_path / name, str(tmp_path / name)):
            read = read_samples(path)
            assert read.dtype == samples.dtype
            np.testing.assert_array_equal(read, samples)


@pytest.mark.parametrize(("suffix", "delimiter"), [("csv", ","), ("tsv", "\t"), ("txt", " ")])
def test_text_round_trips(tmp_path, suffix, delimiter):
    rng = np.random.default_rng(1)
    tables = {
        "reals": rng.normal(size=40) * 10.0 ** rng.integers(-30, 30, 40),
        "vectors": rng.normal(size=(40, 3)),
        "integers": rng.integers(-99, 99, 40),
        "pairs": rng.integers(-99, 99, (40, 2)),
    }
    for name, samples in tables.items():
        path = tmp_path / f"{name}.{suffix}"
        np.savetxt(
            path, samples, fmt="%d" if samples.dtype.kind == "i" else "%.17g", delimiter=delimiter
        )
        read = read_samples(path)
        # Write 17 digits, which determine every bit of a float64.
        assert read.dtype == samples.dtype
        np.testing.assert_array_equal(read, samples)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("header.csv", "output\n1.5\n-2\n", [1.5, -2.0]),
        ("headers.csv", "a,b\n1.5,2\n3,4\n", [[1.5, 2.0], [3.0, 4.0]]),
        ("header.tsv", "a\tb\n1\t2\n3\t4\n", [[1, 2], [3, 4]]),
        ("header.txt", "output\n1\n2\n", [1, 2]),
        ("no-newline.csv", "1\n2", [1, 2]),
        ("blank-end.csv", "1\n2\n\n \n\n", [1, 2]),
        ("blank-end.txt", " 1 \n2\n\n  \n", [1, 2]),
        ("quoted-empty.csv", 'yes\n""\n', ["yes", ""]),
        ("windows-twice.csv", "v\r\r\n1\r\r\n2\r\r\n", [1, 2]),
        ("windows.csv", "1.5\r\n2.5\r\n", [1.5, 2.5]),
        ("byte-order-mark.csv", "\ufeff1\n2\n", [1, 2]),
        ("two-byte-order-marks.csv", "\ufeff\ufeff1\n2\n", [1, 2]),
        ("marked-labels.csv", "\ufeff\ufeffyes\nno\n", ["yes", "no"]),
        ("signs.csv", "+1\n-2\n 3\n", [1, -2, 3]),
        ("exponents.csv", "1e3\n-2.5E-1\n", [1000.0, -0.25]),
        ("quoted.csv", '"1.5"\n"2"\n', [1.5, 2.0]),
        ("labels.csv", "yes\nno\n yes \n", ["yes", "no", "yes"]),
        ("one-number.csv", "7\n", [7]),
        ("quoted-label.csv", '"a, b"\nc\n', ["a, b", "c"]),
    ],
)
def test_text_as_people_write_it(tmp_path, name, text, expected):
    path = tmp_path / name
    path.write_bytes(text.encode())
    read = read_samples(path)
    assert read.tolist() == expected
    assert read.dtype.kind == np.asarray(expected).dtype.kind


def test_integers_of_any_size_are_what_was_written(tmp_path):
    """A float64 holds integers up to 2^53 only."""
    read = read_samples(write(tmp_path, "big.csv", f"{2**53 + 1}\n{-(2**62) - 1}\n"))
    assert read.tolist() == [2**53 + 1, -(2**62) - 1]
    read = read_samples(write(tmp_path, "edge.csv", f"{2**53 + 1}\n-5\n"))
    assert read.tolist() == [2**53 + 1, -5]


@pytest.mark.parametrize(
    ("integers", "kind"),
    [
        ([2**63 - 1, 2**63 - 2, -(2**63)], "i"),
        ([2**63 + 1, 2**63 + 2, 2**64 - 1, 0], "u"),
        ([2**63 - 1, 2**63], "u"),
    ],
)
def test_integers_of_64_bits_are_exact(tmp_path, integers, kind):
    for name in ("x.csv", "x.txt"):
        read = read_samples(write(tmp_path, name, "\n".join(map(str, integers))))
        assert read.tolist() == integers and read.dtype.kind == kind


def test_integers_of_several_files_stay_exact(tmp_path):
    write(tmp_path, "a.csv", f"{2**53 + 1}\n7\n")
    write(tmp_path, "b.csv", f"{2**64 - 1}\n")
    write(tmp_path, "c.csv", "-1\n")
    assert read_samples(f"{tmp_path}/a.csv,{tmp_path}/b.csv").tolist() == [2**53 + 1, 7, 2**64 - 1]
    with pytest.raises(
        ValueError, match=r"not hold both integers below 0 and integers of 2\^63 or"
    ):
        read_samples(f"{tmp_path}/b.csv,{tmp_path}/c.csv")


def test_written_nan_and_infinities_are_left_to_the_audit(tmp_path):
    read = read_samples(write(tmp_path, "x.csv", "1\nnan\ninf\n"))
    np.testing.assert_array_equal(read, [1, np.nan, np.inf])


# Refusals.


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("empty.csv", "", "empty.csv holds no outputs"),
        ("blank.txt", " \n\n", "blank.txt holds no outputs"),
        ("blank.csv", "yes\nno\n\nyes\n\n", "blank.csv has outputs after a blank line, line 3:"),
        (
            "blank-first.csv",
            "\n1\n",
            "after a blank line, line 1: write an empty output as a label",
        ),
        ("blank-header.csv", "v\n\n1\n", "line 2: .* or delete the line if it is not an output"),
        ("blank-quoted.csv", '"v\n"\n1\n \n2\n', "after a blank line, line 4:"),
        ("blank-windows.csv", "1\r\r\n\r\r\n2\r\r\n", "after a blank line, line 2:"),
        ("blank-pairs.csv", "1,2\n\n3,4\n", "after a blank line, line 2:"),
        ("blank-between.txt", "no\n  \nyes\n", "after a blank line, line 2:"),
        ("blank-between.tsv", "1\t2\n\n3\t4\n", "after a blank line, line 2:"),
        ("ragged.csv", "1,2\n3\n", "in row 1 and 1 in row 2 .'3'.: write one output"),
        ("ragged.txt", "1 2\n3 4 5\n", "in row 1 and 3 in row 2 .'3 4 5'.: write one output"),
        (
            "mixed.csv",
            "1\n2\nthree\n",
            "mixed.csv mixes numbers .*'three' in row 3 is not a number; write a missing .* as nan",
        ),
        ("gap.csv", "1,2\n3,\n", "gap.csv has an empty entry in row 2 among numbers: write a miss"),
        ("gap-first.csv", "v,w\n7,1\n,1\n", "has an empty entry in row 3 among numbers"),
        ("columns.csv", "v,w\n1,a\n2,b\n", "'a' in row 2 is not a number; name the column to use"),
        (
            "large.csv",
            f"v\n7\n{2**64}\n",
            f"has the integer {2**64} in row 3, and no 64-bit type .*: write reals",
        ),
        ("signs.csv", f"-1\n{2**63}\n", f"integer {2**63} in row 2, and no 64-bit type can"),
        ("pairs.csv", f"1,2\n3,{10**30}\n", f"integer {10**30} in row 2, and no 64-bit type can"),
        ("digits.txt", "5\n" + "1" * 5000, "integer 1+ in row 2, and no 64-bit type can"),
        ("comma.txt", "0,5\n-1,25\n", "'0,5' in row 1, but decimal commas .* write 0.5 "),
        ("comma.csv", '"1,5"\n"-,5"\n', "'1,5' in row 1, but decimal commas .* write 1.5 "),
        ("comma.tsv", "1\n2\n3,5\n", "'3,5' in row 3, but decimal commas .* write 3.5 "),
        (
            "commas.csv",
            "0,32\n-1,05\n7,5\n",
            "'-1,05' in row 2, but decimal commas .* write -1.05 ",
        ),
        ("semicolons.csv", "1;2\n3;4\n5\n", "semicolons.csv mixes numbers and other entries"),
        ("cells.csv", "v;w\n0.5;1\n-2;3\n", "'0.5;1' in row 2, which seems .*, separated by ';'"),
        ("bars.csv", "a|0.5\nb|2.5\n", r"'b\|2.5' in row 2, which seems .*, separated by '\|'"),
        ("tabs.csv", "0.5\ta\n2\tb\n-1.5\tc\n", r"'2\\tb' in row 2, .*, separated by '\\t'"),
        ("commas.tsv", "0.5,1\n2,0.3\n", "'2,0.3' in row 2, which seems .*, separated by ','"),
        ("blanks.csv", " 0.5  1\n 2 3.5\n", "' 2 3.5' in row 2, which seems .*, separated by ' '"),
        ("words.csv", "a,b\nc,d\n", "words.csv must have one label per line"),
        ("x.parquet", "1\n", "x.parquet cannot be read: it is not a Parquet file"),
        ("x.orc", "1\n", r"must end in \.npy, .* but ends in '\.orc'\.$"),
        ("x.json", "[1]\n", r"ends in '\.json'\. In a jsonl file, .* `jq -c '\.\[\]' x\.json > "),
        ("none.csv", "v\nNA\n1\n", "'1' in row 3 is a number, unlike 'NA' before it; write a "),
        ("two.csv", "g,n\na,1\nb,2\n", "'1' in row 2 is a number, unlike 'a' before it; name the"),
        ("x", "1\n", r"must end in \.npy, .* but ends in ''"),
        ("broken.npy", "1\n2\n", "broken.npy cannot be read"),
        ("broken.npz", "PK not really", "broken.npz cannot be read"),
        ("empty.npy", "", "empty.npy cannot be read"),
    ],
)
def test_refused_contents(tmp_path, name, text, message):
    with pytest.raises(ValueError, match=f"samples file .*{message}"):
        read_samples(write(tmp_path, name, text))


@pytest.mark.parametrize(
    "labels", [["1;0", "0;1"], ["0.5 stars", "2 stars"], ["a;b", "c;d"], ["1.5;a", "b", "2;c"]]
)
def test_labels_that_contain_delimiters_stay_labels(tmp_path, labels):
    assert read_samples(write(tmp_path, "x.csv", "\n".join(labels))).tolist() == labels


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "index", "ID", "__index_level_0__"])
def test_a_column_that_is_named_as_an_index_is_refused(tmp_path, name):
    path = write(tmp_path, "x.csv", f"{name},value\n7,1.5\n3,2.5\n")
    with pytest.raises(ValueError, match=f"has the columns '{name}', 'value', of which '{name}'"):
        read_samples(path)
    assert read_samples(path, "value").tolist() == [1.5, 2.5]
    # A single column contains outputs, whatever its name is.
    assert read_samples(write(tmp_path, "x.tsv", f"{name or 'id'}\n7\n3\n")).tolist() == [7, 3]


@pytest.mark.parametrize(
    ("ending", "header", "delimiter"),
    [("csv", "value,run", ","), ("txt", "", " "), ("tsv", "", "\t"), ("parquet", "value,run", "")],
)
@pytest.mark.parametrize("step", [1, 5])
def test_a_column_that_counts_is_refused(tmp_path, ending, header, delimiter, step):
    path = tmp_path / f"x.{ending}"

    def save(column):
        table = np.stack([np.random.default_rng(2).normal(size=200), column], axis=1)
        if ending == "parquet":
            pq = pytest.importorskip("pyarrow.parquet")
            columns = dict(zip(header.split(","), table.T, strict=True))
            pq.write_table(pytest.importorskip("pyarrow").table(columns), path)
        else:
            np.savetxt(path, table, "%.17g", delimiter, header=header, comments="")
        return path

    save(3.0 + step * np.arange(200))
    with pytest.raises(
        ValueError, match=r"columns .*, of which '?(run|1)'? seems to contain row numbers"
    ):
        read_samples(path)
    assert read_samples(path, 0).shape == (200,)
    # These columns do not increase by one per row, so they are not row numbers.
    for column in (np.arange(200) // 2, 0.5 * np.arange(200), np.zeros(200)):
        assert read_samples(save(column)).shape == (200, 2)


def test_refused_places(tmp_path):
    (tmp_path / "folder.csv").mkdir()
    pattern = r"folder\.csv is a folder: .* a pattern of files, such as '.*folder\.csv/\*\.csv'\.$"
    with pytest.raises(ValueError, match=pattern):
        read_samples(tmp_path / "folder.csv")
    with pytest.raises(FileNotFoundError, match=r"samples file .*none\.npy does not exist"):
        read_samples(tmp_path / "none.npy")


def test_refused_arrays(tmp_path):
    np.savez(tmp_path / "two.npz", x=np.arange(3), y=np.arange(3))
    with pytest.raises(
        ValueError, match=r"two\.npz cannot be read: it holds the arrays \['x', 'y'\]: choose one"
    ):
        read_samples(tmp_path / "two.npz")
    np.savez(tmp_path / "none.npz")
    with pytest.raises(ValueError, match=r"none\.npz cannot be read: it holds the arrays \[\]"):
        read_samples(tmp_path / "none.npz")
    np.save(tmp_path / "empty.npy", np.zeros((0, 2)))
    with pytest.raises(ValueError, match=r"empty\.npy holds no outputs"):
        read_samples(tmp_path / "empty.npy")
    # Reject object arrays, because unpickling would run arbitrary code in the file.
    np.save(tmp_path / "pickled.npy", np.array([{"a": 1}, None], object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"pickled\.npy cannot be read"):
        read_samples(tmp_path / "pickled.npy")
    np.savez(tmp_path / "pickled.npz", x=np.array([{"a": 1}], object))
    with pytest.raises(ValueError, match=r"pickled\.npz cannot be read"):
        read_samples(tmp_path / "pickled.npz")


@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_files_cut_short(tmp_path, name):
    path = tmp_path / name
    (np.save if name.endswith("npy") else np.savez)(path, np.arange(1000))
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(ValueError, match=f"samples file .*{name} cannot be read"):
        read_samples(path)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
def test_text_that_is_not_utf_8(tmp_path, encoding):
    path = tmp_path / "x.csv"
    path.write_bytes("é\nü\n".encode(encoding))
    with pytest.raises(
        ValueError, match=r"x\.csv cannot be read: .*not UTF-8 .* save it as UTF-8\.$"
    ):
        read_samples(path)


def test_labels_of_a_named_column_do_not_include_its_name(tmp_path):
    path = write(tmp_path, "answers.csv", "query,answer\n1,yes\n2,no\n3,yes\n")
    assert read_samples(path, "answer").tolist() == ["yes", "no", "yes"]
    assert read_samples(path, "query").tolist() == [1, 2, 3]
    path = write(tmp_path, "labels.csv", "a,b\nyes,no\nno,no\n")
    assert read_samples(path, "b").tolist() == ["no", "no"]
    # The first line is an output, because it is not known to be a header.
    assert read_samples(path, 1).tolist() == ["b", "no", "no"]


def test_a_parquet_file_without_columns_is_refused(tmp_path):
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    pq.write_table(pa.table({}), tmp_path / "x.parquet")
    with pytest.raises(ValueError, match=r"x\.parquet cannot be read: it has no columns"):
        read_samples(tmp_path / "x.parquet")


def test_columns_of_parquet_of_several_kinds_are_no_vector(tmp_path):
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    pq.write_table(pa.table({"a": [1, 2], "b": ["x", "y"]}), tmp_path / "ab.parquet")
    with pytest.raises(ValueError, match=r"several columns, \['a', 'b'\], and not all are numeric"):
        read_samples(tmp_path / "ab.parquet")
    assert read_samples(tmp_path / "ab.parquet", "b").tolist() == ["x", "y"]


def test_decimals_of_parquet_are_numbers_unless_they_would_be_rounded(tmp_path):
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    texts = ["0.100", "-2.500", "1234567.125", "-377.740"]
    for precision, scale in ((10, 3), (38, 9), (38, 18)):
        column = pa.array([*map(Decimal, texts)], pa.decimal128(precision, scale))
        pq.write_table(pa.table({"id": [*"abcd"], "d": column}), tmp_path / "d.parquet")
        assert read_samples(tmp_path / "d.parquet", "d").tolist() == [*map(float, texts)]
    for text in ("0.12345678901234567890", "9" * 18):
        column = pa.array([Decimal(text)], pa.decimal128(38, 20))
        pq.write_table(pa.table({"d": column}), tmp_path / "d.parquet")
        with pytest.raises(ValueError, match=r"decimals .* with more digits than float64 keeps"):
            read_samples(tmp_path / "d.parquet")


def test_lists_of_parquet_are_vectors(tmp_path):
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    rng, path = np.random.default_rng(0), tmp_path / "v.parquet"
    for values in (rng.normal(size=(50, 3)), rng.integers(9, size=(50, 4)), rng.random((50, 1))):
        flat, width = values.ravel(), values.shape[1]
        expected = values.tolist() if width > 1 else flat.tolist()
        offsets = np.arange(0, flat.size + 1, width)
        large = pa.LargeListArray.from_arrays(offsets, flat)
        for column in (pa.array([*values]), pa.FixedSizeListArray.from_arrays(flat, width), large):
            # Batches begin within a row group, so their lists have an offset.
            pq.write_table(pa.table({"v": column, "s": ["x"] * 50}), path, row_group_size=20)
            assert read_samples(path, "v").tolist() == expected
            chunks = parquet_chunks(path, "v", 7)
            assert np.concatenate([*chunks]).tolist() == values.tolist()
    with pytest.raises(
        ValueError, match=r"columns, \['v', 's'\], and 'v' holds lists: name the col"
    ):
        read_samples(path)


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ([[1.0, 2.0], [3.0]], "lists of 1 and of 2 values: all lists must have the same length"),
        ([[1.0, None], [3.0, 4.0]], "nulls within lists"),
        ([[1.0, 2.0], None], "gaps"),
        ([[], []], "empty lists"),
        ([["a", "b"], ["b", "a"]], "neither numbers, strings nor lists of numbers"),
        ([[[1.0], [2.0]]], "neither numbers, strings nor lists of numbers"),
        ([[0.0] * 10001], "lists that are too long: 10001"),
    ],
)
def test_lists_of_parquet_that_are_no_vectors_are_refused(tmp_path, lists, message, monkeypatch):
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    monkeypatch.setenv("DPJAX_MAX_COLUMNS", "10000")
    pq.write_table(pa.table({"v": pa.array(lists)}), tmp_path / "v.parquet")
    with pytest.raises(ValueError, match=f"v.parquet (cannot be read: .*|has ){message}"):
        read_samples(tmp_path / "v.parquet")


def test_columns_of_parquet_have_no_number_below_0(tmp_path):
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    pq.write_table(pa.table({"a": [1, 2], "b": [3, 5]}), tmp_path / "ab.parquet")
    for column, expected in ((0, [1, 2]), (1, [3, 5]), ("1", [3, 5]), ("a", [1, 2])):
        assert read_samples(tmp_path / "ab.parquet", column).tolist() == expected
    for column in (-1, "-1", 2, "c"):
        with pytest.raises(ValueError, match=f"has no column {column!r}"):
            read_samples(tmp_path / "ab.parquet", column)


def test_a_library_that_is_missing_is_no_fault_of_the_file(tmp_path, monkeypatch):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match="pyarrow"):
        read_samples(tmp_path / "a.parquet")


def test_a_parquet_file_unpacks_to_its_groups_and_to_eight_bytes_a_value(tmp_path, monkeypatch):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    asked, path = [], tmp_path / "x.parquet"
    table = {"n": np.arange(1000), "s": ["a"] * 1000, "l": pa.array(["b"] * 1000, "large_string")}
    pq.write_table(pa.table(table), path, row_group_size=400)
    monkeypatch.setattr(parquet, "refuse_bomb", lambda *sizes: asked.append(sizes))
    with open(path, "rb") as file:
        assert parquet.text_columns_of(file, 77) == ["s", "l"]
    metadata = pq.read_metadata(path)
    assert metadata.num_row_groups == 3
    groups = sum(metadata.row_group(number).total_byte_size for number in range(3))
    # Afterwards, the pages of each of three columns in three groups are checked.
    assert asked[:2] == [(groups, 77), (8000, 77)] and len(asked) == 2 + 9
    assert 8 * 400 <= asked[2][0] < asked[-1][0] <= groups
    pq.write_table(pa.table({"v": [[0.0] * 50] * 100}), path, row_group_size=30)
    with open(path, "rb") as file:
        assert parquet.text_columns_of(file, 77) == []
    assert asked[-1] == (8 * 5000, 77)


def test_ids_that_occur_twice_among_the_first_rows_are_no_row_numbers(tmp_path):
    ids = [row * row for row in range(80)] + [0]
    path = tmp_path / "x.csv"
    path.write_text("id,value\n" + "".join(f"{number},{number % 7}\n" for number in ids))
    assert np.shape(read_samples(path)) == (81, 2)
    path.write_text("id,value\n" + "".join(f"{number},{number % 7}\n" for number in ids[:80]))
    with pytest.raises(ValueError, match="'id' seems to contain row numbers"):
        read_samples(path)


@pytest.mark.parametrize("beyond", [2**60, 2**63])
def test_a_leak_in_large_integers_is_seen_in_every_chunk(tmp_path, beyond):
    """The first file contains small integers; in the second, all are even or all are odd."""
    rng, sides = np.random.default_rng(0), []
    for side in (0, 1):
        small = rng.integers(0, 1_000, 5_000).tolist()
        large = [beyond + 2 * number + side for number in rng.integers(0, 9, 5_000).tolist()]
        write(tmp_path, f"a{side}.csv", "\n".join(map(str, small)))
        write(tmp_path, f"b{side}.csv", "\n".join(map(str, large)))
        sides.append(dpjax.Recording([tmp_path / f"a{side}.csv", tmp_path / f"b{side}.csv"]))
    result = dpjax.audit(dpjax.Recorded(*sides, independent=True), claim=1.0)
    assert result.verdict == "violated"


@pytest.mark.parametrize("kind", ["csv", "npy"])
def test_large_integers_and_reals_in_two_files_are_refused(tmp_path, kind):
    for name, values in (("a", [0.5, 2.5]), ("b", [2**60, 2**60 + 1])):
        if kind == "npy":
            np.save(tmp_path / f"{name}.npy", values)
        else:
            write(tmp_path, f"{name}.csv", "\n".join(map(str, values)))
    for order in ("ab", "ba"):
        with pytest.raises(ValueError, match=r"must not hold both integers above 2\^53 and floats"):
            read_samples([tmp_path / f"{name}.{kind}" for name in order])


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("column", [None, ["count", "answer"]])
def test_large_integers_are_not_rounded_beside_reals(tmp_path, kind, column):
    path = tmp_path / f"x.{kind}"
    frame = pd.DataFrame({"count": [2**60 + 1, 2**60 + 7], "answer": [0.5, 1.5]})
    frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path, index=False)
    with pytest.raises(ValueError, match=r"(above 2\^53|no 64-bit type)"):
        read_samples(path, column)


def test_types_of_parquet_that_are_not_read_can_be_converted(tmp_path):
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    days = pa.array(np.arange(3), pa.timestamp("s"))
    for columns, end in (({"t": days}, "strings[.]"), ({"t": days, "v": [1, 2, 3]}, "'v'][.]")):
        pq.write_table(pa.table(columns), tmp_path / "t.parquet")
        with pytest.raises(
            ValueError, match=rf"holds timestamp.*: convert it to numbers or .*{end}$"
        ):
            read_samples(tmp_path / "t.parquet")
