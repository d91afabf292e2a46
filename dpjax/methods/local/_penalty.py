"""What noise will take off a loss: the search stage's preference for outputs that can be confirmed.

The plain maximum of an estimated loss sits where noise is large, that is where densities are small,
and there the confirm stage can show little. The objective "lower-bound" takes a number of standard
errors of both stages off the loss before it is maximised. Whatever the search prefers, the bound is
valid, for it rests on the confirm stage's fresh draws alone.
"""

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
from jax import Array

from dpjax.densities import bandwidth_at, find_kernel
from dpjax.methods.local._options import LocalOptions

_OUTCOME_WEIGHT, _KERNEL_WEIGHT = 0.5, 2.5
"""Standard errors of each stage that are taken off.

Measured on the paper's experiments: larger for kernel estimates, where noise has a continuum of
points to peak at; smaller for outcomes, where the best one is often a rare one.
"""


def outcome_penalty(densities: Array, floor: Any, settings: LocalOptions) -> Array | float:
    """For frequencies [2, outcomes]: standard errors sqrt((1 / p + 1 / p' - 2) / size)."""
    draws = (settings.num_samples, settings.num_confirm)
    return _OUTCOME_WEIGHT * _standard_errors(densities, floor, settings, 2.0, draws)


def kernel_penalty(
    densities: Array, floor: Any, spread: Array, settings: LocalOptions, dimension: int
) -> Array | float:
    """For densities [2, points]: standard errors sqrt(R (1 / f + 1 / f') / (size h^d)).

    Args:
        densities: Estimates of the search stage.
        floor: tau.
        spread: [2] of the bandwidth rule.
        settings: Sizes, kernel and rule.
        dimension: d.
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
    """The one bandwidth of both sides in the confirm stage, from the spreads [2] of the search."""
    return bandwidth_at(
        settings.bandwidth,
        jnp.mean(spread),
        settings.num_confirm,
        dimension,
        settings.confirm_undersmoothing,
    )


def _standard_errors(
    densities: Array, floor: Any, settings: LocalOptions, excess: float, draws: Sequence
) -> Array | float:
    """The sum of both stages' standard errors, or 0 for the paper's objective."""
    if settings.objective == "loss":
        return 0.0
    truncated = jnp.maximum(densities, floor)
    # A floor above 1 would make frequencies that leave no variance at all.
    unit = jnp.sqrt(jnp.maximum(jnp.sum(1 / truncated, axis=0) - excess, 0))
    return unit * sum(1 / jnp.sqrt(size) for size in draws)
