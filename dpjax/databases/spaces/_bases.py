"""Variants of an example database that tend to break algorithms, such as an empty database."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from dpjax.databases.spaces._fields import Field
from dpjax.databases.spaces._records import (
    Form,
    Record,
    fields_of,
    key_of,
    short,
    with_fields,
)

MOST_RECORDS = 150
"""Maximum number of candidates for the record in which two databases differ."""

_SHARES = (3, 90, 25, 16, 16)
"""Maximum number of candidate records of each kind, if there are more than `MOST_RECORDS` in all.
The kinds are: records of the example, the first record with one changed field, the last record with
one changed field, records with new fields in order, and records with random new fields."""

_MOST_CONSTANT = 8
"""Maximum number of fields that are made constant, each in separate databases."""

_NO_EXAMPLE = 2
"""Number of records in a constant database if the example database is empty."""


class Base(NamedTuple):
    """A base database, from which pairs of neighbors are made.

    Attributes:
        name: Description of the database.
        size: Number of records.
        records: Function that returns a new list of the records.
    """

    name: str
    size: int
    records: Callable[[], list[Record]]


def records_worth_trying(
    seen: Sequence[Record], form: Form, fields: Sequence[Field], rng: np.random.Generator
) -> list[Record]:
    """Return candidate records: example records, and copies with one or all fields changed."""
    each = list(zip(*map(fields_of, seen), strict=True)) if seen else [()] * len(fields)
    options = [field.values(values) for field, values in zip(fields, each, strict=True)]
    most = max(map(len, options), default=0)
    kinds: list[list[Record]] = [[*seen[:3]]]
    if seen:
        kinds += [_one_changed(seen[0], options), _one_changed(seen[-1], options)]
    whole = all(options) and (len(options) > 1 or not seen)
    if whole and options:
        like = seen[0] if seen else form.blank
        in_order = [[values[i % len(values)] for values in options] for i in range(most)]
        drawn = [[v[rng.integers(len(v))] for v in options] for _ in range(4 * most)]
        kinds += [[with_fields(like, chosen) for chosen in some] for some in (in_order, drawn)]
    shares: Sequence[int] = _SHARES[: len(kinds)] if seen else (0, 75, 75)
    if sum(map(len, kinds)) > MOST_RECORDS:
        kinds = [some[:share] for some, share in zip(kinds, shares, strict=False)]
    distinct: dict[str, Record] = {}
    for record in chain(*kinds):
        distinct.setdefault(key_of(record), record)
    return list(distinct.values())


def _one_changed(record: Record, options: Sequence[Sequence[object]]) -> list[Record]:
    """Return copies of a record with one changed field; the fields' first options come first."""
    found, fields = [], fields_of(record)
    for place in range(max(map(len, options), default=0)):
        for field, values in enumerate(options):
            if place < len(values):
                changed = [*fields[:field], values[place], *fields[field + 1 :]]
                found.append(with_fields(record, changed))
    return found


def bases_of(
    seen: list[Record],
    records: Sequence[Record],
    fields: Sequence[Field],
    num_records: int | None,
    fixed: bool,
) -> list[Base]:
    """Return the base databases from which neighbors are made; the example comes first.

    Args:
        seen: Records of the example database.
        records: Candidate records.
        fields: Fields of the records.
        num_records: Number of records that every database must have, or None if the number is not
            fixed.
        fixed: Whether neighbors must have the same number of records.
    """
    size = num_records or len(seen) or _NO_EXAMPLE
    found = [Base("the example", len(seen), seen.copy)]
    if records:
        found.append(Base("the example, reversed", len(seen), lambda: seen[::-1]))
        if not fixed:
            found.append(Base("no record", 0, list))
            found += [Base("one record", 1, [record].copy) for record in records[:3]]
            found.append(Base("the example twice", 2 * len(seen), lambda: seen + seen))
        found += _constant_columns(seen, fields)
        for record in records:
            found.append(Base(f"all {short(record)}", size, partial(_repeated, record, size)))
        for one, other in pairwise(records):
            name = f"half {short(one)}, half {short(other)}"
            found.append(Base(name, size, partial(_halves, one, other, size)))
    return [base for base in found if num_records in (None, base.size)]


def _constant_columns(seen: list[Record], fields: Sequence[Field]) -> Iterator[Base]:
    """Yield copies of the example in which one field has the same value in all records."""
    if not seen or len(fields) < 2:
        return
    columns = list(zip(*map(fields_of, seen), strict=True))
    for place, field in enumerate(fields[:_MOST_CONSTANT]):
        name = f"field {place}" if field.column.name is None else str(field.column.name)
        options = field.values(columns[place])
        for value in {repr(v): v for v in (*options[:1], *options[-1:])}.values():
            label = f"the example, {name} is {short(value)}"
            yield Base(label, len(seen), partial(_constant, seen, place, value))


def _constant(seen: list[Record], place: int, value: object) -> list[Record]:
    found = []
    for record in seen:
        fields = fields_of(record)
        fields[place] = value
        found.append(with_fields(record, fields))
    return found


def _repeated(record: Record, size: int) -> list[Record]:
    return [record] * size


def _halves(one: Record, other: Record, size: int) -> list[Record]:
    return [one] * (size // 2) + [other] * (size - size // 2)
