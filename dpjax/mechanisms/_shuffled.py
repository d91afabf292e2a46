"""The largest step of an epoch of shuffled batches, drawn without its other steps."""

import math

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core import random
from dpjax.core.types import RealSpace
from dpjax.databases import Pairs
from dpjax.mechanisms._base import OfNumber, draw_dtype, pytree, static


@pytree
class ShuffledBatches(OfNumber):
    """The largest of one draw of N(s, sigma^2) and T - 1 draws of N(0, sigma^2): no pure level.

    This is an epoch of DP-SGD with shuffled batches, seen by the largest of its T noisy sums of
    gradients, where every other record pulls against the canary: relative to the sum of a batch
    without the canary, s is 2 if the canary is present and 1 if its gradient is zero. No accountant
    knows the level of shuffled batches; that of Poisson batches of the same rate can be far below.

    A draw costs as much for a million steps as for two.

    Attributes:
        sigma: Noise multiplier.
        num_steps: T, steps of the epoch.

    References:
        Chua, Ghazi, Kamath, Kumar, Manurangsi, Sinha, Zhang (2024), section 4.
    """

    name = "shuffled-batches"
    source = "Chua et al. 2024"
    level = math.inf
    output_space = RealSpace()
    sigma: float = 0.6
    num_steps: int = static(1000, at_least=2)

    @property
    def standard_region(self) -> tuple[float, float]:
        """Up to three standard deviations above the canary."""
        return (0.0, 2 + 3 * float(self.sigma))

    def standard_pairs(self) -> Pairs:
        """Return 2 against 1, the canary and a gradient of zero."""
        return Pairs([2.0], [1.0], ("with and without the canary",))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Reals of shape [num_samples] for a scalar database."""
        dtype = draw_dtype(self.sigma)
        own = database + self.sigma * random.normal(key, num_samples, 0, dtype)
        # -ln U / (T - 1) with precision at both ends; the largest of T - 1 normals is below s with
        # the probability Phi(s)^(T - 1), so that it is the quantile of U^(1 / (T - 1)).
        excess = jnp.exp(-random.gumbel(key, num_samples, 1, dtype)) / (self.num_steps - 1)
        above, below = -jnp.expm1(-excess), jnp.exp(-excess)
        tail = jax.scipy.special.ndtri(jnp.minimum(above, below))
        others = jnp.where(above < below, -tail, tail)
        return jnp.maximum(own, self.sigma * others)
