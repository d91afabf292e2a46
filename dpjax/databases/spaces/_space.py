"""Interfaces of a space of pairs, and of what makes the pairs of a space."""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np


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


class Candidate(Protocol):
    """A pair that may lie in a space, and that is made only when it is proposed."""

    @property
    def size(self) -> int:
        """Number of records of both databases, or 0 for values without records."""
        ...

    @property
    def label(self) -> str:
        """Description of the pair."""
        ...

    def sides(self) -> tuple[Any, Any]:
        """Return the records of both databases, or two values."""
        ...


class Maker(Protocol):
    """What makes pairs from example databases of one form."""

    @property
    def num_records(self) -> int:
        """Number of records of the largest example, or 0 for values without records."""
        ...

    def candidates(self) -> Sequence[Candidate]:
        """Return candidate pairs, those closest to the examples first."""
        ...

    def made(self, database: Any, neighbor: Any, label: str, /) -> Made | None:
        """Return the pair of two lists of records or two values; None if it is not in the space."""
        ...

    def allows(self, database: object, neighbor: object) -> bool:
        """Return whether two databases are neighbors and lie in the domain."""
        ...

    def has_form(self, database: object) -> bool:
        """Return whether a database has the form of the examples."""
        ...

    def size(self, pair: Proposed) -> int:
        """Return the number of records of both databases of a pair, or 0."""
        ...

    def varied(self, pair: Proposed, rng: np.random.Generator) -> tuple[Any, Any]:
        """Return two lists of records or two values that may be neighbors, near a pair."""
        ...


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
