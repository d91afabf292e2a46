"""The only loop over sample blocks: draw a block, reduce it, forget it.

The draw happens inside the loop body, so memory is one block, however many samples are asked for.
A block's key comes from the block's number alone (`fold_in`), so its samples do not depend on how
blocks are grouped, batched or spread over devices. So a long stream is cut into several compiled
calls, between which signals are heard; the counts of the parts add up to those of the whole.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from dpjax.core.errors import signals_wait
from dpjax.core.numerics import MAX_BLOCK, WideCount
from dpjax.core.wording import BadValue

Carry = TypeVar("Carry")

_LANES = 128

_FIRST_DRAWS = 2**22
"""Draws of the first compiled call of a stream that is cut: a tenth of a second or less."""

_CALL_SECONDS = 0.5
"""Seconds of the calls after it, about."""


class Reducer(NamedTuple, Generic[Carry]):
    """A sufficient statistic of a stream of blocks.

    Attributes:
        init: () -> carry.
        update: (carry, block [block_size, ...], valid bool[block_size]) -> carry. Samples that are
            not valid pad the last block and must not count.
        reads_once: Whether the update reads a block at one place only, so that XLA can join the
            draw to it; else the block is put into memory before.
    """

    init: Callable[[], Carry]
    update: Callable[[Carry, Array, Array], Carry]
    reads_once: bool = False


def block_size_for(num_samples: int) -> int:
    """The block size that belongs to a sample size: equal blocks of at most MAX_BLOCK.

    A multiple of 128, since XLA's CPU loops are six times slower at odd lengths. It is part of the
    statistical settings (it decides which key draws which sample), so it follows from
    `num_samples` alone and never from the machine.
    """
    num_blocks = -(-num_samples // MAX_BLOCK)
    return -(-num_samples // (num_blocks * _LANES)) * _LANES


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Blocks:
    """A sample size as a stream is cut: only the size of a block is part of a compiled program.

    Attributes:
        size: Of each block.
        number: int32, of blocks.
        in_last: Samples of the last block that count.
        start: int32, the first block that is drawn now.
        stop: int32, after the last block that is drawn now; None for all.
    """

    size: int = field(metadata={"static": True})
    number: Any
    in_last: Any
    start: Any = np.int32(0)  # noqa: RUF009 (unchanging)
    stop: Any = None


def blocks_of(num_samples: int | Blocks, size: int | None = None) -> Blocks:
    """The blocks of a sample size. As an argument of a program they stand for all of their size.

    All numbers of samples with the same block size then share it. Inside of one, those of a number
    are constants.

    Args:
        num_samples: How many samples, or their blocks, which are returned as they are.
        size: Of a block; that of `block_size_for` if None.

    Raises:
        ValueError: There are more blocks than an int32 can number.
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
) -> Carry:
    """Streams `num_samples` samples through a reducer in one scan.

    Args:
        draw: int32 block number -> block [block_size_for(num_samples), ...].
        reducer: The statistic.
        num_samples: How many samples count, or their blocks.
        first: Block 0, where the caller has drawn it already (to look at it before it could set
            the reducer up); the scan then starts at block 1.

    Returns:
        The final carry.
    """
    blocks = blocks_of(num_samples)

    def step(block: Array, carry: Carry) -> Carry:
        return update(carry, block_of(block), block)

    def update(carry: Carry, samples: Array, block: Array | int) -> Carry:
        size = jnp.where(block == blocks.number - 1, blocks.in_last, blocks.size)
        valid = jnp.arange(blocks.size, dtype=jnp.int32) < size
        return reducer.update(carry, samples, valid)

    block_of = draw if reducer.reads_once else drawn_once(draw)
    carry = reducer.init()
    start, stop = blocks.start, blocks.number if blocks.stop is None else blocks.stop
    if first is not None:
        carry, start = update(carry, first, 0), np.int32(1)
    with jax.named_scope("sample_blocks"):
        # The block number is counted, not scanned over: a list of them would grow with the samples.
        return jax.lax.fori_loop(start, stop, step, carry)


def in_calls(
    launch: Callable[[Blocks], WideCount], blocks: Blocks, num_streams: int
) -> Iterator[tuple[NDArray[np.int64], int]]:
    """Counts streams in compiled calls of half a second or so; interrupts are heard between them.

    Args:
        launch: Blocks -> counts of those from their start to their stop.
        blocks: Of each stream.
        num_streams: That are counted side by side.

    Yields:
        int64 counts of a part, and how many samples of each stream are in it. Their sums are the
        same for every cut, for counts are integers.
    """
    number, in_last = int(blocks.number), int(blocks.in_last)
    start, size = 0, max(_FIRST_DRAWS // (blocks.size * num_streams), 1)
    while start < number:
        stop = min(start + size, number)
        began = time.perf_counter()
        # A part has the form of another, so that all of them are one program.
        part = replace(blocks, start=np.int32(start), stop=np.int32(stop))
        with signals_wait():
            counts = jax.device_get(launch(part)).as_int()
        # The first call compiles, so that its time says nothing.
        if start:
            seconds = time.perf_counter() - began
            size = max(int(size * min(_CALL_SECONDS / seconds, 8.0)), 1)
        yield counts, (stop - start) * blocks.size - (blocks.size - in_last) * (stop == number)
        start = stop


def fetched(started: Any) -> Any:
    """`jax.device_get`, during which signals are heard; what computes is not stopped by them."""
    ready = threading.Event()

    def wait() -> None:
        # What went wrong is raised by device_get, to the caller.
        with suppress(Exception):
            jax.block_until_ready(started)
        ready.set()

    # jax waits deaf to signals. Another thread does it, for asking again and again costs more.
    threading.Thread(target=wait).start()
    ready.wait()
    return jax.device_get(started)


def drawn_once(draw: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A draw whose block is in memory before anything reads it.

    XLA joins a draw to each of its readers, whole or in part: a sign that two of them need is two
    Threefry calls a sample. A barrier keeps it from that on GPU. On CPU barriers are dropped before
    XLA joins, but a branch stays where the condition was behind a barrier when it was simplified.
    """

    def columns(block: Array) -> list[Array]:
        # Readers take vectors axis by axis, and XLA is slow at writing interleaved ones.
        samples = draw(block)
        return [samples] if samples.ndim == 1 else list(jnp.moveaxis(samples, 1, 0))

    def nothing(block: Array) -> list[Array]:
        return [jnp.zeros(leaf.shape, leaf.dtype) for leaf in jax.eval_shape(columns, block)]

    def once(block: Array) -> Array:
        drawn = jax.lax.platform_dependent(
            block,
            cpu=lambda b: jax.lax.cond(
                jax.lax.optimization_barrier(jnp.bool_(True)), columns, nothing, b
            ),
            default=lambda b: jax.lax.optimization_barrier(columns(b)),
        )
        return drawn[0] if jax.eval_shape(draw, block).ndim == 1 else jnp.stack(drawn, axis=1)

    return once


def stored_blocks(samples: Array) -> Callable[[Array], Array]:
    """A `draw` for `reduce_samples` that reads stored samples [n, ...] block by block."""
    size = block_size_for(samples.shape[0])
    whole = samples.shape[0] // size
    rest = samples[whole * size :]
    # Only what is left over is padded: padding all samples would copy them.
    last = jnp.pad(rest, [(0, size - len(rest)), *[(0, 0)] * (samples.ndim - 1)])
    if whole == 0:
        return lambda block: last
    return lambda block: jnp.where(
        block < whole, jax.lax.dynamic_slice_in_dim(samples, block * size, size), last
    )


def category_counts(num_categories: int, offset: int = 0) -> Reducer:
    """Counts of the integers offset .. offset + num_categories - 1; others are left out.

    The carry is a WideCount of shape [num_categories + 1]; its last entry takes what does not count
    (the others, and the padding of the last block) and means nothing.

    References:
        Askin, Kutta, Dette (2022), Algorithm 2.
    """

    def init() -> WideCount:
        return WideCount.zeros((num_categories + 1,))

    def update(counts: WideCount, samples: Array, valid: Array):
        index = samples - offset
        inside = valid & (index >= 0) & (index < num_categories)
        bins = jnp.where(inside, index, num_categories)
        block = jnp.zeros(num_categories + 1, jnp.int32)
        return counts.add(block.at[bins].add(1, mode="promise_in_bounds"))

    return Reducer(init, update, reads_once=True)
