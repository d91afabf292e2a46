"""RAPPOR: a Bloom filter of the value, behind permanent and instantaneous randomised response."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax import _random, _validate
from dpjax._types import FiniteSpace
from dpjax.databases import Pairs, all_pairs
from dpjax.mechanisms._base import draw_dtype, static

_HASH_SALT = 0x52415050
_NUM_VALUES = 8
_MOST_BITS = 20


def bloom_filter(value: Any, num_bits: int, num_hashes: int) -> Array:
    """The Bloom filter of an integer: bit h_j(value) is set for each of the fixed hashes h_j.

    Args:
        value: Integer scalar.
        num_bits: Length of the filter.
        num_hashes: Number of hashes; two of them may set one bit.

    Returns:
        bool [num_bits].
    """
    value = jnp.asarray(value).astype(jnp.int32).astype(jnp.uint32)
    salt = (jnp.uint32(_HASH_SALT), jnp.uint32(0))
    positions = [
        _random.threefry2x32(salt, (value, jnp.uint32(j)))[0] % np.uint32(num_bits)
        for j in range(num_hashes)
    ]
    bits = jnp.arange(num_bits, dtype=jnp.uint32)
    return jnp.any(jnp.stack([bits == position for position in positions]), axis=0)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class OneTimeRappor:
    """One-time RAPPOR: each bit of the Bloom filter is replaced by a fair coin with chance f.

    True level 2 h ln((1 - f/2) / (f/2)), reached by values whose filters have h bits each and
    share none.

    Attributes:
        coin_chance: f.
        num_bits: Length of the filter.
        num_hashes: h.

    References:
        Erlingsson, Pihur, Korolova (2014), Theorem 1.
    """

    name: ClassVar[str] = "one-time-rappor"
    source: ClassVar[str] = "Erlingsson et al. 2014"
    standard_region = None
    coin_chance: float = 0.75
    num_bits: int = static(8)
    num_hashes: int = static(2)

    def __post_init__(self):
        _check(self)

    @property
    def level(self) -> float:
        """2 h ln((1 - f/2) / (f/2))."""
        half = float(self.coin_chance) / 2
        return 2 * self.num_hashes * math.log((1 - half) / half)

    @property
    def output_space(self) -> FiniteSpace:
        """Bit vectors."""
        return FiniteSpace(2**self.num_bits)

    def standard_pairs(self) -> Pairs:
        """Every pair of the values 0..7."""
        return all_pairs(range(_NUM_VALUES))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for an integer value."""
        dtype = draw_dtype(self.coin_chance)
        code = jnp.zeros(num_samples, jnp.int32)
        for i, bit in enumerate(_permanent(self, key, database, num_samples, dtype)):
            code |= bit.astype(jnp.int32) << i
        return code


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Rappor:
    """RAPPOR: the permanent bits are told once more at random, a set one as set with chance q.

    True level h ln(q* (1 - p*) / (p* (1 - q*))) of one report, with q* = f (p + q) / 2 + (1 - f) q
    and p* = f (p + q) / 2 + (1 - f) p.

    Attributes:
        coin_chance: f, of the permanent response.
        set_chance: q, with which a set bit is told as set.
        clear_chance: p < q, with which a clear bit is told as set.
        num_bits: Length of the filter.
        num_hashes: h.

    References:
        Erlingsson, Pihur, Korolova (2014), Theorem 2.
    """

    name: ClassVar[str] = "rappor"
    source: ClassVar[str] = "Erlingsson et al. 2014"
    standard_region = None
    coin_chance: float = 0.5
    set_chance: float = 0.75
    clear_chance: float = 0.5
    num_bits: int = static(8)
    num_hashes: int = static(2)

    def __post_init__(self):
        _check(self)
        _validate.open_unit(set_chance=self.set_chance, clear_chance=self.clear_chance)
        traced = _validate.is_traced(self.set_chance) or _validate.is_traced(self.clear_chance)
        if not traced and np.any(np.asarray(self.clear_chance) >= np.asarray(self.set_chance)):
            raise ValueError(
                "clear_chance (p) must be below set_chance (q), but they were "
                f"{self.clear_chance!r} and {self.set_chance!r}."
            )

    @property
    def level(self) -> float:
        """That of one report, h ln(q* (1 - p*) / (p* (1 - q*)))."""
        f, q, p = (float(x) for x in (self.coin_chance, self.set_chance, self.clear_chance))
        told_set, told_clear = (f * (p + q) / 2 + (1 - f) * x for x in (q, p))
        odds = told_set * (1 - told_clear) / (told_clear * (1 - told_set))
        return self.num_hashes * math.log(odds)

    @property
    def output_space(self) -> FiniteSpace:
        """Bit vectors."""
        return FiniteSpace(2**self.num_bits)

    def standard_pairs(self) -> Pairs:
        """Every pair of the values 0..7."""
        return all_pairs(range(_NUM_VALUES))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for an integer value."""
        dtype = draw_dtype(self.coin_chance, self.set_chance, self.clear_chance)
        code = jnp.zeros(num_samples, jnp.int32)
        for i, bit in enumerate(_permanent(self, key, database, num_samples, dtype)):
            chance = jnp.where(bit, self.set_chance, self.clear_chance)
            told = _random.uniform(key, num_samples, self.num_bits + i, dtype) <= chance
            code |= told.astype(jnp.int32) << i
        return code


def _permanent(
    mechanism: Any, key: Array, value: Array, num_samples: int, dtype: Any
) -> list[Array]:
    """The permanent response: num_bits arrays of booleans [num_samples]."""
    true_bits = bloom_filter(value, mechanism.num_bits, mechanism.num_hashes)
    half = jnp.asarray(mechanism.coin_chance, dtype) / 2
    return [
        _random.uniform(key, num_samples, i, dtype) <= jnp.where(true_bits[i], 1 - half, half)
        for i in range(mechanism.num_bits)
    ]


def _check(mechanism: Any) -> None:
    _validate.open_unit(coin_chance=mechanism.coin_chance)
    _validate.positive_int(num_hashes=mechanism.num_hashes)
    _validate.positive_int(num_bits=mechanism.num_bits)
    if not 2 * mechanism.num_hashes <= mechanism.num_bits <= _MOST_BITS:
        raise ValueError(
            f"num_bits must lie between 2 num_hashes = {2 * mechanism.num_hashes} (so that two "
            f"values can share no bit) and {_MOST_BITS}, but was {mechanism.num_bits}."
        )
