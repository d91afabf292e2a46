"""Privacy loss between two density estimates, and the largest privacy loss.

References:
    Askin, Kutta, Dette (2022), section II (loss) and Algorithm 3.
"""

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core import validate


def privacy_loss(density: Array, neighbor_density: Array, floor: Array | float = 0.0) -> Array:
    """Return |ln f_x - ln f_x'|, computed after densities below the floor are raised to the floor.

    If both densities are 0 and the floor is 0, the loss is 0.

    If a density f is above the floor, the derivative of the loss with respect to f is +1 / f or -1
    / f. The derivative is 0 if the density is below the floor or if the loss is 0. At f = 0, the
    derivative is -infinity if the other density is positive.

    Args:
        density: f_x >= 0, an array of any shape.
        neighbor_density: f_x' >= 0, an array with the shape of `density`.
        floor: tau >= 0, the floor of densities.

    Returns:
        Losses >= 0. A loss is infinite if the floor is 0 and exactly one of the two densities is 0.

    Raises:
        TypeError: If the floor is not a number.
        ValueError: If the floor is negative or not finite.
    """
    validate.non_negative(floor=floor)
    return _loss(density, neighbor_density, floor)


@jax.jit
def _loss(density: Array, neighbor_density: Array, floor: Array | float) -> Array:
    first, second = jnp.maximum(density, floor), jnp.maximum(neighbor_density, floor)
    both_zero = (first == 0) & (second == 0)
    # Mask both the argument and the result. JAX also differentiates the branch that `where` does
    # not select. In that branch, 0 times the infinite derivative of ln at 0 would be NaN.
    first, second = (jnp.where(both_zero, 1.0, density) for density in (first, second))
    return jnp.where(both_zero, 0.0, jnp.abs(jnp.log(first) - jnp.log(second)))


def largest_loss(
    density: Array,
    neighbor_density: Array,
    floor: Array | float,
    allowed: Array,
    penalty: Array | float = 0.0,
) -> tuple[Array, Array, Array]:
    """Find the allowed point with the largest loss minus penalty.

    Args:
        density: Float [points], densities under the database.
        neighbor_density: Float [points], densities under the neighbor.
        floor: tau, the floor of densities.
        allowed: bool [points], whether each point may be chosen.
        penalty: Float [points] or a scalar, penalty that is subtracted from the loss.

    Returns:
        Index of the first maximum, the loss at this index, and the loss minus the penalty at this
        index.
    """
    loss = privacy_loss(density, neighbor_density, floor)
    score = jnp.where(allowed, loss - penalty, -jnp.inf)
    index = _first_maximum(score)
    return index, loss[index], score[index]


def _first_maximum(score: Array) -> Array:
    """Return `jnp.argmax(score)`, even for NaN scores, using operations that are fast on CPUs."""
    best = (score == jnp.max(score)) | jnp.isnan(score)
    places = jnp.arange(score.shape[0], dtype=jnp.int32)
    return jnp.min(jnp.where(best, places, score.shape[0] - 1))
