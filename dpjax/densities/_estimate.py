"""Density estimates of samples that are already there, for people who want just that."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax import _validate
from dpjax._streaming import reduce_samples, stored_blocks
from dpjax.densities._bandwidth import BandwidthRule, Fixed, Silverman, as_rule, bandwidth_at
from dpjax.densities._direct import density_of_sums, kernel_sums
from dpjax.densities._frequencies import category_counts
from dpjax.densities._kernels import find_kernel
from dpjax.densities._lattice import (
    Lattice,
    lattice_counts,
    smooth_counts,
)

_DEFAULT_RULE = Silverman()


def truncated_kde(
    samples: Any,
    points: Any,
    *,
    bandwidth: BandwidthRule | str | float = _DEFAULT_RULE,
    floor: float = 0.0,
    kernel: str = "gaussian",
    method: str = "direct",
    num_cells: int = 2**15,
) -> Array:
    """Kernel density estimate of samples at given points, truncated from below at the floor (TKDE).

    Args:
        samples: Reals of shape [n] or [n, d].
        points: Reals of shape [p] or [p, d]; where to estimate.
        bandwidth: A rule, its name ("silverman", "scott", "hoelder", "cross-validated") or a number
            in units of the samples.
        floor: tau >= 0.
        kernel: "gaussian", "laplace", "epanechnikov" or "biweight".
        method: "direct" (n p kernel values), or "binned" (d = 1): one count of the samples and one
            FFT, interpolated between lattice nodes.
        num_cells: Lattice nodes of the binned method. A kernel with an edge or a kink needs more of
            them than the Gaussian: where few samples are near, its error falls as 1 / num_cells.

    Returns:
        Densities of shape [p].

    Raises:
        ValueError: Shapes disagree, there are fewer than two samples, values are not finite or (for
            a rule) constant, the method is binned with d > 1, or the lattice is too coarse for the
            bandwidth.

    References:
        Askin, Kutta, Dette (2022), Algorithm 1.
    """
    _validate.one_of(("direct", "binned"), method=method)
    _validate.non_negative(floor=floor)
    _validate.positive_int(num_cells=num_cells)
    profile = find_kernel(kernel)
    samples, points = _vectors("samples", samples), _vectors("points", points)
    num_samples, dimension = samples.shape
    if points.shape[1] != dimension:
        raise ValueError(
            f"points must have the dimension of samples, {dimension}, but had {points.shape[1]}."
        )
    if num_samples < 2:
        raise ValueError(f"samples must be at least two, but there was {num_samples}.")
    # They become float32 without their location, so that their digits are kept.
    origin = np.median(samples, axis=0)
    samples, points = (jnp.asarray(x - origin, jnp.result_type(float)) for x in (samples, points))
    rule = as_rule(bandwidth)
    if not isinstance(rule, Fixed) and np.any(np.ptp(samples, axis=0) == 0):
        raise ValueError(
            "samples must vary on every axis for a bandwidth to be found, but were constant on one:"
            " give bandwidth as a number."
        )
    width = bandwidth_at(rule, rule.spread(samples), num_samples, dimension)
    if method == "direct":
        return _direct(samples, points, width, floor, profile)
    if dimension > 1:
        raise ValueError(
            f"method 'binned' is for one dimension, but samples had {dimension}: use 'direct'."
        )
    reach = profile.radius * width
    lattice = Lattice.covering(jnp.min(points), jnp.max(points), reach, num_cells)
    if float(width) < profile.min_nodes * float(lattice.spacing):
        raise ValueError(
            f"num_cells must give {profile.min_nodes} cells per bandwidth, but {num_cells} "
            f"gave {float(width / lattice.spacing):.2g}: raise it, or use method='direct'."
        )
    return _binned(samples[:, 0], points[:, 0], lattice, width, floor, profile, num_cells)


def truncated_frequencies(samples: Any, num_categories: int, *, floor: float = 0.0) -> Array:
    """Relative frequencies of categories 0 .. num_categories - 1, truncated at the floor (TDDE).

    Args:
        samples: Integers of shape [n]; those that are no category count in n alone.
        num_categories: How many categories.
        floor: tau >= 0.

    Returns:
        Frequencies of shape [num_categories].

    Raises:
        ValueError: No samples, or samples that are not a vector.
        TypeError: Samples that are not integers.

    References:
        Askin, Kutta, Dette (2022), Algorithm 2.
    """
    _validate.positive_int(num_categories=num_categories)
    _validate.non_negative(floor=floor)
    samples = np.asarray(samples)
    if samples.dtype.kind not in "biu":
        raise TypeError(f"samples must be integers, but had dtype {samples.dtype}.")
    if samples.ndim != 1 or len(samples) == 0:
        raise ValueError(f"samples must be a vector that is not empty, but had {samples.shape}.")
    reducer = category_counts(num_categories)
    # Before they become int32, where 2^32 would be a 0.
    category = np.where((samples >= 0) & (samples < num_categories), samples, num_categories)
    counts = _reduce(jnp.asarray(category.astype(np.int32)), reducer).as_float()[:-1]
    return jnp.maximum(counts / len(samples), floor)


@partial(jax.jit, static_argnames="kernel")
def _direct(samples, points, bandwidth, floor, kernel) -> Array:
    sums = _reduce(samples, kernel_sums(points, bandwidth, kernel))
    density = density_of_sums(sums, bandwidth, kernel, *samples.shape)
    return jnp.maximum(density, floor)


@partial(jax.jit, static_argnames=("kernel", "num_nodes"))
def _binned(samples, points, lattice, bandwidth, floor, kernel, num_nodes) -> Array:
    counts = _reduce(samples, lattice_counts(lattice, num_nodes))
    density = smooth_counts(counts, lattice, bandwidth, kernel, samples.shape[0])
    at_points = jnp.interp(points, lattice.nodes(num_nodes), density)
    return jnp.maximum(at_points, floor)


def _reduce(samples: Array, reducer):
    return reduce_samples(stored_blocks(samples), reducer, samples.shape[0])


def _vectors(name: str, values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.dtype.kind not in "biuf" or array.ndim not in (1, 2) or array.size == 0:
        raise ValueError(
            f"{name} must be numbers of shape [n] or [n, d], but was {array.dtype} {array.shape}."
        )
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, but held NaN or an infinity.")
    return (array[:, None] if array.ndim == 1 else array).astype(np.float64)
