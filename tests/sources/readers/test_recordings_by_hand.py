"""Names, notes, patterns and messages of recordings, and the sizes of chunks of arrays."""

import os
from pathlib import Path

import numpy as np
import pytest

from dpjax import Recording
from dpjax.sources.readers import _numpy, read_samples
from dpjax.sources.readers._naming import _shortened, naming
from dpjax.sources.readers._numpy import _Header, npy_chunks, npz_chunks
from dpjax.sources.readers._recording import _ending, _words
from dpjax.sources.readers._rows import beside_each_other


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a folder of files, and make it the working directory."""
    for name in ("a.csv", "b.csv", "c.txt", "d,e.csv", "f*.csv"):
        (tmp_path / name).write_text("1\n2\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(where):
    return [path.name for path in Recording(where).paths]


def test_files_that_are_named(folder):
    assert names("a.csv") == ["a.csv"] == names(Path("a.csv"))
    assert names("b.csv, a.csv") == ["b.csv", "a.csv"] and names(["b.csv", Path("a.csv")]) == [
        "b.csv", "a.csv",
    ]  # fmt: skip
    assert names("?.csv") == ["a.csv", "b.csv"] and names("[ab].csv") == ["a.csv", "b.csv"]
    assert names("c.txt,?.csv") == ["c.txt", "a.csv", "b.csv"]
    # If a file with the given name exists, commas and wildcards in the name are not interpreted.
    assert names("d,e.csv") == ["d,e.csv"] and names("f*.csv") == ["f*.csv"]
    with pytest.raises(FileNotFoundError, match=r"samples file x\*\.csv: no file matches"):
        Recording("x*.csv")
    with pytest.raises(ValueError, match="at least one file, but was an empty list"):
        Recording([])
    for twice in ("a.csv,a.csv", ["a.csv", folder / "a.csv"]):
        with pytest.raises(ValueError, match=r"a\.csv is named twice"):
            Recording(twice)
    (folder / "a.pdf").write_text("1\n")
    with pytest.raises(ValueError, match=r"must end in \.npy, .*, but ends in '\.pdf'"):
        Recording("a.pdf")
    for column in ([], ["a", "a"], [0, "0"]):
        with pytest.raises(ValueError, match="column must name one or more distinct columns"):
            Recording("a.csv", column)


def test_names_of_recordings(folder):
    assert Recording("a.csv").name == "a.csv"
    assert Recording("a.csv,b.csv").name == "a.csv and 1 more"
    assert Recording("a.csv,b.csv,c.txt").name == "a.csv and 2 more"


def test_files_are_found_where_they_were(folder, monkeypatch):
    recording = Recording("a.csv,b.csv", 0)
    monkeypatch.chdir(folder.parent)
    assert np.concatenate([*recording.chunks()]).tolist() == [1, 2, 1, 2]
    a, b = (os.stat(folder / name) for name in ("a.csv", "b.csv"))
    assert recording.origins == {
        (a.st_dev, a.st_ino, "0"): "a.csv", (b.st_dev, b.st_ino, "0"): "b.csv",
    }  # fmt: skip


def test_origins_of_columns(folder):
    kept = os.stat("a.csv")
    place = kept.st_dev, kept.st_ino
    assert Recording("a.csv").origins == {(*place, None): "a.csv"}
    assert [*Recording("a.csv", [0, "b"]).origins] == [(*place, "0"), (*place, "b")]


def test_notes_of_columns(tmp_path):
    (tmp_path / "v.csv").write_text("u,v\n1,2.5\n3,4.5\n")
    (tmp_path / "w.csv").write_text("1,2.5\n3,4.5\n")
    (tmp_path / "n.csv").write_text("u\n1\n")
    np.save(tmp_path / "x.npy", np.zeros((2, 2)))
    assert Recording(tmp_path / "v.csv").notes == ["v.csv: read 2 columns as vectors: u, v."]
    assert Recording(tmp_path / "w.csv").notes == ["w.csv: read 2 columns as vectors: 0, 1."]
    for name in ("n.csv", "x.npy"):
        assert Recording(tmp_path / name).notes == []
    assert Recording(tmp_path / "v.csv", "u").notes == []


def test_files_of_one_recording_are_of_one_kind(tmp_path):
    (tmp_path / "n.csv").write_text("1\n2\n")
    (tmp_path / "l.csv").write_text("a\nb\n")
    (tmp_path / "v.txt").write_text("1.5 2\n2.5 9\n")
    np.save(tmp_path / "one.npy", np.array([[3.5], [4.5]]))
    (tmp_path / "e.csv").write_text("")

    def read(*files):
        return [chunk.tolist() for chunk in Recording([tmp_path / name for name in files]).chunks()]

    assert read("n.csv", "one.npy") == [[1, 2], [3.5, 4.5]]
    for files, said in (
        (("n.csv", "l.csv"), r"l\.csv holds labels, but the first file holds numbers"),
        (("l.csv", "v.txt"), r"v\.txt holds vectors of 2 numbers, but the first file holds labels"),
        (("v.txt", "n.csv"), "n.csv holds numbers, but the first file holds vectors of 2 numbers"),
        (("n.csv", "e.csv"), r"e\.csv holds no outputs: leave it out\."),
    ):
        with pytest.raises(ValueError, match=said):
            read(*files)
    assert _words(True, ()) == "labels" and _words(False, (3,)) == "vectors of 3 numbers"


def test_endings_and_long_messages():
    for name, ending in (
        ("a.CSV", ".csv"), ("a.b.csv", ".csv"), ("a.csv.gz", ".csv.gz"), ("a.b.TSV.GZ", ".tsv.gz"),
        ("a", ""), ("a.gz", ".gz"),
    ):  # fmt: skip
        assert _ending(Path(name)) == ending
    assert _shortened("a" * 1000 + "..") == "a" * 1000
    assert _shortened("a" * 1001) == "a" * 1000 + "..."


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("has a gap"), "samples file f.csv has a gap."),
        (ValueError("must be numbers."), "samples file f.csv must be numbers."),
        (ValueError("mixes things"), "samples file f.csv mixes things."),
        (ValueError("it is short"), "samples file f.csv cannot be read: it is short."),
        (ValueError("did you mean 'a'?"), "samples file f.csv cannot be read: did you mean 'a'?"),
        (OSError("gone"), "samples file f.csv cannot be read: gone."),
        (KeyError("x"), "samples file f.csv cannot be read: it is damaged, or its format is not "
         "known (KeyError: 'x')."),
        (UnicodeDecodeError("utf-8", b"ab\xff", 2, 3, "bad"), "samples file f.csv cannot be read: "
         "it is not UTF-8 (byte 2 of what was read is 0xff); save it as UTF-8."),
    ],
)  # fmt: skip
def test_errors_name_their_file(error, said):
    with pytest.raises(ValueError) as raised, naming(Path("f.csv")):
        raise error
    assert str(raised.value) == said
    with pytest.raises(ModuleNotFoundError), naming(Path("f.csv")):
        raise ModuleNotFoundError("pyarrow")


def test_columns_beside_each_other():
    first = iter([np.arange(3), np.empty(0, int), np.arange(3, 5)])
    second = iter([np.arange(10, 11), np.arange(11, 15)])
    found = [chunk.tolist() for chunk in beside_each_other([first, second], ["a", "b"])]
    assert found == [[[0, 10]], [[1, 11], [2, 12]], [[3, 13], [4, 14]]]
    with pytest.raises(ValueError, match="the columns a, b differ in length"):
        list(beside_each_other([iter([np.arange(3)]), iter([np.arange(2)])], ["a", "b"]))
    for wrong in (np.array(["u", "v"]), np.zeros((2, 2))):
        with pytest.raises(ValueError, match="column 'b' does not hold numbers, but several"):
            list(beside_each_other([iter([np.arange(2)]), iter([wrong])], ["a", "b"]))


def test_rows_of_a_chunk_of_an_array():
    """A chunk has at most 32 megabytes, but at least one row."""
    header = _Header((100, 2**20), False, np.dtype(np.float64))
    assert header.row == 2**23 and header.size == 100 * 2**23
    assert header.rows(100) == 4 and header.rows(3) == 3
    assert _Header((9, 2**30), False, np.dtype(np.float64)).rows(100) == 1
    assert _Header((9, 0), False, np.dtype(np.float64)).rows(100) == 100
    assert _Header((9,), False, np.dtype("U5")).row == 20


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_come_in_chunks(tmp_path, order):
    table = np.asarray(np.arange(14.0).reshape(7, 2), order=order)
    np.save(tmp_path / "x.npy", table)
    chunks = list(npy_chunks(tmp_path / "x.npy", None, 3))
    assert [len(chunk) for chunk in chunks] == [3, 3, 1]
    assert np.concatenate(chunks).tolist() == table.tolist()
    assert [c.tolist() for c in npy_chunks(tmp_path / "x.npy", "1", 4)] == [
        [1, 3, 5, 7],
        [9, 11, 13],
    ]
    np.savez(tmp_path / "x.npz", t=table)
    sizes = [len(chunk) for chunk in npz_chunks(tmp_path / "x.npz", "t", 3)]
    assert sizes == ([3, 3, 1] if order == "C" else [7])
    for column, said in (
        (2, "its columns are 0 to 1"),
        (-1, "no column -1"),
        ("u", "no column 'u'"),
    ):
        for read in (npy_chunks, npz_chunks):
            path = tmp_path / ("x.npy" if read is npy_chunks else "x.npz")
            with pytest.raises(ValueError, match=said):
                list(read(path, column, 3))
    np.save(tmp_path / "line.npy", np.arange(3))
    assert [c.tolist() for c in npy_chunks(tmp_path / "line.npy", 0, 9)] == [[0, 1, 2]]
    with pytest.raises(ValueError, match="its only column is 0"):
        list(npy_chunks(tmp_path / "line.npy", 1, 9))
    np.save(tmp_path / "none.npy", np.zeros((0, 2)))
    assert list(npy_chunks(tmp_path / "none.npy", None, 9)) == []


def test_values_of_arrays_become_plain():
    """Nonzero bytes are true, and strings are stored as wide as the longest of them."""
    assert _numpy._checked(np.array([0, 1, 2], np.uint8).view(bool)).tolist() == [False, True, True]
    wide = _numpy._checked(np.array(["a", "abc"], "U9"))
    assert wide.dtype == "U3" and wide.tolist() == ["a", "abc"]
    assert _numpy._checked(np.array(["", ""], "U4")).dtype == "U1"
    assert _numpy._checked(np.array([b"ab"], "S9")).dtype == "S2"
    swapped = np.array(["ab"], np.dtype("U2").newbyteorder())
    assert _numpy._checked(swapped).tolist() == ["ab"]
    last = np.array(["\U0010ffff"])
    assert _numpy._checked(last).tolist() == last.tolist()
    empty = np.array([], "U4")
    assert _numpy._checked(empty) is empty


def test_integers_of_two_types_are_joined(tmp_path):
    small, large = tmp_path / "a.csv", tmp_path / "b.csv"
    small.write_text("1\n2\n")
    large.write_text(f"{2**63}\n")
    found = read_samples([small, large])
    assert found.dtype == np.uint64 and found.tolist() == [1, 2, 2**63]
    small.write_text("-1\n2\n")
    with pytest.raises(ValueError, match="must not hold both integers below 0 and integers of"):
        read_samples([small, large])
