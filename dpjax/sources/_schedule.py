"""Batches drawn in order, in this process or by several workers at once."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import TypeVar

import numpy as np

Result = TypeVar("Result")


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
        # The owner of the workers ends these tasks. A process pool that ends while its tasks are
        # canceled fails in a thread of its own, with a traceback.
        waiting.clear()
        raise
    finally:
        for rest in waiting:
            rest.cancel()
