"""Parquet files: which columns hold texts, and how large the content is (needs pyarrow)."""

from typing import TYPE_CHECKING, BinaryIO

from dpjax.core.files import refuse_bomb

if TYPE_CHECKING:
    import pyarrow as pa


def text_columns_of(file: BinaryIO, packed: int) -> list[str]:
    """Names of the text columns of a Parquet file, after a check of its unpacked size.

    Read them as dictionaries: a text that is repeated a million times may take a few bytes in a
    file.

    Args:
        file: The opened file.
        packed: Its size in bytes.

    Raises:
        ValueError: The unpacked content is above the limit and a hundred times the file's size.
    """
    import pyarrow.parquet as pq

    metadata = pq.read_metadata(file)
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    refuse_bomb(sum(max(group.total_byte_size, 0) for group in groups), packed)
    refuse_bomb(8 * metadata.num_rows, packed)
    return [field.name for field in metadata.schema.to_arrow_schema() if is_text(field.type)]


def is_text(kind: "pa.DataType") -> bool:
    """Whether values of an Arrow type are texts."""
    import pyarrow as pa

    return pa.types.is_string(kind) or pa.types.is_large_string(kind)
