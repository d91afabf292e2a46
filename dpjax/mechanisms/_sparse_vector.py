"""Variants of the sparse vector technique, defined by a table of noise scales and a sampler.

In the notation of this module, c is max_positives, k is num_queries, and T is threshold. The noise
added to the threshold is rho, and the noise added to the answer q_i of query i is nu_i. A query is
positive if q_i + nu_i >= T + rho.

References:
    Lyu, Su, Li (2017), "Understanding the Sparse Vector Technique for Differential Privacy",
    Algorithms 1 to 6 and the table of Figure 2.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from dpjax.core import random, validate
from dpjax.core.streaming import computed_once
from dpjax.core.types import FiniteSpace, MixedSpace
from dpjax.mechanisms._base import OfQueries, draw_dtype, leaf, pytree, static
from dpjax.mechanisms._local_protocols import MOST_BITS


class Noise(NamedTuple):
    """Definition of a variant: its true level and the scales of its Laplace noise, at epsilon = 1.

    Attributes:
        threshold: Scale of the threshold's noise rho.
        query: Scale of the queries' noise nu, or 0 for no noise.
        level: True level, a supremum over all pairs of databases, which no pair may attain.
        redraw: Scale of the new rho that is drawn after each positive query, or 0 to keep rho.
        told: Code that defines the number reported with a positive query i. If `told` is None, no
            number is reported. If it is 0, the number is the noisy answer q_i + nu_i. Otherwise,
            the number is q_i plus fresh noise of scale `told`.
        stops: Whether the variant stops after c positive queries.
    """

    threshold: float
    query: float
    level: float
    redraw: float = 0
    told: float | None = None
    stops: bool = True


def _shared(k: int, c: int, rho: float, nu: float) -> float:
    """Return the true level at epsilon = 1 of a variant that keeps its threshold's noise.

    Consider an output with p positive queries and n negative ones. If every answer changes by 1,
    its probability changes by at most e^(k / nu). Shifting rho by 1 in the direction of the
    negative queries' change leaves their probabilities unchanged or larger, changes the
    probabilities of the positive queries by at most e^(2 / nu) each, and the density of rho by
    e^(1 / rho). The opposite shift exchanges p and n. Answers far from the threshold approach the
    smallest of the three bounds.

    Args:
        k: Number of queries.
        c: Maximum number of positive queries.
        rho: Scale of the threshold's noise.
        nu: Scale of the queries' noise.
    """
    outputs = [(p, k - p) for p in range(min(k, c) + 1)]
    return max(min(k / nu, 1 / rho + 2 * p / nu, 1 / rho + 2 * n / nu) for p, n in outputs)


# The values are those of Figure 2 for sensitivity 1, with eps1 = epsilon / 4 in variant 4 and
# eps1 = epsilon / 2 in all other variants.
_VARIANTS: dict[str, Callable[[int, int], Noise]] = {
    "svt1": lambda k, c: Noise(2, 4 * c, level=_shared(k, c, 2, 4 * c)),
    # Each positive query ends a segment of queries that share a threshold. A segment of m queries
    # has the level min(m / 4c, 1 / c), and there are at most c segments.
    "svt2": lambda k, c: Noise(2 * c, 4 * c, level=min(1, k / (4 * c)), redraw=2 * c),
    "svt3": lambda k, c: Noise(2, 2, level=k / 2, told=0),
    "svt4": lambda k, c: Noise(4, 4 / 3, level=_shared(k, c, 4, 4 / 3)),
    # A single query is compared with a threshold that has noise of scale 2.
    "svt5": lambda k, c: Noise(2, 0, level=0.5 if k == 1 else math.inf, stops=False),
    "svt6": lambda k, c: Noise(2, 2, level=k / 2, stops=False),
    # In Wang et al. (2019), rho, nu and the reported number each spend a third of epsilon.
    "numerical-svt": lambda k, c: Noise(3, 6, level=min(1, (k + 2) / 6), told=3),
}


@pytree
class SparseVector(OfQueries):
    """For each query in turn, report whether its noisy answer reaches a noisy threshold.

    Attributes:
        epsilon: Claimed level. The true level is `level`.
        threshold: Threshold T.
        num_queries: Number k of queries, the length of the database.
        max_positives: Number c of positive queries after which a variant stops. Variants without
            this parameter use c = 1.
    """

    epsilon: float = 1.0
    threshold: float = leaf(1.0, validate.finite)
    num_queries: int = static(10)
    max_positives = 1

    def __post_init__(self):
        super().__post_init__()
        if self.noise.told is None and not self.tells_index and self.num_queries > MOST_BITS:
            raise ValueError(
                f"num_queries must be at most {MOST_BITS} (2^{MOST_BITS} outcomes), but was "
                f"{self.num_queries}."
            )

    @property
    def noise(self) -> Noise:
        """Noise and true level of the variant at epsilon = 1."""
        return _VARIANTS[self.name](self.num_queries, self.max_positives)

    @property
    def level(self) -> float:
        """True level: epsilon times the variant's level at epsilon = 1."""
        return self.noise.level * float(self.epsilon)

    @property
    def output_space(self) -> FiniteSpace | MixedSpace:
        """Space of the outputs; the docstring of `sample` describes the outputs."""
        if self.noise.told is not None:
            return MixedSpace(self.num_queries + 1)
        return FiniteSpace(self.num_queries + 1 if self.tells_index else 2**self.num_queries)

    @property
    def standard_region(self) -> tuple[float, float] | None:
        """Bounds for the number reported with a positive query; None if no number is reported."""
        return None if self.noise.told is None else (-3.0, 5.0)

    @property
    def tells_index(self) -> bool:
        """Whether the variant stops at the first positive query and reports the query's index."""
        return self.noise.stops and self.max_positives == 1

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, int32 [num_samples], for answers [num_queries].

        If `tells_index` is True, an output is the index of the first positive query, or k if no
        query is positive. If `tells_index` is False, bit i of an output is set if query i is
        positive. If the variant also reports a number, the samples are float [num_samples, 2], with
        the index in column 0 and the number in column 1.
        """
        label, number = self._reported(key, database, num_samples)
        return label if number is None else _paired(label, number)

    def _reported(
        self, key: Array, database: Array, num_samples: int
    ) -> tuple[Array, Array | None]:
        """Return indices or bits, int32 [num_samples], and numbers, float [num_samples] or None."""
        noise, k, c = self.noise, self.num_queries, self.max_positives
        dtype = draw_dtype(self.epsilon)
        unit = 1 / jnp.asarray(self.epsilon, dtype)

        def laplace(scale: float, row: int) -> Array:
            return scale * unit * random.laplace(key, num_samples, row, dtype)

        threshold = self.threshold + laplace(noise.threshold, 0)
        code = positives = jnp.zeros(num_samples, jnp.int32)
        first, told = jnp.full(num_samples, k, jnp.int32), jnp.zeros(num_samples, dtype)
        # The loop is unrolled, so that XLA compiles it to one kernel (see `_noisy_max.py`).
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
                positives += positive.astype(jnp.int32)
            if noise.redraw:
                fresh = self.threshold + laplace(noise.redraw, k + 1 + i)
                threshold = jnp.where(positive, fresh, threshold)
            code |= positive.astype(jnp.int32) << i
        if noise.told is None:
            return (first if self.tells_index else code), None
        if noise.told:
            fresh = noise.told / self.epsilon * random.laplace(key, num_samples, k + 1, dtype)
            told = jnp.where(first < k, told + fresh, 0)
        return first, told


def _paired(label: Array, number: Array) -> Array:
    """Return outputs of a mixed space, float [n, 2], from labels [n] and numbers [n]."""
    # Each column is computed by a separate loop. If XLA writes both columns in one loop, the loop
    # is not vectorized, and a draw from SVT3 takes 25 times as long on a CPU.
    return jnp.stack([label.astype(number.dtype), number]).T


@pytree
class SVT1(SparseVector):
    """Variant 1, which is correct.

    The noise is Lap(2 / epsilon) for the threshold and Lap(4 c / epsilon) for the answers. The true
    level is epsilon, or num_queries * epsilon / (4 c) if there are fewer than 4 c queries.

    References:
        Lyu, Su, Li (2017), Algorithm 1, with c = `max_positives`.
    """

    name = "svt1"
    source = "Lyu et al. 2017, Alg. 1"
    max_positives: int = static(1)


@pytree
class SVT2(SparseVector):
    """Variant 2, which redraws the threshold's noise after each positive query.

    The noise is Lap(2 c / epsilon) for the threshold and Lap(4 c / epsilon) for the answers, where
    c is `max_positives`. The true level is epsilon, or num_queries * epsilon / (4 c) if there are
    fewer than 4 c queries.

    References:
        Lyu, Su, Li (2017), Algorithm 2; Askin, Kutta, Dette (2022), experiment (e).
    """

    name = "svt2"
    source = "Lyu et al. 2017, Alg. 2"
    max_positives: int = static(1)


@pytree
class SVT3(SparseVector):
    """Variant 3, which reports the noisy answer of the first positive query and then stops.

    The reported answer is an upper bound on the noisy threshold, and thereby reveals information
    about all earlier queries, whose noisy answers were below the threshold. For neighbors whose
    answers all change in the same direction, the true level is num_queries * epsilon / 2. An output
    is (index of the positive query, noisy answer), or (num_queries, 0) if no query is positive.

    References:
        Lyu, Su, Li (2017), Algorithm 3, with c = 1.
    """

    name = "svt3"
    source = "Lyu et al. 2017, Alg. 3 (wrong)"


@pytree
class SVT4(SparseVector):
    """Variant 4, in which the scale of the answers' noise lacks the factor c = `max_positives`.

    The noise is Lap(4 / epsilon) for the threshold and Lap(4 / (3 epsilon)) for the answers. The
    true level is (1 + 6 c) epsilon / 4; it is lower with 2 c or fewer queries.

    References:
        Lyu, Su, Li (2017), Algorithm 4; Askin, Kutta, Dette (2022), experiment (f).
    """

    name = "svt4"
    source = "Lyu et al. 2017, Alg. 4 (wrong)"
    max_positives: int = static(1)

    @classmethod
    def at_level(cls, level: float, max_positives: int = 1, **parameters) -> "SVT4":
        """Return the mechanism whose true level is `level`; its epsilon is chosen accordingly."""
        validate.positive(level=level)
        one = cls(epsilon=1.0, max_positives=max_positives, **parameters)
        return replace(one, epsilon=level / one.level)


@pytree
class SVT5(SparseVector):
    """Variant 5, which adds noise only to the threshold and never stops.

    The threshold's noise is Lap(2 / epsilon). With two or more queries, there is no finite level.

    References:
        Lyu, Su, Li (2017), Algorithm 5; Askin, Kutta, Dette (2022), experiment (g).
    """

    name = "svt5"
    source = "Lyu et al. 2017, Alg. 5 (wrong)"


@pytree
class SVT6(SparseVector):
    """Variant 6, which adds Lap(2 / epsilon) to the threshold and to the answers, and never stops.

    The true level, num_queries * epsilon / 2, is a supremum that no pair attains.

    References:
        Lyu, Su, Li (2017), Algorithm 6; Askin, Kutta, Dette (2022), experiment (h).
    """

    name = "svt6"
    source = "Lyu et al. 2017, Alg. 6 (wrong)"


@pytree
class NumericalSVT(SparseVector):
    """Numerical sparse vector: report the first positive query's answer with fresh noise, and stop.

    The noise is Lap(3 / epsilon) for the threshold, Lap(6 / epsilon) for the answers, and
    Lap(3 / epsilon) for the reported answer. The true level is epsilon, or (num_queries + 2)
    epsilon / 6 if there are fewer than 4 queries. Outputs have the same form as outputs of `SVT3`.

    References:
        Wang, Ding, Wang, Kifer, Zhang (2019); Dwork, Roth (2014), Algorithm 3.
    """

    name = "numerical-svt"
    source = "Wang et al. 2019"


@pytree
class SVT3And4(OfQueries):
    """Run variants 3 and 4 on the same answers, with independent noise, and report both outputs.

    An output consists of a label and a number. The label is (index from variant 3) * (num_queries +
    1) + (index from variant 4). The number is the noisy answer from variant 3. The true level is
    the sum of the two variants' levels and increases with the number of queries.

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
        """Variants 3 and 4, whose outputs are reported."""
        arguments = (self.epsilon, self.threshold, self.num_queries)
        return SVT3(*arguments), SVT4(*arguments)

    @property
    def level(self) -> float:
        """True level, the sum of the two variants' levels, a supremum that no pair attains.

        From three queries on, it is (num_queries / 2 + 7 / 4) * epsilon.
        """
        return sum(part.level for part in self.parts)

    @property
    def output_space(self) -> MixedSpace:
        """Space of pairs (label, number), as described in the docstring of the class."""
        return MixedSpace((self.num_queries + 1) ** 2)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return samples, float [num_samples, 2], for answers [num_queries]."""
        third, fourth = self.parts
        # Without `computed_once`, XLA computes parts of the draws several times: a draw takes ten
        # times as long, and compilation three times as long.
        reported = computed_once(partial(third._reported, num_samples=num_samples))
        first, number = reported(random.fold_in(key, 3), database)
        second, _ = fourth._reported(random.fold_in(key, 4), database, num_samples)
        assert number is not None
        return _paired(first * (self.num_queries + 1) + second, number)
