"""Exact laws of outputs that are more than one number: mixed sparse vectors, vectors.

Notation: an output of a mixed mechanism is (label, v).
"""

from functools import singledispatch
from typing import Any

import numpy as np

from dpjax import mechanisms
from dpjax.mechanisms import SVT3, NumericalSVT, SVT3And4
from dpjax.reference._laws import law_of
from dpjax.reference._noise import laplace_log_cdf, laplace_log_pdf
from dpjax.reference._quadrature import line_rule
from dpjax.reference._sparse_vector import first_positive, outcome_probabilities

Mixed = SVT3 | NumericalSVT | SVT3And4


@law_of.register(Mixed)
def _(mechanism, database, outputs):
    label, v = outputs.T
    k, with_fourth = mechanism.num_queries, isinstance(mechanism, SVT3And4)
    known = (label == np.floor(label)) & (label >= 0) & (label < mechanism.output_space.num_labels)
    label = np.where(known, label, 0).astype(int)
    index, fourth_index = np.divmod(label, k + 1) if with_fourth else (label, label)
    total = np.full(len(v), -np.inf)
    for i in np.unique(index):
        here = index == i
        total[here] = _at_index(mechanism, database, int(i), v[here])
    if with_fourth:
        with np.errstate(divide="ignore"):
            total += np.log(outcome_probabilities(mechanism.parts[1], database))[fourth_index]
    return np.where(known, total, -np.inf)


def _at_index(mechanism: Mixed, answers: np.ndarray, index: int, v: np.ndarray) -> np.ndarray:
    """Log density of (index of the first positive, v); of variant 3 where there are two."""
    epsilon, k = float(mechanism.epsilon), mechanism.num_queries
    excess = answers - float(mechanism.threshold)
    numerical = isinstance(mechanism, NumericalSVT)
    scales = (3 / epsilon, 6 / epsilon) if numerical else (2 / epsilon, 2 / epsilon)
    if numerical or index == k:
        with np.errstate(divide="ignore"):
            log_first = np.log(first_positive(excess, *scales)[index])
        if index == k:
            return np.where(v == 0, log_first, -np.inf)
        return log_first + laplace_log_pdf((v - answers[index]) * epsilon / 3) + np.log(epsilon / 3)
    # The number told is the noisy answer, so the noisy threshold lies below it.
    scale, told = scales[0], v - float(mechanism.threshold)

    def log_integrand(z: np.ndarray) -> np.ndarray:
        below = laplace_log_cdf((z - excess[:index, None]) / scale).sum(axis=0)
        return below + laplace_log_pdf(z / scale) - np.log(scale)

    log_below = _log_integral_up_to(log_integrand, np.append(excess[:index], 0.0), told, scale)
    return log_below + laplace_log_pdf((told - excess[index]) / scale) - np.log(scale)


def _log_integral_up_to(
    log_integrand: Any, kinks: np.ndarray, ends: np.ndarray, scale: float
) -> np.ndarray:
    """Log of the integral of e^log_integrand from -infinity to each end; one rule for all."""
    nodes, weights = line_rule(np.append(kinks, ends), scale, panel_width=4 * scale)
    order = np.argsort(nodes)
    nodes = nodes[order]
    # The ends are edges of panels, so no panel lies on both sides of one.
    running = np.logaddexp.accumulate(log_integrand(nodes) + np.log(weights[order]))
    return running[np.searchsorted(nodes, ends) - 1]


@law_of.register
def _(mechanism: mechanisms.ParallelLaplace, database, outputs):
    return _laplace_entries(outputs - database, 1 / float(mechanism.epsilon))


@law_of.register
def _(mechanism: mechanisms.PrefixSum, database, outputs):
    # Taking differences undoes the sums, and does not change volumes.
    steps = np.diff(outputs, axis=1, prepend=0.0)
    return _laplace_entries(steps - database, 1 / float(mechanism.epsilon))


@law_of.register
def _(mechanism: mechanisms.SummedHistogramEncoding, database, outputs):
    encoded = np.arange(mechanism.num_categories) == database
    return _laplace_entries(outputs - encoded, 2 / float(mechanism.epsilon))


def _laplace_entries(noise: np.ndarray, scale: float) -> np.ndarray:
    return (laplace_log_pdf(noise / scale) - np.log(scale)).sum(axis=-1)


@singledispatch
def vector_level(mechanism: Any, database: np.ndarray, neighbor: np.ndarray) -> float:
    """The exact supremum of the loss over all outputs, in closed form."""
    raise NotImplementedError


@vector_level.register(mechanisms.ParallelLaplace)
def _(mechanism, database, neighbor):
    return mechanism.num_releases * float(mechanism.epsilon) * float(abs(database - neighbor))


@vector_level.register(mechanisms.PrefixSum)
def _(mechanism, database, neighbor):
    return float(mechanism.epsilon) * float(np.abs(database - neighbor).sum())


@vector_level.register(mechanisms.SummedHistogramEncoding)
def _(mechanism, database, neighbor):
    return float(mechanism.epsilon) * float(database != neighbor)
