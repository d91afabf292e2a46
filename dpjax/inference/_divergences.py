"""Renyi divergences, computed as integrals of a privacy profile delta(epsilon) over epsilon.

The Renyi divergences of order a > 1 and of order 1 are

    D_a(P || Q) = ln(1 + a (a - 1) I) / (a - 1), D_1 = I,
    I = integral over e >= 0 of exp((a - 1) e) delta_PQ(e) + exp(-a e) delta_QP(e).

For each set of a band, let g = exp(e), and minimize p - g q over the set's corners (p, q). The
minimum is a lower bound on delta(e) and a concave function of g. Between two integration nodes, the
minimum is therefore at least its chord, and the chord is integrated exactly.

References:
    Sason, Verdu (2016), eq. (80) and Theorem 9, for f-divergences as integrals of E_gamma; Mironov
    (2017); Bun, Steinke (2016).
"""

from collections.abc import Iterable, Iterator

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpjax.inference._band import Band
from dpjax.inference._band_levels import at_largest, epsilon_of, gdp_of, margins, of_sets

_INTERVALS, _BEND = 116, 1.5
"""Number and spacing of the integration nodes.

_INTERVALS is the number of intervals between nodes. Each node is proportional to x^_BEND, where the
numbers x are equally spaced.
"""

_TOP, _LARGEST_LOG = 30.0, 600.0
"""Largest epsilon of a node, and largest argument of an exponential."""

_LARGEST_ORDER = 1e100
"""Largest order for which a divergence is computed; the squares of larger orders may overflow.

Divergences increase with the order, so a lower bound at this order also holds at larger orders.
"""

ZCDP_ORDERS = np.geomspace(1.0, 64.0, 37)
"""First orders of the Renyi divergences from which rho is bounded; `zcdp` adds orders between them.

Order 1 denotes the Kullback-Leibler divergence.
"""

_REFINEMENTS = 17
"""Number of orders that `zcdp` adds around the best first order."""


def renyi(
    band: Band, orders: ArrayLike, nodes: ArrayLike | None = None, *, shares: Band | None = None
) -> NDArray[np.float64]:
    """For each order, return a lower bound on the larger of the two directions' divergences.

    Args:
        band: Band of a chain.
        orders: Float [orders], orders a >= 1. Order 1 denotes the Kullback-Leibler divergence.
        nodes: Float [nodes], values of epsilon, increasing from 0, at which chords begin and end.
            If `nodes` is None, the nodes extend to the largest epsilon that any set in the band
            has.
        shares: Band of width 0 for the same chain, made from the observed frequencies, to return
            estimates instead of bounds; or None. The band still determines from which set each part
            of the result is computed.

    Returns:
        Lower bounds or estimates, float64 [orders], at least 0.
    """
    a = np.minimum(np.asarray(orders, np.float64), _LARGEST_ORDER)
    e = _nodes(band, float(a.max())) if nodes is None else np.unique(np.asarray(nodes, np.float64))
    found = np.zeros(a.shape)
    if e[-1] > 0:
        values = [margins(band, i, np.exp(e)) for i in (0, 1)]
        used = [None if shares is None else margins(shares, i, np.exp(e)) for i in (0, 1)]
        likelier, others = (
            [_integral(v, e, rates, own) for v, own in zip(values, used, strict=True)]
            for rates in (a - 1, -a)
        )
        for i in (0, 1):
            log_sum = np.logaddexp(likelier[i], others[1 - i])
            found = np.maximum(found, _divergence(log_sum, a))
    if shares is not None:
        return np.maximum(found, _two_points_of_shares(band, shares, a))
    for p, q in zip(band.power, band.level, strict=True):
        revealing = (p > q).all(axis=-1)
        of_corners = _two_points_of_orders(p[revealing], q[revealing], a)
        least = [corners.min(axis=-1).max(initial=0.0) for corners in of_corners]
        found = np.maximum(found, least)
    return found


def _two_points_of_shares(band: Band, shares: Band, orders: NDArray) -> NDArray[np.float64]:
    """Return the divergences of single sets for observed frequencies, float64 [orders].

    For each order, there are two sets: the one with the largest bound, and the one with the largest
    bound on mu, because no bound on the divergence may be above 0.
    """
    found = np.zeros(orders.shape)
    for k, order in enumerate(orders):

        def value(p: NDArray, q: NDArray, order: float = order) -> NDArray:
            return np.where(p > q, two_points(p, q, order), 0.0)

        for chosen in (value, gdp_of):
            at = at_largest(band, shares, chosen)
            for p, q in zip(at.power, at.level, strict=True):
                found[k] = max(found[k], value(p, q).max(initial=0.0))
    return found


def zcdp(band: Band, nodes: ArrayLike | None = None, *, shares: Band | None = None) -> float:
    """Return the lower bound on rho of zero-concentrated DP, or an estimate of rho.

    The bounds on the divergences of all orders hold simultaneously, so every choice of orders is
    valid, even if it depends on the band. An estimate is for the order with the largest bound.

    Args:
        band: Band of a chain.
        nodes: As in `renyi`.
        shares: As in `renyi`.
    """
    orders = ZCDP_ORDERS
    first = renyi(band, orders, nodes) / orders
    best, last = int(first.argmax()), len(orders) - 1
    near = np.geomspace(orders[max(best - 1, 0)], orders[min(best + 1, last)], _REFINEMENTS)
    more = renyi(band, near, nodes) / near
    if shares is None:
        return float(max(first[best], more.max()))
    order = orders[best] if first[best] >= more.max() else near[more.argmax()]
    return float(renyi(band, [order], nodes, shares=shares)[0] / order)


def two_points(p: NDArray, q: NDArray, order: float) -> NDArray[np.float64]:
    """Return the Renyi divergence of the distribution (p, 1 - p) from (q, 1 - q).

    The divergence increases with p for p > q.

    Args:
        p: float64 [...], probabilities in [0, 1].
        q: float64 [...], probabilities in (0, 1).
        order: Order, at least 1. Order 1 denotes the Kullback-Leibler divergence.
    """
    (found,) = _two_points_of_orders(p, q, [order])
    return found


def _two_points_of_orders(p: NDArray, q: NDArray, orders: Iterable[float]) -> Iterator[NDArray]:
    """Yield `two_points(p, q, order)` for each order, with the same logarithms."""
    with np.errstate(divide="ignore"):
        logs = np.log(p), np.log(q), np.log1p(-p), np.log1p(-q)
    for order in orders:
        if order == 1:
            yield scipy.special.rel_entr(p, q) + scipy.special.rel_entr(1 - p, 1 - q)
            continue
        yes = order * logs[0] + (1 - order) * logs[1]
        no = np.where(p < 1, order * logs[2] + (1 - order) * logs[3], -np.inf)
        yield np.logaddexp(yes, no) / (order - 1)


def _nodes(band: Band, order: float) -> NDArray[np.float64]:
    """Return nodes from 0 to the largest epsilon that any set in the band has.

    Args:
        band: Band of a chain.
        order: Largest order of the divergences.
    """
    top = max(float(v.max(initial=0.0)) for v in of_sets(band, epsilon_of(0.0)))
    # If epsilon is infinite, limit the nodes so that exponentials do not overflow.
    top = min(max(top, 0.0), _TOP, _LARGEST_LOG * _INTERVALS / (_BEND * (order + 1)))
    return top * (np.arange(_INTERVALS + 1) / _INTERVALS) ** _BEND


def _integral(
    values: NDArray, e: NDArray, rates: NDArray, used: NDArray | None = None
) -> NDArray[np.float64]:
    """Return the logarithms of lower bounds on integrals over e, float64 [rates].

    For each rate, the integrand is exp(rate e) times the largest of the sets' values at e.

    Args:
        values: float64 [sets, nodes], values of the sets at the nodes.
        e: float64 [nodes], values of epsilon at the nodes.
        rates: float64 [rates], rates of the exponential.
        used: float64 [sets, nodes], values to integrate in place of `values`, which still determine
            the largest value between two nodes; or None.
    """
    width = np.diff(e)
    # Integrate exp(k u) over u in [0, width], for k = rate and for k = rate + 1.
    flat, steep = (_growth(rates + k, width) for k in (0.0, 1.0))
    second = (steep - flat) / np.expm1(width)
    first = flat - second
    found = np.full(rates.shape, -np.inf)
    for k, rate in enumerate(rates):
        areas = first[k] * values[:, :-1] + second[k] * values[:, 1:]
        best = areas.max(axis=0, initial=0.0)
        if used is not None and len(values):
            at = areas.argmax(axis=0), np.arange(len(width))
            own = first[k] * used[:, :-1][at] + second[k] * used[:, 1:][at]
            best = np.where(best > 0, np.maximum(own, 0.0), 0.0)
        with np.errstate(divide="ignore"):
            found[k] = np.logaddexp.reduce(np.log(best) + rate * e[:-1])
    return found


def _growth(rates: NDArray, width: NDArray) -> NDArray[np.float64]:
    """Return (exp(k w) - 1) / k for each rate k and width w, or its limit w if k = 0."""
    k = np.where(rates == 0, 1.0, rates)[:, None]
    return np.where(rates[:, None] == 0, width, np.expm1(k * width) / k)


def _divergence(log_integral: NDArray, a: NDArray) -> NDArray[np.float64]:
    excess = np.where(a > 1, a - 1, 1.0)
    of_order = np.logaddexp(0.0, np.log(a * excess) + log_integral) / excess
    return np.where(a > 1, of_order, np.exp(np.where(a > 1, 0.0, log_integral)))
