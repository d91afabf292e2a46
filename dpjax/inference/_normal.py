"""Lower confidence bounds by the normal quantile of the estimated loss.

Notation: l = ln(f / f') is the log-ratio of two density estimates from N draws a side, sigma its
standard deviation times sqrt(N) (frequencies) or sqrt(N h^d) (kernel estimates).

References:
    Askin, Kutta, Dette (2022), Theorems 2 and 3, Algorithm 4.
"""

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpjax.core import validate


def frequency_standard_error(frequencies: ArrayLike, num_confirm: int) -> NDArray[np.float64]:
    """Standard error of |ln(p / p')| for two frequencies: sqrt((1 / p + 1 / p' - 2) / N).

    Args:
        frequencies: [..., 2], in (0, 1].
        num_confirm: N draws at each side.

    Returns:
        [...], float64.

    Raises:
        TypeError: An argument is not a number, or `num_confirm` not an integer.
        ValueError: An argument is out of its range.

    References:
        Askin, Kutta, Dette (2022), Algorithm 4, discrete case.
    """
    validate.positive_int(num_confirm=num_confirm)
    validate.shares(above_0=True, frequencies=frequencies)
    return frequency_error(frequencies, num_confirm)


def frequency_error(frequencies: ArrayLike, num_confirm: int) -> NDArray[np.float64]:
    """As `frequency_standard_error`, without checks: infinite where a frequency is 0."""
    p = np.asarray(frequencies, np.float64)
    return np.sqrt(np.sum(1 / p - 1, axis=-1) / num_confirm)


def kernel_standard_error(
    densities: ArrayLike, num_confirm: int, bandwidth: ArrayLike, roughness: float, dimension: int
) -> NDArray[np.float64]:
    """Standard error of |ln(f / f')|: sqrt(R (1 / f + 1 / f') / (N h^d)), R the integral of K^2.

    It leaves out the -f^2 terms of the exact variance, so where the density is smooth it is a
    little too large (the true one is 0.93 to 0.97 of it in the paper's experiments). Where mass
    sits on a scale below h, as at an atom, it is too small; `kernel_exact_standard_error` is not.

    Args:
        densities: [..., 2], above 0.
        num_confirm: N draws at each side.
        bandwidth: h, [...].
        roughness: Integral of K^2 over R^d.
        dimension: d.

    Returns:
        [...], float64.

    Raises:
        TypeError: An argument is not a number, or `num_confirm` not an integer.
        ValueError: An argument is out of its range.

    References:
        Askin, Kutta, Dette (2022), Algorithm 4, continuous case.
    """
    validate.positive_int(num_confirm=num_confirm, dimension=dimension)
    validate.positive(
        densities=np.asarray(densities), bandwidth=np.asarray(bandwidth), roughness=roughness
    )
    return kernel_error(densities, num_confirm, bandwidth, roughness, dimension)


def kernel_error(
    densities: ArrayLike, num_confirm: int, bandwidth: ArrayLike, roughness: float, dimension: int
) -> NDArray[np.float64]:
    """As `kernel_standard_error`, without checks: infinite where a density is 0."""
    f = np.asarray(densities, np.float64)
    effective = num_confirm * np.asarray(bandwidth, np.float64) ** dimension
    return np.sqrt(roughness * np.sum(1 / f, axis=-1) / effective)


def kernel_exact_standard_error(
    mean: ArrayLike, mean_square: ArrayLike, num_confirm: int
) -> NDArray[np.float64]:
    """Standard error of |ln(f / f')| from the sample variance of the kernel values themselves.

    Args:
        mean: [..., 2], averages of k at the point, in (0, 1].
        mean_square: [..., 2], averages of k^2, likewise.
        num_confirm: N draws at each side.

    Returns:
        [...], float64.

    Raises:
        TypeError: An argument is not a number, or `num_confirm` not an integer.
        ValueError: An argument is out of its range.
    """
    validate.positive_int(num_confirm=num_confirm)
    validate.shares(above_0=True, mean=mean, mean_square=mean_square)
    return kernel_exact_error(mean, mean_square, num_confirm)


def kernel_exact_error(
    mean: ArrayLike, mean_square: ArrayLike, num_confirm: int
) -> NDArray[np.float64]:
    """As `kernel_exact_standard_error`, without checks: NaN where a mean is 0."""
    mean, mean_square = np.asarray(mean, np.float64), np.asarray(mean_square, np.float64)
    return np.sqrt(np.sum(mean_square / mean**2 - 1, axis=-1) / num_confirm)


def normal_lower_bound(
    loss: ArrayLike,
    standard_error: ArrayLike,
    confidence: float | NDArray[np.float64],
) -> NDArray[np.float64]:
    """LB = loss + Phi^-1(1 - confidence) * standard error, and at least 0.

    Args:
        loss: Estimated losses; log-ratios in a direction that was chosen without these draws.
        standard_error: Of the losses.
        confidence: Probability with which the bound is at most the true loss, asymptotically; a
            number, or one a loss.

    Returns:
        Lower bounds, float64.

    Raises:
        ValueError: The confidence is not strictly between 0 and 1.

    References:
        Askin, Kutta, Dette (2022), Algorithm 4, line 10.
    """
    validate.open_unit(confidence=confidence)
    # Not scipy.special, whose import takes longer than the whole audit computes.
    quantile = np.vectorize(NormalDist().inv_cdf)(confidence)
    bound = np.asarray(loss, np.float64) - quantile * np.asarray(standard_error)
    return np.maximum(bound, 0.0)
