"""Exact output densities or probabilities for every built-in mechanism.

Each mechanism class has its own function. The functions return log densities because densities
underflow in the tails.
"""

import jax
import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy import special

from dpjax import mechanisms
from dpjax.core.types import MixedSpace, OutputSpace, VectorSpace
from dpjax.mechanisms import BuiltIn
from dpjax.reference import _integers as _integers
from dpjax.reference import _noisy_max as _noisy_max
from dpjax.reference import _protocols as _protocols
from dpjax.reference import _sparse_vector as _sparse_vector
from dpjax.reference import _vectors as _vectors
from dpjax.reference._laws import category_of, law_of, look_up, noise_scale, on_integers
from dpjax.reference._noise import laplace_log_pdf
from dpjax.reference._truncated import ExactTruncatedGaussian, ExactTruncatedLaplace


def density(mechanism: BuiltIn, database: ArrayLike, outputs: ArrayLike) -> np.ndarray:
    """Return the exact densities of real outputs, or the exact probabilities of integer outputs.

    Args:
        mechanism: A built-in mechanism with one value per parameter.
        database: Database, a number or an array [num_queries].
        outputs: Outputs of the mechanism, in any shape. Vectors have shape [..., dimension], and
            mixed outputs have shape [..., 2] (label, real number). The density is 0 outside the
            output space.

    Returns:
        The densities, float64, with the shape of `outputs`; for vectors and mixed outputs, the last
        axis is dropped. For a mixed output, the value is the joint density of the label and the
        number, or a probability if the label comes without a number. All values are computed from
        closed forms, or by quadrature with a relative error of about 1e-12.

    Raises:
        TypeError: If the mechanism is not built in.
        ValueError: If a parameter is an array, if the database or the outputs have the wrong shape,
            or if the database is not one of the mechanism's categories.

    References:
        See the docstring of the mechanism's class for the paper and the algorithm.
    """
    return np.exp(log_density(mechanism, database, outputs))


def log_density(mechanism: BuiltIn, database: ArrayLike, outputs: ArrayLike) -> np.ndarray:
    """Return the log of `density`; the log is accurate even if the density underflows.

    If the density is 0, the log is -inf. Arguments, shapes and exceptions are the same as for
    `density`.
    """
    if law_of.dispatch(type(mechanism)) is law_of.dispatch(object):
        raise TypeError(
            "mechanism must be a built-in mechanism from dpjax.mechanisms, but was "
            f"{type(mechanism).__name__}, whose exact density is unknown."
        )
    if any(np.ndim(leaf) for leaf in jax.tree.leaves(mechanism)):
        raise ValueError(
            f"mechanism must have one value per parameter, but a parameter of "
            f"{type(mechanism).__name__} was an array."
        )
    database, outputs = np.asarray(database, float), np.asarray(outputs, float)
    num_queries = getattr(mechanism, "num_queries", None)
    expected = () if num_queries is None else (num_queries,)
    if database.shape != expected:
        raise ValueError(
            f"database must have shape {expected} for {type(mechanism).__name__}, but had shape "
            f"{database.shape}."
        )
    space = mechanism.output_space
    width = _width(space)
    if width is None:
        return law_of(mechanism, database, outputs.ravel()).reshape(outputs.shape)
    if outputs.shape[-1:] != (width,):
        raise ValueError(
            f"outputs must have a last axis of length {width} for {space}, but had shape "
            f"{outputs.shape}."
        )
    return law_of(mechanism, database, outputs.reshape(-1, width)).reshape(outputs.shape[:-1])


def _width(space: OutputSpace) -> int | None:
    """Return the length of the last axis for vectors and mixed outputs, and None otherwise."""
    if isinstance(space, VectorSpace):
        return space.dimension
    return 2 if isinstance(space, MixedSpace) else None


@law_of.register
def _(mechanism: mechanisms.Laplace, database, outputs):
    scale = noise_scale(mechanism)
    return laplace_log_pdf((outputs - database) / scale) - np.log(scale)


@law_of.register
def _(mechanism: mechanisms.Gaussian, database, outputs):
    sigma = float(mechanism.sigma)
    return -0.5 * ((outputs - database) / sigma) ** 2 - np.log(sigma * np.sqrt(2 * np.pi))


@law_of.register
def _(mechanism: mechanisms.ShuffledBatches, database, outputs):
    # The maximum's density at t is the probability that all draws are below t, times the sum, over
    # all draws, of the derivative at t of the draw's log distribution function.
    sigma, others = float(mechanism.sigma), mechanism.num_steps - 1
    places = np.stack([(outputs - database) / sigma, outputs / sigma])
    log_below = special.log_ndtr(places)
    log_rates = -0.5 * places**2 - log_below + np.log([[1.0], [others]])
    log_rate = np.logaddexp(*log_rates) - np.log(sigma * np.sqrt(2 * np.pi))
    return log_below[0] + others * log_below[1] + log_rate


@law_of.register
def _(mechanism: mechanisms.TwoSidedGeometric, database, outputs):
    epsilon = float(mechanism.epsilon)
    # tanh(epsilon / 2) equals (1 - a) / (1 + a) with a = e^-epsilon.
    log_peak = np.log(np.tanh(epsilon / 2))
    # The sampler truncates the database to an integer.
    return on_integers(log_peak - epsilon * np.abs(outputs - np.trunc(database)), outputs)


@law_of.register
def _(mechanism: mechanisms.Exponential, database, outputs):
    rate = 1 / noise_scale(mechanism)
    inside = np.log(rate) - np.log(2 - np.exp(-rate * database)) - rate * np.abs(outputs - database)
    return np.where(outputs >= 0, inside, -np.inf)


@law_of.register(mechanisms.TruncatedLaplace | mechanisms.TruncatedGaussian)
def _(mechanism, database, outputs):
    laplace = isinstance(mechanism, mechanisms.TruncatedLaplace)
    exact = (ExactTruncatedLaplace if laplace else ExactTruncatedGaussian)(noise_scale(mechanism))
    inside = (outputs >= 0) & (outputs <= 1)
    return np.where(inside, exact.log_density(database, outputs), -np.inf)


@law_of.register
def _(mechanism: mechanisms.RandomizedResponse, database, outputs):
    k, epsilon = mechanism.num_categories, float(mechanism.epsilon)
    table = np.where(np.arange(k) == category_of(database, k), epsilon, 0.0)
    return look_up(table - scipy.special.logsumexp(table), outputs)


@law_of.register
def _(mechanism: mechanisms.TwoPoint, database, outputs):
    log_one = -(float(mechanism.log_rarity) + float(mechanism.ratio) * category_of(database, 2))
    return look_up(np.array([np.log1p(-np.exp(log_one)), log_one]), outputs)
