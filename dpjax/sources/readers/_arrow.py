"""Reader for Arrow files (Feather, version 2); it yields chunks of outputs and needs pyarrow."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from dpjax.core import validate
from dpjax.core.arrow import START, refuse_arrow_bomb
from dpjax.core.parquet import is_text
from dpjax.sources.readers._columns import LOOKED_AT, refuse_index
from dpjax.sources.readers._parquet import array_of, column_name, refuse_lists_beside

if TYPE_CHECKING:
    import pyarrow as pa


def arrow_chunks(path: Path, column: str | int | None, rows: int) -> Iterator[np.ndarray]:
    """Yield chunks of one column of an Arrow file, or of all columns if all are numeric.

    Raises:
        ValueError: If the file is damaged or unpacks to too many bytes, or in the cases in which
            `parquet_chunks` raises an error.
    """
    import pyarrow as pa

    with path.open("rb") as file:
        try:
            expected = _batches_of(file, path.stat().st_size)
            schema = _stream(file).schema
            names = schema.names
            chosen = names if column is None else [column_name(column, names)]
            places = None if column is None else [names.index(chosen[0])]
            if not chosen:
                raise ValueError("it has no columns")
            validate.within_limit("columns", len(chosen), "it has too many columns")
            refuse_lists_beside(schema, chosen)
            rows = max(1, min(rows, 2**20 // len(chosen)))
            number = 0
            for number, batch in enumerate(_stream(file, places), 1):
                # A damaged file may refer to memory outside its buffers.
                batch.validate(full=True)
                if number == 1 and len(chosen) > 1:
                    first = [column[:LOOKED_AT].to_pylist() for column in batch.columns]
                    refuse_index(chosen, first, header=True)
                for start in range(0, batch.num_rows, rows):
                    yield array_of(_with_dictionaries(batch.slice(start, rows)), chosen)
            if number != expected:
                raise ValueError("it is damaged: it does not have all batches")
        except (pa.ArrowException, OSError) as error:
            raise ValueError(f"it is not an Arrow file, or it is damaged ({error})") from None


def arrow_columns(path: Path) -> list[str]:
    """Return the names of the columns of an Arrow file."""
    with path.open("rb") as file:
        return _stream(file).schema.names


def _batches_of(file: BinaryIO, size: int) -> int:
    """Check the sizes of a file, and return the number of its record batches.

    Raises:
        ValueError: If the file is cut short or unpacks to too many bytes.
    """
    import pyarrow as pa

    if file.read(4) == b"FEA1":
        raise ValueError("it has version 1 of Feather: write it again with version 2")
    # The footer is at the end, so this call refuses a file that is cut short.
    expected = pa.ipc.open_file(file).num_record_batches
    if refuse_arrow_bomb(file, size) != expected:
        raise ValueError("it is damaged: its footer states another number of batches")
    return expected


def _stream(file: BinaryIO, included: list[int] | None = None) -> "pa.RecordBatchStreamReader":
    """Return a reader of the file's messages, in the order in which their sizes were checked."""
    import pyarrow as pa

    file.seek(START)
    options = pa.ipc.IpcReadOptions(included_fields=included or [])
    return pa.ipc.open_stream(file, options=options)


def _with_dictionaries(batch: "pa.RecordBatch") -> "pa.RecordBatch":
    """Encode columns of text by dictionaries, as those of Parquet files."""
    import pyarrow as pa

    columns = [c.dictionary_encode() if is_text(c.type) else c for c in batch.columns]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
