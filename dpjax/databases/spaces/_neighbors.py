"""Spaces of neighboring databases, which propose pairs for an audit and vary the best pairs."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from dpjax.core import validate
from dpjax.core.wording import BadType, BadValue
from dpjax.databases.spaces._bases import bases_of, records_worth_trying, short
from dpjax.databases.spaces._domain import Domain, domain_like
from dpjax.databases.spaces._forms import Form, Record, fields_of, form_of, key_of, with_fields
from dpjax.databases.spaces._relations import AddRemove, Relation, Within, relation_of
from dpjax.databases.spaces._space import Proposed, Space

_MOST_HELD = 4_000_000
"""Maximum number of records in all proposed databases together."""

_SMALLEST = 3
"""Number of pairs with the fewest records that a search always keeps."""

_AS = ", varied"
"""Suffix of the label of a pair whose records have been varied."""

_TRIES = 20
"""Maximum number of attempts to find a variation that satisfies the relation and the domain."""


@dataclass(frozen=True)
class Neighbors(Space):
    """A space of neighboring databases in which an audit searches for the best pairs.

    `dpjax.audit` accepts the space in place of pairs. Every proposed pair satisfies the relation
    and the domain.

    Attributes:
        like: Example database. All databases of the space have the same form. For `Within`, the
            example is a number or a vector.
        relation: Relation that defines which databases are neighbors.
        domain: Values that a record may hold. If `domain` is None, any finite values of the types
            in the example are allowed, and NaN or infinities if the example has them.
        num_pairs: Maximum number of pairs in the first proposal.
        seed: Seed of the choice among all candidate pairs.
    """

    like: object
    relation: Relation
    domain: Domain | None = None
    num_pairs: int = 200
    seed: int = 0

    def __post_init__(self):
        validate.positive_int(num_pairs=self.num_pairs)
        validate.positive_int(at_least=0, seed=self.seed)
        if self.domain is not None and not isinstance(self.domain, Domain):
            raise BadType(
                f"domain must be dpjax.databases.Domain or None, but was {self.domain!r}."
            )
        _ = self._form

    def proposed(self) -> list[Proposed]:
        """See `Space`."""
        rng = np.random.default_rng(self.seed)
        every = self._of_records(rng) if self.relation.of_records else self._of_values()
        limit = min(self.num_pairs, max(_MOST_HELD // max(2 * self._size, 1), 8))
        # Take first the smallest databases, in which one record counts most; then some of the first
        # candidates, which are closest to the example; then the remaining ones in random order.
        order = sorted(range(len(every)), key=lambda place: self._records_of(every[place]))
        order = [*order[:_SMALLEST], *range(min(limit // 4, len(every)))]
        order += rng.permutation(len(every)).tolist()
        found: dict[object, Proposed] = {}
        for place in order:
            pair = self._pair(*every[place])
            if pair is not None:
                found.setdefault(tuple(map(self._identity, pair[:2])), pair)
            if len(found) == limit:
                break
        if not found:
            raise BadValue(
                "like must have neighbors in the domain, but no pair of databases that was tried "
                f"near {self.like!r} satisfied both the relation and the domain: widen the domain, "
                "or choose another example."
            )
        return list(found.values())

    def varied(self, pair: Proposed, seed: Sequence[int]) -> Proposed | None:
        """Return a pair whose common records are varied, or whose differing record is replaced."""
        rng = np.random.default_rng([self.seed, *seed])
        vary = self._varied_records if self.relation.of_records else self._varied_values
        for _ in range(_TRIES):
            database, neighbor = vary(pair, rng)
            found = self._pair(database, neighbor, f"{pair.label.removesuffix(_AS)}{_AS}")
            if found is not None:
                return found
        return None

    def allows(self, database: object, neighbor: object) -> bool:
        """Return whether two databases are neighbors and lie in the domain."""
        sides, domain = (database, neighbor), self._domain
        if self.relation.of_records:
            records = [self._form.records(side) for side in sides]
            if domain.size is not None and any(len(rows) != domain.size for rows in records):
                return False
            inside = all(
                domain.has(value, place)
                for rows in records
                for row in {key_of(row): row for row in rows}.values()
                for place, value in enumerate(fields_of(row))
            )
            near = inside and self.relation.holds(*records)
        else:
            parts = [_entries(side) for side in sides]
            inside = all(domain.has(v, i) for part in parts for i, v in enumerate(part))
            near = inside and self.relation.holds(database, neighbor)
        # The user's function comes last, because OpenDP needs 14 ms to reject a database.
        return near and all(map(domain.holds, sides))

    def __iter__(self) -> Iterator[tuple[object, object]]:
        return iter([(pair.database, pair.neighbor) for pair in self.proposed()])

    def smallest(self, pairs: Sequence[Proposed]) -> list[Proposed]:
        """See `Space`."""
        if not self.relation.of_records:
            return []
        sized = [(sum(len(self._form.records(side)) for side in pair[:2]), pair) for pair in pairs]
        return [pair for _, pair in sorted(sized, key=lambda entry: entry[0])[:_SMALLEST]]

    def _records_of(self, candidate: tuple[Any, Any, str]) -> int:
        return len(candidate[0]) + len(candidate[1]) if self.relation.of_records else 0

    @cached_property
    def _form(self) -> Form:
        if self.relation.of_records:
            return form_of(self.like)
        return Form("a value", lambda given: [given], lambda rows: rows[0])

    @cached_property
    def _domain(self) -> Domain:
        return self.domain or domain_like(self._form.records(self.like))

    @cached_property
    def _tried(self) -> list[Record]:
        return self._worth_trying(np.random.default_rng(self.seed))

    @property
    def _size(self) -> int:
        return len(self._form.records(self.like))

    def _pair(self, database: Any, neighbor: Any, label: str) -> Proposed | None:
        """Make a pair from two lists of records; return None if the pair is not in the space."""
        if self.relation.of_records:
            try:
                database, neighbor = map(self._form.database, (database, neighbor))
            except (TypeError, ValueError, OverflowError):
                return None  # A value does not fit the type of the array or the frame.
        same = self._identity(database) == self._identity(neighbor)
        if same or not self.allows(database, neighbor):
            return None
        return Proposed(database, neighbor, label)

    def _identity(self, database: object) -> object:
        """Return a key that differs between different databases; -0.0 differs from 0.0."""
        records = self._form.records(database) if self.relation.of_records else _entries(database)
        return tuple(map(key_of, records))

    def _worth_trying(self, rng: np.random.Generator) -> list[Record]:
        if self._form.alphabet is not None:
            return list(self._form.alphabet)
        return records_worth_trying(self._form.records(self.like), self._domain, rng)

    def _of_records(self, rng: np.random.Generator) -> list[tuple[object, object, str]]:
        """Return candidate pairs, one for each change of each base database."""
        seen, grows = self._form.records(self.like), isinstance(self.relation, AddRemove)
        tried = self._worth_trying(rng)
        # If the size is fixed, records can only be replaced.
        fixed = self._domain.size is not None or not grows
        count = getattr(self.relation, "distance", 1)
        count = count // 2 if grows and fixed else count
        found = []
        for number, base in enumerate(bases_of(seen, tried, self._domain, fixed)):
            rows, moves = base.records, []
            for record in tried:
                if not fixed:
                    more = rows + [record] * count
                    moves.append((rows, more, f"{base.name}; {short(record)} is added"))
                elif rows and count:
                    kept = rows[: len(rows) - count]
                    other = [*kept, *[record] * (len(rows) - len(kept))]
                    moves.append((rows, other, f"{base.name}; the last becomes {short(record)}"))
            if not fixed and rows:
                moves.append((rows, rows[count:], f"{base.name}; the first is removed"))
                moves.append((rows, rows[::-1] + tried[:count], f"{base.name}; in another order"))
            found += [(place, number, move) for place, move in enumerate(moves)]
        ordered = sorted(found, key=lambda entry: (entry[1] > 0, entry[0] + entry[1], entry[1]))
        return [move for _, _, move in ordered]

    def _varied_records(self, pair: Proposed, rng: np.random.Generator) -> tuple[object, object]:
        """Vary common records on both sides, or replace the record in which the sides differ."""
        sides = [self._form.records(side) for side in (pair.database, pair.neighbor)]
        tried = self._tried
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

    def _near(self, record: Record, rng: np.random.Generator) -> Record:
        """Return a record unchanged, or with one number redrawn or scaled by a power of two."""
        if self._form.alphabet is not None:
            return record
        fields = fields_of(record)
        place = int(rng.integers(len(fields)))
        value, bounds = fields[place], self._domain.bounds_of(place)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if number and math.isfinite(value) and rng.integers(2):
            between = bounds is not None
            value = rng.uniform(*bounds) if between else value * 2.0 ** int(rng.integers(-8, 9))
            if isinstance(fields[place], int):
                value = int(value) if math.isfinite(value) else fields[place]
            fields[place] = value
        return with_fields(record, fields)

    def _of_values(self) -> list[tuple[object, object, str]]:
        values = self._values()
        if isinstance(self.relation, Within):
            both = [(x, y) for x in values for y in _moved(x, self.relation)]
        else:
            both = [(x, y) for i, x in enumerate(values) for y in values[i + 1 :]]
        return [(x, y, f"{short(x)} and {short(y)}") for x, y in both]

    def _values(self) -> list[object]:
        like, domain = self.like, self._domain
        if not isinstance(like, list | tuple | np.ndarray):
            return domain.values([like])
        entries = _entries(like)
        each = [domain.values(entries, place) for place in range(len(entries))]
        rows = [entries]
        for place in range(max(map(len, each), default=0)):
            rows.append([options[place % len(options)] for options in each])
            rows.append([options[(place + i) % len(options)] for i, options in enumerate(each)])
        return [_vector(like, row) for row in rows]

    def _varied_values(self, pair: Proposed, rng: np.random.Generator) -> tuple[object, object]:
        one = [self._near(value, rng) for value in _entries(pair.database)]
        alone = not isinstance(self.like, list | tuple | np.ndarray)
        value = one[0] if alone else _vector(self.like, one)
        if isinstance(self.relation, Within):
            moved = _moved(value, self.relation)
            return (value, moved[rng.integers(len(moved))]) if moved else (value, value)
        values = self._values()
        return value, values[rng.integers(len(values))]


def neighbors(
    like: object,
    relation: Relation | str = "add-remove",
    domain: Domain | None = None,
    *,
    num_pairs: int = 200,
    seed: int = 0,
) -> Neighbors:
    """Return a space of neighboring databases that tend to break libraries, for an audit's `pairs`.

    The space proposes databases that are empty, constant, at a bound, doubled or reordered. The
    record in which two databases differ holds a value at or next to a bound, a huge or tiny value,
    -0.0, a new category, an empty string, or NaN or an infinity if the domain allows it. A search
    ranks the pairs by a few draws each, and varies the best pairs.

    Args:
        like: A database that the algorithm accepts: a list of records, an array [records] or
            [records, fields], a data frame, (X, y), a string or bytes; for `Within` and `AnyTwo`, a
            number or a vector.
        relation: "add-remove", "change-one" or "any"; or an `AddRemove`, `ChangeOne`, `Within` or
            `AnyTwo` of `dpjax.databases`, with a distance.
        domain: Values that records may hold: bounds, categories, NaN, size, and a membership test.
            If `domain` is None, records may hold any finite values of the types in the example, and
            NaN or infinities if the example has them.
        num_pairs: Maximum number of pairs in the first proposal.
        seed: Seed of the choice among all candidate pairs.

    Returns:
        The space of pairs.

    Raises:
        TypeError: When `like` has an unknown form, or when an argument has the wrong type.
        ValueError: When the relation is unknown, or when a number is out of range.
    """
    return Neighbors(like, relation_of(relation), domain, num_pairs, seed)


def _entries(value: object) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | np.ndarray) else [value]


def _vector(like: Any, entries: Sequence[Any]) -> Any:
    return np.array(entries, like.dtype) if isinstance(like, np.ndarray) else type(like)(entries)


def _moved(value: object, relation: Within) -> list[Any]:
    """Return values at the maximum distance from a value, in one entry or in all entries."""
    entries = [v.item() if isinstance(v, np.generic) else v for v in _entries(value)]
    whole = all(isinstance(v, int) for v in entries)
    size, distance = len(entries), relation.distance
    spread = {"l1": distance / size, "l2": distance / math.sqrt(size)}.get(relation.norm, distance)
    steps = []
    for sign in (1, -1):
        for place in range(min(size, 8)):
            steps.append([sign * distance * (i == place) for i in range(size)])
        if size > 1:
            steps.append([sign * spread] * size)
            steps.append([sign * spread * (-1) ** i for i in range(size)])
    found = []
    for step in steps:
        moved = [_added(v, d, whole) for v, d in zip(entries, step, strict=True)]
        scalar = not isinstance(value, list | tuple | np.ndarray)
        found.append(moved[0] if scalar else _vector(value, moved))
    return found


def _added(value: float, step: float, whole: bool) -> float:
    """Return value + step, rounded toward `value` if the sum is not a floating-point number."""
    if whole:
        return value + int(step)
    moved = value + step
    exact = Fraction(step)
    if math.isfinite(moved) and abs(Fraction(moved) - Fraction(value)) > abs(exact):
        moved = math.nextafter(moved, value)
    return moved
