"""Float64 densities and distribution functions of unit-scale noise, accurate in the tails."""

import numpy as np


def laplace_pdf(x: np.ndarray) -> np.ndarray:
    """Return the Laplace density e^-|x| / 2."""
    return 0.5 * np.exp(-np.abs(x))


def laplace_cdf(x: np.ndarray) -> np.ndarray:
    """Return P(noise <= x) for Laplace noise.

    For the upper tail P(noise > x), use `laplace_cdf(-x)`, which has full relative precision.
    """
    tail = 0.5 * np.exp(-np.abs(x))
    return np.where(x < 0, tail, 1 - tail)


def laplace_log_pdf(x: np.ndarray) -> np.ndarray:
    """Return the log of the Laplace density, -|x| - ln 2."""
    return -np.abs(x) - np.log(2)


def laplace_log_cdf(x: np.ndarray) -> np.ndarray:
    """Return the log of P(noise <= x) for Laplace noise."""
    return np.where(x < 0, np.minimum(x, 0) - np.log(2), np.log1p(-0.5 * np.exp(-np.abs(x))))


def exponential_log_pdf(x: np.ndarray) -> np.ndarray:
    """Return the log of the exponential density: -x for x >= 0, and -inf for x < 0."""
    return np.where(x < 0, -np.inf, -x)


def exponential_log_cdf(x: np.ndarray) -> np.ndarray:
    """Return the log of P(noise <= x) for exponential noise: ln(1 - e^-x), or -inf for x <= 0."""
    with np.errstate(divide="ignore"):
        return np.log(-np.expm1(-np.maximum(x, 0)))


def laplace_interval(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return P(low < noise <= high) for Laplace noise, without cancellation in the tails."""
    # Intervals above 0 are reflected to the lower tail because differences of the cdf are precise
    # there.
    flip = low > 0
    low, high = np.where(flip, -high, low), np.where(flip, -low, high)
    with np.errstate(invalid="ignore"):
        one_sided = 0.5 * np.exp(np.minimum(high, 0)) * -np.expm1(np.minimum(low - high, 0))
    across = 1 - 0.5 * np.exp(np.minimum(low, 0)) - 0.5 * np.exp(-np.maximum(high, 0))
    return np.where(high <= 0, one_sided, across)
