"""Compressed text files: their content is read completely, or the file is rejected."""

import bz2
import gzip
import lzma

import numpy as np
import pytest

from dpjax.core import unpacking, validate
from dpjax.core.files import opened
from dpjax.sources.readers import read_samples
from dpjax.sources.readers._recording import Recording

PACK = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
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


def test_other_compressed_files_are_refused(tmp_path):
    for name in ("x.csv.zst", "x.npy.xz", "x.parquet.bz2"):
        (tmp_path / name).write_bytes(b"1\n")
        with pytest.raises(ValueError, match=r"must end in .*, where \.gz, \.bz2, \.xz may follow"):
            Recording(tmp_path / name)
