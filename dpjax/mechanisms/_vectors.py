"""Mechanisms that answer with a vector: parallel releases, prefix sums, histogram encoding."""

import jax.numpy as jnp
from jax import Array

from dpjax.core import random
from dpjax.core.types import VectorSpace
from dpjax.databases import Pairs, shifts
from dpjax.mechanisms._base import BuiltIn, OfCategory, OfQueries, draw_dtype, pytree, static

Box = tuple[tuple[float, ...], tuple[float, ...]]


@pytree
class ParallelLaplace(BuiltIn):
    """k independent releases s + Lap(1 / epsilon) of one number: true level k epsilon.

    Attributes:
        epsilon: Level of one release.
        num_releases: k.

    References:
        Dwork, McSherry, Nissim, Smith (2006), by composition.
    """

    name = "parallel-laplace"
    source = "Dwork et al. 2006, composition"
    epsilon: float = 1.0
    num_releases: int = static(3, at_least=2)

    @property
    def output_space(self) -> VectorSpace:
        """The k releases."""
        return VectorSpace(self.num_releases)

    @property
    def level(self) -> float:
        """num_releases epsilon."""
        return self.num_releases * float(self.epsilon)

    @property
    def standard_region(self) -> Box:
        """[-1, 2] on every axis."""
        return (-1.0,) * self.num_releases, (2.0,) * self.num_releases

    def standard_pairs(self) -> Pairs:
        """0 against b / 10, b = 1..10."""
        return shifts(0.0)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Reals of shape [num_samples, num_releases] for a scalar database."""
        noises = _noises(key, num_samples, self.num_releases, self.epsilon)
        return database + jnp.stack(noises, axis=-1) / self.epsilon


@pytree
class PrefixSum(OfQueries):
    """The sums of the first 1, 2, .., d of a_i + Lap(1 / epsilon).

    Attributes:
        epsilon: Level where one answer changes by 1; the true level is d epsilon where all may.
        num_queries: d, the length of the database.

    References:
        Wang, Ding, Wang, Kifer, Zhang (2019).
    """

    name = "prefix-sum"
    source = "Wang et al. 2019"
    epsilon: float = 1.0
    num_queries: int = static(3, at_least=2)

    @property
    def output_space(self) -> VectorSpace:
        """The d sums."""
        return VectorSpace(self.num_queries)

    @property
    def level(self) -> float:
        """num_queries epsilon: every answer may change by 1."""
        return self.num_queries * float(self.epsilon)

    @property
    def standard_region(self) -> Box:
        """From 2 below no answer to 2 above the sums of ones."""
        ends = range(1, self.num_queries + 1)
        return (-2.0,) * self.num_queries, tuple(i + 2.0 for i in ends)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Reals of shape [num_samples, num_queries] for answers of shape [num_queries]."""
        noises = _noises(key, num_samples, self.num_queries, self.epsilon)
        total = jnp.zeros(num_samples, draw_dtype(self.epsilon))
        sums = []
        for i, noise in enumerate(noises):
            total = total + database[i] + noise / self.epsilon
            sums.append(total)
        return jnp.stack(sums, axis=-1)


@pytree
class SummedHistogramEncoding(OfCategory):
    """SHE: the category as a vector of a one and zeros, each entry + Lap(2 / epsilon).

    Attributes:
        epsilon: True level.
        num_categories: k; the database is the true category 0..k - 1.

    References:
        Wang, Blocki, Li, Jha (2017), section 4.2.
    """

    name = "summed-histogram-encoding"
    source = "Wang et al. 2017 (SHE)"
    epsilon: float = 1.0
    num_categories: int = static(3, at_least=2)

    @property
    def output_space(self) -> VectorSpace:
        """One real a category."""
        return VectorSpace(self.num_categories)

    @property
    def standard_region(self) -> Box:
        """[-2, 3] on every axis."""
        return (-2.0,) * self.num_categories, (3.0,) * self.num_categories

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Reals of shape [num_samples, num_categories] for a scalar category."""
        noises = _noises(key, num_samples, self.num_categories, self.epsilon)
        return jnp.stack(
            [(database == i) + 2 / self.epsilon * noise for i, noise in enumerate(noises)], axis=-1
        )


def _noises(key: Array, num_samples: int, dimension: int, epsilon) -> list[Array]:
    """Unit Laplace noise for every entry, each of shape [num_samples]."""
    dtype = draw_dtype(epsilon)
    return [random.laplace(key, num_samples, row, dtype) for row in range(dimension)]
