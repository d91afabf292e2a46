"""Batches of outputs, in an order that does not depend on the number of worker processes."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, Future
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Result = TypeVar("Result")

Raw = np.ndarray | Sequence[object]
"""A batch of raw outputs, in the form in which a mechanism returns them."""

Seeds = int | Iterable[int]
"""One seed for a whole batch, or one seed for each output of a batch."""


def _never() -> bool:
    return False


class Span(NamedTuple):
    """A range of outputs to draw from one database.

    Attributes:
        outputs: Indices of the outputs.
        words: Integers from which the seeds of all batches are derived.
        saw: Function that reports progress. The argument of each call is the number of outputs
            drawn since the last call.
        cut: Maximum number of outputs per batch if each output has its own seed, or a function
            that returns the maximum for the next batch, or None for no maximum.
        done: Number of outputs, from the start of the range, that are already known and need not be
            drawn again. The attribute `done` must be 0 unless each output has its own seed.
        over: Function that returns whether the time for the draws is over. No batch is started
            after that, and the batches that have been started are still yielded.
    """

    outputs: range
    words: tuple[int, ...]
    saw: Callable[[int], None]
    cut: int | Callable[[], int] | None = None
    done: int = 0
    over: Callable[[], bool] = _never

    def most(self, otherwise: int) -> int:
        """Return the maximum size of the next batch, or `otherwise` if there is no maximum."""
        return (self.cut() if callable(self.cut) else self.cut) or otherwise


Draw = Callable[[object, Span], Iterator[Raw]]
"""Function (database, span) -> iterator over batches of raw outputs."""

Restarted = tuple[str, list[list[Raw]]]
"""Tuple (noun, outputs) for two new runs of a mechanism. In messages, the plural noun, such as
"processes", describes the runs. The raw outputs are lists [2 runs][2 sides].
"""


def seed_of_batch(words: tuple[int, ...], batch: int) -> int:
    """Return a seed below 2^63 for one batch; the seed does not depend on the number of workers.

    Args:
        words: Integers that identify the audit, the pair, the side and the stage.
        batch: Index of the batch.

    Returns:
        The seed, for `numpy.random.default_rng` or any other generator.
    """
    state = np.random.SeedSequence((*words, batch)).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


def in_order(
    call: Callable[..., Result],
    tasks: Iterator[tuple],
    executor: Executor | None,
    ahead: int,
    over: Callable[[], bool] = _never,
) -> Iterator[Result]:
    """Call `call` for each task, and yield the results in the order of the tasks.

    Args:
        call: Function to call for each task. The function must be picklable if the executor uses
            processes.
        tasks: Arguments, one tuple per call.
        executor: Executor that runs the calls, or None to run the calls in this thread.
        ahead: Maximum number of tasks that are submitted at a time. A small `ahead` limits the
            memory for results.
        over: Function that returns whether to stop. Tasks that have not been started are then
            canceled, but the results of all started tasks are still yielded: a worker cannot do
            anything else before its call returns.
    """
    if executor is None:
        for task in tasks:
            if over():
                return
            yield call(*task)
        return
    waiting: deque[Future] = deque()
    try:
        for task in tasks:
            if over():
                waiting = deque(future for future in waiting if not future.cancel())
                break
            waiting.append(executor.submit(call, *task))
            if len(waiting) >= ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except KeyboardInterrupt:
        # Do not cancel the waiting tasks, since the owner of the workers terminates the workers. If
        # a process pool is terminated while its tasks are being canceled, a thread of the pool
        # prints a traceback.
        waiting.clear()
        raise
    finally:
        for rest in waiting:
            rest.cancel()


def seeds_of_calls(
    span: Span, batch_size: int, batched: bool
) -> Iterator[tuple[int, int | NDArray[np.int64]]]:
    """Divide outputs into batches, and yield the size and the seeds of each batch.

    Args:
        span: Outputs to draw. A span that does not begin at a multiple of `batch_size` uses a
            separate sequence of seeds.
        batch_size: Number of outputs per batch.
        batched: Whether each batch is drawn by one call with one seed. If `batched` is False, each
            output has its own seed, and the seeds do not depend on `span.cut`.

    Yields:
        Tuples (number of outputs, seeds). If `batched` is True, `seeds` is a single seed below
        2^63. If `batched` is False, `seeds` is an int64 array with one seed per output.
    """
    outputs, words = span.outputs, span.words
    if outputs.start % batch_size:
        words, outputs = (*words, outputs.start), range(len(outputs))
    for first in range(outputs.start, outputs.stop, batch_size):
        size = min(batch_size, outputs.stop - first)
        seed = seed_of_batch(words, first // batch_size)
        if batched:
            yield size, seed
            continue
        seeds = np.random.SeedSequence(seed).generate_state(size, np.uint64) >> np.uint64(1)
        start = max(span.done - (first - outputs.start), 0)
        while start < size:
            part = seeds[start : start + span.most(size)].astype(np.int64)
            start += len(part)
            yield len(part), part
