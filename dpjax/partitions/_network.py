"""Scores from small neural networks, which can reveal differences that linear scores miss."""

from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core.types import Plain
from dpjax.partitions._batches import Outputs, Pooled
from dpjax.partitions._features import Columns
from dpjax.partitions._logistic import FOLDS

_WIDTH, _BATCH, _EPOCHS, _PATIENCE = 64, 512, 25, 5
"""Training constants: number of units per hidden layer (_WIDTH), batch size (_BATCH), maximum
number of epochs (_EPOCHS), and number of epochs without improvement after which training stops
(_PATIENCE).
"""

_RATE = 3e-3
"""Initial learning rate of Adam. The learning rate decreases linearly to 0."""

_HELD_OUT = 6
"""One in _HELD_OUT outputs is held out. The loss on the held-out outputs determines when training
stops.
"""

_CALL = 2**13
"""Number of outputs whose scores are computed in one compiled call. If there are at most _BATCH
outputs, the call is padded only to _BATCH outputs.
"""

_SIGNIFICANT = 16
"""The number of batches is rounded down to the product of a power of 2 and an integer below
_SIGNIFICANT. Because of the rounding, most audits with the same output dimension share one compiled
program.
"""

_SEED = 0
"""Seed for the initial weights and for the order of batches."""

_Weights = list[tuple[Any, Any]]


@dataclass(frozen=True)
class Network:
    """A score computed by five networks, each trained without one fold of the search set.

    The score of a fresh output is the mean over all networks. For an output in the search set, the
    score comes from the network that was trained without the output's fold.

    Attributes:
        columns: Standardized inputs.
        weights: Weight matrix and bias of each layer, stacked over folds on a leading axis.
    """

    columns: Columns
    weights: _Weights

    def words(self, whole: bool, parts: tuple[str, ...] = ()) -> str:
        """Return the name of the score, which contains a digest of all weights."""
        return f"the score of a network ({self.digest})"

    @property
    def digest(self) -> str:
        """Digest of all weights, by which networks are distinguished."""
        whole = b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(self.weights))
        return blake2b(whole, digest_size=4).hexdigest()

    def plain(self) -> Plain:
        """Return the width of the network and a digest of its weights."""
        return {"kind": "network", "width": _WIDTH, "digest": self.digest}

    def values(self, outputs: Outputs, fold: np.ndarray | None = None) -> np.ndarray:
        """Return the scores of outputs, float32 [n]; see `Score`."""
        table = _table(self.columns, outputs)
        each = [jax.tree.map(lambda part, k=k: part[k], self.weights) for k in range(FOLDS)]
        if fold is None:
            scores = np.stack([_scores(weights, table) for weights in each])
            return scores.mean(axis=0, dtype=np.float64).astype(np.float32)
        found = np.empty(len(fold), np.float32)
        for number, weights in enumerate(each):
            (rows,) = np.nonzero(fold == number)
            found[rows] = _scores(weights, table[rows])
        return found


class NetworkFit:
    """Networks that predict the side of an output. Each network is trained without one fold.

    The constructor trains the first network, and the `network` method trains the others.

    Args:
        columns: Columns of the outputs.
        pooled: The outputs of both sides.
    """

    def __init__(self, columns: Columns, pooled: Pooled):
        outputs, side, fold = pooled
        self._columns, self._fold = columns, fold
        self._table, self._sign = _table(columns, outputs), np.where(side == 0, 1.0, -1.0)
        # All networks are trained on equally many outputs, so that one compiled program suffices.
        least = min(int(np.sum(fold != number)) for number in range(FOLDS))
        self._size = _rounded(least // _BATCH) * _BATCH
        random = np.random.default_rng(_SEED)
        self._rows = [
            random.permutation(np.flatnonzero(fold != number))[: self._size]
            for number in range(FOLDS)
        ]
        self._keys = jax.random.split(jax.random.key(_SEED), FOLDS)
        self._first = self._fitted(0)

    def losses(self) -> np.ndarray:
        """Return the first network's log loss for each output in fold 0, [outputs in fold 0]."""
        held = self._fold == 0
        return np.logaddexp(0, -self._sign[held] * _scores(self._first, self._table[held]))

    def network(self) -> Network:
        """Train the remaining networks, and combine the outputs of all networks into one score."""
        every = [self._first, *map(self._fitted, range(1, FOLDS))]
        return Network(self._columns, jax.tree.map(lambda *own: np.stack(own), *every))

    def _fitted(self, number: int) -> _Weights:
        """Train a network without one fold. All calls share one compiled program."""
        rows = self._rows[number]
        sign = self._sign[rows].astype(np.float32)
        return jax.tree.map(np.asarray, _fit(self._table[rows], sign, self._keys[number]))


def _rounded(count: int) -> int:
    """Round a number of batches down; see `_SIGNIFICANT`."""
    unit = 1 << max(count.bit_length() - _SIGNIFICANT.bit_length() + 1, 0)
    return count // unit * unit


def _scores(weights: _Weights, table: np.ndarray) -> np.ndarray:
    """Return the scores of one network, float32 [n]."""
    found = []
    for start in range(0, len(table), _CALL):
        part = table[start : start + _CALL]
        padded = np.zeros((_BATCH if len(part) <= _BATCH else _CALL, part.shape[1]), part.dtype)
        padded[: len(part)] = part
        found.append(np.asarray(_scored(weights, padded))[: len(part)])
    return np.concatenate(found) if found else np.empty(0, np.float32)


def _table(columns: Columns, outputs: Outputs) -> np.ndarray:
    return np.concatenate(columns.standardize(outputs), axis=1, dtype=np.float32)


# GPUs otherwise round the factors of float32 products to 10 bits.
@jax.default_matmul_precision("highest")
def _forward(weights: _Weights, table: Array) -> Array:
    for matrix, shift in weights[:-1]:
        table = jax.nn.relu(table @ matrix + shift[None])
    matrix, shift = weights[-1]
    return (table @ matrix + shift[None])[:, 0]


_scored = jax.jit(_forward)


@jax.jit
def _fit(table: Array, sign: Array, key: Array) -> _Weights:
    """Train with Adam, and return the weights with the smallest loss on held-out outputs."""
    size, inputs = table.shape
    held = size // _HELD_OUT // _BATCH * _BATCH or _BATCH
    widths = [inputs, _WIDTH, _WIDTH, 1]
    start = [
        (
            jax.random.normal(jax.random.fold_in(key, i), (a, b), jnp.float32) * jnp.sqrt(2 / a),
            jnp.zeros(b, jnp.float32),
        )
        for i, (a, b) in enumerate(pairwise(widths))
    ]
    steps = (size - held) // _BATCH

    def loss(weights: _Weights, rows: Array, wanted: Array) -> Array:
        return jax.nn.softplus(-wanted * _forward(weights, rows)).mean()

    def step(carry: tuple, rows: Array) -> tuple[tuple, None]:
        weights, first, second, number = carry
        slope = jax.grad(loss)(weights, table[rows], sign[rows])
        first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, slope)
        second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g**2, second, slope)
        rate = _RATE * (1 - number / (_EPOCHS * steps))
        number = number + 1

        def moved(w: Array, m: Array, v: Array) -> Array:
            return w - rate * (m / (1 - 0.9**number)) / (jnp.sqrt(v / (1 - 0.999**number)) + 1e-8)

        return (jax.tree.map(moved, weights, first, second), first, second, number), None

    def epoch(state: tuple) -> tuple:
        carry, best, least, waited, number = state
        order = held + jax.random.permutation(jax.random.fold_in(key, 100 + number), size - held)
        carry, _ = jax.lax.scan(step, carry, order[: steps * _BATCH].reshape(steps, _BATCH))
        now = loss(carry[0], table[:held], sign[:held])
        better = now < least
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), carry[0], best)
        waited = jnp.where(better, 0, waited + 1)
        return carry, best, jnp.minimum(now, least), waited, number + 1

    zeros = jax.tree.map(jnp.zeros_like, start)
    begin = ((start, zeros, zeros, jnp.float32(0)), start, jnp.float32(jnp.inf), 0, 0)
    _, best, *_ = jax.lax.while_loop(
        lambda state: (state[3] < _PATIENCE) & (state[4] < _EPOCHS), epoch, begin
    )
    return best
