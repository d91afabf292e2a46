"""Batches drawn in order, in this process or by several workers at once."""

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from typing import TypeVar

import numpy as np

Result = TypeVar("Result")


def seed_of_batch(words: tuple[int, ...], batch: int) -> int:
    """A seed below 2^63 for one batch: the same for any number of workers.

    Args:
        words: Of the audit, the pair, the side and the stage.
        batch: Its number.

    Returns:
        A seed for `numpy.random.default_rng` or any other generator.
    """
    state = np.random.SeedSequence((*words, batch)).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(1))


def in_order(
    call: Callable[..., Result], tasks: Iterator[tuple], executor: Executor | None, ahead: int
) -> Iterator[Result]:
    """What `call` returns for each task, in the order of the tasks.

    Args:
        call: For one task; picklable where the executor is one of processes.
        tasks: Its arguments.
        executor: That runs them, or None for this thread.
        ahead: How many tasks may be under way, so that memory holds no more results than that.
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
        # Whoever stops the workers ends these. A pool of processes that is ended while tasks of it
        # are cancelled fails in a thread of its own, with a traceback.
        waiting.clear()
        raise
    finally:
        for rest in waiting:
            rest.cancel()
