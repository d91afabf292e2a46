"""Penalty for noise in the search for the largest privacy loss.

An estimated privacy loss tends to be largest where densities are small, so that noise is large and
the bound is small. The objective "lower-bound" therefore subtracts a multiple of both stages'
standard errors from the privacy loss. The bound is valid for every objective, because it rests only
on the fresh draws of the confirm stage.
"""

from collections.abc import Sequence

import jax.numpy as jnp
from jax import Array

from dpjax.densities import bandwidth_at, find_kernel
from dpjax.methods.local._options import LocalOptions

_OUTCOME_WEIGHT, _KERNEL_WEIGHT = 0.5, 2.5
"""Numbers of standard errors of each stage that the objective "lower-bound" subtracts from the
privacy loss: _OUTCOME_WEIGHT for outcomes, and _KERNEL_WEIGHT for kernel estimates.

Both numbers were tuned on the experiments of Askin, Kutta, Dette (2022).
"""


def outcome_penalty(
    densities: Array, floor: Array | float, settings: LocalOptions
) -> Array | float:
    """Return the penalty of frequencies [2, outcomes], a multiple of standard errors.

    A stage of n draws has the standard error sqrt((1 / p + 1 / p' - 2) / n).
    """
    draws = (settings.num_samples, settings.num_confirm)
    return _OUTCOME_WEIGHT * _standard_errors(densities, floor, settings, 2.0, draws)


def kernel_penalty(
    densities: Array, floor: Array | float, spread: Array, settings: LocalOptions, dimension: int
) -> Array | float:
    """Return the penalty of densities [2, points], a multiple of standard errors.

    A stage of n draws has the standard error sqrt(R (1 / f + 1 / f') / (n h^d)) with the kernel's
    roughness R.

    Args:
        densities: Density estimates of the search stage, [2, points].
        floor: tau, to which smaller densities are raised.
        spread: [2], spread of the outputs at each side, according to the bandwidth rule.
        settings: Options of the local method, of which the sizes, the kernel and the bandwidth rule
            are used.
        dimension: Dimension d of the outputs.
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
    """Return the bandwidth of the confirm stage, from the spreads [2] of the search stage."""
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
    """Return the sum of both stages' standard errors, or 0 for the objective "loss"."""
    if settings.objective == "loss":
        return 0.0
    truncated = jnp.maximum(densities, floor)
    # Clip at 0, since a floor above 1 would make the variance negative.
    unit = jnp.sqrt(jnp.maximum(jnp.sum(1 / truncated, axis=0) - excess, 0))
    return unit * sum(1 / jnp.sqrt(size) for size in draws)
