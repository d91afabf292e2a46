"""A function that raises an error if a density estimate is differentiated.

Density estimates are computed from integers: counts of samples, or sums of rounded kernel values.
JAX treats the derivative of an integer as 0. If no error were raised, the chain rule would give a
meaningless number.
"""

import jax
from jax import Array


@jax.custom_jvp
def no_derivative(value: Array) -> Array:
    """Return the value unchanged; differentiation raises TypeError."""
    return value


@no_derivative.defjvp
def _refuse(primals: tuple, tangents: tuple) -> tuple:
    raise TypeError(
        "a density estimate has no derivative because it is computed from integer counts: "
        "differentiate your own sum of kernels, or apply jax.lax.stop_gradient to samples, points "
        "and bandwidth."
    )
