"""The largest noisy gradient sum in an epoch of shuffled batches, sampled without training."""

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
    """The maximum of one draw from N(s, sigma^2) and T - 1 draws from N(0, sigma^2).

    The class models an epoch of DP-SGD with shuffled batches. The output is the largest of the
    epoch's T noisy sums of gradients. The gradients of all other records point in the direction
    opposite to the canary's gradient. The noise-free sums are shifted so that a batch without the
    canary sums to 0. The canary's batch sums to s = 2 if the canary is present, and to s = 1 if the
    canary's gradient is replaced by zero.

    The mechanism has no finite level of pure differential privacy. No accountant bounds the level
    of shuffled batches, and the level of Poisson batches with the same sampling rate can be far
    lower. The time per draw does not depend on the number of steps.

    Attributes:
        sigma: Noise multiplier.
        num_steps: Number T of steps in the epoch.

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
        """Interval from 0 to three standard deviations above 2, which is the larger value of s."""
        return (0.0, 2 + 3 * float(self.sigma))

    def standard_pairs(self) -> Pairs:
        """Return the pair (2, 1), the sums s with and without the canary's gradient."""
        return Pairs([2.0], [1.0], ("with and without the canary",))

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, float [num_samples], for a scalar database."""
        dtype = draw_dtype(self.sigma)
        own = database + self.sigma * random.normal(key, num_samples, 0, dtype)
        # The largest of T - 1 normals is below z with probability Phi(z)^(T - 1), so it is the
        # normal quantile of U^(1 / (T - 1)) for a uniform U. The quantile is computed from
        # -ln U / (T - 1), which is precise in both tails.
        excess = jnp.exp(-random.gumbel(key, num_samples, 1, dtype)) / (self.num_steps - 1)
        above, below = -jnp.expm1(-excess), jnp.exp(-excess)
        tail = jax.scipy.special.ndtri(jnp.minimum(above, below))
        others = jnp.where(above < below, -tail, tail)
        return jnp.maximum(own, self.sigma * others)
