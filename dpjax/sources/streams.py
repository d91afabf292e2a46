"""Streams of outputs inside compiled kernels: drawn by a mechanism, or stored in arrays.

Kernels use one interface: `draw(pair, side, stage, num_samples)` returns the blocks of a stream of
one run.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core import random
from dpjax.core.streaming import Blocks, blocks_of, stored_blocks
from dpjax.databases.trees import length
from dpjax.mechanisms import Mechanism

SEARCH, CONFIRM, MEASURE, SEARCH_AGAIN = range(4)
"""Stages of a run, which share no outputs; a host mechanism is timed in stage `MEASURE`."""

NUM_STAGES = 4


class Streams(Protocol):
    """Streams of outputs for every pair, side (0: database, 1: neighbor) and stage of a run."""

    @property
    def num_pairs(self) -> int:
        """Number of pairs."""
        ...

    def of_run(self, run: Array) -> "Streams":
        """Return the streams of one run, from those of a batch."""
        ...

    def draw(
        self, pair: Array, side: int, stage: Array | int, num_samples: int | Blocks
    ) -> Callable[[Array], Array]:
        """Return a function from block number to block of samples, as `reduce_samples` expects."""
        ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class DrawnStreams:
    """Draws of a mechanism; keys are folded from (run, pair, side, stage, block).

    Attributes:
        mechanism: Pytree with `sample(key, database, num_samples)`.
        database: Stacked databases, [pairs, ...].
        neighbor: Stacked neighbors, [pairs, ...].
        key: Typed key of a batch of runs, or of the single run from `of_run`.
    """

    mechanism: Mechanism
    database: object
    neighbor: object
    key: Array

    @property
    def num_pairs(self) -> int:
        """Number of pairs."""
        return length(self.database)

    def of_run(self, run: Array) -> "DrawnStreams":
        """Return the streams of one run, whose number is folded into the key."""
        return replace(self, key=random.fold_in(self.key, run))

    def draw(
        self, pair: Array, side: int, stage: Array | int, num_samples: int | Blocks
    ) -> Callable[[Array], Array]:
        """Return a function from block number to block of draws."""
        key = self.key
        for part in (pair, side, stage):
            key = random.fold_in(key, part)
        # The two sides may differ in shape, but `side` is known when the program is traced.
        stacked = self.neighbor if side else self.database
        database = jax.tree.map(lambda leaf: jnp.asarray(leaf)[pair], stacked)
        size = blocks_of(num_samples).size
        # One trace serves all readers of the stream: a user's mechanism may be slow to trace.
        return jax.jit(
            lambda block: self.mechanism.sample(random.fold_in(key, block), database, size)
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StoredStreams:
    """Outputs of one pair, split once into disjoint search and confirmation sets.

    Attributes:
        search: Search sets, two arrays [n, ...], at the database and at its neighbor.
        confirm: Confirmation sets, two arrays [N, ...].
    """

    search: tuple[Array, Array]
    confirm: tuple[Array, Array]

    @property
    def num_pairs(self) -> int:
        """Number of pairs, always one."""
        return 1

    def of_run(self, run: Array) -> "StoredStreams":
        """Return the same outputs, since recorded ones have a single run."""
        return self

    def draw(
        self, pair: Array, side: int, stage: Array | int, num_samples: int | Blocks
    ) -> Callable[[Array], Array]:
        """Return a function from block number to block of recorded outputs."""
        assert isinstance(stage, int)
        return stored_blocks((self.search, self.confirm)[stage][side])
