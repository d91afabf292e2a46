"""The sparse vector technique in the variants of Lyu, Su and Li that have discrete outputs.

One table holds what tells the variants apart; one sampler runs them all.

Notation: D = 1 is the sensitivity, c the number of positives after which a stopping variant stops,
eps1 = share * epsilon the part of the budget that the threshold takes, eps2 = epsilon - eps1.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from dpjax import _random, _validate
from dpjax._types import FiniteSpace
from dpjax.databases import Pairs, query_patterns
from dpjax.mechanisms._base import draw_dtype, epsilon_level, static


class Noise(NamedTuple):
    """Scales at epsilon = 1 and the stopping rule of a variant.

    Attributes:
        threshold: Scale of the threshold's noise.
        query: Scale of each query's noise, 0 for none.
        redraw: Scale of the threshold's noise after a positive, 0 where it is kept.
        stops: Whether it stops at c positives.
    """

    threshold: float
    query: float
    redraw: float
    stops: bool


def _sample(mechanism, noise: Noise, key: Array, answers: Array, num_samples: int) -> Array:
    """Index of the first positive (num_queries for none) if c = 1 stops it, else the pattern.

    A pattern has bit i set where query i was reported above the threshold.
    """
    k, c = mechanism.num_queries, mechanism.max_positives
    dtype = draw_dtype(mechanism.epsilon)
    unit = 1 / jnp.asarray(mechanism.epsilon, dtype)

    def threshold_at(row, scale):
        return mechanism.threshold + scale * unit * _random.laplace(key, num_samples, row, dtype)

    threshold = threshold_at(0, noise.threshold)
    code = jnp.zeros(num_samples, jnp.int32)
    positives = jnp.zeros(num_samples, jnp.int32)
    first = jnp.full(num_samples, k, jnp.int32)
    # Unrolled, so that XLA makes one kernel of it; see _noisy_max.
    for i in range(k):
        value = answers[i]
        if noise.query:
            value = value + noise.query * unit * _random.laplace(key, num_samples, i + 1, dtype)
        positive = value >= threshold
        if noise.stops and c == 1:
            first = jnp.where(positive & (first == k), i, first)
            continue
        if noise.stops:
            positive &= positives < c
            positives += positive
        if noise.redraw:
            threshold = jnp.where(positive, threshold_at(k + 1 + i, noise.redraw), threshold)
        code |= positive.astype(jnp.int32) << i
    return first if noise.stops and c == 1 else code


def _outcomes(mechanism, stops: bool) -> FiniteSpace:
    one_positive = stops and mechanism.max_positives == 1
    return FiniteSpace(mechanism.num_queries + 1 if one_positive else 2**mechanism.num_queries)


def _check(mechanism) -> None:
    _validate.positive(epsilon=mechanism.epsilon)
    _validate.finite(threshold=mechanism.threshold)
    _validate.positive_int(num_queries=mechanism.num_queries)
    _validate.positive_int(max_positives=mechanism.max_positives)
    if mechanism.num_queries > 20:
        raise ValueError(
            f"num_queries must be at most 20 (2^20 outcomes), but was {mechanism.num_queries}."
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SVT1:
    """Sparse vector, variant 1: Lap(2 / eps) on the threshold, Lap(4 c / eps) on queries.

    Attributes:
        epsilon: True level, as a supremum no pair attains.
        threshold: T.
        num_queries: Length of the database.
        max_positives: c.

    References:
        Lyu, Su, Li (2017), Algorithm 1.
    """

    name: ClassVar[str] = "svt1"
    source: ClassVar[str] = "Lyu et al. 2017, Alg. 1"
    level = epsilon_level
    standard_region = None
    epsilon: float = 1.0
    threshold: float = 1.0
    num_queries: int = static(10)
    max_positives: int = static(1)

    def __post_init__(self):
        _check(self)

    @property
    def noise(self) -> Noise:
        """Scales at epsilon = 1."""
        return Noise(2, 4 * self.max_positives, 0, True)

    @property
    def output_space(self) -> FiniteSpace:
        """Index of the first positive or none; patterns where c > 1."""
        return _outcomes(self, stops=True)

    def standard_pairs(self) -> Pairs:
        """The ten query patterns."""
        return query_patterns(self.num_queries)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for answers of shape [num_queries]."""
        return _sample(self, self.noise, key, database, num_samples)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SVT2:
    """Sparse vector, variant 2: the threshold's noise is redrawn after each positive.

    Attributes:
        epsilon: True level, as a supremum no pair attains.
        threshold: T.
        num_queries: Length of the database.
        max_positives: c.

    References:
        Lyu, Su, Li (2017), Algorithm 2; Askin, Kutta, Dette (2022), experiment (e).
    """

    name: ClassVar[str] = "svt2"
    source: ClassVar[str] = "Lyu et al. 2017, Alg. 2"
    level = epsilon_level
    standard_region = None
    epsilon: float = 1.0
    threshold: float = 1.0
    num_queries: int = static(10)
    max_positives: int = static(1)

    def __post_init__(self):
        _check(self)

    @property
    def noise(self) -> Noise:
        """Scales at epsilon = 1."""
        c = self.max_positives
        return Noise(2 * c, 4 * c, 2 * c, True)

    @property
    def output_space(self) -> FiniteSpace:
        """Index of the first positive or none; patterns where c > 1."""
        return _outcomes(self, stops=True)

    def standard_pairs(self) -> Pairs:
        """The ten query patterns."""
        return query_patterns(self.num_queries)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for answers of shape [num_queries]."""
        return _sample(self, self.noise, key, database, num_samples)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SVT4:
    """Sparse vector, variant 4: the queries' noise forgets c. True level (1 + 6 c) / 4 epsilon.

    Attributes:
        epsilon: What the author meant the level to be; see `at_level`.
        threshold: T.
        num_queries: Length of the database.
        max_positives: c.

    References:
        Lyu, Su, Li (2017), Algorithm 4; Askin, Kutta, Dette (2022), experiment (f).
    """

    name: ClassVar[str] = "svt4"
    source: ClassVar[str] = "Lyu et al. 2017, Alg. 4 (wrong)"
    standard_region = None
    epsilon: float = 1.0
    threshold: float = 1.0
    num_queries: int = static(10)
    max_positives: int = static(1)

    def __post_init__(self):
        _check(self)

    @classmethod
    def at_level(cls, level: float, max_positives: int = 1, **parameters) -> "SVT4":
        """The variant with its epsilon set so that its true level is `level`."""
        _validate.positive(level=level)
        epsilon = level * 4 / (1 + 6 * max_positives)
        return cls(epsilon=epsilon, max_positives=max_positives, **parameters)

    @property
    def level(self) -> float:
        """(1 + 6 c) / 4 epsilon."""
        return (1 + 6 * self.max_positives) / 4 * float(self.epsilon)

    @property
    def noise(self) -> Noise:
        """Scales at epsilon = 1."""
        return Noise(4, 4 / 3, 0, True)

    @property
    def output_space(self) -> FiniteSpace:
        """Index of the first positive or none; patterns where c > 1."""
        return _outcomes(self, stops=True)

    def standard_pairs(self) -> Pairs:
        """The ten query patterns."""
        return query_patterns(self.num_queries)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for answers of shape [num_queries]."""
        return _sample(self, self.noise, key, database, num_samples)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SVT5:
    """Sparse vector, variant 5: no noise on the queries, never stops. No level.

    Attributes:
        epsilon: What the author meant the level to be.
        threshold: T.
        num_queries: Length of the database.

    References:
        Lyu, Su, Li (2017), Algorithm 5; Askin, Kutta, Dette (2022), experiment (g).
    """

    name: ClassVar[str] = "svt5"
    source: ClassVar[str] = "Lyu et al. 2017, Alg. 5 (wrong)"
    max_positives: ClassVar[int] = 1
    level = math.inf
    standard_region = None
    noise: ClassVar[Noise] = Noise(2, 0, 0, False)
    epsilon: float = 1.0
    threshold: float = 1.0
    num_queries: int = static(10)

    def __post_init__(self):
        _check(self)

    @property
    def output_space(self) -> FiniteSpace:
        """Patterns of reports."""
        return _outcomes(self, stops=False)

    def standard_pairs(self) -> Pairs:
        """The ten query patterns."""
        return query_patterns(self.num_queries)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for answers of shape [num_queries]."""
        return _sample(self, self.noise, key, database, num_samples)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SVT6:
    """Sparse vector, variant 6: Lap(2 / eps) on threshold and queries, never stops.

    Its level grows with the queries: num_queries epsilon / 2, approached and not attained.

    Attributes:
        epsilon: What the author meant the level to be.
        threshold: T.
        num_queries: Length of the database.

    References:
        Lyu, Su, Li (2017), Algorithm 6; Askin, Kutta, Dette (2022), experiment (h).
    """

    name: ClassVar[str] = "svt6"
    source: ClassVar[str] = "Lyu et al. 2017, Alg. 6 (wrong)"
    max_positives: ClassVar[int] = 1
    standard_region = None
    noise: ClassVar[Noise] = Noise(2, 2, 0, False)
    epsilon: float = 1.0
    threshold: float = 1.0
    num_queries: int = static(10)

    def __post_init__(self):
        _check(self)

    @property
    def level(self) -> float:
        """num_queries epsilon / 2."""
        return self.num_queries * float(self.epsilon) / 2

    @property
    def output_space(self) -> FiniteSpace:
        """Patterns of reports."""
        return _outcomes(self, stops=False)

    def standard_pairs(self) -> Pairs:
        """The ten query patterns."""
        return query_patterns(self.num_queries)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for answers of shape [num_queries]."""
        return _sample(self, self.noise, key, database, num_samples)
