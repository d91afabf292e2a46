"""Compressed text files: their content is read completely, or the file is rejected."""

import bz2
import gzip
import lzma
import tarfile
import zipfile

import numpy as np
import pytest

from dpjax.core import unpacking, validate
from dpjax.core.files import opened
from dpjax.sources.readers import read_samples
from dpjax.sources.readers._recording import Recording


def zst(content):
    return pytest.importorskip("pyarrow").compress(content, codec="zstd", asbytes=True)


PACK = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zst": zst}
LINES = "".join(f"{n * n},{n % 7}.5\n" for n in range(20_000)).encode()


@pytest.fixture(params=PACK)
def kind(request):
    return request.param


def test_content_is_read_completely(tmp_path, kind):
    pack, expected = PACK[kind], np.loadtxt(LINES.decode().splitlines(), delimiter=",")
    whole = tmp_path / f"x.csv.{kind}"
    whole.write_bytes(pack(LINES))
    np.testing.assert_array_equal(read_samples(whole), expected)
    half = LINES.index(b"\n", len(LINES) // 2) + 1
    parts = tmp_path / f"y.CSV.{kind.upper()}"
    parts.write_bytes(pack(LINES[:half]) + pack(b"") + pack(LINES[half:]))
    np.testing.assert_array_equal(read_samples(parts), expected)
    (tmp_path / f"z.jsonl.{kind}").write_bytes(pack(b'{"a": 1}\n{"a": 3}\n'))
    assert read_samples(tmp_path / f"z.jsonl.{kind}").tolist() == [1, 3]


def test_positions_are_those_of_the_content(tmp_path, kind):
    path = tmp_path / f"x.{kind}"
    path.write_bytes(PACK[kind](LINES))
    with opened(path) as file:
        for place in (150_000, 3, 100_000, 100_001):
            assert file.seek(place) == place and file.read(9) == LINES[place : place + 9]
            assert file.tell() == place + 9
        assert file.seek(0) == 0 and file.read() == LINES


def test_damaged_files(tmp_path, kind):
    path, content = tmp_path / f"x.csv.{kind}", PACK[kind](LINES)
    middle = len(content) // 2
    flipped = content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]
    for damaged in (content[:-3], content[:middle], flipped, content + b"rest", LINES, b""):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=rf"samples file .*x\.csv\.{kind} "):
            read_samples(path)


def test_bombs(tmp_path, kind, monkeypatch):
    monkeypatch.setitem(validate.LIMITS, "unpacked_bytes", 2**19)
    path = tmp_path / f"x.txt.{kind}"
    path.write_bytes(PACK[kind](b"1\n" * 2**20))
    with pytest.raises(ValueError, match=r"x\.txt\..* bytes unpack to too many bytes"):
        read_samples(path)


def test_an_xz_file_that_needs_much_memory(tmp_path, monkeypatch):
    path = tmp_path / "x.txt.xz"
    path.write_bytes(lzma.compress(b"1\n2\n", preset=9))
    assert read_samples(path).tolist() == [1, 2]
    monkeypatch.setattr(unpacking, "_MEMORY", 2**26)
    with pytest.raises(ValueError, match=r"x\.txt\.xz .*Memory usage limit exceeded"):
        read_samples(path)


@pytest.mark.parametrize("before", [0, unpacking._READ - 80, 2 * unpacking._READ])
def test_null_bytes_may_follow_the_streams_of_an_xz_file(tmp_path, before):
    """Their number is a multiple of four, and they may begin anywhere in a part of the file."""
    path, padding = tmp_path / "x.txt.xz", bytes(before)
    path.write_bytes(lzma.compress(b"1\n") + bytes(4) + padding + lzma.compress(b"2\n") + padding)
    assert read_samples(path).tolist() == [1, 2]
    for damaged in (
        lzma.compress(b"1\n") + padding + bytes(3),
        lzma.compress(b"1\n") + padding + bytes(2) + lzma.compress(b"2\n"),
        lzma.compress(b"1\n") + padding + bytes(4) + b"rest",
        bytes(4) + lzma.compress(b"1\n"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"x\.txt\.xz cannot be read"):
            read_samples(path)


def test_a_zst_file_that_needs_much_memory(tmp_path):
    """The header of its only frame asks for a window of 2 GiB."""
    path = tmp_path / "x.txt.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd\0" + bytes([(31 - 10) << 3]) + b"\x01\0\0")
    pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=r"x\.txt\.zst .*requires too much memory"):
        read_samples(path)


def test_a_zst_file_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setattr("dpjax.core.errors.find_spec", lambda name: None)
    (tmp_path / "x.csv.zst").write_bytes(b"")
    with pytest.raises(ModuleNotFoundError, match=r"zst files need pyarrow: .*dpjax\[io\]"):
        Recording(tmp_path / "x.csv.zst")


def test_other_compressed_files_are_refused(tmp_path):
    for name in ("x.csv.lz4", "x.npy.xz", "x.parquet.bz2"):
        (tmp_path / name).write_bytes(b"1\n")
        with pytest.raises(
            ValueError, match=r"must end in .*, where \.gz, \.bz2, \.xz, \.zst may follow"
        ):
            Recording(tmp_path / name)


def test_compressed_files_without_their_suffix(tmp_path, kind):
    """The message names the compression instead of a byte that is not UTF-8."""
    for name in ("x.csv", "x.jsonl", "x.txt"):
        path = tmp_path / name
        path.write_bytes(PACK[kind](LINES))
        with pytest.raises(ValueError, match=rf"is not text but compressed .*end in \.{kind}"):
            read_samples(path)


def test_archives_and_other_formats_with_the_suffix_of_a_text_file(tmp_path):
    (tmp_path / "v").write_bytes(LINES)
    with zipfile.ZipFile(tmp_path / "zip.csv", "w") as archive:
        archive.write(tmp_path / "v")
    for name, mode in (("tar.csv", "w"), ("tar.csv.gz", "w:gz")):
        with tarfile.open(tmp_path / name, mode) as archive:
            archive.add(tmp_path / "v", arcname="v")
    with open(tmp_path / "npy.txt", "wb") as file:
        np.save(file, np.zeros(50))
    for name, said in (
        ("zip.csv", "a zip archive"),
        ("tar.csv", "a tar archive: extract its files"),
        ("tar.csv.gz", "a tar archive"),
        ("npy.txt", "a NumPy file: let its name end in .npy"),
    ):
        with pytest.raises(ValueError, match=f"samples file .*{name} .* is not text but {said}"):
            read_samples(tmp_path / name)
    # A short name at the same place is no mark of an archive.
    (tmp_path / "texts.csv").write_text("a" * 256 + "\n" + "usta\n" * 40)
    assert len(read_samples(tmp_path / "texts.csv")) == 41


def test_long_entries_are_quoted_in_part(tmp_path):
    (tmp_path / "x.csv").write_text("a" * 5000 + "\n1\n2\n" + "b" * 5000 + "\n")
    with pytest.raises(ValueError, match=r"'b{60}' in row 4 is not a number;"):
        read_samples(tmp_path / "x.csv")
