"""Records, their fields, and the form of a database that consists of records."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from dpjax.core.wording import BadValue
from dpjax.databases.spaces._exact import exact_text
from dpjax.databases.spaces._fields import Column, unchanged

Record = Any
"""A record: a number, a string, a tuple of numbers and strings, or a dict."""


class Row(tuple):
    """A record of a data frame that has row labels.

    Attributes:
        label: Label of the row.
        key: String that is equal for rows with equal fields, or None until it is first computed.
    """

    label: object
    key: str | None

    def __new__(cls, fields: Sequence[object], label: object) -> "Row":
        """Create the record."""
        row = super().__new__(cls, fields)
        row.label = label
        row.key = getattr(fields, "key", None)
        return row


class Form(NamedTuple):
    """The form of a database: how to split it into records, and how to rebuild it from records.

    Attributes:
        name: Description of the form. Forms for databases of different types have different names.
        records: Function that converts a database to a list of its records.
        database: Function that converts a sequence of records to a database of the form.
        alphabet: All possible records, or None if there are too many to list.
        columns: Columns of the records, or () if they must be inferred from the example's records.
        size: Function that returns the number of records in a database.
        settled: Function that replaces the row labels of a list of records with the labels that the
            records would have in a database; all fields stay unchanged.
        exact: Whether a database stores a record unchanged, provided that each column can store the
            record's value in this column.
        blank: Record without fields, for forms whose records have multiple fields; otherwise None.
    """

    name: str
    records: Callable[[Any], list[Record]]
    database: Callable[[Sequence[Record]], Any]
    alphabet: tuple[object, ...] | None = None
    columns: tuple[Column, ...] = ()
    size: Callable[[Any], int] = len
    settled: Callable[[list[Record]], list[Record]] = unchanged
    exact: bool = False
    blank: Record = None


def check_alike(records: Sequence[Record]) -> None:
    """Raise an error unless all records have the same fields.

    Raises:
        ValueError: If records differ in their number of fields, or if dicts differ in their keys.
    """
    kinds = [frozenset(r) if isinstance(r, dict) else len(fields_of(r)) for r in records]
    for record, kind in zip(records, kinds, strict=True):
        if kind != kinds[0]:
            raise BadValue(
                f"like must hold records with the same fields, but held {short(records[0])} and "
                f"{short(record)}: use None for a missing value, or pass a Hypothesis strategy."
            )


def fields_of(record: Record) -> list[Any]:
    """Return the fields of a record; a record is one field unless it is a tuple, list or dict."""
    if isinstance(record, dict):
        return list(record.values())
    return list(record) if isinstance(record, tuple | list) else [record]


def with_fields(record: Record, fields: Sequence[object]) -> Record:
    """Return a record of the same type as `record`, with the given fields."""
    if isinstance(record, dict):
        return dict(zip(record, fields, strict=True))
    if isinstance(record, Row):
        return Row(fields, record.label)
    if make := getattr(record, "_make", None):  # a named tuple
        return make(fields)
    if isinstance(record, tuple | list):
        return type(record)(fields)
    return fields[0]


def key_of(record: Record) -> str:
    """Return a string that identifies a record; -0.0 differs from 0.0, and NaN equals NaN."""
    if isinstance(record, Row):
        return f"{key_of_fields(record)} {record.label!r}"
    return key_of_fields(record)


def key_of_fields(record: Record) -> str:
    """Return a string that is equal for records with equal fields, even if their labels differ."""
    key = getattr(record, "key", None) if isinstance(record, Row) else None
    if key is None:
        texts = [(type(field).__name__, exact_text(field)) for field in fields_of(record)]
        named = isinstance(record, dict)
        key = repr(sorted(zip(map(repr, record), texts, strict=True)) if named else texts)
        if isinstance(record, Row):
            record.key = key
    return key


def short(record: Record) -> str:
    """Return a record as text for a label; long text is shortened."""
    text = repr(record)
    return text if len(text) <= 30 else f"{text[:27]}..."
