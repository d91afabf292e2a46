"""NumPy files in chunks: npy and npz, without mapping more than a chunk at a time."""

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy


def npy_chunks(path: Path, column: str | int | None, rows: int) -> Iterator[np.ndarray]:
    """Chunks of an npy file; see `dpjax.Recording`.

    Raises:
        ValueError: It is no npy file, is cut short, or holds objects.
    """
    with path.open("rb") as file:
        shape, fortran, dtype = _header(file)
        offset = file.tell()
    size = dtype.itemsize * int(np.prod(shape))
    if path.stat().st_size < offset + size:
        raise ValueError(
            f"it is cut short: {size} bytes of numbers were expected, "
            f"{max(path.stat().st_size - offset, 0)} are there"
        )
    pick = _column_of(shape, column)
    if size == 0:
        yield np.empty(shape, dtype)
        return
    for start in range(0, shape[0], rows):
        # Mapped anew for each chunk: the pages of one mapping would all stay in memory.
        mapped = np.memmap(path, dtype, "r", offset, shape, "F" if fortran else "C")
        yield pick(np.array(mapped[start : start + rows]))


def npz_chunks(path: Path, column: str | int | None, rows: int) -> Iterator[np.ndarray]:
    """Chunks of one array of an npz file; `column` may name the array.

    Raises:
        ValueError: It is no npz file, holds several arrays of which none was named, or objects.
    """
    with zipfile.ZipFile(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
        if column in names:
            names, column = [str(column)], None
        if len(names) != 1:
            raise ValueError(
                f"it must hold one array, or the one to use must be named by column, but holds "
                f"{names}"
            )
        with archive.open(f"{names[0]}.npy") as file:
            shape, fortran, dtype = _header(file)
            pick = _column_of(shape, column)
            if fortran and len(shape) > 1:
                # Columns one after the other in a compressed stream: there are no chunks of rows.
                content = _read_exactly(file, dtype.itemsize * int(np.prod(shape)))
                yield pick(np.frombuffer(content, dtype).reshape(shape, order="F"))
                return
            if shape[0] == 0:
                yield np.empty(shape, dtype)
            row = dtype.itemsize * int(np.prod(shape[1:]))
            for start in range(0, shape[0], rows):
                count = min(rows, shape[0] - start)
                content = _read_exactly(file, row * count)
                yield pick(np.frombuffer(content, dtype).reshape(count, *shape[1:]))


def _header(file: Any) -> tuple[Any, bool, np.dtype]:
    # The message of NumPy for other magic bytes advises to unpickle, which runs what is in a file.
    try:
        version = npy.read_magic(file)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
        shape, fortran, dtype = read[version](file)
    except KeyError:
        raise ValueError("its npy version is not known") from None
    except (ValueError, EOFError):
        raise ValueError("it is no npy file, or its header is damaged") from None
    if dtype.hasobject:
        raise ValueError(
            "it holds pickled Python objects, which are never loaded: save numbers or texts"
        )
    if dtype.kind not in "biufUS" or len(shape) not in (1, 2):
        raise ValueError(
            f"it must hold numbers or labels of the shape [n] or [n, d], but holds {dtype} of the "
            f"shape {list(shape)}"
        )
    return shape, fortran, dtype


def _column_of(shape: tuple[int, ...], column: str | int | None) -> Any:
    if column is None:
        return lambda rows: rows
    width = 1 if len(shape) == 1 else shape[1]
    if not str(column).isdecimal() or int(column) >= width:
        raise ValueError(f"it has no column {column!r}: its columns are 0 to {width - 1}")
    return lambda rows: rows.reshape(len(rows), -1)[:, int(column)]


def _read_exactly(file: BinaryIO | Any, size: int) -> bytes:
    content = file.read(size)
    if len(content) != size:
        raise ValueError("it is cut short")
    return content
