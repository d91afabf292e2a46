"""Frequencies of discrete outputs, counted exactly.

References:
    Askin, Kutta, Dette (2022), Algorithm 2.
"""

import jax.numpy as jnp
from jax import Array

from dpjax._numerics import WideCount
from dpjax._streaming import Reducer


def category_counts(num_categories: int, offset: int = 0) -> Reducer:
    """Counts of the integers offset .. offset + num_categories - 1; others are left out.

    The carry is a WideCount of shape [num_categories + 1]; its last entry takes what does not count
    (the others, and the padding of the last block) and means nothing.
    """

    def init() -> WideCount:
        return WideCount.zeros((num_categories + 1,))

    def update(counts: WideCount, samples: Array, valid: Array):
        index = samples - offset
        inside = valid & (index >= 0) & (index < num_categories)
        bins = jnp.where(inside, index, num_categories)
        block = jnp.zeros(num_categories + 1, jnp.int32)
        return counts.add(block.at[bins].add(1, mode="promise_in_bounds"))

    return Reducer(init, update, reads_once=True)
