"""Computation of the blocks that a store lacks: in this process, on an executor, or in shards."""

import json
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass

import jax

from dpjax.core.execution import Execution
from dpjax.core.wording import BadValue, amount
from dpjax.sweeps._blocks import block_bytes, compute_block, on_all_devices
from dpjax.sweeps._spec import Block
from dpjax.sweeps._store import Store

_AHEAD = {"cpu": 0}
"""Map from each platform to the number of additional blocks to start before the current block is
stored.

On a CPU, no additional block is started because each block uses all cores. On all other platforms,
the next block is started before the current block is stored.
"""

_SUBMITTED = 256
"""Maximum number of unfinished blocks submitted to an executor at a time."""


@dataclass(frozen=True)
class Progress:
    """Progress of a sweep, reported after every block.

    Attributes:
        block: Block that was just stored, or None at the start.
        num_runs: Number of runs stored so far, by any call or process.
        num_computed: Number of runs computed by the current call.
        total_runs: Total number of runs in this shard of the sweep, stored or not.
    """

    block: Block | None
    num_runs: int
    num_computed: int
    total_runs: int


def run_sweep(
    store: Store,
    *,
    executor: Executor | None = None,
    shard: tuple[int, int] | None = None,
    execution: Execution | None = None,
    progress: Callable[[Progress], None] = lambda progress: None,
    report: Callable[[str], None] = lambda sentence: None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Progress:
    """Compute and store the missing blocks of a sweep.

    The rows do not depend on the executor, the shard, the device, the order of the blocks, or the
    number of interruptions.

    Args:
        store: Store of the finished blocks.
        executor: Any `concurrent.futures.Executor`, such as one from a Dask client's
            `get_executor()` method, or None to compute the blocks in this process. The executor's
            workers compute blocks on their own devices and send them to this process, which stores
            all blocks.
        shard: (i, k) with 0 <= i < k, to compute only blocks i, i + k, i + 2k, .... If `shard` is
            None, all blocks are computed, unless jax runs in multiple processes
            (`jax.distributed`). If it does, k is the number of processes, and i is the index of
            this process.
        execution: Options for the speed and memory of the computation, including the devices that
            share the runs of a block (by default, all devices of this process). Execution options
            never change a row.
        progress: Function called at the start and after every block.
        report: Function called with a sentence about each problem in the store, such as a corrupt
            block.
        should_stop: Function called between blocks. Once the function returns True, no new block is
            started; blocks in progress are finished and stored.

    Returns:
        The progress of this shard of the sweep at the end of the call.

    Raises:
        ValueError: If `shard` is not (i, k) with 0 <= i < k.
        OSError: If a block cannot be stored; all earlier blocks remain stored.
        RuntimeError: If the executor fails; all finished blocks remain stored.
    """
    blocks = _share(list(store.spec.blocks()), shard)
    contents = store.contents()
    if contents.broken:
        report(
            f"{len(contents.broken)} stored blocks are truncated or corrupt (the first is "
            f"{contents.broken[0].name}); they are computed again."
        )
    for path, reason in contents.strange.items():
        if path not in contents.copies[1:]:
            report(f"{path} is not used and is left in place: {reason}.")
    if others := len(contents.copies[1:]):
        report(
            f"{amount(others, 'other file')} of runs that are stored twice "
            f"{'is' if others == 1 else 'are'} not used, either."
        )
    store.clear(contents)
    todo = [block for block in blocks if block.name not in contents.finished]
    total = sum(block.stop - block.first for block in blocks)
    left = sum(block.stop - block.first for block in todo)
    state = Progress(None, total - left, 0, total)
    progress(state)

    def done(block: Block, content: bytes) -> None:
        nonlocal state
        store.write(block, content)
        size = block.stop - block.first
        state = Progress(block, state.num_runs + size, state.num_computed + size, total)
        progress(state)

    # Entries that share a compiled program are computed consecutively, so that the program is
    # compiled only once.
    todo.sort(key=_shape)
    if executor is None:
        _run_here(store, todo, on_all_devices(execution), done, should_stop)
    elif execution is not None and execution.devices is not None:
        raise ValueError(
            "devices must be left out with an executor: its workers use their own devices."
        )
    else:
        _run_on(executor, store, todo, execution, done, should_stop)
    return state


def _share(blocks: list[Block], shard: tuple[int, int] | None) -> list[Block]:
    if shard is None:
        # If jax runs in a single process, the shard is (0, 1).
        shard = (jax.process_index(), jax.process_count())
    index, count = shard
    if not 0 <= index < count:
        raise BadValue(f"shard must be (i, k) with 0 <= i < k, but was {shard}.")
    return blocks[index::count]


def _shape(block: Block) -> str:
    content = block.entry.to_dict()
    traced = ("floor", "bandwidth", "region")
    static = {k: v for k, v in content["options"].items() if k not in traced}
    return json.dumps([content["mechanism"], content["method"], static], sort_keys=True)


def _size(block: Block, block_runs: int) -> int:
    """Return the number of runs in the compiled program that all blocks of an entry share."""
    return min(block_runs, block.entry.num_runs)


def _run_here(
    store: Store,
    todo: list[Block],
    execution: Execution,
    done: Callable[[Block, bytes], None],
    should_stop: Callable[[], bool],
) -> None:
    assert execution.devices
    spec, ahead = store.spec, _AHEAD.get(execution.devices[0].platform, 1)

    def compute(block: Block) -> bytes:
        size, states = _size(block, spec.block_runs), store.earlier_states(block)
        return block_bytes(block, size, spec.key, execution=execution, states=states)

    if not ahead:
        for block in todo:
            if should_stop():
                return
            done(block, compute(block))
        return
    # The next block is started before the current block is stored, so that the device is never
    # idle.
    with ThreadPoolExecutor(1 + ahead) as threads:
        begun: deque[tuple[Block, Future[bytes]]] = deque()
        for block in todo:
            if should_stop():
                break
            begun.append((block, threads.submit(compute, block)))
            if len(begun) > ahead:
                oldest, computed = begun.popleft()
                done(oldest, computed.result())
        for block, computed in begun:
            done(block, computed.result())


def _run_on(
    executor: Executor,
    store: Store,
    todo: list[Block],
    execution: Execution | None,
    done: Callable[[Block, bytes], None],
    should_stop: Callable[[], bool],
) -> None:
    spec = store.spec
    waiting = iter(todo)
    texts = {entry.id: json.dumps(entry.to_dict()) for entry in spec.entries}
    running: dict[Future, Block] = {}

    def submit() -> None:
        for block in waiting:
            size = _size(block, spec.block_runs)
            arguments = (texts[block.entry.id], block.first, block.stop, size, spec.key, execution)
            more = (block.more, store.earlier_states(block))
            running[executor.submit(compute_block, *arguments, *more)] = block
            if len(running) >= _SUBMITTED:
                break

    submit()
    try:
        while running:
            ready, _ = wait(running, timeout=0.5, return_when=FIRST_COMPLETED)
            for future in ready:
                block = running.pop(future)
                if not future.cancelled():
                    done(block, _result(future, block))
            if should_stop():
                # Blocks that have not started are cancelled; running blocks are awaited.
                waiting = iter(())
                for future in list(running):
                    if future.cancel():
                        del running[future]
            elif ready:
                submit()
    finally:
        for future in running:
            future.cancel()


def _result(future: Future, block: Block) -> bytes:
    try:
        return future.result()
    except (ValueError, TypeError):
        raise
    except Exception as error:
        raise RuntimeError(
            f"the block {block.name} failed on its worker ({type(error).__name__}: {error}); "
            "finished blocks are stored: run the same command again to continue."
        ) from error
