"""An exact lower bound on a level, computed from one event's counts.

The bound is nearly as tight as a bound from a normal approximation. Buehler's method sorts all
pairs of counts by how strongly they support a large level. Let q be the event's probability on the
side where the event is less likely. A level is refuted if, for every q, the probability of counts
at least as extreme as the observed counts is at most the allowed error probability. The bound is
the smallest level that is not refuted. If separate bounds on the event's two probabilities were
combined instead, the distance between the estimate and the bound would be about 20% larger.

Notation: as in `_tail`, which bounds the probability of such counts at one level.
"""

import math

import numpy as np
import scipy

from dpjax.inference._hypotheses import Hypothesis
from dpjax.inference._tail import NUISANCE_SHARE, Tail

_FEW, _LOOSENESS, _TOLERANCE = 9, 0.008, 0.005
"""Parameters of the grid of q values.

_FEW is the initial number of values. _LOOSENESS is the tolerated error of the supremum, and
_TOLERANCE is the tolerated error of the level, both in units of the level's standard error.
"""

_NEAR, _MOST_TRIES, _NEARLY_ONE, _MANY = 0.3, 40, 1 - 1e-12, 512
"""Parameters of the search for the level.

The search uses many values of q only if the normal quantile of the tail probability is within _NEAR
of the target. _MOST_TRIES is the maximum number of secant steps. A tail probability above
_NEARLY_ONE is replaced with _NEARLY_ONE. _MANY is the number of values of q for bisection.
"""


def buehler_bound(
    hypothesis: Hypothesis,
    larger: int,
    smaller: int,
    trials: tuple[int, int],
    significance: float,
) -> float:
    """Return an exact lower bound on a level, at least 0.

    Args:
        hypothesis: Hypothesis that relates the level to the event's probabilities.
        larger: K1, count of the event on the side where the event is more likely.
        smaller: K2, count of the event on the other side.
        trials: n1 and n2, the numbers of draws on the two sides.
        significance: Largest probability that the bound is above the level.

    References:
        Buehler (1957); Berger, Boos (1994).
    """
    if larger == 0:
        return 0.0
    tail = Tail(hypothesis, (larger, smaller), trials, significance)
    # If q is known more precisely than the level, small steps of q and of the level are cheap.
    precision = min(math.sqrt(larger / max(smaller, 1)), 1.0)
    return _largest(tail, significance * (1 - NUISANCE_SHARE), precision)


def _largest(tail: Tail, allowed: float, precision: float) -> float:
    """Return a level, close to the largest one, at which f is known to be at most `allowed`.

    If there is no such level, return 0.
    """
    # Normal quantiles of the tail are nearly linear in the level.
    goal = float(scipy.special.ndtri(allowed))
    slope = math.exp(-(goal**2) / 2) / math.sqrt(2 * math.pi) / allowed
    tolerance, looseness = _TOLERANCE * precision, _LOOSENESS * precision
    few = np.linspace(0.0, 1.0, _FEW)
    tried, step, previous = max(tail.observed, 0.0), tail.error, None
    # First approximate the level with few values of q. Then use enough values for a valid bound.
    places, low, high = few, 0.0, math.inf
    for _ in range(_MOST_TRIES):
        bounds, fine = tail.at(tried, places), places is not few
        # Use three quarters of the tolerance, so that the places still suffice after small changes
        # of the level.
        finer = bounds.finer(places, 0.75 * slope * looseness)
        if fine and bounds.supremum > bounds.highest + 1.25 * slope * looseness:
            places = finer
            continue
        top = bounds.supremum if fine else bounds.highest
        quantile = _quantile(top)
        missing = goal - quantile
        if tried == 0 and missing < 0:
            return 0.0
        if fine:
            low, high = (tried, high) if missing >= 0 else (low, tried)
            if 0 <= missing <= tolerance or high - low <= tolerance * tail.error:
                break
        if previous and quantile != previous[1]:
            secant = (tried - previous[0]) / (quantile - previous[1])
            step = min(max(secant, step / 3), 3 * step)
        move = step * (missing - tolerance / 3)
        if not fine and abs(missing) < (_NEAR if previous else _NEAR / 10):
            places, move, previous = finer, move - step * looseness, None
        else:
            previous = tried, quantile
        tried = max(tried + move, 0.0)
        if not low <= tried < high:
            tried = (low + high) / 2
    else:
        return _halved(tail, goal, low, tolerance)
    return low


def _halved(tail: Tail, goal: float, low: float, tolerance: float) -> float:
    """Compute the result of `_largest` by bisection, for use if secant steps do not converge."""
    places = np.linspace(0.0, 1.0, _MANY)

    def is_allowed(level: float) -> bool:
        return _quantile(tail.at(level, places).supremum) <= goal

    high = max(tail.observed, low) + tail.error
    while is_allowed(high):
        low, high = high, high + tail.error
    while high - low > tolerance * tail.error:
        middle = (low + high) / 2
        low, high = (middle, high) if is_allowed(middle) else (low, middle)
    return low


def _quantile(log_tail: float) -> float:
    """Convert the log of a bound on a tail probability to a normal quantile."""
    return float(scipy.special.ndtri(min(math.exp(min(log_tail, 0.0)), _NEARLY_ONE)))
