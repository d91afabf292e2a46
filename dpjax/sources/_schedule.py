"""Batches drawn in order, in this process or by several workers simultaneously."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Result = TypeVar("Result")

Raw = np.ndarray | Sequence[object]
"""Batch of raw outputs."""

Seeds = int | Iterable[int]
"""Seed of a batch, or the seed of each of its outputs."""


class Span(NamedTuple):
    """Outputs to draw at one database.

    Attributes:
        outputs: Range of the numbers of the outputs.
        words: Seed words.
        saw: Function to call with the number of outputs of each batch.
        cut: Largest number of outputs per batch if each output has its own seed, or None.
        done: Number of first outputs that are known and skipped, if each output has its own seed.
    """

    outputs: range
    words: tuple[int, ...]
    saw: Callable[[int], None]
    cut: int | None = None
    done: int = 0


Draw = Callable[[object, Span], Iterator[Raw]]
"""Function of a database and a span that yields batches of raw outputs."""

Restarted = tuple[str, list[list[Raw]]]
"""Plural noun that names the runs in messages, and raw outputs [2 runs][2 sides]."""


def seed_of_batch(words: tuple[int, ...], batch: int) -> int:
    """Return a seed below 2^63 for one batch, for any number of workers.

    Args:
        words: Words of the audit, the pair, the side and the stage.
        batch: Number of the batch.

    Returns:
        Seed for `numpy.random.default_rng` or any other generator.
    """
    state = np.random.SeedSequence((*words, batch)).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


def in_order(
    call: Callable[..., Result], tasks: Iterator[tuple], executor: Executor | None, ahead: int
) -> Iterator[Result]:
    """Yield the result of `call` for each task, in the order of the tasks.

    Args:
        call: Function of one task; picklable if the executor uses processes.
        tasks: Arguments of the calls.
        executor: Executor of the calls, or None for this thread.
        ahead: Largest number of tasks under way, which bounds the results in memory.
    """
    if executor is None:
        for task in tasks:
            yield call(*task)
        return
    waiting: deque[Future] = deque()
    try:
        for task in tasks:
            waiting.append(executor.submit(call, *task))
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except KeyboardInterrupt:
        # Leave these tasks to the owner of the workers: if a process pool is ended while its tasks
        # are being canceled, one of its threads fails and prints a traceback.
        waiting.clear()
        raise
    finally:
        for rest in waiting:
            rest.cancel()


def seeds_of_calls(
    span: Span, batch_size: int, batched: bool
) -> Iterator[tuple[int, int | NDArray[np.int64]]]:
    """Divide outputs into batches, and yield the seeds of each.

    Args:
        span: Outputs to draw. A span that does not begin at a multiple of `batch_size` has its own
            sequence of seeds, since the seed of a batch draws the batch as a whole.
        batch_size: Number of outputs that share the seed of a batch.
        batched: Whether a batch is one call with one seed; otherwise each output has a seed, which
            does not depend on the cut.

    Yields:
        Pairs (outputs, seed), or (outputs, int64 array of their seeds), with seeds below 2^63.
    """
    outputs, words, cut = span.outputs, span.words, span.cut
    if outputs.start % batch_size:
        words, outputs = (*words, outputs.start), range(len(outputs))
    for first in range(outputs.start, outputs.stop, batch_size):
        size = min(batch_size, outputs.stop - first)
        seed = seed_of_batch(words, first // batch_size)
        if batched:
            yield size, seed
            continue
        seeds = np.random.SeedSequence(seed).generate_state(size, np.uint64) >> np.uint64(1)
        left_out = max(span.done - (first - outputs.start), 0)
        for start in range(left_out, size, cut or size):
            part = seeds[start : start + (cut or size)].astype(np.int64)
            yield len(part), part
