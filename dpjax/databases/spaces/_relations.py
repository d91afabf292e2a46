"""Relations between neighboring databases."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dpjax.core import validate
from dpjax.core.wording import BadType, BadValue
from dpjax.databases.spaces._records import Record, key_of

_NORMS = ("absolute", "l1", "l2", "linf")


class Relation:
    """A neighbor relation between databases; subclasses are frozen dataclasses of options.

    Attributes:
        of_records: Whether the relation compares databases record by record. If False, the relation
            compares numbers or vectors.
    """

    of_records: bool = True

    def holds(self, database: Any, neighbor: Any) -> bool:
        """Return whether two databases (if `of_records`, two lists of records) are neighbors."""
        raise NotImplementedError


@dataclass(frozen=True)
class AddRemove(Relation):
    """Relation between databases that differ by at most `distance` additions and removals.

    Attributes:
        distance: Maximum total number of added and removed records.
        ordered: Whether the records that are neither added nor removed must keep their order.
    """

    distance: int = 1
    ordered: bool = False

    def __post_init__(self):
        validate.positive_int(distance=self.distance)

    def holds(self, database: Sequence[Record], neighbor: Sequence[Record]) -> bool:
        """See `Relation`."""
        one, other = _keys(database, neighbor)
        counts = Counter(one)
        counts.subtract(Counter(other))
        if sum(map(abs, counts.values())) > self.distance:
            return False
        return not self.ordered or _edits(one, other) <= self.distance


@dataclass(frozen=True)
class ChangeOne(Relation):
    """Relation between databases of the same size that differ in at most `distance` records.

    Attributes:
        distance: Maximum number of differing records.
        ordered: Whether records are compared by position (the Hamming distance).
    """

    distance: int = 1
    ordered: bool = False

    def __post_init__(self):
        validate.positive_int(distance=self.distance)

    def holds(self, database: Sequence[Record], neighbor: Sequence[Record]) -> bool:
        """See `Relation`."""
        if len(database) != len(neighbor):
            return False
        one, other = _keys(database, neighbor)
        if self.ordered:
            return sum(map(lambda x, y: x != y, one, other)) <= self.distance
        counts = Counter(one)
        counts.subtract(Counter(other))
        return sum(map(abs, counts.values())) <= 2 * self.distance


@dataclass(frozen=True)
class Within(Relation):
    """Relation between numbers, or vectors of equal length, that are at most `distance` apart.

    Floating-point numbers are converted to fractions, so distances are compared exactly.

    Attributes:
        distance: Maximum distance, measured by `norm`.
        norm: Norm of the distance: "absolute" for numbers; "l1", "l2" or "linf" for vectors.
        monotonic: Whether no entry may increase if another entry decreases. For instance, if a
            record is added, counts can only increase.
    """

    distance: float = 1.0
    norm: str = "absolute"
    monotonic: bool = False
    of_records = False

    def __post_init__(self):
        validate.positive(distance=self.distance)
        validate.one_of(_NORMS, norm=self.norm)

    def holds(self, database: object, neighbor: object) -> bool:
        """See `Relation`."""
        one, other = (np.atleast_1d(np.asarray(side)).tolist() for side in (database, neighbor))
        self.refuse_vectors(max(len(one), len(other)))
        if len(one) != len(other):
            return False
        if not all(math.isfinite(value) for value in (*one, *other)):
            return False
        moves = [Fraction(b) - Fraction(a) for a, b in zip(one, other, strict=True)]
        if self.monotonic and min(moves, default=0) < 0 < max(moves, default=0):
            return False
        gaps = list(map(abs, moves))
        limit = Fraction(self.distance)
        if self.norm == "l2":
            return sum(gap * gap for gap in gaps) <= limit * limit
        return (sum(gaps) if self.norm == "l1" else max(gaps, default=0)) <= limit

    def refuse_vectors(self, size: int) -> None:
        """Raise ValueError if the norm is "absolute", but a database has more than one number."""
        if self.norm == "absolute" and size > 1:
            raise BadValue(
                f"norm must be 'l1', 'l2' or 'linf' for databases of {size} numbers, but was "
                "'absolute': noise for one of these norms may be too little for another."
            )


@dataclass(frozen=True)
class AnyTwo(Relation):
    """Relation between any two values, as in the local model of differential privacy."""

    of_records = False

    def holds(self, database: object, neighbor: object) -> bool:
        """See `Relation`."""
        return True


_NAMED: dict[str, Relation] = {
    "add-remove": AddRemove(),
    "change-one": ChangeOne(),
    "any": AnyTwo(),
}


def relation_of(relation: Relation | str) -> Relation:
    """Return the relation with the given name; return a `Relation` unchanged.

    Raises:
        TypeError: If `relation` is neither a `Relation` nor a string.
        ValueError: If the name of the relation is unknown.
    """
    if isinstance(relation, Relation):
        return relation
    if not isinstance(relation, str):
        raise BadType(
            f"relation must be {', '.join(map(repr, _NAMED))}, or AddRemove, ChangeOne, Within or "
            f"AnyTwo from dpjax.databases, but was {relation!r}."
        )
    validate.one_of(tuple(_NAMED), relation=relation)
    return _NAMED[relation]


def _keys(one: Sequence[Record], other: Sequence[Record]) -> tuple[list[str], list[str]]:
    """Return the keys of two lists of records, without the lists' common start and common end."""
    start, stop = 0, min(len(one), len(other))
    while start < stop and one[start] is other[start]:
        start += 1
    end = 0
    while end < stop - start and one[-1 - end] is other[-1 - end]:
        end += 1
    sides = one[start : len(one) - end], other[start : len(other) - end]
    first, second = (list(map(key_of, side)) for side in sides)
    return first, second


def _edits(one: Sequence[object], other: Sequence[object]) -> int:
    """Return the minimum number of insertions and deletions between two sequences."""
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    one, other = one[start:], other[start:]
    while one and other and one[-1] == other[-1]:
        one, other = one[:-1], other[:-1]
    # Compute the length of the longest common subsequence, row by row.
    row = [0] * (len(other) + 1)
    for x in one:
        before = row
        row = [0]
        for place, y in enumerate(other):
            best = before[place] + 1 if x == y else max(before[place + 1], row[place])
            row.append(best)
    return len(one) + len(other) - 2 * row[-1]
