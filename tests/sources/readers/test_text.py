"""Lines, headers and chunks of text files, read by the slower reader."""

import json

import numpy as np
import pytest

from dpjax.sources.readers import _text, read_samples
from dpjax.sources.readers._columns import refuse_decimal_commas, refuse_index, without_indices
from dpjax.sources.readers._entries import (
    as_labels,
    as_numbers,
    as_outputs,
    first_inexact,
    has_decimal_comma,
    is_integer,
    is_number,
    too_large,
)
from dpjax.sources.readers._json_lines import json_chunks
from dpjax.sources.readers._text import text_chunks, text_columns


def read(tmp_path, text, name="x.csv", column=None, rows=10**6):
    file = tmp_path / name
    file.write_bytes(text.encode())
    return list(text_chunks(file, column, rows))


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\r\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_lines_end_in_any_way(tmp_path, end, last):
    text = end.join(["a", "bc", "a", "d"]) + end * last
    (chunk,) = read(tmp_path, text)
    assert chunk.tolist() == ["a", "bc", "a", "d"]


def test_a_chunk_has_as_many_rows_as_asked_for(tmp_path):
    text = "".join(f"{number}\n" for number in range(7))
    assert [chunk.tolist() for chunk in read(tmp_path, text, rows=3)] == [
        [0, 1, 2], [3, 4, 5], [6],
    ]  # fmt: skip
    assert [len(chunk) for chunk in read(tmp_path, text, rows=7)] == [7]


def test_rows_of_many_entries_come_in_smaller_chunks(tmp_path, monkeypatch):
    """A chunk has at least one row, and at most one entry per sixteen characters."""
    rng = np.random.default_rng(1)
    table = rng.integers(0, 10, (12, 4))
    text = "".join(",".join(map(str, row)) + "\n" for row in table)
    for part, size in ((16 * 4 * 5, 5), (16 * 4 * 5 - 1, 4), (16 * 4 - 1, 1)):
        monkeypatch.setattr(_text, "_PART", part)
        chunks = read(tmp_path, text)
        assert [len(chunk) for chunk in chunks[:-1]] == [size] * (len(chunks) - 1)
        np.testing.assert_array_equal(np.concatenate(chunks), table)


def test_long_rows_come_in_smaller_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(_text, "_PART", 100)
    text = "".join(f"{letter * 60}\n" for letter in "abcde")
    assert [len(chunk) for chunk in read(tmp_path, text)] == [2, 2, 1]


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        ("v\n1\n2\n", None, [1, 2]),
        ("1\n2\n", None, [1, 2]),
        ("a\nb\n", None, ["a", "b"]),
        ("a\nb\n", "a", ["b"]),
        ("v,w\n1,x\n2,y\n", "w", ["x", "y"]),
        ("v,w\n1,x\n2,y\n", "v", [1, 2]),
        ("v,w\n1,x\n2,y\n", 0, [1, 2]),
        ("v,w\n1,x\n2,y\n", 1, ["w", "x", "y"]),
        (" v , w \n1,x\n2,y\n", "w", ["x", "y"]),
        # If all columns are read, only the first column decides whether there is a header.
        ("v,2\n1,3\n", None, [[1, 3]]),
        ("1,v\n2,3\n", 1, [3]),
        ("7\n", None, [7]),
        ("v\n", "v", []),
        ('"v"\n"1"\n', None, [1]),
    ],
)
def test_heads(tmp_path, text, column, expected):
    chunks = read(tmp_path, text, column=column)
    assert [row for chunk in chunks for row in chunk.tolist()] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n\nb\n", r"after a blank line, line 2:"),
        ("v\n1\n \n3\n", r"after a blank line, line 3:"),
        ("v\n1\n2\n\n\n3\n", r"after a blank line, line 4:"),
        ("1\n2\nx\n", r"'x' in row 3 is not a number"),
        ("v\n1\n2\nx\n", r"'x' in row 4 is not a number"),
        ("1,2\n3\n", r"has 2 in row 1 and 1 in row 2 \('3'\)"),
        ("1\n3,4\n", r"has 1 in row 1 and 2 in row 2 \('3,4'\)"),
        ("a,b\n1,2\n3,4\n5\n", r"has 2 in row 1 and 1 in row 4 \('5'\)"),
        ("1\n\n", None),
        ("1\n\"\"\n3\n", "an empty entry in row 2 among numbers"),
        ("a\nb\n1\n", "'1' in row 3 is a number"),
        ("a,1\nb,2\n", "name the column to use"),
        ("1,a\n2,b\n", "name the column to use"),
        ("a,x\nb,y\n", "one label per line; otherwise, name the column to use"),
        ("1\n99999999999999999999\n", "the integer 99999999999999999999 in row 2, and no 64-bit"),
        ("1.5\n9007199254740993\n", "the integer 9007199254740993 in row 2, and no 64-bit"),
        ("\"1,5\"\n\"2,5\"\n", r"'1,5' in row 1, but decimal commas are not supported: write 1\.5"),
        ("1\n\"2,5\"\n", r"'2,5' in row 2, but decimal commas"),
    ],
)  # fmt: skip
def test_what_is_said_of_wrong_lines(tmp_path, text, message):
    if message is None:
        assert read(tmp_path, text)[0].tolist() == [1]
        return
    with pytest.raises(ValueError, match=message):
        read(tmp_path, text)


def test_places_are_counted_from_the_beginning_of_the_file(tmp_path):
    """This also holds in a later chunk and after a header."""
    with pytest.raises(ValueError, match="'x' in row 6 is not a number"):
        read(tmp_path, "v\n1\n2\n3\n4\nx\n", rows=2)
    with pytest.raises(ValueError, match=r"1 in row 1 and 2 in row 6 \('5,6'\)"):
        read(tmp_path, "v\n1\n2\n3\n4\n5,6\n", rows=2)
    with pytest.raises(ValueError, match="99999999999999999999 in row 4,"):
        read(tmp_path, "v\n1\n2\n99999999999999999999\n", rows=2)
    with pytest.raises(ValueError, match="99999999999999999999 in row 3,"):
        read(tmp_path, "1,0\n2,5\n99999999999999999999,1\n", rows=2)


def test_columns_that_do_not_exist(tmp_path):
    for column, message in (
        ("w", "has no column 'w'; "),
        (2, "has no column 2: its columns are 0 to 1"),
        (-1, "has no column -1: its columns are 0 to 1"),
    ):
        with pytest.raises(ValueError, match=message):
            read(tmp_path, "v,u\n1,2\n", column=column)
    assert read(tmp_path, "v,u\n1,2\n", column=1)[0].tolist() == [2]
    assert read(tmp_path, "v,u\n1,2\n", column="1")[0].tolist() == [2]


def test_names_of_columns(tmp_path):
    file = tmp_path / "x.csv"
    for text, names in (("v,w\n1,2\n", ["v", "w"]), ("1,2\n", ["0", "1"]), ("", [])):
        file.write_text(text)
        assert text_columns(file) == names


def test_marks_of_byte_order_are_left_out(tmp_path):
    for marks in (1, 2, 3):
        file = tmp_path / "x.csv"
        file.write_bytes(b"\xef\xbb\xbf" * marks + b"v\n1\n2\n")
        assert [chunk.tolist() for chunk in text_chunks(file, "v", 10)] == [[1, 2]]


def test_a_line_has_a_longest_length(tmp_path, monkeypatch):
    monkeypatch.setattr(_text.validate, "limit", lambda name: 6)
    assert read(tmp_path, "abcde\nb\n")[0].tolist() == ["abcde", "b"]
    with pytest.raises(ValueError, match="a line that is too long: 7"):
        read(tmp_path, "abcdef\nb\n")


NUMBERS = ["1", "-2", "+3", " 4 ", "1.5", "1e3", ".5", "5.", "nan", "inf", "-Infinity"]
NO_NUMBERS = ["", "a", "1_0", "1,5", "0x1", "--1", "1 2", "1e", "\u0661"]


def test_which_texts_are_numbers():
    assert all(map(is_number, NUMBERS))
    assert not any(map(is_number, NO_NUMBERS))
    whole = ["1", "-2", "+3", " 4 ", "007"]
    assert all(map(is_integer, whole))
    assert not any(map(is_integer, ["1.5", "1e3", "nan", "", "-", "+-1", "--1", "5."]))


@pytest.mark.parametrize(
    ("texts", "dtype", "values"),
    [
        (["1", "-2"], np.int64, [1, -2]),
        (["1", "2.0"], np.float64, [1, 2]),
        (["1", "nan"], np.float64, [1, np.nan]),
        ([str(2**53), "1"], np.int64, [2**53, 1]),
        ([str(2**63 - 1), "-1"], np.int64, [2**63 - 1, -1]),
        ([str(-(2**63))], np.int64, [-(2**63)]),
        ([str(2**63)], np.uint64, [2**63]),
        ([str(2**64 - 1), "0"], np.uint64, [2**64 - 1, 0]),
        ([str(2**53), "0.5"], np.float64, [2**53, 0.5]),
    ],
)
def test_numbers_have_one_type(texts, dtype, values):
    found = as_numbers(texts)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.array(values, dtype))


@pytest.mark.parametrize(
    "texts",
    [
        ["a"], ["1", ""], [str(2**64)], [str(2**63), "-1"], [str(-(2**63) - 1)],
        [str(2**53 + 1), "0.5"], ["1_0"],
    ],
)  # fmt: skip
def test_texts_of_no_one_type(texts):
    assert as_numbers(texts) is None


def test_which_integer_is_too_large():
    assert too_large(["1", str(2**64 - 1)]) is None
    assert too_large(["1", str(2**64)]) == 1
    assert too_large([str(2**63), "-1"]) == 0
    assert too_large([str(2**63 - 1), "-1"]) is None
    assert too_large([str(-(2**63)), "1"]) is None
    assert too_large(["5", str(-(2**63) - 1)]) == 1
    values = ["1.5", str(2**53), str(2**53 + 1)]
    assert first_inexact(np.array([float(v) for v in values]), values) == 2
    assert first_inexact(np.array([float(v) for v in values[:2]]), values[:2]) is None


def test_decimal_commas():
    assert all(map(has_decimal_comma, ["1,5", " -0,25 ", "+1,5e3", ",5", "1,5E-3"]))
    assert not any(map(has_decimal_comma, ["1.5", "1,", "1,5,2", "a,5", "15"]))


def test_labels_stay_apart():
    assert as_labels(["a", "bc"]).dtype.kind == "U"
    found = as_labels(["a", "a\0"])
    assert found.dtype == object and found.tolist() == ["a", "a\0"]
    # With padding, 2^24 characters are within the limit.
    long = ["x" * 2**8] + ["y"] * (2**16 - 1)
    assert as_labels(long).dtype.kind == "U"
    assert as_labels([*long, "y"]).dtype == object
    assert as_labels([]).tolist() == []


def test_what_a_program_prints():
    assert as_outputs(["1", "2"]).tolist() == [1, 2]
    assert as_outputs(["1", "a b ", "1,2.5", "1,x", ""]) == [1, "a b ", (1, 2.5), "1,x", ""]
    found = as_outputs(["1", "1.0", "a"])
    assert [type(value) for value in found] == [int, float, str]


@pytest.mark.parametrize("line", ["1,05", "-0,0195", " 12,00 "])
def test_a_program_that_prints_decimal_commas_is_refused(line):
    with pytest.raises(ValueError, match=f"printed '{line.strip()}', but decimal commas are not"):
        as_outputs(["7", line])


def test_vectors_of_integers_are_no_decimal_commas():
    lines = ["1,50", "1,0", "007,05", "1,-05", "1,05,2", "1,0.05"]
    expected = [(1, 50), (1, 0), (7, 5), (1, -5), (1, 5, 2), (1, 0.05)]
    assert as_outputs(lines) == expected


ROWS = [[str(number), str(number * 7 % 11)] for number in range(10)]


@pytest.mark.parametrize(
    ("names", "columns", "header", "refused"),
    [
        (["a", "b"], [list(range(10)), [5] * 10], True, "'a' seems to"),
        (["a", "b"], [[5] * 10, list(range(3, 33, 3))], True, "'b' seems to"),
        (["a", "b"], [list(range(9)), [5] * 9], True, None),
        (["a", "b"], [list(range(10, 0, -1)), [5] * 10], True, None),
        (["a", "b"], [[x / 2 for x in range(10)], [5] * 10], True, None),
        (["a", "b"], [[*range(9), 10], [5] * 10], True, None),
        (["a", "b"], [["x"] * 10, [None] * 10], True, None),
        (["Unnamed: 0", "b"], [[5, 5], [5, 5]], True, "'Unnamed: 0' seems to"),
        (["", "b"], [[5, 5], [5, 5]], True, "'' seems to"),
        (["id", "b"], [[5, 3], [5, 5]], True, "'id' seems to"),
        (["ID ", "b"], [[5, 3], [5, 5]], True, "'ID ' seems to"),
        (["id", "b"], [[5, 5], [5, 5]], True, None),
        (["0", "1"], [list(range(10)), [5] * 10], False, "of which 0 seems to"),
        (["", "1"], [[5, 5], [5, 5]], False, None),
    ],
)
def test_columns_of_row_numbers(names, columns, header, refused):
    if refused is None:
        refuse_index(names, columns, header=header)
        return
    with pytest.raises(ValueError, match=refused):
        refuse_index(names, columns, header=header)


@pytest.mark.parametrize(
    ("rows", "refused"),
    [
        ([("1", "05"), ("2", "7")], "'1,05' in row 1"),
        ([("1", "5"), ("-2", "07")], "'-2,07' in row 2"),
        ([("1", "5"), ("2", "7")], None),
        ([("1", "0"), ("2", "7")], None),
        ([("01", "05"), ("2", "7")], None),
        ([("1", "05", "2")], None),
        ([("1", "05"), ("a", "7")], None),
        ([("1", "05"), ("2", "-7")], None),
    ],
)
def test_decimal_numbers_that_a_comma_splits(rows, refused):
    if refused is None:
        refuse_decimal_commas(rows)
        return
    with pytest.raises(ValueError, match=refused):
        refuse_decimal_commas(rows)


def test_names_that_are_only_indices_are_no_names():
    assert without_indices(["0", "1"]) == [] == without_indices([])
    for names in (["a", "b"], ["1", "0"], ["0", "b"]):
        assert without_indices(names) == names


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        (["3.1%", "12 %"], "has '3.1%' in row 2, but percent signs are not .* write 3.1$"),
        (["12 001", "1 200 000.5"], "has '12 001' in row 2, but separators .* write 12001$"),
        (["-1\u202f001"], "write -1001$"),
        (["1'001"], "write 1001$"),
        (["$10.00", "-$2", "$ 3000"], r"has '\$10\.00' in row 2, but currency .* write 10\.00$"),
        (["-\u20ac1200.50", "3 \u00a3"], "write -1200.50$"),
    ],
)
def test_numbers_that_would_be_labels(tmp_path, entries, message):
    entries = 10 * entries
    with pytest.raises(ValueError, match=message):
        read(tmp_path, "\n".join(["name", *entries]))
    lines = "".join(f"{json.dumps(entry)}\n" for entry in entries)
    (tmp_path / "x.jsonl").write_text(lines)
    with pytest.raises(ValueError, match=message.split(", but")[-1]):
        list(json_chunks(tmp_path / "x.jsonl", None, 1000))


def test_amounts_in_quotes_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"currency signs are not supported: write 1200\.50$"):
        read(tmp_path, 11 * '"$1,200.50"\n')
    # In $1,2, the comma does not separate thousands.
    (labels,) = read(tmp_path, 11 * '"$1,2"\n')
    assert labels.tolist() == ["$1,2"] * 11


@pytest.mark.parametrize("end", [["5%"], 200 * ["12%"]])
def test_a_part_of_the_labels_may_be_percentages(tmp_path, end):
    """A later chunk, or one of several short files, may consist of percentages by chance."""
    labels = ["5%", "high", *(198 * ["5%"]), *end]
    (tmp_path / "x.txt").write_text("\n".join(labels))
    (tmp_path / "x.jsonl").write_text("".join(f"{json.dumps(label)}\n" for label in labels))
    (tmp_path / "short.txt").write_text(9 * "5%\n")
    for chunks, name in ((text_chunks, "x.txt"), (json_chunks, "x.jsonl")):
        found = np.concatenate([*chunks(tmp_path / name, None, 200)])
        assert found.tolist() == labels
    assert sum(map(len, text_chunks(tmp_path / "short.txt", None, 200))) == 9


@pytest.mark.parametrize(
    "entries", [["3.1%", "5%", "none"], ["12 001", "1 20"], ["05 001", "06 002"], ["%", "5%"]]
)
def test_labels_that_are_no_numbers(tmp_path, entries):
    entries = 100 * entries
    (chunk,) = read(tmp_path, "\n".join(["name", *entries]))
    assert chunk.tolist() == ["name", *entries]


@pytest.mark.parametrize("suffix", ["csv", "tsv", "txt", "jsonl"])
@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_wide_encodings_are_refused(tmp_path, suffix, encoding):
    """Without a byte order mark, UTF-16 would be read as UTF-8 texts that contain NUL."""
    path = tmp_path / f"x.{suffix}"
    path.write_bytes("12\n34\n56\n".encode(encoding))
    message = f"cannot be read: it is not UTF-8 but {encoding[:6].upper()}; save it as"
    with pytest.raises(ValueError, match=message):
        read_samples(path)


def test_a_table_of_one_label_may_hold_only_the_name_of_its_column(tmp_path):
    for kind in ("csv", "tsv"):
        path = tmp_path / f"x.{kind}"
        path.write_text("answer\n")
        with pytest.raises(ValueError, match="only one row, 'answer', which may be the name of a"):
            list(text_chunks(path, None, 1000))
        assert list(text_chunks(path, "answer", 1000)) == []
        assert [chunk.tolist() for chunk in text_chunks(path, "0", 1000)] == [["answer"]]
    for name, content in (("x.txt", "answer"), ("y.csv", '""'), ("z.csv", "1"), ("w.csv", "a\nb")):
        (tmp_path / name).write_text(f"{content}\n")
        assert sum(map(len, text_chunks(tmp_path / name, None, 1000))) == 1 + (name == "w.csv")
