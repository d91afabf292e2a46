"""Invalid or too large panels, and keys that must remain distinct."""

import gzip
import os

import numpy as np
import pytest

from dpjax.empirical import empirical_privacy, panel_from_table

pd = pytest.importorskip("pandas")
HEAD = "database,individual,value\n"


MOST_BYTES = 300 * 2**20
"""Peak memory of a test that uses `frugal`."""


def panel_of(folder, text):
    path = folder / "x.csv"
    path.write_text(HEAD + text)
    return panel_from_table(path)


@pytest.mark.parametrize("keys", [["01", "1", "001"], ["a", "a ", " a"], ["1", "1.0"], ["1", "1_"]])
def test_keys_stay_apart(tmp_path, keys):
    panel = panel_of(tmp_path, "".join(f"1,{key},2.5\n" for key in keys))
    assert panel.individuals == tuple(keys)


@pytest.mark.parametrize("keys", [["a", "a\0"], ["1\0", "1"], ["a\0b", "a\0c"]])
def test_keys_with_nul_are_refused(tmp_path, keys):
    """Some versions of pandas treat such keys as equal."""
    for filler in (0, 2**20 - 30, 2**21):
        lines = "1,b,2.5\n" * (filler // 8)
        with pytest.raises(ValueError, match="contains the character NUL, which must be removed"):
            panel_of(tmp_path, lines + "".join(f"1,{key},2.5\n" for key in keys))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            HEAD + "1,a,2,9\n1,b,3,9\n",
            "line 2 has 4 fields, but the header has 3: name all columns",
        ),
        ("\n" + HEAD + "\n1,a,2,9\n", "line 4 has 4 fields, but the header has 3: name all"),
        ('"database","individual","value"\n"1",1,"a",2\n"2",1,"b",3\n', r"in R: row\.names=FALSE"),
        (
            "\ufeff" + HEAD + "1,a,2,\n1,b,3,\n",
            "4 fields, .* has 3: remove the comma at the end of",
        ),
        (HEAD + "1,a,2\n1,b,3,9\n", "Expected 3 fields in line 3, saw 4$"),
    ],
)
def test_records_with_more_fields_than_the_header_are_refused(tmp_path, content, message):
    """pandas would shift all fields to the next column."""
    for name in ("x.csv", "x.csv.gz"):
        packed = content.encode() if name == "x.csv" else gzip.compress(content.encode())
        (tmp_path / name).write_bytes(packed)
        with pytest.raises(ValueError, match=rf"databases could not be read .*: .*{message}"):
            panel_from_table(tmp_path / name)


@pytest.mark.parametrize(
    "head", ["database,individual,value,value", "database,individual,database"]
)
def test_repeated_names_of_columns_are_refused(tmp_path, head):
    """pandas would rename the second column, for instance to value.1."""
    (tmp_path / "x.csv").write_text(
        f"{head}\n" + "1,2,3,4\n"[: len(head.split(",")) * 2 - 1] + "\n"
    )
    with pytest.raises(
        ValueError, match=r"'x\.csv': the column name '(value|database)' is repeated"
    ):
        panel_from_table(tmp_path / "x.csv")


@pytest.mark.parametrize("word", ["NA", "null", "None", "nan", "n/a"])
def test_words_that_may_be_labels_are_labels_of_databases_and_individuals(tmp_path, word):
    """NA is the code of Namibia; the first column is the database, the second the individual."""
    panel = panel_of(tmp_path, f"NO,{word},1\nNO,DE,2\n{word},{word},3\n{word},DE,4\n")
    assert panel.databases == ("NO", word) and panel.individuals == (word, "DE")
    assert panel.values.tolist() == [[1], [2], [3], [4]]
    assert [note.partition(" is a label")[0] for note in panel.notes] == [
        f"{word!r} in column 'database'",
        f"{word!r} in column 'individual'",
    ]


@pytest.mark.parametrize("records", ["1,NA,5\n2,7,5\n", "NaN,8,5\n2,7,5\n", "NA,NA,5\n2,7,5\n"])
@pytest.mark.parametrize("known", ["1", "01"])
def test_words_among_numbers_are_missing(tmp_path, records, known):
    records += f"2,{known},5\n2,1,6\n"
    with pytest.raises(ValueError, match="must have no missing value, but 1 of 4 records have one"):
        panel_of(tmp_path, records)


@pytest.mark.parametrize("field", ["NA", "NaN", "null", ""])
def test_words_in_a_column_of_values_are_missing(tmp_path, field):
    records = f"NO,a,1.5\nNO,b,{field}\nSE,a,2\nSE,b,3\n"
    with pytest.raises(ValueError, match="must have no missing value, but 1 of 4 records have one"):
        panel_of(tmp_path, records)
    panel = panel_from_table(tmp_path / "x.csv", missing="drop")
    assert panel.values.tolist() == [[1.5], [2], [3]]
    assert panel.notes == ("1 of 4 records had a missing value and were left out.",)


@pytest.mark.parametrize("records", [",a,1\nSE,a,2\n", "NO,,1\nSE,a,2\n"])
def test_empty_labels_are_missing(tmp_path, records):
    with pytest.raises(ValueError, match="must have no missing value, but 1 of 2 records have one"):
        panel_of(tmp_path, records)


@pytest.mark.parametrize(
    ("encoding", "message"),
    [
        ("utf-16", "it is not UTF-8 but UTF-16; save it as UTF-8"),
        ("utf-16-le", "it is not UTF-8 but UTF-16; save it as UTF-8"),
        ("utf-16-be", "it is not UTF-8 but UTF-16; save it as UTF-8"),
        ("utf-32", "it is not UTF-8 but UTF-32; save it as UTF-8"),
        ("latin-1", r"it is not UTF-8 \(it holds the byte 0xe9\); save it as UTF-8"),
    ],
)
def test_other_encodings_are_named(tmp_path, encoding, message):
    """The letter é is the byte E9 in Latin-1."""
    (tmp_path / "x.csv").write_bytes((HEAD + "1,aé,2\n1,b,3\n").encode(encoding))
    with pytest.raises(ValueError, match=f"databases could not be read from 'x.csv': {message}$"):
        panel_from_table(tmp_path / "x.csv")


def test_a_file_with_only_a_header_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"at least one record, but the table has no rows\.$"):
        panel_of(tmp_path, "")


def test_numbers_are_still_put_in_order(tmp_path):
    panel = panel_of(tmp_path, "10,7,1\n9,8,2\n")
    assert panel.databases == (9, 10) and panel.individuals == (7, 8)


def test_a_million_categories():
    """Individuals for categories without records would be rows of zeros in every database."""
    names = pd.CategoricalDtype(np.arange(10**6))
    frame = pd.DataFrame({"database": np.arange(50), "individual": 0, "value": 1.0})
    frame["individual"] = frame["individual"].astype(names)
    with pytest.raises(ValueError, match="50 databases of 1000000 individuals are too many"):
        panel_from_table(frame)


def test_many_databases_of_many_individuals(tmp_path, frugal):
    with pytest.raises(ValueError, match="DPJAX_MAX_PANEL_CELLS"):
        panel_of(tmp_path, "".join(f"{i},{i},1\n" for i in range(10_000)))


def test_many_levels(frugal):
    levels = np.linspace(0, 1, 10**6)
    with pytest.raises(ValueError, match="1000000 levels for 100 individuals are too many"):
        empirical_privacy(np.random.default_rng(0).normal(size=(10, 100)), epsilon=levels)


def test_files_that_are_no_panels(tmp_path):
    os.mkfifo(tmp_path / "p.csv")
    with pytest.raises(ValueError, match="databases must be a file"):
        panel_from_table(tmp_path / "p.csv")
    contents = [b"", b"\xff\xfe", b"PAR1", b"PAR1" * 100, HEAD.encode() + b'"' * 1001, b"\0" * 99]
    for suffix in ("csv", "parquet"):
        for content in contents:
            path = tmp_path / f"x.{suffix}"
            path.write_bytes(content)
            with pytest.raises(ValueError, match=r"could not be read|is not in the table"):
                panel_from_table(path)


@pytest.mark.slow
def test_a_parquet_bomb(tmp_path, frugal):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "x.parquet"
    table = {
        "database": [1, 2] * 1000,
        "individual": ["a" * 100_000] * 2_000,
        "value": [1.5] * 2_000,
    }
    text = pa.DictionaryArray.from_arrays(np.zeros(2_000, np.int32), table.pop("individual")[:1])
    schema = pa.schema(
        [("database", pa.int64()), ("individual", pa.string()), ("value", pa.float64())]
    )
    with pq.ParquetWriter(path, schema) as writer:
        for start in range(0, 2_000, 500):
            part = {name: column[start : start + 500] for name, column in table.items()}
            part["individual"] = text[start : start + 500].cast(pa.string())
            writer.write_table(pa.table(part, schema=schema))
    assert path.stat().st_size < 10**6
    panel = panel_from_table(path)
    assert panel.individuals == ("a" * 100_000,) and len(panel.values) == 2_000
