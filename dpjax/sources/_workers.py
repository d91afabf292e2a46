"""Worker processes, which start with interrupts (ctrl-c) blocked, and may be kept for later."""

import copyreg
import io
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from typing import NamedTuple

from dpjax.core.arrays import to_numpy
from dpjax.core.wording import BadValue
from dpjax.sources._process import end_with_parent


class WorkerLost(BadValue):
    """The error for a worker process that ended without an answer."""


def pickled_result(function: Callable[..., object], *arguments: object) -> bytes:
    """Call a function in a worker, and return its pickled result.

    A pool would send each PyTorch tensor as a file, although a process may open only a few files,
    and could not send tensors that are results of differentiable functions. In the result, arrays
    take the place of tensors, because a tensor that is a part of another one is pickled as a whole.
    """
    result, content = function(*arguments), io.BytesIO()
    pickler = pickle.Pickler(content)
    if (torch := sys.modules.get("torch")) is not None:
        tensors = dict.fromkeys((torch.Tensor, torch.nn.Parameter), _reduced)
        pickler.dispatch_table = {**copyreg.dispatch_table, **tensors}
    pickler.dump(result)
    return content.getvalue()


def _reduced(tensor: object) -> str | tuple:
    """Return how pickle can create the array that is equal to a tensor."""
    return to_numpy(tensor).__reduce__()


class _Worker(SpawnProcess):
    """A process that starts with interrupts blocked.

    A terminal sends an interrupt to all processes of a command. The worker inherits the blocked
    interrupts from this process, so no traceback is printed if an interrupt arrives while the
    worker imports modules.
    """

    def start(self) -> None:
        """Start the process; see `multiprocessing.Process`."""
        if not hasattr(signal, "pthread_sigmask"):
            super().start()
            return
        # Start the resource tracker first, because its start unblocks interrupts.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            super().start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


class Workers(SpawnContext):
    """Multiprocessing context in which each worker is a fresh interpreter.

    If workers were forked, all of them would start with the same state of NumPy's global generator.
    """

    Process = _Worker


class _Kept(NamedTuple):
    """Pools to keep, by their number of workers, and the stack that ends them."""

    pools: dict[int, "futures.ProcessPoolExecutor"]
    stack: ExitStack


_KEPT: ContextVar[_Kept | None] = ContextVar("kept", default=None)


@contextmanager
def kept_workers() -> Iterator[None]:
    """Within the context, keep worker processes for later draws, of any function.

    A worker takes a second or more to start, because it imports dpjax. Workers are started when
    they are first needed, and end when the outermost context ends.
    """
    if _KEPT.get() is not None:
        yield
        return
    with ExitStack() as stack:
        token = _KEPT.set(_Kept({}, stack))
        try:
            yield
        finally:
            _KEPT.reset(token)


@contextmanager
def worker_pool(workers: int) -> Iterator[futures.Executor]:
    """Return a context manager that provides worker processes, new ones or kept ones.

    The processes have started, so their start is not a part of the time of the first calls. If the
    context ends with an exception, the workers are killed.
    """
    kept = _KEPT.get()
    if kept is None:
        with new_pool(workers) as pool:
            _wait_for_start(pool, workers)
            yield pool
        return
    if workers not in kept.pools:
        kept.pools[workers] = kept.stack.enter_context(new_pool(workers))
        _wait_for_start(kept.pools[workers], workers)
    pool = kept.pools[workers]
    try:
        yield pool
    except BaseException:
        kept.pools.pop(workers, None)
        _kill(pool)
        raise


@contextmanager
def new_pool(workers: int) -> Iterator["futures.ProcessPoolExecutor"]:
    """Return a context manager that provides new worker processes.

    If the context ends with an exception, the workers are killed.
    """
    # The process pool is imported only here, because importing it takes a tenth of dpjax's import
    # time.
    with futures.ProcessPoolExecutor(
        workers, mp_context=Workers(), initializer=end_with_parent
    ) as pool:
        try:
            yield pool
        except BaseException:
            _kill(pool)
            raise


def _wait_for_start(pool: futures.Executor, workers: int) -> None:
    """Wait until the workers have imported dpjax, so that they can be called."""
    # If a worker cannot start, the first call raises the error.
    with suppress(futures.BrokenExecutor):
        futures.wait([pool.submit(os.getpid) for _ in range(workers)])


def _kill(pool: "futures.ProcessPoolExecutor") -> None:
    """Kill the workers, because their calls may never return, and the pool would wait for them."""
    for process in list((pool._processes or {}).values()):
        process.kill()
