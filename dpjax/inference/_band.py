"""One statement about a chain of nested sets, from which bounds of every notion follow.

A search orders cells, those that are likelier at the database first. The chain is sets of the first
so many cells, E_1 < ... < E_K, with probabilities F_i at the database and G_i at its neighbor.
Counts of fresh draws, X_i and Y_i, show all at once that no F_i is too small and no G_i too large:

    Z1 = max(-quantile(P(Bin(N1, F_i) >= X_i)), 0), Z2 = max(-quantile(P(Bin(N2, G_i) <= Y_i)), 0)

have Z1^2 + Z2^2 <= r^2 at every set i with at least the confidence. For one set this fails with a
probability of at most Phi(-r) + exp(-r^2 / 2) / 4, as it would for two uniform tail probabilities,
which those of a binomial law exceed stochastically. For all of them the probabilities multiply:
whether a draw is in a set is monotone in its rank along the chain, so counts of all sets are
associated.

Notation: p and q are bounds of the probabilities, J corners of a set.

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
"""Corners of a quarter circle, which cost 0.6% of its radius."""


class Band(NamedTuple):
    """What is known of the sets of a chain, and of their complements.

    At every set one of the corners holds: the set's probability at the likelier side is at least
    `power`, and at the other side at most `level`.

    Attributes:
        power: Float64 [sets, corners] for the sets, and the same for their complements, which are
            likelier at the neighbor.
        level: As `power`.
        roc: (power, level) of all sets, also those that no event may be: the points of the curve.
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
        """A band from lower bounds of F and upper ones of G, [sets, corners]; see `band`."""
        end, start = (len(lower), 0) if usable is None else usable
        return cls((lower[:end], 1 - upper[start:]), (upper[:end], 1 - lower[start:]),
                   (lower, upper))  # fmt: skip


def radius(num_sets: int, error: float) -> float:
    """r, for so many sets and a probability of being wrong about any.

    Args:
        num_sets: K, at least 1.
        error: In (0, 1/2).
    """
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
    # The larger end, at which the error is not exceeded.
    return high


def band(
    counts: ArrayLike,
    trials: tuple[int, int],
    error: float,
    *,
    usable: tuple[int, int] | None = None,
    corners: int = _CORNERS,
) -> Band:
    """The band of a chain that was fixed before these draws.

    Args:
        counts: Whole numbers [2, sets], how many of the draws at the database and at its neighbor
            were in each set; not decreasing along the chain.
        trials: N1 and N2, draws at the database and at its neighbor.
        error: Probability that the band is wrong anywhere, at most; below 1/2.
        usable: (end, start): sets before `end` are events that may be looked at, and the
            complements of those from `start` on. All if None.
        corners: J.
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
    """The band of a known law on finitely many cells: the chain of all of them, with one corner.

    Args:
        probabilities: Float [2, cells], at the database and at its neighbor.
    """
    p, q = np.asarray(probabilities, np.float64)
    happens = (p > 0) | (q > 0)
    p, q = p[happens], q[happens]
    with np.errstate(divide="ignore"):
        order = np.argsort(np.log(q) - np.log(p), kind="stable")
    p, q = p[order], q[order]
    # Complements by their own sums: 1 - F loses the digits of a rare tail. All cells are no event.
    sums = [np.cumsum(side)[:-1, None] for side in (p, q)]
    rests = [np.cumsum(side[::-1])[-2::-1, None] for side in (p, q)]
    power, level = (sums[0], rests[1]), (sums[1], rests[0])
    return Band(power, level, (sums[0], sums[1]))
