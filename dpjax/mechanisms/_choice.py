"""Mechanisms with a category or a bit for an answer: randomised response, two-point."""

import math
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from dpjax import _random, _validate
from dpjax._types import FiniteSpace
from dpjax.databases import Pairs, all_pairs
from dpjax.mechanisms._base import draw_dtype, epsilon_level, static


def respond(u: Array, truth: Array, epsilon: Array | float, num_categories: int) -> Array:
    """k-ary randomised response by inversion: int32, from uniforms on (0, 1] and the true ones."""
    others = num_categories - 1
    # The mass below p_lie = others / (others + e^epsilon), in equal shares, is a lie.
    share = 1 / (others + jnp.exp(jnp.asarray(epsilon, u.dtype)))
    step = jnp.ceil(u / share).astype(jnp.int32)
    return jnp.where(step <= others, (truth + step) % num_categories, truth)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class RandomizedResponse:
    """k-ary randomised response: the truth with odds e^epsilon to 1 against each other answer.

    Among local protocols it is called generalised randomised response (GRR).

    Attributes:
        epsilon: True level.
        num_categories: k; the database is the true category 0..k - 1.

    References:
        Kairouz, Oh, Viswanath (2016).
    """

    name: ClassVar[str] = "randomized-response"
    source: ClassVar[str] = "Kairouz et al. 2016"
    level = epsilon_level
    standard_region = None
    epsilon: float = 1.0
    num_categories: int = static(2)

    def __post_init__(self):
        _validate.positive(epsilon=self.epsilon)
        _validate.positive_int(at_least=2, num_categories=self.num_categories)

    @property
    def output_space(self) -> FiniteSpace:
        """The k categories."""
        return FiniteSpace(self.num_categories)

    def standard_pairs(self) -> Pairs:
        """Every pair of categories."""
        return all_pairs(range(self.num_categories))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for a scalar category."""
        u = _random.uniform(key, num_samples, dtype=draw_dtype(self.epsilon))
        truth = jnp.asarray(database).astype(jnp.int32)
        return respond(u, truth, self.epsilon, self.num_categories)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TwoPoint:
    """Answers 1 with a tiny probability that differs by e^ratio: a leak that no sampler sees.

    Database 0 answers 1 with probability e^-log_rarity, database 1 with e^-(log_rarity + ratio).

    Attributes:
        log_rarity: -ln of the probability at database 0.
        ratio: True level, as long as the answer 1 stays rare.

    References:
        Gorla et al., Theorems 1 and 5; Askin, Kutta, Dette (2022), Example 2.
    """

    name: ClassVar[str] = "two-point"
    source: ClassVar[str] = "Gorla et al., Theorem 1"
    standard_region = None
    log_rarity: float = 20.0
    ratio: float = 5.0

    def __post_init__(self):
        _validate.positive(log_rarity=self.log_rarity, ratio=self.ratio)

    @property
    def output_space(self) -> FiniteSpace:
        """0 or 1."""
        return FiniteSpace(2)

    @property
    def level(self) -> float:
        """The larger of the losses at the two answers."""
        rare, rarer = math.exp(-self.log_rarity), math.exp(-(self.log_rarity + self.ratio))
        return max(float(self.ratio), math.log1p(-rarer) - math.log1p(-rare))

    def standard_pairs(self) -> Pairs:
        """Database 0 against database 1."""
        return Pairs([0], [1])

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for a scalar database 0 or 1."""
        needed = self.log_rarity + self.ratio * database
        return (_random.exponential(key, num_samples) > needed).astype(jnp.int32)
