"""Sparse vector variants that tell a number with the positive: mixed outputs.

All stop at their first positive (c = 1). An output is (index of the positive, what was told with
it), or (num_queries, 0) where none was reported.

Notation: D = 1 is the sensitivity; scales are those at epsilon = 1.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from dpjax import _random, _validate
from dpjax._types import MixedSpace
from dpjax.databases import Pairs, query_patterns
from dpjax.mechanisms._base import draw_dtype, epsilon_level, static
from dpjax.mechanisms._sparse_vector import SVT4


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SVT3:
    """Sparse vector, variant 3: tells the noisy answer that was compared with the threshold.

    A small number told says that the noisy threshold lay below it, so the other answers are tied
    to it: the level grows with the queries, num_queries epsilon / 2, without limit.

    Attributes:
        epsilon: What the author meant the level to be.
        threshold: T.
        num_queries: Length of the database.

    References:
        Lyu, Su, Li (2017), Algorithm 3, with c = 1.
    """

    name: ClassVar[str] = "svt3"
    source: ClassVar[str] = "Lyu et al. 2017, Alg. 3 (wrong)"
    standard_region = (-3.0, 5.0)
    epsilon: float = 1.0
    threshold: float = 1.0
    num_queries: int = static(10)

    def __post_init__(self):
        _check(self)

    @property
    def level(self) -> float:
        """num_queries epsilon / 2, attained where all answers move alike."""
        return self.num_queries * float(self.epsilon) / 2

    @property
    def output_space(self) -> MixedSpace:
        """Index of the positive with its noisy answer, or none."""
        return MixedSpace(self.num_queries + 1)

    def standard_pairs(self) -> Pairs:
        """The ten query patterns."""
        return query_patterns(self.num_queries)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Reals of shape [num_samples, 2] for answers of shape [num_queries]."""
        index, _, told = _first_positive(self, 2, 2, key, database, num_samples)
        return jnp.stack([index.astype(told.dtype), told], axis=-1)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NumericalSVT:
    """Numerical sparse vector: tells the positive's answer with fresh noise. True level epsilon.

    Lap(3 / eps) on the threshold, Lap(6 / eps) on queries, Lap(3 / eps) on the answer told.

    Attributes:
        epsilon: True level, as a supremum no pair attains.
        threshold: T.
        num_queries: Length of the database.

    References:
        Wang, Ding, Wang, Kifer, Zhang (2019), with c = 1; Dwork, Roth (2014), Algorithm 3.
    """

    name: ClassVar[str] = "numerical-svt"
    source: ClassVar[str] = "Wang et al. 2019"
    level = epsilon_level
    standard_region = (-3.0, 5.0)
    epsilon: float = 1.0
    threshold: float = 1.0
    num_queries: int = static(10)

    def __post_init__(self):
        _check(self)

    @property
    def output_space(self) -> MixedSpace:
        """Index of the positive with a noisy answer, or none."""
        return MixedSpace(self.num_queries + 1)

    def standard_pairs(self) -> Pairs:
        """The ten query patterns."""
        return query_patterns(self.num_queries)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Reals of shape [num_samples, 2] for answers of shape [num_queries]."""
        index, answer, _ = _first_positive(self, 3, 6, key, database, num_samples)
        dtype = draw_dtype(self.epsilon)
        noise = _random.laplace(key, num_samples, self.num_queries + 1, dtype)
        told = jnp.where(index < self.num_queries, answer + 3 / self.epsilon * noise, 0)
        return jnp.stack([index.astype(dtype), told], axis=-1)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SVT3And4:
    """Variants 3 and 4 on the same answers, with independent noise; both outputs are told.

    The label is (index of variant 3) (num_queries + 1) + index of variant 4, the number is that
    of variant 3. The level grows with the queries without limit: their sum.

    Attributes:
        epsilon: What the author meant the level of each to be.
        threshold: T.
        num_queries: Length of the database.

    References:
        Lyu, Su, Li (2017), Algorithms 3 and 4; Bichsel, Steffen, Bogunovic, Vechev (2021).
    """

    name: ClassVar[str] = "svt3-svt4"
    source: ClassVar[str] = "Bichsel et al. 2021 (wrong)"
    standard_region = (-3.0, 5.0)
    epsilon: float = 1.0
    threshold: float = 1.0
    num_queries: int = static(10)

    def __post_init__(self):
        _check(self)

    @property
    def parts(self) -> tuple[SVT3, SVT4]:
        """The two variants."""
        arguments = (self.epsilon, self.threshold, self.num_queries)
        return SVT3(*arguments), SVT4(*arguments)

    @property
    def level(self) -> float:
        """(num_queries / 2 + 7 / 4) epsilon, as a supremum no pair attains."""
        return sum(part.level for part in self.parts)

    @property
    def output_space(self) -> MixedSpace:
        """Both indices with the noisy answer of variant 3."""
        return MixedSpace((self.num_queries + 1) ** 2)

    def standard_pairs(self) -> Pairs:
        """The ten query patterns."""
        return query_patterns(self.num_queries)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Reals of shape [num_samples, 2] for answers of shape [num_queries]."""
        third, fourth = self.parts
        mixed = third.sample(_random.fold_in(key, 3), database, num_samples)
        index = fourth.sample(_random.fold_in(key, 4), database, num_samples)
        label = mixed[:, 0] * (self.num_queries + 1) + index.astype(mixed.dtype)
        return jnp.stack([label, mixed[:, 1]], axis=-1)


def _first_positive(
    mechanism: Any,
    threshold_scale: float,
    query_scale: float,
    key: Array,
    answers: Array,
    num_samples: int,
) -> tuple[Array, Array, Array]:
    """Index of the first positive (num_queries for none), its answer, and that with its noise.

    Scales are at epsilon = 1. Each of shape [num_samples]; both numbers are 0 where there is none.
    """
    k, dtype = mechanism.num_queries, draw_dtype(mechanism.epsilon)
    unit = 1 / jnp.asarray(mechanism.epsilon, dtype)
    noise = _random.laplace(key, num_samples, 0, dtype)
    threshold = mechanism.threshold + threshold_scale * unit * noise
    index = jnp.full(num_samples, k, jnp.int32)
    answer = noisy_answer = jnp.zeros(num_samples, dtype)
    # Unrolled, so that XLA makes one kernel of it; see _noisy_max.
    for i in range(k):
        noise = _random.laplace(key, num_samples, i + 1, dtype)
        noisy = answers[i] + query_scale * unit * noise
        first = (noisy >= threshold) & (index == k)
        index = jnp.where(first, i, index)
        answer = jnp.where(first, answers[i], answer)
        noisy_answer = jnp.where(first, noisy, noisy_answer)
    return index, answer, noisy_answer


def _check(mechanism: Any) -> None:
    _validate.positive(epsilon=mechanism.epsilon)
    _validate.finite(threshold=mechanism.threshold)
    _validate.positive_int(num_queries=mechanism.num_queries)
