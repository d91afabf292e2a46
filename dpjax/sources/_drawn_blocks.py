"""Draws of a JAX mechanism that are copied to the host, in whole blocks."""

import time
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpjax.core.threads import cores
from dpjax.databases import Pairs
from dpjax.databases.trees import nth
from dpjax.mechanisms import Mechanism
from dpjax.sources._layouts import blocks_at_once, drawn_calls, stream_words

_BATCH, _BATCH_DRAWS = 2**22, 2**16
"""Number of values (draws times dimension) and of draws, either of which fills a batch that NumPy
counts. Arrays of _BATCH_DRAWS numbers fit in a processor's cache.
"""

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
        blocks = range(first, first - (-num_draws // self._block))
        return _joined(list(self._calls(run, pair, side, stage, blocks)))[:num_draws]

    def with_same_keys(self, run: int, pair: int, stage: int, num_draws: int) -> np.ndarray:
        """Draw `num_draws` outputs from the neighbor with the keys of the database's stream."""
        stream, database = self.streams(run)[pair, 0, stage], nth(self._stacked.neighbor, pair)
        blocks, at_once = range(-(-num_draws // self._block)), self._at_once
        calls = drawn_calls(self._mechanism, stream, database, blocks, self._block, at_once=at_once)
        return _joined(list(calls))[:num_draws]

    def _calls(
        self, run: int, pair: int, side: int, stage: int, blocks: range, ahead: int = 1
    ) -> Iterator[np.ndarray]:
        """Yield consecutive blocks of a stream in one array per call; see `drawn_calls`."""
        place = run, int(pair), side, stage
        number, drawn = self._last.pop(place, (-1, np.empty(0)))
        if number == blocks.start:
            yield drawn
        missing = blocks[number == blocks.start :]
        if missing:
            began = time.perf_counter()
            calls = drawn_calls(
                self._mechanism,
                self.streams(run)[place[1:]],
                nth((self._stacked.database, self._stacked.neighbor)[side], pair),
                missing,
                self._block,
                at_once=self._at_once,
                ahead=ahead,
                threads=self._block_seconds > _SLOW_BLOCK,
            )
            if not self._block_seconds:
                calls = list(calls)
                # The first call includes compilation, so measure the second one.
                if self._compiled:
                    self._block_seconds = (time.perf_counter() - began) / len(missing)
                self._compiled = True
            for drawn in calls:
                yield drawn
        if self.keeps_last:
            # The next request for this stream often begins within the last block.
            last = drawn[-self._block :]
            self._last[place] = blocks[-1], last if len(last) == len(drawn) else last.copy()

    def batches(
        self, run: int, pair: int, side: int, stage: int, num_draws: int, first: int = 0
    ) -> Iterator[np.ndarray]:
        """Yield draws `first`, ..., `num_draws` - 1 of a stream in batches, in constant memory.

        The device draws the next batch while the caller uses the current one.
        """
        if first >= num_draws:
            return
        blocks = range(first // self._block, -(-num_draws // self._block))
        done = blocks.start * self._block
        for batch in self._batches((run, pair, side, stage), blocks):
            yield batch[max(first - done, 0) : num_draws - done]
            done += len(batch)

    def _batches(self, stream: tuple[int, int, int, int], blocks: range) -> Iterator[np.ndarray]:
        """Yield blocks of a stream in batches, each of which consists of several calls."""
        size = min(_BATCH // self._width, _BATCH_DRAWS)
        while not 0 < self._block_seconds <= _SLOW_BLOCK:
            step = max(size // self._block, 1)
            if self._block_seconds:
                # With equal numbers of blocks, no core waits at the end of a batch.
                rounds = max(int(_BATCH_SECONDS / self._block_seconds), 1)
                step = min(max(_BATCH // (self._block * self._width), 1), rounds * cores())
            yield _joined(list(self._calls(*stream, blocks[:step])))
            blocks = blocks[step:]
            if not blocks:
                return
        batch: list[np.ndarray] = []
        for drawn in self._calls(*stream, blocks, -(-size // (self._at_once * self._block))):
            batch.append(drawn)
            if sum(map(len, batch)) >= size:
                yield _joined(batch)
                batch = []
        if batch:
            yield _joined(batch)


def _joined(arrays: list[np.ndarray]) -> np.ndarray:
    """Concatenate arrays, but do not copy a single array."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
