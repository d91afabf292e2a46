"""Plain numbers in text files, a chunk at a time (needs pyarrow).

Whatever is not proven here to be plain is left to the careful reader of `_text`, which decides and
speaks; a chunk that is read here is the one that it would have read.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from dpjax.core.files import opened
from dpjax.sources.readers._entries import first_inexact, is_integer

if TYPE_CHECKING:
    import pyarrow as pa

_SMALL = 2**20
"""Bytes that are read carefully in the time that importing pyarrow takes."""

_READ = 2**22
_WIDEST = 512
"""Bytes a line, on average, that a chunk may hold in memory at once."""

_EXACT = 2**53
"""Integers below it are floats without loss."""

_LONGEST = 131_072
"""Bytes in one line: the csv module refuses longer entries."""

# No quotes, no line end of its own (\v, \f), nothing that needs UTF-8.
_PLAIN = bytes({*range(32, 127), *b"\t\r\n"} - {*b'"'})


def plain_chunks(
    path: Path, offset: int, delimiter: str | None, width: int, place: int | None, rows: int
) -> Iterator[tuple[np.ndarray, int]]:
    """Chunks of numbers from where `offset` is, until one is not plain.

    Args:
        path: A text file.
        offset: Bytes before the first line.
        delimiter: Between the entries of a line; None for white space.
        width: Entries a line.
        place: Of the entry to read; None for all.
        rows: Lines in a chunk.

    Yields:
        int64 or float64 [n] or [n, width], and the bytes of its lines.
    """
    # A packed file may hold any number of lines in few bytes.
    with opened(path) as file:
        file.seek(offset)
        if len(file.read(_SMALL)) < _SMALL:
            return
    try:
        import pyarrow  # noqa: F401
    except ModuleNotFoundError:
        return
    with opened(path) as file:
        file.seek(offset)
        for block, ends in _blocks(file, rows):
            if block.translate(None, _PLAIN) or block.count(b"\r") != block.count(b"\r\n"):
                return
            if np.diff(ends).max() > _LONGEST:
                return
            entries = _entries(block, ends, delimiter, width, place)
            values = None if entries is None else _numbers(entries)
            if values is None:
                return
            several = width > 1 and place is None
            yield values.reshape(-1, width) if several else values, len(block)


def _blocks(file: BinaryIO, rows: int) -> Iterator[tuple[bytes, np.ndarray]]:
    """Bytes of `rows` lines each (the last may have fewer), and where lines begin and end."""
    rest = b""
    while True:
        parts, lines, size = [rest], len(_newlines(rest)), len(rest)
        while lines < rows and (part := file.read(_READ)):
            parts.append(part)
            lines += len(_newlines(part))
            size += len(part)
            if size > _WIDEST * rows + _READ:
                return
        data = b"".join(parts)
        if not data:
            return
        ends = _newlines(data)[:rows] + 1
        if len(ends) < rows and not data.endswith(b"\n"):
            ends = np.append(ends, len(data))
        yield data[: ends[-1]], np.concatenate([[0], ends])
        rest = data[ends[-1] :]


def _newlines(data: bytes) -> np.ndarray:
    return np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))


def _entries(
    block: bytes, ends: np.ndarray, delimiter: str | None, width: int, place: int | None
) -> "pa.StringArray | None":
    """Arrow's texts of all entries, or None where lines have not `width` of them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # Trimming would take a tab for white space.
    if width == 1 and delimiter is not None and delimiter.encode() in block:
        return None
    bounds, content = pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(block)
    entries = pa.StringArray.from_buffers(len(ends) - 1, bounds, content)
    if width > 1:
        if delimiter is None:
            entries = pc.call_function("ascii_trim_whitespace", [entries])
            split = pc.call_function("ascii_split_whitespace", [entries])
        else:
            split = pc.call_function("split_pattern", [entries], pc.SplitPatternOptions(delimiter))
        if np.any(np.diff(split.offsets.to_numpy()) != width):
            return None
        entries = split.flatten()
        if place is not None:
            entries = entries.take(pa.array(np.arange(place, len(entries), width)))
    return pc.call_function("ascii_trim_whitespace", [entries])


def _numbers(entries: "pa.StringArray") -> np.ndarray | None:
    """int64 or float64 [n] as `as_numbers` makes them, or None where that is not certain."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        # Rounded correctly, as Python's float.
        values = entries.cast(pa.float64()).to_numpy().copy()
        strange = np.flatnonzero(~np.isfinite(values))
        texts = entries.take(pa.array(strange)).to_pylist()
        if any(map(is_integer, texts)):
            return None
        # Arrow also takes nan(1).
        values[strange] = [float(text) for text in texts]
        if len(strange) or np.any(values != np.floor(values)):
            return _exact(values, entries)
        # What is a finite number and has none of these is written as an integer.
        reals = pc.call_function(
            "match_substring_regex", [entries], pc.MatchSubstringOptions("[.eE]")
        )
        if reals.to_numpy(zero_copy_only=False).any():
            return _exact(values, entries)
        # Larger ones are left to the careful reader.
        return entries.cast(pa.int64()).to_numpy().copy()
    except ValueError:
        return None


def _exact(values: np.ndarray, entries: "pa.StringArray") -> np.ndarray | None:
    """The values, unless an integer among the reals is too large for a real."""
    import pyarrow as pa

    large = np.flatnonzero(np.abs(values) >= _EXACT)
    texts = entries.take(pa.array(large)).to_pylist()
    return values if first_inexact(values[large], texts) is None else None
