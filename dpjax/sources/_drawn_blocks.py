"""Draws of a JAX mechanism that are copied to the host, in whole blocks."""

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpjax.core.threads import cores
from dpjax.databases import Pairs
from dpjax.databases.trees import nth
from dpjax.mechanisms import Mechanism
from dpjax.sources._layouts import blocks_at_once, first_draws, stream_words

_BATCH = 2**22
"""Number of values (draws times dimension) in a batch that NumPy counts."""

_BATCH_SECONDS = 0.5
"""Target duration of a batch, after which signals are handled and progress is shown."""

_SLOW_BLOCK = 0.001
"""If drawing a block takes more than this number of seconds, all cores draw blocks in parallel."""


class DrawnBlocks:
    """Draws of a mechanism for a batch of runs.

    Args:
        mechanism: Mechanism that draws.
        pairs: Stacked pairs.
        words: The key of the batch of runs, as two words, uint32 [2].
        block: Number of draws in a block.
        width: Dimension of a draw.
        in_order: Whether requests for a stream often begin within the block in which the previous
            request for this stream ended.

    Attributes:
        keeps_last: Whether the last block of each stream is kept for the next request.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        pairs: Pairs,
        words: NDArray[np.uint32],
        block: int,
        width: int,
        in_order: bool,
    ):
        self._mechanism, self._stacked, self._words = mechanism, pairs, words
        self._block, self._width = block, width
        self._at_once = blocks_at_once(block, width)
        self.keeps_last = in_order and 2 * len(pairs) * block * width <= _BATCH
        self._streams: dict[int, NDArray[np.uint32]] = {}
        self._last: dict[tuple[int, int, int, int], tuple[int, np.ndarray]] = {}
        self._compiled, self._block_seconds = False, 0.0

    def streams(self, run: int) -> NDArray[np.uint32]:
        """Return the key of each stream in a run; see `stream_words`."""
        if run not in self._streams:
            self._streams[run] = stream_words(self._words, run, len(self._stacked))
        return self._streams[run]

    def first_block(self, run: int, pair: int, side: int, stage: int) -> np.ndarray:
        """Draw the first block of a stream, and keep the block for the next request."""
        block = self.draw(run, pair, side, stage, self._block)
        self._last[run, pair, side, stage] = 0, block
        return block

    def draw(
        self, run: int, pair: int, side: int, stage: int, num_draws: int, first: int = 0
    ) -> np.ndarray:
        """Draw `num_draws` outputs of a stream onto the host, beginning with block `first`."""
        place = run, int(pair), side, stage
        stream = self.streams(run)[place[1:]]
        database = nth((self._stacked.database, self._stacked.neighbor)[side], pair)
        number, last = self._last.pop(place, (-1, None))
        blocks = [last] if last is not None and number == first else []
        needed = -(-num_draws // self._block)
        missing = needed - len(blocks)
        if missing > 0:
            began = time.perf_counter()
            blocks.append(
                first_draws(
                    self._mechanism,
                    stream,
                    database,
                    missing * self._block,
                    self._block,
                    at_once=self._at_once,
                    first=first + len(blocks),
                    threads=self._block_seconds > _SLOW_BLOCK,
                )
            )
            # The first call includes compilation, so measure the second one.
            if self._compiled and not self._block_seconds:
                self._block_seconds = (time.perf_counter() - began) / missing
            self._compiled = True
        if self.keeps_last:
            # The next request for this stream often begins within the last block.
            last = blocks[-1][-self._block :]
            self._last[place] = first + needed - 1, last.copy() if missing > 1 else last
        return np.concatenate(blocks)[:num_draws] if len(blocks) > 1 else blocks[0][:num_draws]

    def with_same_keys(self, run: int, pair: int, stage: int, num_draws: int) -> np.ndarray:
        """Draw `num_draws` outputs from the neighbor with the keys of the database's stream."""
        stream, database = self.streams(run)[pair, 0, stage], nth(self._stacked.neighbor, pair)
        return first_draws(
            self._mechanism, stream, database, num_draws, self._block, at_once=self._at_once
        )

    def batches(
        self, run: int, pair: int, side: int, stage: int, num_draws: int, first: int = 0
    ) -> Iterator[np.ndarray]:
        """Yield draws `first`, ..., `num_draws` - 1 of a stream in batches, in constant memory."""
        step = max(_BATCH // (self._block * self._width), 1)
        if self._block_seconds > 0:
            # With equal numbers of blocks, no core waits at the end of a batch.
            rounds = max(int(_BATCH_SECONDS / self._block_seconds), 1)
            step = min(step, rounds * cores())
        if first >= num_draws:
            return
        for block in range(first // self._block, -(-num_draws // self._block), step):
            size = min(step * self._block, num_draws - block * self._block)
            skipped = max(first - block * self._block, 0)
            yield self.draw(run, pair, side, stage, size, block)[skipped:]
