"""RAPPOR: a Bloom filter of a value, with permanent and instantaneous randomized response."""

import math

import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.typing import ArrayLike, DTypeLike

from dpjax.core import random, validate
from dpjax.core.types import FiniteSpace
from dpjax.databases import Pairs, all_pairs
from dpjax.mechanisms._base import BuiltIn, draw_dtype, leaf, pytree, static
from dpjax.mechanisms._local_protocols import MOST_BITS, code_of

_HASH_SALT = 0x52415050
_NUM_VALUES = 8


def bloom_filter(value: ArrayLike, num_bits: int, num_hashes: int) -> Array:
    """Return the Bloom filter of an integer; each hash function sets one bit.

    Args:
        value: Integer scalar.
        num_bits: Length of the filter.
        num_hashes: Number of fixed hash functions; two hash functions may set the same bit.

    Returns:
        The bits of the filter, bool [num_bits].
    """
    value = jnp.asarray(value).astype(jnp.int32).astype(jnp.uint32)
    salt = (jnp.uint32(_HASH_SALT), jnp.uint32(0))
    positions = [
        random.threefry2x32(salt, (value, jnp.uint32(j)))[0] % np.uint32(num_bits)
        for j in range(num_hashes)
    ]
    bits = jnp.arange(num_bits, dtype=jnp.uint32)
    return jnp.any(jnp.stack([bits == position for position in positions]), axis=0)


class _Rappor(BuiltIn):
    """A mechanism whose output is a noisy Bloom filter of an integer value."""

    coin_chance: float
    num_bits: int
    num_hashes: int

    def __post_init__(self):
        super().__post_init__()
        if not 2 * self.num_hashes <= self.num_bits <= MOST_BITS:
            raise ValueError(
                f"num_bits must lie between 2 num_hashes = {2 * self.num_hashes} (so that two "
                f"values can have disjoint filters) and {MOST_BITS}, but was {self.num_bits}."
            )

    @property
    def output_space(self) -> FiniteSpace:
        """Bit vectors of length `num_bits`, encoded as integers."""
        return FiniteSpace(2**self.num_bits)

    def standard_pairs(self) -> Pairs:
        """Return all pairs of values in 0..7."""
        return all_pairs(range(_NUM_VALUES))

    def _permanent(
        self, key: Array, value: Array, num_samples: int, dtype: DTypeLike
    ) -> list[Array]:
        """Return the permanent response: for each bit, a boolean array [num_samples]."""
        true_bits = bloom_filter(value, self.num_bits, self.num_hashes)
        half = jnp.asarray(self.coin_chance, dtype) / 2
        return [
            random.uniform(key, num_samples, i, dtype) <= jnp.where(true_bits[i], 1 - half, half)
            for i in range(self.num_bits)
        ]


@pytree
class OneTimeRappor(_Rappor):
    """One-time RAPPOR: with probability f, each bit of the Bloom filter is replaced by a fair coin.

    With h hash functions, the true level is 2 h ln((1 - f/2) / (f/2)). Two values attain the true
    level if their filters have h set bits each and no set bit in common.

    Attributes:
        coin_chance: Probability f that a bit is replaced by a fair coin.
        num_bits: Length of the filter.
        num_hashes: Number h of hash functions.

    References:
        Erlingsson, Pihur, Korolova (2014), Theorem 1.
    """

    name = "one-time-rappor"
    source = "Erlingsson et al. 2014"
    coin_chance: float = leaf(0.75, validate.open_unit)
    num_bits: int = static(8)
    num_hashes: int = static(2)

    @property
    def level(self) -> float:
        """True level, 2 h ln((1 - f/2) / (f/2)), where f is `coin_chance` and h is `num_hashes`."""
        half = float(self.coin_chance) / 2
        return 2 * self.num_hashes * math.log((1 - half) / half)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, int32 [num_samples], for an integer value."""
        return code_of(self._permanent(key, database, num_samples, draw_dtype(self.coin_chance)))


@pytree
class Rappor(_Rappor):
    """RAPPOR: each report randomizes the bits of a permanent randomized response once more.

    The true level of a single report is h ln(q* (1 - p*) / (p* (1 - q*))). Here,
    q* = f (p + q) / 2 + (1 - f) q, and p* = f (p + q) / 2 + (1 - f) p.

    Attributes:
        coin_chance: Probability f that, in the permanent response, a bit of the Bloom filter is
            replaced by a fair coin.
        set_chance: Probability q that a 1 is reported as 1.
        clear_chance: Probability p < q that a 0 is reported as 1.
        num_bits: Length of the filter.
        num_hashes: Number h of hash functions.

    References:
        Erlingsson, Pihur, Korolova (2014), Theorem 2.
    """

    name = "rappor"
    source = "Erlingsson et al. 2014"
    coin_chance: float = leaf(0.5, validate.open_unit)
    set_chance: float = leaf(0.75, validate.open_unit)
    clear_chance: float = leaf(0.5, validate.open_unit)
    num_bits: int = static(8)
    num_hashes: int = static(2)

    def __post_init__(self):
        super().__post_init__()
        traced = validate.is_traced(self.set_chance) or validate.is_traced(self.clear_chance)
        if not traced and np.any(np.asarray(self.clear_chance) >= np.asarray(self.set_chance)):
            raise ValueError(
                "clear_chance (p) must be below set_chance (q), but they were "
                f"{self.clear_chance!r} and {self.set_chance!r}."
            )

    @property
    def level(self) -> float:
        """True level of a single report, by the formula in the docstring of the class."""
        f, q, p = (float(x) for x in (self.coin_chance, self.set_chance, self.clear_chance))
        told_set, told_clear = (f * (p + q) / 2 + (1 - f) * x for x in (q, p))
        odds = told_set * (1 - told_clear) / (told_clear * (1 - told_set))
        return self.num_hashes * math.log(odds)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, int32 [num_samples], for an integer value."""
        dtype = draw_dtype(self.coin_chance, self.set_chance, self.clear_chance)
        return code_of(
            random.uniform(key, num_samples, self.num_bits + i, dtype)
            <= jnp.where(bit, self.set_chance, self.clear_chance)
            for i, bit in enumerate(self._permanent(key, database, num_samples, dtype))
        )
