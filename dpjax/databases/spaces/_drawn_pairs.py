"""Pairs of neighboring databases that are drawn from a Hypothesis strategy."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from dpjax.core.wording import BadType, BadValue
from dpjax.databases._pairs import rows_of
from dpjax.databases.spaces._domain import Domain
from dpjax.databases.spaces._drawn import drawn, is_strategy
from dpjax.databases.spaces._exact import exact_text
from dpjax.databases.spaces._neighbors import Neighbors
from dpjax.databases.spaces._relations import Relation, relation_of
from dpjax.databases.spaces._space import Proposed, Space

_AGAIN = 1
"""Number that is added to the seed when a search draws additional pairs."""


@dataclass(frozen=True)
class DrawnPairs(Space):
    """A space of pairs that are drawn from a Hypothesis strategy.

    `dpjax.audit` accepts the space as its argument `pairs`.

    Attributes:
        strategy: Hypothesis strategy that draws (database, neighbor).
        relation: Relation that the two databases of a pair must satisfy, or None if the strategy
            draws only neighbors.
        domain: Domain of both databases, or None for any databases. If `domain` is not None,
            `relation` must not be None either.
        num_pairs: Maximum number of pairs to draw for the first proposal.
        seed: Seed for the draws.
    """

    strategy: Any
    relation: Relation | None = None
    domain: Domain | Mapping[Hashable, Domain] | None = None

    def __post_init__(self):
        super().__post_init__()
        if not is_strategy(self.strategy):
            raise BadType(
                "strategy must be a Hypothesis strategy that draws (database, neighbor), but "
                f"was {self.strategy!r}."
            )
        if self.domain is not None and self.relation is None:
            raise BadValue("domain must be None unless relation is given.")

    def proposed(self) -> list[Proposed]:
        """See `Space`."""
        found = self._drawn(self.seed)
        if not found:
            raise BadValue(
                "strategy must draw neighbors, but in every pair that it drew, the databases were "
                "equal, were not neighbors, or were outside the domain."
            )
        return found

    def varied(self, pair: Proposed, seed: Sequence[int]) -> Proposed | None:
        """Return another pair from the strategy, because a drawn pair cannot be varied."""
        more = self._more
        return more[np.random.default_rng([self.seed, *seed]).integers(len(more))] if more else None

    def allows(self, database: object, neighbor: object) -> bool:
        """Return whether two databases are neighbors and lie in the domain."""
        if self.relation is None:
            return True
        domain = Domain(nan=True, infinite=True) if self.domain is None else self.domain
        return Neighbors(database, self.relation, domain).allows(database, neighbor)

    def smallest(self, pairs: Sequence[Proposed]) -> list[Proposed]:
        """Return [], because pairs from a strategy are not compared by size."""
        return []

    @cached_property
    def _more(self) -> list[Proposed]:
        return self._drawn(self.seed + _AGAIN)

    def _drawn(self, seed: int) -> list[Proposed]:
        """Draw pairs, and return the distinct pairs of neighbors."""
        found: dict[tuple[str, str], Proposed] = {}
        rows = rows_of(drawn(self.strategy, self.num_pairs, seed))
        for number, (database, neighbor) in enumerate(rows):
            one, other = exact_text(database), exact_text(neighbor)
            if one != other and self.allows(database, neighbor):
                pair = Proposed(database, neighbor, f"draw {number} of seed {seed}")
                found.setdefault((one, other), pair)
        return list(found.values())


def drawn_pairs(
    strategy: object,
    relation: Relation | str | None = None,
    domain: Domain | Mapping[Hashable, Domain] | None = None,
    *,
    num_pairs: int = 200,
    seed: int = 0,
) -> DrawnPairs:
    """Return a space of pairs drawn from a Hypothesis strategy, for an audit's argument `pairs`.

    Args:
        strategy: Hypothesis strategy that draws (database, neighbor), with databases in any form
            that `dpjax.audit` accepts.
        relation: Relation, as in `dpjax.neighbors`. Pairs that do not satisfy the relation are
            dropped. If `relation` is None, the strategy must draw only neighbors.
        domain: Domain, as in `dpjax.neighbors`, or None for any databases.
        num_pairs: Maximum number of pairs to draw for the first proposal.
        seed: Seed for the draws.

    Raises:
        TypeError: If `strategy` is not a Hypothesis strategy, or if an argument has the wrong type.
        ValueError: If the relation is unknown, or if a number is out of range.
    """
    related = None if relation is None else relation_of(relation)
    return DrawnPairs(strategy, related, domain, num_pairs=num_pairs, seed=seed)
