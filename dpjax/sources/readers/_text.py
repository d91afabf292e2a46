"""Reader for text files (csv, tsv and txt) that contain one output per line."""

import csv
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpjax.core import validate
from dpjax.core.files import PACKED
from dpjax.core.semicolons import SEMICOLON, has_semicolons, with_points
from dpjax.sources.readers._columns import (
    LOOKED_AT,
    are_names,
    look_like_names,
    may_be_names,
    place_of,
    refuse_decimal_commas,
    refuse_index,
    refuse_other_delimiter,
    refuse_unchosen_names,
)
from dpjax.sources.readers._entries import (
    SPACE,
    MissingEntry,
    as_labels,
    as_numbers,
    decimal_comma_text,
    has_decimal_comma,
    inexact_text,
    is_number,
    refuse_decimal_comma,
    refuse_number_in_words,
    refuse_output_as_name,
    refuse_written_numbers,
)
from dpjax.sources.readers._lines import lines_of, start_of, text_from
from dpjax.sources.readers._plain import plain_chunks

_DELIMITERS = {".csv": ",", ".tsv": "\t", ".txt": None}

_PART = 2**24
"""Maximum number of characters in a chunk. A chunk has at most _PART / 16 entries."""

_SHOWN = 60
"""Maximum number of characters that an error message quotes from an entry."""

_OFTEN = 5
"""Minimum mean number of times that each label below row 1 occurs if row 1 may be a name."""

_ENTRY = re.compile(f"[^{SPACE}]+")


def _kind_of(path: Path) -> str:
    """Return the suffix that determines the file's format; a suffix in `PACKED` is ignored."""
    return Path(path.stem if path.suffix.lower() in PACKED else path).suffix.lower()


def text_chunks(path: Path, column: str | int | None, rows: int) -> Iterator[np.ndarray]:
    """Yield chunks of the outputs in a text file; see `dpjax.Recording`.

    The first line is a header if it contains the column's name, or if the column's entry is a
    number in the second line but not in the first line. If the first line contains only numbers, a
    column given as 0, 1, ... is an index, unless the line seems to be a header. In csv files,
    semicolons may separate the entries if numbers have decimal commas.

    Raises:
        ValueError: If lines have different numbers of entries, if there is a blank line before the
            last output, if numbers are mixed with other entries, or if the column does not exist.
            The error is also raised if the first line seems to contain numbers as names of columns
            but no name was chosen, or if no column was chosen and a column seems to contain row
            numbers.
    """
    layout = _layout(path, column)
    if layout is None:
        return
    _, delimiter, width, place, header, offset, lines_before = layout
    if width > 1 and place is None:
        _refuse_columns(path, layout)
    rows = max(1, min(rows, _PART // (16 * width)))
    numeric: bool | None = None
    read = int(header)
    # The fast reader knows no decimal commas.
    plain = plain_chunks(path, offset, delimiter, width, place, rows)
    for chunk, size, last in plain if delimiter != SEMICOLON else ():
        numeric = True
        yield chunk
        if last:
            return
        read += len(chunk)
        lines_before += len(chunk)
        offset += size
    with text_from(path, offset) as file:
        lines = _rows(lines_of(file), delimiter, lines_before)
        for kept in _parts(lines, (width, read), rows, delimiter or " "):
            chunk = _chunk(kept, place, read)
            if numeric is None:
                numeric = chunk.dtype.kind not in "UO"
                if not numeric:
                    named = int(not header)  # The entry in row 1 may be the name of a column.
                    labels = [row[place or 0] for row in kept[named:]]
                    if place is None and delimiter is not None and len(kept) == 1 < rows:
                        _refuse_lone_name(kept[0][0])
                    refuse_written_numbers(labels, read + 1 + named)
            if numeric != (chunk.dtype.kind not in "UO"):
                raise _mixed(kept, place or 0, read, numeric)
            yield chunk
            read += len(kept)


def _refuse_lone_name(entry: str) -> None:
    """Raise ValueError if the only entry of a table may be the name of a column."""
    if name := entry.strip(SPACE):
        raise ValueError(
            f"has only one row, {name[:_SHOWN]!r}, which may be the name of a column: choose the "
            "column of the outputs with column (--column), by its name, or by its index, 0, if the "
            "row is an output"
        )


def _parts(
    lines: Iterator[list[str]], place: tuple[int, int], rows: int, delimiter: str
) -> Iterator[list[list[str]]]:
    """Yield lists of up to `rows` rows.

    Args:
        lines: Entries of each row.
        place: Tuple (number of entries per row, number of rows before).
        rows: Maximum number of rows in a list.
        delimiter: Delimiter between the entries, for error messages.

    Raises:
        ValueError: If a row has another number of entries.
    """
    width, read = place
    kept: list[list[str]] = []
    size = 0
    for number, row in enumerate(lines, start=read + 1):
        if len(row) != width:
            raise ValueError(
                f"must have equally many entries in every row, but has {width} in row 1 and "
                f"{len(row)} in row {number} ({delimiter.join(row)[:_SHOWN]!r}): write one output "
                "per line, and delete lines without an output, such as titles, comments and totals"
            )
        kept.append(row)
        size += sum(map(len, row))
        if len(kept) == rows or size > _PART:
            yield kept
            kept, size = [], 0
    if kept:
        yield kept


def text_columns(path: Path, column: str | int | None = None) -> list[str]:
    """Return the names of a text file's columns, or their indices if there is no header.

    Args:
        path: Path of the file.
        column: A column of the file, which may show whether there is a header.
    """
    layout = _layout(path, column)
    return [] if layout is None else layout.names


def first_row_note(path: Path) -> str:
    """Return a sentence about row 1 if it is an output but looks like the names of the columns."""
    layout = _layout(path, None)
    if layout is None or layout.header:
        return ""
    (row, *_), _, *end = _head(path, layout.delimiter)
    entries = [entry.strip(SPACE) for entry in row]
    if layout.width == 1:
        others = [other[0].strip(SPACE) for other in _rows_after(path, layout.delimiter, *end)]
        is_other = not is_number(entries[0]) and entries[0] not in others
        if not is_other or len(others) < max(1, _OFTEN * len({*others})):
            return ""
        return (
            f" Row 1, {entries[0][:_SHOWN]!r}, is an output, too; if it is the name of the column, "
            "choose this column with column (--column)."
        )
    if not (may_be_names(entries) and look_like_names(entries)):
        return ""
    return " Row 1 is an output, too; if it contains the names of the columns, delete it."


class _Layout(NamedTuple):
    """The layout of a text file.

    Attributes:
        names: Names of the columns, or their indices if there is no header.
        delimiter: Delimiter between the entries of a line, or None for white space.
        width: Number of entries per line.
        place: Index of the entry to read, or None for all entries.
        header: Whether the first row contains the names of the columns.
        offset: Number of bytes before the first output.
        lines: Number of lines before the first output.
    """

    names: list[str]
    delimiter: str | None
    width: int
    place: int | None
    header: bool
    offset: int
    lines: int


def _layout(path: Path, column: str | int | None) -> _Layout | None:
    delimiter = _DELIMITERS[_kind_of(path)]
    if delimiter == ",":
        with text_from(path, start_of(path)) as file:
            delimiter = SEMICOLON if has_semicolons(lines_of(file)) else delimiter
    head, offset, next_offset, lines_of_first = _head(path, delimiter)
    if not head:
        return None
    validate.within_limit("columns", len(head[0]), "has too many columns")
    names = [name.strip(SPACE) for name in head[0]]
    header = isinstance(column, str) and column in names
    numbers = [str(number) for number in range(len(names))]
    known = names
    if all(map(is_number, names)):
        end = next_offset, lines_of_first
        if not (may_be_names(names) and are_names(names, _rows_after(path, delimiter, *end))):
            header &= column not in numbers and names.count(str(column)) == 1
        elif not header:
            refuse_unchosen_names(names)
        known = names if header else numbers
    place = place_of(column, known)
    looked_at = 0 if place is None else place
    if not header and len(head) > 1 and len(head[1]) > looked_at:
        header = not is_number(head[0][looked_at]) and is_number(head[1][looked_at])
        if header and (len(names) == 1 or place is not None):
            refuse_output_as_name(head[0][looked_at])
    if header:
        return _Layout(names, delimiter, len(names), place, True, next_offset, lines_of_first)
    return _Layout(numbers, delimiter, len(names), place, False, offset, 0)


def _rows_after(
    path: Path, delimiter: str | None, offset: int, lines_before: int
) -> list[list[str]]:
    """Return the first rows after a number of bytes, which contain `lines_before` lines."""
    with text_from(path, offset) as file:
        return list(islice(_rows(lines_of(file), delimiter, lines_before), LOOKED_AT))


def _refuse_columns(path: Path, layout: _Layout) -> None:
    rows = _rows_after(path, layout.delimiter, layout.offset, layout.lines)
    if {len(row) for row in rows} == {layout.width}:
        if layout.delimiter == "," and not layout.header:
            refuse_decimal_commas(rows)
        refuse_index(layout.names, list(zip(*rows, strict=True)), header=layout.header)


def _head(path: Path, delimiter: str | None) -> tuple[list[list[str]], int, int, int]:
    """Return the first two rows, and the first row's start, end and number of lines."""
    start = start_of(path)
    seen: list[str] = []
    with text_from(path, start) as file:
        rows = _rows(_remembering(lines_of(file), seen), delimiter)
        head = list(islice(rows, 1))
        end, lines = start + len("".join(seen).encode()), len(seen)
        return head + list(islice(rows, 1)), start, end, lines


def _remembering(lines: Iterable[str], seen: list[str]) -> Iterator[str]:
    for line in lines:
        seen.append(line)
        yield line


def _numbered(lines: Iterable[str], delimiter: str | None) -> Iterator[tuple[int, list[str]]]:
    """For each row, yield the line number of the row's last line, and the row's entries."""
    if delimiter is None:
        yield from enumerate(map(_ENTRY.findall, lines), start=1)
        return
    reader = csv.reader(lines, delimiter=delimiter)
    for row in reader:
        yield reader.line_num, row


def _rows(
    lines: Iterable[str], delimiter: str | None, lines_before: int = 0
) -> Iterator[list[str]]:
    """Yield the entries of each row, and raise an error for blank lines before the last row.

    A blank line between outputs may be an empty output. If the reader skipped blank lines, the
    audit would see only the conditional distribution of nonempty outputs. The bound would then be
    invalid because e^epsilon does not bound ratios of conditional probabilities.
    """
    blank = 0
    for number, row in _numbered(lines, delimiter):
        # A quoted empty string is an entry; a line of white space is blank.
        if not row or (len(row) == 1 and row[0] and not row[0].strip(SPACE)):
            blank = blank or number
        elif blank:
            raise MissingEntry(
                f"has outputs after a blank line, line {lines_before + blank}",
                "write an empty output as a label such as 'none' (or as nan among numbers), or "
                "delete the line if it is not an output",
            )
        else:
            yield with_points(row, lines_before + number) if delimiter == SEMICOLON else row


_NAME = "name the column to use"
_SEPARATE = (
    "write a missing number as nan, and entries that are all labels as strings in JSON lines; if "
    "outputs are numbers and labels, pass them in Python as lists, as in dpjax.Recorded(x, y)"
)
"""What to do about a file with numbers and other entries in several columns, and in one column."""


def _chunk(rows: list[list[str]], place: int | None, read: int) -> np.ndarray:
    width = 1 if place is not None else len(rows[0])
    entries = (
        [entry for row in rows for entry in row] if place is None else [row[place] for row in rows]
    )
    values = as_numbers(entries)
    if values is not None:
        return values if width == 1 else values.reshape(-1, width)
    first = [is_number(entry) for entry in entries]
    if all(first):
        raise ValueError(inexact_text(entries, width, read + 1))
    if any(first):
        # If the first entry is empty, assume that the column is meant to hold numbers.
        empty = not entries[0].strip(SPACE)
        raise _mixed(rows, place, read, first[0] or empty)
    if width > 1 and all(map(has_decimal_comma, entries)):
        raise ValueError(decimal_comma_text(entries[0], read + 1))
    if width > 1:
        raise ValueError(
            "must have one label per line; otherwise, name the column to use, or write texts that "
            "contain commas in quotation marks or as JSON lines"
        )
    refuse_decimal_comma(entries, read + 1)
    refuse_other_delimiter(entries, read + 1)
    return as_labels([entry.strip(SPACE) for entry in entries])


def _mixed(rows: list[list[str]], place: int | None, read: int, numeric: bool) -> ValueError:
    """Return the error for the first entry that is not a number, or is one although others are not.

    Args:
        rows: Entries of the lines.
        place: Index of the entry to read, or None for all entries.
        read: Number of rows before.
        numeric: Whether the entries should be numbers.

    Raises:
        ValueError: If an entry that is not read as a number is a number written in another way.
    """
    before, last = "", 0
    for number, row in enumerate(rows, start=read + 1):
        for entry in row if place is None else [row[place]]:
            if is_number(entry) == numeric:
                before, last = entry, number
                continue
            refuse_number_in_words(*(entry, number) if numeric else (before, last))
            if not entry.strip(SPACE):
                return MissingEntry(
                    f"has an empty entry in row {number} among numbers",
                    "write a missing number as nan, which is an outcome of its own",
                )
            before = before[:_SHOWN]
            return ValueError(
                f"mixes numbers and other entries: {entry[:_SHOWN]!r} in row {number} is "
                f"{'not a number' if numeric else f'a number, unlike {before!r} before it'}"
                f"; {_NAME if place is None and len(row) > 1 else _SEPARATE}"
            )
    return ValueError("mixes numbers and other entries")
