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
    # For a count c, the output of the paper's algorithm has the distribution function
    # F(z) = a^(c - z) / (1 + a) for z < c, and F(z) = 1 - a^(z - c + 1) / (1 + a) for c <= z < n,
    # where a = 2^k / (2^k + 1).
    n = mechanism.largest_count
    k = np.ceil(np.log2(2 / float(mechanism.epsilon)))
    a = 2.0**k / (2.0**k + 1)
    distance = np.arange(n) - category_of(database, n + 1)
    cdf = np.where(distance < 0, a**-distance, 1 + a - a ** (distance + 1.0)) / (1 + a)
    return look_up(np.log(np.diff(cdf, prepend=0.0, append=1.0)), outputs)


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
