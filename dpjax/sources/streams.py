"""Streams of outputs for compiled kernels. Outputs are drawn by a mechanism or stored in arrays.

Kernels call `draw(pair, side, stage, num_samples)`, which returns a function that maps the index of
a block to the outputs in the block.
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
"""Stages of a run: the first search round, the confirmation, the timing of a host mechanism, and
the second search round. No two stages share outputs.
"""

NUM_STAGES = 4


class Streams(Protocol):
    """The streams of outputs in a run, one for each pair, side and stage.

    Side 0 is the database, and side 1 is the neighbor.
    """

    @property
    def num_pairs(self) -> int:
        """Number of pairs."""
        ...

    def of_run(self, run: Array) -> "Streams":
        """Return the streams of one run in a batch, given the index of the run."""
        ...

    def draw(
        self, pair: Array, side: int, stage: Array | int, num_samples: int | Blocks
    ) -> Callable[[Array], Array]:
        """Return a function that maps a block's index to its outputs, as `reduce_samples` needs."""
        ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class DrawnStreams:
    """Streams of draws. The key of each block is derived from (run, pair, side, stage, block).

    Attributes:
        mechanism: Pytree with `sample(key, database, num_samples)`.
        database: Stacked databases, [pairs, ...].
        neighbor: Stacked neighbors, [pairs, ...].
        key: Typed key of a batch of runs. In the streams that `of_run` returns, `key` is instead
            the typed key of a single run.
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
        """Return the streams of one run, with the index of the run folded into the key."""
        return replace(self, key=random.fold_in(self.key, run))

    def draw(
        self, pair: Array, side: int, stage: Array | int, num_samples: int | Blocks
    ) -> Callable[[Array], Array]:
        """Return a function that maps a block's index to the block's draws."""
        key = self.key
        for part in (pair, side, stage):
            key = random.fold_in(key, part)
        # The databases of the two sides may have different shapes, which is possible because `side`
        # is known when the program is traced.
        stacked = self.neighbor if side else self.database
        database = jax.tree.map(lambda leaf: jnp.asarray(leaf)[pair], stacked)
        size = blocks_of(num_samples).size
        # Share one trace among all readers of the stream, since a user's mechanism may be slow to
        # trace.
        return jax.jit(
            lambda block: self.mechanism.sample(random.fold_in(key, block), database, size)
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StoredStreams:
    """Streams of one pair's recorded outputs, which are split into search and confirmation sets.

    Attributes:
        search: Search sets of the database and of its neighbor, two arrays [n, ...].
        confirm: Confirmation sets of the database and of its neighbor, two arrays [N, ...].
    """

    search: tuple[Array, Array]
    confirm: tuple[Array, Array]

    @property
    def num_pairs(self) -> int:
        """Number of pairs, which is always 1."""
        return 1

    def of_run(self, run: Array) -> "StoredStreams":
        """Return the streams unchanged, because recorded outputs belong to a single run."""
        return self

    def draw(
        self, pair: Array, side: int, stage: Array | int, num_samples: int | Blocks
    ) -> Callable[[Array], Array]:
        """Return a function that maps a block's index to the block's recorded outputs."""
        assert isinstance(stage, int)
        return stored_blocks((self.search, self.confirm)[stage][side])
