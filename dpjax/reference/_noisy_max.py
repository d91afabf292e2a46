"""Exact laws of noisy maxima: which query wins, and the density of the largest value."""

from collections.abc import Callable

import numpy as np
import scipy

from dpjax.reference._noise import (
    exponential_log_cdf,
    exponential_log_pdf,
    laplace_log_cdf,
    laplace_log_pdf,
)
from dpjax.reference._quadrature import line_rule

LogFunction = Callable[[np.ndarray], np.ndarray]


def laplace_winner(answers: np.ndarray, scale: float) -> np.ndarray:
    """Log P(i has the largest answer + scale * Laplace), shape [num_queries]."""
    return _winner(answers, scale, laplace_log_pdf, laplace_log_cdf)


def exponential_winner(answers: np.ndarray, scale: float) -> np.ndarray:
    """Log P(i has the largest answer + scale * Exponential), shape [num_queries]."""
    return _winner(answers, scale, exponential_log_pdf, exponential_log_cdf)


def laplace_maximum(answers: np.ndarray, scale: float, outputs: np.ndarray) -> np.ndarray:
    """Log density of max_i (answer + scale * Laplace) at outputs of shape [num_outputs]."""
    wins = _wins_at(answers, scale, outputs, laplace_log_pdf, laplace_log_cdf)
    return np.asarray(scipy.special.logsumexp(wins, axis=0))


def exponential_maximum(answers: np.ndarray, scale: float, outputs: np.ndarray) -> np.ndarray:
    """Log density of max_i (answer + scale * Exponential) at outputs of shape [num_outputs]."""
    wins = _wins_at(answers, scale, outputs, exponential_log_pdf, exponential_log_cdf)
    return np.asarray(scipy.special.logsumexp(wins, axis=0))


def _wins_at(
    answers: np.ndarray,
    scale: float,
    outputs: np.ndarray,
    log_pdf: LogFunction,
    log_cdf: LogFunction,
) -> np.ndarray:
    """Log density of "the maximum is t and query i attains it", [num_queries, num_outputs].

    ln f_i(t) + sum over j != i of ln F_j(t).
    """
    x = (outputs - answers[:, None]) / scale
    log_cdfs = log_cdf(x)
    # Not total - log_cdfs[i], which would be inf - inf where a one-sided noise has no mass.
    others = np.stack([np.delete(log_cdfs, i, axis=0).sum(axis=0) for i in range(len(answers))])
    return log_pdf(x) - np.log(scale) + others


def _winner(
    answers: np.ndarray, scale: float, log_pdf: LogFunction, log_cdf: LogFunction
) -> np.ndarray:
    nodes, weights = line_rule(answers, scale, panel_width=4 * scale)
    return np.asarray(
        scipy.special.logsumexp(
            _wins_at(answers, scale, nodes, log_pdf, log_cdf) + np.log(weights), axis=1
        )
    )
