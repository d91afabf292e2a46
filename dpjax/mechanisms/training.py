"""DP-SGD on small models as a mechanism: each draw trains a model and outputs a canary's score.

Training runs are independent of each other, so thousands of them run in parallel. The code is
vectorized over training runs and scans over steps.

References:
    Abadi et al. (2016), Algorithm 1.
    Nasr et al. (2023), for scores computed from all gradients.
    Chua et al. (2024), for shuffled batches.
"""

from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import random, validate
from dpjax.core.errors import needs
from dpjax.core.types import RealSpace
from dpjax.core.wording import BadType, BadValue
from dpjax.databases import Pairs
from dpjax.mechanisms._batches import FullBatch as FullBatch
from dpjax.mechanisms._batches import Keys, Sampling
from dpjax.mechanisms._batches import Poisson as Poisson
from dpjax.mechanisms._batches import Shuffle as Shuffle
from dpjax.mechanisms._canaries import CANARIES as CANARIES
from dpjax.mechanisms._canaries import Canaries as Canaries
from dpjax.mechanisms._canaries import canaries as canaries
from dpjax.mechanisms._canaries import canary_pair as canary_pair
from dpjax.mechanisms._models import Gradients, Logistic, Model
from dpjax.mechanisms._models import Network as Network

_WITHOUT_CANARY = ("energy", "idle")
"""Scores that do not depend on which record is the canary."""

SCORES = ("likelihood", "final", "loss", "range", "max", "energy", "idle")

_INTERVAL = 1e-4
"""Spacing of the grid on which an accountant discretizes privacy losses."""

_BLOCK, _BLOCK_OF_ACCELERATORS = 256, 2**14
"""Number of training runs per block for a model of width 1, on a CPU and on an accelerator.

Wider models have smaller blocks. On a CPU, larger blocks would not fit into the caches. An
accelerator is fully used only if it computes many training runs at a time.
"""


def accounted(noise_multiplier: float, sampling: Sampling, num_steps: int) -> object:
    """Return the privacy loss distribution that an accountant computes for DP-SGD.

    The distribution is for the addition or removal of one record. Privacy levels derived from the
    distribution are never below the true levels. `dpjax.audit` accepts the distribution as a claim
    for the notions `Epsilon(delta)` and `Profile()`.

    Args:
        noise_multiplier: Standard deviation sigma of the noise, divided by the clipping norm.
        sampling: `FullBatch()` or `Poisson(rate)`.
        num_steps: Number T of steps.

    Returns:
        A `PrivacyLossDistribution` from dp_accounting.

    Raises:
        ModuleNotFoundError: If dp_accounting is not installed.
        ValueError: If an argument is out of range, or if `sampling` is `Shuffle`, because no
            accountant bounds the level of shuffled batches.

    References:
        Doroshenko, Ghazi, Kamath, Kumar, Manurangsi (2022), for the method (connect-the-dots).
    """
    validate.positive(noise_multiplier=noise_multiplier)
    validate.positive_int(num_steps=num_steps)
    if not isinstance(sampling, FullBatch | Poisson):
        raise BadValue(
            "sampling must be FullBatch() or Poisson(rate) for an accountant, but was "
            f"{sampling}: no accountant bounds the level of shuffled batches, which may exceed "
            "the level of Poisson batches."
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
    """Return the likelihood-ratio score for a saturating canary, given all noisy gradients.

    The gradient of a saturating canary is clipped in every step, always has the same direction, and
    is orthogonal to all other gradients. No other score reveals more about the presence of a
    saturating canary.

    Args:
        lengths: Float [T]: for each step, the component of the noisy gradient sum along the
            canary's gradient, in units of the clipping norm. If the canary has an additional
            coordinate and the label 1, the component is minus the noisy sum's value in this
            coordinate, divided by the clipping norm.
        noise_multiplier: Standard deviation sigma of the noise, divided by the clipping norm.
        rate: Probability that a record is in a batch.

    Returns:
        A scalar that increases with the likelihood ratio of a present to an absent canary. The
        scalar is the log likelihood ratio if the rate is below 1, and the sum of `lengths` if the
        rate is 1.

    Raises:
        ValueError: If the rate is not in (0, 1].

    References:
        Nasr et al. (2023), section 4; Abadi et al. (2016).
    """
    if not 0 < rate <= 1:
        raise BadValue(f"rate must be in (0, 1], but was {rate!r}.")
    if rate == 1:
        return jnp.asarray(lengths).sum()
    loss = (jnp.asarray(lengths) - 0.5) / noise_multiplier**2
    return jnp.logaddexp(jnp.log1p(-rate), jnp.log(rate) + loss).sum()


class Step(NamedTuple):
    """Quantities from one training step that determine the scores.

    Attributes:
        projection: Component of the noisy sum of gradients along the canary's gradient, in units of
            the clipping norm.
        moved: Squared norm of the change in the parameters.
    """

    projection: Array
    moved: Array


def _static(default: object) -> Any:
    return field(default=default, metadata={"static": True})


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class DpSgd:
    """Train a model with DP-SGD, and return a score that tends to be larger if a canary is present.

    A database is a float array [n, d + 2] with one row per record: d features, a label of 0 or 1,
    and a flag that is 1 if the record is present. The two databases of a pair have the same rows
    and differ only in the canary's flag (see `dpjax.mechanisms.training.canary_pair`).

    Each step clips the gradients of the batch to norm C, adds up the clipped gradients, and adds
    normal noise with standard deviation sigma C. The noisy sum is divided by the expected batch
    size and multiplied by the learning rate, and the result is subtracted from the parameters.

    Most scores are functions of x_t, the component of step t's noisy sum along the canary's
    gradient, in units of C:

    - "likelihood": the sum of x_t for `FullBatch()` and `Shuffle(size)`, and the sum of
      ln(1 - q + q exp((x_t - 1/2) / sigma^2)) for `Poisson(q)`;
    - "final": the sum of x_t, computed from the final parameters alone; for `Logistic()` only;
    - "loss": the negative loss of the canary under the final parameters;
    - "range", "max": the range and the maximum of x_t;
    - "energy": the squared norm of the change in the parameters, summed over steps;
    - "idle": the number of steps that changed no parameter.

    Attributes:
        noise_multiplier: Standard deviation sigma of the noise, divided by the clipping norm.
        clip: Norm C to which each record's gradient is clipped.
        learning_rate: Factor by which each step's averaged gradient is multiplied.
        num_steps: Number T of steps.
        sampling: `FullBatch()`, `Poisson(rate)` or `Shuffle(size)`. In a shuffled batch, a record
            whose flag is 0 keeps its place, but its gradient is replaced by zero.
        model: `Logistic()` or `Network(hidden)`.
        canary: Index of the canary's row, which must differ between the databases of every pair.
            By default, the last row, in which `canary_pair` puts the canary.
        score: Name of the score to return.

    Raises:
        TypeError: If a parameter has the wrong type.
        ValueError: If a parameter is out of range.
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
            validate.positive(**{name: getattr(self, name)})
        for name, made in (
            ("sampling", "FullBatch(), Poisson(rate) or Shuffle(size)"),
            ("model", "Logistic() or Network(...)"),
        ):
            value = getattr(self, name)
            if isinstance(value, type) or not hasattr(value, "start"):
                raise BadType(f"{name} must be {made}, but was {value!r}.")
        if isinstance(self.canary, bool) or not isinstance(self.canary, Integral):
            raise BadType(f"canary must be an integer, but was {self.canary!r}.")
        if self.score == "final" and not isinstance(self.model, Logistic):
            raise BadValue(
                "score must not be 'final' for a network, whose gradients change direction: "
                "use 'likelihood' or 'loss'."
            )

    @property
    def mu(self) -> float:
        """Parameter mu of Gaussian differential privacy for full batches, sqrt(T) / sigma.

        Raises:
            ValueError: If `sampling` is not `FullBatch()`. For Poisson batches, use the function
                `accounted`.
        """
        if not isinstance(self.sampling, FullBatch):
            raise BadValue(f"mu is defined for FullBatch() only, but sampling was {self.sampling}.")
        return self.num_steps**0.5 / float(self.noise_multiplier)

    def refuse_pairs(self, pairs: Pairs) -> None:
        """Raise an error if the two databases of a pair differ, but not in the canary's row.

        The score measures whether the canary is present, so it could not reveal the difference.
        The scores "energy" and "idle" do not depend on the canary, so they accept all pairs.

        Raises:
            ValueError: If the row of the canary is the same in both databases of a pair, although
                another row differs, and the score depends on the canary.
        """
        sides = pairs.database, pairs.neighbor
        shapes = {getattr(side, "shape", ()) for side in sides}
        if self.score in _WITHOUT_CANARY or len(shapes) > 1 or len(min(shapes)) != 3:
            return
        differs = np.any(np.asarray(sides[0]) != np.asarray(sides[1]), axis=-1)
        if not -differs.shape[1] <= self.canary < differs.shape[1]:
            return  # `train` refuses this index.
        for label, rows in zip(pairs.labels, differs, strict=True):
            if rows.any() and not rows[self.canary]:
                last = " (the last record)" if self.canary == -1 else ""
                other = int(rows.argmax())
                raise BadValue(
                    "canary must be the index of the record in which the two databases differ, "
                    f"but was {self.canary}{last}: in the pair {label!r}, they differ in record "
                    f"{other}. Pass canary={other}, or make the pair with canary_pair, which puts "
                    "the canary last."
                )

    def sample(self, key: Array, database: Array, num_samples: int) -> Array:
        """Return the scores of independent training runs, [num_samples]."""
        self.sampling.check(database.shape[0])
        keys = random.sample_keys(key, num_samples)
        most = _BLOCK if jax.default_backend() == "cpu" else _BLOCK_OF_ACCELERATORS
        block = max(most // self.model.width, 1)
        if num_samples <= block:
            return jax.vmap(lambda own: self.train(own, database))(keys)
        return jax.lax.map(lambda own: self.train(own, database), keys, batch_size=block)

    # GPUs otherwise round the factors of float32 products to 10 bits, and a clipped gradient could
    # be longer than the clipping norm.
    @jax.default_matmul_precision("highest")
    def train(self, key: Array, database: Array) -> Array:
        """Train once, and return the score.

        Args:
            key: Typed key.
            database: Features, label and flag of each record, float [n, d + 2].
        """
        if not -len(database) <= self.canary < len(database):
            raise BadValue(
                f"canary must be the index of one of {len(database)} records, but was "
                f"{self.canary}."
            )
        features, labels, present = database[:, :-2], database[:, -2], database[:, -1]
        start = self.model.start(features.shape[1], database.dtype)
        of_all = random.fold_in(key, 2**32 - 1)
        own = slice(self.canary, None if self.canary == -1 else self.canary + 1)

        def step(carried: tuple[Array, Array], number: Array) -> tuple[tuple[Array, Array], Step]:
            parameters, kept = carried
            keys = Keys(of_all, random.fold_in(key, 2 * number))
            batch, kept = self.sampling.batch(keys, kept, number, len(labels))
            # Shuffling the records and computing gradients at the same time would need memory for
            # both. Adding zero makes the gradients depend on the batch, so that XLA computes them
            # after the shuffle.
            parameters = parameters + jnp.minimum(kept[:1], 0).sum().astype(parameters.dtype)
            found = self.model.gradients(parameters, features, labels)
            weights = present if batch is None else present * batch.astype(present.dtype)
            noise = self.noise(self.noise_key(key, number), parameters)
            noisy = self.clipped_sum(found, weights, features) + noise
            move = self.learning_rate * noisy / self.divisor(weights)
            move = self.applied(move, weights)
            alone = self.model.gradients(parameters, features[own], labels[own])
            along = alone.total(1 / jnp.maximum(alone.norms, 1e-30))
            done = Step((noisy @ along) / self.clip, jnp.square(move).sum())
            return (parameters - move, kept), done

        begin = start, self.sampling.start(len(labels))
        numbers = jnp.arange(self.num_steps, dtype=jnp.uint32)
        (last, _), steps = jax.lax.scan(step, begin, numbers)
        size = self.sampling.expected_size(len(labels))
        return self._scored(steps, (start, last), database[own], size)

    # The methods below are the parts of a correct training step. A subclass may override any of
    # them to introduce a fault.

    def clipped_sum(self, found: Gradients, weights: Array, features: Array) -> Array:
        """Return the sum of the batch's gradients, each clipped to norm C."""
        return found.total(weights * jnp.minimum(1, self.clip / jnp.maximum(found.norms, 1e-30)))

    def noise_key(self, key: Array, step: Array) -> Array:
        """Return the key for a step's noise.

        Keys for noise have odd indices, and keys for batches have even indices.
        """
        return random.fold_in(key, 2 * step + 1)

    def noise(self, key: Array, parameters: Array) -> Array:
        """Return the noise that a step adds to the sum of gradients, one number per parameter."""
        normal = random.normal(key, len(parameters), dtype=parameters.dtype)
        return self.noise_multiplier * self.clip * normal

    def divisor(self, weights: Array) -> Array | float:
        """Return the expected batch size (public), by which the sum of gradients is divided."""
        return self.sampling.expected_size(len(weights))

    def applied(self, move: Array, weights: Array) -> Array:
        """Return the vector to subtract from the parameters; a correct step subtracts `move`."""
        return move

    def _scored(self, steps: Step, ends: tuple[Array, Array], own: Array, size: float) -> Array:
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
