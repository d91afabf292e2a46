"""The loop over blocks of samples. Each block is drawn, reduced and then discarded.

Samples are drawn inside the loop body. Therefore, memory holds only one block at a time, whatever
the number of samples. A block's key depends only on the index of the block. Therefore, a block's
samples do not depend on how blocks are grouped, batched or divided among devices. A long stream can
be divided into multiple compiled calls, so that signals are handled between two calls. The sum of
the counts from all calls is the count of the whole stream.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Generic, NamedTuple, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from dpjax.core.errors import signals_wait
from dpjax.core.numerics import MAX_BLOCK, WideCount
from dpjax.core.wording import BadValue

Carry = TypeVar("Carry")
Tree = TypeVar("Tree")

_LANES = 128
"""Every block size, in samples, is a multiple of this number."""

_FIRST_DRAWS = 2**22
"""Number of draws in the first compiled call for a stream. The first call takes at most about 0.1
seconds.
"""

_CALL_SECONDS = 0.5
"""Target duration, in seconds, of every compiled call except the first."""


class Reducer(NamedTuple, Generic[Carry]):
    """A statistic that is computed from a stream of blocks, one block at a time.

    Attributes:
        init: Function () -> carry, which returns the initial carry.
        update: Function (carry, block [block_size, ...], valid bool[block_size]) -> carry. Samples
            for which `valid` is False are the padding of the last block, and must not be counted.
        reads_once: Whether only one operation in `update` reads the block. If `reads_once` is True,
            XLA can fuse the update with the draw. If `reads_once` is False, each block is stored in
            memory before the update reads the block.
    """

    init: Callable[[], Carry]
    update: Callable[[Carry, Array, Array], Carry]
    reads_once: bool = False


def block_size_for(num_samples: int) -> int:
    """Return the size, at most MAX_BLOCK, of the equal blocks into which samples are divided.

    The block size is a multiple of 128, because XLA's CPU loops are six times slower at other
    lengths. The block size determines the key with which each sample is drawn. To keep samples
    reproducible, the block size depends only on `num_samples`, and not on the machine.
    """
    num_blocks = -(-num_samples // MAX_BLOCK)
    return -(-num_samples // (num_blocks * _LANES)) * _LANES


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Blocks:
    """The division of a sample into blocks. Only the block size is static in compiled programs.

    Attributes:
        size: Number of samples in a block.
        number: Number of blocks, int32.
        in_last: Number of valid samples in the last block. Samples in the last block after the
            first `in_last` samples are padding.
        start: Index of the first block to draw, int32.
        stop: Index of the last block to draw, plus 1, int32. If `stop` is None, all blocks from
            `start` on are drawn.
    """

    size: int = field(metadata={"static": True})
    number: Array | np.int32
    in_last: Array | int
    start: Array | np.int32 = np.int32(0)  # noqa: RUF009 (immutable)
    stop: Array | np.int32 | None = None


def blocks_of(num_samples: int | Blocks, size: int | None = None) -> Blocks:
    """Divide the given number of samples into blocks.

    A compiled program whose argument is a `Blocks` instead of a number of samples can be used for
    all sample sizes that have the same block size.

    Args:
        num_samples: Number of samples. If the argument is already a `Blocks`, it is returned
            unchanged.
        size: Number of samples in a block. If `size` is None, a block has
            `block_size_for(num_samples)` samples.

    Raises:
        ValueError: If the samples form 2^31 or more blocks.
    """
    if isinstance(num_samples, Blocks):
        return num_samples
    size = size or block_size_for(num_samples)
    number = -(-num_samples // size)
    if number >= 2**31:
        raise BadValue(
            f"num_samples must be below {2**31 * size} (2^31 blocks of {size}), but was "
            f"{num_samples}."
        )
    return Blocks(size, np.int32(number), num_samples - (number - 1) * size)


def reduce_samples(
    draw: Callable[[Array], Array],
    reducer: Reducer[Carry],
    num_samples: int | Blocks,
    *,
    first: Array | None = None,
    at_once: int = 1,
) -> Carry:
    """Stream samples through a reducer in one loop.

    Args:
        draw: Function that maps an int32 block number to a block [block_size_for(num_samples),
            ...].
        reducer: The statistic to compute.
        num_samples: Number of samples to reduce, or the blocks into which the samples are divided.
        first: Block 0, if the caller has already drawn this block to set up the reducer; otherwise
            None. If block 0 is passed, the loop starts at block 1.
        at_once: Number of blocks that each step of the loop draws and reduces in parallel. The
            carry must be a `WideCount` or an array of sums. It needs `at_once` times as much memory
            until the end of the loop. The result does not depend on `at_once`.

    Returns:
        The final carry.
    """
    blocks = blocks_of(num_samples)

    def step(block: Array, carry: Carry) -> Carry:
        return update(carry, block_of(block), block)

    def update(
        carry: Carry, samples: Array, block: Array | int, exists: Array | bool = True
    ) -> Carry:
        size = jnp.where(block == blocks.number - 1, blocks.in_last, blocks.size)
        valid = jnp.arange(blocks.size, dtype=jnp.int32) < jnp.where(exists, size, 0)
        return reducer.update(carry, samples, valid)

    def steps(number: Array, carries: Carry) -> Carry:
        def of_lane(place: Array, carry: Carry) -> Carry:
            # In the last step, there may be no block left for some of the lanes.
            exists = place < stop - start
            return update(carry, block_of(start + place), start + place, exists)

        return jax.vmap(of_lane)(at_once * number + jnp.arange(at_once, dtype=jnp.int32), carries)

    block_of = draw if reducer.reads_once else drawn_once(draw)
    carry = reducer.init()
    start, stop = blocks.start, blocks.number if blocks.stop is None else blocks.stop
    if first is not None:
        carry, start = update(carry, first, 0), np.int32(1)
    # A scan would need an array of block numbers, whose size grows with the samples.
    with jax.named_scope("sample_blocks"):
        if at_once == 1:
            return jax.lax.fori_loop(start, stop, step, carry)
        carries = jax.tree.map(
            lambda leaf: jnp.zeros((at_once, *leaf.shape), leaf.dtype).at[0].set(leaf), carry
        )
        carries = jax.lax.fori_loop(0, -(-(stop - start) // at_once), steps, carries)
        total = carries.total() if isinstance(carries, WideCount) else jnp.sum(carries, axis=0)
        return cast(Carry, total)


def in_calls(
    launch: Callable[[Blocks], WideCount], blocks: Blocks, num_streams: int, start: int = 0
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Count samples in calls of about half a second each, and handle signals between the calls.

    Args:
        launch: Function that counts the samples in blocks `start`, ..., `stop` - 1 of the given
            `Blocks`.
        blocks: Blocks of each stream.
        num_streams: Number of streams whose samples are counted in parallel.
        start: Index of the first block to count.

    Yields:
        For each call, the counts of its blocks, int64, and the number of samples per stream in
        these blocks. Because counts are integers, their totals do not depend on the division of
        blocks among calls.
    """
    number, in_last = int(blocks.number), int(blocks.in_last)
    compiled, size = False, max(_FIRST_DRAWS // (blocks.size * num_streams), 1)
    while start < number:
        stop = min(start + size, number)
        began = time.perf_counter()
        # The parts have equal static fields and dtypes, so they share one compiled program.
        part = replace(blocks, start=np.int32(start), stop=np.int32(stop))
        with signals_wait():
            counts = jax.device_get(launch(part)).as_int()
        # The first call includes compilation, so its time is ignored.
        if compiled:
            seconds = time.perf_counter() - began
            size = max(int(size * min(_CALL_SECONDS / seconds, 8.0)), 1)
        yield counts, (stop - start) * blocks.size - (blocks.size - in_last) * (stop == number)
        start, compiled = stop, True


def fetched(started: Tree) -> Tree:
    """Call `jax.device_get`, and handle signals that arrive during the computation."""
    ready = threading.Event()

    def wait() -> None:
        # The call to `device_get` below raises the same error in the calling thread.
        with suppress(Exception):
            jax.block_until_ready(started)
        ready.set()

    # jax handles no signals while it waits, so another thread waits; polling would cost more.
    threading.Thread(target=wait).start()
    ready.wait()
    return jax.device_get(started)


def computed_once(compute: Callable[..., Tree]) -> Callable[..., Tree]:
    """Wrap a function of arrays so that its results are stored before any operation reads them.

    XLA may recompute a result, or part of it, in each operation that reads the result. On GPU, an
    optimization barrier prevents this recomputation. On CPU, XLA removes barriers before it fuses
    operations. However, XLA keeps any branch whose condition passed through a barrier. Therefore,
    on CPU, the computation is put into such a branch.
    """

    def nothing(*given: Array) -> Tree:
        shapes = jax.eval_shape(compute, *given)
        return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)

    def branch(*given: Array) -> Tree:
        return jax.lax.cond(jax.lax.optimization_barrier(jnp.bool_(True)), compute, nothing, *given)

    return lambda *given: jax.lax.platform_dependent(
        *given, cpu=branch, default=lambda *g: jax.lax.optimization_barrier(compute(*g))
    )


def drawn_once(draw: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """Wrap a draw function so that each block is stored before any operation reads it."""

    def columns(block: Array) -> list[Array]:
        # Return separate columns, because later operations read one column at a time, and XLA
        # writes interleaved columns slowly.
        samples = draw(block)
        return [samples] if samples.ndim == 1 else list(jnp.moveaxis(samples, 1, 0))

    def once(block: Array) -> Array:
        drawn = computed_once(columns)(block)
        return drawn[0] if jax.eval_shape(draw, block).ndim == 1 else jnp.stack(drawn, axis=1)

    return once


def stored_blocks(samples: Array) -> Callable[[Array], Array]:
    """Return a `draw` function for `reduce_samples` that reads stored samples in blocks."""
    size = block_size_for(samples.shape[0])
    whole = samples.shape[0] // size
    rest = samples[whole * size :]
    # Only the remainder is padded, because padding all samples would copy them.
    last = jnp.pad(rest, [(0, size - len(rest)), *[(0, 0)] * (samples.ndim - 1)])
    if whole == 0:
        return lambda block: last
    return lambda block: jnp.where(
        block < whole, jax.lax.dynamic_slice_in_dim(samples, block * size, size), last
    )
