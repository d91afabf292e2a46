"""Protocols for local differential privacy: unary encodings, local hashing, subset selection.

Two other local protocols are in other modules: generalized randomized response is
`RandomizedResponse`, and histogram encoding without a threshold is `SummedHistogramEncoding`.
Outputs that are bit vectors or pairs (hash function, answer) are encoded as integers.
"""

import math
from collections.abc import Iterable

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core import random, validate
from dpjax.core.types import FiniteSpace
from dpjax.mechanisms._base import OfCategory, draw_dtype, leaf, pytree, static
from dpjax.mechanisms._choice import respond

MOST_BITS = 20
"""Maximum number of bits in a bit vector that is encoded as an integer."""


def code_of(bits: Iterable[Array]) -> Array:
    """Pack boolean arrays into an int32 array; bit i of its entries comes from the i-th array."""
    code = jnp.int32(0)
    for i, bit in enumerate(bits):
        code |= bit.astype(jnp.int32) << i
    return code


class _Protocol(OfCategory):
    """A local protocol for at most 20 categories, with true level `epsilon`."""

    epsilon: float

    def __post_init__(self):
        super().__post_init__()
        if self.num_categories > MOST_BITS:
            raise ValueError(
                f"num_categories must be at most {MOST_BITS} (2^{MOST_BITS} outcomes), but was "
                f"{self.num_categories}."
            )

    @property
    def output_space(self) -> FiniteSpace:
        """Bit vectors, one bit per category."""
        return FiniteSpace(2**self.num_categories)


@pytree
class _UnaryEncoding(_Protocol):
    """A protocol that reports one independent noisy bit per category.

    Attributes:
        epsilon: True level.
        num_categories: Number k of categories; the database is the true category, in 0..k - 1, and
            bit i of the output belongs to category i.
    """

    epsilon: float = 1.0
    num_categories: int = static(4, at_least=2)

    def _chances(self) -> tuple[Array | float, Array]:
        """Return the probabilities that the true category's bit is 1, and that another bit is 1."""
        raise NotImplementedError

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, int32 [num_samples], for a scalar category."""
        dtype, chances = draw_dtype(self.epsilon), self._chances()
        return code_of(
            random.uniform(key, num_samples, i, dtype) <= jnp.where(database == i, *chances)
            for i in range(self.num_categories)
        )


@pytree
class SymmetricUnaryEncoding(_UnaryEncoding):
    """Symmetric unary encoding (SUE): each bit is correct with odds of e^(epsilon / 2) to 1.

    References:
        Wang, Blocki, Li, Jha (2017), section 4.3; basic RAPPOR of Erlingsson et al. (2014).
    """

    name = "symmetric-unary-encoding"
    source = "Wang et al. 2017 (SUE)"

    def _chances(self) -> tuple[Array, Array]:
        half = jnp.asarray(self.epsilon, draw_dtype(self.epsilon)) / 2
        return jax.nn.sigmoid(half), jax.nn.sigmoid(-half)


@pytree
class OptimizedUnaryEncoding(_UnaryEncoding):
    """Optimized unary encoding (OUE): report one noisy bit per category.

    The bit of the true category is 1 with probability 1/2. Each other bit is 1 with probability
    1 / (e^epsilon + 1).

    References:
        Wang, Blocki, Li, Jha (2017), section 4.3.
    """

    name = "optimized-unary-encoding"
    source = "Wang et al. 2017 (OUE)"

    def _chances(self) -> tuple[float, Array]:
        return 0.5, 1 / (1 + jnp.exp(jnp.asarray(self.epsilon, draw_dtype(self.epsilon))))


@pytree
class ThresholdedHistogramEncoding(_Protocol):
    """Thresholded histogram encoding (THE): report which noisy entries exceed a threshold.

    Noise Lap(2 / epsilon) is added to each entry of the true category's one-hot vector.

    Attributes:
        epsilon: True privacy level of the noisy vector. The true privacy level of the reported
            bits, `level`, is smaller.
        threshold: Threshold that is compared with the noisy entries, between 1/2 and 1.
        num_categories: Number k of categories; the database is the true category, in 0..k - 1, and
            bit i of the output belongs to category i.

    References:
        Wang, Blocki, Li, Jha (2017), section 4.2.
    """

    name = "thresholded-histogram-encoding"
    source = "Wang et al. 2017 (THE)"
    epsilon: float = 1.0
    threshold: float = leaf(0.75, validate.open_unit)
    num_categories: int = static(4, at_least=2)

    def __post_init__(self):
        super().__post_init__()
        if not validate.is_traced(self.threshold) and jnp.min(jnp.asarray(self.threshold)) <= 0.5:
            raise ValueError(f"threshold must lie above 1/2, but was {self.threshold!r}.")

    @property
    def level(self) -> float:
        """True level: the log odds ratio between the true category's bit and any other bit.

        If the true category's bit is 1 with probability p, and every other bit is 1 with
        probability q, the level is ln(p (1 - q) / (q (1 - p))).
        """
        half = float(self.epsilon) / 2
        # The logarithms of 1 - p and q, which are tiny if epsilon is large.
        tails = half * (self.threshold - 1) - math.log(2), -half * self.threshold - math.log(2)
        return sum(math.log1p(-math.exp(tail)) - tail for tail in tails)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, int32 [num_samples], for a scalar category."""
        dtype, scale = draw_dtype(self.epsilon), 2 / self.epsilon
        return code_of(
            (database == i).astype(dtype) + scale * random.laplace(key, num_samples, i, dtype)
            > self.threshold
            for i in range(self.num_categories)
        )


@pytree
class LocalHashing(_Protocol):
    """Local hashing of the category to g buckets: report a random hash function and a noisy bucket.

    Binary local hashing (BLH) uses g = 2; optimized local hashing (OLH) uses the integer g closest
    to e^epsilon + 1. The hash function is drawn uniformly from all g^k functions, so two categories
    share a bucket with probability 1 / g. The output is f * g + bucket, where f is the index of the
    hash function. Digit x of f in base g is the bucket of category x.

    Attributes:
        epsilon: True level.
        num_buckets: Number g of buckets.
        num_categories: Number k of categories; the database is the true category, in 0..k - 1.

    References:
        Wang, Blocki, Li, Jha (2017), section 4.4.
    """

    name = "local-hashing"
    source = "Wang et al. 2017 (BLH, OLH)"
    epsilon: float = 1.0
    num_buckets: int = static(4, at_least=2)
    num_categories: int = static(4, at_least=2)

    def __post_init__(self):
        super().__post_init__()
        if self.num_buckets ** (self.num_categories + 1) > 2**MOST_BITS:
            raise ValueError(
                f"num_buckets^(num_categories + 1) must be at most 2^{MOST_BITS}, but was "
                f"{self.num_buckets}^{self.num_categories + 1}."
            )

    @classmethod
    def binary(cls, epsilon: float = 1.0, num_categories: int = 4) -> "LocalHashing":
        """Return binary local hashing (BLH), which has two buckets."""
        return cls(epsilon, 2, num_categories)

    @classmethod
    def optimized(cls, epsilon: float = 1.0, num_categories: int = 4) -> "LocalHashing":
        """Return optimized local hashing (OLH), which has round(e^epsilon) + 1 buckets."""
        return cls(epsilon, round(math.exp(epsilon)) + 1, num_categories)

    @property
    def output_space(self) -> FiniteSpace:
        """Pairs of a hash function and a bucket."""
        return FiniteSpace(self.num_buckets ** (self.num_categories + 1))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, int32 [num_samples], for a scalar category."""
        dtype, g, k = draw_dtype(self.epsilon), self.num_buckets, self.num_categories
        function = bucket = jnp.zeros(num_samples, jnp.int32)
        for i in range(k):
            u = random.uniform(key, num_samples, i, dtype)
            digit = jnp.ceil(u * g).astype(jnp.int32) - 1
            function += digit * g**i
            bucket = jnp.where(database == i, digit, bucket)
        answer = respond(random.uniform(key, num_samples, k, dtype), bucket, self.epsilon, g)
        return function * g + answer


@pytree
class SubsetSelection(_Protocol):
    """Subset selection: report a random subset of d of the k categories.

    The subset includes the true category with odds of d e^epsilon to k - d.

    Attributes:
        epsilon: True level.
        subset_size: Number d of reported categories; the best d is near k / (e^epsilon + 1).
        num_categories: Number k of categories; the database is the true category, in 0..k - 1, and
            bit i of the output is 1 if category i is in the subset.

    References:
        Wang, Huang, Wang, Nie, Xu, Yang, Li, Qiao (2016); Ye, Barg (2018).
    """

    name = "subset-selection"
    source = "Wang et al. 2016"
    epsilon: float = 1.0
    subset_size: int = static(2)
    num_categories: int = static(6, at_least=2)

    def __post_init__(self):
        super().__post_init__()
        if self.subset_size >= self.num_categories:
            raise ValueError(
                f"subset_size must be below num_categories, {self.num_categories}, but was "
                f"{self.subset_size}."
            )

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, int32 [num_samples], for a scalar category."""
        dtype, d, k = draw_dtype(self.epsilon), self.subset_size, self.num_categories
        # The odds are d e^epsilon to k - d. Their logarithm does not overflow.
        log_odds = jnp.asarray(self.epsilon, dtype) + math.log(d / (k - d))
        with_truth = random.uniform(key, num_samples, k, dtype) <= jax.nn.sigmoid(log_odds)
        # Each category gets a random number, and the subset consists of the d categories with the
        # smallest numbers. The true category's number is replaced by a number below all others if
        # the subset includes the true category, and above all others if not.
        truth_time = jnp.where(with_truth, -1.0, 2.0).astype(dtype)
        times = [
            jnp.where(database == i, truth_time, random.uniform(key, num_samples, i, dtype))
            for i in range(k)
        ]

        def rank(i: int) -> Array:
            # Ties are broken by index, so that the subset always has d categories.
            before = [t <= times[i] if j < i else t < times[i] for j, t in enumerate(times)]
            return sum((b.astype(jnp.int32) for b in before), jnp.zeros(num_samples, jnp.int32))

        return code_of(rank(i) < d for i in range(k))
