"""Private selection: permute-and-flip, and noisy maxima that are reported as an index or a value.

All noisy maxima share the same sampler; a table states each mechanism's noise and true level.
"""

import math
from collections.abc import Callable
from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import random
from dpjax.core.types import FiniteSpace, RealSpace
from dpjax.databases import Pairs, query_patterns, shifts
from dpjax.mechanisms._base import OfQueries, draw_dtype, pytree, static


class Rule(NamedTuple):
    """Definition of a noisy maximum.

    Attributes:
        noise: Distribution of the noise added to every answer.
        scale: Scale of the noise at epsilon = 1.
        told: Output of the mechanism, either the "index" or the "value" of the largest noisy
            answer.
        level: True level at epsilon = 1.
    """

    noise: Literal["laplace", "exponential", "gumbel"]
    scale: float
    told: Literal["index", "value"]
    level: float


_RULES: dict[str, Callable[[int], Rule]] = {
    "report-noisy-max": lambda k: Rule("laplace", 2, "index", level=1),
    "report-noisy-max-2": lambda k: Rule("exponential", 2, "index", level=1),
    "report-noisy-max-3": lambda k: Rule("laplace", 2, "value", level=k / 2),
    "report-noisy-max-4": lambda k: Rule("exponential", 2, "value", level=math.inf),
    "continuous-noisy-max": lambda k: Rule("laplace", k, "value", level=1),
    "finite-exponential": lambda k: Rule("gumbel", 2, "index", level=1),
    "half-noise-max": lambda k: Rule("gumbel", 1, "index", level=2),
}
"""Dictionary from mechanism names to functions that return the `Rule` for k queries."""


@pytree
class NoisyMax(OfQueries):
    """The largest of k noisy answers, as defined by a `Rule`.

    Attributes:
        epsilon: Claimed level if each query has sensitivity 1. The true level is `level`.
        num_queries: Number k of queries, the length of the database.
    """

    epsilon: float = 1.0
    num_queries: int = static(6, at_least=2)

    @property
    def rule(self) -> Rule:
        """The `Rule` that defines the mechanism."""
        return _RULES[self.name](self.num_queries)

    @property
    def level(self) -> float:
        """True level, which is the supremum over all pairs of neighboring databases."""
        return self.rule.level * float(self.epsilon)

    @property
    def output_space(self) -> FiniteSpace | RealSpace:
        """Space of query indices or space of real numbers, depending on the rule."""
        return FiniteSpace(self.num_queries) if self.rule.told == "index" else RealSpace()

    def standard_pairs(self) -> Pairs:
        """Return ten pairs of query answers.

        If outputs are indices, the pairs have typical patterns of changed answers. If outputs are
        values, all answers are shifted by the same amount.
        """
        if self.rule.told == "index":
            return query_patterns(self.num_queries)
        return shifts(np.zeros(self.num_queries))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, int32 or float [num_samples], for answers [num_queries]."""
        scale = self.rule.scale / self.epsilon
        dtype, noise = draw_dtype(scale), getattr(random, self.rule.noise)
        index = jnp.zeros(num_samples, jnp.int32)
        best = database[0] + scale * noise(key, num_samples, 0, dtype)
        # The loop is unrolled, so that XLA compiles it to one kernel that never stores the noise.
        # On a CPU, such a kernel is ten times faster than an argmax over an array
        # [queries, samples].
        for i in range(1, database.shape[0]):
            value = database[i] + scale * noise(key, num_samples, i, dtype)
            index = jnp.where(value > best, i, index)
            best = jnp.maximum(value, best)
        return index if self.rule.told == "index" else best


@pytree
class ReportNoisyMax(NoisyMax):
    """Output argmax_i (q_i + Lap(2 / epsilon)); the true level is epsilon, which no pair attains.

    References:
        Ding et al. (2018), Algorithm 5; Askin, Kutta, Dette (2022), experiment (b).
    """

    name = "report-noisy-max"
    source = "Ding et al. 2018, Alg. 5"


@pytree
class ReportNoisyMax2(NoisyMax):
    """Output argmax_i (q_i + Exp(2 / epsilon)), with one-sided noise; the true level is epsilon.

    References:
        Ding et al. (2018), Algorithm 6.
    """

    name = "report-noisy-max-2"
    source = "Ding et al. 2018, Alg. 6"


@pytree
class ReportNoisyMax3(NoisyMax):
    """Output max_i (q_i + Lap(2 / epsilon)); the true level is num_queries * epsilon / 2.

    References:
        Ding et al. (2018), Algorithm 7.
    """

    name = "report-noisy-max-3"
    source = "Ding et al. 2018, Alg. 7 (wrong)"
    standard_region = (-1.0, 3.0)


@pytree
class ReportNoisyMax4(NoisyMax):
    """Output max_i (q_i + Exp(2 / epsilon)), with one-sided noise.

    The mechanism has no finite level because the smallest possible output depends on the database.

    References:
        Ding et al. (2018), Algorithm 8.
    """

    name = "report-noisy-max-4"
    source = "Ding et al. 2018, Alg. 8 (wrong)"
    standard_region = (0.0, 4.0)


@pytree
class ContinuousNoisyMax(NoisyMax):
    """Output max_i (v_i + Lap(k / epsilon)) over k statistics; the true level is epsilon.

    The number k of statistics is `num_queries`.

    References:
        Askin, Kutta, Dette (2022), Example 1 and experiment (c); the authors write k lambda for
        epsilon.
    """

    name = "continuous-noisy-max"
    source = "Askin et al. 2022, Example 1"
    standard_region = (-1.0, 1.0)
    num_queries: int = static(3, at_least=2)


@pytree
class FiniteExponential(NoisyMax):
    """Choose candidate i with probability proportional to e^(epsilon u_i / 2), using Gumbel noise.

    The database is the vector u of scores. No pair of databases attains the true level, epsilon.

    References:
        McSherry, Talwar (2007).
    """

    name = "finite-exponential"
    source = "McSherry, Talwar 2007"


@pytree
class HalfNoiseMax(NoisyMax):
    """Output argmax_i (q_i + Gumbel / epsilon), with half the necessary noise scale.

    The true level is 2 epsilon, and the mechanism spends four times its claimed zCDP budget. A
    released version of a library once used this wrong noise scale.

    References:
        McSherry, Talwar (2007), for the necessary scale 2 / epsilon.
    """

    name = "half-noise-max"
    source = "noisy max at 4x its zCDP budget (wrong)"


@pytree
class PermuteAndFlip(OfQueries):
    """Visit candidates in random order, and choose the first candidate whose coin lands heads.

    The coin of candidate i lands heads with probability e^(epsilon (u_i - max u) / 2), where u is
    the vector of scores.

    Attributes:
        epsilon: True level if each score has sensitivity 1.
        num_queries: Number of candidates; the database is the vector of their scores.

    References:
        McKenna, Sheldon (2020), Algorithm 1.
    """

    name = "permute-and-flip"
    source = "McKenna, Sheldon 2020"
    epsilon: float = 1.0
    num_queries: int = static(6, at_least=2)

    @property
    def output_space(self) -> FiniteSpace:
        """Space of candidate indices."""
        return FiniteSpace(self.num_queries)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, int32 [num_samples], for scores [num_queries]."""
        dtype, k = draw_dtype(self.epsilon), self.num_queries
        chances = jnp.exp(self.epsilon * (database - jnp.max(database)) / 2)
        index = jnp.zeros(num_samples, jnp.int32)
        earliest = jnp.full(num_samples, 2.0, dtype)
        # Each candidate is visited at a uniform random time and flips a coin. Among the candidates
        # whose coins land heads, the one visited first is chosen.
        for i in range(k):
            time = random.uniform(key, num_samples, i, dtype)
            heads = random.uniform(key, num_samples, k + i, dtype) <= chances[i]
            taken = heads & (time < earliest)
            index = jnp.where(taken, i, index)
            earliest = jnp.where(taken, time, earliest)
        return index
