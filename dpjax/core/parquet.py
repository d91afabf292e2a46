"""Text columns and unpacked sizes of Parquet files (needs pyarrow)."""

from typing import TYPE_CHECKING, BinaryIO

from dpjax.core import validate
from dpjax.core.files import MANY_TIMES, refuse_bomb
from dpjax.core.pages import pages_of

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq


def text_columns_of(file: BinaryIO, packed: int) -> list[str]:
    """Return the names of a Parquet file's text columns after checking the file's unpacked size.

    A Parquet file may store a million copies of a string in a few bytes. Therefore, text columns
    should be read in dictionary encoding.

    Args:
        file: The opened file.
        packed: Size of the file in bytes.

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
