"""Text columns and unpacked sizes of Parquet files (needs pyarrow).

The footer of a file states sizes, but no reader compares them with the pages. Therefore, this
module also reads the headers of pages, each of which is a struct in Thrift's compact protocol.
"""

from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from dpjax.core import validate
from dpjax.core.files import MANY_TIMES, refuse_bomb

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

_USUAL, _LONGEST = 2**12, 2**24
"""Numbers of bytes that are read to parse a header: at first, and at most. Arrow refuses longer
headers.
"""

_DEEPEST = 8
"""Maximum depth of structs and lists in a header; headers need three."""

_UNPACKED, _PACKED, _DATA, _DATA_V2 = 2, 3, 5, 8
"""Fields of a header: the sizes of its page, and the structs of the two kinds of pages with values.
The first field of these structs is the number of values.
"""

_SHORT = {1: 0, 2: 0, 3: 1, 7: 8}
"""Numbers of bytes of the types with a fixed size: true, false, bytes and doubles."""

_INTEGERS, _BINARY, _LISTS, _STRUCT = (4, 5, 6), 8, (9, 10), 12
"""Other types of Thrift's compact protocol; headers have no maps."""

_DAMAGED = "it is damaged: the header of a page cannot be read"


def text_columns_of(file: BinaryIO, packed: int) -> list[str]:
    """Return the names of a Parquet file's text columns after checking the file's unpacked size.

    A Parquet file may store a million copies of a string in a few bytes. Therefore, text columns
    should be read in dictionary encoding.

    Raises:
        ValueError: If the unpacked content is larger than the limit and also larger than a hundred
            times the file's size, according to the footer or to the headers of the pages.
    """
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(file)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    refuse_bomb(sum(max(group.total_byte_size, 0) for group in groups), packed)
    refuse_bomb(8 * longest_column(metadata), packed)
    _refuse_large_pages(file, metadata, packed)
    return [field.name for field in metadata.schema.to_arrow_schema() if is_text(field.type)]


def _refuse_large_pages(file: BinaryIO, metadata: "pq.FileMetaData", packed: int) -> None:
    """Refuse a file whose pages need much more memory than its metadata states."""
    unpacked = 0
    values = [0] * metadata.num_columns
    most = max(validate.limit("unpacked_bytes"), MANY_TIMES * packed)
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place in range(group.num_columns):
            pages = pages_of(file, group.column(place), most)
            unpacked += pages.unpacked
            values[place] += pages.values
            refuse_bomb(max(unpacked, 8 * values[place]), packed)


def longest_column(metadata: "pq.FileMetaData") -> int:
    """Return the number of values in the longest column; lists have more values than rows."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    sizes = [[group.column(j).num_values for j in range(group.num_columns)] for group in groups]
    return max(metadata.num_rows, sum(max(size, default=0) for size in sizes))


def is_text(kind: "pa.DataType") -> bool:
    """Return whether an Arrow type holds text."""
    import pyarrow as pa

    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


class Pages(NamedTuple):
    """Totals of the pages of a column.

    Attributes:
        unpacked: Number of bytes of all pages after decompression.
        values: Number of values in all pages, without those of dictionaries.
    """

    unpacked: int
    values: int


def pages_of(file: BinaryIO, column: "pq.ColumnChunkMetaData", most: int) -> Pages:
    """Return the totals of the pages of a column in a row group.

    Args:
        file: The opened file.
        column: Metadata of the column.
        most: Number of bytes or values above which no further pages are read.

    Raises:
        ValueError: If the header of a page is damaged.
    """
    starts = column.data_page_offset, column.dictionary_page_offset
    # A row group without rows has no data page, and the position 0.
    place = min((start for start in starts if start), default=0)
    end, unpacked, values = place + column.total_compressed_size, 0, 0
    while place < end and max(unpacked, values) <= most:
        header, length = _header_at(file, place)
        unpacked += _size(header, _UNPACKED)
        values += sum(_size(header[kind], 1) for kind in (_DATA, _DATA_V2) if kind in header)
        place += length + _size(header, _PACKED)
    return Pages(unpacked, values)


def _size(fields: object, number: int) -> int:
    """Return a field that is a number of bytes or values."""
    size = fields.get(number) if isinstance(fields, dict) else None
    if not isinstance(size, int) or size < 0:
        raise ValueError(_DAMAGED)
    return size


def _header_at(file: BinaryIO, place: int) -> tuple[dict, int]:
    """Return the fields of the header at a position, and its length in bytes."""
    for size in (_USUAL, _LONGEST):
        file.seek(place)
        parser = _Parser(file.read(size))
        try:
            return parser.struct(0), parser.place
        except IndexError:  # The header is longer than what was read.
            continue
    raise ValueError(_DAMAGED)


class _Parser:
    """A parser of Thrift's compact protocol. Reading beyond the end raises IndexError."""

    def __init__(self, data: bytes):
        self._data, self.place = data, 0

    def struct(self, depth: int) -> dict:
        """Return the integers and the structs of a struct, by the numbers of their fields."""
        found, field = {}, 0
        while first := self._byte():
            step, kind = first >> 4, first & 15
            field = field + step if step else self._integer()
            if kind in _INTEGERS:
                found[field] = self._integer()
            elif kind == _STRUCT and depth < _DEEPEST:
                found[field] = self.struct(depth + 1)
            else:
                self._skip(kind, depth)
        return found

    def _skip(self, kind: int, depth: int) -> None:
        if depth >= _DEEPEST:
            raise ValueError(_DAMAGED)
        if kind in _SHORT:
            self._move(_SHORT[kind])
        elif kind in _INTEGERS:
            self._unsigned()
        elif kind == _BINARY:
            self._move(self._unsigned())
        elif kind in _LISTS:
            first = self._byte()
            size = first >> 4 if first >> 4 < 15 else self._unsigned()
            for _ in range(size):
                # Each boolean of a list is a byte.
                self._skip(3 if first & 15 in (1, 2) else first & 15, depth + 1)
        elif kind == _STRUCT:
            self.struct(depth + 1)
        else:
            raise ValueError(_DAMAGED)

    def _byte(self) -> int:
        self._move(1)
        return self._data[self.place - 1]

    def _move(self, size: int) -> None:
        self.place += size
        if self.place > len(self._data):
            raise IndexError

    def _unsigned(self) -> int:
        number, shift = 0, 0
        while (byte := self._byte()) & 128:
            number |= (byte & 127) << shift
            shift += 7
            if shift > 63:
                raise ValueError(_DAMAGED)
        return number | byte << shift

    def _integer(self) -> int:
        number = self._unsigned()
        return (number >> 1) ^ -(number & 1)
