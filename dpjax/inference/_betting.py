"""Bets against a privacy level, placed on one block of counts.

The level is a pair of constraints on the output distributions P and Q of a database and its
neighbor: P(E) <= r Q(E) + d and Q(E) <= r P(E) + d for every event E.

The outputs are divided into m groups. Let p and q be estimates of the groups' probabilities under P
and Q, computed from earlier draws. In the next block, let a be the number of draws from the
database, and let x_j be the count of these draws in group j. Let b be the number of draws from the
neighbor, and let y_j be their count in group j. A bet is defined by positive weights w_j and v_j
for the groups and by a fraction c in [0, 1]. The bet pays

    prod_j (1 + c (w_j - 1))^x_j (1 + c (v_j - 1))^y_j.

By the inequality of arithmetic and geometric means, the expected payoff is at most 1 if the level
holds and if

    a sum_j P_j w_j + b sum_j Q_j v_j <= a + b    for all P and Q that satisfy the level.     (*)

Among all pairs of distributions that satisfy the level, let (p0, q0) be the pair for which the sum
a KL(p | p0) + b KL(q | q0) is smallest. The expected logarithm of the payoff is largest for the
weights w = p / p0 and v = q / q0.

The minimizer is found only approximately, so the weights are computed from approximate Lagrange
multipliers. The multipliers s and t belong to the constraints that P and Q sum to 1. The multiplier
`above` belongs to the constraint P(up) <= r Q(up) + d for one set `up` of groups, and the
multiplier `below` belongs to the constraint Q(down) <= r P(down) + d for one set `down` of groups.
The weights are the largest numbers that satisfy a w_j P_j + b v_j Q_j <= s P_j + t Q_j + (the terms
of `above` and `below`). Weights with this property satisfy (*) whenever s + t + d (above + below) =
a + b. Bets are therefore valid, apart from rounding errors, even if the search for the multipliers
does not converge. Errors in the multipliers reduce the expected logarithm of the payoff only to
second order.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

_MOST_STEPS, _PRECISION = 40, 1e-7
"""Maximum number of steps in the search for a Lagrange multiplier, and relative size of the last
step. A less precise multiplier makes a bet grow slightly slower, but the bet remains valid.
"""

_HALVINGS = 44
"""Number of bisection steps in the projection of one event."""

_NEWTON_STEPS, _SHORTER, _ROUNDING = 40, 30, 1e-13
"""Parameters of Newton's method with two constraints.

_NEWTON_STEPS is the maximum number of steps. _SHORTER is the maximum number of halvings of a step.
_ROUNDING is the relative rounding error of the objective.
"""

_ENOUGH = 0.99
"""A bet for delta > 0 is good enough if its growth is at least this fraction of an upper limit.

The growth is the expected log payoff. The upper limit is the growth of the best bet for delta = 0.
No bet for delta > 0 grows faster.
"""

_BOUNDARY, _LEAST = 0.95, 1e-6
"""Limits that keep probabilities and weights above 0.

A Newton step covers at most the fraction _BOUNDARY of the distance to the boundary of the feasible
set. _LEAST is the smallest allowed weight, and also the smallest allowed total probability of the
groups that are outside both events.
"""


class Weights(NamedTuple):
    """Positive weights of a bet.

    Attributes:
        first: float64 [N, groups], weights w for counts of draws from the database.
        second: float64 [N, groups], weights v for counts of draws from the neighbor.
    """

    first: Floats
    second: Floats

    def log_payoff(self, x: NDArray, y: NDArray, fraction: Floats) -> Floats:
        """Return the log payoffs of N bets, float64 [..., N].

        Args:
            x: float64 [N, groups], counts of draws from the database.
            y: float64 [N, groups], counts of draws from the neighbor.
            fraction: float64 [..., N], fractions c of the bets.
        """
        share = fraction[..., None]
        gained = x * np.log1p(share * (self.first - 1))
        gained += y * np.log1p(share * (self.second - 1))
        return gained.sum(axis=-1)

    def at(self, rows: NDArray) -> "Weights":
        """Return the weights of the bets selected by an index or a mask."""
        return Weights(self.first[rows], self.second[rows])


def weights(p: Floats, q: Floats, draws: Floats, slope: ArrayLike, start: ArrayLike) -> Weights:
    """Return weights for N bets whose expected log payoffs under the estimates are large.

    Args:
        p: float64 [N, groups], positive estimated probabilities under the database.
        q: float64 [N, groups], positive estimated probabilities under the neighbor.
        draws: float64 [N, 2], positive numbers of draws a and b.
        slope: Float [N], slope r = e^epsilon >= 1 of the level that each bet opposes.
        start: Float [N], intercept d = delta >= 0 of the level that each bet opposes.

    Returns:
        Weights that satisfy the condition (*) in the module's docstring. If the estimates p and q
        of a bet satisfy the level that the bet opposes, all weights of the bet are 1. For d > 0,
        the function returns the better of two bets: the best bet on two events, or the best bet for
        d = 0 with all weights scaled down until they satisfy (*).
    """
    bound, delta = (np.asarray(side, np.float64)[:, None] for side in (slope, start))
    without, s = _cells(p, q, draws, bound)
    if not delta.any():
        return without
    found = _taxed(without, s, draws, delta)
    # No bet grows faster than the best bet for d = 0, so almost the same growth is sufficient.
    growth = _growth(found, p, q, draws)
    most = _growth(without, p, q, draws)
    (rows,) = np.nonzero((growth < _ENOUGH * most) & (delta[:, 0] > 0))
    events = _events(p[rows], q[rows], draws[rows], bound[rows, 0], delta[rows, 0])
    better = _growth(events, p[rows], q[rows], draws[rows]) > growth[rows]
    found.first[rows[better]], found.second[rows[better]] = (x[better] for x in events)
    return found


def _growth(bet: Weights, p: Floats, q: Floats, draws: Floats) -> Floats:
    """Return the expected logarithm of each bet's payoff, float64 [N]."""
    with np.errstate(divide="ignore"):
        gained = draws[:, :1] * p * np.log(bet.first) + draws[:, 1:] * q * np.log(bet.second)
    return gained.sum(axis=1)


def _cells(p: Floats, q: Floats, draws: Floats, bound: Floats) -> tuple[Weights, Floats]:
    """Return the best weights for delta = 0, and the multiplier s, float64 [N, 1]."""
    ap, bq, total = draws[:, :1] * p, draws[:, 1:] * q, draws.sum(axis=1, keepdims=True)
    both = ap + bq
    is_inside = np.all((p <= bound * q) & (q <= bound * p), axis=1, keepdims=True)
    s = draws[:, :1].copy()
    (rows,) = np.nonzero(~is_inside[:, 0])
    s[rows] = _multiplier(ap[rows], bq[rows], total[rows], bound[rows], s[rows])
    t = total - s
    # In groups where a constraint binds, both weights follow from one combination of s and t.
    up, down = ap * t > bound * bq * s, bq * s > bound * ap * t
    share_p, share_q = ap / both, bq / both
    first = np.where(up, share_p * (s + t / bound), np.where(down, share_p * (s + t * bound), s))
    second = np.where(up, share_q * (s * bound + t), np.where(down, share_q * (s / bound + t), t))
    return Weights(first / draws[:, :1], second / draws[:, 1:]), s


def _multiplier(ap: Floats, bq: Floats, total: Floats, bound: Floats, s: Floats) -> Floats:
    """Return the multiplier s for which the projected probabilities have the sum 1, float64 [N, 1].

    As s increases, the sum decreases to 1 at the solution, and later increases to 1 at `total`. For
    a small level, the sum is almost 1 everywhere. Therefore, each probability is compared with its
    share of all draws, and the sum of the differences is divided by total - s. Newton's method
    starts at the given s. A step is replaced by a bisection if it would leave the interval that
    contains the solution, or if the divided sum does not decrease.
    """
    low, high, is_done = np.zeros_like(total), np.nextafter(total, 0), np.zeros(total.shape, bool)
    both, excess = ap + bq, bound - 1
    for _ in range(_MOST_STEPS):
        t = total - s
        up, down = ap * t > bound * bq * s, bq * s > bound * ap * t
        # The differences, multiplied by total / t, and their derivatives with respect to s.
        more, less = excess / (s * bound + t), -excess / (s + t * bound)
        gap = np.where(up, more * both, np.where(down, less * both, ap / s - bq / t))
        free = -ap / s / s - bq / t / t
        rise = np.where(up, -more * more * both, np.where(down, -less * less * both, free))
        gap, rise = gap.sum(axis=1, keepdims=True), rise.sum(axis=1, keepdims=True)
        low, high = np.where(gap > 0, s, low), np.where(gap > 0, high, s)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            after = s - gap / rise
        is_within = (after > low) & (after < high) & (rise < 0)
        after = np.where(is_within, after, (low + high) / 2)
        after = np.where(is_done, s, after)
        # For a small level, the sum is almost 1 everywhere, so only small steps are conclusive.
        is_done, s = np.abs(after - s) <= _PRECISION * np.minimum(s, t), after
        if is_done.all():
            break
    return s


def _taxed(bet: Weights, s: Floats, draws: Floats, delta: Floats) -> Weights:
    """Scale down the weights of a bet for delta = 0 until the bet is valid for a positive delta."""
    a, b = draws[:, :1], draws[:, 1:]
    above = np.max(a * bet.first - s, axis=1, keepdims=True)
    below = np.max(b * bet.second - (a + b - s), axis=1, keepdims=True)
    tax = (a + b) / (a + b + delta * (np.maximum(above, 0) + np.maximum(below, 0)))
    return Weights(bet.first * tax, bet.second * tax)


def _events(p: Floats, q: Floats, draws: Floats, e: Floats, delta: Floats) -> Weights:
    """Return the weights of a bet on two events, for delta > 0."""
    up, down = p > e[:, None] * q, q > e[:, None] * p
    a, b = draws.T
    # Compute the probabilities of `up`, `down` and the rest on both sides, and from them the
    # expected numbers of draws.
    sums = [[(law * part).sum(axis=1) for part in (up, down, ~(up | down))] for law in (p, q)]
    first, second = a * np.stack(sums[0]), b * np.stack(sums[1])
    # The rest must have a positive probability because the multipliers are computed from the rest.
    first[2], second[2] = np.maximum(first[2], _LEAST * a), np.maximum(second[2], _LEAST * b)
    first, second = first * (a / first.sum(axis=0)), second * (b / second.sum(axis=0))
    s, t, above, below = a.copy(), b.copy(), np.zeros_like(a), np.zeros_like(a)
    over = first[0] / a > e * second[0] / b + delta
    under = second[1] / b > e * first[1] / a + delta
    solved = ~(over | under)
    for side in (0, 1):
        (rows,) = np.nonzero((over, under)[side] & ~solved)
        one, other = (first, second) if side == 0 else (second, first)
        large, small = _one_event(
            one[side, rows],
            other[side, rows],
            a[rows] if side == 0 else b[rows],
            b[rows] if side == 0 else a[rows],
            e[rows],
            delta[rows],
        )
        # The projection does not change the conditional probability of the other event, given the
        # complement of this event.
        n_one, n_other = (a, b) if side == 0 else (b, a)
        rest_one = (1 - large) * one[1 - side, rows] / (n_one[rows] - one[side, rows])
        rest_other = (1 - small) * other[1 - side, rows] / (n_other[rows] - other[side, rows])
        fits = rest_other <= e[rows] * rest_one + delta[rows]
        kept = rows[fits]
        scale_one = (n_one[rows] - one[side, rows]) / (1 - large)
        scale_other = (n_other[rows] - other[side, rows]) / (1 - small)
        (s, t)[side][kept], (t, s)[side][kept] = scale_one[fits], scale_other[fits]
        (above, below)[side][kept] = (one[side, rows] / large - scale_one)[fits]
        solved[kept] = True
    (rows,) = np.nonzero(~solved)
    if rows.size:
        r, d = e[rows], delta[rows]
        u, z = _two_events(first[:, rows], second[:, rows], r, d)
        s[rows] = first[2, rows] / (1 - r * u - d - z)
        t[rows] = second[2, rows] / (1 - u - r * z - d)
        above[rows] = first[0, rows] / (r * u + d) - s[rows]
        below[rows] = second[1, rows] / (r * z + d) - t[rows]
    # Adjust the signs and the sum of the multipliers so that the bet is valid.
    most = 1 - _LEAST  # A weight of 0 could lose all wealth, and leads to NaN for 0 draws.
    above, below = np.clip(above, 0, most * t / e), np.clip(below, 0, most * s / e)
    scale = (a + b) / (s + t + delta * (above + below))
    s, t, above, below = (scale * x for x in (s, t, above, below))
    w, v = (s + above, s - e * below, s), (t - e * above, t + below, t)
    return Weights(
        np.where(up, (w[0] / a)[:, None], np.where(down, (w[1] / a)[:, None], (w[2] / a)[:, None])),
        np.where(up, (v[0] / b)[:, None], np.where(down, (v[1] / b)[:, None], (v[2] / b)[:, None])),
    )


def _one_event(
    large: Floats, small: Floats, a: Floats, b: Floats, e: Floats, delta: Floats
) -> tuple[Floats, Floats]:
    """Project the probabilities of one event onto the line p = r q + d.

    Args:
        large: float64 [N], expected number of draws in the event, on the side where the event is
            more likely.
        small: float64 [N], expected number of draws in the event, on the side where the event is
            less likely.
        a: float64 [N], total number of draws on the side where the event is more likely.
        b: float64 [N], total number of draws on the side where the event is less likely.
        e: float64 [N], slope r of the constraint.
        delta: float64 [N], intercept d of the constraint.

    Returns:
        The projected probabilities of the event: p on the side where the event is more likely, and
        q on the other side.
    """
    low, high = np.zeros_like(e), (1 - delta) / e
    for _ in range(_HALVINGS):
        q = (low + high) / 2
        p = e * q + delta
        rises = e * (large / p - (a - large) / (1 - p)) + small / q - (b - small) / (1 - q) > 0
        low, high = np.where(rises, q, low), np.where(rises, high, q)
    q = (low + high) / 2
    return e * q + delta, q


def _two_events(first: Floats, second: Floats, e: Floats, delta: Floats) -> tuple[Floats, Floats]:
    """Project the probabilities of two events onto both constraints by Newton's method.

    Args:
        first: float64 [3, N], expected numbers of draws from the database in the event `up`, in the
            event `down` and in all other groups.
        second: float64 [3, N], expected numbers of draws from the neighbor in `up`, in `down` and
            in all other groups.
        e: float64 [N], slopes r of the constraints.
        delta: float64 [N], intercepts d of the constraints.

    Returns:
        u, the projected probability of `up` under the neighbor, and z, the projected probability of
        `down` under the database.
    """
    mass = np.stack([first[0], second[0], first[1], second[1], first[2], second[2]])
    one, none, rest = np.ones_like(e), np.zeros_like(e), 1 - delta
    # The six probabilities are linear functions of u and z.
    by_u = np.stack([e, one, none, none, -e, -one])
    by_z = np.stack([none, none, one, e, -one, -e])
    constant = np.stack([delta, none, none, delta, rest, rest])

    def value(laws: Floats) -> Floats:
        logs = np.where(laws > 0, np.log(np.where(laws > 0, laws, 1.0)), -np.inf)
        return (mass * logs).sum(axis=0)

    u = z = (1 - delta) / (1 + e) / 2
    laws = constant + by_u * u + by_z * z
    reached = value(laws)
    for _ in range(_NEWTON_STEPS):
        slope, bend = mass / laws, mass / laws**2
        g_u, g_z = (by_u * slope).sum(axis=0), (by_z * slope).sum(axis=0)
        h_uu, h_zz = (by_u**2 * bend).sum(axis=0), (by_z**2 * bend).sum(axis=0)
        h_uz = (by_u * by_z * bend).sum(axis=0)
        determinant = h_uu * h_zz - h_uz**2
        du = (h_zz * g_u - h_uz * g_z) / determinant
        dz = (h_uu * g_z - h_uz * g_u) / determinant
        change = by_u * du + by_z * dz
        room = np.where(change < 0, laws / np.where(change < 0, -change, 1.0), np.inf).min(axis=0)
        step = np.minimum(1.0, _BOUNDARY * room)
        for _ in range(_SHORTER):
            # Without a tolerance, rounding errors would cause needless halvings of the last steps.
            worse = value(laws + step * change) < reached - _ROUNDING * np.abs(reached)
            if not worse.any():
                break
            step = np.where(worse, step / 2, step)
        u, z = u + step * du, z + step * dz
        laws = constant + by_u * u + by_z * z
        reached = value(laws)
        if np.max(step * np.abs(change) / laws) < 1e-12:
            break
    return u, z


def growth(p: ArrayLike, q: ArrayLike, epsilon: float) -> float:
    """Return the best bet's expected log payoff for one draw per side from known distributions.

    Let `growth` be the result. Consider a sequential test that refutes the level with probability
    at most `error` if the level holds, and with probability 1 under the given distributions. The
    test needs at least ln(1 / error) / growth draws per side on average (Wald, 1945).

    Args:
        p: Float [groups], positive probabilities under the database.
        q: Float [groups], positive probabilities under the neighbor.
        epsilon: Epsilon of the level that the bet opposes. The delta of this level is 0.
    """
    first, second = np.asarray(p, np.float64)[None], np.asarray(q, np.float64)[None]
    draws = np.ones((1, 2))
    bet = weights(first, second, draws, np.exp([epsilon]), np.zeros(1))
    return float(_growth(bet, first, second, draws)[0])
