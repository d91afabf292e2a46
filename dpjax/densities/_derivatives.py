"""Errors on differentiation of density estimates.

Samples are counted and kernel values are summed as integers. JAX treats derivatives of integers as
0, so the chain rule would give a meaningless number. Differentiation is therefore an error.
"""

import jax
from jax import Array


@jax.custom_jvp
def no_derivative(value: Array) -> Array:
    """Return the value, at no cost in compiled programs; differentiation raises TypeError."""
    return value


@no_derivative.defjvp
def _refuse(primals: tuple, tangents: tuple) -> tuple:
    raise TypeError(
        "a density estimate has no derivative: values are counted in integers; differentiate a sum "
        "of kernels of your own, or apply jax.lax.stop_gradient to what the estimate is made of."
    )
