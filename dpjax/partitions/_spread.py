"""Linear scores of thousands of numbers, for differences that are spread over many of them.

If one record changes many numbers a little, such as the frequencies of its words or the weights of
a model, no single number shows the difference. The numbers are too many for a regression, so each
number gets a weight on its own: the difference of the two sides' means, divided by the variance.
Differences shrink toward 0 by a number of standard errors, so that numbers that differ by chance do
not count. Held-out outputs determine by how many.

On the outputs to which a score was fitted, it overestimates the difference between the two sides.
Therefore, there are several scores, one without each fold of the search set, and each output has
all of them. The search uses the score that was fitted without the output's fold, and the mean of
all scores for fresh outputs.

References:
    Tibshirani, Hastie, Narasimhan, Chu (2002), nearest shrunken centroids.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from dpjax.core.arrays import packed, unpacked
from dpjax.core.types import JsonObject
from dpjax.partitions._factors import Factors
from dpjax.partitions._features import clipped
from dpjax.partitions._logistic import FOLDS
from dpjax.partitions._nested import SPREAD

_FEWEST = 20
"""Minimum number of outputs per side."""

_SHRUNK = (0.0, 1.0, 2.0, 3.0, 4.0)
"""Numbers of standard errors by which differences may shrink."""

_SEEN = 1.0
"""There is no score if the mean scores of the two sides, for held-out outputs, differ by less than
this number of standard errors.
"""

_SHOWN = 3
"""Number of entries that a description of a score names."""

_MOST = 0.99
"""A score is left out if a single number has more than this share of its variance."""

_TINY, _EQUAL = 2.0**-400, 1e-20
"""Variances below _TINY count as 0, so that no weight is so large that scores overflow. So do
variances whose ratio to the squared difference of the means is below _EQUAL, and differences whose
ratio to the standard error is below _EQUAL.
"""

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
            sides: Numbers of the outputs on each side, [n, numbers], as two arrays or as two
                sparse arrays.
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

    def by_difference(self) -> tuple[np.ndarray, int]:
        """Sort the numbers by the difference of their means, in standard errors.

        Numbers whose differences are equal up to rounding errors keep their order.

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
        return np.argsort(-ratios, kind="stable"), int((ratios > by_chance).sum())


class Spread(NamedTuple):
    """One linear score for each fold, fitted without the fold.

    Attributes:
        weights: Weights of the numbers, float64 [numbers, folds].
        shift: Number that is subtracted from each score, float64 [folds].
        largest: Indices of the numbers with the largest influence.
    """

    weights: np.ndarray
    shift: np.ndarray
    largest: tuple[int, ...]

    @classmethod
    def of(
        cls,
        sides: Sequence[Any],
        folds: Sequence[np.ndarray],
        moments: Moments,
        groups: Sequence[np.ndarray],
    ) -> "Spread | None":
        """Fit the scores, or return None if they do not tell the two sides of outputs apart.

        Args:
            sides: See `Moments.of`.
            folds: See `Moments.of`.
            moments: Moments of the outputs.
            groups: Masks of numbers, bool [numbers] each. A score uses the numbers of one group.
        """
        if moments.size.sum(axis=1).min() < _FEWEST or (moments.size == 0).any():
            return None
        fits = [_Fit.of(moments, fold) for fold in range(FOLDS)]
        deviation = _Fit.of(moments, None).deviation
        means = moments.without(None)[0] + moments.centre
        tried: list[Spread] = []
        for group in groups:
            factors = Factors.of(sides, folds, means, deviation, group)
            tried += _scaled(fits, [_tried(fit, n, group, factors) for n, fit in enumerate(fits)])
        if not tried:
            return None
        gaps = _separations(sides, folds, tried)
        best = tried[int(np.argmax(gaps))]
        influence = np.mean((best.weights * deviation[:, None]) ** 2, axis=1)
        if gaps.max() <= _SEEN or influence.max() > _MOST:
            return None
        shown = min(np.count_nonzero(influence), _SHOWN)
        largest = np.argsort(-influence, kind="stable")[:shown]
        return best._replace(largest=tuple(largest.tolist()))

    def scores(self, rows: Any) -> np.ndarray:
        """Return all scores of outputs, float64 [n, folds].

        Args:
            rows: Numbers of the outputs, [n, numbers].
        """
        # Sums of rows round equal outputs of all batches equally, unlike matrix products.
        found = [
            [np.sum(part * weights, axis=1) for weights in self.weights.T]
            for _, part in in_slices(rows)
        ]
        return np.concatenate(found, axis=1).T - self.shift

    def paths(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return a path for each score.

        Args:
            names: Names of the numbers with the largest influence.
        """
        more = int(self.weights.any(axis=1).sum()) - len(names)
        others = f" and {more:,} more" if more > 0 else ""
        text = f"the linear score of the entries {', '.join(names)}{others}"
        return tuple(f"{SPREAD} {fold}: {text}" for fold in range(FOLDS))

    def to_plain(self) -> JsonObject:
        """Return the scores as JSON values."""
        weights, shift = packed(self.weights), packed(self.shift)
        return {"weights": weights, "shift": shift, "largest": list(self.largest)}

    @classmethod
    def restored(cls, plain: JsonObject) -> Self:
        """Restore the scores that `to_plain` returned."""
        weights, shift = unpacked(plain["weights"], "f"), unpacked(plain["shift"], "f")
        return cls(weights, shift, tuple(map(int, plain["largest"])))


def _centred(rows: Any, centre: np.ndarray) -> Any:
    """Subtract `centre` from numbers, but from sparse ones only where they are stored."""
    if isinstance(rows, np.ndarray):
        return rows - centre
    part = rows.copy()
    part.data = part.data - centre[part.indices]
    return part


def _separations(
    sides: Sequence[Any], folds: Sequence[np.ndarray], tried: Sequence[Spread]
) -> np.ndarray:
    """Return the differences of the sides' mean held-out scores, in standard errors, [tried]."""
    weights = np.concatenate([score.weights for score in tried], axis=1)
    shift, means, errors = np.stack([score.shift for score in tried]), [], 0.0
    for side, fold in zip(sides, folds, strict=True):
        scores = np.concatenate([part @ weights for _, part in in_slices(side)])
        scores = scores.reshape(len(fold), len(tried), FOLDS) - shift
        held = np.take_along_axis(scores, fold[:, None, None], axis=2)[:, :, 0]
        held = clipped(held)
        means.append(held.mean(axis=0))
        errors = errors + held.var(axis=0) / len(held)
    return (means[0] - means[1]) / np.sqrt(np.maximum(errors, 1e-300))


class _Fit(NamedTuple):
    """Weights of all numbers, each on its own, that are fitted without a fold.

    Attributes:
        weights: Weights for each amount by which they may shrink, float64 [shrunk, numbers].
        deviation: Root of the mean of the variances on both sides, float64 [numbers].
        mean: Mean of the means on both sides, float64 [numbers].
        gap: Difference of the means, float64 [numbers].
        errors: Standard errors of the differences, float64 [numbers].
    """

    weights: np.ndarray
    deviation: np.ndarray
    mean: np.ndarray
    gap: np.ndarray
    errors: np.ndarray

    @classmethod
    def of(cls, moments: Moments, fold: int | None) -> Self:
        """Fit the weights without a fold, or to all outputs."""
        means, variances, count = moments.without(fold)
        gap, variance = means[0] - means[1], variances.mean(axis=0)
        # Numbers that never vary, but differ between the sides, get a finite weight.
        variance = np.where(variance > _EQUAL * gap**2, variance, gap**2)
        weight = np.divide(gap, variance, out=np.zeros_like(gap), where=variance > _TINY)
        errors = np.sqrt((variances / count).sum(axis=0))
        size, large = np.full_like(gap, 1 / _EQUAL), np.abs(gap) > _EQUAL * errors
        np.divide(errors, np.abs(gap), out=size, where=large)
        shrunk = np.maximum(1 - np.array(_SHRUNK)[:, None] * size, 0)
        mean = means.mean(axis=0) + moments.centre
        return cls(weight * shrunk, np.sqrt(variance), mean, gap, errors)


def _tried(fit: _Fit, fold: int, group: np.ndarray, factors: Factors) -> np.ndarray:
    """Return all weights to try, float64 [tried, numbers].

    Args:
        fit: The fit without the fold.
        fold: The fold.
        group: Mask of the numbers that are used, bool [numbers].
        factors: Common factors of these numbers.
    """
    further = factors.weights(fold, fit.gap, fit.errors, _SHRUNK)
    return np.concatenate([np.where(group, fit.weights, 0.0), further])


def _scaled(fits: Sequence[_Fit], tried: Sequence[np.ndarray]) -> list[Spread]:
    """Return scores whose variance would be 1 if numbers were independent.

    Args:
        fits: The fit without each fold.
        tried: Weights without each fold, float64 [tried, numbers] each. A score is left out if all
            of its weights without a fold are 0.
    """
    found = []
    for columns in zip(*tried, strict=True):
        sizes = [np.linalg.norm(w * fit.deviation) for w, fit in zip(columns, fits, strict=True)]
        if min(sizes) > 0:
            scaled = [weights / size for weights, size in zip(columns, sizes, strict=True)]
            pairs = zip(scaled, fits, strict=True)
            shift = [weights @ fit.mean for weights, fit in pairs]
            found.append(Spread(np.stack(scaled, axis=1), np.array(shift), ()))
    return found


def in_slices(table: Any) -> Iterator[tuple[slice, Any]]:
    """Yield the rows of a table, [n, numbers], with at most about _SLICE numbers at a time.

    Entries are clipped, so that arithmetic on them does not overflow. There is at least one slice.
    """
    if not isinstance(table, np.ndarray):
        yield slice(None), table
        return
    step = max(_SLICE // table.shape[1], 1)
    for start in range(0, max(len(table), 1), step):
        yield (where := slice(start, start + step)), clipped(table[where])
