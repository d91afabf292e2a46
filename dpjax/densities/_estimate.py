"""Density estimates for given samples, for use outside an audit."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from dpjax.core import validate
from dpjax.core.categories import category_counts
from dpjax.core.streaming import reduce_samples, stored_blocks
from dpjax.core.wording import BadType, BadValue
from dpjax.densities._bandwidth import BandwidthRule, Fixed, Silverman, as_rule, bandwidth_at
from dpjax.densities._checks import check_dimension, check_num_nodes, checked_arrays, host_vectors
from dpjax.densities._direct import as_vectors, density_of_sums, kernel_sums
from dpjax.densities._kernels import find_kernel
from dpjax.densities._lattice import Lattice, lattice_counts, smooth_counts

_DEFAULT_RULE = Silverman()

_SPREADS = (1e-9, 1e9)
"""Spreads of samples that need no unit other than 1."""

_LEAST_BINS = 2**16
"""Minimum number of bins in which the binned estimate counts samples."""


def truncated_kde(
    samples: ArrayLike | Array,
    points: ArrayLike | Array,
    *,
    bandwidth: BandwidthRule | str | float = _DEFAULT_RULE,
    floor: float = 0.0,
    kernel: str = "gaussian",
    method: str = "direct",
    num_nodes: int = 2**15,
) -> Array:
    """Compute a kernel density estimate at given points, truncated below at a floor (TKDE).

    The numerical error is absolute, not relative, even in float64.

    - With the direct method, each kernel value is rounded to a multiple of 2^-17. A density is
      within 2^-18 c_d / h^d of the exact sum, where h is the bandwidth and c_d / h^d is the height
      of a single kernel (0.4 / h for the Gaussian kernel and d = 1). If many samples at different
      distances contribute to a density, its error is far smaller.
    - With the binned method, each sample moves by up to half a bin, which is at most 1/16 of the
      distance between nodes. The docstring of `binned_density` describes additional errors due to
      the lattice.

    A density that is not far above the numerical error is noise, and may be 0. The floor should be
    above the numerical error, and densities equal to the floor should be disregarded.

    Args:
        samples: Samples, real numbers [n] or [n, d].
        points: Evaluation points, real numbers [p] or [p, d].
        bandwidth: A rule; the name of a rule ("silverman", "scott", "hoelder" or
            "cross-validated"); or a number in units of the samples.
        floor: Lower limit tau >= 0 for the densities.
        kernel: Name of the kernel: "gaussian", "laplace", "epanechnikov" or "biweight".
        method: "direct" computes n p kernel values. "binned", which requires d = 1, counts samples
            in bins, smooths the counts by an FFT, and interpolates between lattice nodes.
        num_nodes: Number of lattice nodes for the binned method. Kernels with an edge or a kink
            need more nodes than the Gaussian kernel, because the error in regions with few samples
            decreases only in proportion to 1 / num_nodes.

    Returns:
        Densities, [p].

    Raises:
        ValueError: If shapes disagree, if a value is not finite, or if there are fewer than two
            samples; if samples are constant on an axis and `bandwidth` is a rule; if d > 1 and the
            method is "binned"; or if the lattice is too coarse for the bandwidth.

    References:
        Askin, Kutta, Dette (2022), Algorithm 1.
    """
    validate.one_of(("direct", "binned"), method=method)
    validate.non_negative(floor=floor)
    validate.positive_int(num_nodes=num_nodes)
    profile = find_kernel(kernel)
    samples, points = host_vectors("samples", samples), host_vectors("points", points)
    check_dimension(samples, points)
    num_samples, dimension = samples.shape
    if num_samples < 2:
        raise BadValue(f"samples must hold at least two values, but held {num_samples}.")
    # The median is subtracted before the cast to float32, so that the cast loses fewer digits.
    origin, rule = np.median(samples, axis=0), as_rule(bandwidth)
    unit = _unit_of(samples, dimension)
    samples, points = (
        jnp.asarray((x - origin) / unit, jnp.result_type(float)) for x in (samples, points)
    )
    if isinstance(rule, Fixed):
        rule = Fixed(rule.bandwidth / unit)
        if abs(dimension * math.log10(rule.bandwidth)) > _decades():
            raise BadValue(
                "bandwidth must allow representable densities, but was "
                f"{bandwidth!r}: rescale the samples."
            )
    if not isinstance(rule, Fixed) and np.any(np.ptp(samples, axis=0) == 0):
        raise BadValue(
            "samples must vary on every axis for a bandwidth rule, but were constant on an axis: "
            "pass a number as bandwidth."
        )
    width = bandwidth_at(rule, rule.spread(samples), num_samples, dimension)
    if method == "direct":
        density = _direct(samples, points, width, kernel=kernel)
        return jnp.maximum(density / unit**dimension, floor)
    if dimension > 1:
        raise BadValue(
            f"method 'binned' is for one dimension, but samples had {dimension}: use 'direct'."
        )
    check_num_nodes(num_nodes, points, width, profile)
    density = _binned(samples[:, 0], points[:, 0], width, kernel=kernel, num_nodes=num_nodes)
    return jnp.maximum(density / unit, floor)


def _decades() -> float:
    """Return the largest |log10| of a density that JAX's default float type represents."""
    return math.log10(float(jnp.finfo(jnp.result_type(float)).max)) - 2


def _unit_of(samples: np.ndarray, dimension: int) -> float:
    """Return the unit in which samples are converted to float32: 1, or a power of 2 if necessary.

    Raises:
        ValueError: If densities leave the range of the default float type.
    """
    spread = float(np.ptp(samples, axis=0).max())
    if spread == 0 or _SPREADS[0] <= spread <= _SPREADS[1]:
        return 1.0
    unit = 2.0 ** math.floor(math.log2(spread))
    if abs(dimension * math.log10(unit)) > _decades():
        raise BadValue(
            f"samples must have representable densities, but had a spread of "
            f"{spread:.3g} in {dimension} dimension{'s' * (dimension > 1)}: rescale the samples."
        )
    return unit


def truncated_frequencies(
    samples: ArrayLike | Array, num_categories: int, *, floor: float = 0.0
) -> Array:
    """Compute relative frequencies of 0, ..., num_categories - 1, truncated at a floor (TDDE).

    Args:
        samples: Samples, integers [n]. Samples outside the categories are allowed. A frequency is a
            count divided by the total number of samples, which includes samples outside the
            categories.
        num_categories: Number of categories.
        floor: Lower limit tau >= 0 for the frequencies.

    Returns:
        Frequencies, [num_categories].

    Raises:
        ValueError: If `samples` is empty or not a vector.
        TypeError: If the samples are not integers.

    References:
        Askin, Kutta, Dette (2022), Algorithm 2.
    """
    validate.positive_int(num_categories=num_categories)
    validate.non_negative(floor=floor)
    samples = np.asarray(samples)
    if samples.dtype.kind not in "biu":
        raise BadType(f"samples must be integers, but had dtype {samples.dtype}.")
    if samples.ndim != 1 or len(samples) == 0:
        raise BadValue(f"samples must be a nonempty vector, but had shape {samples.shape}.")
    reducer = category_counts(num_categories)
    # Samples are mapped to categories before the cast to int32, which would turn 2^32 into 0.
    category = np.where((samples >= 0) & (samples < num_categories), samples, num_categories)
    counts = _reduce(jnp.asarray(category.astype(np.int32)), reducer).as_float()[:-1]
    return jnp.maximum(counts / len(samples), floor)


def direct_density(
    samples: Array, points: Array, bandwidth: Array, *, kernel: str = "gaussian"
) -> Array:
    """Compute a direct kernel density estimate, inside or outside `jit` and `vmap`.

    Kernel values are rounded to multiples of 2^-17 and summed as integers. The numerical error of a
    density is absolute, not relative, even in float64. The error is at most 2^-18 c_d / h^d, where
    h is the bandwidth and c_d / h^d is the height of a single kernel. Densities should be truncated
    at a floor far above the numerical error. Because kernel values are rounded, the estimate has no
    derivative with respect to any argument.

    Args:
        samples: Samples, float [n] or [n, d].
        points: Evaluation points, float [p] or [p, d].
        bandwidth: Bandwidth, a scalar above 0.
        kernel: Name of the kernel.

    Returns:
        Densities, [p].

    Raises:
        TypeError: If the estimate is differentiated, or if the bandwidth is not a number.
        ValueError: If shapes disagree, if an argument is empty or not finite, or if the bandwidth
            is not above 0. Traced values are not validated. A sample that is NaN or infinite adds
            nothing to the sum but is included in n, which lowers all densities.

    References:
        Askin, Kutta, Dette (2022), Algorithm 1.
    """
    profile = find_kernel(kernel)
    samples, points = map(as_vectors, checked_arrays(samples, points, bandwidth))
    sums = _reduce(samples, kernel_sums(points, bandwidth, profile))
    return density_of_sums(sums, bandwidth, profile, *samples.shape)


def binned_density(
    samples: Array,
    points: Array,
    bandwidth: Array,
    *,
    kernel: str = "gaussian",
    num_nodes: int = 2**11,
) -> Array:
    """Compute a binned kernel density estimate, inside or outside `jit` and `vmap`.

    Samples are counted in at least 2^16 bins, even if there are few lattice nodes. Additional bins
    cost almost nothing, whereas the cost of the FFT grows with the number of nodes.

    The error of a density is absolute, not relative, even in float64, and has three parts:

    - Binning moves each sample by up to half the width b of a bin. For the Gaussian kernel with
      bandwidth h, binning changes a density by up to 0.3 b / h times the height of a single kernel,
      which is 0.4 / h. If there are many samples, the change is far smaller.
    - Splitting counts between nodes changes the kernel of a single sample by up to
      (spacing / h)^2 / 40 times its height.
    - The FFT in float32 adds an error of up to about 2^-23 times the largest density, even in
      places without samples.

    Densities should be truncated at a floor far above the sum of the three errors. The estimate has
    no derivative with respect to any argument because it is computed from counts.

    Args:
        samples: Samples, float [n] or [n, 1].
        points: Evaluation points, float [p] or [p, 1]; the lattice covers all points, and extends
            beyond them by the kernel's reach.
        bandwidth: Bandwidth, a scalar above 0 and at least `Kernel.min_nodes` times the distance
            between nodes.
        kernel: Name of the kernel.
        num_nodes: Number of lattice nodes.

    Returns:
        Densities >= 0, [p], interpolated between nodes by cubics.

    Raises:
        TypeError: If the estimate is differentiated, or if the bandwidth is not a number.
        ValueError: If an argument is not one-dimensional, is empty or is not finite, if the
            bandwidth is not above 0, or if there are too few nodes for the bandwidth. Traced values
            are not validated. A sample that is NaN or infinite is not counted but is included in n,
            which lowers all densities. A lattice that is too coarse smooths densities too much.

    References:
        Askin, Kutta, Dette (2022), Algorithm 1.
    """
    validate.positive_int(num_nodes=num_nodes)
    profile = find_kernel(kernel)
    arrays = checked_arrays(samples, points, bandwidth)
    if arrays[0].ndim == 2 and arrays[0].shape[1] > 1:
        raise BadValue(
            f"samples must have one dimension, but had {arrays[0].shape[1]}: use direct_density "
            "instead."
        )
    check_num_nodes(num_nodes, points, bandwidth, profile)
    samples, points = (x if x.ndim == 1 else x[:, 0] for x in arrays)
    reach = profile.radius * bandwidth
    lattice = Lattice.covering(jnp.min(points), jnp.max(points), reach, num_nodes)
    fine = max(_LEAST_BINS // num_nodes, 8)
    counts = _reduce(samples, lattice_counts(lattice, num_nodes, fine))
    density = smooth_counts(counts, lattice, bandwidth, profile, samples.shape[0], fine)
    return jnp.maximum(lattice.interpolate(density, points), 0)


_direct = jax.jit(direct_density, static_argnames="kernel")
_binned = jax.jit(binned_density, static_argnames=("kernel", "num_nodes"))


def _reduce(samples: Array, reducer):
    return reduce_samples(stored_blocks(samples), reducer, samples.shape[0])
