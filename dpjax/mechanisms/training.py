"""DP-SGD on small models as a mechanism: one draw is one training; its output scores a canary.

Trainings are independent, so thousands run at once: vectorized over trainings, with a scan over
steps. A user's own `(key, records) -> score` in JAX is audited in the same way.

References:
    Abadi et al. (2016), Algorithm 1.
    Nasr et al. (2023), for scores from all gradients; Chua et al. (2024), for shuffled batches.
"""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import random, validate
from dpjax.core.errors import needs
from dpjax.core.types import RealSpace
from dpjax.core.wording import BadValue
from dpjax.mechanisms._batches import FullBatch as FullBatch
from dpjax.mechanisms._batches import Poisson as Poisson
from dpjax.mechanisms._batches import Sampling
from dpjax.mechanisms._batches import Shuffle as Shuffle
from dpjax.mechanisms._canaries import CANARIES as CANARIES
from dpjax.mechanisms._canaries import Canaries as Canaries
from dpjax.mechanisms._canaries import canaries as canaries
from dpjax.mechanisms._canaries import canary_pair as canary_pair
from dpjax.mechanisms._models import Gradients, Logistic, Model
from dpjax.mechanisms._models import Network as Network

SCORES = ("likelihood", "final", "loss", "range", "max", "energy", "idle")
"""Names of the scores; see `DpSgd`."""

_INTERVAL = 1e-4
"""Grid spacing of the privacy losses that an accountant computes."""

_RUNS = 1024
"""Number of trainings computed at once; more would leave the caches of a processor."""


def accounted(noise_multiplier: float, sampling: Sampling, num_steps: int) -> object:
    """Return the privacy loss distribution of DP-SGD by an accountant, to be used as a claim.

    It holds for adding or removing one record and is pessimistic: never below the true level.
    `dpjax.audit` takes it as the claim of `Epsilon(delta)` and of `Profile()`.

    Args:
        noise_multiplier: sigma.
        sampling: `FullBatch()` or `Poisson(rate)`.
        num_steps: T.

    Returns:
        A `PrivacyLossDistribution` of dp_accounting.

    Raises:
        ModuleNotFoundError: When dp_accounting is not installed.
        ValueError: When an argument is out of range, or batches are shuffled: their level is
            unknown.

    References:
        Doroshenko, Ghazi, Kamath, Kumar, Manurangsi (2022): connect-the-dots.
    """
    validate.positive(noise_multiplier=noise_multiplier)
    validate.positive_int(num_steps=num_steps)
    if not isinstance(sampling, FullBatch | Poisson):
        raise BadValue(
            f"sampling must be FullBatch() or Poisson(rate) for an accountant, but was {sampling}: "
            "no accountant knows the level of shuffled batches, and that of Poisson sampling may "
            "be too small for them."
        )
    needs("claims of an accountant", "accounting", "dp_accounting")
    from dp_accounting.pld import privacy_loss_distribution

    one = privacy_loss_distribution.from_gaussian_mechanism(
        float(noise_multiplier),
        value_discretization_interval=_INTERVAL,
        sampling_prob=sampling.rate if isinstance(sampling, Poisson) else 1.0,
        use_connect_dots=True,
    )
    return one.self_compose(num_steps)


def likelihood_score(
    lengths: Array | np.ndarray, noise_multiplier: float | Array, rate: float = 1.0
) -> Array:
    """The likelihood ratio of a saturating canary from all noisy gradients, as a score.

    Of all scores, it tells best whether the canary was there, if its gradient is clipped in every
    step, has the same direction in all of them, and is orthogonal to all others.

    Args:
        lengths: [T], of the noisy sums of gradients along the canary's gradient, in units of the
            clip. Minus the canary's own coordinate of the sum, if its label is 1.
        noise_multiplier: sigma.
        rate: Probability that a record is in a batch.

    Returns:
        A number that rises with the likelihood ratio; its logarithm if the rate is below 1.

    References:
        Nasr et al. (2023), section 4; Abadi et al. (2016), for the mixture.
    """
    if rate == 1:
        return jnp.asarray(lengths).sum()
    loss = (jnp.asarray(lengths) - 0.5) / noise_multiplier**2
    return jnp.logaddexp(jnp.log1p(-rate), jnp.log(rate) + loss).sum()


class Step(NamedTuple):
    """What a score may use of each step.

    Attributes:
        projection: Length of the noisy gradient along the canary's gradient, in units of the clip.
        moved: Squared length by which the parameters moved.
    """

    projection: Array
    moved: Array


def _static(default: object) -> Any:
    return field(default=default, metadata={"static": True})


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class DpSgd:
    """Train a model by DP-SGD, and return a score that shows whether a canary was present.

    A database is a float array [n, d + 2] of records: d features, a label of 0 or 1, and a flag, 1
    if the record is present. Both databases of a pair have the same rows; they differ in the
    canary's flag (`dpjax.mechanisms.training.canary_pair`). In each step, the gradients of the
    records of a batch are clipped to norm C and summed with normal noise of standard deviation
    sigma C; the sum, divided by the expected batch size B and times the learning rate, is
    subtracted.

    Attributes:
        noise_multiplier: sigma.
        clip: C.
        learning_rate: eta.
        num_steps: T.
        sampling: `FullBatch()`, `Poisson(rate)` or `Shuffle(size)`. A record whose flag is 0 keeps
            its place in a shuffled batch, with a gradient of zero.
        model: `Logistic()` or `Network(hidden)`.
        canary: Row index of the canary.
        score: Score to return, computed from the lengths x_t of the noisy gradients along the
            canary's, in units of C. "likelihood": the sum of ln(1 - q + q exp((x_t - 1/2) /
            sigma^2)), or the sum of x_t if all records are in a batch; "final": the sum of x_t as
            seen in the last parameters alone, for `Logistic()`; "loss": minus the loss of the
            canary; "range" and "max" of x_t; "energy": the sum of squared moves of the parameters;
            "idle": the number of steps that moved no parameter.

    Raises:
        TypeError, ValueError: When a parameter has the wrong type or is out of range.
    """

    noise_multiplier: Any = 1.0
    clip: Any = 1.0
    learning_rate: Any = 1e-4
    num_steps: int = _static(100)
    sampling: Sampling = _static(FullBatch())  # noqa: RUF009 (frozen)
    model: Model = _static(Logistic())  # noqa: RUF009 (frozen)
    canary: int = _static(-1)
    score: str = _static("likelihood")

    output_space = RealSpace()

    def __post_init__(self):
        validate.positive_int(num_steps=self.num_steps)
        validate.one_of(SCORES, score=self.score)
        for name in ("noise_multiplier", "clip", "learning_rate"):
            value = getattr(self, name)
            if isinstance(value, int | float):
                validate.positive(**{name: value})
        if self.score == "final" and not isinstance(self.model, Logistic):
            raise BadValue(
                "score must not be 'final' for a network, whose gradients change their direction: "
                "use 'likelihood' or 'loss'."
            )

    @property
    def mu(self) -> float:
        """Level of Gaussian differential privacy for full batches: sqrt(T) / sigma.

        Raises:
            ValueError: When batches are sampled; an accountant computes their level.
        """
        if not isinstance(self.sampling, FullBatch):
            raise BadValue(f"mu is defined for FullBatch() only, but sampling was {self.sampling}.")
        return self.num_steps**0.5 / float(self.noise_multiplier)

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return the scores of independent trainings, shape [num_samples]."""
        self.sampling.check(database.shape[0])
        keys = random.sample_keys(key, num_samples)
        if num_samples <= _RUNS:
            return jax.vmap(lambda own: self.train(own, database))(keys)
        return jax.lax.map(lambda own: self.train(own, database), keys, batch_size=_RUNS)

    def train(self, key: Array, database: Array) -> Array:
        """Return the score of one training.

        Args:
            key: Typed key.
            database: [n, d + 2]: features, label and flag of each record.
        """
        features, labels, present = database[:, :-2], database[:, -2], database[:, -1]
        start = self.model.start(features.shape[1], database.dtype)
        of_all = random.fold_in(key, 2**32 - 1)
        prepared = self.sampling.prepared(of_all, len(labels), self.num_steps)
        own = slice(self.canary, None if self.canary == -1 else self.canary + 1)

        def step(parameters: Array, number: Array) -> tuple[Array, Step]:
            found = self.model.gradients(parameters, features, labels)
            batch = self.sampling.batch(
                random.fold_in(key, 2 * number), prepared, number, len(labels)
            )
            weights = present if batch is None else present * batch
            noise = self.noise(self.noise_key(key, number), parameters)
            noisy = self.clipped_sum(found, weights, features) + noise
            move = self.learning_rate * noisy / self.divisor(weights)
            move = self.applied(move, weights)
            alone = self.model.gradients(parameters, features[own], labels[own])
            along = alone.total(1 / jnp.maximum(alone.norms, 1e-30))
            return parameters - move, Step((noisy @ along) / self.clip, jnp.square(move).sum())

        last, steps = jax.lax.scan(step, start, jnp.arange(self.num_steps, dtype=jnp.uint32))
        size = self.sampling.expected_size(len(labels))
        return self._scored(steps, (start, last), database[own], size)

    # Methods that wrong implementations override; these are correct.

    def clipped_sum(self, found: Gradients, weights: Array, features: Array) -> Array:
        """Return the sum of the gradients of a batch, each clipped to the norm."""
        return found.total(weights * jnp.minimum(1, self.clip / jnp.maximum(found.norms, 1e-30)))

    def noise_key(self, key: Array, step: Array) -> Array:
        """Return the key of a step's noise; even numbers are reserved for keys of batches."""
        return random.fold_in(key, 2 * step + 1)

    def noise(self, key: Array, parameters: Array) -> Array:
        """Draw the noise of a step, which is added to the sum of gradients."""
        normal = random.normal(key, len(parameters), dtype=parameters.dtype)
        return self.noise_multiplier * self.clip * normal

    def divisor(self, weights: Array) -> Array | float:
        """Return the divisor of a batch's sum: the expected size, which is public."""
        return self.sampling.expected_size(len(weights))

    def applied(self, move: Array, weights: Array) -> Array:
        """Return the move of a step; empty batches are not treated specially."""
        return move

    def _scored(self, steps: Step, ends: tuple[Array, Array], own: Array, size: float) -> Array:
        """Return the score from all steps, or from the last parameters alone."""
        start, last = ends
        x, features, labels = steps.projection, own[:, :-2], own[:, -2]
        if self.score == "likelihood":
            rate = self.sampling.rate if isinstance(self.sampling, Poisson) else 1.0
            return likelihood_score(x, self.noise_multiplier, rate)
        if self.score == "final":
            alone = self.model.gradients(last, features, labels)
            along = alone.total(1 / jnp.maximum(alone.norms, 1e-30))
            return ((start - last) @ along) * (size / (self.clip * self.learning_rate))
        if self.score == "loss":
            return -self.model.losses(last, features, labels)[0]
        return {
            "range": lambda: x.max() - x.min(),
            "max": x.max,
            "energy": steps.moved.sum,
            "idle": lambda: (steps.moved == 0).sum().astype(x.dtype),
        }[self.score]()
