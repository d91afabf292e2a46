"""Mechanisms that add noise to a number: Laplace, noisy counts, Gaussian, geometric."""

import math
from functools import partial

import jax.numpy as jnp
from jax import Array

from dpjax.core import random, validate
from dpjax.core.types import IntegerSpace, RealSpace
from dpjax.databases import Pairs
from dpjax.mechanisms._base import OfInteger, OfNumber, draw_dtype, leaf, pytree


@pytree
class Laplace(OfNumber):
    """The number s plus noise Lap(1 / epsilon); the true level is epsilon.

    Attributes:
        epsilon: True level if the number s has sensitivity 1.

    References:
        Dwork, McSherry, Nissim, Smith (2006); Askin, Kutta, Dette (2022), experiment (a).
    """

    name = "laplace"
    source = "Dwork et al. 2006"
    output_space = RealSpace()
    standard_region = (-1.0, 1.0)
    epsilon: float = 1.0

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, float [num_samples], for a scalar database."""
        noise = random.laplace(key, num_samples, dtype=draw_dtype(self.epsilon))
        return database + noise / self.epsilon


@pytree
class NoisyHistogram1(Laplace):
    """One count of a histogram plus noise Lap(1 / epsilon); the true level is epsilon.

    Attributes:
        epsilon: True level if the count changes by 1.

    References:
        Ding et al. (2018), Algorithm 9.
    """

    name = "noisy-histogram-1"
    source = "Ding et al. 2018, Alg. 9"
    standard_region = (-1.0, 4.0)

    def standard_pairs(self) -> Pairs:
        """Return two pairs of counts: (1, 2) and (1, 0)."""
        return Pairs([1.0, 1.0], [2.0, 0.0])


@pytree
class NoisyHistogram2(NoisyHistogram1):
    """A histogram count plus noise of the wrong scale, epsilon; the true level is 1 / epsilon.

    The noise is Lap(epsilon); the correct noise would be Lap(1 / epsilon).

    Attributes:
        epsilon: Claimed level.

    References:
        Ding et al. (2018), Algorithm 10.
    """

    name = "noisy-histogram-2"
    source = "Ding et al. 2018, Alg. 10 (wrong)"
    epsilon: float = 0.5

    @property
    def level(self) -> float:
        """True level, 1 / epsilon."""
        return 1 / float(self.epsilon)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, float [num_samples], for a scalar count."""
        noise = random.laplace(key, num_samples, dtype=draw_dtype(self.epsilon))
        return database + noise * self.epsilon


@pytree
class Gaussian(OfNumber):
    """The number s plus noise N(0, sigma^2); the level is infinite because the loss is unbounded.

    Attributes:
        sigma: Standard deviation of the noise.

    References:
        Balle, Wang (2018); Askin, Kutta, Dette (2022), Figure 2.
    """

    name = "gaussian"
    source = "Balle, Wang 2018"
    level = math.inf
    output_space = RealSpace()
    sigma: float = 1.0

    @property
    def standard_region(self) -> tuple[float, float]:
        """Region in which outputs are compared: the interval [-3 sigma, 1 + 3 sigma]."""
        return (-3 * float(self.sigma), 1 + 3 * float(self.sigma))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, float [num_samples], for a scalar database."""
        noise = random.normal(key, num_samples, dtype=draw_dtype(self.sigma))
        return database + self.sigma * noise


@pytree
class TwoSidedGeometric(OfInteger):
    """An integer plus two-sided geometric noise; the true level is epsilon.

    The noise takes the value k with probability proportional to e^(-epsilon |k|).

    Attributes:
        epsilon: True level if the integer has sensitivity 1. It must be at least 1e-6, because a
            smaller epsilon gives noise above 2^24, which float32 cannot represent exactly.

    References:
        Ghosh, Roughgarden, Sundararajan (2009).
    """

    name = "two-sided-geometric"
    source = "Ghosh et al. 2009"
    output_space = IntegerSpace()
    standard_region = (-5, 6)
    epsilon: float = leaf(1.0, partial(validate.not_below, 1e-6))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, int32 [num_samples], for a scalar integer database."""
        noise = random.two_sided_geometric(key, num_samples, self.epsilon)
        return jnp.asarray(database).astype(jnp.int32) + noise
