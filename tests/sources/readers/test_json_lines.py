"""JSON lines: the outputs equal those of a csv file, or the file is rejected."""

import gzip
import json

import numpy as np
import pytest

import dpjax
from dpjax.sources.readers import _json_lines, read_samples
from dpjax.sources.readers._json_lines import json_chunks

RNG = np.random.default_rng(0)


def write(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize(
    ("lines", "table"),
    [
        (["1", "-2", "3"], ["1", "-2", "3"]),
        (["1", "2.5", "-0", "1E400", "NaN", "-Infinity"], ["1", "2.5", "-0", "inf", "nan", "-inf"]),
        ([str(2**53 + 1), "-1"], [str(2**53 + 1), "-1"]),
        ([str(2**64 - 1), "1"], [str(2**64 - 1), "1"]),
        (["[1, 2]", " [3,4.5] "], ["1,2", "3,4.5"]),
        (["[1]", "[2]"], ["1", "2"]),
        (['"yes"', '"n\\u00f6"', '""'], ["yes", "nö", '""']),
        (
            ['{"a": 1, "b": 2}', '{"b": 4, "a": 2}', '{"a": 2, "b": 3}'],
            ["a,b", "1,2", "2,4", "2,3"],
        ),
        (['{"answer": 0.5}', '{"answer": 0.1}', ""], ["answer", "0.5", "0.1", ""]),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_values_equal_those_of_a_csv_file(tmp_path, lines, table, end):
    found = read_samples(write(tmp_path, "x.jsonl", end.join(lines)))
    expected = read_samples(write(tmp_path, "x.csv", end.join(table) + end))
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    (tmp_path / "x.NDJSON.gz").write_bytes(
        gzip.compress(b"\xef\xbb\xbf" + "\n".join(lines).encode())
    )
    np.testing.assert_array_equal(read_samples(tmp_path / "x.NDJSON.gz"), expected)


@pytest.mark.parametrize("column", ["answer", 1, ["count", "answer"], None])
def test_bounds_equal_those_of_a_csv_file(tmp_path, column):
    for name, shift in (("x", 0), ("y", 1)):
        count, answer = RNG.poisson(3 + shift, 4000), shift + RNG.laplace(size=4000)
        rows = [*zip(count.tolist(), answer.tolist(), strict=True)]
        write(tmp_path, f"{name}.csv", "count,answer\n" + "".join(f"{a},{b}\n" for a, b in rows))
        text = "".join(json.dumps({"count": a, "answer": b}) + "\n" for a, b in rows)
        write(tmp_path, f"{name}.jsonl", text)
    found, expected = (
        dpjax.audit(
            dpjax.Recorded(*(dpjax.Recording(tmp_path / f"{name}.{kind}", column) for name in "xy"))
        )
        for kind in ("jsonl", "csv")
    )
    assert found.lower_bound == expected.lower_bound > 0
    assert str(found.witness) == str(expected.witness)
    assert [note.replace("jsonl", "csv") for note in found.notes] == [*expected.notes]


def test_one_field_may_be_a_vector_a_label_or_a_boolean(tmp_path):
    lines = '{"a": [1, 2], "b": "5", "c": true, "d": {}}\n{"b": "1", "c": false, "a": [3, 4]}\n'
    path = write(tmp_path, "x.jsonl", lines)
    assert read_samples(path, "a").tolist() == [[1, 2], [3, 4]]
    assert read_samples(path, "b").tolist() == ["5", "1"]
    assert read_samples(path, "c").tolist() == [True, False]
    assert read_samples(path, "c").dtype == bool
    path = write(tmp_path, "y.jsonl", "[1, 2]\n[3, 4]\n")
    assert read_samples(path, "1").tolist() == [2, 4]


@pytest.mark.parametrize(
    "lines",
    [
        ['["a", 1.50]', "[]", '["\\u00e9", null, true]', '[{"b": [2]}, "\\""]'],
        ["[1]", "[1, 20]", "[NaN]"],
    ],
)
def test_other_lists_are_their_json_texts(tmp_path, lines):
    path = write(tmp_path, "x.jsonl", "\n".join(lines))
    assert read_samples(path).tolist() == lines


def test_chunks_have_limited_sizes(tmp_path, monkeypatch):
    path = write(tmp_path, "x.jsonl", "".join(f"[{n}, 1]\n" for n in (5, 3, 5, 5, 2)))
    assert [len(chunk) for chunk in json_chunks(path, None, 2)] == [2, 2, 1]
    monkeypatch.setattr(_json_lines, "_PART", 16 * 2 * 3)
    assert [len(chunk) for chunk in json_chunks(path, None, 10)] == [3, 2]
    path = write(tmp_path, "y.jsonl", '"abcdefghijklmnopqrstuvwxyz0123456789"\n' * 6)
    assert [len(chunk) for chunk in json_chunks(path, None, 10)] == [3, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\n[", r"has no JSON value in line 2 \(Expecting value at column 2\): write each output"),
        ("1 2\n", "has no JSON value in line 1 .Extra data at column 3"),
        ('{"a": 1, "a": 2}\n', "has the field 'a' twice in line 1"),
        ("1\n\n2\n", "has outputs after a blank line, line 2"),
        ("1\n[2]\n", "mixes a single value in line 1 and a list of length 1 in line 2"),
        ("[1, 2]\n" * 100 + "[2]\n", "a list of length 2 in line 1 and a list of length 1 in"),
        ('1\n"2"\n', "mixes outputs: a number in line 1, but a string in line 2; if outputs"),
        ("true\n1\n", "mixes outputs: true or false in line 1, but a number in line 2"),
        ('{"a": 1}\n{"b": 1}\n', "'a' is not in both line 1 and line 2; if .* JSON of .* as a"),
        ('{"a": 1}\n{"a": 1, "b": 1}\n', "'b' is not in both line 1 and line 2"),
        ("1\nnull\n", "has null in line 2: write a missing output as a label"),
        ('{"a": {"b": 1}}\n', "but has an object in line 1; .* write the JSON of each output as a"),
        ('{"a": 1, "b": "x"}\n', "but has other entries in line 1; to choose a field, name"),
        ("[]\n", "but has a list of length 0 in line 1"),
        ('{"a": [1, [2]]}\n', "has other entries in line 1"),
        ("[" * 100_000, "has a deeply nested value in line 1"),
        (f"1.5\n{2**53 + 1}\n", f"has the integer {2**53 + 1} in row 2, and no 64-bit type"),
        ("".join(f'{{"n": {n}, "a": 1}}\n' for n in range(20)), "'n' seems to contain row numbers"),
        ("".join(f"[{n}, 1]\n" for n in range(20)), "of which 0 seems to contain row numbers"),
        ("", "x.jsonl holds no outputs"),
    ],
)  # fmt: skip
def test_refusals(tmp_path, frugal, text, message):
    with pytest.raises(ValueError, match=f"samples file .*x.jsonl .*{message}|{message}"):
        read_samples(write(tmp_path, "x.jsonl", text))


def test_columns_that_do_not_exist(tmp_path):
    path = write(tmp_path, "x.jsonl", '{"count": 1}\n')
    with pytest.raises(ValueError, match=r"x\.jsonl has no column 'cout'; .*'count'"):
        read_samples(path, "cout")
    with pytest.raises(ValueError, match="has no column 1: its only column is 0"):
        read_samples(write(tmp_path, "y.jsonl", "1\n"), 1)


def test_rows_are_counted_over_all_chunks(tmp_path):
    path = write(tmp_path, "x.jsonl", f"1.5\n2\n3\n4\n{2**53 + 1}\n6.5\n")
    with pytest.raises(ValueError, match="in row 5, and no 64-bit type"):
        list(json_chunks(path, None, 2))


def test_nested_values_are_compared_as_strings(tmp_path):
    rng, sides = np.random.default_rng(0), []
    for name, count in (("x", 0.0), ("y", 9.0)):
        outputs = [{"count": {"noisy": v}} for v in rng.laplace(count, size=200).tolist()]
        lines = [f"{json.dumps(json.dumps(output))}\n" for output in outputs]
        sides.append(dpjax.Recording(write(tmp_path, f"{name}.jsonl", "".join(lines))))
    result = dpjax.audit(dpjax.Recorded(*sides), claim=1.0)
    assert result.verdict == "violated" and "noisy" in result.witness.output
