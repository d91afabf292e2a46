"""Exact density or probability of every built-in mechanism's outputs.

One function a class, all in log space: a loss is a difference of logarithms, and the tails that
matter for it underflow otherwise.
"""

from typing import Any

import jax
import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.optimize import root_scalar

from dpjax import mechanisms
from dpjax._types import MixedSpace, VectorSpace
from dpjax.reference import _integers as _integers
from dpjax.reference import _mixed as _mixed
from dpjax.reference import _protocols as _protocols
from dpjax.reference._laws import category_of, law_of, look_up, on_integers
from dpjax.reference._noisy_max import (
    exponential_maximum,
    exponential_winner,
    laplace_maximum,
    laplace_winner,
)
from dpjax.reference._sparse_vector import outcome_probabilities


def density(mechanism: Any, database: ArrayLike, outputs: ArrayLike) -> np.ndarray:
    """The exact density (real outputs) or probability (integer outputs) of a built-in mechanism.

    Args:
        mechanism: A built-in mechanism with one value per parameter.
        database: What its `sample` takes: a number, or numbers of shape [num_queries].
        outputs: Where to evaluate, any shape; [..., dimension] for vectors, [..., 2] for mixed
            outputs. It is 0 outside of the output space.

    Returns:
        float64 of the shape of `outputs`, without its last axis for vectors and mixed outputs (a
        density in the real part for labels that have one, else a probability); closed forms, or
        quadrature to about 1e-12 relative.

    Raises:
        TypeError: The mechanism is not a built-in one.
        ValueError: The mechanism's parameters are stacked, or the database has another shape than
            the mechanism takes, or is not one of its categories; or the outputs have.

    References:
        The docstring of the mechanism's class names the paper and algorithm.
    """
    return np.exp(log_density(mechanism, database, outputs))


def log_density(mechanism: Any, database: ArrayLike, outputs: ArrayLike) -> np.ndarray:
    """Natural logarithm of `density`, exact where that underflows; -inf where it is 0.

    Arguments, shapes and errors are those of `density`.
    """
    if law_of.dispatch(type(mechanism)) is law_of.dispatch(object):
        raise TypeError(
            "mechanism must be a built-in one of dpjax.mechanisms, but was "
            f"{type(mechanism).__name__}: no exact density of it is known."
        )
    if any(np.ndim(leaf) for leaf in jax.tree.leaves(mechanism)):
        raise ValueError(
            f"mechanism must have one value per parameter, but the {type(mechanism).__name__} had "
            "stacked ones."
        )
    database, outputs = np.asarray(database, float), np.asarray(outputs, float)
    expected = (mechanism.num_queries,) if hasattr(mechanism, "num_queries") else ()
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
            f"outputs must have a last axis of {width} for outputs in {space}, but had shape "
            f"{outputs.shape}."
        )
    return law_of(mechanism, database, outputs.reshape(-1, width)).reshape(outputs.shape[:-1])


def _width(space: Any) -> int | None:
    """Length of the last axis of outputs, None where each is one number."""
    if isinstance(space, VectorSpace):
        return space.dimension
    return 2 if isinstance(space, MixedSpace) else None


@law_of.register(mechanisms.Laplace | mechanisms.NoisyHistogram1)
def _(mechanism, database, outputs):
    epsilon = float(mechanism.epsilon)
    return np.log(epsilon / 2) - epsilon * np.abs(outputs - database)


@law_of.register
def _(mechanism: mechanisms.NoisyHistogram2, database, outputs):
    scale = float(mechanism.epsilon)
    return -np.log(2 * scale) - np.abs(outputs - database) / scale


@law_of.register
def _(mechanism: mechanisms.Gaussian, database, outputs):
    sigma = float(mechanism.sigma)
    return -0.5 * ((outputs - database) / sigma) ** 2 - np.log(sigma * np.sqrt(2 * np.pi))


@law_of.register
def _(mechanism: mechanisms.TwoSidedGeometric, database, outputs):
    epsilon = float(mechanism.epsilon)
    # (1 - a) / (1 + a) with a = e^-epsilon.
    log_peak = np.log(np.tanh(epsilon / 2))
    # The sampler takes the database as an integer.
    return on_integers(log_peak - epsilon * np.abs(outputs - np.trunc(database)), outputs)


@law_of.register
def _(mechanism: mechanisms.Exponential, database, outputs):
    rate = exponential_rate(float(mechanism.epsilon))
    inside = np.log(rate) - np.log(2 - np.exp(-rate * database)) - rate * np.abs(outputs - database)
    return np.where(outputs >= 0, inside, -np.inf)


@law_of.register
def _(mechanism: mechanisms.TruncatedLaplace, database, outputs):
    scale = float(mechanism.scale)
    mass = -scale * (np.expm1(-database / scale) + np.expm1(-(1 - database) / scale))
    inside = -np.abs(outputs - database) / scale - np.log(mass)
    return np.where((outputs >= 0) & (outputs <= 1), inside, -np.inf)


@law_of.register
def _(mechanism: mechanisms.TruncatedGaussian, database, outputs):
    sigma = float(mechanism.sigma)
    mass = scipy.special.ndtr((1 - database) / sigma) - scipy.special.ndtr(-database / sigma)
    untruncated = -0.5 * ((outputs - database) / sigma) ** 2 - np.log(sigma * np.sqrt(2 * np.pi))
    return np.where((outputs >= 0) & (outputs <= 1), untruncated - np.log(mass), -np.inf)


@law_of.register
def _(mechanism: mechanisms.RandomizedResponse, database, outputs):
    k, epsilon = mechanism.num_categories, float(mechanism.epsilon)
    table = np.where(np.arange(k) == category_of(database, k), epsilon, 0.0)
    return look_up(table - scipy.special.logsumexp(table), outputs)


@law_of.register
def _(mechanism: mechanisms.TwoPoint, database, outputs):
    log_one = -(float(mechanism.log_rarity) + float(mechanism.ratio) * category_of(database, 2))
    return look_up(np.array([np.log1p(-np.exp(log_one)), log_one]), outputs)


@law_of.register
def _(mechanism: mechanisms.FiniteExponential, database, outputs):
    scores = float(mechanism.epsilon) * database / 2
    return look_up(scores - scipy.special.logsumexp(scores), outputs)


@law_of.register
def _(mechanism: mechanisms.ReportNoisyMax, database, outputs):
    return look_up(laplace_winner(database, 2 / float(mechanism.epsilon)), outputs)


@law_of.register
def _(mechanism: mechanisms.ReportNoisyMax2, database, outputs):
    return look_up(exponential_winner(database, 2 / float(mechanism.epsilon)), outputs)


@law_of.register
def _(mechanism: mechanisms.ReportNoisyMax3, database, outputs):
    return laplace_maximum(database, 2 / float(mechanism.epsilon), outputs)


@law_of.register
def _(mechanism: mechanisms.ReportNoisyMax4, database, outputs):
    return exponential_maximum(database, 2 / float(mechanism.epsilon), outputs)


@law_of.register
def _(mechanism: mechanisms.ContinuousNoisyMax, database, outputs):
    return laplace_maximum(database, mechanism.num_queries / float(mechanism.epsilon), outputs)


@law_of.register
def _(mechanism: mechanisms.PermuteAndFlip, database, outputs):
    # It has the law of the noisy maximum with exponential noise (Ding et al. 2021).
    return look_up(exponential_winner(database, 2 / float(mechanism.epsilon)), outputs)


@law_of.register
def _(mechanism: mechanisms.HalfNoiseMax, database, outputs):
    scores = float(mechanism.epsilon) * database
    return look_up(scores - scipy.special.logsumexp(scores), outputs)


@law_of.register(
    mechanisms.SVT1 | mechanisms.SVT2 | mechanisms.SVT4 | mechanisms.SVT5 | mechanisms.SVT6
)
def _(mechanism, database, outputs):
    with np.errstate(divide="ignore"):
        return look_up(np.log(outcome_probabilities(mechanism, database)), outputs)


def exponential_rate(epsilon: float) -> float:
    """Lambda of the Exponential mechanism of a given level, in float64.

    The root of lambda + ln(2 - e^(-2 lambda)) - ln(2 - e^(-lambda)) = epsilon.

    References:
        Askin, Kutta, Dette (2022), experiment (d).
    """

    def excess(rate: float) -> float:
        return rate + np.log1p(-np.expm1(-2 * rate)) - np.log1p(-np.expm1(-rate)) - epsilon

    # The level lies between lambda and 2 lambda.
    return float(root_scalar(excess, bracket=(epsilon / 2, epsilon), xtol=1e-15, rtol=1e-15).root)
