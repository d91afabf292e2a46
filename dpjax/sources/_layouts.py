"""Counts of drawn outputs, in two layouts.

The streamed layout draws and counts in one kernel. The kernel takes seconds to compile, but then
runs faster than the gathered layout. The gathered layout compiles only the sampler, gathers the
draws on the host, and counts the draws with NumPy. Both layouts draw the same blocks from the same
keys, each of which is derived from (run, pair, side, stage, block). Therefore both layouts return
the same counts.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import islice

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from dpjax.core import random
from dpjax.core.categories import category_counts
from dpjax.core.errors import signals_wait
from dpjax.core.execution import Execution, map_batched
from dpjax.core.jit import jit_by_class
from dpjax.core.numerics import MAX_BLOCK, WideCount
from dpjax.core.streaming import Blocks, drawn_once, reduce_samples
from dpjax.core.threads import side_by_side
from dpjax.databases.trees import nth
from dpjax.mechanisms import Mechanism
from dpjax.partitions import Lookup
from dpjax.sources._rounds import Rounds
from dpjax.sources.streams import CONFIRM, NUM_STAGES, DrawnStreams

_SMALLEST_BLOCK = 128
_GATHERED_BLOCK = 4096
"""Maximum number of draws per block in an audit that has at most _MANY draws per side."""

_CALL = 2**16
"""Number of values (draws times dimension) that one compiled call draws in the gathered layout."""

_MANY = 2**20
"""Number of draws per side above which a block has MAX_BLOCK draws. There is one exception, for
searches in which most draws of a large block would be unused; see _FEW.
"""

_FEW, _MANY_KEPT = 1024, 250
"""Blocks stay small if the first search round has at most _FEW draws per side, and if the second
search round has more than _MANY_KEPT pairs. If blocks were large in this case, most draws in a
block would be unused, and drawing them for many pairs would take a long time.
"""


def block_size(rounds: Rounds) -> int:
    """Return the number of draws per block for an audit; the number is a power of 2.

    The block size depends only on how many samples the audit draws in each of its rounds.
    """
    sizes = [rounds.num_samples, rounds.num_confirm]
    sizes += [rounds.num_again] if rounds.num_kept else []
    unused = rounds.num_samples <= _FEW and rounds.num_kept > _MANY_KEPT
    if max(sizes) > _MANY and not unused:
        return MAX_BLOCK
    least = min(*sizes, _GATHERED_BLOCK)
    return max(1 << (least - 1).bit_length(), _SMALLEST_BLOCK)


def ends_of(stops: NDArray[np.int64], size: int) -> NDArray[np.int32]:
    """Return, for each stream, the number of its blocks and the number of draws in its last block.

    Args:
        stops: Number of draws in each stream, at least 1.
        size: Number of draws in a block.
    """
    number = -(-stops // size)
    return np.stack([number, stops - (number - 1) * size], axis=-1).astype(np.int32)


def stream_words(words: np.ndarray, run: int, num_pairs: int) -> NDArray[np.uint32]:
    """Return the key of each stream in a run as two words, uint32 [pairs, 2 sides, stages, 2].

    Args:
        words: The key of the batch of runs, as two words, uint32 [2].
        run: Index of the run.
        num_pairs: Number of pairs.
    """
    parts = np.ogrid[:num_pairs, :2, :NUM_STAGES]
    return reduce(random.fold_words, parts, random.fold_words(words, run))


def blocks_at_once(size: int, width: int) -> int:
    """Return the number of blocks that one compiled call draws in the gathered layout."""
    return max(_CALL // (size * width), 1)


def drawn_calls(
    mechanism: object,
    words: np.ndarray,
    database: object,
    blocks: range,
    size: int,
    *,
    at_once: int,
    ahead: int = 1,
    threads: bool = False,
) -> Iterator[np.ndarray]:
    """Draw blocks of a stream, and yield one host array of whole blocks per compiled call.

    The device draws the next calls while the caller uses the current one.

    Args:
        mechanism: Pytree with `sample(key, database, num_samples)`.
        words: The key of the stream, as two words, uint32 [2].
        database: A single database.
        blocks: Consecutive indices of the blocks, at least one.
        size: Number of draws in a block.
        at_once: Maximum number of blocks per compiled call.
        ahead: Maximum number of calls that are drawn ahead.
        threads: Whether threads on all cores draw all blocks before the first one is yielded; see
            `side_by_side`.
    """
    step = 1 if threads else at_once
    keys = random.fold_words(words, np.arange(blocks.start, blocks.stop))

    def launch(words: np.ndarray) -> Array:
        room = np.zeros((at_once, 2), np.uint32)
        room[: len(words)] = words
        return sample_blocks(mechanism, room, np.int32(len(words)), database, size=size)

    calls = [keys[start : start + step] for start in range(0, len(keys), step)]
    # Delay signals while jax compiles, draws or copies, which takes about a second.
    with signals_wait():
        started = deque(side_by_side(launch, calls) if threads else [])
    waiting = iter(calls[len(started) :])
    for call in calls:
        with signals_wait():
            room = max(1 + ahead - len(started), 0)
            started.extend(launch(later) for later in islice(waiting, room))
            drawn = np.asarray(started.popleft())
        if len(call) < len(drawn):
            # A view would keep the unused blocks in memory.
            drawn = drawn[: len(call)].copy()
        yield drawn.reshape(-1, *drawn.shape[2:])


@jit_by_class(static_argnames=("size",))
def sample_blocks(
    mechanism: Mechanism, words: Array, number: Array, database: Array, *, size: int
) -> Array:
    """Draw blocks of outputs, [most, size] or [most, size, d].

    Args:
        mechanism: Pytree with `sample(key, database, num_samples)`.
        words: Key of each block, as two words, uint32 [most, 2].
        number: Number of blocks to draw, int32. The remaining blocks of the result are unused.
        database: A single database.
        size: Number of draws in a block.
    """
    words = jnp.asarray(words)  # Without jit, a traced block cannot index a NumPy array.

    def draw(block: Array) -> Array:
        key = jax.random.wrap_key_data(words[block], impl="threefry2x32")
        return mechanism.sample(key, database, size)

    return _drawn_blocks(draw, number, len(words))


def draws_of_pairs(
    mechanism: object, words: np.ndarray, databases: object, *, size: int, at_once: int
) -> np.ndarray:
    """Draw the first blocks for multiple pairs in one compiled call, and return a host array.

    Args:
        mechanism: Pytree with `sample(key, database, num_samples)`.
        words: Key of each block, as two words, uint32 [pairs, blocks, 2].
        databases: Stacked databases, [pairs, ...].
        size: Number of draws in a block.
        at_once: Maximum number of pairs for which one call draws. Calls with the same maximum share
            one compiled program.

    Returns:
        The draws [pairs, blocks * size] or [pairs, blocks * size, d].
    """
    number, blocks = words.shape[:2]
    # Repeat the last pair up to `at_once` pairs, so that the compiled program has a fixed shape.
    rows = np.minimum(np.arange(at_once), number - 1)
    with signals_wait():
        drawn = sample_pairs(
            mechanism, words[rows], np.int32(number), nth(databases, rows), size=size
        )
        found = np.asarray(drawn)[: number * blocks]
    return found.reshape(number, blocks * size, *found.shape[2:])


@jit_by_class(static_argnames=("size",))
def sample_pairs(
    mechanism: Mechanism, words: Array, number: Array, databases: object, *, size: int
) -> Array:
    """Draw blocks of outputs for multiple pairs, [most * blocks, size] or [most * blocks, size, d].

    Args:
        mechanism: Pytree with `sample(key, database, num_samples)`.
        words: Key of each block, as two words, uint32 [most, blocks, 2].
        number: Number of pairs to draw for, int32. The remaining blocks of the result are unused.
        databases: Stacked databases, [most, ...].
        size: Number of draws in a block.
    """
    blocks, keys = words.shape[1], jnp.asarray(words).reshape(-1, 2)

    def draw(block: Array) -> Array:
        key = jax.random.wrap_key_data(keys[block], impl="threefry2x32")
        database = jax.tree.map(lambda leaf: leaf[block // blocks], databases)
        return mechanism.sample(key, database, size)

    return _drawn_blocks(draw, number * blocks, len(keys))


def _drawn_blocks(draw: Callable[[Array], Array], number: Array, most: int) -> Array:
    """Draw blocks 0, ..., `number` - 1, and return an array [most, ...] that begins with them.

    An accelerator draws all `most` blocks in parallel, since this takes less time than a loop.
    """
    draw = jax.jit(draw)  # Trace the mechanism once, not once for each of the three uses.
    one = jax.eval_shape(draw, jnp.int32(0))

    def in_turn(number: Array) -> Array:
        def step(block: Array, drawn: Array) -> Array:
            return drawn.at[block].set(draw(block))

        return jax.lax.fori_loop(0, number, step, jnp.zeros((most, *one.shape), one.dtype))

    def in_parallel(number: Array) -> Array:
        return jax.vmap(draw)(jnp.arange(most, dtype=jnp.int32))

    return jax.lax.platform_dependent(number, cpu=in_turn, default=in_parallel)


@jit_by_class(static_argnames=("execution",))
def search_counts_runs(
    streams: DrawnStreams,
    cells: Lookup,
    stage: Array,
    num_samples: Blocks,
    runs: tuple[Array, Array],
    *,
    execution: Execution,
) -> WideCount:
    """For one search round, count the draws in each cell on both sides of each searched pair.

    Args:
        streams: Streams of all runs.
        cells: Lookup tables of the partitions, one per pair, stacked along the first axis.
        stage: Stage of the round, int32.
        num_samples: Number of draws per side of each pair, as in `Blocks`.
        runs: Two arrays. The first array, int32 [runs], contains each run's index, which is folded
            into the run's key. The second array, int32 [runs, searched], contains the indices of
            the pairs that each run searches.
        execution: Execution options; these never change the counts.

    Returns:
        Counts [runs, searched, 2 sides, 2 * cells]. The last axis contains the counts of
        even-numbered draws in all cells, followed by the counts of odd-numbered draws in all cells.
    """

    def one_run(of_run: tuple[Array, Array]) -> WideCount:
        run, pairs = of_run
        drawn = streams.of_run(run)
        return map_batched(
            lambda pair: _counts(drawn, pair, stage, [num_samples] * 2, cells, None, at_once),
            pairs,
            execution.pairs,
        )

    at_once = execution.blocks(*runs[1].shape)
    with jax.named_scope("search"):
        return map_batched(one_run, runs, execution.runs)


@jit_by_class(static_argnames=("num_marks", "execution"))
def confirm_counts_runs(
    streams: DrawnStreams,
    cells: Lookup,
    num_confirm: Blocks,
    runs: tuple[Array, Array, Array, Array],
    *,
    num_marks: int,
    execution: Execution,
) -> WideCount:
    """For each run, count one pair's confirmation draws, grouped by the mark of each draw's cell.

    Args:
        streams: Streams of all runs.
        cells: Lookup tables of the partitions, one per pair, stacked along the first axis.
        num_confirm: Number of draws in the longest stream, as in `Blocks`.
        runs: Four arrays: each run's index, int32 [runs]; the index of each run's pair, int32
            [runs]; the result of `ends_of` for each run's two streams, int32 [runs, 2 sides, 2];
            and the mark of each cell, int32 [runs, cells]. Cells with the same mark are counted
            together.
        num_marks: Number of marks.
        execution: Execution options; these never change the counts.

    Returns:
        Counts [runs, 2 sides, num_marks].
    """

    def one_run(of_run: tuple[Array, Array, Array, Array]) -> WideCount:
        run, pair, ends, marks = of_run
        drawn, stop = streams.of_run(run), num_confirm.stop
        sides = []
        for number, in_last in ends:
            sides.append(
                replace(
                    num_confirm,
                    number=number,
                    in_last=in_last,
                    start=jnp.minimum(num_confirm.start, number),
                    stop=number if stop is None else jnp.minimum(stop, number),
                )
            )
        return _counts(drawn, pair, CONFIRM, sides, cells, (marks, num_marks), at_once)

    at_once = execution.blocks(len(runs[0]))
    with jax.named_scope("confirm"):
        return map_batched(one_run, runs, execution.runs)


def _counts(
    streams: DrawnStreams,
    pair: Array,
    stage: Array | int,
    num_draws: Sequence[Blocks],
    cells: Lookup,
    marked: tuple[Array, int] | None,
    at_once: int,
) -> WideCount:
    """Count each side's draws by mark, or by half and cell; return counts [2 sides, categories].

    Args:
        streams: Streams of one run.
        pair: Index of the pair.
        stage: Stage of the run.
        num_draws: Number of draws per side, as in `Blocks`.
        cells: Lookup tables of the partitions, one per pair, stacked along the first axis.
        marked: Mark of each cell, and number of marks, if draws are to be counted by mark. If
            `marked` is None, draws are counted by half and cell.
        at_once: Number of blocks of each stream that are drawn in parallel.
    """
    of_pair = jax.tree.map(lambda leaf: leaf[pair], cells)
    half = (jnp.arange(num_draws[0].size, dtype=jnp.int32) % 2) * cells.size

    def side_counts(side: int) -> WideCount:
        draw = drawn_once(streams.draw(pair, side, stage, num_draws[side]))

        def category(block: Array) -> Array:
            cell = of_pair.index(draw(block))
            return cell + half if marked is None else marked[0][cell]

        reducer = category_counts(2 * cells.size if marked is None else marked[1])
        counts = reduce_samples(category, reducer, num_draws[side], at_once=at_once)
        return WideCount(*(limb[:-1] for limb in counts))

    sides = [side_counts(side) for side in (0, 1)]
    return WideCount(*(jnp.stack(limbs) for limbs in zip(*sides, strict=True)))
