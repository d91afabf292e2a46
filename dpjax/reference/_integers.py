"""Exact output distributions of mechanisms with integer outputs."""

import numpy as np
import scipy

from dpjax import mechanisms
from dpjax.reference._laws import category_of, law_of, look_up, on_integers
from dpjax.reference._noise import laplace_interval


@law_of.register
def _(mechanism: mechanisms.DiscreteGaussian, database, outputs):
    sigma = float(mechanism.sigma)
    support = np.arange(-mechanism.largest_noise, mechanism.largest_noise + 1)
    log_mass = scipy.special.logsumexp(-0.5 * (support / sigma) ** 2)
    noise = outputs - np.trunc(database)
    return on_integers(-0.5 * (noise / sigma) ** 2 - log_mass, outputs)


@law_of.register
def _(mechanism: mechanisms.TruncatedGeometric, database, outputs):
    # Let a be 1 / (1 + 2^-k). The noise takes the value j with probability (1 - a) / (1 + a) a^|j|,
    # and is at least m > 0 with probability a^m / (1 + a). The outputs 0 and n include the tails.
    n = mechanism.largest_count
    log_a = -np.log1p(np.ldexp(1.0, np.frexp(float(mechanism.epsilon))[1] - 2))
    distance = np.abs(np.arange(n + 1) - category_of(database, n + 1))
    log_mass = distance * log_a - np.log1p(np.exp(log_a))
    log_mass[1:-1] += np.log(-np.expm1(log_a))
    return look_up(log_mass, outputs)


@law_of.register
def _(mechanism: mechanisms.SnappedLaplace, database, outputs):
    bound = float(mechanism.bound)
    scale = (1 + bound * 2.0**-49) / float(mechanism.epsilon)
    step = float(2.0 ** np.frexp(scale)[1])
    last = np.ceil(bound / step)
    low = np.where(outputs <= -last, -np.inf, (outputs - 0.5) * step)
    high = np.where(outputs >= last, np.inf, (outputs + 0.5) * step)
    centre = np.clip(database, -bound, bound)
    with np.errstate(divide="ignore"):
        log_mass = np.log(laplace_interval((low - centre) / scale, (high - centre) / scale))
    return on_integers(np.where(np.abs(outputs) <= last, log_mass, -np.inf), outputs)
