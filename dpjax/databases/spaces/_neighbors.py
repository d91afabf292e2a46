"""Spaces of neighboring databases, which propose pairs for an audit and vary the best pairs."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dpjax.core import validate
from dpjax.core.wording import BadType, BadValue
from dpjax.databases.spaces._bases import short
from dpjax.databases.spaces._changes import Change
from dpjax.databases.spaces._domain import Domain, check_columns
from dpjax.databases.spaces._record_pairs import RecordPairs
from dpjax.databases.spaces._relations import Relation, relation_of
from dpjax.databases.spaces._space import Proposed, Space
from dpjax.databases.spaces._value_pairs import ValuePair, ValuePairs

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
        domain: Values that a record may hold, or a dict of such domains by the name of a column. A
            column without a domain may hold any finite values of its type, and missing or infinite
            values if the example has them.
        num_pairs: Maximum number of pairs in the first proposal.
        seed: Seed of the choice among all candidate pairs.
    """

    like: object
    relation: Relation
    domain: Domain | Mapping[Hashable, Domain] | None = None
    num_pairs: int = 200
    seed: int = 0

    def __post_init__(self):
        validate.positive_int(num_pairs=self.num_pairs)
        validate.positive_int(at_least=0, seed=self.seed)
        if isinstance(self.domain, Mapping):
            check_columns(self.domain, "domain")
        elif self.domain is not None and not isinstance(self.domain, Domain):
            raise BadType(
                "domain must be dpjax.databases.Domain, a dict of them, or None, but was "
                f"{self.domain!r}."
            )
        _ = self._near

    def proposed(self) -> list[Proposed]:
        """See `Space`."""
        rng = np.random.default_rng(self.seed)
        every: Sequence[Change | ValuePair] = self._near.candidates()
        limit = min(self.num_pairs, max(_MOST_HELD // max(2 * self._near.num_records, 1), 8))
        # Take first the smallest databases, in which one record counts most; then some of the first
        # candidates, which are closest to the example; then the remaining ones in random order.
        order = sorted(range(len(every)), key=lambda place: every[place].size)
        order = [*order[:_SMALLEST], *range(min(limit // 4, len(every)))]
        order += rng.permutation(len(every)).tolist()
        found: dict[object, Proposed] = {}
        for place in order:
            database, neighbor = every[place].sides()
            made = self._near.made(database, neighbor, every[place].label)
            if made is not None:
                found.setdefault(made.key, made.pair)
            if len(found) == limit:
                break
        if not found:
            raise BadValue(
                "like must have neighbors in the domain, but no pair of databases that was tried "
                f"near {short(self.like)} satisfied both the relation and the domain: widen the "
                "domain, or choose another example."
            )
        return list(found.values())

    def varied(self, pair: Proposed, seed: Sequence[int]) -> Proposed | None:
        """Return a pair whose common records are varied, or whose differing record is replaced."""
        rng = np.random.default_rng([self.seed, *seed])
        label = f"{pair.label.removesuffix(_AS)}{_AS}"
        for _ in range(_TRIES):
            made = self._near.made(*self._near.varied(pair, rng), label)
            if made is not None:
                return made.pair
        return None

    def allows(self, database: object, neighbor: object) -> bool:
        """Return whether two databases are neighbors and lie in the domain."""
        return self._near.allows(database, neighbor)

    def __iter__(self) -> Iterator[tuple[object, object]]:
        return iter([(pair.database, pair.neighbor) for pair in self.proposed()])

    def smallest(self, pairs: Sequence[Proposed]) -> list[Proposed]:
        """See `Space`."""
        sized = [(size, pair) for pair in pairs if (size := self._near.size(pair)) is not None]
        return [pair for _, pair in sorted(sized, key=lambda entry: entry[0])[:_SMALLEST]]

    @cached_property
    def _near(self) -> RecordPairs | ValuePairs:
        if not self.relation.of_records:
            return ValuePairs(self.like, self.relation, self.domain)
        rng = np.random.default_rng(self.seed)
        return RecordPairs(self.like, self.relation, self.domain, rng)


def neighbors(
    like: object,
    relation: Relation | str = "add-remove",
    domain: Domain | Mapping[Hashable, Domain] | None = None,
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
        domain: Values that records may hold: bounds, categories, NaN, size, and a membership test;
            or a dict of such domains by the name of a column. A column without a domain may hold
            any finite values of its type, and missing or infinite values if the example has them.
        num_pairs: Maximum number of pairs in the first proposal.
        seed: Seed of the choice among all candidate pairs.

    Returns:
        The space of pairs.

    Raises:
        TypeError: When `like` has an unknown form, or when an argument has the wrong type.
        ValueError: When the relation is unknown, or when a number is out of range.
    """
    return Neighbors(like, relation_of(relation), domain, num_pairs, seed)
