"""Spaces of neighboring databases, which propose pairs for an audit and vary the best pairs."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest

import numpy as np

from dpjax.core.wording import BadType, BadValue
from dpjax.databases.spaces._domain import Domain, check_columns
from dpjax.databases.spaces._drawn import drawn, is_strategy
from dpjax.databases.spaces._forms import in_numpy
from dpjax.databases.spaces._record_pairs import RecordPairs
from dpjax.databases.spaces._records import short
from dpjax.databases.spaces._relations import Relation, relation_of
from dpjax.databases.spaces._space import VARIED, Path, Proposed, Space
from dpjax.databases.spaces._value_pairs import ValuePairs

_MOST_HELD = 4_000_000
"""Maximum total number of records in all proposed databases."""

_SMALLEST = 3
"""Number of pairs that a search always keeps because they have the fewest records."""

_DRAWN = 40
"""Maximum number of example databases that are drawn from a strategy."""

_TRIES = 20
"""Maximum number of attempts to find a variation that satisfies the relation and the domain."""

_Maker = RecordPairs | ValuePairs
"""An object that makes pairs from example databases, all of the same form."""


@dataclass(frozen=True)
class Neighbors(Space):
    """A space of neighboring databases in which an audit searches for the best pairs.

    `dpjax.audit` accepts the space as its argument `pairs`. Every proposed pair satisfies the
    relation and the domain.

    Attributes:
        like: Example database, or a Hypothesis strategy that draws example databases. All databases
            in the space have the form of an example, but with NumPy arrays in place of JAX arrays.
            If the relation is `Within`, the example is a number or a vector.
        relation: Relation that defines which databases are neighbors.
        domain: Domain of the records, or a map from the names of columns to their domains. A column
            without a domain may hold any finite value of its type, and missing or infinite values
            if the column has such values in the example.
        num_pairs: Maximum number of pairs in the first proposal.
        seed: Seed for the choice among all candidate pairs.
    """

    like: object
    relation: Relation
    domain: Domain | Mapping[Hashable, Domain] | None = None

    def __post_init__(self):
        super().__post_init__()
        if isinstance(self.domain, Mapping):
            check_columns(self.domain, "domain")
        elif isinstance(self.domain, list | tuple) and {*map(type, self.domain)} == {Domain}:
            raise BadType(
                "domain must be one dpjax.Domain for all parts of a database, such as (X, y), but "
                f"was a {type(self.domain).__name__}: pass bounds with one entry per column of X "
                "and one for y, as in dpjax.Domain(bounds=[(0, 1), (0, 1), None], "
                "categories=[0, 1]), in which the categories apply to y."
            )
        elif self.domain is not None and not isinstance(self.domain, Domain):
            raise BadType(
                "domain must be a dpjax.databases.Domain, a dict of Domain objects, or None, but "
                f"was {self.domain!r}."
            )
        _ = self._makers

    def proposed(self) -> list[Proposed]:
        """See `Space`."""
        rng = np.random.default_rng(self.seed)
        each = [[(maker, candidate) for candidate in maker.candidates()] for maker in self._makers]
        every = [entry for row in zip_longest(*each) for entry in row if entry is not None]
        most = max(maker.num_records for maker in self._makers)
        limit = min(self.num_pairs, max(_MOST_HELD // max(2 * most, 1), 8))
        # The pairs with the fewest records come first, because a single record matters most in
        # them. Next come some of the first candidates, which are closest to the example, and then
        # all other candidates in random order.
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
        if not every and not most and self.relation.of_records:
            raise BadValue(
                f"like must have at least one record, because {short(self.like)} does not show "
                "what a record is."
            )
        if not found:
            raise BadValue(
                "like must have neighbors in the domain, but none of the pairs made from "
                f"{short(self.like)} satisfied both the relation and the domain: widen the "
                "domain, or choose another example."
            )
        return list(found.values())

    def varied(self, pair: Proposed, seed: Sequence[int]) -> Proposed | None:
        """Vary the records that both sides of a pair share, or replace the record that differs."""
        rng = np.random.default_rng([self.seed, *seed])
        label, maker = f"{pair.label.removesuffix(VARIED)}{VARIED}", self._maker_of(pair.database)
        for _ in range(_TRIES):
            made = maker.made(*maker.varied(pair, rng), label)
            if made is not None:
                return made.pair
        return None

    def allows(self, database: object, neighbor: object) -> bool:
        """Return whether two databases are neighbors and lie in the domain."""
        database, neighbor = in_numpy(database), in_numpy(neighbor)
        return self._maker_of(database).allows(database, neighbor)

    def paths(self) -> list[Path]:
        """See `Space`."""
        return [path for maker in self._makers for path in maker.paths()]

    def smallest(self, pairs: Sequence[Proposed]) -> list[Proposed]:
        """See `Space`."""
        if not self.relation.of_records:
            return []
        return sorted(pairs, key=lambda pair: self._maker_of(pair.database).size(pair))[:_SMALLEST]

    def _maker_of(self, database: object) -> _Maker:
        """Return the maker of pairs of databases that have the same form as `database`."""
        makers = self._makers
        if len(makers) == 1:
            return makers[0]
        return next((maker for maker in makers if maker.has_form(database)), makers[0])

    @cached_property
    def _makers(self) -> list[_Maker]:
        """Makers of pairs, one for each form of the example databases."""
        strategy = is_strategy(self.like)
        examples = drawn(self.like, _DRAWN, self.seed) if strategy else [self.like]
        examples = list(map(in_numpy, examples))
        # If the domain does not restrict values, all records are taken from the drawn examples.
        given = self.domain
        whole = isinstance(given, Domain) and given == Domain(size=given.size, member=given.member)
        closed = strategy and (given is None or whole)
        named = RecordPairs if self.relation.of_records else ValuePairs
        groups: dict[str, list[object]] = {}
        for example in examples:
            groups.setdefault(named.form_name(example), []).append(example)
        return [self._maker(some, closed) for some in groups.values()]

    def _maker(self, examples: list[object], closed: bool) -> _Maker:
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
    """Return a space of neighboring databases that tend to break libraries.

    `dpjax.audit` accepts the space as its argument `pairs`. The proposed databases include empty
    databases, databases whose records are all equal, and copies of the example in which records are
    doubled or reordered. The record in which two databases differ may hold a value at or next to a
    bound, a huge or tiny value, -0.0, a new category, an empty string or, if the domain allows it,
    NaN or infinity. A search draws a few outputs for each pair to rank the pairs, and varies the
    best pairs. If records may be added, it also looks for sizes of a database, up to 8,192 records,
    at which the outputs jump.

    Args:
        like: A database that the algorithm accepts: a list of records, an array or PyTorch tensor
            [records] or [records, fields], a data frame, (X, y), a dict of columns, a string or
            bytes. For the relations `Within` and `AnyTwo`, `like` is a number or a vector. A
            Hypothesis strategy that draws such databases is also accepted. If `like` is a strategy
            and `domain` does not restrict values, all records come from drawn databases, and no
            proposed database is smaller than the smallest or larger than the largest drawn one.
        relation: "add-remove", "change-one" or "any"; or an `AddRemove`, `ChangeOne`, `Within` or
            `AnyTwo` from `dpjax.databases`.
        domain: Domain of the records (bounds, categories, NaN, size, and a membership test), or a
            map from the names of columns to their domains. A column without a domain may hold any
            finite value of its type, and missing or infinite values if the column has such values
            in the example.
        num_pairs: Maximum number of pairs in the first proposal.
        seed: Seed for the choice among all candidate pairs.

    Returns:
        The space of pairs.

    Raises:
        TypeError: If `like` has an unknown form, or if an argument has the wrong type.
        ValueError: If the relation is unknown, or if a number is out of range.
    """
    return Neighbors(like, relation_of(relation), domain, num_pairs=num_pairs, seed=seed)
