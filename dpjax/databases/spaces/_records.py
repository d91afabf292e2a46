"""Records, their fields, and the form of a database that consists of records."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dpjax.databases.spaces._fields import Column

Record = Any
"""A record: a number, a string, a tuple of numbers and strings, or a dict."""


class Row(tuple):
    """A record of a data frame whose index labels its rows.

    Attributes:
        label: Label of the row.
        key: Text that is equal for rows of equal fields, or None if it is not known yet.
    """

    label: object
    key: str | None

    def __new__(cls, fields: Sequence[object], label: object) -> "Row":
        """Create the record."""
        row = super().__new__(cls, fields)
        row.label = label
        row.key = getattr(fields, "key", None)
        return row


def _unchanged(records: list[Record]) -> list[Record]:
    return records


class Form(NamedTuple):
    """The form of a database: how to split it into records, and how to rebuild it from records.

    Attributes:
        name: Description that differs between forms whose databases have different types.
        records: Function that converts a database to a list of its records.
        database: Function that converts a sequence of records to a database of the form.
        alphabet: All possible records, or None if there are too many to list.
        columns: Columns of the records, or () if the records of the example show all there is.
        size: Function that returns the number of records of a database.
        settled: Function that returns the records that the database of given records would have,
            where this differs from the given records in labels alone.
        exact: Whether a database stores all records as they are, once each of their values is the
            value that its column stores.
        blank: A record of no fields, if records have several fields.
    """

    name: str
    records: Callable[[Any], list[Record]]
    database: Callable[[Sequence[Record]], Any]
    alphabet: tuple[object, ...] | None = None
    columns: tuple[Column, ...] = ()
    size: Callable[[Any], int] = len
    settled: Callable[[list[Record]], list[Record]] = _unchanged
    exact: bool = False
    blank: Record = None


def fields_of(record: Record) -> list[Any]:
    """Return the fields of a record; a record that is no tuple, list or dict is a single field."""
    if isinstance(record, dict):
        return list(record.values())
    return list(record) if isinstance(record, tuple | list) else [record]


def with_fields(record: Record, fields: Sequence[object]) -> Record:
    """Return a record of the same type as `record`, with the given fields."""
    if isinstance(record, dict):
        return dict(zip(record, fields, strict=True))
    if isinstance(record, Row):
        return Row(fields, record.label)
    if isinstance(record, tuple | list):
        return type(record)(fields)
    return fields[0]


def key_of(record: Record) -> str:
    """Return a text that is equal for equal records; -0.0 differs from 0.0, NaN equals NaN."""
    if isinstance(record, Row):
        return f"{key_of_fields(record)} {record.label!r}"
    return key_of_fields(record)


def key_of_fields(record: Record) -> str:
    """Return the key of a record without its label."""
    key = getattr(record, "key", None) if isinstance(record, Row) else None
    if key is None:
        key = repr([(type(field).__name__, repr(field)) for field in fields_of(record)])
        if isinstance(record, Row):
            record.key = key
    return key
