"""Simultaneous lower bounds on privacy levels from a band.

Let v(p, q) be a function that increases with p and decreases with q, such as ln(p / q). If the band
is valid, the value of v at a set's true probabilities is at least the minimum of v over the set's
corners. Therefore, the maximum of these minima over all sets and both directions is a lower bound
on the maximum of v over all events.

References:
    Blackwell (1953); Dong, Roth, Su (2022), Definition 2.6, Proposition 2.13; Balle, Wang (2018).
"""

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpjax.inference._band import Band

_CURVE_POINTS = 201
"""Default number of significance levels at which a trade-off curve is bounded."""


def largest(band: Band, value: Callable[[NDArray, NDArray], NDArray]) -> float:
    """Return a lower bound, at least 0, on the largest value of a function over all events.

    Args:
        band: Band of a chain.
        value: Function (p, q) -> v of two arrays of equal shape. The function must increase with p
            and decrease with q. NaN is treated as 0.
    """
    return max(max(float(found.max(initial=0.0)) for found in of_sets(band, value)), 0.0)


def of_sets(
    band: Band, value: Callable[[NDArray, NDArray], NDArray]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return lower bounds on a function's values for all sets and for their complements.

    Args:
        band: Band of a chain.
        value: As in `largest`.
    """
    with np.errstate(all="ignore"):
        values = [value(p, q) for p, q in zip(band.power, band.level, strict=True)]
    first, second = (np.where(np.isnan(v), 0.0, v).min(axis=-1) for v in values)
    return first, second


def at_largest(band: Band, shares: Band, value: Callable[[NDArray, NDArray], NDArray]) -> Band:
    """Return the part of `shares` for the set on which a bound rests.

    Among all sets that happen to have few draws, some have frequencies that differ a lot by chance.
    The set with the largest lower bound was not chosen for such a difference.

    Args:
        band: Band of a chain.
        shares: Band of width 0 for the same chain, made from the observed frequencies.
        value: As in `largest`.

    Returns:
        A band of width 0 for one set or one complement: the one for which the band implies the
        largest value. The band is empty if there is no set that may be used as an event.
    """
    found = of_sets(band, value)
    best = int(found[1].max(initial=-np.inf) > found[0].max(initial=-np.inf))
    kept = [np.zeros(len(side), bool) for side in found]
    if found[best].size:
        kept[best][found[best].argmax()] = True
    power, level = (
        tuple(side[keep] for side, keep in zip(sides, kept, strict=True))
        for sides in (shares.power, shares.level)
    )
    return Band((power[0], power[1]), (level[0], level[1]), shares.roc)


def epsilon_of(delta: float) -> Callable[[NDArray, NDArray], NDArray]:
    """Return the function (p, q) -> ln((p - delta) / q), which can be passed to `largest`."""
    return lambda p, q: np.log(np.maximum(p - delta, 0.0)) - np.log(q)


def gdp_of(p: NDArray, q: NDArray) -> NDArray:
    """Return mu such that the best level-q test of N(0, 1) against N(mu, 1) has power p."""
    return scipy.special.ndtri(p) - scipy.special.ndtri(q)


def profile(band: Band, epsilons: ArrayLike) -> NDArray[np.float64]:
    """Return lower bounds on delta(epsilon) for a database and its neighbor, in both directions.

    Args:
        band: Band of a chain.
        epsilons: Float [n], values of epsilon, at least 0.

    Returns:
        Lower bounds, float64 [2, n]. Row 0 bounds the maximum of P(E) - e^epsilon Q(E) over all
        events E, where P and Q are the output distributions of the database and of its neighbor. In
        row 1, P and Q are exchanged. The bounds do not increase with epsilon.
    """
    ratio = np.exp(np.asarray(epsilons, np.float64))
    return np.maximum(np.stack([margins(band, i, ratio).max(axis=0, initial=0) for i in (0, 1)]), 0)


def margins(band: Band, direction: int, ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64 [sets, ratios], the minimum of p - ratio * q over the corners of each set.

    The minimum is a concave function of the ratio.

    Args:
        band: Band of a chain.
        direction: 0 for the sets, or 1 for their complements.
        ratio: float64 [ratios], ratios of probabilities.
    """
    p, q = band.power[direction], band.level[direction]
    found = np.empty((len(p), len(ratio)))
    for i, (of_p, of_q) in enumerate(zip(p, q, strict=True)):
        found[i] = (of_p - ratio[:, None] * of_q).min(axis=-1)
    return found


def trade_off(band: Band, points: ArrayLike | None = None) -> tuple[NDArray, NDArray]:
    """Return upper bounds on the trade-off curve for testing the neighbor against the database.

    The null hypothesis of the tests is that outputs come from the neighbor. The curve maps a
    significance level x to the smallest type II error of all tests with this level. The inverse of
    this curve is the trade-off curve for testing the database against the neighbor.

    Args:
        band: Band of a chain.
        points: Significance levels x, increasing from 0 to 1. If `points` is None, 201 equally
            spaced levels are used.

    Returns:
        The significance levels, float64 [n], and upper bounds on the type II errors, float64 [n].
        The bounds are a convex decreasing function of the level.
    """
    x = np.linspace(0, 1, _CURVE_POINTS) if points is None else np.asarray(points, np.float64)
    power, level = band.roc
    reached = x.copy()
    for p, q in zip(power, level, strict=True):
        with np.errstate(all="ignore"):
            # At level 0, a test may reject at outputs that the neighbor does not have.
            rising = np.where(q > 0, x[:, None] * (p / q), p)
            level_rest = np.where(q < 1, (1 - x[:, None]) / (1 - q), 1.0)
        falling = 1 - (1 - p) * level_rest
        reached = np.maximum(reached, np.where(x[:, None] <= q, rising, falling).min(axis=-1))
    return x, 1 - _majorant(x, reached)


def _majorant(x: NDArray, y: NDArray) -> NDArray[np.float64]:
    """Return the values at x of the smallest concave function that is at least y at all points."""
    kept: list[int] = []
    for i in range(len(x)):
        while len(kept) > 1:
            a, b = kept[-2:]
            if (y[b] - y[a]) * (x[i] - x[a]) > (y[i] - y[a]) * (x[b] - x[a]):
                break
            kept.pop()
        kept.append(i)
    return np.interp(x, x[kept], y[kept])
