"""A simultaneous confidence band for a chain of nested sets, which implies bounds for all notions.

The search orders the cells, so that cells that are likelier at the database come first. The chain
consists of initial segments of this order, E_1 < ... < E_K, with probabilities F_i at the database
and G_i at its neighbor. Counts of fresh draws, X_i and Y_i, bound all F_i from below and all G_i
from above:

    Z1 = max(-quantile(P(Bin(N1, F_i) >= X_i)), 0), Z2 = max(-quantile(P(Bin(N2, G_i) <= Y_i)), 0)

satisfy Z1^2 + Z2^2 <= r^2 at all sets i simultaneously, with a probability of at least the
confidence. For one set, the inequality fails with a probability of at most Phi(-r) + exp(-r^2 / 2)
/ 4. This value is exact if both tail probabilities are uniform; the tail probabilities of a
binomial law are stochastically larger than uniform ones. The counts of the sets are associated
random variables, because whether a draw is in a set is monotone in the draw's rank along the chain.
Therefore, the inequality holds for all sets with at least the product of the probabilities for
single sets.

The quarter circle Z1^2 + Z2^2 = r^2 is replaced by J points just outside it, the corners. Each
corner gives a set one pair of bounds: p, a lower bound on the set's probability at the likelier
side, and q, an upper bound on its probability at the other side.

References:
    Clopper, Pearson (1934); Esary, Proschan, Walkup (1967) for associated variables; Sidak (1967).
"""

import math
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from dpjax.inference._binomial import one_sided_bounds

_CORNERS = 128
"""Number of corners per set; 128 corners lie at most 0.6% of r outside the quarter circle."""


class Band(NamedTuple):
    """Joint bounds on the probabilities of the sets of a chain, and of their complements.

    At every set, at least one corner has valid bounds: the set's probability is at least `power` at
    the likelier side, and at most `level` at the other side.

    Attributes:
        power: Two arrays, float64 [sets, corners], of lower bounds on probabilities at the likelier
            side: one for the sets (likelier at the database), one for their complements (likelier
            at the neighbor).
        level: Two arrays of the same shapes, of upper bounds on probabilities at the other side.
        roc: Lower bounds on probabilities at the database and upper bounds at the neighbor, for all
            sets of the chain, including sets that are not usable as events.
    """

    power: tuple[NDArray[np.float64], NDArray[np.float64]]
    level: tuple[NDArray[np.float64], NDArray[np.float64]]
    roc: tuple[NDArray[np.float64], NDArray[np.float64]]

    @classmethod
    def of(
        cls,
        lower: NDArray[np.float64],
        upper: NDArray[np.float64],
        usable: tuple[int, int] | None = None,
    ) -> "Band":
        """Make a band from lower bounds at the database and upper bounds at the neighbor."""
        end, start = (len(lower), 0) if usable is None else usable
        return cls((lower[:end], 1 - upper[start:]), (upper[:end], 1 - lower[start:]),
                   (lower, upper))  # fmt: skip


def radius(num_sets: int, error: float) -> float:
    """Return the radius r of a band of `num_sets` sets with a total error probability below 1/2."""
    # 1 - (1 - error)^(1 / K), without cancellation.
    goal = -math.expm1(math.log1p(-error) / num_sets)

    def missing(r: float) -> float:
        return float(scipy.special.ndtr(-r)) + math.exp(-(r**2) / 2) / 4 - goal

    if missing(0.0) <= 0:
        return 0.0
    low, high = 0.0, 40.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if missing(middle) > 0 else (low, middle)
    # At the upper end, the error is not exceeded.
    return high


def band(
    counts: ArrayLike,
    trials: tuple[int, int],
    error: float,
    *,
    usable: tuple[int, int] | None = None,
    corners: int = _CORNERS,
) -> Band:
    """Return the band of a chain, from counts of draws that are made after the chain is fixed.

    Args:
        counts: Whole numbers [2, sets], draws in each set at the database and at its neighbor,
            nondecreasing along the chain.
        trials: N1 and N2, the numbers of draws at the database and at its neighbor.
        error: Largest probability, below 1/2, that the band is wrong at any set.
        usable: (end, start): sets before `end`, and complements of the sets from `start` on, are
            usable as events. If None, all sets and complements are usable.
        corners: J, the number of corners per set.
    """
    held, out = (np.asarray(side, np.float64)[:, None] for side in np.asarray(counts))
    r = radius(len(held), error)
    angle = np.arange(corners + 1) * (math.pi / (2 * corners))
    with np.errstate(under="ignore"):
        first = scipy.special.ndtr(-r * np.cos(angle[:-1]))
        second = scipy.special.ndtr(-r * np.sin(angle[1:]))
    lower, _ = one_sided_bounds(held, trials[0], first)
    _, upper = one_sided_bounds(out, trials[1], second)
    return Band.of(lower, upper, usable)


def known_band(probabilities: ArrayLike) -> Band:
    """Return the exact band for known probabilities of cells, [2, cells].

    The chain adds the cells one by one in the order of their probability ratios. Each set has one
    corner.
    """
    p, q = np.asarray(probabilities, np.float64)
    happens = (p > 0) | (q > 0)
    p, q = p[happens], q[happens]
    with np.errstate(divide="ignore"):
        order = np.argsort(np.log(q) - np.log(p), kind="stable")
    p, q = p[order], q[order]
    # Sum complements separately, since 1 - F loses the digits of rare tails. Leave out the set of
    # all cells, which is not an event.
    sums = [np.cumsum(side)[:-1, None] for side in (p, q)]
    rests = [np.cumsum(side[::-1])[-2::-1, None] for side in (p, q)]
    power, level = (sums[0], rests[1]), (sums[1], rests[0])
    return Band(power, level, (sums[0], sums[1]))
