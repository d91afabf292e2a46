"""Private selection beside noisy maxima: permute-and-flip, and a choice with too little noise."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from dpjax import _random, _validate
from dpjax._types import FiniteSpace
from dpjax.databases import Pairs, query_patterns
from dpjax.mechanisms._base import draw_dtype, epsilon_level, static
from dpjax.mechanisms._noisy_max import noisy_max


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PermuteAndFlip:
    """Visits candidates in random order, takes i with chance e^(epsilon (u_i - max u) / 2).

    Attributes:
        epsilon: Level at sensitivity 1 of each score, as a supremum no pair attains.
        num_queries: Number of candidates; the database is their scores.

    References:
        McKenna, Sheldon (2020), Algorithm 1.
    """

    name: ClassVar[str] = "permute-and-flip"
    source: ClassVar[str] = "McKenna, Sheldon 2020"
    level = epsilon_level
    standard_region = None
    epsilon: float = 1.0
    num_queries: int = static(6)

    def __post_init__(self):
        _validate.positive(epsilon=self.epsilon)
        _validate.positive_int(at_least=2, num_queries=self.num_queries)

    @property
    def output_space(self) -> FiniteSpace:
        """Index of the chosen candidate."""
        return FiniteSpace(self.num_queries)

    def standard_pairs(self) -> Pairs:
        """The ten query patterns, as scores."""
        return query_patterns(self.num_queries)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for scores of shape [num_queries]."""
        dtype = draw_dtype(self.epsilon)
        chances = jnp.exp(self.epsilon * (database - jnp.max(database)) / 2)
        k = self.num_queries
        index = jnp.zeros(num_samples, jnp.int32)
        earliest = jnp.full(num_samples, 2.0, dtype)
        # The first head in a random order is the head with the least of k uniform times.
        for i in range(k):
            time = _random.uniform(key, num_samples, i, dtype)
            heads = _random.uniform(key, num_samples, k + i, dtype) <= chances[i]
            taken = heads & (time < earliest)
            index = jnp.where(taken, i, index)
            earliest = jnp.where(taken, time, earliest)
        return index


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class HalfNoiseMax:
    """argmax_i (q_i + Gumbel / epsilon), half the noise that epsilon asks for: level 2 epsilon.

    Four times the zCDP budget that it claims, as a released library once had it.

    Attributes:
        epsilon: The claimed level, for which the noise should be Gumbel times 2 / epsilon.
        num_queries: Length of the database.

    References:
        McSherry, Talwar (2007), for the scale that epsilon asks for.
    """

    name: ClassVar[str] = "half-noise-max"
    source: ClassVar[str] = "noisy max at 4x its zCDP budget (wrong)"
    standard_region = None
    epsilon: float = 1.0
    num_queries: int = static(6)

    def __post_init__(self):
        _validate.positive(epsilon=self.epsilon)
        _validate.positive_int(at_least=2, num_queries=self.num_queries)

    @property
    def level(self) -> float:
        """2 epsilon, as a supremum no pair attains."""
        return 2 * float(self.epsilon)

    @property
    def output_space(self) -> FiniteSpace:
        """Index of the chosen query."""
        return FiniteSpace(self.num_queries)

    def standard_pairs(self) -> Pairs:
        """The ten query patterns."""
        return query_patterns(self.num_queries)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for answers of shape [num_queries]."""
        return noisy_max(_random.gumbel, key, database, 1 / self.epsilon, num_samples)[0]
