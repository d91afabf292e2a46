"""Run compiled calls in parallel threads; on CPU, jax runs one thread's calls in sequence."""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import jax

Item = TypeVar("Item")
Result = TypeVar("Result")


def cores() -> int:
    """Return the number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def side_by_side(call: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Run a compiled call for every item, in parallel on all cores.

    The caller must call the compiled program once beforehand. If several threads call a new program
    at the same time, each thread compiles the program.
    """

    def ready(item: Item) -> Result:
        return jax.block_until_ready(call(item))

    workers = min(cores(), len(items)) if jax.default_backend() == "cpu" else 1
    if workers > 1:
        with ThreadPoolExecutor(workers) as pool:
            # Contexts such as `jax.enable_x64()` hold only in the thread that entered them.
            if pool.submit(_settings).result() == _settings():
                return list(pool.map(ready, items))
    return jax.block_until_ready([call(item) for item in items])


def _settings() -> dict[str, object]:
    """Return a map from the names of jax's settings to their values in the current thread."""
    return {name: getattr(jax.config, name, None) for name in jax.config.values}
