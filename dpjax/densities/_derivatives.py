"""The error raised when a density estimate is differentiated.

A density estimate is computed in integers: it counts samples, or sums rounded kernel values. JAX
takes the derivative of an integer to be 0. Without the error, the chain rule would return a
meaningless number.
"""

import jax
from jax import Array


@jax.custom_jvp
def no_derivative(value: Array) -> Array:
    """Return the value unchanged; raise TypeError when the value is differentiated."""
    return value


@no_derivative.defjvp
def _refuse(primals: tuple, tangents: tuple) -> tuple:
    raise TypeError(
        "a density estimate has no derivative, because it is computed from integer counts: "
        "differentiate your own sum of kernels, or apply jax.lax.stop_gradient to samples, points "
        "and bandwidth."
    )
