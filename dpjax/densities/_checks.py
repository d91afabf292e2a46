"""What a density estimate refuses: shapes always, numbers wherever there are some to look at."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import validate
from dpjax.core.wording import BadType, BadValue
from dpjax.densities._kernels import Kernel


def host_vectors(name: str, values: Any) -> np.ndarray:
    """Finite numbers of shape [n] or [n, d], as float64 [n, d].

    Raises:
        ValueError: They are something else.
    """
    array = np.asarray(values)
    _check_shape(name, array)
    _check_finite(name, array)
    return (array[:, None] if array.ndim == 1 else array).astype(np.float64)


def checked_arrays(samples: Any, points: Any, bandwidth: Any) -> tuple[Array, Array]:
    """Samples and points as arrays, where they and the bandwidth make sense together.

    Args:
        samples: [n] or [n, d]; values that are traced are not looked at.
        points: [p] or [p, d]; likewise.
        bandwidth: Scalar; likewise.

    Returns:
        Both, in the shapes that they had.

    Raises:
        TypeError: The bandwidth is not a number.
        ValueError: Shapes disagree, something is empty, or values are not finite.
    """
    if bandwidth is None:
        raise BadType("bandwidth must be a number > 0, but was None.")
    validate.positive(bandwidth=bandwidth)
    if np.ndim(bandwidth) != 0:
        raise BadValue(
            f"bandwidth must be one number, but had the shape {np.shape(bandwidth)}: use jax.vmap."
        )
    found = []
    for name, values in (("samples", samples), ("points", points)):
        if validate.is_traced(values) and values is not None:
            _check_shape(name, values)
        else:
            # On the host: a check on the device would be a program of its own.
            host = np.asarray(values)
            _check_shape(name, host)
            _check_finite(name, host)
        found.append(jnp.asarray(values))
    check_dimension(*found)
    return found[0], found[1]


def check_dimension(samples: Any, points: Any) -> None:
    """Samples [n, d] and points [p, d] have the same d, which is 1 where there is no such axis.

    Raises:
        ValueError: They have not.
    """
    wanted, dimension = (x.shape[1] if x.ndim == 2 else 1 for x in (samples, points))
    if dimension != wanted:
        raise ValueError(
            f"points must have the dimension of samples, {wanted}, but had {dimension}."
        )


def check_num_nodes(num_nodes: int, points: Any, bandwidth: Any, kernel: Kernel) -> None:
    """A lattice over the points has the nodes per bandwidth that the kernel needs.

    Args:
        num_nodes: Of the lattice.
        points: [p] or [p, 1]; nothing is checked where they or the bandwidth are traced.
        bandwidth: Scalar.
        kernel: Says how many nodes a bandwidth needs, and how far it reaches.

    Raises:
        ValueError: The lattice is too coarse; the message says how many nodes are enough.
    """
    if validate.is_traced(points) or validate.is_traced(bandwidth):
        return
    bandwidths = float(np.ptp(np.asarray(points, np.float64))) / float(bandwidth)
    bandwidths += 2 * kernel.radius
    if num_nodes < kernel.min_nodes * bandwidths:
        raise BadValue(
            f"num_nodes must give {kernel.min_nodes} nodes per bandwidth, but {num_nodes} gave "
            f"{num_nodes / bandwidths:.2g}: {np.ceil(kernel.min_nodes * bandwidths):.0f} are "
            "enough, and the direct estimate needs none."
        )


def _check_shape(name: str, array: Any) -> None:
    real = jnp.isdtype(array.dtype, ("bool", "integral", "real floating"))
    if not real or array.ndim not in (1, 2) or array.size == 0:
        raise ValueError(
            f"{name} must be numbers of shape [n] or [n, d], but was {array.dtype} {array.shape}."
        )


def _check_finite(name: str, array: np.ndarray) -> None:
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, but held NaN or an infinity.")
