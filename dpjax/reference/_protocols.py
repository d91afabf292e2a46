"""Exact outcome probabilities of protocols for local DP, as tables of log probabilities.

In unary encodings and RAPPOR, the bits of an outcome are independent. In local hashing and subset
selection, the probability of an outcome depends only on whether the reported bucket or subset
contains the true category.
"""

import math

import numpy as np
import scipy

from dpjax import mechanisms
from dpjax.reference._laws import category_of, law_of, look_up
from dpjax.reference._noise import laplace_log_cdf

Unary = (
    mechanisms.SymmetricUnaryEncoding
    | mechanisms.OptimizedUnaryEncoding
    | mechanisms.ThresholdedHistogramEncoding
)


@law_of.register(Unary)
def _(mechanism, database, outputs):
    k = mechanism.num_categories
    is_other = np.arange(k) != category_of(database, k)
    return look_up(_independent_bits(_log_chances(mechanism)[is_other.astype(int)]), outputs)


@law_of.register(mechanisms.OneTimeRappor | mechanisms.Rappor)
def _(mechanism, database, outputs):
    f = float(mechanism.coin_chance)
    if isinstance(mechanism, mechanisms.Rappor):
        q, p = float(mechanism.set_chance), float(mechanism.clear_chance)
        ones = [f * (p + q) / 2 + (1 - f) * chance for chance in (p, q)]
        zeros = [f * (2 - p - q) / 2 + (1 - f) * (1 - chance) for chance in (p, q)]
    else:
        ones = [f / 2, 1 - f / 2]
        zeros = ones[::-1]
    bits = mechanisms.bloom_filter(int(database), mechanism.num_bits, mechanism.num_hashes)
    log_chances = np.log(np.stack([zeros, ones], axis=1))
    return look_up(_independent_bits(log_chances[np.asarray(bits).astype(int)]), outputs)


@law_of.register
def _(mechanism: mechanisms.LocalHashing, database, outputs):
    g, k = mechanism.num_buckets, mechanism.num_categories
    function, told = np.divmod(np.arange(g ** (k + 1)), g)
    truth = function // g ** category_of(database, k) % g
    log_answer = np.where(told == truth, float(mechanism.epsilon), 0.0)
    normaliser = np.logaddexp(float(mechanism.epsilon), math.log(g - 1))
    return look_up(log_answer - normaliser - k * math.log(g), outputs)


@law_of.register
def _(mechanism: mechanisms.SubsetSelection, database, outputs):
    category = category_of(database, mechanism.num_categories)
    codes = np.arange(2**mechanism.num_categories)
    bits = codes[:, None] >> np.arange(mechanism.num_categories) & 1
    log_weight = np.where(bits[:, category], float(mechanism.epsilon), 0.0)
    log_weight = np.where(bits.sum(axis=1) == mechanism.subset_size, log_weight, -np.inf)
    return look_up(log_weight - scipy.special.logsumexp(log_weight), outputs)


def _log_chances(mechanism: Unary) -> np.ndarray:
    """Return the logs of four probabilities, [2, 2].

    Row 0 is for the true category's bit, and row 1 for any other bit. Column 0 is the probability
    that the bit is 0, and column 1 that it is 1.
    """
    epsilon = float(mechanism.epsilon)
    match mechanism:
        case mechanisms.SymmetricUnaryEncoding():
            lie, truth = -np.logaddexp(0, [epsilon / 2, -epsilon / 2])
            return np.array([[lie, truth], [truth, lie]])
        case mechanisms.OptimizedUnaryEncoding():
            one, zero = -np.logaddexp(0, [epsilon, -epsilon])
            return np.array([[-np.log(2), -np.log(2)], [zero, one]])
        case mechanisms.ThresholdedHistogramEncoding():
            margin = (np.array([1.0, 0.0]) - float(mechanism.threshold)) * epsilon / 2
            return np.stack([laplace_log_cdf(-margin), laplace_log_cdf(margin)], axis=1)


def _independent_bits(log_chances: np.ndarray) -> np.ndarray:
    """Return the log probabilities of all bit vectors, in the order of their codes, [2^bits].

    The bits are independent, and e^log_chances[i, j] is the probability that bit i is j. Both
    probabilities of a bit are passed because 1 - p is inexact if p is close to 1.
    """
    table = np.zeros(1)
    for zero, one in log_chances:
        table = np.concatenate([table + zero, table + one])
    return table
