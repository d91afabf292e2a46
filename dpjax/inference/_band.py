"""A simultaneous confidence band for the probabilities of a chain of nested sets.

The band implies lower bounds on the levels of all privacy notions. The search sorts the cells in
decreasing order of the ratio of their probability under the database to their probability under the
neighbor. The chain consists of K initial segments E_1, ..., E_K of this order, and each segment is
contained in the next one. The set E_i has probability F_i under the database and G_i under its
neighbor. Of N1 fresh draws from the database, X_i fall in E_i; of N2 fresh draws from the neighbor,
Y_i fall in E_i. From the counts X_i and Y_i, all F_i are bounded from below and all G_i from above.
Let `quantile` be the standard normal quantile function, and let

    Z1 = max(-quantile(P(Bin(N1, F_i) >= X_i)), 0), Z2 = max(-quantile(P(Bin(N2, G_i) <= Y_i)), 0).

The radius r is chosen such that, with at least the required confidence, Z1^2 + Z2^2 <= r^2 holds
for all sets simultaneously.

The radius r follows from two facts. First, for one set, the inequality fails with probability at
most Phi(-r) + exp(-r^2 / 2) / 4. If both tail probabilities in the definitions of Z1 and Z2 were
uniformly distributed, the inequality would fail with exactly this probability. Tail probabilities
of binomial counts are stochastically larger than uniform random variables, so the inequality fails
with at most this probability. Second, the counts of the sets are associated random variables
because each draw's indicator of membership in a set is a monotone function of the draw's rank along
the chain. Therefore, the probability that the inequality holds for all sets is at least the
product, over the sets, of the probability that the inequality holds for one set.

The quarter circle Z1^2 + Z2^2 = r^2 is replaced by J points just outside the circle, called
corners. For each set, each corner defines two bounds. The first is a lower bound p on the set's
probability on the side where the set is expected to be more likely. The second is an upper bound q
on the set's probability on the other side.

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
"""Number of corners per set. The distance of a corner from the circle is at most 0.6% of r."""


class Band(NamedTuple):
    """Joint bounds on the probabilities of a chain's sets and of the sets' complements.

    Each set is expected to be more likely under the database, and each complement under the
    neighbor. For every set and every complement, there is at least one corner whose two bounds are
    both valid.

    Attributes:
        power: Two float64 [sets, corners] arrays of lower bounds: on the sets' probabilities under
            the database, and on the complements' probabilities under the neighbor.
        level: Two float64 [sets, corners] arrays of upper bounds: on the sets' probabilities under
            the neighbor, and on the complements' probabilities under the database.
        roc: Lower bounds on probabilities under the database, and upper bounds on probabilities
            under the neighbor, for all sets of the chain, including sets that must not be used as
            events.
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
        """Construct a band from bounds on the sets' probabilities.

        Args:
            lower: float64 [sets, corners], lower bounds on probabilities under the database.
            upper: float64 [sets, corners], upper bounds on probabilities under the neighbor.
            usable: As in `band`.
        """
        end, start = (len(lower), 0) if usable is None else usable
        return cls((lower[:end], 1 - upper[start:]), (upper[:end], 1 - lower[start:]),
                   (lower, upper))  # fmt: skip


def radius(num_sets: int, error: float) -> float:
    """Return the radius r of a band for `num_sets` sets, given an error probability below 1/2."""
    # Compute 1 - (1 - error)^(1 / K) without cancellation.
    goal = -math.expm1(math.log1p(-error) / num_sets)

    def missing(r: float) -> float:
        return float(scipy.special.ndtr(-r)) + math.exp(-(r**2) / 2) / 4 - goal

    if missing(0.0) <= 0:
        return 0.0
    low, high = 0.0, 40.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (middle, high) if missing(middle) > 0 else (low, middle)
    # At the upper end of the interval, the error probability is at most `error`.
    return high


def band(
    counts: ArrayLike,
    trials: tuple[int, int],
    error: float,
    *,
    usable: tuple[int, int] | None = None,
    corners: int = _CORNERS,
) -> Band:
    """Return the band of a chain, computed from draws that are made after the chain is fixed.

    Args:
        counts: Integers [2, sets], numbers of draws from the database and from its neighbor that
            fall in each set. Both rows of `counts` must be nondecreasing.
        trials: N1 and N2, the numbers of draws from the database and from its neighbor.
        error: Largest allowed probability, below 1/2, that the band is wrong for at least one set.
        usable: Pair (end, start). Sets with an index below `end`, and complements of sets with an
            index of at least `start`, may be used as events. If `usable` is None, all sets and
            complements may be used.
        corners: J, the number of corners per set.
    """
    held, out = (np.asarray(side, np.float64)[:, None] for side in np.asarray(counts))
    r = radius(len(held), error)
    angle = np.arange(corners + 1) * (math.pi / (2 * corners))
    first = scipy.special.ndtr(-r * np.cos(angle[:-1]))
    second = scipy.special.ndtr(-r * np.sin(angle[1:]))
    lower, _ = one_sided_bounds(held, trials[0], first)
    _, upper = one_sided_bounds(out, trials[1], second)
    return Band.of(lower, upper, usable)


def known_band(probabilities: ArrayLike) -> Band:
    """Return the exact band for known probabilities of cells.

    The sets of the chain are formed by adding the cells one by one in decreasing order of their
    probability ratio. Each set has one corner.

    Args:
        probabilities: Float [2, cells], probabilities of the cells under the database and under its
            neighbor.
    """
    p, q = np.asarray(probabilities, np.float64)
    happens = (p > 0) | (q > 0)
    p, q = p[happens], q[happens]
    with np.errstate(divide="ignore"):
        order = np.argsort(np.log(q) - np.log(p), kind="stable")
    p, q = p[order], q[order]
    # Sum the complements separately because 1 - F loses digits if the complement is small. Leave
    # out the set of all cells, which has probability 1 under both databases.
    sums = [np.cumsum(side)[:-1, None] for side in (p, q)]
    rests = [np.cumsum(side[::-1])[-2::-1, None] for side in (p, q)]
    power, level = (sums[0], rests[1]), (sums[1], rests[0])
    return Band(power, level, (sums[0], sums[1]))
