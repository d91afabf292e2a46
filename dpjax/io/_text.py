"""Text files in chunks: csv, tsv and txt with one output a line."""

import csv
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from io import TextIOWrapper
from itertools import islice
from pathlib import Path

import numpy as np

from dpjax._errors import nearest
from dpjax.io._entries import as_numbers, is_number
from dpjax.io._plain import plain_chunks

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": None}


def text_chunks(path: Path, column: str | int | None, rows: int) -> Iterator[np.ndarray]:
    """Chunks of a text file; see `dpjax.io.Recording`.

    A first line that is no number while the next one is, or that has the name of the column, is a
    header.

    Raises:
        ValueError: Its lines differ in length, numbers and other entries are mixed, or there is no
            such column.
    """
    delimiter = _DELIMITERS[path.suffix.lower()]
    head, offset, next_offset = _head(path, delimiter)
    if not head:
        return
    names = [name.strip() for name in head[0]]
    place = _place_of(column, names)
    looked_at = 0 if place is None else place
    header = isinstance(column, str) and column in names
    if len(head) > 1 and len(head[1]) > looked_at:
        header |= not is_number(head[0][looked_at]) and is_number(head[1][looked_at])
    if header:
        offset = next_offset
    width = len(head[0])
    numeric: bool | None = None
    read = int(header)
    for chunk, size in plain_chunks(path, offset, delimiter, width, place, rows):
        numeric = True
        yield chunk
        read += len(chunk)
        offset += size
    with _opened(path, offset) as file:
        lines = _rows(file, delimiter)
        while kept := list(islice(lines, rows)):
            widths = {len(row) for row in kept} | {width}
            if len(widths) > 1:
                raise ValueError(
                    f"must have one output a line, but its lines have {min(widths)} to "
                    f"{max(widths)} entries"
                )
            chunk = _chunk(kept, place, read)
            if numeric is None:
                numeric = chunk.dtype.kind != "U"
            if numeric != (chunk.dtype.kind != "U"):
                raise ValueError(_mixed(kept, looked_at, read, numeric))
            yield chunk
            read += len(kept)


def _head(path: Path, delimiter: str | None) -> tuple[list[list[str]], int, int]:
    """The first two rows, and the bytes before the first one and after it."""
    with path.open("rb") as file:
        start = len(BOM_UTF8) if file.read(len(BOM_UTF8)) == BOM_UTF8 else 0
    seen: list[str] = []
    with _opened(path, start) as file:
        rows = _rows(_remembering(file, seen), delimiter)
        head = list(islice(rows, 1))
        end = start + len("".join(seen).encode())
        return head + list(islice(rows, 1)), start, end


def _opened(path: Path, offset: int) -> TextIOWrapper:
    file = path.open("rb")
    file.seek(offset)
    return TextIOWrapper(file, encoding="utf-8", newline="")


def _remembering(lines: Iterable[str], seen: list[str]) -> Iterator[str]:
    for line in lines:
        seen.append(line)
        yield line


def _rows(lines: Iterable[str], delimiter: str | None) -> Iterator[list[str]]:
    if delimiter is None:
        return (line.split() for line in lines if line.strip())
    return (row for row in csv.reader(lines, delimiter=delimiter) if row)


def _place_of(column: str | int | None, names: list[str]) -> int | None:
    if column is None:
        return None
    if isinstance(column, str) and column in names:
        return names.index(column)
    try:
        place = int(column)
    except ValueError:
        raise ValueError(f"has no column {column!r}; {nearest(str(column), names)}") from None
    if not 0 <= place < len(names):
        raise ValueError(f"has no column {place}: its columns are 0 to {len(names) - 1}")
    return place


def _chunk(rows: list[list[str]], place: int | None, read: int) -> np.ndarray:
    width = 1 if place is not None else len(rows[0])
    entries = (
        [entry for row in rows for entry in row] if place is None else [row[place] for row in rows]
    )
    values = as_numbers(entries)
    if values is not None:
        return values if width == 1 else values.reshape(-1, width)
    first = [is_number(entry) for entry in entries]
    if any(first):
        raise ValueError(_mixed(rows, place, read, first[0]))
    if width > 1:
        raise ValueError("must have one label a line, or the column to use must be named")
    return np.array([entry.strip() for entry in entries])


def _mixed(rows: list[list[str]], place: int | None, read: int, numeric: bool) -> str:
    for number, row in enumerate(rows, start=read + 1):
        for entry in row if place is None else [row[place]]:
            if is_number(entry) != numeric:
                return (
                    f"mixes numbers and other entries: {entry!r} in row {number} is "
                    f"{'no number' if numeric else 'a number'}"
                )
    return "mixes numbers and other entries"
