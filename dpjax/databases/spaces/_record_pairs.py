"""Pairs of databases that consist of records."""

from collections.abc import Hashable, Mapping, Sequence
from functools import cached_property, partial
from itertools import chain, cycle, islice

import numpy as np

from dpjax.databases.spaces._bases import MOST_RECORDS, Base, bases_of, records_worth_trying
from dpjax.databases.spaces._changes import Change, changes_of
from dpjax.databases.spaces._domain import Domain
from dpjax.databases.spaces._fields import ANY_COLUMN, Field, fields_of_columns
from dpjax.databases.spaces._forms import form_of
from dpjax.databases.spaces._records import (
    Record,
    check_alike,
    fields_of,
    key_of,
    key_of_fields,
    short,
    with_fields,
)
from dpjax.databases.spaces._relations import AddRemove, Relation
from dpjax.databases.spaces._space import Database, Made, Path, Proposed

_LONGEST = 2**13
"""Number of records in the largest database of a path."""


class RecordPairs:
    """Pairs of neighboring databases that consist of records, made from example databases.

    Args:
        examples: Example databases, all of one form.
        relation: Relation that compares databases record by record.
        domain: Domain of the databases, or a map from the names of columns to their domains, or
            None for all finite values.
        rng: Random generator that chooses candidate records.
        closed: Whether the space is restricted to the examples: every record must occur in an
            example, and no database may be smaller than the smallest or larger than the largest
            example.
    """

    def __init__(
        self,
        examples: Sequence[Database],
        relation: Relation,
        domain: Domain | Mapping[Hashable, Domain] | None,
        rng: np.random.Generator,
        *,
        closed: bool = False,
    ):
        self._form = form_of(next(filter(len, examples), examples[0]))
        self._examples = list(map(self._form.records, examples))
        self._seen = list(chain(*self._examples))
        self._relation, self._rng, self._closed = relation, rng, closed
        self._whole = domain if isinstance(domain, Domain) else Domain()
        self._known: dict[str, bool] = {}
        self._fields: list[Field] = []
        if closed:
            self._known = dict.fromkeys(map(key_of_fields, self._seen), True)
        else:
            check_alike(self._seen)
            rows = [] if self._form.alphabet is not None else list(map(fields_of, self._seen))
            self._fields = fields_of_columns(self._form.columns, domain, rows)

    @property
    def num_records(self) -> int:
        """Number of records in the largest example database."""
        return max(map(len, self._examples))

    @cached_property
    def tried(self) -> list[Record]:
        """Candidates for records that are added to a database, or that replace other records."""
        if self._closed:
            return list({key_of(record): record for record in self._seen}.values())[:MOST_RECORDS]
        if self._form.alphabet is not None:
            return list(self._form.alphabet)
        return records_worth_trying(self._seen, self._form, self._fields, self._rng)

    def candidates(self) -> list[Change]:
        """Return candidate pairs, one for each change to each base database."""
        grows = isinstance(self._relation, AddRemove)
        # If the size is fixed, records can only be replaced.
        fixed = self._whole.size is not None or not grows
        count = getattr(self._relation, "distance", 1)
        count = count // 2 if grows and fixed else count
        bases: list[Base] = []
        if self._closed or len(self._examples) > 1:
            bases = [
                Base(f"draw {number}", len(rows), rows.copy)
                for number, rows in enumerate(self._examples)
            ]
        if not self._closed:
            example = max(self._examples, key=len) if bases else self._seen
            bases += bases_of(example, self.tried, self._fields, self._whole.size, fixed)
        return changes_of(bases, self.tried, count, fixed)

    def made(self, rows: Sequence[Record], others: Sequence[Record], label: str) -> Made | None:
        """Make a pair from two lists of records; return None if the pair is not in the space."""
        form = self._form
        try:
            one, other = form.settled(list(rows)), form.settled(list(others))
            if form.exact and not self._holds(one, other):
                return None
            sides = form.database(one), form.database(other)
            if not form.exact:
                one, other = map(form.records, sides)
                if not self._holds(one, other):
                    return None
        except (TypeError, ValueError, OverflowError):
            return None  # A value does not fit the type of the array or the frame.
        key = self._key(one), self._key(other)
        # The user's function may be slow, so it is called last. OpenDP needs 14 ms to reject a
        # database.
        if key[0] == key[1] or not all(map(self._whole.holds, sides)):
            return None
        return Made(key, Proposed(*sides, label))

    @staticmethod
    def form_name(database: object) -> str:
        """Return the name of a database's form."""
        return form_of(database).name

    def has_form(self, database: object) -> bool:
        """Return whether a database has the form of the examples."""
        return self.form_name(database) == self._form.name

    def allows(self, database: object, neighbor: object) -> bool:
        """Return whether two databases are neighbors and lie in the domain."""
        sides = (database, neighbor)
        return self._holds(*map(self._form.records, sides)) and all(map(self._whole.holds, sides))

    def size(self, pair: Proposed) -> int:
        """Return the total number of records in both databases of a pair."""
        return self._form.size(pair.database) + self._form.size(pair.neighbor)

    def varied(self, pair: Proposed, rng: np.random.Generator) -> tuple[Database, Database]:
        """Vary the records that both sides share, or replace the record that differs."""
        sides = [self._form.records(side) for side in (pair.database, pair.neighbor)]
        tried = self.tried
        record = self._near(tried[rng.integers(len(tried))], rng)
        start = 0
        while start < min(map(len, sides)) and key_of(sides[0][start]) == key_of(sides[1][start]):
            start += 1
        common, ends = sides[0][:start], [side[start:] for side in sides]
        what = rng.integers(4)
        if what == 0 and ends[1]:
            ends[1] = [record, *ends[1][1:]]
        elif what == 1 and common:
            common = [*common]
            for _ in range(int(rng.integers(1, 1 + max(len(common) // 2, 1)))):
                common[rng.integers(len(common))] = record
        elif what == 2:
            common = [*common, *[record] * int(2 ** rng.integers(0, 6))]
        elif common:
            common = common[: int(rng.integers(len(common)))]
        return common + ends[0], common + ends[1]

    def paths(self) -> list[Path]:
        """Return databases that hold copies of one record, and copies of the largest example."""
        rows = max(self._examples, key=len) or self.tried[:1]
        if not isinstance(self._relation, AddRemove) or self._closed or not rows:
            return []
        step, found = self._relation.distance, {f"copies of {short(rows[0])}": rows[:1]}
        if len(set(self._key(rows))) > 1:
            found["the example, repeated"] = rows
        return [Path(label, _LONGEST, step, partial(self._grown, r)) for label, r in found.items()]

    def _grown(self, rows: Sequence[Record], size: int) -> Database | None:
        """Return a database of `size` records, or None if it does not lie in the domain."""
        form = self._form
        try:
            database = form.database(form.settled(list(islice(cycle(rows), size))))
            records = form.records(database)
        except (TypeError, ValueError, OverflowError):
            return None  # A value does not fit the type of the array or the frame.
        inside = self._has_size(size) and self._inside(records) and self._whole.holds(database)
        return database if inside else None

    def _near(self, record: Record, rng: np.random.Generator) -> Record:
        """Return a record in which one number may have been redrawn or scaled by a power of two."""
        fields = fields_of(record)
        if self._form.alphabet is not None or self._closed or not fields:
            return record
        place = int(rng.integers(len(fields)))
        return with_fields(
            record,
            [*fields[:place], self._field(place).near(fields[place], rng), *fields[place + 1 :]],
        )

    @cached_property
    def _keys(self) -> dict[int, str]:
        """Map from the `id` of each example record and candidate record to the record's key."""
        return {id(record): key_of(record) for record in (*self._seen, *self.tried)}

    def _key(self, rows: Sequence[Record]) -> tuple[str, ...]:
        keys = self._keys
        return tuple(keys[id(row)] if id(row) in keys else key_of(row) for row in rows)

    def _field(self, place: int) -> Field:
        if place < len(self._fields):
            return self._fields[place]
        return Field.of(self._whole, place, ANY_COLUMN)

    def _inside(self, rows: Sequence[Record]) -> bool:
        """Return whether all fields of all records lie in the domain."""
        known = self._known
        for record in {id(record): record for record in rows}.values():
            key = key_of_fields(record)
            if key not in known:
                values = enumerate(fields_of(record))
                inside = not self._closed and all(self._field(i).has(v) for i, v in values)
                known[key] = inside
            if not known[key]:
                return False
        return True

    def _has_size(self, size: int) -> bool:
        """Return whether a database may have `size` records."""
        sizes = list(map(len, self._examples))
        inside = not self._closed or min(sizes) <= size <= max(sizes)
        return inside and self._whole.size in (None, size)

    def _holds(self, rows: Sequence[Record], others: Sequence[Record]) -> bool:
        """Return whether two lists of records are neighbors and their records are in the domain."""
        if not (self._has_size(len(rows)) and self._has_size(len(others))):
            return False
        return self._inside([*rows, *others]) and self._relation.holds(rows, others)
