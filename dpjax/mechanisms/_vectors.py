"""Mechanisms that release a vector: parallel releases, prefix sums, histogram encoding."""

from typing import ClassVar

import jax.numpy as jnp
from jax import Array

from dpjax.core import random
from dpjax.core.types import VectorSpace
from dpjax.mechanisms._base import (
    BuiltIn,
    OfCategory,
    OfNumber,
    OfQueries,
    draw_dtype,
    pytree,
    static,
)

Box = tuple[tuple[float, ...], tuple[float, ...]]


class _Reals(BuiltIn):
    """A mechanism that releases a vector of reals, with Laplace noise in every entry."""

    epsilon: float
    _ends: ClassVar[tuple[float, float]]
    _length: ClassVar[str]

    @property
    def _dimension(self) -> int:
        return getattr(self, self._length)

    @property
    def output_space(self) -> VectorSpace:
        """Vectors of reals."""
        return VectorSpace(self._dimension)

    @property
    def standard_region(self) -> Box:
        """Box with the same interval on every axis."""
        low, high = self._ends
        return (low,) * self._dimension, (high,) * self._dimension

    def _noises(self, key: Array, num_samples: int) -> list[Array]:
        """Return Laplace noise of scale 1, as a list of arrays [num_samples], one per entry."""
        dtype = draw_dtype(self.epsilon)
        return [random.laplace(key, num_samples, row, dtype) for row in range(self._dimension)]


class _Composed(_Reals):
    """A mechanism that outputs a vector with one release of level epsilon per entry."""

    @property
    def level(self) -> float:
        """True level, which is the number of entries times epsilon."""
        return self._dimension * float(self.epsilon)


@pytree
class ParallelLaplace(_Composed, OfNumber):
    """k independent releases of a number, each with noise Lap(1 / epsilon).

    The true level is k epsilon.

    Attributes:
        epsilon: Level of one release.
        num_releases: Number k of releases.

    References:
        Dwork, McSherry, Nissim, Smith (2006), by composition.
    """

    name = "parallel-laplace"
    source = "Dwork et al. 2006, composition"
    _ends = (-1.0, 2.0)
    epsilon: float = 1.0
    num_releases: int = static(3, at_least=2)
    _length = "num_releases"

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, float [num_samples, num_releases], for a scalar database."""
        return database + jnp.stack(self._noises(key, num_samples), axis=-1) / self.epsilon


@pytree
class PrefixSum(_Composed, OfQueries):
    """The d prefix sums of the noisy answers a_i + Lap(1 / epsilon).

    Attributes:
        epsilon: Level if only one answer changes by 1. The true level is d * epsilon because all d
            answers may change.
        num_queries: Number d of answers, the length of the database.

    References:
        Wang, Ding, Wang, Kifer, Zhang (2019).
    """

    name = "prefix-sum"
    source = "Wang et al. 2019"
    epsilon: float = 1.0
    num_queries: int = static(3, at_least=2)
    _length = "num_queries"

    @property
    def standard_region(self) -> Box:
        """Box in which the i-th prefix sum ranges from -2 to i + 2, for i = 1, ..., d."""
        ends = range(1, self.num_queries + 1)
        return (-2.0,) * self.num_queries, tuple(i + 2.0 for i in ends)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, float [num_samples, num_queries], for answers [num_queries]."""
        total = jnp.zeros(num_samples, draw_dtype(self.epsilon))
        sums = []
        for i, noise in enumerate(self._noises(key, num_samples)):
            total = total + database[i] + noise / self.epsilon
            sums.append(total)
        return jnp.stack(sums, axis=-1)


@pytree
class SummedHistogramEncoding(_Reals, OfCategory):
    """Summed histogram encoding (SHE): add noise to the category's one-hot vector.

    The noise in each entry is Lap(2 / epsilon).

    Attributes:
        epsilon: True level.
        num_categories: Number k of categories; the database is the true category, in 0..k - 1.

    References:
        Wang, Blocki, Li, Jha (2017), section 4.2.
    """

    name = "summed-histogram-encoding"
    source = "Wang et al. 2017 (SHE)"
    _ends = (-2.0, 3.0)
    epsilon: float = 1.0
    num_categories: int = static(3, at_least=2)
    _length = "num_categories"

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, float [num_samples, num_categories], for a scalar category."""
        noises = self._noises(key, num_samples)
        return jnp.stack(
            [
                (database == i).astype(noise.dtype) + 2 / self.epsilon * noise
                for i, noise in enumerate(noises)
            ],
            axis=-1,
        )
