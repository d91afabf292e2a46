"""Registry of exact output distributions, with one function per mechanism class."""

from functools import singledispatch

import numpy as np
from scipy.optimize import root_scalar

from dpjax import mechanisms
from dpjax.mechanisms import BuiltIn


@singledispatch
def law_of(mechanism: object, database: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Return the log density (or log probability) of each output, float64 [num_outputs].

    Args:
        mechanism: A mechanism with one value per parameter.
        database: Database, a float64 array with the shape that the mechanism accepts.
        outputs: Outputs, float64 [num_outputs], or [num_outputs, width] for vectors and mixed
            outputs.
    """
    raise NotImplementedError


def look_up(log_table: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Return `log_table[output]` for outputs that are valid indices, and -inf for other outputs."""
    inside = (outputs >= 0) & (outputs < len(log_table))
    index = np.where(inside, outputs, 0).astype(int)
    return on_integers(np.where(inside, log_table[index], -np.inf), outputs)


def on_integers(log_pmf: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Return `log_pmf` for outputs that are integers, and -inf for other outputs."""
    return np.where(outputs == np.floor(outputs), log_pmf, -np.inf)


def category_of(database: np.ndarray, size: int) -> int:
    """Convert a database to a category; raise ValueError if it is not in 0, ..., size - 1."""
    if database != np.floor(database) or not 0 <= database < size:
        raise ValueError(f"database must be an integer in [0, {size - 1}], but was {database}.")
    return int(database)


def noise_scale(mechanism: BuiltIn) -> float:
    """Return the noise scale of a mechanism with real outputs."""
    match mechanism:
        case mechanisms.NoisyHistogram2():
            return float(mechanism.epsilon)
        case mechanisms.Laplace():
            return 1 / float(mechanism.epsilon)
        case mechanisms.Gaussian() | mechanisms.TruncatedGaussian() | mechanisms.ShuffledBatches():
            return float(mechanism.sigma)
        case mechanisms.TruncatedLaplace():
            return float(mechanism.scale)
        case mechanisms.Exponential():
            return 1 / _exponential_rate(float(mechanism.epsilon))
        case mechanisms.NoisyMax():
            return mechanism.rule.scale / float(mechanism.epsilon)
        case mechanisms.SparseVector():
            scale = mechanism.noise.told or mechanism.noise.query
            return scale / float(mechanism.epsilon)
    raise NotImplementedError


def _exponential_rate(epsilon: float) -> float:
    """Return the float64 rate lambda for which the `Exponential` mechanism has level epsilon.

    The rate solves lambda + ln(2 - e^(-2 lambda)) - ln(2 - e^(-lambda)) = epsilon.

    References:
        Askin, Kutta, Dette (2022), experiment (d).
    """

    def excess(rate: float) -> float:
        return rate + np.log1p(-np.expm1(-2 * rate)) - np.log1p(-np.expm1(-rate)) - epsilon

    # The level lies between lambda and 2 lambda.
    return float(root_scalar(excess, bracket=(epsilon / 2, epsilon), xtol=1e-15, rtol=1e-15).root)
