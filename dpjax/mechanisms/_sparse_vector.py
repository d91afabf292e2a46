"""The sparse vector technique in its variants: one table tells them apart, one sampler runs them.

Notation: c is max_positives, k num_queries, T threshold; rho is the threshold's noise, nu_i that of
query i. A positive is a report that q_i + nu_i >= T + rho.

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
    """What makes a variant: scales of Laplace noise and the level, all at epsilon = 1.

    Attributes:
        threshold: Scale of rho.
        query: Scale of nu, 0 for none.
        level: True epsilon, as a supremum that no pair may attain.
        redraw: Scale of a fresh rho after each positive, 0 where it is kept.
        told: With a positive: nothing if None, its q_i + nu_i if 0, else q_i with fresh noise of
            this scale.
        stops: Whether it stops at c positives.
    """

    threshold: float
    query: float
    level: float
    redraw: float = 0
    told: float | None = None
    stops: bool = True


# Figure 2 at sensitivity 1, with its eps1 and eps2 (3/4 of it in variant 4, else 1/2) put in.
_VARIANTS: dict[str, Callable[[int, int], Noise]] = {
    "svt1": lambda k, c: Noise(2, 4 * c, level=1),
    "svt2": lambda k, c: Noise(2 * c, 4 * c, level=1, redraw=2 * c),
    "svt3": lambda k, c: Noise(2, 2, level=k / 2, told=0),
    "svt4": lambda k, c: Noise(4, 4 / 3, level=(1 + 6 * c) / 4),
    "svt5": lambda k, c: Noise(2, 0, level=math.inf, stops=False),
    "svt6": lambda k, c: Noise(2, 2, level=k / 2, stops=False),
    # Wang et al. (2019): a third of epsilon each for rho, nu and the answer that is told.
    "numerical-svt": lambda k, c: Noise(3, 6, level=1, told=3),
}


@pytree
class SparseVector(OfQueries):
    """Answers queries in turn by whether they lie above a noisy threshold; see `Noise`.

    Attributes:
        epsilon: What the variant's author meant the level to be; `level` is the true one.
        threshold: T.
        num_queries: k, the length of the database.
        max_positives: c, for variants that stop; those without the parameter have c = 1.
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
        """The variant's row of the table."""
        return _VARIANTS[self.name](self.num_queries, self.max_positives)

    @property
    def level(self) -> float:
        """The table's."""
        return self.noise.level * float(self.epsilon)

    @property
    def output_space(self) -> FiniteSpace | MixedSpace:
        """Index of the one positive or k for none, with its number; else patterns of positives."""
        if self.noise.told is not None:
            return MixedSpace(self.num_queries + 1)
        return FiniteSpace(self.num_queries + 1 if self.tells_index else 2**self.num_queries)

    @property
    def standard_region(self) -> tuple[float, float] | None:
        """Of the number that comes with a positive."""
        return None if self.noise.told is None else (-3.0, 5.0)

    @property
    def tells_index(self) -> bool:
        """Whether it stops at the first positive, so that the output is its index."""
        return self.noise.stops and self.max_positives == 1

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """int32 of shape [num_samples] for answers of shape [num_queries].

        Index of the first positive if `tells_index`; else a pattern, with bit i set where query i
        was reported. Floats of shape [num_samples, 2] where a number is told.
        """
        noise, k, c = self.noise, self.num_queries, self.max_positives
        dtype = draw_dtype(self.epsilon)
        unit = 1 / jnp.asarray(self.epsilon, dtype)

        def laplace(scale: float, row: int) -> Array:
            return scale * unit * random.laplace(key, num_samples, row, dtype)

        threshold = self.threshold + laplace(noise.threshold, 0)
        code = positives = jnp.zeros(num_samples, jnp.int32)
        first, told = jnp.full(num_samples, k, jnp.int32), jnp.zeros(num_samples, dtype)
        # Unrolled, so that XLA makes one kernel of it; see _noisy_max.
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
    """Variant 1: Lap(2 / eps) on the threshold, Lap(4 c / eps) on queries. True level epsilon.

    References:
        Lyu, Su, Li (2017), Algorithm 1; c = max_positives.
    """

    name = "svt1"
    source = "Lyu et al. 2017, Alg. 1"
    max_positives: int = static(1)


@pytree
class SVT2(SparseVector):
    """Variant 2: the threshold's noise is redrawn after each positive. True level epsilon.

    Lap(2 c / eps) on the threshold, Lap(4 c / eps) on queries.

    References:
        Lyu, Su, Li (2017), Algorithm 2; Askin, Kutta, Dette (2022), experiment (e).
    """

    name = "svt2"
    source = "Lyu et al. 2017, Alg. 2"
    max_positives: int = static(1)


@pytree
class SVT3(SparseVector):
    """Variant 3: tells the noisy answer that was compared with the threshold, and stops.

    A small number told says that the noisy threshold lay below it, so the other answers are tied
    to it: the level grows with the queries, num_queries epsilon / 2, where all answers move alike.
    An output is (index of the positive, number), or (num_queries, 0) where none was reported.

    References:
        Lyu, Su, Li (2017), Algorithm 3, with c = 1.
    """

    name = "svt3"
    source = "Lyu et al. 2017, Alg. 3 (wrong)"


@pytree
class SVT4(SparseVector):
    """Variant 4: the queries' noise forgets c. True level (1 + 6 c) / 4 epsilon; see `at_level`.

    Lap(4 / eps) on the threshold, Lap(4 / (3 eps)) on queries.

    References:
        Lyu, Su, Li (2017), Algorithm 4; Askin, Kutta, Dette (2022), experiment (f).
    """

    name = "svt4"
    source = "Lyu et al. 2017, Alg. 4 (wrong)"
    max_positives: int = static(1)

    @classmethod
    def at_level(cls, level: float, max_positives: int = 1, **parameters) -> "SVT4":
        """The variant with its epsilon set so that its true level is `level`."""
        validate.positive(level=level)
        epsilon = level * 4 / (1 + 6 * max_positives)
        return cls(epsilon=epsilon, max_positives=max_positives, **parameters)


@pytree
class SVT5(SparseVector):
    """Variant 5: Lap(2 / eps) on the threshold, none on the queries, never stops. No level.

    References:
        Lyu, Su, Li (2017), Algorithm 5; Askin, Kutta, Dette (2022), experiment (g).
    """

    name = "svt5"
    source = "Lyu et al. 2017, Alg. 5 (wrong)"


@pytree
class SVT6(SparseVector):
    """Variant 6: Lap(2 / eps) on threshold and queries, never stops.

    Its level grows with the queries: num_queries epsilon / 2, approached and not attained.

    References:
        Lyu, Su, Li (2017), Algorithm 6; Askin, Kutta, Dette (2022), experiment (h).
    """

    name = "svt6"
    source = "Lyu et al. 2017, Alg. 6 (wrong)"


@pytree
class NumericalSVT(SparseVector):
    """Numerical sparse vector: tells the positive's answer with fresh noise. True level epsilon.

    Lap(3 / eps) on the threshold, Lap(6 / eps) on queries, Lap(3 / eps) on the answer told; it
    stops at the first positive. Outputs are those of `SVT3`.

    References:
        Wang, Ding, Wang, Kifer, Zhang (2019), with c = 1; Dwork, Roth (2014), Algorithm 3.
    """

    name = "numerical-svt"
    source = "Wang et al. 2019"


@pytree
class SVT3And4(OfQueries):
    """Variants 3 and 4 on the same answers, with independent noise; both outputs are told.

    The label is (index of variant 3) (num_queries + 1) + index of variant 4, the number is that
    of variant 3. The level grows with the queries without limit: their sum.

    Attributes:
        epsilon: What the author meant the level of each to be.
        threshold: T.
        num_queries: Length of the database.

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
        """The two variants."""
        arguments = (self.epsilon, self.threshold, self.num_queries)
        return SVT3(*arguments), SVT4(*arguments)

    @property
    def level(self) -> float:
        """(num_queries / 2 + 7 / 4) epsilon, as a supremum no pair attains."""
        return sum(part.level for part in self.parts)

    @property
    def output_space(self) -> MixedSpace:
        """Both indices with the noisy answer of variant 3."""
        return MixedSpace((self.num_queries + 1) ** 2)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Reals of shape [num_samples, 2] for answers of shape [num_queries]."""
        third, fourth = self.parts
        mixed = third.sample(random.fold_in(key, 3), database, num_samples)
        index = fourth.sample(random.fold_in(key, 4), database, num_samples)
        label = mixed[:, 0] * (self.num_queries + 1) + index.astype(mixed.dtype)
        return jnp.stack([label, mixed[:, 1]], axis=-1)
