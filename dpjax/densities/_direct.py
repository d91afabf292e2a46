"""Direct kernel density estimate: the kernel of every sample is evaluated at every point.

References:
    Askin, Kutta, Dette (2022), Algorithm 1.
"""

import operator
from collections.abc import Iterable
from functools import reduce

import jax.numpy as jnp
from jax import Array

from dpjax.core.numerics import FIXED_POINT, WideCount, to_fixed_point
from dpjax.core.streaming import Reducer
from dpjax.densities._derivatives import no_derivative
from dpjax.densities._kernels import Kernel


def as_vectors(samples: Array) -> Array:
    """Convert samples [block] to shape [block, 1]; return samples [block, d] unchanged."""
    return samples[:, None] if samples.ndim == 1 else samples


def kernel_values(samples: Array, point: Array, bandwidth: Array, kernel: Kernel) -> Array:
    """Return the kernel's profile k(|(point - sample) / bandwidth|) at each sample.

    Args:
        samples: Samples, [block] or [block, d].
        point: Evaluation point, [d].
        bandwidth: Scalar, or one bandwidth per axis, [d].
        kernel: Kernel whose profile is evaluated.

    Returns:
        Values of the profile in [0, 1], [block].
    """
    # The last bits of the result must not depend on the layout of runs. In some layouts only, XLA
    # replaces a division with a multiplication by the reciprocal, so the code itself multiplies by
    # the reciprocal.
    inverse = jnp.broadcast_to(1 / bandwidth, point.shape)
    scaled = (as_vectors(samples) - point[None, :]) * inverse[None, :]
    return kernel.profile(_sum_of_squares(scaled[:, axis] for axis in range(scaled.shape[1])))


def kernel_sums(points: Array, bandwidth: Array, kernel: Kernel) -> Reducer:
    """Return a reducer that sums values of the kernel's profile at every point.

    The values are rounded to fixed-point numbers, so that the sums are exact.

    Args:
        points: Evaluation points, [points, d].
        bandwidth: Scalar, or one bandwidth per axis, [d].
        kernel: The kernel.

    Returns:
        A reducer whose carry is a `WideCount` of shape [points], in units of 1 / `FIXED_POINT`.
        Differentiation of the reducer raises TypeError.
    """
    points = no_derivative(points)
    bandwidths = jnp.broadcast_to(no_derivative(bandwidth), points.shape[1:])

    def init() -> WideCount:
        return WideCount.zeros((points.shape[0],))

    def update(sums: WideCount, samples: Array, valid: Array) -> WideCount:
        samples = as_vectors(no_derivative(samples))
        distance2 = _sum_of_squares(
            (points[:, axis, None] - samples[None, :, axis]) / bandwidths[axis]
            for axis in range(points.shape[1])
        )
        # Padding must not be counted. It may be NaN.
        values = jnp.where(valid[None, :], to_fixed_point(kernel.profile(distance2)), 0)
        return sums.add(jnp.sum(values, axis=1, dtype=jnp.int32))

    return Reducer(init, update)


def density_of_sums(
    sums: WideCount, bandwidth: Array, kernel: Kernel, num_samples: int, dimension: int
) -> Array:
    """Convert sums of kernel values to density estimates.

    Args:
        sums: Final carry of the reducer that `kernel_sums` returns.
        bandwidth: Geometric mean of the bandwidths used for the sums, a scalar.
        kernel: Kernel used for the sums.
        num_samples: Number of streamed samples.
        dimension: Dimension d of the samples.

    Returns:
        Densities, [points].
    """
    scale = kernel.norm(dimension) / (num_samples * bandwidth**dimension)
    return sums.as_float() * (scale / FIXED_POINT)


def _sum_of_squares(axes: Iterable[Array]) -> Array:
    return reduce(operator.add, (axis**2 for axis in axes))
