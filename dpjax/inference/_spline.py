"""Logistic regression whose log odds are a piecewise linear function with fixed knots.

The regression predicts the side of a draw from a score x. The log odds are b0 + b1 x + sum over the
knots k of c_k |x - k|. The coefficients c_k, called knot coefficients, have a normal prior whose
standard deviation maximizes the marginal likelihood.

Between two knots, the log odds are linear. Therefore, the fit uses the following parameters: the
values of the log odds at the knots, and the slopes before the first knot and after the last knot.
With these parameters, the log odds of each group of draws depend on two adjacent parameters, and
each knot coefficient depends on three adjacent parameters. If parameters are taken alternately from
both ends of the line, their precision matrix has only four nonzero diagonals below the main
diagonal.

References:
    Ruppert, Wand, Carroll (2003), Semiparametric Regression, for penalized splines as mixed models.
    Breslow, Clayton (1993), for Laplace's approximation of the marginal likelihood.
"""

from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ENDS = 1 / (1 + np.exp(-np.union1d(np.arange(-66, 67, 2), np.arange(-12, 13)) / 6))
"""Cumulative fractions of the draws at which groups of cells end.

The log odds of these fractions are equally spaced near both ends; in the middle, the spacing is
half as large.
"""

KNOTS = np.union1d(np.arange(-12, 13, 2), np.arange(-4, 5)) / 4
"""Knots: normal scores at which the slope may change. In the middle, the spacing is halved.

If all knots were equally spaced, the mean bound for Laplace noise with epsilon 0.2 would be 0.003
smaller for 20,000 search draws and a confidence of 0.999.
"""

SCALES = np.array([0.02, 0.06, 0.2, 0.6, 2.0])
"""Candidate standard deviations in the prior of the knot coefficients."""

_FLAT, _STEEP = 1e-6, 1e-2
"""Prior precisions of the constant b0 and the slope b1.

The precisions are so small that they hardly affect the fit.
"""

_STEPS, _LEAP, _EXTREME = 8, 4.0, 30.0
"""Limits for Newton's method.

_STEPS is the maximum number of steps, _LEAP is the largest change of the log odds in a step, and
_EXTREME is the largest absolute value of the log odds.
"""

_SETTLED = 1e-5
"""A fit ends if no log odds change by more than _SETTLED in a Newton step."""

_BELOW = 4
"""Number of diagonals below the main diagonal of a precision matrix."""


class Basis(NamedTuple):
    """Parameters of the log odds, in the order of the precision matrix.

    Attributes:
        of_group: float64 [groups, parameters], derivatives of each group's log odds with respect to
            the parameters.
        pieces: Slices of the groups, one for each interval between two adjacent knots. The
            intervals before the first knot and after the last knot are also pieces.
        sides: int64 [2, pieces], indices of the two parameters that belong to the left and right
            ends of each piece.
        beside: int64 [2, groups], indices of the two parameters on which the log odds of each group
            depend.
        shares: float64 [2, groups, 1], derivatives of each group's log odds with respect to the two
            parameters in `beside`.
        products: float64 [3, groups, 1], squares of the two derivatives in `shares`, and the
            product of the two derivatives.
        precisions: float64 [scales, 1 + _BELOW, parameters], main and lower diagonals of the prior
            precision matrix for each scale. In each matrix, entry [k, i] belongs to parameters i +
            k and i.
        log_dets: float64 [scales], log determinants of the prior precision matrices.
    """

    of_group: Floats
    pieces: tuple[slice, ...]
    sides: NDArray[np.int64]
    beside: NDArray[np.int64]
    shares: Floats
    products: Floats
    precisions: Floats
    log_dets: Floats


@cache
def basis() -> Basis:
    """Return the basis that all fits share."""
    ends, size = np.concatenate([[0.0], ENDS, [1.0]]), len(KNOTS) + 2
    score = scipy.special.ndtri((ends[1:] + ends[:-1]) / 2)
    # From left to right, the parameters are the first slope, the values at the knots, and the last
    # slope.
    piece = np.searchsorted(KNOTS, score)
    of_group, groups = np.zeros((len(score), size)), np.arange(len(score))
    low, high = (KNOTS[np.clip(piece - back, 0, len(KNOTS) - 1)] for back in (1, 0))
    width = np.where(high > low, high - low, 1.0)
    is_first, is_last = piece == 0, piece == len(KNOTS)
    left = np.where(is_first, score - high, np.where(is_last, 1.0, (high - score) / width))
    right = np.where(is_first, 1.0, np.where(is_last, score - low, (score - low) / width))
    of_group[groups, piece], of_group[groups, piece + 1] = left, right
    # Compute the derivatives of b0, b1 and the knot coefficients with respect to the parameters.
    slopes = np.zeros((size - 1, size))
    slopes[0, 0] = slopes[-1, -1] = 1.0
    inner = np.arange(1, size - 2)
    slopes[inner, inner] = -1 / np.diff(KNOTS)
    slopes[inner, inner + 1] = 1 / np.diff(KNOTS)
    constant = np.zeros(size)
    constant[[0, 1, -2, -1]] = -KNOTS[0] / 2, 0.5, 0.5, -KNOTS[-1] / 2
    line = (slopes[:1] + slopes[-1:]) / 2
    coefficients = np.concatenate([constant[None], line, np.diff(slopes, axis=0) / 2])
    # Alternate between both ends because b0 and b1 depend on the parameters at both ends.
    order = np.stack([np.arange(size), np.arange(size)[::-1]], axis=1).ravel()[:size]
    coefficients, of_group = coefficients[:, order], of_group[:, order]
    place = np.argsort(order)
    precisions, log_dets = np.zeros((len(SCALES), 1 + _BELOW, size)), np.empty(len(SCALES))
    for number, scale in enumerate(SCALES):
        prior = np.concatenate([[_FLAT, _STEEP], np.full(len(KNOTS), scale**-2.0)])
        whole = (coefficients.T * prior) @ coefficients
        for below in range(1 + _BELOW):
            precisions[number, below, : size - below] = np.diagonal(whole, below)
        log_dets[number] = np.linalg.slogdet(whole)[1]
    cuts = np.searchsorted(piece, np.arange(size))
    pieces = tuple(slice(*cut) for cut in pairwise(cuts.tolist()))
    beside, shares = place[np.stack([piece, piece + 1])], np.stack([left, right])[..., None]
    sides = beside[:, cuts[:-1]]
    products = np.stack([*shares**2, shares[0] * shares[1]])
    return Basis(of_group, pieces, sides, beside, shares, products, precisions, log_dets)


class Fit(NamedTuple):
    """Fitted log odds of the first side.

    Attributes:
        odds: float64 [runs, groups], log odds.
        covariance: float64 [runs, parameters, parameters], covariance matrices of the parameters of
            `Basis`.
    """

    odds: Floats
    covariance: Floats


def fitted(counts: Floats) -> Fit:
    """Fit the log odds that a draw comes from the first side.

    Every sum is computed separately for each run and in a fixed order. Therefore, a run's fit does
    not depend on the other runs, not even in its last bit.

    Args:
        counts: float64 [runs, 2, groups], counts of groups on both sides.
    """
    if len(counts) == 1:
        return Fit(*(part[:1] for part in fitted(_at_least_two(counts))))
    # Make the axis of runs the last axis, so that every operation accesses contiguous memory.
    first = np.ascontiguousarray(counts[:, 0].T)
    pooled, start = first + counts[:, 1].T, constant(counts)[:, 0]
    at, num_runs = basis(), len(counts)
    best, theta = np.full(num_runs, -np.inf), np.zeros((at.of_group.shape[1], num_runs))
    odds, factors = np.empty_like(pooled), np.empty((num_runs, len(theta), 1 + _BELOW))
    rows = np.arange(num_runs)
    # The fit for each scale starts from the fit for the previous scale.
    for precision, log_det in zip(at.precisions, at.log_dets, strict=True):
        of_rows = first[:, rows], pooled[:, rows]
        fit, of_scale, found = _newton(*of_rows, start[rows], theta[:, rows], precision)
        likelihood = _of_groups(*of_rows, of_scale).sum(axis=0)
        likelihood -= (fit * _times(precision, fit)).sum(axis=0) / 2
        likelihood += log_det / 2 - np.log(found[..., 0]).sum(axis=1)
        # In nearly all fits, the likelihood has only one maximum as a function of the scale. Once
        # it decreases for a run, larger scales are not tried for this run.
        better = likelihood > best[rows]
        rows = rows[better]
        best[rows], theta[:, rows], odds[:, rows] = (
            part[..., better] for part in (likelihood, fit, of_scale)
        )
        factors[rows] = found[better]
        if not rows.size:
            break
        rows = _at_least_two(rows)
    return Fit(odds.T, np.stack([_inverse(factor) for factor in factors]))


def _at_least_two(runs: NDArray) -> NDArray:
    """Repeat a single run, because NumPy would sum the groups of one run in another order."""
    return np.repeat(runs, 2, axis=0) if len(runs) == 1 else runs


def _newton(
    first: Floats, pooled: Floats, start: Floats, theta: Floats, precision: Floats
) -> tuple[Floats, Floats, Floats]:
    """Maximize the penalized log likelihood for a given prior on the knot coefficients.

    Args:
        first: float64 [groups, runs], counts on the first side.
        pooled: float64 [groups, runs], total counts on both sides.
        start: float64 [runs], log odds for a constant loss.
        theta: float64 [parameters, runs], initial parameters for Newton's method.
        precision: float64 [1 + _BELOW, parameters], main and lower diagonals of the prior precision
            matrix.

    Returns:
        The parameters, float64 [parameters, runs]; the log odds, float64 [groups, runs]; and the
        factors of the posterior precision matrices. The factors are computed from the log odds
        before the last step. If the fit converged, the last step changes the log odds by at most
        `_SETTLED`.
    """
    fits, found, rows = np.empty_like(pooled), np.empty_like(theta), np.arange(len(start))
    factors = np.empty((len(start), *precision.T.shape))
    odds = _log_odds(theta, start)
    for number in range(_STEPS):
        gradient, hessian = _derivatives(first, pooled, odds)
        hessian += precision[..., None]
        gradient -= _times(precision, theta)
        step, factor = _solved(hessian, gradient)
        leap = np.abs(_change(step)).max(axis=0)
        theta = theta + step * np.minimum(1, _LEAP / np.maximum(leap, 1e-300))
        odds = _log_odds(theta, start)
        # Continue with the runs that have not converged, independently of the other runs.
        goes_on = (leap > _SETTLED) & (number < _STEPS - 1)
        if goes_on.all():
            continue
        ends = rows[~goes_on]
        factors[ends] = factor[~goes_on]
        for whole, part in ((found, theta), (fits, odds)):
            whole[:, ends] = part[:, ~goes_on]
        (left,) = np.nonzero(goes_on)
        if not left.size:
            break
        left = _at_least_two(left)
        rows, start = rows[left], start[left]
        first, pooled, theta, odds = (x[:, left] for x in (first, pooled, theta, odds))
    return found, fits, factors


def constant(counts: Floats) -> Floats:
    """Return the log odds of the first side for a constant loss, float64 [runs, 1]."""
    draws = np.maximum(counts.sum(axis=-1), 0.5)
    return np.log(draws[:, 0] / draws[:, 1])[:, None]


def log_likelihood(counts: Floats, odds: Floats) -> Floats:
    """Return float64 [runs], the log likelihoods of counts [runs, 2, groups] for given log odds."""
    odds = np.ascontiguousarray(odds)
    return _of_groups(counts[:, 0], counts.sum(axis=1), odds).sum(axis=-1)


def _of_groups(first: Floats, pooled: Floats, odds: Floats) -> Floats:
    """Return the log likelihood of each group for given counts and log odds."""
    # Compute ln(1 + e^x) as max(x, 0) + ln(1 + e^-|x|), which cannot overflow.
    softplus = np.maximum(odds, 0) + np.log1p(np.exp(-np.abs(odds)))
    return first * odds - pooled * softplus


def _change(theta: Floats) -> Floats:
    """Return the part of the log odds, [groups, runs], that depends on the parameters."""
    (first, second), (left, right) = basis().beside, basis().shares
    found = theta[first]
    found *= left
    other = theta[second]
    other *= right
    found += other
    return found


def _log_odds(theta: Floats, start: Floats) -> Floats:
    found = _change(theta)
    found += start
    return np.clip(found, -_EXTREME, _EXTREME, out=found)


def _derivatives(first: Floats, pooled: Floats, odds: Floats) -> tuple[Floats, Floats]:
    """Return the gradients and the negative Hessians of the log likelihood.

    Args:
        first: float64 [groups, runs], counts on the first side.
        pooled: float64 [groups, runs], total counts on both sides.
        odds: float64 [groups, runs], log odds.

    Returns:
        The gradients, float64 [parameters, runs], and the main and lower diagonals of the negative
        Hessians, float64 [1 + _BELOW, parameters, runs].
    """
    at = basis()
    size, (left, right) = at.of_group.shape[1], at.shares
    share = np.exp(-odds)
    share += 1
    np.divide(1, share, out=share)
    parts, rest = np.empty((5, *odds.shape)), pooled * share
    weight = rest * (1 - share)
    np.subtract(first, rest, out=rest)
    np.multiply(rest, left, out=parts[0])
    np.multiply(rest, right, out=parts[1])
    np.multiply(weight, at.products, out=parts[2:])
    sums = np.empty((len(at.pieces), 5, odds.shape[1]))
    for piece, of_piece in zip(at.pieces, sums, strict=True):
        np.add.reduce(parts[:, piece], axis=1, out=of_piece)
    gradient, hessian = np.zeros((size, odds.shape[1])), np.zeros((1 + _BELOW, size, odds.shape[1]))
    low, high = at.sides
    gradient[low] = sums[:, 0]
    gradient[high] += sums[:, 1]
    hessian[0, low] = sums[:, 2]
    hessian[0, high] += sums[:, 3]
    hessian[np.abs(high - low), np.minimum(low, high)] = sums[:, 4]
    return gradient, hessian


def _times(diagonals: Floats, theta: Floats) -> Floats:
    """Return the product of a symmetric matrix and parameters.

    Args:
        diagonals: float64 [1 + _BELOW, parameters], main and lower diagonals of the matrix.
        theta: float64 [parameters, runs], parameters.
    """
    found = diagonals[0, :, None] * theta
    for below in range(1, len(diagonals)):
        part = diagonals[below, :-below, None]
        found[below:] += part * theta[:-below]
        found[:-below] += part * theta[below:]
    return found


def _solved(precisions: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Solve one linear system per run, and return the solutions and the Cholesky factors.

    LAPACK solves the systems one by one. Therefore, a run's solution does not depend on the other
    runs.

    Args:
        precisions: float64 [1 + _BELOW, parameters, runs], main and lower diagonals of positive
            definite matrices.
        right: float64 [parameters, runs], right-hand sides.

    Returns:
        The solutions, float64 [parameters, runs], and the main and lower diagonals of the Cholesky
        factors, float64 [runs, parameters, 1 + _BELOW].

    References:
        Anderson et al. (1999), LAPACK Users' Guide, for `pbsv`.
    """
    # In each of these contiguous arrays, a run's transposed array has LAPACK's column-major order.
    factors, found = np.ascontiguousarray(precisions.T), np.ascontiguousarray(right.T)
    solve, _ = _lapack()
    for diagonals, of_run in zip(factors, found, strict=True):
        solve(diagonals.T, of_run, lower=1, overwrite_ab=1, overwrite_b=1)
    return np.ascontiguousarray(found.T), factors


def _inverse(factor: Floats) -> Floats:
    """Return the inverse of a matrix whose Cholesky factor is given as in `_solved`."""
    return _lapack()[1](factor.T, np.eye(len(factor)), lower=1)[0]


@cache
def _lapack() -> tuple[Callable, Callable]:
    """Return LAPACK functions `pbsv` and `pbtrs` for float64; the first call imports LAPACK."""
    solve, solve_again = scipy.linalg.get_lapack_funcs(("pbsv", "pbtrs"), dtype=np.float64)
    return solve, solve_again
