"""Smooth privacy losses along a line of cells, fitted to the counts of a search set.

A half-line consists of all cells on one side of a cut of the line. If a half-line contains only a
tail of the line, the counts of the half-line are too small for a precise estimate of its
probability ratio. If adjacent cells have similar ratios, the privacy loss in the tail can be
extrapolated from the other cells. For instance, along the line, the privacy loss changes steadily
for Gaussian noise and becomes constant for Laplace noise.

The fit is a logistic regression that predicts the side of an output from the normal score of the
output's position on the line; see `_spline`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.inference._spline import ENDS, Floats, basis, constant, fitted, log_likelihood

_PARAMETERS = 6
"""Approximate effective number of parameters of a fit."""

_MOST_WORTH = 1e3
"""Largest accepted value of `HalfLines.worth`."""


class HalfLines(NamedTuple):
    """Smoothed counts for an array of half-lines of any shape [...].

    Attributes:
        counts: float64 [2, ...], smoothed counts on both sides.
        worth: float64 [...], factor of at least 1 by which smoothing increases the effective number
            of draws. The log ratio estimated from unsmoothed counts would need `worth` times as
            many draws to have the same standard error.
    """

    counts: Floats
    worth: Floats


class Smooth(NamedTuple):
    """Cumulative smoothed counts along a line, as a function of cumulative pooled counts.

    Attributes:
        pooled: float64 [runs, groups + 1], cumulative counts of the draws from both sides.
        first: float64 [runs, groups + 1], cumulative smoothed counts on the first side.
        slopes: float64 [runs, groups + 1, parameters], derivatives of `first` with respect to the
            parameters of the fit.
        covariance: float64 [runs, parameters, parameters], covariance matrices of the parameters.
        gain: float64 [runs], likelihood-ratio statistic: twice the difference between the log
            likelihoods of the fit and of a constant loss.
    """

    pooled: Floats
    first: Floats
    slopes: Floats
    covariance: Floats
    gain: Floats

    @classmethod
    def of(cls, counts: NDArray[np.int64]) -> "Smooth":
        """Fit the log odds to int64 [runs, 2, cells], the counts of cells along a line."""
        grouped = _grouped(counts)
        odds, covariance = fitted(grouped)
        pooled, share = grouped.sum(axis=1), 1 / (1 + np.exp(-odds))
        spread = pooled * share * (1 - share)
        # Increase the standard errors if the counts vary more than a smooth loss explains.
        squares = (grouped[:, 0] - pooled * share) ** 2 / np.maximum(spread, 1e-9)
        many = spread > 1
        free = np.maximum(np.count_nonzero(many, axis=-1) - _PARAMETERS, 5)
        excess = np.maximum((squares * many).sum(axis=-1) / free, 1.0)
        return cls(
            _running(pooled),
            _running(pooled * share),
            _running(spread[..., None] * basis().of_group),
            covariance * excess[:, None, None],
            2 * (log_likelihood(grouped, odds) - log_likelihood(grouped, constant(grouped))),
        )

    def half_lines(self, pooled: NDArray, run: NDArray[np.int64], *, from_end: bool) -> HalfLines:
        """Return the smoothed counts of half-lines.

        Args:
            pooled: int64 [...], number of draws from both sides in each half-line.
            run: Index of each half-line's run. The array must be broadcastable with `pooled`.
            from_end: Whether half-lines contain the last cell of the line (True) or the first cell
                (False).
        """
        place = self.pooled[run, -1] - pooled if from_end else pooled
        # Combine the groups of all runs into one increasing array, so that one call searches all
        # runs.
        width, inner = self.pooled[:, -1].max() + 1, self.pooled[:, 1:-1]
        starts = width * np.arange(len(inner))
        group = np.searchsorted((inner + starts[:, None]).ravel(), place + starts[run], "right")
        group -= inner.shape[1] * run
        low, high = self.pooled[run, group], self.pooled[run, group + 1]
        part = np.clip((place - low) / np.maximum(high - low, 1), 0, 1)

        def between(values: Floats) -> Floats:
            start = values[run, group]
            return start + (values[run, group + 1] - start) * part

        first, slopes = self.first, self.slopes
        if from_end:
            first, slopes = first[:, -1:] - first, slopes[:, -1:] - slopes
        found = between(first)
        counts = np.maximum([found, pooled - found], 1e-9)
        # The variance of log(first / second) is `own` for independent counts, and
        # `of_fit * own**2` for the fit, by the delta method.
        own = (1 / counts).sum(axis=0)
        # The derivatives for a half-line are interpolated between the derivatives a and b at the
        # ends of a group. With the covariance C of the parameters, the variance is therefore
        # (1 - part)^2 a C a + 2 part (1 - part) a C b + part^2 b C b.
        spread = slopes @ self.covariance
        alone = (spread * slopes).sum(axis=-1)
        beside = (spread[:, :-1] * slopes[:, 1:]).sum(axis=-1)
        rest = 1 - part
        of_fit = rest**2 * alone[run, group] + part**2 * alone[run, group + 1]
        of_fit += 2 * part * rest * beside[run, group]
        least = 1 / (_MOST_WORTH * own)
        return HalfLines(counts, np.maximum(1 / (own * np.maximum(of_fit, least)), 1))


def _running(values: Floats) -> Floats:
    """Return the sums over the first 0, 1, 2, ... groups, float64 [runs, groups + 1, ...]."""
    sums = np.cumsum(values, axis=1)
    return np.concatenate([np.zeros_like(sums[:, :1]), sums], axis=1)


def _grouped(counts: NDArray[np.int64]) -> Floats:
    """Return counts of groups, [runs, 2, groups], from counts of cells, [runs, 2, cells]."""
    runs, groups = len(counts), len(ENDS) + 1
    pooled = counts.sum(axis=1)
    total = np.maximum(pooled.sum(axis=-1, keepdims=True), 1)
    middle = (np.cumsum(pooled, axis=-1) - pooled / 2) / total
    place = np.searchsorted(ENDS, middle) + groups * np.arange(runs)[:, None]
    sides = [
        np.bincount(place.ravel(), side.ravel(), groups * runs) for side in counts.swapaxes(0, 1)
    ]
    return np.stack(sides).reshape(2, runs, groups).swapaxes(0, 1).astype(np.float64)
