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
from dpjax.reference._noise import laplace_cdf

Unary = (
    mechanisms.SymmetricUnaryEncoding
    | mechanisms.OptimizedUnaryEncoding
    | mechanisms.ThresholdedHistogramEncoding
)


@law_of.register(Unary)
def _(mechanism, database, outputs):
    true_chance, false_chance = _unary_chances(mechanism)
    k = mechanism.num_categories
    is_true = np.arange(k) == category_of(database, k)
    return look_up(_independent_bits(np.where(is_true, true_chance, false_chance)), outputs)


@law_of.register(mechanisms.OneTimeRappor | mechanisms.Rappor)
def _(mechanism, database, outputs):
    f = float(mechanism.coin_chance)
    if isinstance(mechanism, mechanisms.Rappor):
        q, p = float(mechanism.set_chance), float(mechanism.clear_chance)
        told_set, told_clear = f * (p + q) / 2 + (1 - f) * q, f * (p + q) / 2 + (1 - f) * p
    else:
        told_set, told_clear = 1 - f / 2, f / 2
    bits = mechanisms.bloom_filter(int(database), mechanism.num_bits, mechanism.num_hashes)
    return look_up(_independent_bits(np.where(np.asarray(bits), told_set, told_clear)), outputs)


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


def _unary_chances(mechanism: Unary) -> tuple[float, float]:
    """Return two probabilities: that the true category's bit is 1, and that any other bit is 1."""
    epsilon = float(mechanism.epsilon)
    match mechanism:
        case mechanisms.SymmetricUnaryEncoding():
            lie = 1 / (1 + math.exp(epsilon / 2))
            return 1 - lie, lie
        case mechanisms.OptimizedUnaryEncoding():
            return 0.5, 1 / (1 + math.exp(epsilon))
        case mechanisms.ThresholdedHistogramEncoding():
            margin = (np.array([1.0, 0.0]) - float(mechanism.threshold)) * epsilon / 2
            true_chance, false_chance = laplace_cdf(margin)
            return float(true_chance), float(false_chance)


def _independent_bits(chances: np.ndarray) -> np.ndarray:
    """Return the log probabilities of all bit vectors, in the order of their codes, [2^bits].

    The bits are independent, and bit i is 1 with probability chances[i].
    """
    table = np.zeros(1)
    for chance in chances:
        table = np.concatenate([table + np.log1p(-chance), table + np.log(chance)])
    return table
