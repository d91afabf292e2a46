"""The interface for spaces of pairs, and the pairs and paths that a space proposes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from dpjax.core import validate

VARIED = ", varied"
"""Suffix for the label of a varied pair, which does not describe its databases."""

Database = Any
"""A database of any type: a list, an array, a data frame, a number, and so on."""


class Proposed(NamedTuple):
    """A proposed pair of neighboring databases.

    Attributes:
        database: The database.
        neighbor: The neighbor of the database.
        label: Description of how the pair was made.
    """

    database: Database
    neighbor: Database
    label: str


class Path(NamedTuple):
    """Databases of 1, 2, ..., `longest` records, each a prefix of the next.

    Attributes:
        label: Description of the databases.
        longest: Number of records in the last database.
        step: Maximum difference between the sizes of two neighbors.
        at: Function that returns the database of a given size, or None if it is not allowed.
    """

    label: str
    longest: int
    step: int
    at: Callable[[int], Database | None]

    def pair(self, size: int, larger: int) -> Proposed | None:
        """Return the databases with `size` and `larger` records, which need not be neighbors.

        The result is None if one of the databases is not allowed.
        """
        sides = self.at(size), self.at(larger)
        if sides[0] is None or sides[1] is None:
            return None
        return Proposed(*sides, f"{self.label}: {size:,} records against {larger:,}")


class Made(NamedTuple):
    """A pair that lies in a space.

    Attributes:
        key: Key that identifies the pair: different pairs have different keys, and -0.0 differs
            from 0.0.
        pair: The pair.
    """

    key: object
    pair: Proposed


@dataclass(frozen=True, kw_only=True)
class Space:
    """A set of pairs that an audit can search; a space proposes pairs and varies the best pairs.

    Attributes:
        num_pairs: Maximum number of pairs in the first proposal.
        seed: Seed for the random choices of the first proposal.
    """

    num_pairs: int = 200
    seed: int = 0

    def __post_init__(self):
        validate.positive_int(num_pairs=self.num_pairs)
        validate.positive_int(at_least=0, seed=self.seed)

    def proposed(self) -> list[Proposed]:
        """Return the distinct pairs with which a search begins.

        Raises:
            ValueError: If the space contains no pair.
        """
        raise NotImplementedError

    def varied(self, pair: Proposed, seed: Sequence[int]) -> Proposed | None:
        """Return a variation of a pair.

        Args:
            pair: A proposed pair.
            seed: Integers that seed the random choices.

        Returns:
            The varied pair, or None if no attempt produced a pair in the space.
        """
        raise NotImplementedError

    def allows(self, database: object, neighbor: object) -> bool:
        """Return whether the space may propose a pair; by default, every pair is allowed."""
        return True

    def smallest(self, pairs: Sequence[Proposed]) -> list[Proposed]:
        """Return a few pairs with the fewest records; return [] if databases have no records."""
        raise NotImplementedError

    def paths(self) -> Sequence[Path]:
        """Return sequences of growing databases on which a search looks for jumps."""
        return []

    def __iter__(self) -> Iterator[tuple[object, object]]:
        return iter([(pair.database, pair.neighbor) for pair in self.proposed()])
