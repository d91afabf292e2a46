"""Run compiled calls, or NumPy code on rows of arrays, in parallel threads.

On CPU, jax runs the calls of one thread in sequence. NumPy releases the interpreter's lock while it
computes, so threads use several cores.
"""

import contextvars
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from typing import TypeVar

import jax
import numpy as np

Item = TypeVar("Item")
Result = TypeVar("Result")

ROWS = 2**12
"""Number of rows per call in `over_rows`. Arrays of this many rows fit in a processor's cache."""

_FEWEST_CALLS, _PARTS = 16, 16
"""Fewer than _FEWEST_CALLS calls for slices of rows run in one thread. More calls are divided into
at most _PARTS parts, each of which runs in one thread.
"""


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


def over_rows(call: Callable[[slice], object], num_rows: int) -> None:
    """Call a function for consecutive slices of `ROWS` rows, in parallel on all cores.

    NumPy's error handling (`numpy.errstate`) is the same in all threads.

    Args:
        call: Function of a slice. It must not change anything that another call uses.
        num_rows: Number of rows. The last slice has fewer rows if this is not a multiple of `ROWS`.
    """

    def calls(part: list[slice]) -> None:
        for rows in part:
            call(rows)

    _in_parts(calls, num_rows)


def total(call: Callable[[slice], np.ndarray], num_rows: int) -> np.ndarray:
    """Return the sum of a function over the slices of `over_rows`.

    The order of the additions, and therefore the sum, does not depend on the number of cores. At
    most about 16 results of `call` are in memory at once.

    Args:
        call: See `over_rows`.
        num_rows: Number of rows, at least 1.
    """
    return reduce(np.add, _in_parts(lambda part: reduce(np.add, map(call, part)), num_rows))


def _in_parts(call: Callable[[list[slice]], Result], num_rows: int) -> list[Result]:
    """Call a function for each part of the slices of rows, and return the results in order."""
    slices = [slice(start, min(start + ROWS, num_rows)) for start in range(0, num_rows, ROWS)]
    size = -(-len(slices) // _PARTS)
    parts = [slices[start : start + size] for start in range(0, len(slices), size or 1)]
    workers = min(cores(), len(parts))
    if workers < 2 or len(slices) < _FEWEST_CALLS:
        return [call(part) for part in parts]
    contexts = [contextvars.copy_context() for _ in parts]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(lambda context, part: context.run(call, part), contexts, parts))


def _settings() -> dict[str, object]:
    """Return a map from the names of jax's settings to their values in the current thread."""
    return {name: getattr(jax.config, name, None) for name in jax.config.values}
