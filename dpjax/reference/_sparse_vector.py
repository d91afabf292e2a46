"""Exact outcome probabilities of the sparse vector technique.

Given the threshold's noise z, queries are answered independently, so every outcome's probability is
one integral over z of a product of Laplace distribution functions, with kinks where the noisy
threshold crosses a query's answer. All outcomes share the nodes of one rule.

References:
    Lyu, Su, Li (2017), Algorithms 1, 2, 4, 5, 6.
"""

from typing import NamedTuple

import numpy as np

from dpjax.mechanisms import SVT1, SVT2, SVT4, SVT5, SVT6
from dpjax.reference._noise import laplace_cdf, laplace_interval, laplace_pdf
from dpjax.reference._quadrature import line_rule

SparseVector = SVT1 | SVT2 | SVT4 | SVT5 | SVT6

_MAX_TABLE = 2**24
"""Numbers in the largest intermediate table, so that 20 queries stay within a few 100 MB."""


class _Scales(NamedTuple):
    """Scales of the noises: the threshold's, a query's, the threshold's after a positive.

    A 0 stands for no noise, or for a threshold that is kept.
    """

    threshold: float
    query: float
    redraw: float


class _Rule(NamedTuple):
    """The integral over the threshold's noise.

    Attributes:
        weight: Weights times the noise's density, shape [num_nodes].
        above: P(query i is reported above | z), shape [num_queries, num_nodes].
        below: 1 - above, computed by itself to keep small values exact.
    """

    weight: np.ndarray
    above: np.ndarray
    below: np.ndarray


def outcome_probabilities(mechanism: SparseVector, answers: np.ndarray) -> np.ndarray:
    """The probability of every outcome.

    Args:
        mechanism: One of the variants.
        answers: Query answers, float64 of shape [num_queries].

    Returns:
        Shape [num_outcomes], in the order of the mechanism's output space.
    """
    excess = answers - float(mechanism.threshold)
    scales = _scales(mechanism)
    if scales.query == 0:
        return _noiseless_patterns(excess, scales.threshold)
    stops = not isinstance(mechanism, SVT6)
    if stops and mechanism.max_positives == 1:
        return first_positive(excess, scales.threshold, scales.query)
    if scales.redraw:
        return _redrawn_patterns(excess, scales, mechanism.max_positives)
    most = mechanism.max_positives if stops else len(answers)
    return _patterns(_rule(excess, scales.threshold, scales.query), most)


def _scales(mechanism: SparseVector) -> _Scales:
    """The scales of the paper's pseudo-code, stated anew: the mechanisms are tested by them."""
    epsilon, c = float(mechanism.epsilon), mechanism.max_positives
    first = epsilon / (4 if isinstance(mechanism, SVT4) else 2)
    second = epsilon - first
    match mechanism:
        case SVT1():
            return _Scales(1 / first, 2 * c / second, 0)
        case SVT2():
            return _Scales(c / first, 2 * c / first, c / second)
        case SVT5():
            return _Scales(1 / first, 0, 0)
        case SVT4() | SVT6():
            return _Scales(1 / first, 1 / second, 0)


def _rule(excess: np.ndarray, threshold: float, query: float) -> _Rule:
    z, weight = line_rule(
        np.append(excess, 0.0), max(threshold, query), panel_width=4 * min(threshold, query)
    )
    margin = (excess[:, None] - z) / query
    return _Rule(
        weight * laplace_pdf(z / threshold) / threshold, laplace_cdf(margin), laplace_cdf(-margin)
    )


def first_positive(excess: np.ndarray, threshold: float, query: float) -> np.ndarray:
    """P(index of the first positive), and P(none) at the end.

    Args:
        excess: Answers less the threshold, [num_queries].
        threshold: Scale of its noise.
        query: Scale of each query's noise; one of the scales is an integer multiple of the other.

    Returns:
        [num_queries + 1].
    """
    rule = _rule(excess, threshold, query)
    all_below = np.cumprod(np.vstack([np.ones_like(rule.weight), rule.below]), axis=0)
    return np.append((all_below[:-1] * rule.above) @ rule.weight, all_below[-1] @ rule.weight)


def _patterns(rule: _Rule, most: int) -> np.ndarray:
    """P(pattern), bit i for query i, where nothing is reported after `most` positives."""
    num_queries, num_nodes = rule.above.shape
    positives = _positives(num_queries)
    total = np.zeros(2**num_queries)
    chunk = max(1, _MAX_TABLE >> num_queries)
    for start in range(0, num_nodes, chunk):
        part = slice(start, start + chunk)
        table = rule.weight[None, part]
        for i in range(num_queries):
            # The codes that set bit i follow those of the first i bits, in the same order.
            stopped = (positives[: 2**i] == most)[:, None]
            table = np.concatenate(
                [
                    table * np.where(stopped, 1, rule.below[i, part]),
                    table * np.where(stopped, 0, rule.above[i, part]),
                ]
            )
        total += table.sum(axis=1)
    return total


def _redrawn_patterns(excess: np.ndarray, scales: _Scales, most: int) -> np.ndarray:
    """P(pattern) where a positive redraws the threshold: a product of independent stretches."""
    k = len(excess)
    # stretch[a, b]: from a fresh threshold at query a, b is the first positive (b = k for none).
    stretch = np.zeros((k + 1, k + 1))
    stretch[k, k] = 1
    for start in range(k):
        threshold = scales.redraw if start else scales.threshold
        stretch[start, start:] = first_positive(excess[start:], threshold, scales.query)
    up_to_last = np.ones(2**k)
    next_query = np.zeros(2**k, int)
    for i in range(k):
        lower, upper = slice(2**i), slice(2**i, 2 ** (i + 1))
        up_to_last[upper] = up_to_last[lower] * stretch[next_query[lower], i]
        next_query[upper] = i + 1
    positives = _positives(k)
    rest = np.where(positives < most, stretch[next_query, k], 1)
    return np.where(positives <= most, up_to_last * rest, 0)


def _noiseless_patterns(excess: np.ndarray, scale: float) -> np.ndarray:
    """P(pattern) without noise on queries: between two answers, the threshold gives one pattern."""
    cuts = np.concatenate([[-np.inf], np.unique(excess), [np.inf]])
    codes = (excess[None, :] >= cuts[1:, None]) @ (1 << np.arange(len(excess)))
    total = np.zeros(2 ** len(excess))
    total[codes] = laplace_interval(cuts[:-1] / scale, cuts[1:] / scale)
    return total


def _positives(num_queries: int) -> np.ndarray:
    """Number of bits set in each code, shape [2^num_queries]."""
    counts = np.zeros(1, int)
    for _ in range(num_queries):
        counts = np.concatenate([counts, counts + 1])
    return counts
