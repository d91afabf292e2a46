"""Mechanisms that answer with a vector: parallel releases, prefix sums, histogram encoding."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from dpjax import _random, _validate
from dpjax._types import VectorSpace
from dpjax.databases import Pairs, all_pairs, query_patterns, shifts
from dpjax.mechanisms._base import draw_dtype, epsilon_level, static


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ParallelLaplace:
    """k independent releases s + Lap(1 / epsilon) of one number: true level k epsilon.

    Attributes:
        epsilon: Level of one release.
        num_releases: k.

    References:
        Dwork, McSherry, Nissim, Smith (2006), by composition.
    """

    name: ClassVar[str] = "parallel-laplace"
    source: ClassVar[str] = "Dwork et al. 2006, composition"
    epsilon: float = 1.0
    num_releases: int = static(3)

    def __post_init__(self):
        _validate.positive(epsilon=self.epsilon)
        _validate.positive_int(at_least=2, num_releases=self.num_releases)

    @property
    def output_space(self) -> VectorSpace:
        """The k releases."""
        return VectorSpace(self.num_releases)

    @property
    def level(self) -> float:
        """num_releases epsilon."""
        return self.num_releases * float(self.epsilon)

    @property
    def standard_region(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """[-1, 2] on every axis."""
        return (-1.0,) * self.num_releases, (2.0,) * self.num_releases

    def standard_pairs(self) -> Pairs:
        """0 against b / 10, b = 1..10."""
        return shifts(0.0)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Reals of shape [num_samples, num_releases] for a scalar database."""
        noises = _noises(key, num_samples, self.num_releases, self.epsilon)
        return database + jnp.stack(noises, axis=-1) / self.epsilon


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PrefixSum:
    """The sums of the first 1, 2, .., d of a_i + Lap(1 / epsilon).

    Attributes:
        epsilon: Level where one answer changes by 1; the true level is d epsilon where all may.
        num_queries: d, the length of the database.

    References:
        Wang, Ding, Wang, Kifer, Zhang (2019).
    """

    name: ClassVar[str] = "prefix-sum"
    source: ClassVar[str] = "Wang et al. 2019"
    epsilon: float = 1.0
    num_queries: int = static(3)

    def __post_init__(self):
        _validate.positive(epsilon=self.epsilon)
        _validate.positive_int(at_least=2, num_queries=self.num_queries)

    @property
    def output_space(self) -> VectorSpace:
        """The d sums."""
        return VectorSpace(self.num_queries)

    @property
    def level(self) -> float:
        """num_queries epsilon: every answer may change by 1."""
        return self.num_queries * float(self.epsilon)

    @property
    def standard_region(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """From 2 below no answer to 2 above the sums of ones."""
        ends = range(1, self.num_queries + 1)
        return (-2.0,) * self.num_queries, tuple(i + 2.0 for i in ends)

    def standard_pairs(self) -> Pairs:
        """The ten query patterns."""
        return query_patterns(self.num_queries)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Reals of shape [num_samples, num_queries] for answers of shape [num_queries]."""
        noises = _noises(key, num_samples, self.num_queries, self.epsilon)
        total = jnp.zeros(num_samples, draw_dtype(self.epsilon))
        sums = []
        for i in range(self.num_queries):
            total = total + database[i] + noises[i] / self.epsilon
            sums.append(total)
        return jnp.stack(sums, axis=-1)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SummedHistogramEncoding:
    """SHE: the category as a vector of a one and zeros, each entry + Lap(2 / epsilon).

    Attributes:
        epsilon: True level.
        num_categories: k; the database is the true category 0..k - 1.

    References:
        Wang, Blocki, Li, Jha (2017), section 4.2.
    """

    name: ClassVar[str] = "summed-histogram-encoding"
    source: ClassVar[str] = "Wang et al. 2017 (SHE)"
    level = epsilon_level
    epsilon: float = 1.0
    num_categories: int = static(3)

    def __post_init__(self):
        _validate.positive(epsilon=self.epsilon)
        _validate.positive_int(at_least=2, num_categories=self.num_categories)

    @property
    def output_space(self) -> VectorSpace:
        """One real a category."""
        return VectorSpace(self.num_categories)

    @property
    def standard_region(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """[-2, 3] on every axis."""
        return (-2.0,) * self.num_categories, (3.0,) * self.num_categories

    def standard_pairs(self) -> Pairs:
        """Every pair of categories."""
        return all_pairs(range(self.num_categories))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Reals of shape [num_samples, num_categories] for a scalar category."""
        noises = _noises(key, num_samples, self.num_categories, self.epsilon)
        return jnp.stack(
            [(database == i) + 2 / self.epsilon * noise for i, noise in enumerate(noises)], axis=-1
        )


def _noises(key: Array, num_samples: int, dimension: int, epsilon) -> list[Array]:
    """Unit Laplace noise for every entry, each of shape [num_samples]."""
    dtype = draw_dtype(epsilon)
    return [_random.laplace(key, num_samples, row, dtype) for row in range(dimension)]
