"""Small models for `DpSgd`, with norms and weighted sums of per-example gradients.

Per-example gradients are never stored. The norms of the gradients are computed from residuals and
activations, and weighted sums of the gradients are computed by matrix products.

References:
    Goodfellow (2015), "Efficient per-example gradient computations".
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import validate


class Gradients(NamedTuple):
    """The gradients of n examples, represented by their norms and a function for weighted sums.

    Attributes:
        norms: Norm of each example's gradient, [n].
        total: Function from weights [n] to the weighted sum of the gradients, a vector with one
            entry per parameter.
    """

    norms: Array
    total: Callable[[Array], Array]


class Model(Protocol):
    """A model whose parameters are a single vector.

    Attributes:
        width: Number of values that the widest layer stores per record.
    """

    @property
    def width(self) -> int:
        """Number of values that the widest layer stores per record."""
        ...

    def start(self, num_features: int, dtype: np.dtype) -> Array:
        """Return the initial parameters; they are public, that is, independent of the records."""
        ...

    def gradients(self, parameters: Array, features: Array, labels: Array) -> Gradients:
        """Return the gradients of the logistic loss for n examples with features [n, d]."""
        ...

    def losses(self, parameters: Array, features: Array, labels: Array) -> Array:
        """Return the logistic loss of each example, [n]."""
        ...


def _losses(logits: Array, labels: Array) -> Array:
    return jax.nn.softplus(logits) - labels * logits


def _ones(array: Array) -> Array:
    """Append a column of ones to a matrix; the column's coefficients are a model's intercepts."""
    return jnp.concatenate([array, jnp.ones_like(array[:, :1])], axis=1)


@dataclass(frozen=True)
class Logistic:
    """Logistic regression; the last parameter is the intercept."""

    width: ClassVar[int] = 1

    def start(self, num_features: int, dtype: np.dtype) -> Array:
        """Return zeros as the initial parameters."""
        return jnp.zeros(num_features + 1, dtype)

    def gradients(self, parameters: Array, features: Array, labels: Array) -> Gradients:
        """Return the gradients; each gradient is the example's residual times (features, 1)."""
        inputs = _ones(features)
        residuals = jax.nn.sigmoid(inputs @ parameters) - labels
        lengths = jnp.sqrt(jnp.square(inputs).sum(axis=1))
        return Gradients(jnp.abs(residuals) * lengths, lambda w: (w * residuals) @ inputs)

    def losses(self, parameters: Array, features: Array, labels: Array) -> Array:
        """See `Model`."""
        return _losses(_ones(features) @ parameters, labels)


@dataclass(frozen=True)
class Network:
    """A network with one layer of tanh units and a logistic output.

    Attributes:
        hidden: Number of hidden units.
        seed: Seed for the initial parameters, which are public.
    """

    hidden: int = 16
    seed: int = 0

    def __post_init__(self):
        validate.positive_int(hidden=self.hidden)
        validate.positive_int(0, seed=self.seed)

    @property
    def width(self) -> int:
        """See `Model`."""
        return self.hidden

    def start(self, num_features: int, dtype: np.dtype) -> Array:
        """Return random initial parameters.

        The weights are normal with variance 1 / (number of inputs), and the intercepts are 0.
        """
        draw = np.random.default_rng(self.seed)
        first = np.zeros((self.hidden, num_features + 1))
        first[:, :-1] = draw.normal(size=(self.hidden, num_features)) / np.sqrt(num_features)
        second = np.append(draw.normal(size=self.hidden) / np.sqrt(self.hidden), 0.0)
        return jnp.asarray(np.concatenate([first.ravel(), second]), dtype)

    def _parts(self, parameters: Array, inputs: Array) -> tuple[Array, Array, Array]:
        """Return the output weights, the activations and the logits.

        The three arrays have shapes [hidden], [n, hidden + 1] and [n]. The last column of the
        activations consists of ones.
        """
        size = self.hidden * inputs.shape[1]
        first, second = parameters[:size].reshape(self.hidden, -1), parameters[size:]
        active = _ones(jnp.tanh(inputs @ first.T))
        return second[:-1], active, active @ second

    def gradients(self, parameters: Array, features: Array, labels: Array) -> Gradients:
        """Return the gradients; an example's gradient for a dense layer is an outer product."""
        inputs = _ones(features)
        weights, active, logits = self._parts(parameters, inputs)
        residuals = jax.nn.sigmoid(logits) - labels
        deltas = residuals[:, None] * weights[None] * (1 - jnp.square(active[:, :-1]))
        lengths = [jnp.square(array).sum(axis=1) for array in (deltas, inputs, active)]
        norms = jnp.sqrt(lengths[0] * lengths[1] + jnp.square(residuals) * lengths[2])

        def total(w: Array) -> Array:
            hidden = (w[:, None] * deltas).T @ inputs
            return jnp.concatenate([hidden.ravel(), (w * residuals) @ active])

        return Gradients(norms, total)

    def losses(self, parameters: Array, features: Array, labels: Array) -> Array:
        """See `Model`."""
        return _losses(self._parts(parameters, _ones(features))[2], labels)
