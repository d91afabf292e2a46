"""Pairs of databases that are numbers, vectors, or other values without records."""

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from dpjax.core.wording import BadValue
from dpjax.databases.spaces._domain import Domain, Value
from dpjax.databases.spaces._fields import ANY_COLUMN, Field, domain_like, is_number
from dpjax.databases.spaces._forms import column_of
from dpjax.databases.spaces._records import key_of, short
from dpjax.databases.spaces._relations import Relation, Within
from dpjax.databases.spaces._space import Database, Made, Path, Proposed
from dpjax.databases.spaces._tensors import has_tensors

_FEWEST_BITS = 255
"""If the domain has no bounds, at least the bits of this integer are flipped, one at a time."""

_VECTORS = (list, tuple, np.ndarray)


class ValuePair(NamedTuple):
    """Two values that are candidates for a pair of neighbors."""

    database: Database
    neighbor: Database

    size = 0
    """Values have no records."""

    @property
    def label(self) -> str:
        """Description of the pair."""
        return f"{short(self.database)} and {short(self.neighbor)}"

    def sides(self) -> tuple[Database, Database]:
        """Return the two values."""
        return self.database, self.neighbor


class ValuePairs:
    """Pairs of neighboring values, made from example values.

    Args:
        examples: Example values, all of one type and length.
        relation: Relation between two values.
        domain: Domain of the entries, or None for all finite values.
        closed: Whether the space is restricted to the examples: each number must lie between the
            smallest and the largest number in the same entry of the examples, and every value that
            is not a number must occur in an example.
    """

    num_records = 0

    def __init__(
        self,
        examples: Sequence[Database],
        relation: Relation,
        domain: object,
        *,
        closed: bool = False,
    ):
        entries = list(map(_entries, examples))
        for example, row in zip(examples, entries, strict=True):
            _check(example, row, relation)
        if domain is None:
            domain = domain_like([value for row in entries for value in row])
        if not isinstance(domain, Domain) or domain.columns is not None:
            raise BadValue(f"domain must not name columns if relation is {relation!r}.")
        self._examples, self._like, self._closed = examples, examples[0], closed
        self._columns = list(zip(*entries, strict=True))
        self._relation, self._domain = relation, domain
        dtype = getattr(self._like, "dtype", None)
        self._column = ANY_COLUMN if dtype is None else column_of(dtype)

    def candidates(self) -> list[ValuePair]:
        """Return candidate pairs."""
        values = self._values()
        if isinstance(self._relation, Within):
            return [ValuePair(x, y) for x in values for y in _moved(x, self._relation)]
        return self._flipped() + [
            ValuePair(x, y) for i, x in enumerate(values) for y in values[i + 1 :]
        ]

    def made(self, database: Database, neighbor: Database, label: str) -> Made | None:
        """Make a pair from two values; return None if the pair is not in the space."""
        key = tuple(tuple(map(key_of, _entries(side))) for side in (database, neighbor))
        if key[0] == key[1] or not self.allows(database, neighbor):
            return None
        return Made(key, Proposed(database, neighbor, label))

    def allows(self, database: object, neighbor: object) -> bool:
        """Return whether two values are neighbors and lie in the domain."""
        sides = (database, neighbor)
        inside = all(self._has(v, i) for side in sides for i, v in enumerate(_entries(side)))
        near = inside and self._relation.holds(database, neighbor)
        return near and all(map(self._domain.holds, sides))

    @staticmethod
    def form_name(value: object) -> str:
        """Return the type of a value and the number of its entries."""
        return f"{type(value).__name__} {len(_entries(value))}"

    def has_form(self, database: object) -> bool:
        """Return whether a value has the type and length of the examples."""
        return self.form_name(database) == self.form_name(self._like)

    def size(self, pair: Proposed) -> int:
        """Return 0, because values have no records."""
        return 0

    def paths(self) -> list[Path]:
        """Return [], because values do not grow."""
        return []

    def varied(self, pair: Proposed, rng: np.random.Generator) -> tuple[Database, Database]:
        """Return a varied copy of a pair's database, and a candidate for a neighbor of the copy."""
        entries = _entries(pair.database)
        if not self._closed or isinstance(self._relation, Within):
            entries = [self._field(i).near(v, rng) for i, v in enumerate(entries)]
        value = _like(self._like, entries)
        if value is None:
            return pair.database, pair.neighbor
        both = [_entries(side)[0] for side in (pair.database, pair.neighbor)]
        if self._bits and all(type(side) is int for side in both) and rng.integers(2):
            # The same bit is flipped on both sides, so the sides still differ in the same bits.
            bit = 1 << int(rng.integers(len(self._bits)))
            one, other = (_like(self._like, [side ^ bit]) for side in both)
            return (value, value) if one is None or other is None else (one, other)
        others = self._values()
        if isinstance(self._relation, Within):
            others = _moved(value, self._relation)
        return (value, others[rng.integers(len(others))]) if others else (value, value)

    @property
    def _bits(self) -> list[int]:
        """Bits that may be flipped in an integer, as powers of two; [] if there are none."""
        like = _scalar(self._like)
        if type(like) is not int or self._closed or isinstance(self._relation, Within):
            return []
        bounds = self._domain.bounds_of(0)
        largest = max(map(abs, bounds)) if bounds else max(abs(like), _FEWEST_BITS)
        return [1 << place for place in range(math.ceil(largest).bit_length())]

    def _flipped(self) -> list[ValuePair]:
        """Return pairs of integers that differ in one bit."""
        bounds = self._domain.bounds_of(0)
        ends = [math.ceil(bounds[0]), math.floor(bounds[1])] if bounds else [0]
        pairs = [(x, x ^ bit) for x in (_scalar(self._like), *ends) for bit in self._bits]
        both = [[_like(self._like, [side]) for side in pair] for pair in pairs]
        return [ValuePair(x, y) for x, y in both if x is not None and y is not None]

    def _field(self, place: int) -> Field:
        return Field.of(self._domain, place, self._column)

    def _has(self, value: Value, place: int) -> bool:
        """Return whether the entry with the given index may hold a value."""
        if not self._domain.has(value, place):
            return False
        if not self._closed:
            return True
        column = self._columns[place]
        if is_number(value) and all(map(is_number, column)):
            return math.isnan(value) or min(column) <= value <= max(column)
        return value in column

    def _values(self) -> list[object]:
        if self._closed:
            return list(self._examples)
        like = self._like
        if not isinstance(like, _VECTORS):
            values = self._field(0).values(self._columns[0])
            return [_like(like, [value]) for value in values]
        entries = _entries(like)
        single = len(self._examples) == 1
        each = [
            self._field(place).values(entries if single else column)
            for place, column in enumerate(self._columns)
        ]
        rows = [entries]
        for place in range(max(map(len, each), default=0)):
            rows.append([options[place % len(options)] for options in each])
            rows.append([options[(place + i) % len(options)] for i, options in enumerate(each)])
        return [*self._examples[1:], *(_like(like, row) for row in rows)]


def _check(like: object, entries: Sequence[Value], relation: Relation) -> None:
    """Raise an error if an example is an array of two axes, or has entries without a distance."""
    numbers = len(entries) > 0 and all(is_number(v) or isinstance(v, bool) for v in entries)
    if getattr(like, "ndim", 0) > 1 or (isinstance(relation, Within) and not numbers):
        advice = ""
        if has_tensors(like):
            advice = ": pass a NumPy array, and let the function convert its database to a tensor"
        raise BadValue(
            f"like must be a number or a vector if relation is {relation!r}, but was {short(like)}"
            f"{advice}."
        )


def _scalar(value: Value) -> Value:
    return value.item() if isinstance(value, np.generic) else value


def _entries(value: object) -> list[Value]:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return list(value) if isinstance(value, _VECTORS) else [_scalar(value)]


def _like(like: Database, entries: Sequence[Value]) -> Database | None:
    """Return a database of the type of `like`, or None if the type cannot represent an entry."""
    if not isinstance(like, np.ndarray | np.generic):
        return type(like)(entries) if isinstance(like, _VECTORS) else entries[0]
    try:
        return np.array(entries, like.dtype)[() if isinstance(like, np.ndarray) else 0]
    except OverflowError:
        return None


def _moved(value: object, relation: Within) -> list[Value]:
    """Return values at the maximum distance from a value, in one entry or in all entries."""
    entries = list(map(_scalar, _entries(value)))
    relation.refuse_vectors(len(entries))
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
        found.append(_like(value, moved))
    return [value for value in found if value is not None]


def _added(value: float, step: float, whole: bool) -> float:
    """Return value + step; if rounding makes the step too long, round toward `value` instead."""
    if whole:
        return value + int(step)
    moved = value + step
    exact = Fraction(step)
    if math.isfinite(moved) and abs(Fraction(moved) - Fraction(value)) > abs(exact):
        moved = math.nextafter(moved, value)
    return moved
