"""Bandwidth rules, which choose the width of a kernel from a pilot sample.

A rule reduces a pilot sample to a single number, its *spread*. The bandwidth for n samples is
spread * n^-exponent. The same pilot sample determines the bandwidths for the search set and the
confirmation set, so neither bandwidth depends on the samples to be smoothed.
"""

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import validate
from dpjax.core.wording import BadType
from dpjax.densities._derivatives import no_derivative
from dpjax.densities._kernels import find_kernel

_ROWS, _LANES = 16, 128
"""Shape (rows, columns) of the blocks into which samples are divided for counting.

The sum of a column of 16 zeros and ones fits in an int8, and a row of 128 entries fills a
processor's vector registers.
"""


@runtime_checkable
class BandwidthRule(Protocol):
    """A rule that chooses the bandwidth of a density estimate."""

    def spread(self, pilot: Array) -> Array:
        """Return the spread of a pilot sample [m, d], a scalar."""
        ...

    def exponent(self, dimension: int) -> float:
        """Return the exponent e in the bandwidth spread * n^-e for n samples."""
        ...


class _NormalRate:
    """Base class of rules whose bandwidths shrink at the optimal rate for smooth densities."""

    def exponent(self, dimension: int) -> float:
        """Return 1 / (d + 4)."""
        return 1 / (dimension + 4)


def bandwidth_at(
    rule: BandwidthRule, spread: Array, num_samples: float, dimension: int, extra: float = 0.0
) -> Array:
    """Return spread * num_samples^-(exponent + extra), the bandwidth for a sample size.

    Args:
        rule: Bandwidth rule, which defines the exponent.
        spread: Spread of a pilot sample, as returned by the rule, or an average of spreads; an
            array of any shape.
        num_samples: Number of samples to be smoothed.
        dimension: Dimension d of the outputs.
        extra: Number added to the exponent in order to undersmooth; gamma in condition (C4) of
            Askin, Kutta, Dette (2022).
    """
    if isinstance(rule, Fixed):
        return spread
    return spread * num_samples ** -(rule.exponent(dimension) + extra)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Silverman(_NormalRate):
    """Silverman's rule of thumb: 0.9 min(sd, IQR / 1.34) n^(-1/5) for d = 1, like nrd0 in R.

    For dimension d > 1, the factor 0.9 becomes (4 / (d + 2))^(1/(d+4)), the exponent becomes
    -1/(d+4), and min(sd, IQR / 1.34) becomes its geometric mean over the axes.

    References:
        Silverman (1986), section 3.4.2; Askin, Kutta, Dette (2022), section V (R's `kdensity`).
    """

    def spread(self, pilot: Array) -> Array:
        """Return 0.9 min(sd, IQR / 1.34) for d = 1."""
        dimension = pilot.shape[1]
        factor = 0.9 if dimension == 1 else (4 / (dimension + 2)) ** (1 / (dimension + 4))
        return factor * robust_spread(pilot)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Scott(_NormalRate):
    """Scott's rule: (4 / (d + 2))^(1/(d+4)) sd n^(-1/(d+4)), which is 1.06 sd n^(-1/5) for d = 1.

    The standard deviation sd is capped at 2 IQR / 1.34 to limit the effect of outliers. For normal
    and Laplace data, sd is well below the cap.

    References:
        Scott (1992), section 6.5.
    """

    def spread(self, pilot: Array) -> Array:
        """Return 1.06 sd for d = 1."""
        d = pilot.shape[1]
        return (4 / (d + 2)) ** (1 / (d + 4)) * robust_spread(pilot, num_widths=2.0)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class HoelderRate:
    """A rule for beta-Hoelder densities: scale * min(sd, IQR / 1.34) * n^(-1/(2 beta + d)).

    Attributes:
        beta: Hoelder exponent of the density, in (0, 1].
        scale: Factor by which min(sd, IQR / 1.34) is multiplied.

    References:
        Askin, Kutta, Dette (2022), conditions (C3) and (C4).
    """

    beta: float = field(default=1.0, metadata={"static": True})
    scale: float = 0.9

    def __post_init__(self):
        validate.positive(scale=self.scale)
        if not 0 < self.beta <= 1:
            raise ValueError(f"beta must lie in (0, 1], but was {self.beta!r}.")

    def spread(self, pilot: Array) -> Array:
        """Return `scale` times min(sd, IQR / 1.34)."""
        return self.scale * robust_spread(pilot)

    def exponent(self, dimension: int) -> float:
        """Return 1 / (2 beta + d)."""
        return 1 / (2 * self.beta + dimension)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Fixed:
    """A rule with a fixed bandwidth.

    Attributes:
        bandwidth: Bandwidth, in units of the outputs.
    """

    bandwidth: float

    def __post_init__(self):
        validate.positive(bandwidth=self.bandwidth)

    def spread(self, pilot: Array) -> Array:
        """Return the bandwidth."""
        return jnp.asarray(self.bandwidth, pilot.dtype)

    def exponent(self, dimension: int) -> float:
        """Return 0."""
        return 0.0


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CrossValidated(_NormalRate):
    """A rule that maximizes the leave-one-out likelihood on a part of the pilot sample.

    The rule tries 25 multiples of Silverman's bandwidth, with factors from 1/8 to 4, on `num_pilot`
    samples. For other sample sizes n, the rule scales the best bandwidth in proportion to
    n^(-1/(d+4)).

    Attributes:
        num_pilot: Number of pilot samples used for the likelihood.
        kernel: Name of the kernel used for the likelihood.

    References:
        Habbema, Hermans, van den Broek (1974); Duin (1976).
    """

    num_pilot: int = field(default=1024, metadata={"static": True})
    kernel: str = field(default="gaussian", metadata={"static": True})

    def __post_init__(self):
        validate.positive_int(at_least=2, num_pilot=self.num_pilot)
        find_kernel(self.kernel)

    def spread(self, pilot: Array) -> Array:
        """Return num_pilot^(1/(d+4)) times the bandwidth with the largest likelihood."""
        kernel = find_kernel(self.kernel)
        sample = pilot[: self.num_pilot]
        size, dimension = sample.shape
        distance2 = jnp.sum((sample[:, None, :] - sample[None, :, :]) ** 2, axis=-1)
        start = bandwidth_at(Silverman(), Silverman().spread(sample), size, dimension)

        def likelihood(bandwidth):
            sums = jnp.sum(kernel.profile(distance2 / bandwidth**2), axis=1) - 1
            density = kernel.norm(dimension) * sums / ((size - 1) * bandwidth**dimension)
            # With a compact kernel, the density at an isolated point is 0, and a single such point
            # would make the likelihood 0. The density therefore has a lower limit.
            return jnp.mean(jnp.log(jnp.maximum(density, 1e-6 / start**dimension)))

        candidates = start * jnp.geomspace(1 / 8, 4, 25)
        best = candidates[jnp.argmax(jax.lax.map(likelihood, candidates))]
        return best * size ** self.exponent(dimension)


RULES = {
    "silverman": Silverman,
    "nrd0": Silverman,
    "scott": Scott,
    "hoelder": HoelderRate,
    "cross-validated": CrossValidated,
}


def as_rule(bandwidth: "BandwidthRule | str | float") -> BandwidthRule:
    """Convert a rule, the name of a rule, or a fixed bandwidth to a rule.

    Raises:
        ValueError: If `bandwidth` is an unknown name, or a number that is not above 0.
        TypeError: If `bandwidth` is not a rule, a name or a number.
    """
    if isinstance(bandwidth, str):
        validate.one_of(RULES, bandwidth=bandwidth)
        return RULES[bandwidth]()
    is_class = isinstance(bandwidth, type)
    if isinstance(bandwidth, BandwidthRule) and not is_class:
        return bandwidth
    if bandwidth is None or is_class or np.ndim(bandwidth):
        raise BadType(f"bandwidth must be a rule, a name or a number > 0, but was {bandwidth!r}.")
    validate.positive(bandwidth=bandwidth)
    return Fixed(float(bandwidth))


# Jitted, so that calls outside `jit` compile the function only once.
@partial(jax.jit, static_argnames="num_widths")
def robust_spread(pilot: Array, num_widths: float = 1.0) -> Array:
    """Return an outlier-robust measure of the scale of a pilot sample [m, d].

    For d = 1, the scale is min(sd, num_widths * IQR / 1.34). For d > 1, the scale is the geometric
    mean of min(sd, num_widths * IQR / 1.34) over the axes. If the IQR of an axis is 0 because of
    ties, the sd of that axis is used. The quartiles are computed from counts, so differentiation
    raises TypeError.
    """
    columns, size = no_derivative(pilot).T, pilot.shape[0]
    # The barriers prevent XLA from computing the sums again in each bisection step.
    mean = jax.lax.optimization_barrier(jnp.mean(columns, axis=1))
    squares = jnp.sum((columns - mean[:, None]) ** 2, axis=1)
    deviation = jax.lax.optimization_barrier(
        jnp.maximum(jnp.sqrt(squares * (1 / (size - 1))), jnp.finfo(pilot.dtype).tiny)
    )
    lower, upper = _quartiles(columns)
    width = num_widths * (upper - lower) / 1.34
    spread = jnp.where(width > 0, jnp.minimum(deviation, width), deviation)
    return jnp.exp(jnp.mean(jnp.log(spread)))


def _quartiles(columns: Array) -> Array:
    """Return the quartiles, [2, d], of the rows of `columns`, [d, m], which contain no NaN.

    The quartiles are the order statistics ceil(m / 4) and ceil(3 m / 4). They are found by
    bisection, which is faster than XLA's sort on a CPU. The bisection is over all floats in their
    order, so its number of steps does not depend on outliers.
    """
    dimension, size = columns.shape
    needed = jnp.asarray([[math.ceil(size / 4)], [math.ceil(3 * size / 4)]], jnp.int32)
    # On CPU, XLA vectorizes sums over a leading axis, and a vector register holds four times as
    # many int8 as float32 values.
    padding = ((0, 0), (0, -size % (_ROWS * _LANES)))
    rows = jnp.pad(columns, padding, constant_values=jnp.inf).reshape(dimension, -1, _ROWS, _LANES)

    bits = jnp.finfo(columns.dtype).bits
    kind = jnp.int32 if bits == 32 else jnp.int64

    def flipped(words: Array) -> Array:
        # This maps the bits of floats to integers in the same order, and back.
        return words ^ ((words >> (bits - 1)) & jnp.iinfo(kind).max)

    def halve(_, bounds):
        low, high = bounds
        middle = (low >> 1) + (high >> 1) + (low & high & 1)
        value = jax.lax.bitcast_convert_type(flipped(middle), columns.dtype)
        inside = rows[None] <= value[:, :, None, None, None]
        counts = jnp.sum(inside.astype(jnp.int8), axis=3, dtype=jnp.int8)
        below = jnp.sum(counts, axis=(2, 3), dtype=jnp.int32) < needed
        return jnp.where(below, middle, low), jnp.where(below, high, middle)

    ends = jnp.stack([jnp.min(columns, axis=1), jnp.max(columns, axis=1)])
    low, high = flipped(jax.lax.bitcast_convert_type(ends, kind))
    start = jnp.broadcast_to(low - 1, (2, dimension)), jnp.broadcast_to(high, (2, dimension))
    _, high = jax.lax.fori_loop(0, bits, halve, start)
    return jax.lax.bitcast_convert_type(flipped(high), columns.dtype)
