"""Readers for npy and npz files. At any time, a reader holds at most one chunk in memory."""

import math
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
from numpy.lib import format as npy

from dpjax.core import validate
from dpjax.core.files import refuse_bomb
from dpjax.sources.readers._columns import columns_in_words

_CHUNK = 2**25
"""Maximum size of a chunk, in bytes. If rows are long, a chunk has fewer rows than requested."""

_LAST_CHARACTER = 0x10FFFF
_MORE = "it holds more than the one array that its header describes"


class _Header(NamedTuple):
    """The header of an npy file."""

    shape: Sequence[int]
    fortran: bool
    dtype: np.dtype

    @property
    def size(self) -> int:
        """Size of the array in bytes."""
        return self.dtype.itemsize * math.prod(self.shape)

    @property
    def row(self) -> int:
        """Size of a row in bytes."""
        return self.dtype.itemsize * math.prod(self.shape[1:])

    def rows(self, most: int) -> int:
        """Return the number of rows per chunk: `most`, or fewer if rows are long."""
        return max(1, min(most, _CHUNK // max(self.row, 1)))

    def array(self, content: bytes, shape: Sequence[int]) -> np.ndarray:
        """Create an array of the given shape from the bytes of some or all rows."""
        values = np.frombuffer(content, self.dtype)
        return values.reshape(shape, order="F" if self.fortran else "C")


def npy_chunks(path: Path, column: str | int | None, rows: int) -> Iterator[np.ndarray]:
    """Yield chunks of the outputs in an npy file; see `dpjax.Recording`.

    Raises:
        ValueError: If the file is not an npy file, if it is cut short, or if it contains
            objects.
    """
    with path.open("rb") as file:
        header = _header(file)
        offset = file.tell()
    there = path.stat().st_size - offset
    if there < header.size:
        raise ValueError(
            f"it is cut short: {header.size} bytes of numbers were expected, but "
            f"{max(there, 0)} are there"
        )
    if there > header.size:
        raise ValueError(_MORE)
    pick, rows = _column_of(header.shape, column), header.rows(rows)
    if header.size == 0:
        return
    order, shape = "F" if header.fortran else "C", tuple(header.shape)
    for start in range(0, header.shape[0], rows):
        # Create a new mapping for each chunk, since a mapping keeps in memory every page that was
        # read.
        mapped = np.memmap(path, header.dtype, "r", offset, shape, order)
        yield pick(_checked(np.array(mapped[start : start + rows])))


def npz_chunks(path: Path, column: str | int | None, rows: int) -> Iterator[np.ndarray]:
    """Yield chunks of the outputs in one array of an npz file.

    Args:
        path: Path of the file.
        column: Name of an array; or index of a column if the file contains a single array; or None
            to read all columns.
        rows: Maximum number of rows per chunk.

    Raises:
        ValueError: If the file is not an npz file, if it contains objects, or if it contains
            multiple arrays but `column` is not the name of any of them.
    """
    with zipfile.ZipFile(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
        if column in names:
            names, column = [str(column)], None
        if len(names) != 1:
            raise ValueError(
                f"it holds the arrays {names}: choose one of them with column (--column)"
            )
        with _member(archive, path, names[0]) as file:
            header = _header(file)
            pick, rows = _column_of(header.shape, column), header.rows(rows)
            if header.size == 0:
                return
            if header.fortran and len(header.shape) > 1:
                # In Fortran order, columns are stored one after the other, so a compressed array
                # cannot be read in chunks of rows.
                whole = header.array(_read_exactly(file, header.size), header.shape)
                _refuse_more(file)
                yield pick(_checked(whole))
                return
            for start in range(0, header.shape[0], rows):
                count = min(rows, header.shape[0] - start)
                content = _read_exactly(file, header.row * count)
                if start + count == header.shape[0]:
                    _refuse_more(file)
                yield pick(_checked(header.array(content, (count, *header.shape[1:]))))


def npz_array(path: Path, name: str) -> np.ndarray:
    """Read an array of numbers or strings, of any shape, from an npz file.

    Raises:
        ValueError: If the file is not an npz file, if it lacks the array, if it is cut short,
            or if it contains objects.
    """
    with zipfile.ZipFile(path) as archive, _member(archive, path, name) as file:
        header = _header(file, most_axes=None)
        content = _read_exactly(file, header.size)
        _refuse_more(file)
        return _checked(header.array(content, header.shape))


def _member(archive: zipfile.ZipFile, path: Path, name: str) -> IO[bytes]:
    """Open one array in an archive; refuse the array if it is far larger than the archive."""
    if (member := f"{name}.npy") not in archive.namelist():
        raise ValueError(f"it has no array {name!r}, but holds {archive.namelist()}")
    entry = archive.getinfo(member)
    # The archive may state a wrong compressed size, but the true compressed size cannot exceed the
    # size of the archive.
    refuse_bomb(entry.file_size, min(entry.compress_size, path.stat().st_size))
    return archive.open(entry)


def _header(file: IO[bytes], most_axes: int | None = 2) -> _Header:
    read: dict[tuple[int, int], Callable[[IO[bytes]], tuple]] = {
        (1, 0): npy.read_array_header_1_0,
        (2, 0): npy.read_array_header_2_0,
    }
    # Replace NumPy's errors. For unknown magic bytes, NumPy recommends unpickling, which can run
    # code from the file. For a damaged header, NumPy may raise any error of Python's parser.
    try:
        version = npy.read_magic(file)
        header = _Header(*read[version](file)) if version in read else None
    except Exception:
        raise ValueError("it is not an npy file, or its header is damaged") from None
    if header is None:
        raise ValueError("its npy version is not known")
    shape, dtype = header.shape, header.dtype
    if dtype.hasobject:
        raise ValueError(
            "it holds pickled Python objects, which are never loaded: save numbers or strings"
        )
    axes = f"[n] or [n, d], but holds {dtype} of the shape {list(shape)}"
    if dtype.kind not in "biufUS" or (most_axes and not 1 <= len(shape) <= most_axes):
        raise ValueError(f"it must hold numbers or labels of the shape {axes}")
    if min(shape, default=0) < 0 or dtype.itemsize == 0:
        raise ValueError(f"it must hold entries of at least one byte in the shape {axes}")
    if dtype.kind == "f" and dtype.itemsize > 8:
        raise ValueError(f"it holds {dtype} values, which float64 cannot represent exactly")
    if len(shape) == most_axes == 2:
        validate.within_limit("columns", shape[1], "it holds too many columns")
    return header


def _checked(values: np.ndarray) -> np.ndarray:
    """Convert the values in a file to valid NumPy booleans, numbers and strings."""
    if values.dtype.kind == "b":
        return values.view(np.uint8) != 0
    if values.dtype.kind not in "US" or values.size == 0:
        return values
    if values.dtype.kind == "U":
        # Convert to this machine's byte order.
        values = np.ascontiguousarray(values)
        codes = values.view(np.dtype(np.uint32).newbyteorder(values.dtype.byteorder))
        if codes.max() > _LAST_CHARACTER:
            raise ValueError("it holds strings with invalid Unicode characters")
    longest = int(np.char.str_len(values).max())
    validate.within_limit("label_length", longest, "it holds labels of too many characters")
    return values.astype(f"{values.dtype.kind}{max(longest, 1)}")


def _column_of(
    shape: Sequence[int], column: str | int | None
) -> Callable[[np.ndarray], np.ndarray]:
    if column is None:
        return lambda rows: rows
    width = 1 if len(shape) == 1 else shape[1]
    if not str(column).isdecimal() or int(column) >= width:
        raise ValueError(f"it has no column {column!r}: {columns_in_words(width)}")
    return lambda rows: rows.reshape(len(rows), -1)[:, int(column)]


def _read_exactly(file: IO[bytes], size: int) -> bytes:
    content = file.read(size)
    if len(content) != size:
        raise ValueError("it is cut short")
    return content


def _refuse_more(file: IO[bytes]) -> None:
    """Raise an error if any bytes follow the end of an array."""
    if file.read(1):
        raise ValueError(_MORE)
