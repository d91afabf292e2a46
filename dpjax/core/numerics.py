"""Exact sums: wide integer counters and fixed-point kernel sums.

A float32 counter stops increasing at 2^24, and a sum of floats depends on the order of its terms.
Therefore, every statistic that is accumulated over a stream is an integer. Each statistic is either
a count or a fixed-point sum of kernel values in [0, 1]. An integer sum does not depend on batches,
on the number of devices or on the order of samples, and it is exact even for 1e10 samples.
"""

import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

MAX_BLOCK = 8192
"""Maximum block size, in samples. The product MAX_BLOCK * FIXED_POINT must fit in an int32."""

FIXED_POINT = 2**17
"""Number of steps per unit in fixed-point kernel sums. Kernel values are rounded to multiples of
1 / FIXED_POINT.
"""

MOST_EXACT = 2**53
"""Largest integer up to which float64 represents every integer exactly."""


def has_inexact(integers: np.ndarray) -> bool:
    """Return whether an array contains an integer beyond `MOST_EXACT`."""
    return bool(np.any((integers > MOST_EXACT) | (integers < -MOST_EXACT)))


_LIMB_BITS = 30
_LIMB_MASK = (1 << _LIMB_BITS) - 1


class WideCount(NamedTuple):
    """Non-negative integers up to 2^61, stored as two int32 arrays (limbs) of the same shape.

    Attributes:
        low: The lower 30 bits.
        high: The remaining high bits.
    """

    low: Array
    high: Array

    @classmethod
    def zeros(cls, shape: tuple[int, ...] = ()) -> "WideCount":
        """Return counters of a given shape that are all 0."""
        return cls(jnp.zeros(shape, jnp.int32), jnp.zeros(shape, jnp.int32))

    def add(self, count: Array) -> "WideCount":
        """Return the counters plus `count`, an int32 array with entries in [0, 2^30]."""
        low = self.low + count
        return WideCount(low & _LIMB_MASK, self.high + (low >> _LIMB_BITS))

    def total(self) -> "WideCount":
        """Return the sum over the first axis, which is exact."""
        low, high = self
        while len(low) > 1:
            # A sum of two lower limbs fits in an int32. Sums of more limbs might not.
            half = -(-len(low) // 2)
            pad = [(0, 2 * half - len(low)), *[(0, 0)] * (low.ndim - 1)]
            low, high = (
                jnp.pad(limb, pad).reshape(2, half, *limb.shape[1:]) for limb in (low, high)
            )
            low, high = WideCount(low[0], high[0] + high[1]).add(low[1])
        return WideCount(low[0], high[0])

    def as_float(self) -> Array:
        """Return the counts as floats of jax's default dtype, for use in a kernel."""
        dtype = jnp.result_type(float)
        return self.high.astype(dtype) * dtype.type(2.0**_LIMB_BITS) + self.low.astype(dtype)

    def as_int(self) -> np.ndarray:
        """Return the exact counts as int64 on the host."""
        return (np.asarray(self.high, np.int64) << _LIMB_BITS) + np.asarray(self.low, np.int64)


def to_fixed_point(values: Array) -> Array:
    """Convert values in [0, 1] to int32 multiples of 1 / FIXED_POINT."""
    return jnp.round(values * FIXED_POINT).astype(jnp.int32)


def finite_or_none(value: float) -> float | None:
    """Return the given number, or None if it is NaN or infinite, which JSON cannot represent."""
    return float(value) if math.isfinite(value) else None
