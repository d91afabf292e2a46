"""Refuses the derivative that a density estimate does not have.

Samples are counted and kernel values are summed as integers, of which JAX takes every derivative to
be 0: what is left of the chain rule is a number with no meaning. So it is an error to ask for it.
"""

import jax
from jax import Array


@jax.custom_jvp
def no_derivative(value: Array) -> Array:
    """The value itself, which leaves no trace in a compiled program.

    Raises:
        TypeError: A derivative with respect to the value is taken.
    """
    return value


@no_derivative.defjvp
def _refuse(primals: tuple, tangents: tuple) -> tuple:
    raise TypeError(
        "a density estimate has no derivative: values are counted in integers; differentiate a sum "
        "of kernels of your own, or apply jax.lax.stop_gradient to what the estimate is made of."
    )
