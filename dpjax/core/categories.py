"""Counts of categories, or of intervals, in a stream of samples, one block at a time."""

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core.numerics import WideCount
from dpjax.core.streaming import Reducer

_COMPARED = 64
"""Maximum number of counters for which an accelerator uses comparisons instead of a scatter.

If a scatter has few counters, many atomic additions go to the same address and wait for each other.
Comparing each sample with every category takes more operations, but they all run in parallel.
"""


def category_counts(num_categories: int, offset: int = 0) -> Reducer:
    """Return a reducer that counts each of the integers offset, ..., offset + num_categories - 1.

    The carry is a WideCount of shape [num_categories + 1]. The carry's last entry counts both all
    other integers and the padding of the last block. Callers ignore this entry.

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


def interval_counts(low: Array | float, high: Array | float, num_intervals: int) -> Reducer:
    """Return a reducer that counts outputs in `num_intervals` subintervals of [low, high].

    Both ends of [low, high] are included.

    Args:
        low: Lower end, scalar.
        high: Upper end, scalar.
        num_intervals: m, the number of intervals, which determines the shape of the carry.

    Returns:
        A reducer whose carry is a WideCount [m + 1]. The last entry of the carry counts outputs
        outside [low, high], NaN outputs, and padding.

    References:
        Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
        Various Notions of Differential Privacy": Algorithm 1, lines 4-14.
    """
    categories = category_counts(num_intervals)

    def update(counts, samples: Array, valid: Array):
        inside = (samples >= low) & (samples <= high)
        scaled = (samples - low) * (num_intervals / (high - low))
        # The upper end belongs to the last interval.
        index = jnp.minimum(jnp.where(inside, scaled, 0).astype(jnp.int32), num_intervals - 1)
        return categories.update(counts, jnp.where(inside, index, num_intervals), valid)

    return Reducer(categories.init, update, reads_once=True)


def _scattered(bins: Array, size: int) -> Array:
    return jnp.zeros(size, jnp.int32).at[bins].add(1, mode="promise_in_bounds")


def compared(bins: Array, size: int) -> Array:
    """Count the occurrences of 0, ..., size - 1 without a scatter, and return int32 [size]."""
    numbers = jnp.arange(size, dtype=jnp.int32)
    return jnp.sum(bins[:, None] == numbers[None, :], axis=0, dtype=jnp.int32)
