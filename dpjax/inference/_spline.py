"""Logistic regression of the side on a line that bends at fixed knots.

The log odds are b0 + b1 x + sum over the knots k of c_k |x - k|. The prior of the bends c_k is
normal, with a standard deviation that is chosen by the largest marginal likelihood.

Between two knots, the log odds are a straight line, so they are determined by their values at the
knots and by the slopes beyond the first and the last knot. With these parameters, each group of
draws affects two neighboring parameters, and each bend affects three. Ordered alternately from both
ends of the line, the parameters have a precision matrix with four diagonals below the main
diagonal. The matrices of all runs are factorized together, one column after the other.

References:
    Ruppert, Wand, Carroll (2003), Semiparametric Regression: penalized splines as mixed models.
    Breslow, Clayton (1993): the marginal likelihood by Laplace's approximation.
"""

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ENDS = 1 / (1 + np.exp(-np.union1d(np.arange(-66, 67, 2), np.arange(-12, 13)) / 6))
"""Shares of the draws at which groups of cells end. The log odds of the shares are equally spaced,
with half the spacing in the middle."""

KNOTS = np.union1d(np.arange(-12, 13, 2), np.arange(-4, 5)) / 4
"""Normal scores at which the log odds may bend, with half the spacing in the middle.

Without the half spacing, the mean bound for Laplace noise with epsilon 0.2 at confidence 0.999 and
20,000 search draws would fall by 0.003.
"""

SCALES = np.array([0.02, 0.06, 0.2, 0.6, 2.0])
"""Standard deviations of the bends to compare."""

_FLAT, _STEEP = 1e-6, 1e-2
"""Prior precisions of the constant b0 and of the slope b1, so small that they hardly affect the
fit."""

_STEPS, _LEAP, _EXTREME = 8, 4.0, 30.0
"""_STEPS is the maximum number of Newton steps. _LEAP is the largest change of the log odds in a
step, and _EXTREME is the largest absolute value of the log odds."""

_SETTLED = 1e-8
"""A fit ends after a Newton step that changes the log odds by less than this number."""

_BELOW = 4
"""Number of diagonals below the main diagonal of a precision matrix."""


class Basis(NamedTuple):
    """Parameters of the log odds, in the order of the precision matrix.

    Attributes:
        of_group: Derivatives of each group's log odds with respect to the parameters, [groups,
            parameters].
        pieces: Groups between two neighboring knots, as slices.
        sides: Parameters to the left and to the right of each piece, [2, pieces].
        beside: Parameters to the left and to the right of each group, [2, groups].
        shares: Derivatives of each group's log odds with respect to these parameters, [2, groups,
            1].
        products: Squares of both derivatives, and their product, [3, groups, 1].
        precisions: Lower diagonals of the prior precision matrix for each scale, [scales,
            1 + _BELOW, parameters]. Entry [k, i] belongs to the parameters i + k and i.
        log_dets: Logarithm of the determinant of each prior precision matrix, [scales].
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
    """Return the parameters, which are the same for all fits."""
    ends, size = np.concatenate([[0.0], ENDS, [1.0]]), len(KNOTS) + 2
    score = scipy.special.ndtri((ends[1:] + ends[:-1]) / 2)
    # From left to right, the parameters are a slope, the values at the knots, and a slope.
    piece = np.searchsorted(KNOTS, score)
    of_group, groups = np.zeros((len(score), size)), np.arange(len(score))
    low, high = (KNOTS[np.clip(piece - back, 0, len(KNOTS) - 1)] for back in (1, 0))
    width = np.where(high > low, high - low, 1.0)
    is_first, is_last = piece == 0, piece == len(KNOTS)
    left = np.where(is_first, score - high, np.where(is_last, 1.0, (high - score) / width))
    right = np.where(is_first, 1.0, np.where(is_last, score - low, (score - low) / width))
    of_group[groups, piece], of_group[groups, piece + 1] = left, right
    # Derivatives of b0, b1 and the bends with respect to the parameters.
    slopes = np.zeros((size - 1, size))
    slopes[0, 0] = slopes[-1, -1] = 1.0
    inner = np.arange(1, size - 2)
    slopes[inner, inner] = -1 / np.diff(KNOTS)
    slopes[inner, inner + 1] = 1 / np.diff(KNOTS)
    constant = np.zeros(size)
    constant[[0, 1, -2, -1]] = -KNOTS[0] / 2, 0.5, 0.5, -KNOTS[-1] / 2
    line = (slopes[:1] + slopes[-1:]) / 2
    coefficients = np.concatenate([constant[None], line, np.diff(slopes, axis=0) / 2])
    # Alternate between both ends, since the prior of b0 and b1 joins the parameters at the ends.
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
        odds: Log odds, [runs, groups].
        covariance: Covariance of the parameters of `Basis`, [runs, parameters, parameters].
    """

    odds: Floats
    covariance: Floats


def fitted(counts: Floats) -> Fit:
    """Fit the log odds of the first side to counts [runs, 2, groups].

    Every sum is computed separately for each run, in a fixed order, so that the bits of a run's fit
    do not depend on the other runs.
    """
    if len(counts) == 1:
        # NumPy would sum the groups of a single run in another order.
        return Fit(*(part[:1] for part in fitted(np.repeat(counts, 2, axis=0))))
    # Runs are the last axis, so that every operation runs along memory.
    first = np.ascontiguousarray(counts[:, 0].T)
    pooled, start = first + counts[:, 1].T, constant(counts)[:, 0]
    at, num_runs = basis(), len(counts)
    best, theta = np.full(num_runs, -np.inf), np.zeros((at.of_group.shape[1], num_runs))
    odds, factor = np.empty_like(pooled), np.empty((1 + _BELOW, *theta.shape))
    # The fit for one scale starts from the fit for the previous one.
    for precision, log_det in zip(at.precisions, at.log_dets, strict=True):
        theta, of_scale, found = _newton(first, pooled, start, theta, precision)
        likelihood = _of_groups(first, pooled, of_scale).sum(axis=0)
        likelihood -= (theta * _times(precision, theta)).sum(axis=0) / 2
        likelihood += (log_det - np.log(found[0]).sum(axis=0)) / 2
        better = likelihood > best
        best = np.where(better, likelihood, best)
        np.copyto(odds, of_scale, where=better)
        np.copyto(factor, found, where=better)
    one = np.broadcast_to(np.eye(len(theta))[..., None], (len(theta), *theta.shape))
    covariance = _solved(factor[:, :, None], one)
    return Fit(odds.T, np.ascontiguousarray(covariance.transpose(2, 0, 1)))


def _newton(
    first: Floats, pooled: Floats, start: Floats, theta: Floats, precision: Floats
) -> tuple[Floats, Floats, Floats]:
    """Maximize the penalized likelihood for one scale.

    Args:
        first: Counts of the first side, [groups, runs].
        pooled: Counts of both sides, [groups, runs].
        start: Log odds of a constant loss, [runs].
        theta: Parameters from which the steps start, [parameters, runs].
        precision: Lower diagonals of the prior precision matrix.

    Returns:
        The parameters; their log odds [groups, runs]; and the factor of the precision matrix, from
        log odds that differ by less than `_SETTLED`.
    """
    fits, factors = np.empty_like(pooled), np.empty((*precision.shape, len(start)))
    found, rows = np.empty_like(theta), np.arange(len(start))
    odds = _log_odds(theta, start)
    for number in range(_STEPS):
        gradient, hessian = _derivatives(first, pooled, odds)
        hessian += precision[..., None]
        gradient -= _times(precision, theta)
        factor = _factorized(hessian)
        step = _solved(factor, gradient)
        leap = np.abs(_change(step)).max(axis=0)
        theta = theta + step * np.minimum(1, _LEAP / np.maximum(leap, 1e-300))
        odds = _log_odds(theta, start)
        # Whether a run goes on does not depend on the other runs.
        goes_on = (leap > _SETTLED) & (number < _STEPS - 1)
        if goes_on.all():
            continue
        ends = rows[~goes_on]
        for whole, part in ((found, theta), (fits, odds), (factors, factor)):
            whole[..., ends] = part[..., ~goes_on]
        (left,) = np.nonzero(goes_on)
        if not left.size:
            break
        # Repeat a single run, as in `fitted`.
        left = np.repeat(left, 2) if left.size == 1 else left
        rows, start = rows[left], start[left]
        first, pooled, theta, odds = (x[:, left] for x in (first, pooled, theta, odds))
    return found, fits, factors


def constant(counts: Floats) -> Floats:
    """Return the log odds [runs, 1] of the first side if the loss is the same in all groups."""
    draws = np.maximum(counts.sum(axis=-1), 0.5)
    return np.log(draws[:, 0] / draws[:, 1])[:, None]


def log_likelihood(counts: Floats, odds: Floats) -> Floats:
    """Return the log likelihood [runs] of counts [runs, 2, groups], given the log odds."""
    odds = np.ascontiguousarray(odds)
    return _of_groups(counts[:, 0], counts.sum(axis=1), odds).sum(axis=-1)


def _of_groups(first: Floats, pooled: Floats, odds: Floats) -> Floats:
    """Return the log likelihood of each group, in the shape of its counts and log odds."""
    # ln(1 + e^x) = max(x, 0) + ln(1 + e^-|x|).
    softplus = np.maximum(odds, 0) + np.log1p(np.exp(-np.abs(odds)))
    return first * odds - pooled * softplus


def _change(theta: Floats) -> Floats:
    """Return the change of the log odds [groups, runs] by parameters [parameters, runs]."""
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
    """Return the gradient of the likelihood, and its negative second derivatives.

    Args:
        first: Counts of the first side, [groups, runs].
        pooled: Counts of both sides, [groups, runs].
        odds: Log odds, [groups, runs].

    Returns:
        The gradient [parameters, runs], and the lower diagonals [1 + _BELOW, parameters, runs].
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
    first, second = at.sides
    gradient[first] = sums[:, 0]
    gradient[second] += sums[:, 1]
    hessian[0, first] = sums[:, 2]
    hessian[0, second] += sums[:, 3]
    hessian[np.abs(second - first), np.minimum(first, second)] = sums[:, 4]
    return gradient, hessian


def _times(diagonals: Floats, theta: Floats) -> Floats:
    """Multiply a symmetric matrix, given its lower diagonals, with parameters [..., runs]."""
    found = diagonals[0, :, None] * theta
    for below in range(1, len(diagonals)):
        part = diagonals[below, :-below, None]
        found[below:] += part * theta[:-below]
        found[:-below] += part * theta[below:]
    return found


def _factorized(diagonals: Floats) -> Floats:
    """Factorize positive definite matrices [1 + _BELOW, parameters, runs] as L D L'.

    Row 0 of the result is D, and the other rows are the diagonals of L below its ones. The argument
    is overwritten.
    """
    for place, most in _columns(diagonals.shape[1]):
        column = diagonals[1 : 1 + most, place]
        scaled = column / diagonals[0, place]
        for later in range(most):
            diagonals[: most - later, place + 1 + later] -= scaled[later] * column[later:]
        column[...] = scaled
    return diagonals


def _solved(factor: Floats, right: Floats) -> Floats:
    """Solve for parameters [parameters, ..., runs], given the factor of each run's matrix."""
    found, columns = right.copy(), _columns(len(right))
    for place, most in columns:
        found[place + 1 : place + 1 + most] -= factor[1 : 1 + most, place] * found[place]
    found /= factor[0]
    for place, most in reversed(columns):
        later = found[place + 1 : place + 1 + most]
        found[place] -= (factor[1 : 1 + most, place] * later).sum(axis=0)
    return found


def _columns(size: int) -> list[tuple[int, int]]:
    """Return the columns of a matrix with entries below the diagonal, and how many they have."""
    return [(place, min(_BELOW, size - 1 - place)) for place in range(size - 1)]
