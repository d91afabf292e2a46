"""Conversion of databases to lists of records, and of records to lists of fields."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpjax.core.wording import BadType

Record = Any
"""A record: a number, a string, a tuple of numbers and strings, or a dict."""

_CHARACTERS = "a 0\n\x00\u00e9\U0001f600"
"""Characters that tend to break parsers."""


class Form(NamedTuple):
    """The form of a database: how to split it into records, and how to rebuild it from records.

    Attributes:
        name: Description of the form.
        records: Function that converts a database to a list of its records.
        database: Function that converts a sequence of records to a database of the form.
        alphabet: All possible records, or None if there are too many to list.
    """

    name: str
    records: Callable[[Any], list[Record]]
    database: Callable[[Sequence[Record]], Any]
    alphabet: tuple[object, ...] | None = None


def form_of(like: object) -> Form:
    """Return the form of an example database.

    Args:
        like: A list or tuple of records; an array [records] or [records, fields]; a data frame; a
            tuple of arrays of equal length, such as (X, y); a dict of columns; a string, whose
            records are its characters; bytes.

    Raises:
        TypeError: When `like` is a database of another form.
    """
    if isinstance(like, str):
        return Form("text", list, "".join, tuple(sorted({*like, *_CHARACTERS})))
    if isinstance(like, bytes | bytearray):
        return Form("bytes", list, bytes, _each_bit(like))
    if isinstance(like, np.ndarray) and like.ndim in (1, 2):
        return _array(like)
    if type(like).__name__ == "DataFrame" and hasattr(like, "itertuples"):
        return _frame(like)
    if isinstance(like, dict) and like and _are_columns(list(like.values())):
        names, parts = list(like), _columns(tuple(like.values()))
        return Form(
            "a dict of columns",
            lambda given: parts.records(tuple(given[name] for name in names)),
            lambda rows: dict(zip(names, parts.database(rows), strict=True)),
        )
    if isinstance(like, tuple) and _are_columns(like):
        return _columns(like)
    if isinstance(like, list | tuple):
        return Form(f"a {type(like).__name__}", list, type(like))
    raise BadType(
        "like must be a list or tuple of records, an array of one or two axes, a data frame, a "
        "tuple or dict of columns, a text, or bytes, but was of the type "
        f"{type(like).__name__}: for a number or a vector, pass relation=Within(...)."
    )


def fields_of(record: Record) -> list[Any]:
    """Return the fields of a record; a record that is no tuple, list or dict is a single field."""
    if isinstance(record, dict):
        return list(record.values())
    return list(record) if isinstance(record, tuple | list) else [record]


def with_fields(record: Record, fields: Sequence[object]) -> Record:
    """Return a record of the same type as `record`, with the given fields."""
    if isinstance(record, dict):
        return dict(zip(record, fields, strict=True))
    if isinstance(record, tuple | list):
        return type(record)(fields)
    return fields[0]


def key_of(record: Record) -> object:
    """Return a key that is equal for equal records; -0.0 differs from 0.0, NaN equals NaN."""
    return tuple((type(field).__name__, repr(field)) for field in fields_of(record))


def _each_bit(like: bytes | bytearray) -> tuple[int, ...]:
    """Return the bytes 0 and 255, the bytes of an example, and its bytes with one flipped bit."""
    seen = sorted(set(like[:16]))
    return tuple(sorted({0, 255, *seen, *(byte ^ 1 << bit for byte in seen for bit in range(8))}))


def _array(like: np.ndarray) -> Form:
    dtype, width = like.dtype, like.shape[1:]

    def records(given: np.ndarray) -> list[Record]:
        rows = np.asarray(given).tolist()
        return [tuple(row) for row in rows] if width else rows

    def database(rows: Sequence[Record]) -> np.ndarray:
        return np.array(list(rows), dtype).reshape(len(rows), *width)

    return Form("an array", records, database)


def _frame(like: Any) -> Form:
    kind, columns, dtypes = type(like), list(like.columns), dict(like.dtypes)

    def records(given: Any) -> list[Record]:
        return [tuple(_plain(value) for value in row) for row in given.itertuples(index=False)]

    def database(rows: Sequence[Record]) -> Any:
        return kind.from_records(list(rows), columns=columns).astype(dtypes)

    return Form("a data frame", records, database)


def _are_columns(parts: Sequence[Any]) -> bool:
    """Return whether there are at least two columns, all of one length, and at least one array."""
    if len(parts) < 2 or not any(isinstance(part, np.ndarray) for part in parts):
        return False
    return all(isinstance(part, np.ndarray | list) for part in parts) and (
        len({len(part) for part in parts}) == 1
    )


def _columns(like: tuple[object, ...]) -> Form:
    forms = [form_of(part) for part in like]
    widths = [len(fields_of(form.records(p)[0])) for form, p in zip(forms, like, strict=True)]
    ends = np.cumsum([0, *widths]).tolist()
    flat = [not (isinstance(part, np.ndarray) and part.ndim == 2) for part in like]

    def records(given: tuple[object, ...]) -> list[Record]:
        parts = [form.records(part) for form, part in zip(forms, given, strict=True)]
        return [tuple(v for part in row for v in fields_of(part)) for row in zip(*parts)]  # noqa: B905

    def database(rows: Sequence[Record]) -> tuple[object, ...]:
        cuts = zip(ends, ends[1:], flat, forms, strict=False)
        return tuple(
            form.database([row[start] if one else row[start:stop] for row in rows])
            for start, stop, one, form in cuts
        )

    return Form("columns", records, database)


def _plain(value: object) -> object:
    return value.item() if isinstance(value, np.generic) else value
