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

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from dpjax.core.arrays import packed, unpacked
from dpjax.core.types import JsonObject
from dpjax.partitions._factors import Factors
from dpjax.partitions._features import clipped
from dpjax.partitions._logistic import FOLDS
from dpjax.partitions._moments import Moments, in_slices
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
        sums: Sequence[tuple[int, int]] = (),
        is_even: bool = False,
    ) -> "Spread | None":
        """Fit the scores, or return None if they do not tell the two sides of outputs apart.

        Args:
            sides: See `Moments.of`.
            folds: See `Moments.of`.
            moments: Moments of the outputs.
            groups: Masks of numbers, bool [numbers] each. A score uses the numbers of one group.
            sums: Pairs of disjoint groups, which count as independent. The sums of their scores are
                scores, too.
            is_even: Whether to try scores in which all numbers of a group count equally.
        """
        if moments.size.sum(axis=1).min() < _FEWEST or (moments.size == 0).any():
            return None
        fits = [_Fit.of(moments, fold) for fold in range(FOLDS)]
        deviation = _Fit.of(moments, None).deviation
        means = moments.without(None)[0] + moments.centre
        found: list[_Candidate | None] = []
        for group in groups:
            factors = Factors.of(sides, folds, means, deviation, group)
            tried = [_tried(fit, n, group, factors) for n, fit in enumerate(fits)]
            if is_even:
                evenly = [fit.even(group)[None] for fit in fits]
                tried = [np.concatenate(pair) for pair in zip(tried, evenly, strict=True)]
            found.append(_Candidate.best(sides, folds, fits, np.stack(tried, axis=1)))
        for first, second in ((found[a], found[b]) for a, b in sums):
            if first is not None and second is not None:
                tried = (first.weights + second.weights)[None]
                found.append(_Candidate.best(sides, folds, fits, tried))
        best = max(filter(None, found), key=lambda each: each.gap, default=None)
        if best is None or best.gap <= _SEEN:
            return None
        _, (weights,), (shift,) = _scaled(fits, best.weights[None])
        influence = np.mean((weights * deviation) ** 2, axis=0)
        if influence.max() > _MOST:
            return None
        shown = min(np.count_nonzero(influence), _SHOWN)
        largest = np.argsort(-influence, kind="stable")[:shown]
        return cls(np.ascontiguousarray(weights.T), shift, tuple(largest.tolist()))

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


class _Candidate(NamedTuple):
    """Weights of one score that was tried.

    Attributes:
        gap: Difference of the two sides' mean held-out scores, in standard errors.
        weights: Weights without each fold, float64 [folds, numbers].
    """

    gap: float
    weights: np.ndarray

    @classmethod
    def best(
        cls,
        sides: Sequence[Any],
        folds: Sequence[np.ndarray],
        fits: Sequence["_Fit"],
        tried: np.ndarray,
    ) -> Self | None:
        """Return the candidate with the largest difference, or None if there is none.

        Args:
            sides: See `Moments.of`.
            folds: See `Moments.of`.
            fits: The fit without each fold.
            tried: Weights of all candidates, float64 [tried, folds, numbers].
        """
        places, weights, shift = _scaled(fits, tried)
        if not len(places):
            return None
        means, errors = [], 0.0
        for side, fold in zip(sides, folds, strict=True):
            held = np.empty((len(fold), len(places)))
            for where, part in in_slices(side):
                for number in range(FOLDS):
                    of_fold = fold[where] == number
                    scores = part[of_fold] @ weights[:, number].T - shift[:, number]
                    held[where][of_fold] = scores
            held = clipped(held)
            means.append(held.mean(axis=0))
            errors = errors + held.var(axis=0) / len(held)
        gaps = (means[0] - means[1]) / np.sqrt(np.maximum(errors, 1e-300))
        best = int(np.argmax(gaps))
        return cls(float(gaps[best]), tried[places[best]])


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

    def even(self, group: np.ndarray) -> np.ndarray:
        """Return weights with which the numbers of a group count equally, float64 [numbers].

        Their sum is the best score if all numbers differ by equally many deviations.
        """
        used = group & (self.deviation**2 > _TINY)
        weights = np.divide(1, self.deviation, out=np.zeros_like(self.gap), where=used)
        # The mean difference in deviations has the right scale for a sum with another score.
        return weights * (weights @ self.gap) / max(used.sum(), 1)


def _tried(fit: _Fit, fold: int, group: np.ndarray, factors: Factors) -> np.ndarray:
    """Return all weights of a group to try without a fold, float64 [tried, numbers]."""
    further = factors.weights(fold, fit.gap, fit.errors, _SHRUNK)
    return np.concatenate([np.where(group, fit.weights, 0.0), further])


def _scaled(fits: Sequence[_Fit], tried: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scale weights such that the variance of scores would be 1 if numbers were independent.

    Args:
        fits: The fit without each fold.
        tried: Weights of all candidates, float64 [tried, folds, numbers]. A candidate is left out
            if all of its weights without a fold are 0.

    Returns:
        Indices of the candidates that are kept, int64 [kept]; their scaled weights, float64
        [kept, folds, numbers]; and the numbers that are subtracted from scores, float64
        [kept, folds].
    """
    sizes = np.empty(tried.shape[:2])
    for number, fit in enumerate(fits):
        sizes[:, number] = [np.linalg.norm(each * fit.deviation) for each in tried[:, number]]
    (places,) = np.nonzero(sizes.min(axis=1) > 0)
    scaled = tried[places] / sizes[places, :, None]
    shift = np.stack([scaled[:, number] @ fit.mean for number, fit in enumerate(fits)], axis=1)
    return places, scaled, shift
