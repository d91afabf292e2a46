"""Streams of outputs inside compiled kernels: drawn by a mechanism, or stored in arrays.

Kernels see one thing: `draw(pair, side, stage, num_samples)` gives the blocks of a stream.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core import random
from dpjax.core.streaming import Blocks, blocks_of, stored_blocks
from dpjax.databases.trees import length

SEARCH, CONFIRM, LAY, SEARCH_AGAIN = range(4)
"""Stages of a run: they never share a sample. What lays the cells of all runs is a stage, too."""


class Streams(Protocol):
    """Streams of samples for every pair, side (0: database, 1: neighbor) and stage."""

    @property
    def num_pairs(self) -> int:
        """How many pairs there are."""
        ...

    def draw(
        self, pair: Array, side: int, stage: Any, num_samples: int | Blocks
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
        key: The run's typed key.
    """

    mechanism: Any
    database: Array
    neighbor: Array
    key: Array

    @property
    def num_pairs(self) -> int:
        """How many pairs there are."""
        return length(self.database)

    def draw(
        self, pair: Array, side: int, stage: Any, num_samples: int | Blocks
    ) -> Callable[[Array], Array]:
        """Block number -> block of draws."""
        key = self.key
        for part in (pair, side, stage):
            key = random.fold_in(key, part)
        # The two sides may differ in shape, for which is drawn is known as this is traced.
        stacked = self.neighbor if side else self.database
        database = jax.tree.map(lambda leaf: jnp.asarray(leaf)[pair], stacked)
        size = blocks_of(num_samples).size
        # One trace for all that read the stream, for a user's mechanism may be slow to trace.
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
        """One."""
        return 1

    def draw(
        self, pair: Array, side: int, stage: Any, num_samples: int | Blocks
    ) -> Callable[[Array], Array]:
        """Block number -> block of recorded outputs."""
        return stored_blocks((self.search, self.confirm)[stage][side])
