"""Exact counts of real outputs in intervals of equal width, for any number of samples.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Algorithm 1, lines 4-14.
"""

import jax.numpy as jnp
from jax import Array

from dpjax.core.categories import category_counts
from dpjax.core.streaming import Reducer


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
    """
    categories = category_counts(num_intervals)

    def update(counts, samples: Array, valid: Array):
        inside = (samples >= low) & (samples <= high)
        scaled = (samples - low) * (num_intervals / (high - low))
        # The upper end belongs to the last interval.
        index = jnp.minimum(jnp.where(inside, scaled, 0).astype(jnp.int32), num_intervals - 1)
        return categories.update(counts, jnp.where(inside, index, num_intervals), valid)

    return Reducer(categories.init, update, reads_once=True)
