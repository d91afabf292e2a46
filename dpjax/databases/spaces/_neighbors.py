"""Spaces of neighboring databases, which propose pairs for an audit and vary the best pairs."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

import numpy as np

from dpjax.core import validate
from dpjax.core.wording import BadType, BadValue
from dpjax.databases.spaces._bases import short
from dpjax.databases.spaces._domain import Domain, check_columns
from dpjax.databases.spaces._drawn import drawn, is_strategy
from dpjax.databases.spaces._record_pairs import RecordPairs
from dpjax.databases.spaces._relations import Relation, relation_of
from dpjax.databases.spaces._space import Maker, Proposed, Space
from dpjax.databases.spaces._value_pairs import ValuePairs

_MOST_HELD = 4_000_000
"""Maximum number of records in all proposed databases together."""

_SMALLEST = 3
"""Number of pairs with the fewest records that a search always keeps."""

_DRAWN = 40
"""Number of example databases that are drawn from a strategy."""

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
        like: Example database, or a strategy of Hypothesis that draws such databases. All databases
            of the space have the form of an example. For `Within`, the example is a number or a
            vector.
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
        _ = self._makers

    def proposed(self) -> list[Proposed]:
        """See `Space`."""
        rng = np.random.default_rng(self.seed)
        each = [[(maker, candidate) for candidate in maker.candidates()] for maker in self._makers]
        every = [entry for row in zip_longest(*each) for entry in row if entry is not None]
        most = max(maker.num_records for maker in self._makers)
        limit = min(self.num_pairs, max(_MOST_HELD // max(2 * most, 1), 8))
        # Take first the smallest databases, in which one record counts most; then some of the first
        # candidates, which are closest to the example; then the remaining ones in random order.
        order = sorted(range(len(every)), key=lambda place: every[place][1].size)
        order = [*order[:_SMALLEST], *range(min(limit // 4, len(every)))]
        order += rng.permutation(len(every)).tolist()
        found: dict[object, Proposed] = {}
        for place in order:
            maker, candidate = every[place]
            database, neighbor = candidate.sides()
            made = maker.made(database, neighbor, candidate.label)
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
        label, maker = f"{pair.label.removesuffix(_AS)}{_AS}", self._maker_of(pair.database)
        for _ in range(_TRIES):
            made = maker.made(*maker.varied(pair, rng), label)
            if made is not None:
                return made.pair
        return None

    def allows(self, database: object, neighbor: object) -> bool:
        """Return whether two databases are neighbors and lie in the domain."""
        return self._maker_of(database).allows(database, neighbor)

    def __iter__(self) -> Iterator[tuple[object, object]]:
        return iter([(pair.database, pair.neighbor) for pair in self.proposed()])

    def smallest(self, pairs: Sequence[Proposed]) -> list[Proposed]:
        """See `Space`."""
        if not self.relation.of_records:
            return []
        return sorted(pairs, key=lambda pair: self._maker_of(pair.database).size(pair))[:_SMALLEST]

    def _maker_of(self, database: object) -> Maker:
        """Return what makes pairs of databases that have the form of a database."""
        makers = self._makers
        if len(makers) == 1:
            return makers[0]
        return next((maker for maker in makers if maker.has_form(database)), makers[0])

    @cached_property
    def _makers(self) -> list[Maker]:
        """What makes pairs, for each form of the example databases."""
        strategy = is_strategy(self.like)
        examples = drawn(self.like, _DRAWN, self.seed) if strategy else [self.like]
        # A domain that says nothing of values leaves those of the strategy.
        given = self.domain
        whole = isinstance(given, Domain) and given == Domain(size=given.size, member=given.member)
        closed = strategy and (given is None or whole)
        named = RecordPairs if self.relation.of_records else ValuePairs
        groups: dict[str, list[object]] = {}
        for example in examples:
            groups.setdefault(named.form_name(example), []).append(example)
        return [self._maker(some, closed) for some in groups.values()]

    def _maker(self, examples: list[object], closed: bool) -> Maker:
        if not self.relation.of_records:
            return ValuePairs(examples, self.relation, self.domain, closed=closed)
        rng = np.random.default_rng(self.seed)
        return RecordPairs(examples, self.relation, self.domain, rng, closed=closed)


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
            number or a vector. Or a strategy of Hypothesis that draws such databases: unless
            `domain` states values, all databases then hold records that were drawn, and as many
            records as the databases that were drawn.
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
