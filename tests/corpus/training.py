"""Nine faulty implementations of DP-SGD and correct versions, each with its author's claim.

A faulty implementation differs from `DpSgd` in one step. An entry contains the number of trainings
per side that suffice to refute it.
"""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import dpjax
from dpjax.core import random
from dpjax.mechanisms.training import DpSgd, Poisson, Shuffle, canary_pair

CONFIDENCE = 0.999
DELTA = 1e-5


def _wrong(cls):
    return jax.tree_util.register_dataclass(dataclass(frozen=True)(cls))


@_wrong
class BatchFactor(DpSgd):
    """The noise is divided by the batch size before it is added to the sum."""

    def noise(self, key, parameters):
        return super().noise(key, parameters) / 100


@_wrong
class NoiseWithoutClip(DpSgd):
    """The standard deviation of the noise is sigma instead of sigma C."""

    def noise(self, key, parameters):
        return super().noise(key, parameters) / self.clip


@_wrong
class BatchClipped(DpSgd):
    """The sum of the batch is clipped instead of each gradient."""

    def clipped_sum(self, found, weights, features):
        total = found.total(weights)
        return total * jnp.minimum(1, self.clip / jnp.linalg.norm(total))


@_wrong
class InterceptUnclipped(DpSgd):
    """The gradient of the intercept, a separate group of parameters, is never clipped."""

    def clipped_sum(self, found, weights, features):
        # Residuals are norms divided by lengths; the norm for the intercept is the residual.
        lengths = jnp.sqrt(jnp.square(features).sum(axis=1) + 1)
        weight_norms = found.norms / lengths * jnp.sqrt(jnp.square(features).sum(axis=1))
        factors = jnp.minimum(1, self.clip / jnp.maximum(weight_norms, 1e-30))
        return jnp.append(found.total(weights * factors)[:-1], found.total(weights)[-1])


@_wrong
class ActualBatchSize(DpSgd):
    """The sum is divided by the number of records that are present."""

    def divisor(self, weights):
        return jnp.maximum(weights.sum(), 1)


@_wrong
class OneKeyTwoGroups(DpSgd):
    """Two groups of five parameters get noise from the same key."""

    def noise(self, key, parameters):
        noise = super().noise(key, parameters)
        return jnp.concatenate([noise[:5], noise[:5], noise[10:]])


@_wrong
class OneKeyAllSteps(DpSgd):
    """The key of the noise is not split between steps."""

    def noise_key(self, key, step):
        return random.fold_in(key, 1)


@_wrong
class EmptyBatchSkipped(DpSgd):
    """An empty batch is skipped, so that this step has no noise."""

    def applied(self, move, weights):
        return jnp.where(weights.sum() > 0, move, 0)


def axis(number, size):
    """Return a canary on one coordinate, counted from 1."""
    found = np.zeros(10 if number == 10 or number == 5 else 3, np.float32)
    found[number - 1] = size
    return found


def others(number, dimension):
    """Return records of normal features with 0 in the last coordinate, which the canary uses."""
    rng = np.random.default_rng(0)
    features = rng.normal(size=(number, dimension)).astype(np.float32)
    features[:, -1] = 0
    return features, (rng.random(number) < 0.5).astype(np.float32)


USUAL = canary_pair(*others(99, 10), axis(10, 50))
AGAINST = canary_pair(np.tile(axis(10, 50), (99, 1)), np.zeros(99), axis(10, 1e4))
SMALL = canary_pair(*others(19, 10), axis(10, 50))
ALONE = canary_pair(np.zeros((0, 10)), np.zeros(0), axis(10, 50))
DIAGONAL = canary_pair(*others(99, 10), 50 * (axis(5, 1) - axis(10, 1)) / np.sqrt(2))
SHUFFLED = canary_pair(np.tile(axis(3, 50), (249, 1)), np.zeros(249), axis(3, 50))


@dataclass(frozen=True)
class Training:
    """A faulty implementation, its correct version, and an audit that refutes the faulty one.

    Attributes:
        name: Name in the table.
        wrong: Class of the faulty version, or a sampling that the accounting does not assume.
        pairs: Pairs of databases with and without the canary.
        options: Options of both versions.
        claim: Epsilon at delta = 1e-5, or mu if the accounting is exact for it.
        trainings: Number of trainings per side; 30% of them are used for the search.
        notion: Notion of the claim.
    """

    name: str
    wrong: Any
    pairs: Any
    options: dict
    claim: float
    trainings: int = 500
    notion: Any = dpjax.Epsilon(DELTA)  # noqa: RUF009 (frozen)

    def audit(self, wrong: bool, seed: int, confidence: float = CONFIDENCE):
        """Audit the claim once."""
        options, cls = dict(self.options), DpSgd
        if isinstance(self.wrong, Shuffle):
            options["sampling"] = self.wrong if wrong else options["sampling"]
        else:
            cls = self.wrong if wrong else DpSgd
        search = round(0.3 * self.trainings)
        return dpjax.audit(
            cls(**options),
            self.pairs,
            method=dpjax.Events(search, self.trainings - search),
            notion=self.notion,
            claim=self.claim,
            confidence=confidence,
            key=seed,
        )


FULL = {"noise_multiplier": 15.0, "num_steps": 50}
EPSILON, MU = 1.866369, 0.471405
"""Values for 50 full batches with sigma = 15: mu = sqrt(50) / 15, epsilon at delta = 1e-5."""

TRAININGS = (
    Training("batch factor", BatchFactor, USUAL, FULL, EPSILON),
    Training(
        "noise not times the clip", NoiseWithoutClip,
        canary_pair(*others(99, 10), axis(10, 200)), {**FULL, "clip": 4.0}, MU, 500, dpjax.Gdp(),
    ),
    Training("batch clipped", BatchClipped, AGAINST, FULL, MU, 2000, dpjax.Gdp()),
    Training(
        "group unclipped", InterceptUnclipped,
        canary_pair(*others(99, 10), np.zeros(10)), {**FULL, "clip": 0.1}, EPSILON,
    ),
    Training(
        "actual batch size", ActualBatchSize, SMALL, {**FULL, "score": "energy"}, EPSILON, 2000
    ),
    Training("one key, two groups", OneKeyTwoGroups, DIAGONAL, FULL, EPSILON),
    Training(
        "one key, all steps", OneKeyAllSteps, SMALL,
        {"noise_multiplier": 8.0, "num_steps": 20, "sampling": Poisson(0.5), "score": "range"},
        1.077176,
    ),
    Training(
        "empty batch skipped", EmptyBatchSkipped, ALONE,
        {"noise_multiplier": 2.0, "num_steps": 50, "sampling": Poisson(0.1), "score": "idle"},
        1.652502,
    ),
    Training(
        "shuffled, accounted as Poisson", Shuffle(1), SHUFFLED,
        {
            "noise_multiplier": 0.7, "num_steps": 250, "sampling": Poisson(0.004), "score": "max",
        },
        1.496431, 10_000,
    ),
)  # fmt: skip
