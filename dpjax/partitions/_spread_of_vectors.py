"""Linear scores of all numbers of vectors, and of transforms of these numbers."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Self

import numpy as np

from dpjax.core.types import JsonObject
from dpjax.partitions._moments import Moments
from dpjax.partitions._spread import Spread
from dpjax.partitions._transforms import NUM_PARTS, Table, Transforms


class SpreadOfVectors(NamedTuple):
    """Scores of numbers, of clipped numbers, of distances, or of sums of these; see `Spread`.

    Held-out outputs determine which columns are used.

    Attributes:
        spread: The scores.
        transforms: Transforms of the numbers, or None if scores use only the numbers.
    """

    spread: Spread
    transforms: Transforms | None

    @classmethod
    def of(
        cls, tables: Sequence[Table], folds: Sequence[np.ndarray], moments: Moments
    ) -> Self | None:
        """Fit the scores, or return None if they do not tell the two sides of outputs apart."""
        width = tables[0].shape[1] // NUM_PARTS
        part = np.repeat(np.arange(NUM_PARTS), width)
        groups = [part == number for number in range(NUM_PARTS)]
        # If noise is symmetric, distances are uncorrelated with numbers and with clipped numbers.
        spread = Spread.of(tables, folds, moments, groups, sums=[(0, 1), (1, 2)], is_even=True)
        if spread is None:
            return None
        if spread.weights[width:].any():
            return cls(spread, tables[0].transforms)
        return cls(spread._replace(weights=spread.weights[:width]), None)

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """Return all scores of outputs, float64 [n, folds].

        Args:
            rows: Numbers of the outputs, [n, numbers].
        """
        return self.spread.scores(rows if self.transforms is None else Table(rows, self.transforms))

    def paths(self, name: Callable[[int], str]) -> tuple[str, ...]:
        """Return a path for each score.

        Args:
            name: Function from the index of a number to its name.
        """
        named = [name_of_column(place, name, self.transforms) for place in self.spread.largest]
        return self.spread.paths(named)

    def to_plain(self) -> JsonObject:
        """Return the scores as JSON values."""
        transforms = None if self.transforms is None else self.transforms.to_plain()
        return {**self.spread.to_plain(), "transforms": transforms}

    @classmethod
    def restored(cls, plain: JsonObject) -> Self:
        """Restore the scores that `to_plain` returned."""
        given = plain["transforms"]
        return cls(Spread.restored(plain), None if given is None else Transforms.restored(given))


def name_of_column(place: int, name: Callable[[int], str], transforms: Transforms | None) -> str:
    """Return the name of a number, or of a transform of a number.

    Args:
        place: Index of the column.
        name: Function from the index of a number to its name.
        transforms: Transforms of the numbers, or None if there are none.
    """
    return name(place) if transforms is None else transforms.name(place, name)
