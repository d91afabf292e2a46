"""Upper bounds on the tail probability of an event's counts at one level.

Notation: K1 ~ Bin(n1, p) is the count of the event on the side where the event is more likely, and
K2 ~ Bin(n2, q) is the count on the other side. At level t, p is at most g(t, q), so the worst case
p = g(t, q) is assumed. The score s orders the pairs of counts (see `_hypotheses`). The tail
probability f(p, q) = P(s(K1, K2) >= observed) increases with p and decreases with q.

At one level, an upper bound on the supremum of f over all q is computed from the values of f at
only a few q. Let a = ln(p / (1 - p)) and b = ln(q / (1 - q)) be the log odds of p and q, and let
A(a) = ln(1 + e^a). As a function of a and b, f is a sum of positive multiples of exp(a k + b m - n1
A(a) - n2 A(b)), one for each extreme pair of counts (k, m). By Hölder's inequality, ln f + n1 A(a)
+ n2 A(b) is therefore a convex function of (a, b). Consequently, on a straight line between two
points (a, b), ln f is at most the larger of its values at the two ends, plus

    (n1 v1 (change of a)^2 + n2 v2 (change of b)^2) / 8,

where v1 and v2 are the largest values of p (1 - p) and q (1 - q) between the ends. The function
`Hypothesis.lift` lifts the ends so that the curve p = g(t, q) lies below the line. Because f
increases with p, f is then smaller on the curve than on the line. The added term is proportional to
the square of the distance between the points. If adjacent points are a third of a standard error
apart, the added term changes the bound by less than a hundredth of a standard error. If p is known
much more precisely than q, a second bound, called the corner bound, requires fewer points. The
corner bound states that between two points, f is at most f(largest p, smallest q).
"""

import math
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from dpjax.inference._binomial import one_sided_bounds
from dpjax.inference._blocks import Blocks, Windows
from dpjax.inference._extreme import least_larger
from dpjax.inference._hypotheses import NEARLY_ONE, Hypothesis

NUISANCE_SHARE = 0.005
"""Fraction of the error probability that is used for a confidence interval for q (Berger, Boos)."""

_NEGLIGIBLE = 1e-5
"""Fraction of the error probability that is reserved for the tails that are omitted from sums.

Counts in omitted tails are treated as extreme.
"""

_WIDEST = 100.0
"""Ratio of the largest to the smallest q on the grid.

All values of q below the grid are covered by a single bound.
"""

_STEEP, _MOST_PARTS = 2.0, 16
"""Parameters for refining intervals of q.

The corner bound is computed for an interval only if the term that is added to the larger of the two
end values of ln f exceeds _STEEP. _MOST_PARTS is the maximum number of parts into which one
refinement divides an interval.
"""

_TABLE = 65
"""Number of entries in the table from which values of q are interpolated."""

_MOST_CELLS = 16_384
"""Maximum number of entries of a table, chosen so that the table fits in a CPU cache."""


class Bounds(NamedTuple):
    """Bounds on ln f at one level, for the intervals between adjacent values of q.

    Attributes:
        ends: float64 [intervals], the larger of the bounds on ln f at the two ends of each
            interval.
        lines: float64 [intervals], upper bound on the excess of ln f over `ends` within the
            interval, computed along a straight line.
        corners: float64 [intervals], upper bound on the excess of ln f over `ends` within the
            interval, computed from the corner bound f(largest p, smallest q).
        highest: Upper bound on ln f at all values of q on the grid and at all q below the grid.
    """

    ends: NDArray
    lines: NDArray
    corners: NDArray
    highest: float

    @property
    def supremum(self) -> float:
        """Upper bound on ln f."""
        gaps = np.minimum(self.lines, self.corners)
        return max(float(np.max(self.ends + gaps)), self.highest)

    def finer(self, places: NDArray, looseness: float) -> NDArray:
        """Return refined places, which reduce the supremum's error to at most `looseness`."""
        allowed = looseness + self.highest - self.ends
        # If an interval is divided into n parts, the excess of the line bound is divided by about
        # n^2. The excess of the corner bound is divided by about n.
        parts = np.minimum(np.sqrt(self.lines / allowed), self.corners / allowed)
        parts = np.ceil(np.clip(parts - 1e-9, 1.0, _MOST_PARTS)).astype(np.int64)
        part = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
        steps = np.repeat(np.diff(places) / parts, parts)
        return np.append(np.repeat(places[:-1], parts) + steps * part, 1.0)


class Tail:
    """Upper bounds on f at any level.

    Args:
        hypothesis: Hypothesis that relates the level to the probabilities.
        counts: Observed counts K1 and K2.
        trials: n1 and n2, the numbers of draws on the two sides.
        significance: Largest probability that the bound is above the level.
    """

    def __init__(
        self,
        hypothesis: Hypothesis,
        counts: tuple[int, int],
        trials: tuple[int, int],
        significance: float,
    ):
        self.hypothesis = hypothesis
        self.trials, self.negligible = trials, _NEGLIGIBLE * significance
        quantile = max(-float(scipy.special.ndtri(significance)), 0.5)
        observed, error = hypothesis.order_and_error(*counts, trials, quantile)
        self.observed, self.error = float(observed), float(error)
        outside = NUISANCE_SHARE * significance
        low, high = (float(x) for x in one_sided_bounds(counts[1], trials[1], outside / 2))
        self.least, self.range = low, (max(low, high / _WIDEST), high)
        self.smaller = Blocks(low, high, trials[1], self.negligible)
        self.needed = least_larger(
            hypothesis, self.smaller.counts, self.observed, counts, trials, quantile
        )
        self.larger: Blocks | None = None

    def at(self, level: float, places: NDArray) -> Bounds:
        """Return bounds on ln f at a level, for values of q at relative positions in [0, 1]."""
        q, p = self._curve(level, places)
        if p[0] == 1:
            nothing = np.zeros(places.size - 1)
            return Bounds(nothing, nothing, nothing, 0.0)
        # NaN means that p = 1 at both ends; f then decreases in between. Infinity means that p = 1
        # at one end.
        lines = np.nan_to_num(_line_gaps(p, self.trials[0]), nan=0.0, posinf=np.inf)
        lines += _line_gaps(q, self.trials[1])
        (steep,) = np.nonzero(lines > _STEEP)
        # For all q below the grid, f is at most f(p at the smallest q on the grid, least q).
        tails = np.log(
            self._tails(
                np.concatenate([p[:1], p, p[steep + 1]]),
                np.concatenate([[self.least], q, q[steep]]),
            )
        )
        known = tails[1 : p.size + 1]
        ends = np.maximum(known[:-1], known[1:])
        corners = np.full(ends.size, np.inf)
        corners[steep] = np.maximum(tails[p.size + 1 :] - ends[steep], 0.0)
        return Bounds(ends, lines, corners, max(float(np.max(ends)), float(tails[0])))

    def _curve(self, level: float, places: NDArray) -> tuple[NDArray, NDArray]:
        """Return points (q, lifted p) such that the lines between adjacent points lie above g."""
        reached = self.hypothesis.likelier(level, np.array(self.range))
        # Values of q above the smallest one with p = 1 are not needed.
        first, last = self.range
        is_sure = reached >= NEARLY_ONE
        if is_sure[0]:
            return np.full(places.size, first), np.ones(places.size)
        if is_sure[1]:
            last = min(max(float(self.hypothesis.other(level, np.array(1.0))), first), last)
        # Equal steps in the sum of the two scaled arc sines have about equal lengths in standard
        # errors.
        some = np.linspace(0.0, 1.0, _TABLE)
        p_ends = np.minimum([reached[0], self.hypothesis.likelier(level, np.array(last))], 1.0)
        table = np.concatenate(
            [
                _even(first, last, some),
                self.hypothesis.other(level, _even(float(p_ends[0]), float(p_ends[1]), some)),
            ]
        )
        table = np.sort(np.clip(table, first, last))
        first_arc, second_arc = (
            math.sqrt(n) * np.arcsin(np.sqrt(x))
            for n, x in zip(
                self.trials,
                (np.minimum(self.hypothesis.likelier(level, table), 1.0), table),
                strict=True,
            )
        )
        arcs = first_arc + second_arc
        q = np.interp(arcs[0] + places * (arcs[-1] - arcs[0]), arcs, table)
        q[0], q[-1] = first, last
        p = np.minimum(self.hypothesis.likelier(level, q), 1.0)
        lift = self.hypothesis.lift(level, q)
        if np.any(lift):
            both = np.maximum(np.append(lift[:1], lift), np.append(lift, lift[-1:]))
            p = scipy.special.expit(scipy.special.logit(p) + both)
        if is_sure[1]:
            p[-1] = 1.0
        return q, np.where(p >= NEARLY_ONE, 1.0, p)

    def _tails(self, p: NDArray, q: NDArray) -> NDArray[np.float64]:
        """Return upper bounds on f(p, q), float64 [p]."""
        larger = self.larger
        if larger is None or p[0] < larger.low or np.max(p) > larger.high:
            room = math.exp(self.error)
            larger = Blocks(
                p[0] / room, min(np.max(p) * room, 1.0), self.trials[0], self.negligible
            )
            self.larger = larger
        few, many = Windows(self.smaller, q), Windows(larger, p)
        # Find, for every block of K2 in its window, the first block of K1 with s >= observed.
        needed = self.needed // larger.stride - larger.begin
        found, rows = np.empty(p.size), max(_MOST_CELLS // few.size, 1)
        for start in range(0, p.size, rows):
            part = range(p.size)[start : start + rows]
            windows = slice(part.start, part.stop)
            place = needed.take(few.numbers(windows)[:, :-1], mode="clip")
            place -= many.start[windows, None]
            np.maximum(np.minimum(place, many.size, out=place), 0, out=place)
            mass = few.masses(windows)
            # Blocks below the least index are not needed, so more windows fit in a table.
            width = many.size - int(place.min()) + 1
            step = max(2 * _MOST_CELLS // width, 1) if 2 * few.size < width else rows
            for first in range(0, len(part), step):
                some = slice(first, first + step)
                chosen = part[some]
                above = _above(many, slice(chosen.start, chosen.stop), place[some], self.negligible)
                found[chosen.start : chosen.stop] = np.einsum("ij,ij->i", mass[some], above)
        return found + self.negligible


def _above(many: Windows, part: slice, place: NDArray, negligible: float) -> NDArray[np.float64]:
    """Return upper bounds on the probability of a count in or above a block.

    Args:
        many: Windows of the counts.
        part: Slice of the windows that correspond to the rows of `place`.
        place: int64 [windows, blocks], indices of blocks within each window. The array is
            overwritten.
        negligible: Largest total probability of the counts outside a window.

    Returns:
        Upper bounds, a float64 array with the shape of `place`.
    """
    least = int(place.min())
    mass = many.masses(part, least)
    above = np.zeros((mass.shape[0], mass.shape[1] + 1))
    np.cumsum(mass[:, ::-1], axis=1, out=above[:, -2::-1])
    above += negligible
    if least == 0:
        above[:, 0] = 1.0
    np.minimum(above, 1.0, out=above)
    place += (above.shape[1] * np.arange(len(above)) - least)[:, None]
    return above.ravel().take(place)


def _line_gaps(p: NDArray, trials: int) -> NDArray[np.float64]:
    """Bound the distance between n A(a) and its chord in each interval between values of p."""
    inner = np.clip(0.5, p[:-1], p[1:])
    with np.errstate(divide="ignore", invalid="ignore"):
        return trials * inner * (1 - inner) * np.diff(scipy.special.logit(p)) ** 2 / 8


def _even(low: float, high: float, places: NDArray) -> NDArray[np.float64]:
    """Interpolate between two probabilities, linearly in the arc sine of their square roots."""
    first, last = (math.asin(math.sqrt(x)) for x in (low, high))
    return np.sin(first + places * (last - first)) ** 2
