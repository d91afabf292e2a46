"""A smooth privacy loss along a line of cells, fitted to the counts of a search set.

A half-line is a set of all cells before or after a cut of the line. In a tail of the line, the
counts of a half-line are too small for a precise estimate of the ratio of its probabilities. If
adjacent cells have similar ratios, the privacy loss in the tail can be extrapolated from the other
cells: for Gaussian noise, the loss grows steadily, and for Laplace noise, the loss levels off.

The fit is a logistic regression that predicts the side of an output from its position on the line.
The log odds are a linear function of the normal score of the position, plus bends at fixed knots.
All bends have a common standard deviation, which maximizes the marginal likelihood.

References:
    Ruppert, Wand, Carroll (2003), Semiparametric Regression, for penalized splines as mixed models.
    Breslow, Clayton (1993), for Laplace's approximation of the marginal likelihood.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_ENDS = 1 / (1 + np.exp(-np.union1d(np.arange(-66, 67, 2), np.arange(-12, 13)) / 6))
"""Cumulative shares of the draws at which groups of cells end.

The log odds of the shares are equally spaced, with half the spacing in the middle.
"""

_KNOTS = np.union1d(np.arange(-12, 13, 2), np.arange(-4, 5)) / 4
"""Normal scores at which the log odds may bend, with half the spacing in the middle.

If all knots were equally spaced, the mean bound for Laplace noise with epsilon 0.2 would be 0.003
smaller, at confidence 0.999 with 20,000 search draws.
"""

_SCALES = np.array([0.02, 0.06, 0.2, 0.6, 2.0])
"""Standard deviations of the bends that are compared."""

_FLAT, _STEEP = 1e-6, 1e-2
"""Prior precisions of the constant and the slope of the log odds.

The precisions are so small that they hardly affect the fit.
"""

_STEPS, _LEAP, _EXTREME = 8, 4.0, 30.0
"""Limits for Newton's method.

_STEPS is the maximum number of steps, _LEAP is the largest change of the log odds in a step, and
_EXTREME is the largest absolute value of the log odds.
"""

_SETTLED = 1e-8
"""Largest change of the log odds in a Newton step after which a fit ends."""

_PARAMETERS = 6
"""Approximate effective number of parameters of a fit."""

_MOST_WORTH = 1e3
"""Largest accepted value of `HalfLines.worth`."""


class _Terms(NamedTuple):
    """Terms of the log odds, and their pairwise products.

    Attributes:
        of_group: float64 [groups, terms], values of the constant, the normal score and the bends in
            each group.
        products: float64 [groups, products], products of all unordered pairs of terms.
        place: int64 [terms * terms], index in `products` of the product for each ordered pair of
            terms.
    """

    of_group: Floats
    products: Floats
    place: NDArray[np.int64]


@cache
def _terms() -> _Terms:
    ends = np.concatenate([[0.0], _ENDS, [1.0]])
    score = scipy.special.ndtri((ends[1:] + ends[:-1]) / 2)[:, None]
    terms = np.concatenate([np.ones_like(score), score, np.abs(score - _KNOTS)], axis=1)
    first, second = np.triu_indices(terms.shape[1])
    place = np.empty((terms.shape[1],) * 2, np.int64)
    place[first, second] = place[second, first] = np.arange(len(first))
    return _Terms(terms, terms[:, first] * terms[:, second], place.ravel())


class HalfLines(NamedTuple):
    """Smoothed counts of half-lines, as an array of any shape [...].

    Attributes:
        counts: float64 [2, ...], smoothed counts on both sides.
        worth: float64 [...], factor, at least 1, by which smoothing increases the effective number
            of draws. With this many times as many draws, unsmoothed counts would determine the log
            ratio with the same standard error.
    """

    counts: Floats
    worth: Floats


class Smooth(NamedTuple):
    """Cumulative smoothed counts along a line, as a function of cumulative pooled counts.

    Attributes:
        pooled: float64 [runs, groups + 1], cumulative counts of the draws from both sides.
        first: float64 [runs, groups + 1], cumulative smoothed counts on the first side.
        slopes: float64 [runs, groups + 1, terms], derivatives of `first` with respect to the
            coefficients.
        covariance: float64 [runs, terms, terms], covariance matrices of the coefficients.
        gain: float64 [runs], likelihood ratio statistic: twice the log likelihood of the fit minus
            twice the log likelihood of a constant loss.
    """

    pooled: Floats
    first: Floats
    slopes: Floats
    covariance: Floats
    gain: Floats

    @classmethod
    def of(cls, counts: NDArray[np.int64]) -> "Smooth":
        """Fit the log odds to counts, int64 [runs, 2, cells], whose cells are in line order."""
        grouped = _grouped(counts)
        odds, covariance = _fitted(grouped)
        pooled, share = grouped.sum(axis=1), scipy.special.expit(odds)
        spread = pooled * share * (1 - share)
        # Increase the standard errors if the counts vary more than a smooth loss explains.
        squares = (grouped[:, 0] - pooled * share) ** 2 / np.maximum(spread, 1e-9)
        many = spread > 1
        free = np.maximum(np.count_nonzero(many, axis=-1) - _PARAMETERS, 5)
        excess = np.maximum((squares * many).sum(axis=-1) / free, 1.0)
        return cls(
            _running(pooled),
            _running(pooled * share),
            _running(spread[..., None] * _terms().of_group),
            covariance * excess[:, None, None],
            2 * (_likelihood(grouped, odds) - _likelihood(grouped, _constant(grouped))),
        )

    def half_lines(self, pooled: NDArray, run: NDArray[np.int64], *, from_end: bool) -> HalfLines:
        """Return the smoothed counts of half-lines.

        Args:
            pooled: int64 [...], number of draws from both sides in each half-line.
            run: Index of the run of each half-line, of a shape that broadcasts with `pooled`.
            from_end: Whether half-lines contain the last cell instead of the first cell.
        """
        place = self.pooled[run, -1] - pooled if from_end else pooled
        # Search the groups of all runs at once, in one increasing array.
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
        # The slopes of a half-line lie between those of two groups, a and b. Its variance is
        # therefore (1 - part)^2 a C a + 2 part (1 - part) a C b + part^2 b C b.
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
    runs, groups = len(counts), len(_ENDS) + 1
    pooled = counts.sum(axis=1)
    total = np.maximum(pooled.sum(axis=-1, keepdims=True), 1)
    middle = (np.cumsum(pooled, axis=-1) - pooled / 2) / total
    place = np.searchsorted(_ENDS, middle) + groups * np.arange(runs)[:, None]
    sides = [
        np.bincount(place.ravel(), side.ravel(), groups * runs) for side in counts.swapaxes(0, 1)
    ]
    return np.stack(sides).reshape(2, runs, groups).swapaxes(0, 1).astype(np.float64)


def _fitted(counts: Floats) -> tuple[Floats, Floats]:
    """Fit the log odds that a draw comes from the first side.

    Matrix products are computed for each run separately, so that the bits of a run's fit do not
    depend on the number of runs.

    Args:
        counts: float64 [runs, 2, groups], counts of groups on both sides.

    Returns:
        The log odds, float64 [runs, groups], and the covariance matrices of their coefficients,
        float64 [runs, terms, terms].
    """
    first, pooled = counts[:, 0], counts.sum(axis=1)
    start = _constant(counts)
    terms = _terms().of_group
    num_terms, num_runs = terms.shape[1], len(counts)
    # Each row combines one scale with one run.
    run = np.tile(np.arange(num_runs), len(_SCALES))
    precision = np.empty((len(run), num_terms))
    precision[:, 0], precision[:, 1] = _FLAT, _STEEP
    precision[:, 2:] = np.repeat(1 / _SCALES**2, num_runs)[:, None]
    beta, odds = np.zeros((len(run), num_terms)), np.tile(start, (len(_SCALES), len(terms)))
    rows = np.arange(len(run))
    for _ in range(_STEPS):
        share, weight = scipy.special.expit(odds[rows]), pooled[run[rows]]
        hessian = _hessian(weight * share * (1 - share), precision[rows])
        gradient = _stacked(first[run[rows]] - weight * share, terms)
        gradient -= precision[rows] * beta[rows]
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        leap = np.abs(_stacked(step, terms.T)).max(axis=-1)
        beta[rows] += step * np.minimum(1, _LEAP / np.maximum(leap, 1e-300))[:, None]
        fitted = _stacked(beta[rows], terms.T) + start[run[rows]]
        odds[rows] = np.clip(fitted, -_EXTREME, _EXTREME)
        # Continue with the rows that have not converged, independently of the other rows.
        rows = rows[leap > _SETTLED]
        if not rows.size:
            break
    share = scipy.special.expit(odds)
    hessian = _hessian(pooled[run] * share * (1 - share), precision)
    likelihood = _likelihood(counts[run], odds)
    likelihood -= (precision * beta**2 - np.log(precision)).sum(axis=-1) / 2
    likelihood -= np.linalg.slogdet(hessian)[1] / 2
    best = np.argmax(likelihood.reshape(len(_SCALES), num_runs), axis=0)
    best = best * num_runs + np.arange(num_runs)
    return odds[best], np.asarray(np.linalg.inv(hessian[best]), np.float64)


def _constant(counts: Floats) -> Floats:
    """Return the log odds of the first side for a constant loss, float64 [runs, 1]."""
    draws = np.maximum(counts.sum(axis=-1), 0.5)
    return np.log(draws[:, 0] / draws[:, 1])[:, None]


def _likelihood(counts: Floats, odds: Floats) -> Floats:
    """Return the log likelihoods, [runs], of counts, [runs, 2, groups], given the log odds."""
    pooled = counts.sum(axis=1)
    return (counts[:, 0] * odds - pooled * np.logaddexp(0, odds)).sum(axis=-1)


def _stacked(rows: Floats, matrix: Floats) -> Floats:
    """Return the product of each row, [..., n], with a matrix, [n, m]."""
    return (rows[..., None, :] @ matrix)[..., 0, :]


def _hessian(weight: Floats, precision: Floats) -> Floats:
    """Return the negative Hessians of the penalized log likelihood, [rows, terms, terms].

    Args:
        weight: float64 [rows, groups], variance of the count in each group.
        precision: float64 [rows, terms], prior precision of each coefficient.
    """
    terms, (_, products, place) = precision.shape[-1], _terms()
    found = _stacked(weight, products)[:, place].reshape(-1, terms, terms)
    found[:, range(terms), range(terms)] += precision
    return found
