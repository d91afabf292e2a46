"""Reader for Parquet files; it yields chunks of outputs and needs pyarrow."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dpjax.core import validate
from dpjax.core.arrays import beside
from dpjax.core.errors import nearest
from dpjax.core.parquet import is_text, longest_column, text_columns_of
from dpjax.sources.readers._columns import LOOKED_AT, refuse_index
from dpjax.sources.readers._entries import MissingEntry, as_labels

if TYPE_CHECKING:
    import pyarrow as pa


def parquet_chunks(path: Path, column: str | int | None, rows: int) -> Iterator[np.ndarray]:
    """Yield chunks of one column of a Parquet file, or of all columns if all are numeric.

    A column of lists of numbers contains vectors.

    Raises:
        ValueError: If the column does not exist, has missing values, contains neither numbers,
            strings nor lists of numbers, or contains lists of different lengths; or if no column
            was chosen and a column seems to contain row numbers.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    # Pass an open file to Arrow, because Arrow accepts a file name only if it is valid UTF-8.
    with path.open("rb") as opened:
        try:
            texts = text_columns_of(opened, path.stat().st_size)
            file = pq.ParquetFile(opened, read_dictionary=texts)
        except pa.ArrowInvalid as error:
            raise ValueError(f"it is not a Parquet file, or it is damaged ({error})") from None
        names = file.schema_arrow.names
        chosen = names if column is None else [column_name(column, names)]
        if not chosen:
            raise ValueError("it has no columns")
        validate.within_limit("columns", len(chosen), "it has too many columns")
        refuse_lists_beside(file.schema_arrow, chosen)
        width = len(chosen) * longest_column(file.metadata) // max(file.metadata.num_rows, 1)
        rows = max(1, min(rows, 2**20 // max(width, 1)))
        for number, batch in enumerate(file.iter_batches(batch_size=rows, columns=chosen)):
            if number == 0 and len(chosen) > 1:
                first = [column[:LOOKED_AT].to_pylist() for column in batch.columns]
                refuse_index(chosen, first, header=True)
            yield array_of(batch, chosen)


def parquet_columns(path: Path) -> list[str]:
    """Return the names of the columns of a Parquet file."""
    import pyarrow.parquet as pq

    with path.open("rb") as file:
        return pq.read_schema(file).names


def column_name(column: str | int, names: list[str]) -> str:
    """Return the name of a column that is given by its name or index.

    Raises:
        ValueError: If the file has no such column.
    """
    if isinstance(column, str) and column in names:
        return column
    try:
        return names[int(column)] if int(column) >= 0 else names[len(names)]
    except (ValueError, IndexError):
        raise ValueError(f"it has no column {column!r}; {nearest(str(column), names)}") from None


def refuse_lists_beside(schema: "pa.Schema", names: list[str]) -> None:
    """Raise ValueError if one of several columns contains lists."""
    lists = [name for name in names if _is_list(schema.field(name).type)]
    if lists and len(names) > 1:
        raise ValueError(
            f"it has several columns, {names}, and {lists[0]!r} holds lists: name the column to use"
        )


def array_of(batch: "pa.RecordBatch", names: list[str]) -> np.ndarray:
    """Convert a batch of rows to outputs, [n] or [n, d].

    Args:
        batch: Columns of numbers, lists of numbers, or texts in dictionary encoding.
        names: Names of the columns.

    Raises:
        ValueError: If a column has nulls or other values, or if several columns do not form vectors
            of numbers.
    """
    columns = []
    for name, column in zip(names, batch.columns, strict=True):
        if column.null_count:
            raise MissingEntry(
                f"has gaps (nulls) in its column {name!r}",
                "drop these rows, or write a label or NaN instead",
            )
        values = _values(column)
        if values is None:
            raise ValueError(
                f"its column {name!r} holds {column.type}, neither numbers, strings nor "
                "lists of numbers: convert it to numbers or strings"
                f"{f', or choose another column of {names}' if len(names) > 1 else ''}"
            )
        columns.append(values)
    if len(columns) == 1:
        return columns[0]
    if any(values.dtype.kind in "UO" for values in columns):
        raise ValueError(
            f"it has several columns, {names}, and not all are numeric: name the column to use"
        )
    try:
        return beside(columns)
    except ValueError as error:
        raise ValueError(f"its columns {names} are {error}") from None


def _values(column: "pa.Array | pa.ChunkedArray") -> np.ndarray | None:
    """Convert a column of numbers or strings to an array, or return None for other types."""
    import pyarrow as pa

    if _is_list(column.type):
        return _vectors(column)
    if pa.types.is_decimal(column.type):
        return _floats(column)
    if not pa.types.is_dictionary(column.type):
        kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
        plain = any(is_one(column.type) for is_one in kinds)
        return column.to_numpy(zero_copy_only=False) if plain else None
    if not is_text(column.type.value_type):
        return _values(column.dictionary_decode())
    used, places = np.unique(column.indices.to_numpy(), return_inverse=True)
    return as_labels(column.dictionary.take(pa.array(used)).to_pylist(), places)


def _is_list(kind: "pa.DataType") -> bool:
    import pyarrow as pa

    types = pa.types
    return types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)


def _vectors(column: "pa.Array | pa.ChunkedArray") -> np.ndarray | None:
    """Convert lists of numbers to the rows of an array, or return None for other lists.

    Raises:
        ValueError: If lists differ in length, are empty, or contain a null.
    """
    import pyarrow.compute as pc

    lengths = pc.call_function("list_value_length", [column]).to_numpy(zero_copy_only=False)
    least, most = (int(lengths.min()), int(lengths.max())) if len(lengths) else (1, 1)
    if least != most:
        raise ValueError(
            f"it holds lists of {least} and of {most} values: all lists must have the same length"
        )
    validate.within_limit("columns", most, "it holds lists that are too long")
    values = column.flatten()
    if most == 0 or values.null_count:
        found = "empty lists" if most == 0 else "nulls within lists"
        raise ValueError(f"it holds {found}: write labels or NaN instead")
    numbers = _values(values)
    plain = numbers is not None and numbers.ndim == 1 and numbers.dtype.kind in "biuf"
    return numbers.reshape(len(column), most) if numbers is not None and plain else None


def _floats(column: "pa.Array | pa.ChunkedArray") -> np.ndarray:
    """Convert decimals to floats, if different decimals remain different.

    Raises:
        ValueError: If a decimal has more digits than a float64 keeps.
    """
    import pyarrow as pa

    # Text has the shortest digits of a float. Without it, the float of 0.1 would be equal only to a
    # decimal with the digits of its binary value.
    floats = column.cast(pa.string()).cast(pa.float64())
    try:
        same = floats.cast(pa.string()).cast(column.type).equals(column)
    except pa.ArrowInvalid:  # A float has too many digits for the type.
        same = False
    if not same:
        raise ValueError(
            f"it holds decimals ({column.type}) with more digits than float64 keeps: convert them "
            "to strings, which are compared as labels, or round them"
        )
    return floats.to_numpy(zero_copy_only=False)
