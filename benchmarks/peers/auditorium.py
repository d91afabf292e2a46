"""The mechanisms of DP-Auditorium: noisy means, noisy maxima and sparse vector techniques.

The mechanisms, the number of draws and the claim (epsilon 1, with delta 1e-5 for Gaussian noise)
are those of DP-Auditorium's example. As in the example, there are ten random pairs of databases
that differ by one added record, and records in [-1, 1] are clipped to [0, 1]. The sparse vector
techniques report at most two positives, among three queries as in DP-Auditorium's tests, or among
ten queries.

References:
    Kong, Munoz Medina, Ribero (2023), "DP-Auditorium: a large scale library for auditing
    differential privacy"; example and tests of google/differential-privacy at commit b5b0286.
    Lyu, Su, Li (2017), "Understanding the sparse vector technique", Algorithms 1 to 6.
"""

import contextlib
import io
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

import dpjax
from benchmarks.auditors import without_generators
from benchmarks.peers.cases import Case
from dpjax.core import random
from dpjax.core.types import FiniteSpace, RealSpace, VectorSpace

EPSILON, DELTA, ERROR = 1.0, 1e-5, 0.05
PAIRS, DRAWS = 10, 10_000
"""Pairs of the example, and its draws per side and pair."""

SIZES = ("2 records", "3 queries")
"""Sizes of DP-Auditorium's example and tests."""

POSITIVES = 2
"""Number of positives after which a sparse vector technique stops."""

LEAST_SCALE = 1e-12
"""Smallest scale of the noise of a mean, which replaces scales that are negative."""


@jax.tree_util.register_static
@dataclass(frozen=True)
class Mean:
    """Noisy mean: the sum of the records divided by a count, plus noise.

    The scale of the noise is also divided by a count. Each count is exact or noisy.

    Attributes:
        by_noisy_count: Whether the sum is divided by a noisy count.
        scale_by_noisy_count: Whether the scale of the noise is divided by this noisy count.
        gaussian: Whether the noise of the mean is Gaussian, at delta 1e-5.
        positive: Whether the noisy count is at least 1. In DP-Auditorium, a negative count leads to
            a scale of 1e-12.
    """

    by_noisy_count: bool
    scale_by_noisy_count: bool
    gaussian: bool = False
    positive: bool = False
    output_space: ClassVar[RealSpace] = RealSpace()

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Draw reals of shape [num_samples] for records of shape [num_records]."""
        share = EPSILON / (2 if self.by_noisy_count or self.scale_by_noisy_count else 1)
        total, count = jnp.sum(jnp.clip(database, 0, 1)), database.shape[0]
        noisy = count + random.laplace(key, num_samples) / share
        if self.positive:
            noisy = jnp.maximum(noisy, 1)
        divisor = noisy if self.scale_by_noisy_count else count
        factor = math.sqrt(2 * math.log(1.25 / DELTA)) if self.gaussian else 1.0
        scale = jnp.maximum(factor / share / divisor, LEAST_SCALE)
        draw = random.normal if self.gaussian else random.laplace
        return total / (noisy if self.by_noisy_count else count) + scale * draw(key, num_samples, 1)


@jax.tree_util.register_static
@dataclass(frozen=True)
class GumbelMax:
    """The most frequent category, by counts with Gumbel noise of scale 2 / epsilon.

    Attributes:
        num_categories: Number of categories; records are integers below this number.
    """

    num_categories: int

    @property
    def output_space(self) -> FiniteSpace:
        """Categories."""
        return FiniteSpace(self.num_categories)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Draw int32 of shape [num_samples] for records of shape [num_records]."""
        noisy = [
            jnp.sum(database == i) + 2 / EPSILON * random.gumbel(key, num_samples, i)
            for i in range(self.num_categories)
        ]
        return jnp.argmax(jnp.stack(noisy), axis=0).astype(jnp.int32)


class Scales(NamedTuple):
    """Scales of the Laplace noise of a sparse vector technique, for epsilon 1.

    Attributes:
        threshold: Scale of the threshold's noise.
        query: Scale of the queries' noise, or 0 for no noise.
        told: Whether a positive query is reported with its noisy answer.
    """

    threshold: float
    query: float
    told: bool = False


SCALES = {
    "SVT1": Scales(2, 8),
    "SVT2": Scales(4, 8),
    "SVT3 (wrong)": Scales(2, 4, told=True),
    "SVT4 (wrong)": Scales(4, 4 / 3),
    "SVT5 (wrong)": Scales(2, 0),
    "SVT6 (wrong)": Scales(2, 2),
}


@jax.tree_util.register_static
@dataclass(frozen=True)
class SparseVector:
    """Reports for every query, until two are positive: 1 if positive, 2 if not, 0 after the stop.

    Attributes:
        scales: Scales of the noise.
        reveals: Whether the last answer is the last record but one, and all other answers are the
            last record. Otherwise, all answers are the sum of the records.
        length: Number of queries.
    """

    scales: Scales
    reveals: bool
    length: int = 3

    @property
    def level(self) -> float:
        """Upper bound on the true level.

        If all answers move by 1, noise that moves with them has a cost of 1 / query for each query,
        whether its answer is reported or not. If no answer is reported, the noise of the threshold
        can move instead. Then the noise of positive queries moves too: by 2 if answers may move in
        both directions, and otherwise by 1.
        """
        threshold, query, told = self.scales
        if not query:
            return math.inf if self.reveals else EPSILON / threshold
        moved = self.length / query
        if not told:
            moved = min(moved, 1 / threshold + POSITIVES * (1 + self.reveals) / query)
        return EPSILON * moved

    @property
    def output_space(self) -> FiniteSpace | VectorSpace:
        """Codes of the reports, or the reports themselves if they contain answers."""
        return VectorSpace(self.length) if self.scales.told else FiniteSpace(3**self.length)

    def reports(self, key: Array, database: Array, num_samples: int) -> Array:
        """Draw reports of shape [num_samples, length] for records of shape [num_records]."""
        records, draw = jnp.clip(database, 0, 1), random.laplace
        revealed = [records[-1]] * (self.length - 1) + [records[-2]]
        answers = revealed if self.reveals else [jnp.sum(records)] * self.length
        threshold = 0.5 + self.scales.threshold / EPSILON * draw(key, num_samples)
        positives, reports = jnp.zeros(num_samples, int), []
        for i, answer in enumerate(answers):
            noisy = answer + self.scales.query / EPSILON * draw(key, num_samples, i + 1)
            positive = noisy >= threshold
            report = jnp.where(positive, noisy if self.scales.told else 1.0, 2.0)
            reports.append(jnp.where(positives < POSITIVES, report, 0.0))
            positives += positive
        return jnp.stack(reports, axis=-1)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Draw codes of shape [num_samples], or the reports if they contain answers."""
        reports = self.reports(key, database, num_samples)
        if self.scales.told:
            return reports
        return reports.astype(jnp.int32) @ (3 ** jnp.arange(self.length, dtype=jnp.int32))


def random_pairs(num_records: int, num_categories: int | None = None) -> dpjax.Pairs:
    """Return ten pairs of random records, whose second database has one record more.

    Args:
        num_records: Number of records of the second database.
        num_categories: Number of categories, or None for numbers in [-1, 1].
    """
    rng, size = np.random.default_rng([num_records, num_categories or 0]), (PAIRS, num_records)
    if num_categories is None:
        records = rng.uniform(-1, 1, size)
    else:
        records = rng.integers(num_categories, size=size)
    return dpjax.Pairs(records[:, :-1], records)


def _mechanisms() -> Iterator[tuple[str, str, Any, float | None, dpjax.Pairs, float]]:
    """Yield titles, sizes, mechanisms, levels, pairs and deltas."""
    for gaussian in (False, True):
        noise, delta = ("Gaussian", DELTA) if gaussian else ("Laplace", 0.0)
        for title, given, level in (
            ("mean, counts of at least 1", (True, True, gaussian, True), EPSILON),
            ("private_mean", (True, True, gaussian), math.inf),
            ("non_private_mean_v1", (False, False, gaussian), None if gaussian else math.inf),
            ("non_private_mean_v2", (False, True, gaussian), math.inf),
        ):
            for n in (2, 10):
                mechanism = Mean(*given)
                yield f"{title}, {noise}", f"{n} records", mechanism, level, random_pairs(n), delta
    for categories in (2, 5):
        for n in (2, 10):
            # An added record changes a single count.
            mechanism, level = GumbelMax(categories), EPSILON / 2
            title, pairs = f"noisy max of {categories}", random_pairs(n, categories)
            yield title, f"{n} records", mechanism, level, pairs, 0.0
    for title, scales in SCALES.items():
        for reveals in (False, True):
            for k in (3, 10):
                mechanism = SparseVector(scales, reveals, k)
                name = f"{title}, {'records' if reveals else 'sums'}"
                yield name, f"{k} queries", mechanism, mechanism.level, random_pairs(3), 0.0


def cases() -> list[Case]:
    """Return a case for every mechanism of DP-Auditorium; `peer` is empty."""
    draws = {"num_draws": PAIRS * DRAWS}, {"num_draws": PAIRS * DRAWS // 10}
    return [
        Case(title, size, mechanism, pairs, EPSILON, level, draws, "", delta)
        for title, size, mechanism, level, pairs, delta in _mechanisms()
    ]


def hockey_stick(folder: Path) -> Callable[[Case, int], str]:
    """Return DP-Auditorium's hockey-stick test, with the settings of the example.

    As in the example, each pair is tested in both directions, each with an error probability of
    0.05, until a test rejects the claim. The test uses neural networks and requires tensorflow.

    Args:
        folder: Folder python/dp_auditorium of a checkout.
    """
    without_generators(folder)
    from dp_auditorium.configs import (  # pyright: ignore[reportMissingImports]
        privacy_property,
        property_tester_config,
    )
    from dp_auditorium.testers import (  # pyright: ignore[reportMissingImports]
        hockey_stick_tester,
    )

    def tested(case: Case, key: int) -> str:
        start, root = time.process_time(), jax.random.key(key)
        hockey_stick_tester.tf.random.set_seed(key)
        tester = hockey_stick_tester.HockeyStickPropertyTester(
            config=property_tester_config.HockeyStickPropertyTesterConfig(
                training_config=hockey_stick_tester.make_default_hs_training_config(),
                approximate_dp=privacy_property.ApproximateDp(epsilon=case.claim, delta=case.delta),
            ),
            base_model=hockey_stick_tester.make_default_hs_base_model(),
        )

        def drawn(number: int, side: int) -> np.ndarray:
            draw = getattr(case.mechanism, "reports", case.mechanism.sample)
            databases = (case.pairs.database, case.pairs.neighbor)[side]
            outputs = draw(jax.random.fold_in(root, 2 * number + side), databases[number], DRAWS)
            return np.tanh(np.asarray(outputs, float).reshape(DRAWS, -1))

        def rejects(number: int) -> bool:
            sides = drawn(number, 0), drawn(number, 1)
            # Suppress the progress output of the networks.
            with contextlib.redirect_stdout(io.StringIO()):
                bounds = [
                    tester.estimate_lower_bound(*turn, ERROR) for turn in (sides, sides[::-1])
                ]
            return tester.reject_property(max(bounds))

        refuted = any(map(rejects, range(PAIRS)))
        said = "refuted" if refuted else "not refuted"
        return f"{said}, {time.process_time() - start:.0f} s"

    return tested
