"""Interface of a space of pairs, which proposes pairs and varies the most promising pairs."""

from collections.abc import Sequence
from typing import Any, NamedTuple


class Proposed(NamedTuple):
    """A proposed pair of neighboring databases.

    Attributes:
        database: The database.
        neighbor: The neighbor of the database.
        label: Description of how the pair was made.
    """

    database: Any
    neighbor: Any
    label: str


class Made(NamedTuple):
    """A pair that lies in a space.

    Attributes:
        key: Key that differs between different pairs; -0.0 differs from 0.0.
        pair: The pair.
    """

    key: object
    pair: Proposed


class Space:
    """A set of pairs in which an audit can search, by proposals and by variations."""

    def proposed(self) -> list[Proposed]:
        """Return the distinct pairs with which a search begins.

        Raises:
            ValueError: When the space contains no pair.
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

    def smallest(self, pairs: Sequence[Proposed]) -> list[Proposed]:
        """Return the few pairs with the fewest records; return [] if databases have no records."""
        raise NotImplementedError
