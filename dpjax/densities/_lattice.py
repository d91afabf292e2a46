"""Binned kernel density estimate: count samples on a lattice, and smooth the counts by an FFT.

Samples are counted in bins that are much finer than the lattice. Each bin's count is split linearly
between the two nearest nodes, and the weights of the nodes are convolved with the kernel. The split
has the same effect as additional smoothing with a triangular kernel whose half-width is the node
spacing. If the spectrum of the kernel has a closed form, this spectrum is divided by the spectrum
of the triangular kernel. The division undoes the additional smoothing, so that few nodes per
bandwidth are enough. The remaining error at the nodes is aliasing. Its relative size is (spacing /
bandwidth)^2 / 40 for a single sample, and far less for many samples. For kernels whose spectrum has
no closed form, the error is of first order in spacing / bandwidth wherever a sample's kernel has a
kink or an edge. The estimate is rejected if there are fewer nodes per bandwidth than the kernel
needs (`Kernel.min_nodes`).

References:
    Askin, Kutta, Dette (2022), Algorithm 1; Silverman (1982) and Wand (1994), for binning;
    Greengard, Lee (2004), "Accelerating the nonuniform fast Fourier transform", for the division by
    the transform of the spreading function (a Gaussian in the paper, a triangle in this module).
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core.streaming import Reducer
from dpjax.densities._derivatives import no_derivative
from dpjax.densities._kernels import Kernel

_FINE = 16
"""Default number of bins per lattice node."""

MAX_NODES = 2**18
"""Maximum number of lattice nodes."""


def finer(num_nodes: int, nodes_per_bandwidth: float, kernel: Kernel) -> int:
    """Double the number of lattice nodes until there are enough nodes for the kernel.

    Args:
        num_nodes: Number of nodes in a lattice that is too coarse.
        nodes_per_bandwidth: Number of nodes per bandwidth in the coarse lattice, above 0.
        kernel: The kernel.

    Returns:
        The smallest tried number of nodes that suffices, or a number above `MAX_NODES` if
        `MAX_NODES` nodes are too few.
    """
    wanted = 2 * num_nodes
    while wanted <= MAX_NODES and wanted * nodes_per_bandwidth < num_nodes * kernel.min_nodes:
        wanted *= 2
    return wanted


class Lattice(NamedTuple):
    """Equally spaced nodes that cover an interval extended on both sides by the kernel's reach.

    Attributes:
        start: Position of node 0, a scalar.
        spacing: Distance between nodes, a scalar.
    """

    start: Array
    spacing: Array

    @classmethod
    def covering(cls, low: Array, high: Array, reach: Array, num_nodes: int) -> "Lattice":
        """Return the lattice for densities on [low, high], extended by `reach` on both sides."""
        return cls(low - reach, (high - low + 2 * reach) / num_nodes)

    def nodes(self, num_nodes: int) -> Array:
        """Return the positions of the nodes, [num_nodes]."""
        return self.start + self.spacing * jnp.arange(
            num_nodes, dtype=jnp.result_type(self.spacing)
        )

    def interpolate(self, values: Array, points: Array) -> Array:
        """Interpolate between nodes by cubics through four adjacent nodes.

        Args:
            values: Values at the nodes, [nodes].
            points: Points between the second and the second-to-last node, [points].

        Returns:
            Interpolated values, [points].
        """
        place = (points - self.start) / self.spacing
        left = place.astype(jnp.int32)
        s = place - left.astype(place.dtype)
        inner = (s + 1) * (s - 2) / 2
        outer = s * (s - 1) / 6
        return inner * ((s - 1) * values[left] - s * values[left + 1]) + outer * (
            (s + 1) * values[left + 2] - (s - 2) * values[left - 1]
        )


def lattice_counts(lattice: Lattice, num_nodes: int, fine: int = _FINE) -> Reducer:
    """Return a reducer that counts real samples in the fine bins of a lattice.

    The carry is int32 [num_nodes * fine + 1]. The carry's last entry counts samples outside the
    lattice and the padding of the last block, and should be ignored. Differentiation of the reducer
    raises TypeError.

    Args:
        lattice: The lattice.
        num_nodes: Number of nodes in the lattice.
        fine: Number of bins per node.
    """
    num_bins = num_nodes * fine
    start, spacing = no_derivative(lattice.start), no_derivative(lattice.spacing)

    def init() -> Array:
        return jnp.zeros(num_bins + 1, jnp.int32)

    def update(counts: Array, samples: Array, valid: Array) -> Array:
        place = (no_derivative(samples) - start) * (fine / spacing)
        inside = valid & (place >= 0) & (place < num_bins)
        # A cast from float to uint32 is not vectorized, so the cast goes through int32. For
        # unsigned indices, JAX omits the check for negative indices.
        bins = jnp.where(inside, place, num_bins).astype(jnp.int32).astype(jnp.uint32)
        return counts.at[bins].add(1, mode="promise_in_bounds")

    return Reducer(init, update, reads_once=True)


def smooth_counts(
    counts: Array,
    lattice: Lattice,
    bandwidth: Array,
    kernel: Kernel,
    num_samples: int,
    fine: int,
) -> Array:
    """Convert counts in bins to a density estimate at the nodes of a lattice.

    The convolution is circular, so the estimate is correct only at nodes whose distance from both
    ends is at least the kernel's reach. On a lattice made by `Lattice.covering`, the estimate is
    correct at all nodes in [low, high].

    Args:
        counts: Final carry of the reducer from `lattice_counts`, integers [bins + 1].
        lattice: Lattice on which the samples were counted.
        bandwidth: Bandwidth, a scalar.
        kernel: The kernel.
        num_samples: Number of streamed samples, including samples outside the lattice.
        fine: Number of bins per lattice node.

    Returns:
        Densities >= 0 at the nodes, [nodes].
    """
    weights = _weights(counts, fine, num_samples)
    transform = _transform(kernel, bandwidth, lattice.spacing, weights.shape[0])
    total = jnp.fft.irfft(_scaled(jnp.fft.rfft(weights), transform), weights.shape[0])
    return jnp.maximum(total, 0) * (1 / num_samples)


def smooth_both(
    counts: Array,
    lattice: Lattice,
    bandwidths: Array,
    kernel: Kernel,
    num_samples: int,
    fine: int = _FINE,
) -> Array:
    """Apply `smooth_counts` to two samples, each with its own bandwidth, in one complex FFT.

    Let w and v be the node weights of the two samples, and let Z be the spectrum of z = w + iv. The
    spectra of w and v are (Z(k) + Z*(-k)) / 2 and (Z(k) - Z*(-k)) / 2i. If the kernels have the
    transforms T and U, the smoothed z has the spectrum Z(k) (T + U) / 2 + Z*(-k) (T - U) / 2. The
    two densities are the real and imaginary parts of the smoothed z.

    Args:
        counts: Final carries of the reducers from `lattice_counts`, integers [2, bins + 1].
        lattice: Lattice on which both samples were counted.
        bandwidths: Bandwidth for each sample, [2].
        kernel: The kernel.
        num_samples: Number of streamed samples on each side, including those outside the lattice.
        fine: Number of bins per lattice node.

    Returns:
        Densities >= 0 at the nodes, [2, nodes].
    """
    weights = [_weights(side, fine, num_samples) for side in counts]
    num_nodes = weights[0].shape[0]
    first, second = (
        _transform(kernel, bandwidth, lattice.spacing, num_nodes) for bandwidth in bandwidths
    )
    mirror = slice((num_nodes - 1) // 2, 0, -1)
    mean, half = (
        jnp.concatenate([part, part[mirror]]) * 0.5 for part in (first + second, first - second)
    )
    spectrum = jnp.fft.fft(jax.lax.complex(*weights))
    mirrored = jnp.conj(jnp.roll(spectrum[::-1], 1))
    smoothed = jnp.fft.ifft(_scaled(spectrum, mean) + _scaled(mirrored, half))
    return jnp.maximum(jnp.stack([smoothed.real, smoothed.imag]), 0) * (1 / num_samples)


def _weights(counts: Array, fine: int, num_samples: int) -> Array:
    """Return the weights of the nodes, [nodes]; each bin's count is split between two nodes."""
    # Sums of integers are exact and, on a CPU, faster than products of floats (four times faster
    # for 4 bins per node). Floats are used only if there are so many samples that integer sums
    # could overflow.
    exact = 2 * fine * num_samples < 2**31
    kind = jnp.int32 if exact else jnp.result_type(float)
    bins = counts[:-1].reshape(-1, fine).astype(kind)
    places = 2 * jnp.arange(fine, dtype=kind) + 1
    right = jnp.sum(bins * places[None, :], axis=1).astype(float) * (1 / (2 * fine))
    return jnp.sum(bins, axis=1).astype(float) - right + jnp.roll(right, 1)


def _transform(kernel: Kernel, bandwidth: Array, spacing: Array, num_nodes: int) -> Array:
    """Return the discrete Fourier transform of the kernel on the lattice, [num_nodes // 2 + 1].

    The kernel K(x / h) / h is continued periodically. The last bits of the result must not depend
    on the layout of runs. In some layouts only, XLA replaces a division with a multiplication by
    the reciprocal. Therefore, the code contains such multiplications instead of divisions.
    """
    if kernel.spectrum is not None:
        # The closed form saves one FFT.
        per_step = (2 * math.pi / num_nodes) * (bandwidth * (1 / spacing))
        frequency = jnp.arange(num_nodes // 2 + 1, dtype=per_step.dtype) * per_step
        triangle = np.sinc(np.arange(num_nodes // 2 + 1) / num_nodes) ** 2
        return kernel.spectrum(frequency**2) * jnp.asarray(1 / triangle, float) * (1 / spacing)
    steps = jnp.arange(num_nodes, dtype=spacing.dtype)
    distance = jnp.minimum(steps, num_nodes - steps) * spacing
    profile = kernel.profile((distance * (1 / bandwidth)) ** 2)
    # The profile is symmetric, so its transform is real up to rounding.
    return jnp.fft.rfft(profile).real * (kernel.norm(1) * (1 / bandwidth))


def _scaled(numbers: Array, factors: Array) -> Array:
    """Multiply complex numbers by real factors."""
    return jax.lax.complex(numbers.real * factors, numbers.imag * factors)
