"""Malicious files lead to an error message, and use little memory before it."""

import csv
import gzip
import os
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

import dpjax
from dpjax import Recorded, Recording
from dpjax.core.files import _Unpacked
from dpjax.sources.readers import read_samples
from dpjax.sources.readers._entries import as_outputs
from dpjax.sources.readers._naming import naming

MEGABYTE = 2**20


def npy(path, header, content=b"", version=(1, 0)):
    """Return an npy file with an arbitrary header."""
    text = header.encode("latin-1") + b"\n"
    size = struct.pack("<H" if version == (1, 0) else "<I", len(text))
    path.write_bytes(b"\x93NUMPY" + bytes(version) + size + text + content)
    return path


def header(descr="'<f8'", shape="(100,)", fortran=False):
    return f"{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (header("'<U0'", "(1000000000000,)"), "entries of at least one byte in the shape"),
        (header("'|S0'", "(1000000000000,)"), "entries of at least one byte in the shape"),
        (header("'|V0'", "(1000000000000,)"), "must hold numbers or labels"),
        (header(shape="(1000000000000,)"), "cut short: 8000000000000 bytes"),
        (header(shape="(4294967296, 4294967296)"), "cut short|too many columns"),
        (header(shape="(2, 4611686018427387904)", fortran=True), "cut short|too many columns"),
        (header(shape="(0, 99999999999)"), "too many columns: 99999999999"),
        (header(shape="(-1,)"), "entries of at least one byte"),
        (header(shape="(4, -1)"), "entries of at least one byte"),
        (header(shape="(-5, -5)"), "entries of at least one byte"),
        (header(shape="()"), "must hold numbers or labels of the shape"),
        (header(shape="(2, 2, 2)"), "must hold numbers or labels of the shape"),
        (header("'<f16'"), "float64 cannot represent exactly|header is damaged"),
        (header("'<c16'"), "must hold numbers or labels"),
        (header("'|O'"), "pickled Python objects, which are never loaded"),
        (header("[('a', '|O')]"), "pickled Python objects|must hold numbers"),
        (header("('<f8', (1000000,))", "(1,)"), "must hold numbers|header is damaged"),
        (header("'<f8'", "(" * 300 + ")" * 300), "header is damaged"),
        ("{" * 5000, "header is damaged"),
        ("'''", "header is damaged"),
        ("1\\\n  2\n 3", "header is damaged"),
        ("\x00" * 30, "header is damaged"),
        ("9" * 9999, "header is damaged"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_headers_of_arrays(tmp_path, frugal, text, message):
    with pytest.raises(ValueError, match=rf"x\.npy .*({message})"):
        read_samples(npy(tmp_path / "x.npy", text, b"\0" * 800))
    npy(tmp_path / "y.npy", text, b"\0" * 800, (2, 0))
    with zipfile.ZipFile(tmp_path / "y.npz", "w") as archive:
        archive.write(tmp_path / "y.npy", "y.npy")
    with pytest.raises(ValueError, match=rf"y\.npz .*({message}|cut short)"):
        read_samples(tmp_path / "y.npz")


def test_other_versions_of_arrays(tmp_path):
    for version in ((0, 0), (3, 0), (9, 9)):
        with pytest.raises(ValueError, match=r"its npy version is not known|header is damaged"):
            read_samples(npy(tmp_path / "x.npy", header(), b"\0" * 800, version))


def test_more_bytes_than_the_array(tmp_path):
    with open(tmp_path / "x.npy", "wb") as file:
        np.save(file, np.arange(5))
        np.save(file, np.arange(5))
    with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
        archive.write(tmp_path / "x.npy", "x.npy")
    for name in ("x.npy", "x.npz"):
        with pytest.raises(ValueError, match="holds more than the one array"):
            read_samples(tmp_path / name)


def test_bytes_that_are_no_values(tmp_path):
    """Some bytes are not a code point; every nonzero byte is a valid boolean."""
    npy(tmp_path / "x.npy", header("'<U2'", "(3,)"), b"\xff" * 24)
    with pytest.raises(ValueError, match=r"x\.npy .*invalid Unicode characters"):
        read_samples(tmp_path / "x.npy")
    npy(tmp_path / "b.npy", header("'|b1'", "(4,)"), b"\x00\x01\x02\xff")
    read = read_samples(tmp_path / "b.npy")
    assert read.tolist() == [False, True, True, True]
    assert read.view(np.uint8).tolist() == [0, 1, 1, 1]


def test_texts_in_the_other_order_of_bytes(tmp_path):
    labels = np.array(["yes", "né"] * 20, ">U40")
    np.save(tmp_path / "x.npy", labels)
    assert read_samples(tmp_path / "x.npy").tolist() == labels.tolist()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "fortran"), [(zipfile.ZIP_DEFLATED, False), (zipfile.ZIP_BZIP2, True)]
)
def test_a_zip_bomb(tmp_path, frugal, method, fortran):
    """The archive has less than 1 MB and contains 260 MB of zeros."""
    rows = 260 * MEGABYTE // 16
    npy(tmp_path / "head.npy", header(shape=f"({rows}, 2)", fortran=fortran))
    zeros = bytes(MEGABYTE)
    with zipfile.ZipFile(tmp_path / "x.npz", "w", method) as archive:
        with archive.open("x.npy", "w") as file:
            file.write((tmp_path / "head.npy").read_bytes())
            for _ in range(260):
                file.write(zeros)
    assert (tmp_path / "x.npz").stat().st_size < MEGABYTE
    with pytest.raises(ValueError, match=r"x\.npz .*unpack to too many.*DPJAX_MAX_UNPACKED_BYTES"):
        read_samples(tmp_path / "x.npz")


def written(path, columns, label=""):
    """Write a file of 30 rows with columns of numbers, or with a label and another column."""
    rows = np.arange(30 * columns).reshape(30, columns) / 8
    values = np.array([label, "b"] * 15) if label else rows
    if path.suffix == ".npy":
        np.save(path, values)
    elif path.suffix == ".parquet":
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        named = {"x": values} if label else {f"x{i}": rows[:, i] for i in range(columns)}
        pq.write_table(pa.table(named), path)
    else:
        lines = values if label else [",".join(map(str, row)) for row in rows]
        path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("kind", ["csv", "npy", "parquet"])
@pytest.mark.parametrize(
    ("limit", "allowed", "excess", "message"),
    [
        ("columns", {"columns": 7}, {"columns": 8}, "too many columns"),
        ("label_length", {"columns": 1, "label": "a" * 7}, {"columns": 1, "label": "a" * 8},
         "(a label|labels) of too many characters"),
    ],
)  # fmt: skip
def test_what_is_at_a_limit_is_read_and_what_is_above_is_not(
    tmp_path, monkeypatch, kind, limit, allowed, excess, message
):
    monkeypatch.setenv(f"DPJAX_MAX_{limit.upper()}", "7")
    assert len(read_samples(written(tmp_path / f"a.{kind}", **allowed))) == 30
    with pytest.raises(
        ValueError, match=f"{message}.*: 8, above the limit of 7; .*{limit.upper()}"
    ):
        read_samples(written(tmp_path / f"b.{kind}", **excess))


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_line_has_a_limit_wherever_it_is(tmp_path, monkeypatch, place):
    """The limit applies to the number of characters, including the line ending."""
    monkeypatch.setenv("DPJAX_MAX_LINE_BYTES", "50")
    for length in (49, 50):
        lines = ["a", "b", "c"] * 4
        lines[place] = "z" * length
        (tmp_path / "x.csv").write_text("\n".join(lines) + "\n")
        if length == 49:
            assert read_samples(tmp_path / "x.csv").tolist() == lines
        else:
            with pytest.raises(ValueError, match=r"x\.csv.* line that is too long: 51, above"):
                read_samples(tmp_path / "x.csv")


def test_a_limit_is_raised_by_its_name(tmp_path, monkeypatch):
    (tmp_path / "x.csv").write_text("a" * 70_000 + "\nb\n")
    message = r"label of too many .*: 70000, above the limit of 65536;.*"
    with pytest.raises(ValueError, match=message):
        read_samples(tmp_path / "x.csv")
    monkeypatch.setenv("DPJAX_MAX_LABEL_LENGTH", "70000")
    assert read_samples(tmp_path / "x.csv").tolist() == ["a" * 70_000, "b"]
    monkeypatch.setenv("DPJAX_MAX_LABEL_LENGTH", "1e3")
    with pytest.raises(ValueError, match="DPJAX_MAX_LABEL_LENGTH must be an integer >= 1, but was"):
        read_samples(tmp_path / "x.csv")


def test_damaged_archives(tmp_path):
    """Archives may be encrypted, use an unknown method, have a wrong checksum or other contents."""
    path = tmp_path / "x.npz"
    np.savez_compressed(path, x=np.arange(1000.0))
    whole = path.read_bytes()
    entry = whole.rindex(b"PK\x01\x02")
    changes = {
        "encrypted": {6: b"\x01", entry + 8: b"\x01"},
        "method": {8: b"\x07", entry + 10: b"\x07"},
        "stream": {120: b"\xff" * 40},
        "sum": {14: b"\0\0\0\0", entry + 16: b"\0\0\0\0"},
        "extra": {28: b"\xff\xff"},
    }
    for name, change in changes.items():
        content = bytearray(whole)
        for place, new in change.items():
            content[place : place + len(new)] = new
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"samples file .*x\.npz cannot be read"):
            pytest.fail(f"{name}: {read_samples(path)[:5]}")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x", "no array")
    with pytest.raises(ValueError, match=r"x\.npz cannot be read: it has no array 'x'"):
        read_samples(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes of Unix")
def test_pipes_and_devices(tmp_path):
    """Opening a pipe would wait forever, and a device has no end."""
    os.mkfifo(tmp_path / "x.csv")
    (tmp_path / "y.csv").symlink_to("/dev/zero")
    for name in ("x.csv", "y.csv"):
        with pytest.raises(ValueError, match=rf"{name} must be a file, but is a pipe or a device"):
            Recording(tmp_path / name)
    (tmp_path / "loop.csv").symlink_to("loop.csv")
    with pytest.raises(OSError, match=r"loop\.csv"):
        Recording(tmp_path / "loop.csv")


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.txt"])
@pytest.mark.parametrize("piece", [b"1", b"1 ", b"1,", b"a", b'"', b"\0"])
def test_endless_lines(tmp_path, frugal, name, piece):
    (tmp_path / name).write_bytes(b'"' + piece * (8 * MEGABYTE // len(piece)))
    with pytest.raises(ValueError, match=rf"{name} .*(too long|field larger than|too many)"):
        read_samples(tmp_path / name)
    first = b"1\n" if piece[:1] == b"1" else b"b\n"
    (tmp_path / name).write_bytes(first * 3 + piece * (8 * MEGABYTE // len(piece)))
    with pytest.raises(ValueError, match=rf"{name} .*(too long|field|too many|entries|label)"):
        read_samples(tmp_path / name)


def test_many_columns(tmp_path, frugal):
    line = ",".join(["1.5"] * 20_000) + "\n"
    (tmp_path / "x.csv").write_text(line * 3)
    with pytest.raises(ValueError, match=r"x\.csv has too many columns: 20000"):
        read_samples(tmp_path / "x.csv")
    np.save(tmp_path / "x.npy", np.zeros((3, 20_000)))
    with pytest.raises(ValueError, match=r"x\.npy .*too many columns: 20000"):
        read_samples(tmp_path / "x.npy")


@pytest.mark.slow
def test_long_labels_do_not_widen_short_ones(tmp_path, frugal):
    """If all 2^17 labels were as wide as the one with 250 characters, they would need 130 MB."""
    (tmp_path / "x.csv").write_text("no\n" * 2**17 + "y" * 250 + "\n")
    chunks = list(Recording(tmp_path / "x.csv").chunks())
    assert sum(map(len, chunks)) == 2**17 + 1 and chunks[-1][-1] == "y" * 250


def test_a_quote_that_is_never_closed(tmp_path, frugal):
    (tmp_path / "x.csv").write_text('"' + "a\n" * MEGABYTE)
    with pytest.raises(ValueError, match="field larger than field limit"):
        read_samples(tmp_path / "x.csv")


@pytest.mark.slow
def test_a_parquet_bomb(tmp_path, frugal):
    """All rows are equal, numbers or texts, so that the file has only a few bytes."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "x.parquet"
    rows = 2**16
    with pq.ParquetWriter(path, pa.schema([("x", pa.int64())]), compression="zstd") as writer:
        for _ in range(1024):
            writer.write_table(pa.table({"x": np.zeros(rows, np.int64)}))
    with pytest.raises(ValueError, match=r"x\.parquet .*unpack to too many"):
        read_samples(path)
    pq.write_table(pa.table({"x": pa.DictionaryArray.from_arrays([0] * 1000, ["a" * 10**6])}), path)
    with pytest.raises(ValueError, match=r"x\.parquet .*label of too many characters: 1000000"):
        read_samples(path)
    text = pa.DictionaryArray.from_arrays(np.zeros(2**18, np.int32), ["a" * 250])
    pq.write_table(pa.table({"x": text.cast(pa.string())}), path)
    assert set(read_samples(path)) == {"a" * 250}


# Outputs that must stay different.

APART = ["a", "a\0", "a\0\0", "\0a", "a\x1f", "a\x85", "a\xa0", "a\u2003", "b", "b\0"]


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.txt", "x.parquet"])
@pytest.mark.parametrize("labels", [APART, ["1\0", "2\0", "1\0\0"], ["1\xa0", "1_0", "\u0661"]])
def test_labels_stay_apart(tmp_path, name, labels):
    path = tmp_path / name
    if name == "x.parquet":
        pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.table({"x": labels * 9}), path)
    else:
        path.write_text("".join(f"{label}\n" for label in labels * 9), encoding="utf-8")
    read = read_samples(path).tolist()
    assert read == labels * 9


@pytest.mark.parametrize("odd", ["1\0", "1\xa0", "1_0", "\u0661", "1\x1f"])
def test_a_number_and_what_only_looks_like_it(tmp_path, odd):
    (tmp_path / "x.txt").write_text(f"1\n{odd}\n1\n", encoding="utf-8")
    with pytest.raises(ValueError, match="mixes numbers and other entries"):
        read_samples(tmp_path / "x.txt")


@pytest.mark.parametrize("real", ["1.5", "nan", "1e300", "7.0"])
def test_large_integers_beside_reals(tmp_path, real, monkeypatch):
    """A float64 holds integers only up to 2^53, and would merge these two."""
    monkeypatch.setattr("dpjax.sources.readers._plain._SMALL", 0)
    lines = [str(2**53 + 1), real, str(2**53)]
    (tmp_path / "x.txt").write_text("\n".join(lines))
    with pytest.raises(ValueError, match=f"has the integer {2**53 + 1} in row 1, .*: write reals"):
        read_samples(tmp_path / "x.txt")
    outputs = as_outputs(lines)
    assert (outputs[0], outputs[2]) == (2**53 + 1, 2**53)
    (tmp_path / "y.txt").write_text("1e300\n-2.5e17\n3\n")
    assert read_samples(tmp_path / "y.txt").tolist() == [1e300, -2.5e17, 3]


def told_apart(x, y):
    return dpjax.audit(Recorded(x, y), confidence=0.99).lower_bound


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("a", "a\0"),
        (b"a", b"a\0"),
        ("1", "1\0"),
        ("a", b"a"),
        (b"1", 1),
        (2**53 + 1, 2.0**53),
        ("\udcff", "\udcfe"),
        ("\udcff", "\ufffd"),
    ],
)
def test_an_audit_of_a_list_tells_them_apart(first, second):
    """Nine in ten of 1,000 outputs are the first or the second output, depending on the side."""
    rng = np.random.default_rng(3)
    x, y = ([first if u < p else second for u in rng.random(1000)] for p in (0.9, 0.1))
    assert told_apart(x, y) > 1.5


def test_an_audit_of_files_tells_them_apart(tmp_path):
    rng = np.random.default_rng(4)
    paths = []
    for name, share in (("x.csv", 0.9), ("y.csv", 0.1)):
        paths.append(tmp_path / name)
        paths[-1].write_text("".join("a\n" if u < share else "a\0\n" for u in rng.random(1000)))
    recordings = [Recording(path) for path in paths]
    assert told_apart(*recordings) > 1.5
    result = dpjax.audit(Recorded(*map(read_samples, paths)), method=dpjax.Local())
    assert result.lower_bound > 1.5 and len(result.curve["points"]) == 2


def test_long_doubles_are_refused():
    values = np.random.default_rng(5).normal(size=100).astype(np.longdouble)
    if values.dtype.itemsize == 8:
        pytest.skip("no wider type here")
    with pytest.raises(ValueError, match="values, which float64 cannot represent exactly"):
        dpjax.audit(Recorded(values, values[::-1] + 1))


def test_names_of_any_bytes(tmp_path):
    folder = os.fsencode(tmp_path)
    rng = np.random.default_rng(6)
    for kind in ("csv", "npy", "npz", "parquet"):
        paths = []
        for side in (b"x", b"y"):
            path = os.fsdecode(folder + b"/\xff\x1b[31m\n" + side + b"." + kind.encode())
            try:
                open(path, "xb").close()
            except OSError:
                pytest.skip("names here are UTF-8")
            values = rng.integers(0, 3, 100)
            if kind == "csv":
                np.savetxt(path, values, "%d")
            elif kind == "parquet":
                pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
                with open(path, "wb") as file:
                    pq.write_table(pa.table({"x": values}), file)
            else:
                with open(path, "wb") as file:
                    np.save(file, values) if kind == "npy" else np.savez(file, values)
            paths.append(path)
        recorded = Recorded(*map(Recording, [[path] for path in paths]))
        result = dpjax.audit(recorded)
        assert "\x1b" not in str(result) and str(result).isprintable() is False
        str(result).encode()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("must hold numbers."), "must hold numbers."),
        (
            ValueError("has no column 'a': did you mean 'b'?"),
            "has no column 'a': did you mean 'b'?",
        ),
        (ValueError("mixes both"), "mixes both."),
        (ValueError("row 3 is short"), "cannot be read: row 3 is short."),
        (OSError("gone"), "cannot be read: gone."),
        (EOFError("ends early"), "cannot be read: ends early."),
        (zipfile.BadZipFile("no zip"), "cannot be read: no zip."),
        (csv.Error("a NUL"), "cannot be read: a NUL."),
        (
            UnicodeDecodeError("utf-8", b"a\xff", 1, 2, "bad"),
            "cannot be read: it is not UTF-8 (byte 1 of what was read is 0xff); save it as UTF-8.",
        ),
        (
            RuntimeError("lost."),
            "cannot be read: it is damaged, or its format is not known (RuntimeError: lost).",
        ),
        (ValueError("x" * 1000), f"cannot be read: {'x' * 1000}."),
        (ValueError("x" * 1001), f"cannot be read: {'x' * 1000}...."),
    ],
)
def test_errors_of_readers_name_the_file(error, said):
    with pytest.raises(ValueError) as raised, naming(Path("a.csv")):
        raise error
    assert str(raised.value) == f"samples file a.csv {said}"


def test_a_library_that_is_missing_is_no_damaged_file():
    with pytest.raises(ImportError, match="install pyarrow"), naming(Path("a.parquet")):
        raise ImportError("install pyarrow")


def test_unpacked_files_are_closed(tmp_path):
    path = tmp_path / "x.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n"))
    with _Unpacked(path) as unpacked:
        assert unpacked.read() == b"1,2\n" and not unpacked._file.closed
    assert unpacked._file.closed


def test_huge_integers_are_quoted_in_part(tmp_path):
    number = "12345" * 40
    (tmp_path / "x.txt").write_text(f"1\n{number}\n")
    with pytest.raises(ValueError, match=f"has the integer {number[:60]} in row 2"):
        read_samples(tmp_path / "x.txt")
