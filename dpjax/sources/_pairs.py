"""Pairs of databases of any kind, for host sources and results."""

from numbers import Number
from typing import Any, NamedTuple

import numpy as np

from dpjax.core.wording import BadValue
from dpjax.databases import Pairs
from dpjax.databases._pairs import rows_of
from dpjax.databases.trees import rows
from dpjax.partitions.previews import preview_database

_ROWS = (list, tuple, np.ndarray)

RECORDED = "recorded pair"
"""Label of the pair of databases to which recorded outputs belong."""


class AnyPairs(NamedTuple):
    """Pairs of databases of any kind.

    Attributes:
        sides: Two sequences of equal length: the database of each pair, and the neighbor of each
            pair.
        labels: Name of each pair, for display.
    """

    sides: tuple[Any, Any]
    labels: tuple[str, ...]

    @property
    def database(self) -> Any:
        """The database of each pair."""
        return self.sides[0]

    @property
    def neighbor(self) -> Any:
        """The neighbor in each pair."""
        return self.sides[1]

    def __len__(self) -> int:
        return len(self.labels)

    @classmethod
    def of(cls, pairs: Any) -> "AnyPairs":
        """Create pairs from `dpjax.Pairs`, or from a list of (database, neighbor).

        An `AnyPairs` is returned unchanged.

        Raises:
            TypeError: If `pairs` is neither `dpjax.Pairs` nor a list of (database, neighbor).
            ValueError: If `pairs` is None or empty.
        """
        if pairs is None:
            raise BadValue("pairs must be given: a list of (database, neighbor).")
        if isinstance(pairs, AnyPairs):
            return pairs
        if isinstance(pairs, Pairs):
            return cls((rows(pairs.database), rows(pairs.neighbor)), pairs.labels)
        written = rows_of(pairs)
        if not written:
            raise BadValue("pairs must hold at least one (database, neighbor), but was empty.")
        names = tuple(f"pair {number}" for number in range(len(written)))
        return cls(([row[0] for row in written], [row[1] for row in written]), names)

    def refuse_equal(self) -> None:
        """Raise ValueError if database and neighbor are equal in every pair."""
        if all(map(_is_equal, *self.sides)):
            first = self.sides[0][0]
            shown = preview_database(first.tolist() if hasattr(first, "tolist") else first)
            raise BadValue(
                f"pairs must hold two different databases, but in {' and '.join(self.labels[:3])} "
                f"both are {shown}: no output can distinguish them."
            )

    def equal_notes(self) -> list[str]:
        """Return a note for each pair whose databases are equal and therefore indistinguishable."""
        return [
            f"database and neighbor are equal in {label}, so nothing could be found there."
            for label, database, neighbor in zip(self.labels, *self.sides, strict=True)
            if _is_equal(database, neighbor)
        ]


RECORDED_PAIRS = AnyPairs((["x"], ["y"]), (RECORDED,))
"""The pair of databases to which recorded outputs belong, whose names stand for its databases."""


def _is_equal(database: object, neighbor: object) -> bool:
    """Return whether two databases are equal; 1 and 1.0, for example, are equal."""
    try:
        return _holds_same(database, neighbor)
    except Exception:
        # Comparison may raise: libraries compare entry by entry, and lists may contain themselves.
        return False


def _holds_same(first: object, second: object) -> bool:
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        numbers = first.dtype.kind in "fc" and second.dtype.kind in "fc"
        return np.array_equal(first, second, equal_nan=numbers)
    if isinstance(first, _ROWS) and isinstance(second, _ROWS):
        return len(first) == len(second) and all(map(_holds_same, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        same = first.keys() == second.keys()
        return same and all(_holds_same(first[name], second[name]) for name in first)
    if isinstance(first, Number) and isinstance(second, Number):
        return bool(first == second or (first != first and second != second))
    return type(first) is type(second) and bool(first == second)
