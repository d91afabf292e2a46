"""Fast reader for text files that contain only plain numbers; needs pyarrow.

As soon as a block of lines may contain anything other than plain numbers, the slower reader in
`_text` reads this block and the rest of the file. Only the slower reader reports errors. Both
readers yield the same chunks.
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
"""Minimum size, in bytes, of a file for which pyarrow is imported."""

_READ = 2**22
_WIDEST = 512
"""Maximum average number of bytes per line in a chunk. If lines are longer, the module `_text`
reads them.
"""

_EXACT = 2**53
"""Limit below which float64 represents every integer exactly."""

_LONGEST = 131_072
"""Maximum number of bytes in a line, as in the csv module."""

# Plain bytes are ASCII without quotes and without the line ends \v and \f.
_PLAIN = bytes({*range(32, 127), *b"\t\r\n"} - {*b'"'})


def plain_chunks(
    path: Path, offset: int, delimiter: str | None, width: int, place: int | None, rows: int
) -> Iterator[tuple[np.ndarray, int, bool]]:
    """Yield chunks of numbers, and stop before the first chunk that may contain anything else.

    Args:
        path: Path of a text file.
        offset: Number of bytes before the first line.
        delimiter: Delimiter between the entries of a line, or None for white space.
        width: Number of entries per line.
        place: Index of the entry to read, or None for all entries.
        rows: Number of lines per chunk.

    Yields:
        Tuples (array, num_bytes, is_last): an int64 or float64 array [n] or [n, width]; the number
        of bytes in the lines of this array; and whether the file ends after these lines.
    """
    # Read the content instead of relying on the file size, since a compressed file may hold many
    # lines in a few bytes.
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
        for block, ends, last in _blocks(file, rows):
            if block.translate(None, _PLAIN):
                return
            # First check whether \r occurs at all, since this check is much faster than counting.
            if b"\r" in block and block.count(b"\r") != block.count(b"\r\n"):
                return
            if np.diff(ends).max() > _LONGEST:
                return
            entries = _entries(block, ends, delimiter, width, place)
            values = None if entries is None else _numbers(entries)
            if values is None:
                return
            several = width > 1 and place is None
            yield values.reshape(-1, width) if several else values, len(block), last


def _blocks(file: BinaryIO, rows: int) -> Iterator[tuple[bytes, np.ndarray, bool]]:
    """Yield tuples (block, ends, is_last), where `block` has at most `rows` lines.

    The array `ends` contains the index of each line end, and `is_last` states whether the file ends
    after the block.
    """
    rest, found = b"", np.zeros(0, np.intp)
    while True:
        parts, places, lines, size = [rest], [found], len(found), len(rest)
        while lines < rows and (part := file.read(_READ)):
            parts.append(part)
            places.append(_newlines(part) + size)
            lines += len(places[-1])
            size += len(part)
            if size > _WIDEST * rows + _READ:
                return
        data, newlines = b"".join(parts), np.concatenate(places)
        if not data:
            return
        ends = newlines[:rows] + 1
        if len(ends) < rows and not data.endswith(b"\n"):
            ends = np.append(ends, len(data))
        end = int(ends[-1])
        rest, found = data[end:], newlines[rows:] - end
        if not rest:
            # Read ahead to see whether the file ends here. Without reading ahead, a compressed file
            # would have to be decompressed a second time.
            rest = file.read(_READ)
            found = _newlines(rest)
        yield data[:end], np.concatenate([[0], ends]), not rest


def _newlines(data: bytes) -> np.ndarray:
    return np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))


def _entries(
    block: bytes, ends: np.ndarray, delimiter: str | None, width: int, place: int | None
) -> "pa.StringArray | None":
    """Return a block's entries as Arrow strings; None if any line does not have `width` entries."""
    import pyarrow as pa
    import pyarrow.compute as pc

    # A line with a single entry is not split. Trimming the entry would remove a tab that is a
    # delimiter, so leave lines with a delimiter to `_text`.
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
    """Convert entries to numbers, or return None if the result might differ from `as_numbers`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        # Arrow rounds correctly, like `float` in Python.
        values = entries.cast(pa.float64()).to_numpy().copy()
        strange = np.flatnonzero(~np.isfinite(values))
        texts = entries.take(pa.array(strange)).to_pylist()
        if any(map(is_integer, texts)):
            return None
        # Convert non-finite values with Python, since Arrow also accepts strings such as nan(1).
        values[strange] = [float(text) for text in texts]
        if len(strange) or np.any(values != np.floor(values)):
            return _exact(values, entries)
        # A number without any of these characters is written as an integer.
        reals = pc.call_function(
            "match_substring_regex", [entries], pc.MatchSubstringOptions("[.eE]")
        )
        if reals.to_numpy(zero_copy_only=False).any():
            return _exact(values, entries)
        # The cast raises ValueError for integers that are too large, so that `_text` reads the
        # block.
        return entries.cast(pa.int64()).to_numpy().copy()
    except ValueError:
        return None


def _exact(values: np.ndarray, entries: "pa.StringArray") -> np.ndarray | None:
    """Return `values`, or None if float64 cannot represent one of the integer entries exactly."""
    import pyarrow as pa

    large = np.flatnonzero(np.abs(values) >= _EXACT)
    texts = entries.take(pa.array(large)).to_pylist()
    return values if first_inexact(values[large], texts) is None else None
