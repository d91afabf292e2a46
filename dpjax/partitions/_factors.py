"""Common factors of thousands of numbers, which hide a difference that is spread over them.

The weights of one model, and the words of texts about several topics, vary together. A score that
weighs each number on its own then varies much more than the difference between the two sides. The
factors are estimated by the principal components of standardized residuals. Beside them, numbers
count as independent, so that the inverse of the covariance matrix has a closed form.

References:
    Fan, Fan, Lv (2008), covariance matrices of high dimension from a factor model.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from dpjax.partitions._features import LARGE
from dpjax.partitions._logistic import FOLDS

_NUMBERS = (16, 64, 256)
"""Numbers of factors to try."""

_SHARE = 0.7
"""Maximum ratio of the number of factors to the number of residuals."""

_FEWEST_ROWS, _MOST_ROWS, _MOST_ENTRIES = 200, 1000, 2**23
"""Limits on the residuals of both sides together. There are at most about _MOST_ENTRIES numbers."""

_LEAST, _TINY = 1e-12, 2.0**-200
"""Minimum ratio of a number's variance without the factors to its variance, and least standard
deviation. No weight of a number that varies more is so large that scores overflow.
"""


class Factors(NamedTuple):
    """Residuals of some outputs, from which common factors are estimated.

    Attributes:
        rows: Residuals divided by standard deviations, float64 [m, used numbers].
        fold: Fold of each residual, int [m].
        products: Products of all pairs of residuals, float64 [m, m], or None if there are more
            residuals than numbers.
        deviation: Standard deviations, float64 [used numbers].
        used: Indices of the numbers that are used, int64 [used numbers].
    """

    rows: np.ndarray
    fold: np.ndarray
    products: np.ndarray | None
    deviation: np.ndarray
    used: np.ndarray

    @classmethod
    def of(
        cls,
        sides: Sequence[Any],
        folds: Sequence[np.ndarray],
        means: np.ndarray,
        deviation: np.ndarray,
        group: np.ndarray,
    ) -> Self:
        """Compute residuals of the first outputs.

        Args:
            sides: Numbers of the outputs on each side, [n, numbers], as two arrays or as two
                sparse arrays.
            folds: Fold of each output, int [n] for each side.
            means: Means of both sides, float64 [2 sides, numbers].
            deviation: Standard deviation of each number, float64 [numbers].
            group: Mask of the numbers that may be used, bool [numbers].
        """
        (used,) = np.nonzero(group & (deviation > _TINY))
        most = min(max(_MOST_ENTRIES // max(len(used), 1), _FEWEST_ROWS), _MOST_ROWS) // 2
        first = [side[:most][:, used] for side in sides]
        dense = [rows if isinstance(rows, np.ndarray) else rows.toarray() for rows in first]
        rows = np.concatenate(dense)
        np.clip(rows, -LARGE, LARGE, out=rows)
        for part, mean in zip(np.split(rows, [dense[0].shape[0]]), means, strict=True):
            part -= mean[used]
        rows /= deviation[used]
        fold = np.concatenate([each[:most] for each in folds])
        products = rows @ rows.T if len(rows) <= len(used) else None
        return cls(rows, fold, products, deviation[used], used)

    @property
    def numbers(self) -> list[int]:
        """Numbers of factors to try."""
        least = min(np.count_nonzero(self.fold != number) for number in range(FOLDS))
        most = min(_SHARE * least, len(self.used) - 1)
        return [number for number in _NUMBERS if number <= most]

    def weights(
        self, fold: int, gap: np.ndarray, errors: np.ndarray, shrunk: Sequence[float]
    ) -> np.ndarray:
        """Return weights of linear scores that cancel the factors.

        Args:
            fold: Fold whose outputs are not used.
            gap: Difference of the two sides' means without the fold, float64 [numbers].
            errors: Standard errors of the differences, float64 [numbers].
            shrunk: Numbers of standard errors by which differences shrink.

        Returns:
            Weights for each number of factors and each amount of shrinkage, float64
            [numbers of factors * shrunk, numbers].
        """
        if not self.numbers:
            return np.empty((0, len(gap)))
        kept = self.fold != fold
        values, axes = self._principal(kept)
        values, inverse = values / kept.sum(), np.zeros(axes.shape[1])
        np.divide(1, values[: len(inverse)], out=inverse, where=axes.any(axis=0))
        found = np.zeros((len(self.numbers), len(shrunk), len(gap)))
        gap, errors = gap[self.used] / self.deviation, errors[self.used] / self.deviation
        for place, number in enumerate(self.numbers):
            some = axes[:, :number]
            alone = max(values[number:].sum() / (len(gap) - number), _LEAST)
            share = np.clip(1 - some**2 @ (values[:number] - alone), alone, 1)
            along = some.T @ gap
            rest, limits = gap - some @ along, errors * np.sqrt(share)
            within = some @ (along * inverse[:number])
            for row, times in zip(found[place], shrunk, strict=True):
                large = np.sign(rest) * np.maximum(np.abs(rest) - times * limits, 0)
                weights = (large - some @ (some.T @ large)) / alone + within
                row[self.used] = weights / self.deviation
        return found.reshape(-1, found.shape[2])

    def _principal(self, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return principal components of some residuals.

        Args:
            kept: Mask of the residuals, bool [m].

        Returns:
            Sums of squares along all components, from the largest, float64 [components], and the
            first axes, float64 [used numbers, largest number of factors]. An axis along which no
            residual varies is 0.
        """
        most = max(self.numbers)
        if self.products is None:
            some = self.rows[kept]
            values, vectors = np.linalg.eigh(some.T @ some)
        else:
            values, vectors = np.linalg.eigh(self.products[np.ix_(kept, kept)])
        values, vectors = np.maximum(values[::-1], 0), vectors[:, ::-1][:, :most]
        # Directions in which no residual varies are rounding errors.
        real = values[:most] > 1e-12 * values[0]
        if self.products is None:
            return values, vectors * real
        # Rows of zeros take less memory than a copy of the residuals that are kept.
        scaled = np.zeros((len(kept), most))
        scaled[kept] = vectors / np.where(real, np.sqrt(values[:most]), np.inf)
        return values, self.rows.T @ scaled
