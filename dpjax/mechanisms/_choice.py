"""Mechanisms whose output is a category or a bit: randomized response, two-point."""

import math

import jax.numpy as jnp
from jax import Array

from dpjax.core import random
from dpjax.core.types import FiniteSpace
from dpjax.mechanisms._base import OfCategory, OfInteger, draw_dtype, pytree, static


def respond(u: Array, truth: Array, epsilon: Array | float, num_categories: int) -> Array:
    """Return k-ary randomized responses, int32, computed from uniform draws u in (0, 1]."""
    others = num_categories - 1
    # If u <= others / (others + e^epsilon), the response is another category, chosen uniformly.
    share = 1 / (others + jnp.exp(jnp.asarray(epsilon, u.dtype)))
    step = jnp.ceil(u / share).astype(jnp.int32)
    return jnp.where(step <= others, (truth + step) % num_categories, truth)


@pytree
class RandomizedResponse(OfCategory):
    """k-ary randomized response: the true answer is e^epsilon times as likely as any other answer.

    In local differential privacy, the mechanism is called generalized randomized response (GRR).

    Attributes:
        epsilon: True level.
        num_categories: Number k of categories; the database is the true category, in 0..k - 1.

    References:
        Kairouz, Oh, Viswanath (2016).
    """

    name = "randomized-response"
    source = "Kairouz et al. 2016"
    epsilon: float = 1.0
    num_categories: int = static(2, at_least=2)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, int32 [num_samples], for a scalar category."""
        u = random.uniform(key, num_samples, dtype=draw_dtype(self.epsilon))
        truth = jnp.asarray(database).astype(jnp.int32)
        return respond(u, truth, self.epsilon, self.num_categories)


@pytree
class TwoPoint(OfInteger):
    """A mechanism whose output is 1 with a tiny probability that depends on the database, else 0.

    The answer 1 has probability e^-log_rarity under database 0, and e^-(log_rarity + ratio) under
    database 1. No feasible number of draws reveals the difference between the two probabilities.

    Attributes:
        log_rarity: Negative natural logarithm of the probability of the answer 1 under database 0.
        ratio: Logarithm of the ratio of the two probabilities of the answer 1. The value of `ratio`
            equals the true level if the answer 1 is rare.

    References:
        Gorla et al., Theorems 1 and 5; Askin, Kutta, Dette (2022), Example 2.
    """

    name = "two-point"
    source = "Gorla et al., Theorem 1"
    output_space = FiniteSpace(2)
    log_rarity: float = 20.0
    ratio: float = 5.0

    @property
    def level(self) -> float:
        """True level: the larger of the privacy losses of the two answers."""
        rare, rarer = -math.expm1(-self.log_rarity), -math.expm1(-(self.log_rarity + self.ratio))
        return max(float(self.ratio), math.log(rarer) - math.log(rare))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, int32 [num_samples], for a scalar database 0 or 1."""
        dtype = draw_dtype(self.log_rarity, self.ratio)
        needed = self.log_rarity + self.ratio * jnp.asarray(database).astype(dtype)
        return (random.exponential(key, num_samples) > needed).astype(jnp.int32)
