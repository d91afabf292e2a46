"""Run compiled calls, or NumPy code on rows of arrays, in parallel threads.

On CPU, jax runs the calls of one thread in sequence. NumPy releases the interpreter's lock while it
computes, so threads use several cores.
"""

import contextvars
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import jax

Item = TypeVar("Item")
Result = TypeVar("Result")

ROWS = 2**12
"""Number of rows per call in `over_rows`. Arrays of this many rows fit in a processor's cache."""

_FEWEST_CALLS, _PARTS = 16, 8
"""`over_rows` uses one thread for fewer than _FEWEST_CALLS calls. With more calls, it gives each
core _PARTS parts of the calls, so that the cores finish at about the same time.
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


def slices_of(num_rows: int) -> list[slice]:
    """Return consecutive slices of `ROWS` rows; the last slice may have fewer rows."""
    return [slice(start, min(start + ROWS, num_rows)) for start in range(0, num_rows, ROWS)]


def over_rows(call: Callable[[slice], Result], num_rows: int) -> list[Result]:
    """Call a function for each slice of `slices_of`, in parallel on all cores.

    The slices, and therefore sums of the results in their order, do not depend on the number of
    cores. NumPy's error handling (`numpy.errstate`) is the same in all threads.

    Args:
        call: Function of a slice. It must not change anything that another call uses.
        num_rows: Number of rows.

    Returns:
        The results, in the order of the slices.
    """
    slices = slices_of(num_rows)
    workers = cores()
    if workers == 1 or len(slices) < _FEWEST_CALLS:
        return [call(rows) for rows in slices]
    size = -(-len(slices) // (_PARTS * workers))
    parts = [slices[start : start + size] for start in range(0, len(slices), size)]

    def calls(context: contextvars.Context, part: list[slice]) -> list[Result]:
        return context.run(lambda: [call(rows) for rows in part])

    contexts = [contextvars.copy_context() for _ in parts]
    with ThreadPoolExecutor(workers) as pool:
        return [result for part in pool.map(calls, contexts, parts) for result in part]


def _settings() -> dict[str, object]:
    """Return a map from the names of jax's settings to their values in the current thread."""
    return {name: getattr(jax.config, name, None) for name in jax.config.values}
