"""Mechanisms with integer outputs: discrete Gaussian, truncated geometric, snapped Laplace."""

import math
from functools import partial

import jax.numpy as jnp
from jax import Array

from dpjax.core import random, validate
from dpjax.core.types import FiniteSpace, IntegerSpace
from dpjax.databases import Pairs
from dpjax.mechanisms._base import BuiltIn, OfInteger, OfNumber, draw_dtype, leaf, pytree, static

_TAIL_SIGMAS = 10
"""Minimum ratio of `largest_noise` to sigma; noise above 10 sigma has probability below 1e-22."""


@pytree
class DiscreteGaussian(OfInteger):
    """An integer plus discrete Gaussian noise; the level is infinite because the loss is unbounded.

    The noise takes the value k with probability proportional to e^(-k^2 / (2 sigma^2)). The noise
    is drawn by inverting a table of tail probabilities up to `largest_noise`.

    Attributes:
        sigma: Parameter sigma of the noise, slightly above the noise's standard deviation.
        largest_noise: Largest absolute value of the noise, at least 10 sigma.

    References:
        Canonne, Kamath, Steinke (2020), Definition 1.
    """

    name = "discrete-gaussian"
    source = "Canonne et al. 2020"
    level = math.inf
    output_space = IntegerSpace()
    sigma: float = 1.0
    largest_noise: int = static(128)

    def __post_init__(self):
        super().__post_init__()
        if validate.is_traced(self.sigma):
            return
        if self.largest_noise < _TAIL_SIGMAS * float(jnp.max(jnp.asarray(self.sigma))):
            raise ValueError(
                f"largest_noise must be at least {_TAIL_SIGMAS} sigma, but was "
                f"{self.largest_noise} for sigma {self.sigma!r}."
            )

    @property
    def standard_region(self) -> tuple[float, float]:
        """Region in which outputs are compared: [-3 sigma, 1 + 3 sigma], rounded outward."""
        reach = math.ceil(3 * float(self.sigma))
        return (-reach, 1 + reach)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, int32 [num_samples], for a scalar integer database."""
        dtype = draw_dtype(self.sigma)
        magnitudes = jnp.arange(1, self.largest_noise + 1, dtype=dtype)
        mass = 2 * jnp.exp(-((magnitudes / self.sigma) ** 2) / 2)
        # The cumulative sum starts at the far end, so that small tails have full relative
        # precision.
        tails = jnp.cumsum(mass[::-1]) / (1 + jnp.sum(mass))
        negative, u = random.signed_uniform(key, num_samples, dtype=dtype)
        # The magnitude |k| of the noise is the number of integers m >= 1 with P(|k| >= m) >= u.
        magnitude = (self.largest_noise - jnp.searchsorted(tails, u)).astype(jnp.int32)
        return jnp.asarray(database).astype(jnp.int32) + jnp.where(negative, -magnitude, magnitude)


@pytree
class TruncatedGeometric(BuiltIn):
    """A count plus two-sided geometric noise, clamped to 0..n; the true level is ln(1 + 2^-k).

    The noise takes the value j with probability proportional to (1 + 2^-k)^-|j|, where k =
    ceil(log2(2 / epsilon)). The published algorithm uses the base 1 + 2^-k because its exact
    arithmetic requires a rational base.

    Attributes:
        epsilon: Requested level epsilon, at least 1e-30; 2^-k lies between epsilon / 4 and epsilon
            / 2.
        largest_count: Largest count n.

    References:
        Balcer, Vadhan (2018), Algorithm 4.8 (GeoSample).
    """

    name = "truncated-geometric"
    source = "Balcer, Vadhan 2018, Alg. 4.8"
    epsilon: float = leaf(1.0, partial(validate.not_below, 1e-30))
    largest_count: int = static(10)

    @property
    def output_space(self) -> FiniteSpace:
        """The counts 0..n."""
        return FiniteSpace(self.largest_count + 1, ordered=True)

    @property
    def level(self) -> float:
        """True level, ln(1 + 2^-k) with k = ceil(log2(2 / epsilon))."""
        # epsilon is mantissa * 2^exponent with a mantissa in [1/2, 1), so k is 2 - exponent.
        return math.log1p(math.ldexp(1.0, math.frexp(float(self.epsilon))[1] - 2))

    def standard_pairs(self) -> Pairs:
        """Return all pairs that consist of a count and the next larger count."""
        counts = range(self.largest_count)
        return Pairs(list(counts), [c + 1 for c in counts])

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples in 0..n, int32 [num_samples], for a scalar count in 0..n."""
        dtype = draw_dtype(self.epsilon)
        bits = 2 - jnp.frexp(jnp.asarray(self.epsilon, dtype))[1].astype(dtype)
        noise = random.two_sided_geometric(key, num_samples, jnp.log1p(jnp.exp2(-bits)))
        return jnp.clip(jnp.asarray(database).astype(jnp.int32) + noise, 0, self.largest_count)


@pytree
class SnappedLaplace(OfNumber):
    """The snapping mechanism: add Laplace noise, round to multiples of Lambda, and clamp.

    The mechanism releases clamp(round(clamp(s) + Lap((1 + B 2^-49) / epsilon))). The function clamp
    limits a value to [-B, B]. The function round returns the nearest multiple of Lambda, where
    Lambda is the smallest power of two above the noise scale. This class outputs an integer m, and
    the released value is clamp(Lambda m).

    Attributes:
        epsilon: Claimed level. The true level is `level`.
        bound: Bound B, at least 1.

    References:
        Mironov (2012), section 5.
    """

    name = "snapped-laplace"
    source = "Mironov 2012"
    output_space = IntegerSpace()
    standard_region = (-5, 5)
    epsilon: float = 1.0
    bound: float = leaf(1024.0, partial(validate.not_below, 1.0))

    @property
    def level(self) -> float:
        """True level, epsilon / (1 + B 2^-49)."""
        return float(self.epsilon) / (1 + float(self.bound) * 2.0**-49)

    def step(self) -> Array:
        """Return Lambda; the mechanism rounds to multiples of Lambda."""
        scale = self._scale()
        return jnp.ldexp(jnp.ones_like(scale), jnp.frexp(scale)[1])

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return rounded values divided by Lambda, int32 [num_samples], for a scalar database."""
        scale, step = self._scale(), self.step()
        noise = random.laplace(key, num_samples, dtype=scale.dtype)
        noisy = jnp.clip(database, -self.bound, self.bound) + scale * noise
        last = jnp.ceil(self.bound / step)
        return jnp.clip(jnp.round(noisy / step), -last, last).astype(jnp.int32)

    def _scale(self) -> Array:
        dtype = draw_dtype(self.epsilon)
        return (1 + jnp.asarray(self.bound, dtype) * 2.0**-49) / self.epsilon
