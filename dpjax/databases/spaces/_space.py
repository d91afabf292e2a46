"""What a space of pairs is: it proposes pairs, and varies those that promise most."""

from collections.abc import Sequence
from typing import Any, NamedTuple


class Proposed(NamedTuple):
    """A proposed pair.

    Attributes:
        database: The database.
        neighbor: Its neighbor.
        label: How the pair was made.
    """

    database: Any
    neighbor: Any
    label: str


class Space:
    """Pairs with which a search begins, and variations of them."""

    def proposed(self) -> list[Proposed]:
        """Return the distinct pairs with which a search begins.

        Raises:
            ValueError: When there is none.
        """
        raise NotImplementedError

    def varied(self, pair: Proposed, seed: Sequence[int]) -> Proposed | None:
        """Return a variation of a pair.

        Args:
            pair: A proposed pair.
            seed: Words of the seed.

        Returns:
            The pair, or None if no attempt was within the space.
        """
        raise NotImplementedError

    def smallest(self, pairs: Sequence[Proposed]) -> list[Proposed]:
        """Return a few of the pairs with the fewest records; empty for single values."""
        raise NotImplementedError
