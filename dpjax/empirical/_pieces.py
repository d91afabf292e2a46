"""Hockey-stick integrals of two densities, computed on pieces where their ratio is monotone.

In the notation of this module, p and q are the densities, and l = ln p - ln q. delta(eps) is the
larger of two integrals over all results: that of (p - e^eps q)_+ and that of (q - e^eps p)_+.

The real line is divided into pieces on which l is monotone. The point where l equals eps is called
the crossing. Within a piece, l > eps holds nowhere, everywhere, or on one side of the crossing.
delta depends only on the masses of p and q in each piece and to the left of each crossing.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

MAX_EPSILON = 500.0
"""Largest accepted epsilon, far above all levels of interest; e^epsilon does not overflow."""


@dataclass(frozen=True, eq=False)
class Pieces:
    """Pieces of the real line on which the log ratio l is monotone, one row per individual.

    In this base class, l is constant on each piece.

    Attributes:
        left: Log ratio l at the left end of each piece, [rows, pieces].
        right: Log ratio l at the right end of each piece, [rows, pieces].
        mass_p: Mass of p in each piece, [rows, pieces].
        mass_q: Mass of q in each piece, [rows, pieces].
    """

    left: np.ndarray
    right: np.ndarray
    mass_p: np.ndarray
    mass_q: np.ndarray

    @property
    def error(self) -> float:
        """Bound on the error of every computed delta; 0 if delta has a closed form."""
        return 0.0

    def split(self, row: np.ndarray, piece: np.ndarray, level: np.ndarray) -> np.ndarray:
        """Return float [2, k], the masses of p and q left of the crossing in each of k pieces.

        Each mass is the integral from the left end of the piece to the crossing.

        Args:
            row: Row index of each of the k pieces.
            piece: Index of each piece in its row.
            level: Value of the log ratio l at the crossing in each piece.
        """
        raise NotImplementedError("A constant log ratio has no crossing.")


def hockey_stick(
    pieces: Pieces, epsilon: np.ndarray, undefined: np.ndarray | float = 0.0
) -> np.ndarray:
    """Compute delta for every row of pieces at every epsilon.

    Args:
        pieces: Pieces of p and q, one row per individual.
        epsilon: Privacy levels [rows, E] or [E], from 0 to `MAX_EPSILON`.
        undefined: Probability u that a result without the individual is undefined, below 1,
            [rows]. The density q describes only the defined results.

    Returns:
        Float [rows, E], the larger of the integral of (p - e^eps (1 - u) q)_+ and the sum of u and
        the integral of ((1 - u) q - e^eps p)_+.

    References:
        Burchard, Daoud, Dotterrer 2020, Theorem 1 and Algorithm 2.
    """
    epsilon = np.broadcast_to(epsilon, (len(pieces.mass_p), np.shape(epsilon)[-1]))
    share = np.broadcast_to(undefined, len(epsilon))[:, None]
    shift = np.log1p(-share)
    backward = _one_sided(pieces, epsilon - shift, -1)
    return np.maximum(_one_sided(pieces, epsilon + shift, 1), share + (1 - share) * backward)


def _one_sided(pieces: Pieces, epsilon: np.ndarray, sign: int) -> np.ndarray:
    """Return the integral of (p - e^eps q)_+ if `sign` is 1, or (q - e^eps p)_+ if it is -1."""
    level = epsilon[:, :, None]
    above_left = (sign * pieces.left)[:, None] > level
    above_right = (sign * pieces.right)[:, None] > level
    upper, lower = (pieces.mass_p, pieces.mass_q)[::sign]
    whole = (above_left & above_right).astype(float)
    price = np.exp(epsilon)
    result = (whole @ upper[:, :, None] - price[:, :, None] * (whole @ lower[:, :, None]))[:, :, 0]
    row, column, piece = np.nonzero(above_left != above_right)
    if len(row):
        parts = pieces.split(row, piece, sign * epsilon[row, column])[::sign]
        on_left = above_left[row, column, piece]
        above = np.where(on_left, parts[0], upper[row, piece] - parts[0])
        below = np.where(on_left, parts[1], lower[row, piece] - parts[1])
        excess = above - price[row, column] * below
        cell = row * epsilon.shape[1] + column
        result += np.bincount(cell, excess, minlength=result.size).reshape(result.shape)
    return np.clip(result, 0.0, 1.0)


def smallest_epsilon(exceeds: Callable[[float], bool], at_least: float) -> float:
    """Return the smallest epsilon >= `at_least` at which `exceeds` is false.

    Args:
        exceeds: Function that returns whether delta exceeds the tolerance at a given epsilon. The
            function must return True below some threshold and False above the threshold.
        at_least: Smallest epsilon to consider. To find the largest result over many individuals,
            pass the result for each individual as `at_least` in the call for the next individual.

    Returns:
        The smallest epsilon e at which `exceeds` is false, or a value above e by at most 1e-9
        max(1, e). The result is infinity if `exceeds` is true at `MAX_EPSILON`.
    """
    if np.isinf(at_least) or not exceeds(at_least):
        return at_least
    if exceeds(MAX_EPSILON):
        return float("inf")
    low, high = at_least, max(2 * at_least, 0.125)
    while exceeds(high):
        low, high = high, min(2 * high, MAX_EPSILON)
    while high - low > 1e-9 * max(1.0, high):
        middle = (low + high) / 2
        low, high = (middle, high) if exceeds(middle) else (low, middle)
    return high
