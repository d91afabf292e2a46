"""Exact output distributions of sparse vector variants.

A query is called positive if the mechanism reports that its noisy answer is above the noisy
threshold. Given the threshold's noise z, queries are positive independently of each other. The
probability of an outcome is the integral over z of a product of Laplace distribution functions. The
integrand has a kink at each z for which the noisy threshold equals a query's answer. The integrals
for all outcomes use the same quadrature rule.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpjax.mechanisms import SparseVector, SVT3And4
from dpjax.reference._laws import law_of, look_up
from dpjax.reference._noise import (
    laplace_cdf,
    laplace_interval,
    laplace_log_cdf,
    laplace_log_pdf,
    laplace_pdf,
)
from dpjax.reference._quadrature import line_rule

_MAX_TABLE = 2**24


class _Rule(NamedTuple):
    """A quadrature rule for integrals over the threshold's noise z.

    Attributes:
        weight: Quadrature weights times the density of z at the nodes, [num_nodes].
        above: P(query i is positive | z) for each node z, [num_queries, num_nodes].
        below: P(query i is not positive | z) for each node z, with full relative precision,
            [num_queries, num_nodes].
    """

    weight: np.ndarray
    above: np.ndarray
    below: np.ndarray


@law_of.register
def _(mechanism: SparseVector, database, outputs):
    if mechanism.noise.told is not None:
        index, known = _labels(outputs, mechanism.num_queries + 1)
        return np.where(known, _mixed(mechanism, database, index, outputs[:, 1]), -np.inf)
    with np.errstate(divide="ignore"):
        return look_up(np.log(_outcome_probabilities(mechanism, database)), outputs)


@law_of.register
def _(mechanism: SVT3And4, database, outputs):
    third, fourth = mechanism.parts
    label, known = _labels(outputs, mechanism.output_space.num_labels)
    index, fourth_index = np.divmod(label, mechanism.num_queries + 1)
    log_density = _mixed(third, database, index, outputs[:, 1])
    return np.where(known, log_density + law_of(fourth, database, fourth_index), -np.inf)


def _labels(outputs: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return each mixed output's label (0 for invalid labels), and whether the label is valid."""
    label = outputs[:, 0]
    known = (label == np.floor(label)) & (label >= 0) & (label < size)
    return np.where(known, label, 0).astype(int), known


def _outcome_probabilities(mechanism: SparseVector, answers: np.ndarray) -> np.ndarray:
    """Return the probabilities of all outcomes, in the order of the mechanism's output space."""
    noise, most = mechanism.noise, mechanism.max_positives
    excess = answers - float(mechanism.threshold)
    threshold, query, redraw = _scales(mechanism)
    if noise.query == 0:
        return _noiseless_patterns(excess, threshold)
    if mechanism.tells_index:
        return _first_positive(excess, threshold, query)
    if noise.redraw:
        return _redrawn_patterns(excess, (threshold, query, redraw), most)
    return _patterns(_rule(excess, threshold, query), most if noise.stops else len(answers))


def _scales(mechanism: SparseVector) -> tuple[float, float, float]:
    """Return the noise scales for the first threshold, for answers, and for redrawn thresholds."""
    noise, epsilon = mechanism.noise, float(mechanism.epsilon)
    return noise.threshold / epsilon, noise.query / epsilon, noise.redraw / epsilon


def _rule(excess: np.ndarray, threshold: float, query: float) -> _Rule:
    z, weight = line_rule(
        np.append(excess, 0.0), max(threshold, query), panel_width=4 * min(threshold, query)
    )
    margin = (excess[:, None] - z) / query
    return _Rule(
        weight * laplace_pdf(z / threshold) / threshold, laplace_cdf(margin), laplace_cdf(-margin)
    )


def _first_positive(excess: np.ndarray, threshold: float, query: float) -> np.ndarray:
    """Return P(query i is the first positive query) for each i, and P(no query is positive)."""
    rule = _rule(excess, threshold, query)
    all_below = np.cumprod(np.vstack([np.ones_like(rule.weight), rule.below]), axis=0)
    return np.append((all_below[:-1] * rule.above) @ rule.weight, all_below[-1] @ rule.weight)


def _patterns(rule: _Rule, most: int) -> np.ndarray:
    """Return the probability of each pattern of positive queries, [2^num_queries].

    A pattern is an integer whose bit i is set if query i is positive. The variant stops as soon as
    `most` queries are positive.
    """
    num_queries, num_nodes = rule.above.shape
    positives = _positives(num_queries)
    total = np.zeros(2**num_queries)
    chunk = max(1, _MAX_TABLE >> num_queries)
    for start in range(0, num_nodes, chunk):
        part = slice(start, start + chunk)
        table = rule.weight[None, part]
        for i in range(num_queries):
            # Patterns with bit i follow the patterns without bit i, in the same order.
            stopped = (positives[: 2**i] == most)[:, None]
            table = np.concatenate(
                [
                    table * np.where(stopped, 1, rule.below[i, part]),
                    table * np.where(stopped, 0, rule.above[i, part]),
                ]
            )
        total += table.sum(axis=1)
    return total


def _redrawn_patterns(
    excess: np.ndarray, scales: tuple[float, float, float], most: int
) -> np.ndarray:
    """Return the probability of each pattern if the threshold is redrawn after each positive query.

    A stretch is the sequence of queries between two redraws of the noisy threshold; these queries
    share one threshold. The probability of a pattern is a product with one factor per stretch.
    """
    k, (threshold, query, redraw) = len(excess), scales
    # stretch[a, b] is the probability that query b is the first positive query among queries a,
    # a + 1, ..., if the threshold is redrawn before query a. If b = k, none of them is positive.
    stretch = np.zeros((k + 1, k + 1))
    stretch[k, k] = 1
    for start in range(k):
        fresh = redraw if start else threshold
        stretch[start, start:] = _first_positive(excess[start:], fresh, query)
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
    """Return the probability of each pattern if the answers have no noise.

    All noisy thresholds that lie between the same two adjacent answers result in the same pattern.
    The probability of this pattern is the probability that the noisy threshold lies between the two
    answers.
    """
    cuts = np.concatenate([[-np.inf], np.unique(excess), [np.inf]])
    codes = (excess[None, :] >= cuts[1:, None]) @ (1 << np.arange(len(excess)))
    total = np.zeros(2 ** len(excess))
    total[codes] = laplace_interval(cuts[:-1] / scale, cuts[1:] / scale)
    return total


def _positives(num_queries: int) -> np.ndarray:
    counts = np.zeros(1, int)
    for _ in range(num_queries):
        counts = np.concatenate([counts, counts + 1])
    return counts


def _mixed(
    mechanism: SparseVector, answers: np.ndarray, index: np.ndarray, v: np.ndarray
) -> np.ndarray:
    """Return the log joint density of the first positive query's index and the reported number."""
    total = np.full(len(v), -np.inf)
    for i in np.unique(index):
        here = index == i
        total[here] = _at_index(mechanism, answers, int(i), v[here])
    return total


def _at_index(mechanism: SparseVector, answers: np.ndarray, i: int, v: np.ndarray) -> np.ndarray:
    threshold, query, _ = _scales(mechanism)
    scale = (mechanism.noise.told or 0) / float(mechanism.epsilon)
    excess = answers - float(mechanism.threshold)
    if scale or i == mechanism.num_queries:
        with np.errstate(divide="ignore"):
            log_first = np.log(_first_positive(excess, threshold, query)[i])
        if i == mechanism.num_queries:
            return np.where(v == 0, log_first, -np.inf)
        return log_first + laplace_log_pdf((v - answers[i]) / scale) - np.log(scale)
    # The reported number is a positive query's noisy answer, so the noisy threshold is at most this
    # number.
    told = v - float(mechanism.threshold)

    def log_integrand(z: np.ndarray) -> np.ndarray:
        below = laplace_log_cdf((z - excess[:i, None]) / query).sum(axis=0)
        return below + laplace_log_pdf(z / threshold) - np.log(threshold)

    log_below = _log_integral_up_to(log_integrand, np.append(excess[:i], 0.0), told, threshold)
    return log_below + laplace_log_pdf((told - excess[i]) / query) - np.log(query)


def _log_integral_up_to(
    log_integrand: Callable[[np.ndarray], np.ndarray],
    kinks: np.ndarray,
    ends: np.ndarray,
    scale: float,
) -> np.ndarray:
    """Return the logs of the integrals of e^log_integrand from -infinity to each end in `ends`.

    All integrals use the same quadrature rule.
    """
    nodes, weights = line_rule(np.append(kinks, ends), scale, panel_width=4 * scale)
    order = np.argsort(nodes)
    nodes = nodes[order]
    # Every end was passed to `line_rule` as a kink, so every end is an edge of a panel and never
    # lies inside a panel.
    running = np.logaddexp.accumulate(log_integrand(nodes) + np.log(weights[order]))
    return running[np.searchsorted(nodes, ends) - 1]
