"""Reader for JSON lines: text files that contain one output per line, as a JSON value."""

import json
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from dpjax.core import validate
from dpjax.sources.readers._columns import LOOKED_AT, place_of, refuse_index
from dpjax.sources.readers._entries import (
    SPACE,
    MissingEntry,
    as_labels,
    as_numbers,
    inexact_text,
    refuse_written_numbers,
)
from dpjax.sources.readers._lines import lines_of, start_of, text_from

_PART = 2**24
"""Maximum number of characters in a chunk. A chunk has at most _PART / 16 entries."""

_SHOWN = 60
"""Maximum number of characters that an error message quotes from a name."""

_HEAD = 100
"""Number of lines that decide whether lists are vectors or labels."""

_AS_STRING = "write the JSON of each output as a string"


class _Number(str):
    """A number as it is written in the file, so that the same rules apply as in csv files."""


class _Layout(NamedTuple):
    """The layout of a file, which its first value determines.

    Attributes:
        form: Form of each line: "an object", "a list of length 2" or "a single value".
        names: Names of the fields, or the indices of the entries.
        place: Index of the field or entry to read, or None for all of them.
    """

    form: str
    names: list[str]
    place: int | None

    def output(self, value: object, line: int) -> object:
        """Return the output in a line.

        Raises:
            ValueError: If the line has another form, or lacks a field.
        """
        if (form := _form(value)) != self.form:
            raise ValueError(f"mixes {self.form} in line 1 and {form} in line {line}")
        if isinstance(value, list) and self.place is not None:
            return value[self.place]
        if not isinstance(value, dict):
            return value
        wanted = self.names if self.place is None else [self.names[self.place]]
        differ = [name for name in wanted if name not in value]
        if self.place is None:
            differ += [name for name in value if name not in self.names]
        if differ:
            raise ValueError(
                f"must have the same fields in every line, but {differ[0][:_SHOWN]!r} is not in "
                f"both line 1 and line {line}; if the fields of outputs differ, {_AS_STRING}"
            )
        entries = [value[name] for name in wanted]
        return entries[0] if len(entries) == 1 else entries


def json_chunks(path: Path, column: str | int | None, rows: int) -> Iterator[np.ndarray]:
    """Yield chunks of the outputs in a file of JSON lines; see `dpjax.Recording`.

    If the first lines contain lists that are no vectors of one length, each list is a label, and
    the label is the list's JSON text.

    Raises:
        ValueError: If a line is no JSON value, if lines have different forms, if an output is
            neither a number, a string, a boolean nor a list of numbers, or if the column does not
            exist. The error is also raised if no column was chosen and a column seems to contain
            row numbers.
    """
    values = _values(path)
    head = [*islice(values, _HEAD)]
    values = chain(head, values)
    if column is None and _are_lists_of_any_kind([value for value, _ in head]):
        values = ((_text(value), length) for value, length in values)
    kept: list[object] = []
    kind, layout, size, read = "", None, 0, 0
    for line, (value, length) in enumerate(values, start=1):
        layout = layout or _layout(value, column)
        output = layout.output(value, line)
        if (found := _kind(output, line)) != kind:
            if kind:
                raise ValueError(
                    f"mixes outputs: {kind} in line 1, but {found} in line {line}; if outputs are "
                    "labels, write all of them as strings; if they are of several kinds, pass them "
                    "in Python as lists, as in dpjax.Recorded(x, y)"
                )
            kind, width = found, len(output) if isinstance(output, list) else 1
            validate.within_limit("columns", width, "has too many columns")
            rows = max(1, min(rows, _PART // (16 * width)))
        kept.append(output)
        size += length
        if len(kept) == rows or size > _PART:
            yield _array(kept, read, layout)
            read += len(kept)
            kept, size = [], 0
    if kept and layout is not None:
        yield _array(kept, read, layout)


def _are_lists_of_any_kind(values: list[object]) -> bool:
    """Return whether values are lists of labels, or lists of different lengths."""
    lists = [value for value in values if isinstance(value, list)]
    if not lists or len(lists) < len(values):
        return False
    has_labels = any(not isinstance(entry, _Number) for entries in lists for entry in entries)
    return has_labels or len({*map(len, lists)}) > 1


def _text(value: object) -> str:
    """Return the JSON text of a value whose numbers are written as in the file."""
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(n)}: {_text(v)}' for n, v in value.items())}}}"
    return json.dumps(value)


def json_columns(path: Path) -> list[str]:
    """Return the names of the fields in a file of JSON lines, or the indices of its entries."""
    first = next(_values(path), None)
    return [] if first is None else _layout(first[0], None).names


def _values(path: Path) -> Iterator[tuple[object, int]]:
    """Yield the value and the number of characters of each line.

    Raises:
        ValueError: If a line is no JSON value. A blank line may be an empty output, so the error
            is also raised for blank lines before the last output.
    """
    decoder = json.JSONDecoder(
        object_pairs_hook=_fields, parse_int=_Number, parse_float=_Number, parse_constant=_Number
    )
    blank = 0
    with text_from(path, start_of(path)) as file:
        for number, line in enumerate(lines_of(file), start=1):
            if not line.strip(SPACE):
                blank = blank or number
                continue
            if blank:
                raise ValueError(
                    f"has outputs after a blank line, line {blank}: write an empty output as a "
                    'label such as "none", or delete the line if it is not an output'
                )
            try:
                yield decoder.decode(line), len(line)
            except json.JSONDecodeError as error:
                raise ValueError(
                    f"has no JSON value in line {number} ({error.msg} at column {error.colno}): "
                    "write each output as one value on a line of its own"
                ) from None
            except RecursionError:
                raise ValueError(f"has a deeply nested value in line {number}") from None
            except ValueError as error:
                raise ValueError(f"has {error} in line {number}") from None


def _fields(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {twice[:_SHOWN]!r} twice")
    return fields


def _layout(value: object, column: str | int | None) -> _Layout:
    if isinstance(value, dict):
        names = list(value)
    else:
        names = [str(place) for place in range(len(value) if isinstance(value, list) else 1)]
    validate.within_limit("columns", len(names), "has too many columns")
    return _Layout(_form(value), names, place_of(column, names))


def _form(value: object) -> str:
    if isinstance(value, list):
        return f"a list of length {len(value)}"
    return "an object" if isinstance(value, dict) else "a single value"


def _kind(output: object, line: int) -> str:
    """Return the kind of an output, in words.

    Raises:
        ValueError: If the output is of no accepted kind.
    """
    if isinstance(output, _Number):
        return "a number"
    if isinstance(output, str):
        return "a string"
    if isinstance(output, bool):
        return "true or false"
    if output is None:
        raise MissingEntry(
            f"has null in line {line}",
            'write a missing output as a label such as "none", or as NaN among numbers',
        )
    if isinstance(output, list) and output and all(isinstance(v, _Number) for v in output):
        return f"{len(output)} numbers"
    given = "other entries" if isinstance(output, list) and output else _form(output)
    raise ValueError(
        "must have a number, a string, true, false or a list of numbers as each output, but has "
        f"{given} in line {line}; to choose a field, name it with column (--column); to compare "
        f"nested values, {_AS_STRING}"
    )


def _array(outputs: list, read: int, layout: _Layout) -> np.ndarray:
    """Convert outputs of one kind to an array.

    Args:
        outputs: Outputs.
        read: Number of outputs before them.
        layout: Layout of the file.
    """
    first = outputs[0]
    if isinstance(first, bool):
        return np.array(outputs)
    if isinstance(first, str) and not isinstance(first, _Number):
        if read == 0:
            refuse_written_numbers(outputs, 1)
        return as_labels(outputs)
    width = len(first) if isinstance(first, list) else 1
    if width > 1 and read == 0:
        named = layout.form == "an object" and layout.place is None and len(layout.names) == width
        names = layout.names if named else [str(place) for place in range(width)]
        refuse_index(names, list(zip(*outputs[:LOOKED_AT], strict=True)), header=named)
    entries = [entry for row in outputs for entry in row] if isinstance(first, list) else outputs
    values = as_numbers(entries)
    if values is None:
        raise ValueError(inexact_text(entries, width, read + 1))
    return values if width == 1 else values.reshape(-1, width)
