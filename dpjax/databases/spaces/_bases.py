"""Variants of an example database that tend to break algorithms, such as an empty database."""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dpjax.databases.spaces._domain import Domain
from dpjax.databases.spaces._forms import Record, fields_of, key_of, with_fields

_MOST_RECORDS = 150
"""Maximum number of candidates for the record in which two databases differ."""


class Base(NamedTuple):
    """A database from which pairs of neighbors are made."""

    name: str
    records: list[Record]


def records_worth_trying(
    seen: Sequence[Record], domain: Domain, rng: np.random.Generator
) -> list[Record]:
    """Return records that differ from an example record in one field or in all fields."""
    if not seen:
        return []
    columns = list(zip(*(fields_of(record) for record in seen), strict=True))
    values = [domain.values(column, field) for field, column in enumerate(columns)]
    found = list(seen[:3])
    for record in (seen[0], seen[-1]):
        for field, options in enumerate(values):
            rest = fields_of(record)
            found += [with_fields(record, [*rest[:field], v, *rest[field + 1 :]]) for v in options]
    if len(columns) > 1 and all(values):
        for place in range(max(map(len, values))):
            found.append(
                with_fields(seen[0], [options[place % len(options)] for options in values])
            )
        for _ in range(4 * max(map(len, values))):
            drawn = [options[rng.integers(len(options))] for options in values]
            found.append(with_fields(seen[0], drawn))
    distinct = {key_of(record): record for record in found}
    return list(distinct.values())[:_MOST_RECORDS]


def bases_of(
    seen: list[Record], records: Sequence[Record], domain: Domain, fixed: bool
) -> list[Base]:
    """Return the databases from which neighbors are made, beginning with the example database."""
    size = domain.size or len(seen)
    found = [Base("the example", seen)] if len(seen) == size else []
    if not records:
        return found
    found.append(Base("the example, reversed", seen[::-1]))
    if not fixed:
        found.append(Base("no record", []))
        found += [Base("one record", [record]) for record in records[:3]]
        found.append(Base("the example twice", seen + seen))
    found += [Base(f"all {short(record)}", [record] * size) for record in records]
    for one, other in pairwise(records):
        name = f"half {short(one)}, half {short(other)}"
        found.append(Base(name, [one] * (size // 2) + [other] * (size - size // 2)))
    return [base for base in found if not domain.size or len(base.records) == domain.size]


def short(record: Record) -> str:
    """Return the shortened text of a record, for labels."""
    text = repr(record)
    return text if len(text) <= 30 else f"{text[:27]}..."
