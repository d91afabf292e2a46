"""The binned kernel density estimate: count once on a lattice, smooth by FFT.

Samples are counted in bins that are many times finer than the lattice, with one integer scatter a
draw, then shared linearly between the two nearest nodes and convolved with the kernel. Sharing
smooths by a triangle of a node's width; a kernel whose spectrum is known in closed form has that
divided out again, as non-uniform Fourier transforms do, so that few nodes a bandwidth are enough:
what is left is aliasing, of relative size (spacing / bandwidth)^2 / 40 for a lone sample and far
below that for many. For other kernels the error is of first order in spacing / bandwidth next to a
sample at which the kernel has a kink or an edge. The estimate is refused where the bandwidth spans
fewer nodes than the kernel needs (`Kernel.min_nodes`).

References:
    Askin, Kutta, Dette (2022), Algorithm 1; binning after Silverman (1982) and Wand (1994); the
    triangle's transform divided out after Greengard, Lee (2004), "Accelerating the nonuniform fast
    Fourier transform", who spread by a Gaussian.
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
"""Bins per lattice node, where nothing else is asked for: 128 a bandwidth for the Gaussian at the
fewest nodes that it may have."""


MAX_NODES = 2**18
"""More nodes than this are refused."""


def finer(num_nodes: int, nodes_per_bandwidth: float, kernel: Kernel) -> int:
    """The number of nodes, a power of 2 times as many, that gives a bandwidth what it needs.

    Args:
        num_nodes: Nodes of a lattice that is too coarse.
        nodes_per_bandwidth: That it has, above 0; they double with the nodes, exactly.
        kernel: Says how many a bandwidth needs.

    Returns:
        The fewest that are enough, or a number above MAX_NODES where so many are too few.
    """
    wanted = 2 * num_nodes
    while wanted <= MAX_NODES and wanted * nodes_per_bandwidth < num_nodes * kernel.min_nodes:
        wanted *= 2
    return wanted


class Lattice(NamedTuple):
    """Equally spaced nodes that cover an interval and the kernel's reach on both sides.

    Attributes:
        start: Position of node 0, a scalar.
        spacing: Distance between nodes, a scalar.
    """

    start: Array
    spacing: Array

    @classmethod
    def covering(cls, low: Array, high: Array, reach: Array, num_nodes: int) -> "Lattice":
        """The lattice for densities on [low, high] whose kernels reach `reach` to each side."""
        return cls(low - reach, (high - low + 2 * reach) / num_nodes)

    def nodes(self, num_nodes: int) -> Array:
        """Positions [num_nodes] of the nodes."""
        return self.start + self.spacing * jnp.arange(num_nodes)

    def interpolate(self, values: Array, points: Array) -> Array:
        """Values at the nodes, [nodes], carried by cubics through four of them to points, [points].

        The points must lie between the second node and the last but one.
        """
        place = (points - self.start) / self.spacing
        left = place.astype(jnp.int32)
        s = place - left
        inner = (s + 1) * (s - 2) / 2
        outer = s * (s - 1) / 6
        return inner * ((s - 1) * values[left] - s * values[left + 1]) + outer * (
            (s + 1) * values[left + 2] - (s - 2) * values[left - 1]
        )


def lattice_counts(lattice: Lattice, num_nodes: int, fine: int = _FINE) -> Reducer:
    """Counts real samples in the fine bins of a lattice; samples outside it are left out.

    The carry is int32 of shape [num_nodes * fine + 1]; its last entry takes what does not count
    (samples outside, and the padding of the last block) and means nothing. To differentiate it
    raises a TypeError.

    Args:
        lattice: The lattice.
        num_nodes: Its number of nodes.
        fine: Bins per node.
    """
    num_bins = num_nodes * fine
    start, spacing = no_derivative(lattice.start), no_derivative(lattice.spacing)

    def init() -> Array:
        return jnp.zeros(num_bins + 1, jnp.int32)

    def update(counts: Array, samples: Array, valid: Array) -> Array:
        place = (no_derivative(samples) - start) * (fine / spacing)
        inside = valid & (place >= 0) & (place < num_bins)
        # By way of int32, for the conversion to uint32 does not vectorise; of unsigned places JAX
        # need not ask whether they count from the end.
        bins = jnp.where(inside, place, num_bins).astype(jnp.int32).astype(jnp.uint32)
        return counts.at[bins].add(1, mode="promise_in_bounds")

    return Reducer(init, update, reads_once=True)


def smooth_counts(
    counts: Array,
    lattice: Lattice,
    bandwidth: Array,
    kernel: Kernel,
    num_samples: int,
    fine: int = _FINE,
) -> Array:
    """The density estimate at the nodes of a lattice, from its fine counts.

    The convolution is circular; it is right at every node that is at least the kernel's reach away
    from both ends, which is what `Lattice.covering` provides on [low, high].

    Args:
        counts: Integers [bins + 1], the carry of `lattice_counts`.
        lattice: The lattice they were counted on.
        bandwidth: Scalar.
        kernel: The kernel.
        num_samples: How many samples were streamed, those outside the lattice included.
        fine: Bins per node that they were counted in.

    Returns:
        Densities >= 0 at the nodes, [nodes].
    """
    weights = _weights(counts, fine, num_samples)
    transform = _transform(kernel, bandwidth, lattice.spacing, weights.shape[0])
    total = jnp.fft.irfft(jnp.fft.rfft(weights) * transform, weights.shape[0])
    return jnp.maximum(total, 0) * (1 / num_samples)


def smooth_both(
    counts: Array,
    lattice: Lattice,
    bandwidths: Array,
    kernel: Kernel,
    num_samples: int,
    fine: int = _FINE,
) -> Array:
    """`smooth_counts` of two samples with a bandwidth each, by one complex transform.

    The weights w and v have the spectra (Z(k) + Z*(-k)) / 2 and (Z(k) - Z*(-k)) / 2i of z = w + iv.
    With their own transforms T and U the spectrum of the smoothed z is therefore
    Z(k) (T + U) / 2 + Z*(-k) (T - U) / 2, whose inverse has the two densities as its parts.

    Arguments and densities as of `smooth_counts`, the counts [2, bins + 1], bandwidths [2] and
    densities [2, nodes] with a leading axis of samples.
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
    smoothed = jnp.fft.ifft(spectrum * mean + mirrored * half)
    return jnp.maximum(jnp.stack([smoothed.real, smoothed.imag]), 0) * (1 / num_samples)


def _weights(counts: Array, fine: int, num_samples: int) -> Array:
    """Draws at each node, [nodes], shared linearly between a bin's two nearest ones."""
    # Sums of integers are exact, and on CPU faster than a product of floats (four times for rows of
    # 4); floats are for samples so large that a sum could overflow.
    exact = 2 * fine * num_samples < 2**31
    kind = jnp.int32 if exact else jnp.result_type(float)
    bins = counts[:-1].reshape(-1, fine).astype(kind)
    places = 2 * jnp.arange(fine, dtype=kind) + 1
    right = jnp.sum(bins * places[None, :], axis=1).astype(float) * (1 / (2 * fine))
    return jnp.sum(bins, axis=1).astype(float) - right + jnp.roll(right, 1)


def _transform(kernel: Kernel, bandwidth: Array, spacing: Array, num_nodes: int) -> Array:
    """The discrete Fourier transform of K(. / h) / h on the circle of nodes, [num_nodes // 2 + 1].

    Reciprocals are by hand: XLA takes them in some layouts of runs and divides in others, and the
    last bits of the result must not depend on the layout.
    """
    if kernel.spectrum is not None:
        # In closed form this is one FFT less.
        per_step = (2 * math.pi / num_nodes) * (bandwidth * (1 / spacing))
        frequency = jnp.arange(num_nodes // 2 + 1) * per_step
        triangle = np.sinc(np.arange(num_nodes // 2 + 1) / num_nodes) ** 2
        return kernel.spectrum(frequency**2) * jnp.asarray(1 / triangle, float) * (1 / spacing)
    steps = jnp.arange(num_nodes)
    distance = jnp.minimum(steps, num_nodes - steps) * spacing
    profile = kernel.profile((distance * (1 / bandwidth)) ** 2)
    return jnp.fft.rfft(profile) * (kernel.norm(1) * (1 / bandwidth))
