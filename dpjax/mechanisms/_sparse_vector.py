"""Variants of the sparse vector technique, defined by a table of noise and a common sampler.

In the notation of this module, c is max_positives, k is num_queries, and T is threshold; rho is the
noise of the threshold, and nu_i is the noise of query i. A positive is a report that
q_i + nu_i >= T + rho.

References:
    Lyu, Su, Li (2017), "Understanding the Sparse Vector Technique for Differential Privacy",
    Algorithms 1 to 6 and the table of Figure 2.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from dpjax.core import random, validate
from dpjax.core.types import FiniteSpace, MixedSpace
from dpjax.mechanisms._base import OfQueries, draw_dtype, leaf, pytree, static


class Noise(NamedTuple):
    """Definition of a variant for epsilon = 1: scales of its Laplace noise, and its true level.

    Attributes:
        threshold: Scale of the threshold's noise rho.
        query: Scale of the queries' noise nu, or 0 for no noise.
        level: True level, which no pair of databases attains in some variants.
        redraw: Scale of the new rho that is drawn after each positive, or 0 if rho is kept.
        told: What is reported with a positive: no number if `told` is None, the noisy answer q_i +
            nu_i if `told` is 0, and otherwise q_i plus fresh noise of scale `told`.
        stops: Whether the variant stops after c positives.
    """

    threshold: float
    query: float
    level: float
    redraw: float = 0
    told: float | None = None
    stops: bool = True


# The values are those of Figure 2 for sensitivity 1, with eps1 = epsilon / 4 in variant 4 and
# eps1 = epsilon / 2 in all other variants.
_VARIANTS: dict[str, Callable[[int, int], Noise]] = {
    "svt1": lambda k, c: Noise(2, 4 * c, level=1),
    "svt2": lambda k, c: Noise(2 * c, 4 * c, level=1, redraw=2 * c),
    "svt3": lambda k, c: Noise(2, 2, level=k / 2, told=0),
    "svt4": lambda k, c: Noise(4, 4 / 3, level=(1 + 6 * c) / 4),
    "svt5": lambda k, c: Noise(2, 0, level=math.inf, stops=False),
    "svt6": lambda k, c: Noise(2, 2, level=k / 2, stops=False),
    # In Wang et al. (2019), rho, nu and the reported answer each spend a third of epsilon.
    "numerical-svt": lambda k, c: Noise(3, 6, level=1, told=3),
}


@pytree
class SparseVector(OfQueries):
    """Report for each query in turn whether its answer lies above a noisy threshold.

    Attributes:
        epsilon: Claimed level; the attribute `level` is the true level.
        threshold: Threshold T.
        num_queries: Number k of queries, the length of the database.
        max_positives: Number c of positives after which a variant stops. Variants without the
            parameter `max_positives` have c = 1.
    """

    epsilon: float = 1.0
    threshold: float = leaf(1.0, validate.finite)
    num_queries: int = static(10)
    max_positives = 1

    def __post_init__(self):
        super().__post_init__()
        if self.noise.told is None and self.num_queries > 20:
            raise ValueError(
                f"num_queries must be at most 20 (2^20 outcomes), but was {self.num_queries}."
            )

    @property
    def noise(self) -> Noise:
        """Noise and true level of the variant, for epsilon = 1."""
        return _VARIANTS[self.name](self.num_queries, self.max_positives)

    @property
    def level(self) -> float:
        """True level: the level of `noise` times epsilon."""
        return self.noise.level * float(self.epsilon)

    @property
    def output_space(self) -> FiniteSpace | MixedSpace:
        """Space of the outputs, which the docstring of `sample` describes."""
        if self.noise.told is not None:
            return MixedSpace(self.num_queries + 1)
        return FiniteSpace(self.num_queries + 1 if self.tells_index else 2**self.num_queries)

    @property
    def standard_region(self) -> tuple[float, float] | None:
        """Bounds of the number reported with a positive, or None if no number is reported."""
        return None if self.noise.told is None else (-3.0, 5.0)

    @property
    def tells_index(self) -> bool:
        """Whether the output is the index of the first positive, at which the variant stops."""
        return self.noise.stops and self.max_positives == 1

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Draw int32 of shape [num_samples] for answers of shape [num_queries].

        If `tells_index` is true, an output is the index of the first positive, or k if there is no
        positive. If `tells_index` is false, an output is a pattern whose bit i is set if query i is
        positive. If the variant reports a number, outputs are floats [num_samples, 2]: the index
        and the number.
        """
        noise, k, c = self.noise, self.num_queries, self.max_positives
        dtype = draw_dtype(self.epsilon)
        unit = 1 / jnp.asarray(self.epsilon, dtype)

        def laplace(scale: float, row: int) -> Array:
            return scale * unit * random.laplace(key, num_samples, row, dtype)

        threshold = self.threshold + laplace(noise.threshold, 0)
        code = positives = jnp.zeros(num_samples, jnp.int32)
        first, told = jnp.full(num_samples, k, jnp.int32), jnp.zeros(num_samples, dtype)
        # The loop is unrolled, so that XLA compiles it to one kernel; see _noisy_max.
        for i in range(k):
            value = database[i] + laplace(noise.query, i + 1) if noise.query else database[i]
            positive = value >= threshold
            if self.tells_index:
                positive &= first == k
                first = jnp.where(positive, i, first)
                if noise.told is not None:
                    told = jnp.where(positive, database[i] if noise.told else value, told)
                continue
            if noise.stops:
                positive &= positives < c
                positives += positive
            if noise.redraw:
                fresh = self.threshold + laplace(noise.redraw, k + 1 + i)
                threshold = jnp.where(positive, fresh, threshold)
            code |= positive.astype(jnp.int32) << i
        if noise.told is None:
            return first if self.tells_index else code
        if noise.told:
            fresh = noise.told / self.epsilon * random.laplace(key, num_samples, k + 1, dtype)
            told = jnp.where(first < k, told + fresh, 0)
        return jnp.stack([first.astype(dtype), told], axis=-1)


@pytree
class SVT1(SparseVector):
    """Variant 1: noise Lap(2 / eps) on threshold, Lap(4 c / eps) on queries; true level epsilon.

    References:
        Lyu, Su, Li (2017), Algorithm 1, with c = max_positives.
    """

    name = "svt1"
    source = "Lyu et al. 2017, Alg. 1"
    max_positives: int = static(1)


@pytree
class SVT2(SparseVector):
    """Variant 2: the threshold's noise is redrawn after each positive; true level epsilon.

    The noise is Lap(2 c / eps) on the threshold and Lap(4 c / eps) on queries, where c is
    `max_positives`.

    References:
        Lyu, Su, Li (2017), Algorithm 2; Askin, Kutta, Dette (2022), experiment (e).
    """

    name = "svt2"
    source = "Lyu et al. 2017, Alg. 2"
    max_positives: int = static(1)


@pytree
class SVT3(SparseVector):
    """Variant 3: reports the noisy answer that was compared with the threshold, and stops.

    A small reported number shows that the noisy threshold was at most that number, which reveals
    the earlier negative answers. For neighbors whose answers all change in the same direction, the
    true level is num_queries epsilon / 2. An output is (index of the positive, number), or
    (num_queries, 0) if there is no positive.

    References:
        Lyu, Su, Li (2017), Algorithm 3, with c = 1.
    """

    name = "svt3"
    source = "Lyu et al. 2017, Alg. 3 (wrong)"


@pytree
class SVT4(SparseVector):
    """Variant 4: the queries' noise lacks the factor c = max_positives.

    The noise is Lap(4 / eps) on the threshold and Lap(4 / (3 eps)) on queries. With c =
    `max_positives`, the true level is (1 + 6 c) epsilon / 4.

    References:
        Lyu, Su, Li (2017), Algorithm 4; Askin, Kutta, Dette (2022), experiment (f).
    """

    name = "svt4"
    source = "Lyu et al. 2017, Alg. 4 (wrong)"
    max_positives: int = static(1)

    @classmethod
    def at_level(cls, level: float, max_positives: int = 1, **parameters) -> "SVT4":
        """Return the mechanism with the epsilon for which its true level is `level`."""
        validate.positive(level=level)
        epsilon = level * 4 / (1 + 6 * max_positives)
        return cls(epsilon=epsilon, max_positives=max_positives, **parameters)


@pytree
class SVT5(SparseVector):
    """Variant 5: noise Lap(2 / eps) only on the threshold; it never stops, and has no finite level.

    References:
        Lyu, Su, Li (2017), Algorithm 5; Askin, Kutta, Dette (2022), experiment (g).
    """

    name = "svt5"
    source = "Lyu et al. 2017, Alg. 5 (wrong)"


@pytree
class SVT6(SparseVector):
    """Variant 6: add noise Lap(2 / eps) to threshold and queries, and never stop.

    The true level, num_queries epsilon / 2, is a supremum that no pair attains.

    References:
        Lyu, Su, Li (2017), Algorithm 6; Askin, Kutta, Dette (2022), experiment (h).
    """

    name = "svt6"
    source = "Lyu et al. 2017, Alg. 6 (wrong)"


@pytree
class NumericalSVT(SparseVector):
    """Numerical sparse vector: reports the positive answer with fresh noise; true level epsilon.

    The noise is Lap(3 / eps) on the threshold, Lap(6 / eps) on queries, and Lap(3 / eps) on the
    reported answer. The mechanism stops at the first positive. An output has the same form as an
    output of `SVT3`.

    References:
        Wang, Ding, Wang, Kifer, Zhang (2019); Dwork, Roth (2014), Algorithm 3.
    """

    name = "numerical-svt"
    source = "Wang et al. 2019"


@pytree
class SVT3And4(OfQueries):
    """Variants 3 and 4 on the same answers, with independent noise; both outputs are reported.

    The label is (index of variant 3) * (num_queries + 1) + (index of variant 4). The number of an
    output is the number that variant 3 reports. The true level is the sum of the levels of the two
    variants and increases with the number of queries.

    Attributes:
        epsilon: Claimed level of each variant.
        threshold: Threshold T.
        num_queries: Number of queries, the length of the database.

    References:
        Lyu, Su, Li (2017), Algorithms 3 and 4; Bichsel, Steffen, Bogunovic, Vechev (2021).
    """

    name = "svt3-svt4"
    source = "Bichsel et al. 2021 (wrong)"
    standard_region = (-3.0, 5.0)
    epsilon: float = 1.0
    threshold: float = leaf(1.0, validate.finite)
    num_queries: int = static(10)

    @property
    def parts(self) -> tuple[SVT3, SVT4]:
        """The variants 3 and 4 whose outputs are reported."""
        arguments = (self.epsilon, self.threshold, self.num_queries)
        return SVT3(*arguments), SVT4(*arguments)

    @property
    def level(self) -> float:
        """True level, (num_queries / 2 + 7 / 4) epsilon, a supremum that no pair attains."""
        return sum(part.level for part in self.parts)

    @property
    def output_space(self) -> MixedSpace:
        """Space of labels that combine both indices, each with the noisy answer of variant 3."""
        return MixedSpace((self.num_queries + 1) ** 2)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Draw reals of shape [num_samples, 2] for answers of shape [num_queries]."""
        third, fourth = self.parts
        mixed = third.sample(random.fold_in(key, 3), database, num_samples)
        index = fourth.sample(random.fold_in(key, 4), database, num_samples)
        label = mixed[:, 0] * (self.num_queries + 1) + index.astype(mixed.dtype)
        return jnp.stack([label, mixed[:, 1]], axis=-1)
