"""Privacy levels from counts, as in Algorithms 1-4 of Gorla et al.

The level of a pair of inputs cannot be estimated if an interval contains no draws for one of the
two inputs. Levels are returned as masked arrays, in which pairs without an estimate are masked.

Notation: N_j and M_j are the counts of interval j for the two inputs of a pair, n is the number of
draws for each input, and alpha is the order.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Algorithms 1-4, eq. (17).
"""

from collections.abc import Callable

import numpy as np
import scipy
from numpy.typing import ArrayLike

from dpjax.core import validate
from dpjax.inference._assumptions import check_order


def ldp_levels(counts: ArrayLike, pairs: ArrayLike) -> np.ma.MaskedArray:
    """Return the LDP epsilon of each pair of inputs: max_j |ln(N_j / M_j)|.

    Args:
        counts: Integers [..., k, m], counts of m intervals for k inputs.
        pairs: Integers [num_pairs, 2], indices of the two inputs of each pair.

    Returns:
        Levels, float64 [..., num_pairs]. Pairs with an empty interval are masked.

    Raises:
        TypeError: If the counts are not numbers.
        ValueError: If the counts are not whole numbers >= 0.

    References:
        Gorla et al., Algorithm 1.
    """
    validate.counts(counts=counts)

    def level(log_first: np.ndarray, log_second: np.ndarray) -> np.ndarray:
        return np.abs(log_first - log_second).max(-1)

    return _pairwise(counts, pairs, level)


def renyi_levels(counts: ArrayLike, pairs: ArrayLike, order: float) -> np.ma.MaskedArray:
    """Return the Renyi level of each pair of inputs, maximized over both directions.

    By eq. (17), the value in one direction is ln((1/n) sum_j M_j (N_j / M_j)^alpha) / (alpha - 1).

    Args:
        counts: Integers [..., k, m], counts of m intervals for k inputs. All rows have the same
            sum.
        pairs: Integers [num_pairs, 2], indices of the two inputs of each pair.
        order: alpha > 1, the order of the divergence.

    Returns:
        Levels, float64 [..., num_pairs]. Pairs with an empty interval are masked.

    Raises:
        TypeError: If `order` is not a number, or if the counts are not numbers.
        ValueError: If `order` is not above 1, or if the counts are not whole numbers >= 0 with the
            same sum in every row.

    References:
        Gorla et al., Algorithm 3 and eq. (17).
    """
    check_order(order)
    validate.counts(counts=counts)
    sums = np.asarray(counts).sum(-1)
    if np.any(sums != sums.flat[0]):
        raise ValueError(
            f"counts must have the same sum in every row, but had sums from {sums.min()} to "
            f"{sums.max()}."
        )
    log_n = np.log(sums.flat[0])

    def divergence(log_first: np.ndarray, log_second: np.ndarray) -> np.ndarray:
        # With l = ln(N / M), the sum is 1 + sum_j (N_j / n) (e^((alpha - 1) l_j) - 1), because the
        # N_j sum to n. This form is exact for orders near 1, where the logarithm is nearly 0.
        scaled = (order - 1) * (log_first - log_second)
        small = np.abs(scaled).max(axis=-1) < 1
        with np.errstate(over="ignore"):
            change = np.sum(np.exp(log_first - log_n) * np.expm1(scaled), axis=-1)
        terms = order * log_first + (1 - order) * log_second
        large = scipy.special.logsumexp(terms, axis=-1) - log_n
        return np.where(small, np.log1p(np.where(small, change, 0.0)), large) / (order - 1)

    def level(log_first: np.ndarray, log_second: np.ndarray) -> np.ndarray:
        return np.maximum(divergence(log_first, log_second), divergence(log_second, log_first))

    return _pairwise(counts, pairs, level)


def _pairwise(
    counts: ArrayLike,
    pairs: ArrayLike,
    level: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ma.MaskedArray:
    counts, pairs = np.asarray(counts), np.asarray(pairs)
    empty = np.any(counts == 0, axis=-1)
    # Replace the logarithm of 0 by a finite number. Pairs with an empty interval are masked below.
    logs = np.log(np.maximum(counts, 1))
    levels = np.empty((*counts.shape[:-2], len(pairs)))
    # Process all pairs with the same first input together, so that the largest temporary array has
    # shape [..., k, m].
    for first in np.unique(pairs[:, 0]):
        here = pairs[:, 0] == first
        others = logs[..., pairs[here, 1], :]
        levels[..., here] = level(logs[..., first, None, :], others)
    failed = np.logical_or(empty[..., pairs[:, 0]], empty[..., pairs[:, 1]])
    return np.ma.masked_array(levels, failed)
