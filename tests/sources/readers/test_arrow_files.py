"""Arrow files (Feather, version 2): outputs of the table are read, and hostile files refused."""

import struct
from types import SimpleNamespace

import numpy as np
import pytest

from dpjax.core import arrow, validate
from dpjax.sources.readers import read_samples
from dpjax.sources.readers._recording import Recording

pa = pytest.importorskip("pyarrow")
PACKINGS = [None, "lz4", "zstd"]


def write(path, table, packing=None, rows=None):
    options = pa.ipc.IpcWriteOptions(compression=packing)
    with pa.ipc.new_file(path, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)
    return path


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("name", ["x.feather", "x.ARROW"])
def test_columns_are_those_of_the_table(tmp_path, packing, name):
    numbers = np.random.default_rng(0).normal(size=5_000)
    labels = [f"label {n % 7}" for n in range(5_000)]
    table = pa.table({
        "value": numbers, "count": np.arange(5_000) % 3, "label": labels,
        "coded": pa.array(labels).dictionary_encode(), "pair": [[n, -n] for n in range(5_000)],
    })  # fmt: skip
    path = write(tmp_path / name, table, packing, rows=700)
    np.testing.assert_array_equal(read_samples(path, "value"), numbers)
    assert read_samples(path, 2).tolist() == labels == read_samples(path, "coded").tolist()
    np.testing.assert_array_equal(read_samples(path, "pair")[:, 1], -np.arange(5_000))
    both = read_samples(path, ["value", "count"])
    np.testing.assert_array_equal(both, np.stack([numbers, np.arange(5_000) % 3], axis=1))
    assert Recording(path)._columns_of(path) == table.column_names


def test_all_columns_form_vectors_if_they_are_numbers(tmp_path):
    table = pa.table({"a": [0.5, 1.5, 0.5], "b": [3.0, 1.0, 1.0]})
    path = write(tmp_path / "x.feather", table)
    assert read_samples(path).tolist() == [[0.5, 3.0], [1.5, 1.0], [0.5, 1.0]]
    assert [chunk.shape for chunk in Recording(path).chunks()] == [(3, 2)]
    rows = write(tmp_path / "rows.feather", pa.table({"index": range(50), "b": [0.5] * 50}))
    with pytest.raises(ValueError, match="row numbers"):
        read_samples(rows)


REFUSED = {
    "gaps": ({"a": pa.array([1.0, None])}, "has gaps"),
    "dates": ({"a": pa.array([1, 2], "date32")}, "holds date32"),
    "views": ({"a": pa.array(["x"], pa.string_view())}, "holds string_view"),
    "lists": ({"a": [[1.0], [1.0, 2.0]]}, "lists of 1 and of 2 values"),
    "lists beside": ({"a": [[1.0]], "b": [1.0]}, "name the column to use"),
    "no columns": ({}, "it has no columns"),
    "no rows": ({"a": pa.array([], "float64")}, "holds no outputs"),
}


@pytest.mark.parametrize(("columns", "said"), REFUSED.values(), ids=REFUSED)
def test_tables_that_are_refused(tmp_path, columns, said):
    with pytest.raises(ValueError, match=rf"x\.feather .*{said}"):
        read_samples(write(tmp_path / "x.feather", pa.table(columns)))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("packing", PACKINGS)
def test_damaged_files(tmp_path, packing):
    """No file that lacks a part is read, and no changed byte ends the process."""
    table = pa.table({"x": [*"abcabc"] * 9, "y": [[1.5, 2.5]] * 54})
    path = write(tmp_path / "x.arrow", table, packing, rows=20)
    content, rng = path.read_bytes(), np.random.default_rng(1)
    for end in range(0, len(content), 97):
        path.write_bytes(content[:end])
        with pytest.raises(ValueError, match=r"samples file .*x\.arrow cannot be read"):
            read_samples(path, "x")
    for place in rng.integers(len(content), size=200).tolist():
        path.write_bytes(content[:place] + rng.bytes(1) + content[place + 1 :])
        for column in ("x", "y"):
            try:
                assert len(read_samples(path, column)) <= 60
            except ValueError as error:
                assert str(error).startswith("samples file ")


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "x.feather"
    for content in (b"", b"1\n2\n" * 99, b"ARROW1\0\0" * 2):
        path.write_bytes(content)
        with pytest.raises(ValueError, match="it is not an Arrow file, or it is damaged"):
            read_samples(path)
    path.write_bytes(b"FEA1" + bytes(99))
    with pytest.raises(ValueError, match="has version 1 of Feather: write it again"):
        read_samples(path)


@pytest.mark.parametrize("packing", ["lz4", "zstd"])
@pytest.mark.parametrize("coded", [False, True])
def test_bombs(tmp_path, monkeypatch, packing, coded):
    """Batches are refused before they are unpacked, also those of dictionaries."""
    monkeypatch.setitem(validate.LIMITS, "unpacked_bytes", 2**20)
    table = pa.table({"x": np.zeros(2**20)})
    if coded:
        text = pa.array(["a" * 2**23])
        table = pa.table({"x": pa.DictionaryArray.from_arrays(np.zeros(9, np.int32), text)})
    path = write(tmp_path / "x.feather", table, packing)
    assert path.stat().st_size < 2**16
    before = pa.total_allocated_bytes()
    monkeypatch.setattr(pa.ipc, "open_stream", None)
    with pytest.raises(ValueError, match=r"x\.feather cannot be read: .* unpack to too many bytes"):
        read_samples(path)
    assert pa.total_allocated_bytes() - before < 2**16


def test_a_size_that_is_understated_is_an_error(tmp_path):
    """The size of a buffer is its first number; Arrow unpacks no more than that."""
    path = write(tmp_path / "x.feather", pa.table({"x": np.zeros(2**16)}), "zstd")
    content, size = path.read_bytes(), struct.pack("<q", 8 * 2**16)
    assert content.count(size) == 1
    path.write_bytes(content.replace(size, struct.pack("<q", 8)))
    with pytest.raises(ValueError, match="it is not an Arrow file, or it is damaged"):
        read_samples(path)


def test_batches_of_the_footer_are_those_of_the_messages(tmp_path, monkeypatch):
    path = write(tmp_path / "x.feather", pa.table({"x": [1.0, 2.0]}), rows=1)
    monkeypatch.setattr("dpjax.sources.readers._arrow.refuse_arrow_bomb", lambda *_: 3)
    with pytest.raises(ValueError, match="its footer states another number of batches"):
        read_samples(path)


def test_old_messages_are_refused():
    """Arrow 0.17 marked packed buffers in a way that newer versions only read."""
    # The root at 12 has its layout at 4, which places field 0 at 12 + 6: version 4 is number 3.
    data = struct.pack("<IHHHHihh", 12, 6, 8, 6, 0, 8, 0, 3)
    message = SimpleNamespace(metadata=data, body=None)
    with pytest.raises(ValueError, match=r"written by Arrow before version 1\.0"):
        arrow._unpacked(message)


def test_files_need_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setattr("dpjax.core.errors.find_spec", lambda name: None)
    for name, kind in (("x.feather", "Feather"), ("x.arrow", "Arrow")):
        (tmp_path / name).write_bytes(b"")
        with pytest.raises(ModuleNotFoundError, match=rf"{kind} files need pyarrow"):
            Recording(tmp_path / name)
