"""Exponential mechanism for outputs >= 0; Laplace and normal distributions truncated to [0, 1]."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.special import ndtr, ndtri

from dpjax.core import random
from dpjax.core.types import RealSpace
from dpjax.databases import Pairs, shifts
from dpjax.mechanisms._base import BuiltIn, draw_dtype, pytree


@pytree
class Exponential(BuiltIn):
    """Exponential mechanism with outputs t >= 0 and density proportional to e^(-lambda |s - t|).

    The database is a statistic s in [1, 2].

    Attributes:
        epsilon: True level, which equals lambda + ln(2 - e^(-2 lambda)) - ln(2 - e^(-lambda)).

    References:
        McSherry, Talwar (2007); Askin, Kutta, Dette (2022), experiment (d).
    """

    name = "exponential"
    source = "Askin et al. 2022, experiment (d)"
    output_space = RealSpace(low=0.0)
    standard_region = (0.0, 2.0)
    epsilon: float = 1.0

    def rate(self) -> Array:
        """Return lambda, the solution of epsilon = ln((2x^2 - 1) / (2x - 1)) with x = e^lambda.

        Computing lambda from m = e^epsilon - 1 avoids cancellation for small epsilon. Above 40,
        lambda is epsilon to float32 and float64 precision, and m^2 would overflow.
        """
        epsilon = jnp.asarray(self.epsilon, draw_dtype(self.epsilon))
        m = jnp.expm1(jnp.minimum(epsilon, 40))
        exact = jnp.log1p((m + m**2 / (1 + jnp.sqrt(1 + m**2))) / 2)
        return jnp.where(epsilon > 40, epsilon, exact)

    def standard_pairs(self) -> Pairs:
        """Return the pairs (1, 1 + b / 10) for b = 1..10."""
        return shifts(1.0)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, float [num_samples], for a scalar statistic >= 0."""
        rate = self.rate()
        below = -jnp.expm1(-rate * database)  # Mass below s, in units of the mass above s.
        side = random.uniform(key, num_samples, 0, rate.dtype)
        magnitude = random.uniform(key, num_samples, 1, rate.dtype)
        # The reciprocal is computed explicitly. Otherwise, XLA would replace the divisions by a
        # reciprocal only for some layouts of runs, and results would differ in their last bits.
        scale = 1 / rate
        up = database - jnp.log(magnitude) * scale
        down = database + jnp.log1p(-magnitude * below) * scale
        return jnp.where(side * (1 + below) <= below, jnp.maximum(down, 0), up)


class _OnUnitInterval(BuiltIn):
    """A distribution centered at the database x and truncated to [0, 1].

    To draw an output, `sample` chooses a side of x and then a distance from x.
    """

    output_space = RealSpace(0.0, 1.0)
    standard_region = (0.0, 1.0)

    def standard_pairs(self) -> Pairs:
        """Return the pair (0, 1)."""
        return Pairs([0.0], [1.0])

    def _sides(self, database: Array) -> tuple[Array, Array, Callable[[Array, Array], Array]]:
        """Return the probabilities of both sides of x, and the quantile function of |output - x|.

        The returned probabilities are those of [0, x] and [x, 1], up to a common factor. The
        quantile function accepts a uniform number and a boolean that is True if the output is below
        x, and returns the distance of the output from x.
        """
        raise NotImplementedError

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples in [0, 1], float [num_samples], for a scalar database in [0, 1]."""
        dtype = draw_dtype(*jax.tree.leaves(self))
        below, above, distance = self._sides(database)
        side = random.uniform(key, num_samples, 0, dtype)
        u = random.uniform(key, num_samples, 1, dtype)
        down = side * (below + above) <= below
        offset = distance(u, down)
        return jnp.clip(database + jnp.where(down, -offset, offset), 0, 1)


@pytree
class TruncatedLaplace(_OnUnitInterval):
    """Laplace distribution centered at x and truncated to [0, 1]; the true level is 1 / scale.

    Attributes:
        scale: Scale of the Laplace distribution before truncation.

    References:
        Gorla et al., Table I.
    """

    name = "truncated-laplace"
    source = "Gorla et al., Table I"
    scale: float = 1.0

    @property
    def level(self) -> float:
        """True level, 1 / scale, which databases 0 and 1 attain."""
        return 1 / float(self.scale)

    def _sides(self, database: Array):
        below = -jnp.expm1(-database / self.scale)
        above = -jnp.expm1(-(1 - database) / self.scale)
        return (
            below,
            above,
            lambda u, down: -self.scale * jnp.log1p(-u * jnp.where(down, below, above)),
        )


@pytree
class TruncatedGaussian(_OnUnitInterval):
    """Normal distribution centered at x, truncated to [0, 1]; the true level is 1 / (2 sigma^2).

    Attributes:
        sigma: Standard deviation before truncation.

    References:
        Gorla et al., Table I.
    """

    name = "truncated-gaussian"
    source = "Gorla et al., Table I"
    sigma: float = 1.0

    @property
    def level(self) -> float:
        """True level, 1 / (2 sigma^2), which databases 0 and 1 attain."""
        return 1 / (2 * float(self.sigma) ** 2)

    def _sides(self, database: Array):
        # Both sides are computed from the lower tail because ndtri has full relative precision
        # there.
        tails = ndtr(-database / self.sigma), ndtr(-(1 - database) / self.sigma)

        def distance(u: Array, down: Array) -> Array:
            tail = jnp.where(down, *tails)
            return -self.sigma * ndtri(tail + u * (0.5 - tail))

        return 0.5 - tails[0], 0.5 - tails[1], distance
