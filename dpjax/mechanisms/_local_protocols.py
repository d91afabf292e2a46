"""Local protocols: unary encodings, local hashing, subset selection.

Generalised randomised response is `RandomizedResponse`, histogram encoding without a threshold is
`SummedHistogramEncoding`. Bit vectors and (hash function, answer) are coded as integers.
"""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from dpjax import _random, _validate
from dpjax._types import FiniteSpace
from dpjax.databases import Pairs, all_pairs
from dpjax.mechanisms._base import draw_dtype, epsilon_level, static
from dpjax.mechanisms._choice import respond

_MOST_BITS = 20


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SymmetricUnaryEncoding:
    """SUE: one bit a category, each told truly with odds e^(epsilon / 2) to 1.

    Attributes:
        epsilon: True level.
        num_categories: k; the database is the true category 0..k - 1, bit i of the answer is that
            of category i.

    References:
        Wang, Blocki, Li, Jha (2017), section 4.3; basic RAPPOR of Erlingsson et al. (2014).
    """

    name: ClassVar[str] = "symmetric-unary-encoding"
    source: ClassVar[str] = "Wang et al. 2017 (SUE)"
    level = epsilon_level
    standard_region = None
    epsilon: float = 1.0
    num_categories: int = static(4)

    def __post_init__(self):
        _check(self)

    @property
    def output_space(self) -> FiniteSpace:
        """Bit vectors."""
        return FiniteSpace(2**self.num_categories)

    def standard_pairs(self) -> Pairs:
        """Every pair of categories."""
        return all_pairs(range(self.num_categories))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for a scalar category."""
        odds = jnp.exp(jnp.asarray(self.epsilon, draw_dtype(self.epsilon)) / 2)
        return _unary_bits(self, key, database, num_samples, odds / (1 + odds), 1 / (1 + odds))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class OptimizedUnaryEncoding:
    """OUE: the true category's bit is set with chance 1/2, another with 1 / (e^epsilon + 1).

    Attributes:
        epsilon: True level.
        num_categories: k; the database is the true category 0..k - 1, bit i of the answer is that
            of category i.

    References:
        Wang, Blocki, Li, Jha (2017), section 4.3.
    """

    name: ClassVar[str] = "optimized-unary-encoding"
    source: ClassVar[str] = "Wang et al. 2017 (OUE)"
    level = epsilon_level
    standard_region = None
    epsilon: float = 1.0
    num_categories: int = static(4)

    def __post_init__(self):
        _check(self)

    @property
    def output_space(self) -> FiniteSpace:
        """Bit vectors."""
        return FiniteSpace(2**self.num_categories)

    def standard_pairs(self) -> Pairs:
        """Every pair of categories."""
        return all_pairs(range(self.num_categories))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for a scalar category."""
        odds = jnp.exp(jnp.asarray(self.epsilon, draw_dtype(self.epsilon)))
        return _unary_bits(self, key, database, num_samples, 0.5, 1 / (1 + odds))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ThresholdedHistogramEncoding:
    """THE: histogram encoding with Lap(2 / epsilon), of which only "above the threshold" is told.

    Attributes:
        epsilon: Level of the noisy histogram; the thresholded one leaks less, see `level`.
        threshold: Between 1/2 and 1.
        num_categories: k; the database is the true category 0..k - 1, bit i of the answer is that
            of category i.

    References:
        Wang, Blocki, Li, Jha (2017), section 4.2.
    """

    name: ClassVar[str] = "thresholded-histogram-encoding"
    source: ClassVar[str] = "Wang et al. 2017 (THE)"
    standard_region = None
    epsilon: float = 1.0
    threshold: float = 0.75
    num_categories: int = static(4)

    def __post_init__(self):
        _check(self)
        _validate.open_unit(threshold=self.threshold)
        if not _validate.is_traced(self.threshold) and jnp.min(jnp.asarray(self.threshold)) <= 0.5:
            raise ValueError(f"threshold must lie above 1/2, but was {self.threshold!r}.")

    @property
    def level(self) -> float:
        """ln(p (1 - q) / (q (1 - p))), where a bit is set with chance p if true and q if not."""
        half = float(self.epsilon) / 2
        p = 1 - math.exp(half * (self.threshold - 1)) / 2
        q = math.exp(-half * self.threshold) / 2
        return math.log(p * (1 - q) / (q * (1 - p)))

    @property
    def output_space(self) -> FiniteSpace:
        """Bit vectors."""
        return FiniteSpace(2**self.num_categories)

    def standard_pairs(self) -> Pairs:
        """Every pair of categories."""
        return all_pairs(range(self.num_categories))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for a scalar category."""
        dtype = draw_dtype(self.epsilon)
        code = jnp.zeros(num_samples, jnp.int32)
        for i in range(self.num_categories):
            noise = 2 / self.epsilon * _random.laplace(key, num_samples, i, dtype)
            above = (database == i) + noise > self.threshold
            code |= above.astype(jnp.int32) << i
        return code


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LocalHashing:
    """Hashes the category to g buckets by a random function, answers (function, noisy bucket).

    Binary local hashing (BLH) has g = 2; optimised local hashing (OLH) has g nearest e^epsilon + 1.
    The functions are all g^k of them, so a pair of categories shares a bucket with chance 1 / g.
    The answer is function * g + bucket; digit x of the function in base g is the bucket of x.

    Attributes:
        epsilon: True level.
        num_buckets: g.
        num_categories: k; the database is the true category 0..k - 1.

    References:
        Wang, Blocki, Li, Jha (2017), section 4.4.
    """

    name: ClassVar[str] = "local-hashing"
    source: ClassVar[str] = "Wang et al. 2017 (BLH, OLH)"
    level = epsilon_level
    standard_region = None
    epsilon: float = 1.0
    num_buckets: int = static(4)
    num_categories: int = static(4)

    def __post_init__(self):
        _check(self)
        _validate.positive_int(at_least=2, num_buckets=self.num_buckets)
        if self.num_buckets ** (self.num_categories + 1) > 2**_MOST_BITS:
            raise ValueError(
                f"num_buckets^(num_categories + 1) must be at most 2^{_MOST_BITS}, but was "
                f"{self.num_buckets}^{self.num_categories + 1}."
            )

    @classmethod
    def binary(cls, epsilon: float = 1.0, num_categories: int = 4) -> "LocalHashing":
        """BLH: two buckets."""
        return cls(epsilon, 2, num_categories)

    @classmethod
    def optimized(cls, epsilon: float = 1.0, num_categories: int = 4) -> "LocalHashing":
        """OLH: e^epsilon + 1 buckets, rounded."""
        return cls(epsilon, round(math.exp(epsilon)) + 1, num_categories)

    @property
    def output_space(self) -> FiniteSpace:
        """Function and bucket."""
        return FiniteSpace(self.num_buckets ** (self.num_categories + 1))

    def standard_pairs(self) -> Pairs:
        """Every pair of categories."""
        return all_pairs(range(self.num_categories))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for a scalar category."""
        dtype, g, k = draw_dtype(self.epsilon), self.num_buckets, self.num_categories
        function = bucket = jnp.zeros(num_samples, jnp.int32)
        for i in range(k):
            u = _random.uniform(key, num_samples, i, dtype)
            digit = jnp.ceil(u * g).astype(jnp.int32) - 1
            function += digit * g**i
            bucket = jnp.where(database == i, digit, bucket)
        answer = respond(_random.uniform(key, num_samples, k, dtype), bucket, self.epsilon, g)
        return function * g + answer


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SubsetSelection:
    """Answers d of the k categories; the true one is among them with odds d e^epsilon to k - d.

    Attributes:
        epsilon: True level.
        subset_size: d; best near k / (e^epsilon + 1).
        num_categories: k; the database is the true category 0..k - 1, bit i of the answer says
            whether category i is in the subset.

    References:
        Wang, Huang, Wang, Nie, Xu, Yang, Li, Qiao (2016); Ye, Barg (2018).
    """

    name: ClassVar[str] = "subset-selection"
    source: ClassVar[str] = "Wang et al. 2016"
    level = epsilon_level
    standard_region = None
    epsilon: float = 1.0
    subset_size: int = static(2)
    num_categories: int = static(6)

    def __post_init__(self):
        _check(self)
        _validate.positive_int(subset_size=self.subset_size)
        if self.subset_size >= self.num_categories:
            raise ValueError(
                f"subset_size must be below num_categories, but was {self.subset_size} of "
                f"{self.num_categories}."
            )

    @property
    def output_space(self) -> FiniteSpace:
        """Bit vectors."""
        return FiniteSpace(2**self.num_categories)

    def standard_pairs(self) -> Pairs:
        """Every pair of categories."""
        return all_pairs(range(self.num_categories))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for a scalar category."""
        dtype, d, k = draw_dtype(self.epsilon), self.subset_size, self.num_categories
        weight = d * jnp.exp(jnp.asarray(self.epsilon, dtype))
        with_truth = _random.uniform(key, num_samples, k, dtype) <= weight / (weight + k - d)
        # The others come in the order of their uniform times; the truth is put first or last.
        truth_time = jnp.where(with_truth, -1.0, 2.0).astype(dtype)
        times = [
            jnp.where(database == i, truth_time, _random.uniform(key, num_samples, i, dtype))
            for i in range(k)
        ]
        code = jnp.zeros(num_samples, jnp.int32)
        for i in range(k):
            # Ties of two uniforms go to the lower index, so that d categories are always taken.
            before = [t <= times[i] if j < i else t < times[i] for j, t in enumerate(times)]
            rank = sum((b.astype(jnp.int32) for b in before), jnp.zeros(num_samples, jnp.int32))
            code |= (rank < d).astype(jnp.int32) << i
        return code


def _unary_bits(
    mechanism: Any,
    key: Array,
    category: Array,
    num_samples: int,
    true_chance: Array | float,
    false_chance: Array | float,
) -> Array:
    """Independent bits: bit i is set with `true_chance` where the category is i."""
    dtype = draw_dtype(mechanism.epsilon)
    code = jnp.zeros(num_samples, jnp.int32)
    for i in range(mechanism.num_categories):
        chance = jnp.where(category == i, true_chance, false_chance)
        told = _random.uniform(key, num_samples, i, dtype) <= chance
        code |= told.astype(jnp.int32) << i
    return code


def _check(mechanism: Any) -> None:
    _validate.positive(epsilon=mechanism.epsilon)
    _validate.positive_int(at_least=2, num_categories=mechanism.num_categories)
    if mechanism.num_categories > _MOST_BITS:
        raise ValueError(
            f"num_categories must be at most {_MOST_BITS} (2^{_MOST_BITS} outcomes), but was "
            f"{mechanism.num_categories}."
        )
