"""Counts of categories in a stream of blocks, in the way that suits the device."""

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core.numerics import WideCount
from dpjax.core.streaming import Reducer

_COMPARED = 64
"""Most counters for which an accelerator compares every sample with every category.

A scatter into few counters serializes there: atomic additions to one address wait for each other.
Comparisons run side by side, at the cost of one integer operation a sample and category."""


def category_counts(num_categories: int, offset: int = 0) -> Reducer:
    """Counts of the integers offset .. offset + num_categories - 1; others are left out.

    The carry is a WideCount of shape [num_categories + 1]. Ignore its last entry, which collects
    the other integers and the padding of the last block.

    References:
        Askin, Kutta, Dette (2022), Algorithm 2.
    """
    size = num_categories + 1

    def init() -> WideCount:
        return WideCount.zeros((size,))

    def update(counts: WideCount, samples: Array, valid: Array) -> WideCount:
        index = samples - offset
        inside = valid & (index >= 0) & (index < num_categories)
        bins = jnp.where(inside, index, num_categories).astype(jnp.int32)
        if size > _COMPARED:
            return counts.add(_scattered(bins, size))
        block = jax.lax.platform_dependent(
            bins, cpu=lambda bins: _scattered(bins, size), default=lambda bins: compared(bins, size)
        )
        return counts.add(block)

    return Reducer(init, update, reads_once=True)


def _scattered(bins: Array, size: int) -> Array:
    return jnp.zeros(size, jnp.int32).at[bins].add(1, mode="promise_in_bounds")


def compared(bins: Array, size: int) -> Array:
    """How often each of `size` numbers occurs, int32 [size], without a scatter.

    Args:
        bins: int32 [n], in 0 .. size - 1.
        size: Number of counters.
    """
    numbers = jnp.arange(size, dtype=jnp.int32)
    return jnp.sum(bins[:, None] == numbers[None, :], axis=0, dtype=jnp.int32)
