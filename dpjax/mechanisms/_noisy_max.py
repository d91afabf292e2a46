"""Noisy maxima: which query is largest, or how large it is, under several noises."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax import _random, _validate
from dpjax._types import FiniteSpace, RealSpace
from dpjax.databases import Pairs, query_patterns, shifts
from dpjax.mechanisms._base import draw_dtype, epsilon_level, static


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ReportNoisyMax:
    """argmax_i (q_i + Lap(2 / epsilon)): true level epsilon, as a supremum no pair attains.

    Attributes:
        epsilon: Level at sensitivity 1 of each query.
        num_queries: Length of the database.

    References:
        Ding et al. (2018), Algorithm 5; Askin, Kutta, Dette (2022), experiment (b).
    """

    name: ClassVar[str] = "report-noisy-max"
    source: ClassVar[str] = "Ding et al. 2018, Alg. 5"
    level = epsilon_level
    standard_region = None
    epsilon: float = 1.0
    num_queries: int = static(6)

    def __post_init__(self):
        _check_queries(self)

    @property
    def output_space(self) -> FiniteSpace:
        """Index of the chosen query."""
        return FiniteSpace(self.num_queries)

    def standard_pairs(self) -> Pairs:
        """The ten query patterns."""
        return query_patterns(self.num_queries)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for answers of shape [num_queries]."""
        return noisy_max(_random.laplace, key, database, 2 / self.epsilon, num_samples)[0]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ReportNoisyMax2:
    """argmax_i (q_i + Exp(2 / epsilon)), one-sided noise: true level epsilon.

    Attributes:
        epsilon: Level at sensitivity 1 of each query.
        num_queries: Length of the database.

    References:
        Ding et al. (2018), Algorithm 6.
    """

    name: ClassVar[str] = "report-noisy-max-2"
    source: ClassVar[str] = "Ding et al. 2018, Alg. 6"
    level = epsilon_level
    standard_region = None
    epsilon: float = 1.0
    num_queries: int = static(6)

    def __post_init__(self):
        _check_queries(self)

    @property
    def output_space(self) -> FiniteSpace:
        """Index of the chosen query."""
        return FiniteSpace(self.num_queries)

    def standard_pairs(self) -> Pairs:
        """The ten query patterns."""
        return query_patterns(self.num_queries)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for answers of shape [num_queries]."""
        return noisy_max(_random.exponential, key, database, 2 / self.epsilon, num_samples)[0]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ReportNoisyMax3:
    """The noisy maximum itself, max_i (q_i + Lap(2 / epsilon)): true level d epsilon / 2.

    Attributes:
        epsilon: What the author meant the level to be; with d queries it is d epsilon / 2.
        num_queries: d, the length of the database.

    References:
        Ding et al. (2018), Algorithm 7.
    """

    name: ClassVar[str] = "report-noisy-max-3"
    source: ClassVar[str] = "Ding et al. 2018, Alg. 7 (wrong)"
    output_space = RealSpace()
    standard_region = (-1.0, 3.0)
    epsilon: float = 1.0
    num_queries: int = static(6)

    def __post_init__(self):
        _check_queries(self)

    @property
    def level(self) -> float:
        """num_queries epsilon / 2."""
        return self.num_queries * float(self.epsilon) / 2

    def standard_pairs(self) -> Pairs:
        """All answers 0 against all b / 10."""
        return shifts(np.zeros(self.num_queries))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Reals of shape [num_samples] for answers of shape [num_queries]."""
        return noisy_max(_random.laplace, key, database, 2 / self.epsilon, num_samples)[1]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ReportNoisyMax4:
    """The maximum itself of one-sided noise, max_i (q_i + Exp(2 / epsilon)): no level.

    Attributes:
        epsilon: What the author meant the level to be.
        num_queries: Length of the database.

    References:
        Ding et al. (2018), Algorithm 8.
    """

    name: ClassVar[str] = "report-noisy-max-4"
    source: ClassVar[str] = "Ding et al. 2018, Alg. 8 (wrong)"
    output_space = RealSpace()
    standard_region = (0.0, 4.0)
    epsilon: float = 1.0
    num_queries: int = static(6)

    def __post_init__(self):
        _check_queries(self)

    @property
    def level(self) -> float:
        """Infinite: the smallest possible output moves with the database."""
        return math.inf

    def standard_pairs(self) -> Pairs:
        """All answers 0 against all b / 10."""
        return shifts(np.zeros(self.num_queries))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Reals of shape [num_samples] for answers of shape [num_queries]."""
        return noisy_max(_random.exponential, key, database, 2 / self.epsilon, num_samples)[1]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ContinuousNoisyMax:
    """max_i (v_i + Lap(k / epsilon)) over k statistics: true level epsilon.

    Attributes:
        epsilon: True level k lambda, with lambda the rate of the noise.
        num_queries: k, the length of the database.

    References:
        Askin, Kutta, Dette (2022), Example 1 and experiment (c).
    """

    name: ClassVar[str] = "continuous-noisy-max"
    source: ClassVar[str] = "Askin et al. 2022, Example 1"
    level = epsilon_level
    output_space = RealSpace()
    standard_region = (-1.0, 1.0)
    epsilon: float = 1.0
    num_queries: int = static(3)

    def __post_init__(self):
        _check_queries(self)

    def standard_pairs(self) -> Pairs:
        """(0, .., 0) against (b / 10)(1, .., 1), b = 1..10."""
        return shifts(np.zeros(self.num_queries))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Reals of shape [num_samples] for statistics of shape [num_queries]."""
        scale = self.num_queries / self.epsilon
        return noisy_max(_random.laplace, key, database, scale, num_samples)[1]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FiniteExponential:
    """Chooses candidate i with probability proportional to e^(epsilon u_i / 2), by Gumbel noise.

    Attributes:
        epsilon: Level at sensitivity 1 of each score, as a supremum no pair attains.
        num_queries: Number of candidates; the database is their scores.

    References:
        McSherry, Talwar (2007).
    """

    name: ClassVar[str] = "finite-exponential"
    source: ClassVar[str] = "McSherry, Talwar 2007"
    level = epsilon_level
    standard_region = None
    epsilon: float = 1.0
    num_queries: int = static(6)

    def __post_init__(self):
        _check_queries(self)

    @property
    def output_space(self) -> FiniteSpace:
        """Index of the chosen candidate."""
        return FiniteSpace(self.num_queries)

    def standard_pairs(self) -> Pairs:
        """The ten query patterns, as scores."""
        return query_patterns(self.num_queries)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for scores of shape [num_queries]."""
        return noisy_max(_random.gumbel, key, database, 2 / self.epsilon, num_samples)[0]


def _check_queries(mechanism) -> None:
    _validate.positive(epsilon=mechanism.epsilon)
    _validate.positive_int(at_least=2, num_queries=mechanism.num_queries)


def noisy_max(
    noise: Callable, key: Array, answers: Array, scale: Array | float, num_samples: int
) -> tuple[Array, Array]:
    """Index and value of the largest of answers + scale * noise, each of shape [num_samples].

    The loop over queries is unrolled: XLA then makes one kernel that never stores the noises, ten
    times faster on CPU than an argmax over a [queries, samples] array.
    """
    dtype = draw_dtype(scale)
    index = jnp.zeros(num_samples, jnp.int32)
    best = answers[0] + scale * noise(key, num_samples, 0, dtype)
    for i in range(1, answers.shape[0]):
        value = answers[i] + scale * noise(key, num_samples, i, dtype)
        index = jnp.where(value > best, i, index)
        best = jnp.maximum(value, best)
    return index, best
