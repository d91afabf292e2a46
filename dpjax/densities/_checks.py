"""Validation of arguments of density estimates.

Shapes are always validated. Values are validated only if JAX does not trace them.
"""

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from dpjax.core import validate
from dpjax.core.wording import BadType, BadValue
from dpjax.densities._kernels import Kernel


def host_vectors(name: str, values: ArrayLike | Array) -> np.ndarray:
    """Convert finite numbers of shape [n] or [n, d] to float64 [n, d].

    Raises:
        ValueError: If the shape is neither [n] nor [n, d], or if a value is not finite.
    """
    array = np.asarray(values)
    _check_shape(name, array)
    _check_finite(name, array)
    return (array[:, None] if array.ndim == 1 else array).astype(np.float64)


def checked_arrays(
    samples: ArrayLike | Array, points: ArrayLike | Array, bandwidth: ArrayLike | Array
) -> tuple[Array, Array]:
    """Validate samples and points, and convert them to JAX arrays without changing their shapes.

    Args:
        samples: Samples, [n] or [n, d].
        points: Evaluation points, [p] or [p, d].
        bandwidth: Bandwidth, a scalar.

    Raises:
        TypeError: If the bandwidth is not a number.
        ValueError: If shapes disagree, if an array is empty, or if values are not finite.
    """
    if bandwidth is None:
        raise BadType("bandwidth must be a number > 0, but was None.")
    validate.positive(bandwidth=bandwidth)
    if np.ndim(bandwidth) != 0:
        raise BadValue(
            f"bandwidth must be one number, but had the shape {np.shape(bandwidth)}: use "
            "jax.vmap to try multiple bandwidths."
        )
    found = []
    for name, values in (("samples", samples), ("points", points)):
        if isinstance(values, Array) and validate.is_traced(values):
            _check_shape(name, values)
        else:
            # The check runs on the host because a check on the device would have to be compiled.
            host = np.asarray(values)
            _check_shape(name, host)
            _check_finite(name, host)
        found.append(jnp.asarray(values))
    check_dimension(*found)
    return found[0], found[1]


def check_dimension(samples: Array | np.ndarray, points: Array | np.ndarray) -> None:
    """Raise ValueError if samples and points differ in dimension; arrays [n] have dimension 1."""
    wanted, dimension = (x.shape[1] if x.ndim == 2 else 1 for x in (samples, points))
    if dimension != wanted:
        raise ValueError(
            f"points must have the same dimension as samples, {wanted}, but had {dimension}."
        )


def check_num_nodes(
    num_nodes: int, points: ArrayLike | Array, bandwidth: ArrayLike | Array, kernel: Kernel
) -> None:
    """Raise ValueError if a lattice over the points is too coarse for the kernel and the bandwidth.

    Points have shape [p] or [p, 1]. If the points or the bandwidth are traced, nothing is checked.
    The error message states a sufficient number of nodes.
    """
    if validate.is_traced(points) or validate.is_traced(bandwidth):
        return
    bandwidths = float(np.ptp(np.asarray(points, np.float64))) / np.asarray(bandwidth).item()
    bandwidths += 2 * kernel.radius
    if num_nodes < kernel.min_nodes * bandwidths:
        raise BadValue(
            f"num_nodes must be at least {np.ceil(kernel.min_nodes * bandwidths):.0f}, to give "
            f"{kernel.min_nodes} nodes per bandwidth, but was {num_nodes} "
            f"({num_nodes / bandwidths:.2g} per bandwidth); the direct estimate needs no nodes."
        )


def _check_shape(name: str, array: Array | np.ndarray) -> None:
    real = jnp.isdtype(array.dtype, ("bool", "integral", "real floating"))
    if not real or array.ndim not in (1, 2) or array.size == 0:
        raise ValueError(
            f"{name} must be numbers of shape [n] or [n, d], but was {array.dtype} {array.shape}."
        )


def _check_finite(name: str, array: np.ndarray) -> None:
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, but held NaN or an infinity.")
