"""Transforms of the numbers of vectors, whose means differ although the numbers' means do not.

The distance of a number from a centre shows a difference of scale, such as less noise. A clipped
number shows a difference of location better than the number itself if noise has heavy tails.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from dpjax.core.arrays import packed, unpacked
from dpjax.core.types import JsonObject
from dpjax.partitions._features import NORMAL_IQR, SOFT, clipped

_ROWS, _NUMBERS = 500, 2**21
"""Limits, per side, on the outputs that determine centres and scales: at most _ROWS outputs, and at
most about _NUMBERS numbers, but at least 3 outputs.
"""

NUM_PARTS = 3
"""Number of columns for each number: the number, its distance, and the clipped number."""


class Transforms(NamedTuple):
    """Functions of the numbers of an output.

    Attributes:
        centre: Median of each number, float64 [numbers].
        limit: Maximum distance of a clipped number from the centre, float64 [numbers].
    """

    centre: np.ndarray
    limit: np.ndarray

    @classmethod
    def of(cls, sides: Sequence[np.ndarray]) -> Self:
        """Return transforms by the first outputs of both sides, [n, numbers] each."""
        most = min(_ROWS, max(_NUMBERS // sides[0].shape[1], 3))
        rows = clipped(np.concatenate([side[:most] for side in sides]))
        low, centre, high = np.quantile(rows, [0.25, 0.5, 0.75], axis=0)
        scale = np.where(high > low, (high - low) / NORMAL_IQR, rows.std(axis=0))
        return cls(centre, SOFT * scale)

    def columns(self, rows: np.ndarray) -> np.ndarray:
        """Return numbers, their distances from the centre, and clipped numbers.

        Args:
            rows: Numbers of outputs, [n, numbers].

        Returns:
            Columns, float64 [n, 3 * numbers].
        """
        numbers = clipped(rows)
        apart = numbers - self.centre
        near = np.clip(apart, -self.limit, self.limit)
        return np.concatenate([numbers, np.abs(apart), near], axis=1)

    def name(self, place: int, name: Callable[[int], str]) -> str:
        """Return the name of a column, such as "3", "|3 - 0.25|", or "clip(3, -0.5, 1)".

        Args:
            place: Index of the column.
            name: Function from the index of a number to its name.
        """
        part, place = divmod(place, len(self.centre))
        middle, limit = self.centre[place], self.limit[place]
        if part == 0:
            return name(place)
        if part == 1:
            return f"|{name(place)} {'+' if middle < 0 else '-'} {abs(middle):.3g}|"
        return f"clip({name(place)}, {middle - limit:.3g}, {middle + limit:.3g})"

    def to_plain(self) -> JsonObject:
        """Return the transforms as JSON values."""
        return {"centre": packed(self.centre), "limit": packed(self.limit)}

    @classmethod
    def restored(cls, plain: JsonObject) -> Self:
        """Restore the transforms that `to_plain` returned."""
        return cls(unpacked(plain["centre"], "f"), unpacked(plain["limit"], "f"))


@dataclass(frozen=True)
class Table:
    """The columns of outputs, which are computed only for rows that are used, to save memory.

    Attributes:
        rows: Numbers of outputs, [n, numbers].
        transforms: Transforms of the numbers.
    """

    rows: np.ndarray
    transforms: Transforms

    @classmethod
    def of(cls, sides: Sequence[np.ndarray]) -> list[Self]:
        """Return a table for the outputs of each side, [n, numbers], with the same transforms."""
        transforms = Transforms.of(sides)
        return [cls(side, transforms) for side in sides]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns."""
        return len(self.rows), NUM_PARTS * len(self.transforms.centre)

    def __getitem__(self, rows: slice) -> np.ndarray:
        """Return some rows of the table, float64 [rows, columns]."""
        return self.transforms.columns(self.rows[rows])
