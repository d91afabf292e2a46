"""Penalty for noise in the search for the largest privacy loss.

Estimates of the privacy loss tend to be largest at outputs with small densities. At such outputs,
however, the estimates are noisy, and the bounds are small. Therefore, the objective "lower-bound"
subtracts a multiple of the standard errors of both stages from the privacy loss. The bound is valid
for every objective because the bound depends only on the fresh draws of the confirmation stage.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jax import Array

from dpjax.densities import bandwidth_at, find_kernel
from dpjax.methods.local._options import LocalOptions

_OUTCOME_WEIGHT, _KERNEL_WEIGHT = 0.5, 2.5
"""Numbers by which standard errors are multiplied in the objective "lower-bound".

_OUTCOME_WEIGHT applies to outcomes of a finite space, and _KERNEL_WEIGHT applies to kernel density
estimates. Both numbers were tuned on the experiments of Askin, Kutta, Dette (2022).
"""


def outcome_penalty(
    densities: Array, floor: Array | float, settings: LocalOptions
) -> Array | float:
    """Return each outcome's penalty, a multiple of the sum of the standard errors of both stages.

    In a stage with n draws, the privacy loss of an outcome with frequencies p and p' has the
    standard error sqrt((1 / p + 1 / p' - 2) / n).

    Args:
        densities: Float [2, outcomes], frequencies in the search stage.
        floor: tau, the floor of densities.
        settings: Options of the local method. The function uses the sizes and the objective.
    """
    draws = (settings.num_samples, settings.num_confirm)
    return _OUTCOME_WEIGHT * _standard_errors(densities, floor, settings, 2.0, draws)


def kernel_penalty(
    densities: Array, floor: Array | float, spread: Array, settings: LocalOptions, dimension: int
) -> Array | float:
    """Return each point's penalty, a multiple of the sum of the standard errors of both stages.

    In a stage with n draws and bandwidth h, the privacy loss at a point with densities f and f' has
    the standard error sqrt(R (1 / f + 1 / f') / (n h^d)), where R is the kernel's roughness.

    Args:
        densities: Float [2, points], density estimates of the search stage.
        floor: tau, the floor of densities.
        spread: Float [2], spread of the outputs on each side, according to the bandwidth rule.
        settings: Options of the local method. The function uses the sizes, the objective, the
            kernel and the bandwidth rule.
        dimension: d, the dimension of the outputs.
    """
    roughness = find_kernel(settings.kernel).roughness(dimension)
    search = bandwidth_at(settings.bandwidth, jnp.mean(spread), settings.num_samples, dimension)
    confirm = confirm_bandwidth(spread, settings, dimension)
    draws = [
        size * bandwidth**dimension / roughness
        for size, bandwidth in ((settings.num_samples, search), (settings.num_confirm, confirm))
    ]
    return _KERNEL_WEIGHT * _standard_errors(densities, floor, settings, 0.0, draws)


def confirm_bandwidth(spread: Array, settings: LocalOptions, dimension: int) -> Array:
    """Return the bandwidth of the confirmation stage.

    Args:
        spread: Float [2], spread of the outputs on each side, measured in the search stage.
        settings: Options of the local method.
        dimension: d, the dimension of the outputs.
    """
    return bandwidth_at(
        settings.bandwidth,
        jnp.mean(spread),
        settings.num_confirm,
        dimension,
        settings.confirm_undersmoothing,
    )


def _standard_errors(
    densities: Array, floor: Array | float, settings: LocalOptions, excess: float, draws: Sequence
) -> Array | float:
    """Return the sum of the standard errors of both stages, or 0 for the objective "loss"."""
    if settings.objective == "loss":
        return 0.0
    truncated = jnp.maximum(densities, floor)
    # Clip at 0 because a floor above 1 would make the variance negative.
    unit = jnp.sqrt(jnp.maximum(jnp.sum(1 / truncated, axis=0) - excess, 0))
    return unit * sum(1 / jnp.sqrt(size) for size in draws)
