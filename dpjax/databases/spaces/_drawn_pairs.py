"""Pairs of neighboring databases that a strategy of Hypothesis draws."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpjax.core import validate
from dpjax.core.wording import BadType, BadValue
from dpjax.databases._pairs import rows_of
from dpjax.databases.spaces._domain import Domain
from dpjax.databases.spaces._drawn import drawn, is_strategy
from dpjax.databases.spaces._neighbors import Neighbors
from dpjax.databases.spaces._relations import Relation, relation_of
from dpjax.databases.spaces._space import Proposed, Space

_AGAIN = 1
"""Offset of the seed of the pairs that a search adds."""


@dataclass(frozen=True)
class DrawnPairs(Space):
    """A space of the pairs that a strategy draws.

    `dpjax.audit` accepts the space in place of pairs.

    Attributes:
        strategy: Strategy of Hypothesis that draws (database, neighbor).
        relation: Relation that both databases must satisfy, or None if the strategy draws only
            neighbors.
        domain: Domain of both databases, or None for any databases. A domain needs a relation.
        num_pairs: Number of draws for the first proposal.
        seed: Seed of the draws.
    """

    strategy: Any
    relation: Relation | None = None
    domain: Domain | Mapping[Hashable, Domain] | None = None
    num_pairs: int = 200
    seed: int = 0

    def __post_init__(self):
        validate.positive_int(num_pairs=self.num_pairs)
        validate.positive_int(at_least=0, seed=self.seed)
        if not is_strategy(self.strategy):
            raise BadType(
                "strategy must be a strategy of Hypothesis that draws (database, neighbor), but "
                f"was {self.strategy!r}."
            )
        if self.domain is not None and self.relation is None:
            raise BadValue("domain must be None unless relation is given.")

    def proposed(self) -> list[Proposed]:
        """See `Space`."""
        found = self._drawn(self.seed)
        if not found:
            raise BadValue(
                "strategy must draw neighbors, but no pair that it drew holds two different "
                "databases that satisfy the relation and the domain."
            )
        return found

    def varied(self, pair: Proposed, seed: Sequence[int]) -> Proposed | None:
        """Return another drawn pair, because the strategy alone knows which pairs are near."""
        more = self._more
        return more[np.random.default_rng([self.seed, *seed]).integers(len(more))] if more else None

    def smallest(self, pairs: Sequence[Proposed]) -> list[Proposed]:
        """Return no pair; see `Space`."""
        return []

    def __iter__(self) -> Iterator[tuple[object, object]]:
        return iter([(pair.database, pair.neighbor) for pair in self.proposed()])

    @cached_property
    def _more(self) -> list[Proposed]:
        return self._drawn(self.seed + _AGAIN)

    def _drawn(self, seed: int) -> list[Proposed]:
        """Return the drawn pairs that are neighbors, each once."""
        found: dict[str, Proposed] = {}
        rows = rows_of(drawn(self.strategy, self.num_pairs, seed))
        for number, (database, neighbor) in enumerate(rows):
            if repr(database) != repr(neighbor) and self._allows(database, neighbor):
                pair = Proposed(database, neighbor, f"draw {number} of seed {seed}")
                found.setdefault(repr((database, neighbor)), pair)
        return list(found.values())

    def _allows(self, database: object, neighbor: object) -> bool:
        if self.relation is None:
            return True
        domain = Domain(nan=True, infinite=True) if self.domain is None else self.domain
        return Neighbors(database, self.relation, domain).allows(database, neighbor)


def drawn_pairs(
    strategy: object,
    relation: Relation | str | None = None,
    domain: Domain | Mapping[Hashable, Domain] | None = None,
    *,
    num_pairs: int = 200,
    seed: int = 0,
) -> DrawnPairs:
    """Return the space of the pairs that a strategy of Hypothesis draws, for an audit's `pairs`.

    Args:
        strategy: Strategy that draws (database, neighbor), in any form that `dpjax.audit` takes.
        relation: Relation as in `dpjax.neighbors`; pairs of other databases are dropped. If
            `relation` is None, the strategy must draw only neighbors.
        domain: Domain as in `dpjax.neighbors`, or None for any databases.
        num_pairs: Number of draws for the first proposal.
        seed: Seed of the draws.

    Raises:
        TypeError: When `strategy` is not a strategy, or when an argument has the wrong type.
        ValueError: When the relation is unknown, or when a number is out of range.
    """
    related = None if relation is None else relation_of(relation)
    return DrawnPairs(strategy, related, domain, num_pairs, seed)


def as_space(pairs: object) -> object:
    """Return the space of the pairs that a strategy draws, or any other pairs unchanged."""
    return DrawnPairs(pairs) if is_strategy(pairs) else pairs
