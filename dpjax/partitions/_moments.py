"""Sums of the numbers of outputs over sides and folds."""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from dpjax.partitions._features import clipped
from dpjax.partitions._logistic import FOLDS
from dpjax.partitions._transforms import Table

_SLICE = 2**22
"""Number of entries that are converted at a time, so that little additional memory is used."""


class Moments(NamedTuple):
    """Sums of each number over the outputs of each side and fold.

    Attributes:
        size: Number of outputs, int64 [2 sides, folds].
        centre: Number that was subtracted from each number before, float64 [numbers].
        sums: Sums, float64 [2 sides, folds, numbers].
        squares: Sums of squares, float64 [2 sides, folds, numbers].
    """

    size: np.ndarray
    centre: np.ndarray
    sums: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, sides: Sequence[Any], folds: Sequence[np.ndarray]) -> Self:
        """Sum the numbers of outputs.

        Args:
            sides: Numbers of the outputs on each side, [n, numbers], as two arrays, as two sparse
                arrays, or as two tables.
            folds: Fold of each output, int [n] for each side.
        """
        first = [side[:3] for side in sides]
        dense = [rows if isinstance(rows, np.ndarray) else rows.toarray() for rows in first]
        # Unlike a mean, the median of a constant number has no rounding error.
        centre = np.median(clipped(np.concatenate(dense)), axis=0)
        size = np.stack([np.bincount(fold, minlength=FOLDS) for fold in folds])
        sums, squares = np.zeros((2, 2, FOLDS, sides[0].shape[1]))
        for place, (side, fold) in enumerate(zip(sides, folds, strict=True)):
            for where, rows in in_slices(side):
                part = _centred(rows, centre)
                for number in range(FOLDS):
                    some = part[fold[where] == number]
                    sums[place, number] += some.sum(axis=0)
                    squares[place, number] += (some**2).sum(axis=0)
                    if not isinstance(some, np.ndarray):
                        lacking = some.shape[0] - np.bincount(some.indices, minlength=len(centre))
                        sums[place, number] -= lacking * centre
                        squares[place, number] += lacking * centre**2
        return cls(size, centre, sums, squares)

    def without(self, fold: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the moments of all outputs, or of those outside a fold.

        Returns:
            Means after centring, float64 [2 sides, numbers]; variances, float64 [2 sides, numbers];
            and numbers of outputs, int64 [2 sides, 1].
        """
        used = np.arange(FOLDS) != fold
        count = np.maximum(self.size[:, used].sum(axis=1, keepdims=True), 1)
        means = self.sums[:, used].sum(axis=1) / count
        variances = np.maximum(self.squares[:, used].sum(axis=1) / count - means**2, 0)
        return means, variances, count

    def by_difference(self, parts: int = 1) -> tuple[np.ndarray, int]:
        """Sort the numbers by the difference of their means, in standard errors.

        Numbers whose differences are equal up to rounding errors keep their order.

        Args:
            parts: Number of columns per number. Column k of each part of the columns belongs to
                number k, whose difference is the largest one of its columns.

        Returns:
            Indices of the numbers, from the largest difference to the least, and the number of the
            first ones whose differences are no chance.
        """
        means, variances, count = self.without(None)
        gaps, errors = np.abs(means[0] - means[1]), np.sqrt((variances / count).sum(axis=0))
        ratios = np.divide(gaps, errors, out=np.where(gaps > 0, np.inf, 0.0), where=errors > 0)
        with np.errstate(over="ignore"):
            ratios = ratios.astype(np.float32)
        # If no number differed, the largest of their differences would hardly exceed this one.
        by_chance = math.sqrt(2 * math.log(max(len(ratios), 2)))
        ratios = ratios.reshape(parts, -1).max(axis=0)
        return np.argsort(-ratios, kind="stable"), int((ratios > by_chance).sum())


def _centred(rows: Any, centre: np.ndarray) -> Any:
    """Subtract `centre` from numbers, but from sparse ones only where they are stored."""
    if isinstance(rows, np.ndarray):
        return rows - centre
    part = rows.copy()
    part.data = part.data - centre[part.indices]
    return part


def in_slices(table: Any) -> Iterator[tuple[slice, Any]]:
    """Yield the rows of a table, [n, numbers], with at most about _SLICE numbers at a time.

    Entries are clipped, so that arithmetic on them does not overflow. There is at least one slice.
    """
    if not isinstance(table, np.ndarray | Table):
        yield slice(None), table
        return
    step = max(_SLICE // table.shape[1], 1)
    for start in range(0, max(table.shape[0], 1), step):
        yield (where := slice(start, start + step)), clipped(table[where])
