"""Parquet files in chunks (needs pyarrow)."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from dpjax._errors import nearest
from dpjax.sources.readers._columns import LOOKED_AT, refuse_index


def parquet_chunks(path: Path, column: str | int | None, rows: int) -> Iterator[np.ndarray]:
    """Chunks of one column of a Parquet file, or of all where all are numbers.

    Raises:
        ModuleNotFoundError: pyarrow is not installed.
        ValueError: There is no such column, it has gaps, or it holds neither numbers nor texts;
            or none was chosen and one is an index.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ModuleNotFoundError:
        raise ModuleNotFoundError("Parquet files need pyarrow: pip install 'dpjax[io]'.") from None
    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise ValueError(f"it is no Parquet file, or it is damaged ({error})") from None
    with file:
        names = file.schema_arrow.names
        chosen = names if column is None else [_name_of(column, names)]
        if not chosen:
            raise ValueError("it has no columns")
        for number, batch in enumerate(file.iter_batches(batch_size=rows, columns=chosen)):
            if number == 0 and len(chosen) > 1:
                first = [column[:LOOKED_AT].to_pylist() for column in batch.columns]
                refuse_index(chosen, first, header=True)
            yield _array(batch, chosen)


def parquet_columns(path: Path) -> list[str]:
    """Names of the columns of a Parquet file."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        return file.schema_arrow.names


def _name_of(column: str | int, names: list[str]) -> str:
    if isinstance(column, str) and column in names:
        return column
    try:
        return names[int(column)] if int(column) >= 0 else names[len(names)]
    except (ValueError, IndexError):
        raise ValueError(f"it has no column {column!r}; {nearest(str(column), names)}") from None


def _array(batch, names: list[str]) -> np.ndarray:
    columns = []
    for name, column in zip(names, batch.columns, strict=True):
        if column.null_count:
            raise ValueError(
                f"its column {name!r} has gaps (nulls): drop them, or write a label or NaN for them"
            )
        values = column.to_numpy(zero_copy_only=False)
        if values.dtype.kind == "O" and all(isinstance(value, str) for value in values):
            values = values.astype(np.str_)
        if values.dtype.kind not in "biufU":
            raise ValueError(
                f"its column {name!r} holds {column.type}, neither numbers nor texts; name another "
                f"column of {names}"
            )
        columns.append(values)
    if len(columns) == 1:
        return columns[0]
    if any(values.dtype.kind == "U" for values in columns):
        raise ValueError(
            f"it has several columns, {names}, not all of numbers: name the one to use"
        )
    return np.stack(columns, axis=1)
