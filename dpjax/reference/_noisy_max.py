"""Exact distributions of noisy maxima: probabilities of indices, and densities of values."""

import numpy as np
from scipy.special import logsumexp

from dpjax import mechanisms
from dpjax.reference._laws import law_of, look_up, noise_scale
from dpjax.reference._noise import (
    exponential_log_cdf,
    exponential_log_pdf,
    laplace_log_cdf,
    laplace_log_pdf,
)
from dpjax.reference._quadrature import line_rule

_NOISES = {
    "laplace": (laplace_log_pdf, laplace_log_cdf),
    "exponential": (exponential_log_pdf, exponential_log_cdf),
}
"""Dictionary from noise names to log density and log distribution function at scale 1."""


@law_of.register
def _(mechanism: mechanisms.NoisyMax, database, outputs):
    scale, noise = noise_scale(mechanism), mechanism.rule.noise
    if mechanism.rule.told == "value":
        return np.asarray(logsumexp(_wins_at(database, scale, noise, outputs), axis=0))
    if noise == "gumbel":
        return look_up(database / scale - logsumexp(database / scale), outputs)
    return look_up(_winner(database, scale, noise), outputs)


@law_of.register
def _(mechanism: mechanisms.PermuteAndFlip, database, outputs):
    # The output has the same distribution as the index of a noisy maximum with exponential noise
    # (Ding et al. 2021).
    return look_up(_winner(database, 2 / float(mechanism.epsilon), "exponential"), outputs)


def _wins_at(answers: np.ndarray, scale: float, noise: str, outputs: np.ndarray) -> np.ndarray:
    """Return the log joint density of the winning query i and its noisy answer t.

    The winning query is the query with the largest noisy answer. The result has shape
    [num_queries, num_outputs]. For each query i and each output t, the log density is ln f_i(t)
    plus the sum over j != i of ln F_j(t), where f_i and F_i are the density and the distribution
    function of query i's noisy answer.
    """
    log_pdf, log_cdf = _NOISES[noise]
    x = (outputs - answers[:, None]) / scale
    log_cdfs = log_cdf(x)
    # The sum leaves out row i. Subtracting row i from the sum of all rows would result in inf - inf
    # in places where one-sided noise has no mass.
    others = np.stack([np.delete(log_cdfs, i, axis=0).sum(axis=0) for i in range(len(answers))])
    return log_pdf(x) - np.log(scale) + others


def _winner(answers: np.ndarray, scale: float, noise: str) -> np.ndarray:
    """Return log P(query i has the largest noisy answer) for each i, [num_queries]."""
    nodes, weights = line_rule(answers, scale, panel_width=4 * scale)
    wins = _wins_at(answers, scale, noise, nodes) + np.log(weights)
    return np.asarray(logsumexp(wins, axis=1))
