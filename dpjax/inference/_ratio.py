"""A lower bound on the ratio of two probabilities: exact, and nearly as tight as a normal one.

Two separate bounds each pay for their own worst case, which costs about a fifth of the margin.
Buehler's bound pays once: all pairs of counts are put into one order, by how much they speak for a
large ratio, and the bound is the smallest ratio at which counts as extreme as the observed ones
have more than the allowed probability, whatever the other parameter is.

Notation: K1 ~ Bin(n1, p) and K2 ~ Bin(n2, q) are the counts, ratio = p / q, s orders them, and
f(p, q) = P(s(K1, K2) >= observed), which rises in p and falls in q.

The supremum of f over q at one ratio >= 1 is bounded by its values at a few q, as follows. In log
odds a = ln p / (1 - p) and b = ln q / (1 - q), and with A(a) = ln(1 + e^a), f is a sum of positive
multiples of exp(a k + b m - n1 A(a) - n2 A(b)). So ln f + n1 A(a) + n2 A(b) is convex (Hölder), and
on a straight line between two points ln f is at most the larger of its two ends and

    (n1 v1 (change of a)^2 + n2 v2 (change of b)^2) / 8,

where v1 and v2 are the largest p (1 - p) and q (1 - q) in between. Where p = ratio q, a is a convex
function of b, as its slope (1 - q) / (1 - p) rises: the curve lies below the line, and f there is
less. What is added falls with the square of the steps, so that steps of a third of a standard error
cost less than a hundredth of one.
"""

import math
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpjax.inference._binomial import one_sided_bounds
from dpjax.inference._blocks import Blocks, Windows

_NUISANCE_SHARE = 0.005
"""Part of the error that is spent on where q can be (Berger, Boos)."""

_NEGLIGIBLE = 1e-5
"""Part of the error by which tails of sums may be cut off; they are counted as if they happened."""

_WIDEST = 100.0
"""Ratio of the largest q to the smallest that is looked at; below it there is one step."""

_FEW, _LOOSENESS, _TOLERANCE = 9, 0.008, 0.005
"""Values of q to begin with; what more of them, and of ratios, would gain in standard errors."""

_NEAR, _MOST_TRIES, _NEARLY_ONE, _MANY = 0.3, 40, 1 - 1e-12, 512
"""Standard errors from where many q are used; steps; what counts as sure; and q for halving."""

_NEWTON_STEPS, _LEAST_VARIANCE, _ROUNDING = 4, 1e-300, 1e-12
"""Towards a count in the order; what stands for no variance; and what rounding changes in s."""

_MOST_CELLS = 16_384
"""Of a table, so that it fits in a processor's cache."""


def ratio_lower_bound(
    larger: int, smaller: int, larger_trials: int, smaller_trials: int, significance: float
) -> float:
    """Exact lower bound on ln(p / q), at least 0.

    The order is that of the normal lower bound with Agresti and Coull's probabilities, which rises
    in the first count and falls in the second, so that the probability below is monotone in the
    ratio.

    Args:
        larger: K1.
        smaller: K2.
        larger_trials: n1.
        smaller_trials: n2.
        significance: Probability with which the bound is above ln(p / q), at most.

    Returns:
        The bound.

    References:
        Buehler (1957); Berger, Boos (1994); Agresti, Coull (1998).
    """
    if larger == 0:
        return 0.0
    tail = _Tail((larger, smaller), (larger_trials, smaller_trials), significance)
    # Steps of q and of the ratio cost little where q is known better than the ratio.
    precision = min(math.sqrt(larger / max(smaller, 1)), 1.0)
    return _largest(tail, significance * (1 - _NUISANCE_SHARE), precision)


def _largest(tail: "_Tail", allowed: float, precision: float) -> float:
    """About the largest ln ratio whose tail is certainly not above `allowed`, or 0."""
    # Normal quantiles of the tail are nearly linear in ln ratio.
    goal = float(scipy.special.ndtri(allowed))
    slope = math.exp(-(goal**2) / 2) / math.sqrt(2 * math.pi) / allowed
    tolerance, looseness = _TOLERANCE * precision, _LOOSENESS * precision
    few = np.linspace(0.0, 1.0, _FEW)
    tried, step, previous = max(tail.observed, 0.0), tail.error, None
    # First the value is nearly found with a few q, then made true of all.
    places, low, high = few, 0.0, math.inf
    for _ in range(_MOST_TRIES):
        bounds, fine = tail.at(tried, places), places is not few
        # Three quarters of what is allowed, so that a little change of the ratio changes no place.
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


def _halved(tail: "_Tail", goal: float, low: float, tolerance: float) -> float:
    """The same by halving, where steps along lines did not get there."""
    places = np.linspace(0.0, 1.0, _MANY)

    def is_allowed(log_ratio: float) -> bool:
        return _quantile(tail.at(log_ratio, places).supremum) <= goal

    high = max(tail.observed, low) + tail.error
    while is_allowed(high):
        low, high = high, high + tail.error
    while high - low > tolerance * tail.error:
        middle = (low + high) / 2
        low, high = (middle, high) if is_allowed(middle) else (low, middle)
    return low


def _quantile(log_tail: float) -> float:
    """Of a tail, which may be bounded by more than 1."""
    return float(scipy.special.ndtri(min(math.exp(min(log_tail, 0.0)), _NEARLY_ONE)))


class _Bounds(NamedTuple):
    """What is known of ln f at one ratio, between neighbouring values of q.

    Attributes:
        ends: [intervals], the larger value at the two ends.
        gaps: [intervals], how much more it can be in between.
        highest: The largest value, and what it can be below all of them.
    """

    ends: NDArray
    gaps: NDArray
    highest: float

    @property
    def supremum(self) -> float:
        """It is at most this."""
        return max(float(np.max(self.ends + self.gaps)), self.highest)

    def finer(self, places: NDArray, looseness: float) -> NDArray:
        """More places, so that the supremum is known to so much; the same ones where it is."""
        excess = self.gaps / (looseness + self.highest - self.ends)
        # A gap falls with the square of the number of its parts.
        parts = np.ceil(np.sqrt(np.maximum(excess - 1e-9, 1.0))).astype(np.int64)
        part = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
        steps = np.repeat(np.diff(places) / parts, parts)
        return np.append(np.repeat(places[:-1], parts) + steps * part, 1.0)


class _Tail:
    """f at any ratio, from above.

    Args:
        counts: Observed K1 and K2.
        trials: n1 and n2.
        significance: Of the bound.
    """

    def __init__(self, counts: tuple[int, int], trials: tuple[int, int], significance: float):
        self.trials, self.negligible = trials, _NEGLIGIBLE * significance
        quantile = max(-float(scipy.special.ndtri(significance)), 0.5)
        estimate, error = _log_ratio(*counts, trials, quantile)
        self.error, self.observed = float(error), float(estimate - quantile * error)
        outside = _NUISANCE_SHARE * significance
        low, high = (float(x) for x in one_sided_bounds(counts[1], trials[1], outside / 2))
        self.least, self.range = low, (max(low, high / _WIDEST), high)
        self.smaller = Blocks(low, high, trials[1], self.negligible)
        self.needed = _least_larger(self.smaller.counts, self.observed, trials, quantile)
        self.larger: Blocks | None = None

    def at(self, log_ratio: float, places: NDArray) -> _Bounds:
        """Of a ratio >= 1, at values of q whose places in their range rise from 0 to 1."""
        ratio = math.exp(log_ratio)
        # No q above 1 / ratio is possible.
        low, high = (min(ratio * q, 1.0) for q in self.range)
        if low == 1:
            return _Bounds(np.zeros(places.size - 1), np.zeros(places.size - 1), 0.0)
        # Even steps of the arc sine are about even in standard errors.
        first, last = (math.asin(math.sqrt(p)) for p in (low, high))
        p = np.sin(first + places * (last - first)) ** 2
        p[0], p[-1] = low, high
        q = p / ratio
        # Where q is smaller than looked at, f is at most f(p at the smallest one, least q). Beside
        # p = 1, where log odds are infinite, it is at most f(1, smaller q).
        ending = 1 if p[-1] == 1 else 0
        tails = np.log(
            self._tails(
                np.concatenate([p[:1], p, p[-1:][:ending]]),
                np.concatenate([[self.least], q, q[-2:-1][:ending]]),
            )
        )
        known = tails[1 : p.size + 1]
        ends = np.maximum(known[:-1], known[1:])
        gaps = _line_gaps(p, self.trials[0]) + _line_gaps(q, self.trials[1])
        if ending:
            gaps[-1] = min(gaps[-1], max(tails[-1] - ends[-1], 0.0))
        return _Bounds(ends, gaps, max(float(np.max(ends)), float(tails[0])))

    def _tails(self, p: NDArray, q: NDArray) -> NDArray[np.float64]:
        """f(p, q), [p]."""
        larger = self.larger
        if larger is None or p[0] < larger.low or np.max(p) > larger.high:
            room = math.exp(self.error)
            larger = Blocks(
                p[0] / room, min(np.max(p) * room, 1.0), self.trials[0], self.negligible
            )
            self.larger = larger
        few, many = Windows(self.smaller, q), Windows(larger, p)
        # Blocks of K1 from its windows' start, for blocks of K2 from theirs.
        needed = self.needed // larger.stride - larger.begin
        found, rows = np.empty(p.size), max(_MOST_CELLS // max(few.size, many.size), 1)
        for i in range(0, p.size, rows):
            part = slice(i, i + rows)
            above = _above(many.masses(part), self.negligible)
            place = needed.take(few.numbers(part)[:, :-1], mode="clip")
            place -= many.start[part, None]
            np.maximum(np.minimum(place, many.size, out=place), 0, out=place)
            place += (above.shape[1] * np.arange(len(above)))[:, None]
            found[part] = np.einsum("ij,ij->i", few.masses(part), above.ravel().take(place))
        return found + self.negligible


def _above(mass: NDArray, negligible: float) -> NDArray[np.float64]:
    """P(K >= a block's first count) [p, blocks + 1], where the first one stands for any."""
    above = np.zeros((mass.shape[0], mass.shape[1] + 1))
    np.cumsum(mass[:, ::-1], axis=1, out=above[:, -2::-1])
    above += negligible
    above[:, 0] = 1.0
    return np.minimum(above, 1.0, out=above)


def _line_gaps(p: NDArray, trials: int) -> NDArray[np.float64]:
    """How far n A(a) can lie below its line between neighbouring p, [intervals]."""
    inner = np.clip(0.5, p[:-1], p[1:])
    with np.errstate(divide="ignore"):
        return trials * inner * (1 - inner) * np.diff(scipy.special.logit(p)) ** 2 / 8


def _least_larger(
    smaller: NDArray, observed: float, trials: tuple[int, int], quantile: float
) -> NDArray[np.int64]:
    """The least first count with s >= observed for each second one; n1 + 1 where there is none."""
    added = quantile**2
    total, other = (n + added for n in trials)
    second = np.minimum(smaller, trials[1]) + added / 2
    rest = 1 / second - 1 / other - 1 / total
    goal = observed + np.log(second / other)
    # Newton's steps for y = ln(first / total), in which s rises and is about concave.
    y = np.minimum(goal, 0.0)
    for _ in range(_NEWTON_STEPS):
        inverse = np.exp(-y) / total
        root = np.sqrt(np.maximum(inverse + rest, _LEAST_VARIANCE))
        y -= (y - quantile * root - goal) / (1 + quantile * inverse / (2 * root))
        np.minimum(y, 0.0, out=y)
    least = np.ceil(np.clip(total * np.exp(y) - added / 2, 0, trials[0] + 1)).astype(np.int64)

    def reached(larger: NDArray) -> NDArray[np.bool_]:
        # Rounding must not leave out the observed counts.
        return ratio_order(larger, smaller, *trials, quantile) >= observed - _ROUNDING

    while np.any(short := (least <= trials[0]) & ~reached(least)):
        least += short
    while np.any(beyond := (least > 0) & reached(np.maximum(least - 1, 0))):
        least -= beyond
    return least


def ratio_order(
    larger: ArrayLike, smaller: ArrayLike, larger_trials: int, smaller_trials: int, quantile: float
) -> NDArray[np.float64]:
    """s, about the bound that two counts give: it rises in the first and falls in the second.

    The latter since x (1 - x / m) >= z^2 / 4 for x in [z^2 / 2, m - z^2 / 2] where m >= z^2.
    """
    estimate, error = _log_ratio(larger, smaller, (larger_trials, smaller_trials), quantile)
    return estimate - quantile * error


def _log_ratio(
    larger: ArrayLike, smaller: ArrayLike, trials: tuple[int, int], quantile: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ratio's logarithm by Agresti and Coull's probabilities, and its standard error."""
    added = quantile**2
    first, second = (
        np.minimum(np.asarray(count, np.float64), most) + added / 2
        for count, most in zip((larger, smaller), trials, strict=True)
    )
    total, other = (n + added for n in trials)
    variance = 1 / first - 1 / total + 1 / second - 1 / other
    return np.log(first / total) - np.log(second / other), np.sqrt(variance)
