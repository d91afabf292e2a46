"""Streams of outputs inside compiled kernels: drawn by a mechanism, or stored in arrays.

Kernels see one thing: `draw(pair, side, stage, num_samples)` gives the blocks of a stream of one
run.
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
"""Stages of a run, which share no output; `MEASURE` times a mechanism of the host."""

NUM_STAGES = 4


class Streams(Protocol):
    """Streams of outputs for every pair, side (0: database, 1: neighbor) and stage of a run."""

    @property
    def num_pairs(self) -> int:
        """Number of pairs."""
        ...

    def of_run(self, run: Array) -> "Streams":
        """The streams of one run, from those of a batch."""
        ...

    def draw(
        self, pair: Array, side: int, stage: Array | int, num_samples: int | Blocks
    ) -> Callable[[Array], Array]:
        """Block number -> block of samples, as `reduce_samples` takes it."""
        ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class DrawnStreams:
    """Draws of a mechanism; keys are folded from (run, pair, side, stage, block).

    Attributes:
        mechanism: A pytree with `sample(key, database, num_samples)`.
        database: [pairs, ...].
        neighbor: [pairs, ...].
        key: Typed key of a batch of runs, or of the one run that `of_run` gives.
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
        """The streams of one run, whose number is folded into the key."""
        return replace(self, key=random.fold_in(self.key, run))

    def draw(
        self, pair: Array, side: int, stage: Array | int, num_samples: int | Blocks
    ) -> Callable[[Array], Array]:
        """Block number -> block of draws."""
        key = self.key
        for part in (pair, side, stage):
            key = random.fold_in(key, part)
        # The two sides may differ in shape; which of them is drawn is known while tracing.
        stacked = self.neighbor if side else self.database
        database = jax.tree.map(lambda leaf: jnp.asarray(leaf)[pair], stacked)
        size = blocks_of(num_samples).size
        # One trace for all readers of the stream: a user's mechanism may be slow to trace.
        return jax.jit(
            lambda block: self.mechanism.sample(random.fold_in(key, block), database, size)
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StoredStreams:
    """One pair's outputs, split once into a search and a confirm part that share no sample.

    Attributes:
        search: Two arrays [n, ...], database and neighbor.
        confirm: Two arrays [N, ...].
    """

    search: tuple[Array, Array]
    confirm: tuple[Array, Array]

    @property
    def num_pairs(self) -> int:
        """Number of pairs: one."""
        return 1

    def of_run(self, run: Array) -> "StoredStreams":
        """The same outputs: recorded ones have a single run."""
        return self

    def draw(
        self, pair: Array, side: int, stage: Array | int, num_samples: int | Blocks
    ) -> Callable[[Array], Array]:
        """Block number -> block of recorded outputs."""
        assert isinstance(stage, int)
        return stored_blocks((self.search, self.confirm)[stage][side])
