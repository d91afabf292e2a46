"""Parquet files whose footer understates their content: the headers of the pages are checked."""

import io
from types import SimpleNamespace

import numpy as np
import pytest

from dpjax.core import parquet, validate
from dpjax.core.parquet import Pages, pages_of
from dpjax.sources.readers import read_samples

pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
SIZE = 2**17 + 5


def number(value, width=1):
    """Return a non-negative integer in the compact protocol, with at least `width` bytes."""
    rest, found = 2 * value, []
    while rest or len(found) < width:
        found.append(rest & 127 | 128)
        rest >>= 7
    return bytes([*found[:-1], found[-1] & 127])


def understated(path, changes):
    """Replace integers in the footer of a file by others of the same length in bytes."""
    content = path.read_bytes()
    start = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    footer = content[start:]
    for old, new in changes.items():
        assert footer.count(number(old)) >= 1
        footer = footer.replace(number(old), number(new, len(number(old))))
    path.write_bytes(content[:start] + footer)


def written(path, column, **options):
    pq.write_table(pa.table({"x": column}), path, data_page_size=2**26, **options)
    group = pq.read_metadata(path).row_group(0)
    return {group.total_byte_size: 100}, {group.column(0).num_values: 1}


@pytest.fixture
def limit(monkeypatch):
    monkeypatch.setitem(validate.LIMITS, "unpacked_bytes", 2**18)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_understated_bytes(tmp_path, limit, version):
    path = tmp_path / "x.parquet"
    options = {"compression": "zstd", "use_dictionary": False, "data_page_version": version}
    size, _ = written(path, np.zeros(SIZE), **options)
    understated(path, size)
    assert pq.read_metadata(path).row_group(0).total_byte_size == 100
    before = pa.default_memory_pool().bytes_allocated()
    with pytest.raises(ValueError, match=r"x\.parquet cannot be read: .*unpack to too many bytes"):
        read_samples(path)
    assert pa.default_memory_pool().bytes_allocated() - before < 2**16


def test_understated_values(tmp_path, limit):
    """In dictionary encoding, a list of equal numbers takes a few bytes, also when decompressed."""
    path = tmp_path / "x.parquet"
    size, values = written(path, pa.array([np.zeros(SIZE)]), compression="none")
    assert path.stat().st_size < 2**12 and max(size) < 2**12
    understated(path, values)
    with pytest.raises(ValueError, match=r"unpack to too many bytes: 1048616"):
        read_samples(path)


@pytest.mark.parametrize("options", [
    {}, {"data_page_version": "2.0"}, {"compression": "none"}, {"write_page_index": True},
    {"use_dictionary": False, "data_page_size": 999}, {"write_page_checksum": True},
])  # fmt: skip
def test_totals_are_those_of_the_writer(tmp_path, options):
    rng, path = np.random.default_rng(0), tmp_path / "x.parquet"
    texts = [f"text {n}" * 50 for n in rng.integers(9, size=4_000)]
    table = pa.table({"n": rng.normal(size=4_000), "t": texts, "l": [[1, 2]] * 4_000})
    pq.write_table(table, path, row_group_size=1_500, **options)
    metadata = pq.read_metadata(path)
    with path.open("rb") as file:
        for group in range(3):
            for place in range(3):
                column = metadata.row_group(group).column(place)
                found = pages_of(file, column, 2**30)
                assert found.values == column.num_values
                # The sizes in the footer include those of the headers.
                assert 0 < found.unpacked < column.total_uncompressed_size
                assert pages_of(file, column, 0).unpacked <= found.unpacked


def page(*fields, end=b"\0"):
    return b"".join(fields) + end


def totals(content, most=2**30, dictionary=None):
    column = SimpleNamespace(
        data_page_offset=0, dictionary_page_offset=dictionary, total_compressed_size=len(content)
    )
    return pages_of(io.BytesIO(content), column, most)


def sized(unpacked, packed):
    return bytes([0x25]) + number(unpacked) + bytes([0x15]) + number(packed)


DATA = bytes([0x2C, 0x15]) + number(7) + bytes([0])


def test_headers_by_hand():
    """The fields 2 and 3 are sizes, and field 5 is a struct whose field 1 is a count."""
    assert totals(page(sized(30, 0), DATA)) == Pages(30, 7)
    assert totals(page(sized(30, 4), DATA) + bytes(4) + page(sized(5, 0))) == Pages(35, 7)
    assert totals(page(sized(30, 0), DATA) * 9, most=50) == Pages(60, 14)
    assert totals(page(sized(30, 0), DATA), dictionary=0) == Pages(30, 7)
    # Fields of other types are skipped: a text, a true, a double, a byte, and lists of each.
    others = [
        b"\x18\x03abc", b"\x11", b"\x17" + bytes(8), b"\x13\x05", b"\x19\x25\x01\x02",
        b"\x19\x22\x01\x00", b"\x19\xf3\x10" + bytes(16), b"\x19\x1c\x00", b"\x19\x18\x01a",
    ]  # fmt: skip
    assert totals(page(sized(30, 0), DATA, *others)) == Pages(30, 7)
    # A field whose number is written out.
    assert totals(page(sized(30, 0), bytes([0x0C]) + number(5) + DATA[1:])) == Pages(30, 7)


@pytest.mark.parametrize("content", [
    b"\x25", page(b"\x25" + number(3)), page(sized(3, 0), end=b""), page(sized(3, 0), b"\x2c\0"),
    page(sized(3, 0), b"\x25\x02"), page(bytes([0x25, 1, 0x15, 0])), page(sized(3, 0), b"\x1b"),
    page(sized(3, 0), b"\x1c" * 99), page(sized(3, 0), b"\x19" * 99), b"\x25" + b"\xff" * 99,
    page(sized(3, 0), b"\x18\xff\xff\xff\xff\x0f"),
])  # fmt: skip
def test_damaged_headers(content, monkeypatch):
    monkeypatch.setattr(parquet, "_LONGEST", 2**13)
    with pytest.raises(ValueError, match="it is damaged: the header of a page cannot be read"):
        totals(content)


def test_a_header_may_be_long(monkeypatch):
    """Statistics in a header contain texts from the page."""
    content = page(sized(3, 0), b"\x18" + b"\x88\x27" + bytes(5_000))
    assert totals(content) == Pages(3, 0)


@pytest.mark.parametrize("values", [[0.5, 1.5, 2.5], ["a", "b", "a"]])
def test_a_row_group_may_have_no_rows(tmp_path, values):
    table, path = pa.table({"output": values}), tmp_path / "x.parquet"
    with pq.ParquetWriter(path, table.schema) as writer:
        for part in (table, table.slice(0, 0), table):
            writer.write_table(part)
    assert pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset == 0
    assert read_samples(path).tolist() == 2 * values
