"""A finished block as the bytes of a Parquet file: computed anywhere, stored as it is."""

import io
import json
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from dpjax.core.execution import Execution
from dpjax.results.provenance import device
from dpjax.sweeps._binding import PLACE, binding
from dpjax.sweeps._compute import compute
from dpjax.sweeps._devices import Columns
from dpjax.sweeps._entry import Entry

UNREPEATABLE = ("seconds", "processor")
"""The columns that differ from one computation of a run to the next."""


def start_block(
    entry: Entry,
    first: int,
    stop: int,
    size: int,
    key: int,
    *,
    execution: Execution | None = None,
    devices: tuple[Any, ...] | None = None,
) -> Callable[[], bytes]:
    """Starts the runs first, ..., stop - 1 of an entry.

    Args:
        entry: What is run.
        first: First run.
        stop: After the last run.
        size: Runs a launch, at least stop - first, so that every block of an entry has one shape
            and compiles once; what is too many is dropped.
        key: Integer seed of the sweep.
        execution: Layout on the machine.
        devices: Over which the runs are spread.

    Returns:
        A function that waits for the runs and returns the file's bytes.
    """
    start = time.perf_counter()
    finish = compute(entry, range(first, first + size), key, execution=execution, devices=devices)

    def encode() -> bytes:
        columns = {name: values[: stop - first] for name, values in finish().items()}
        seconds = (time.perf_counter() - start) / size
        return _encode(entry, columns, seconds, binding(entry, first, stop, key))

    return encode


def compute_block(
    entry: str, first: int, stop: int, size: int, key: int, execution: Execution | None
) -> bytes:
    """What an executor's worker runs: a block of an entry, as JSON, on the worker's devices."""
    import jax

    devices = tuple(jax.local_devices())
    found = _entry_from_json(entry)
    return start_block(found, first, stop, size, key, execution=execution, devices=devices)()


@lru_cache(maxsize=256)
def _entry_from_json(text: str) -> Entry:
    content = json.loads(text)
    # Of the process that runs the sweep, which has looked at it and allowed it.
    return Entry.from_dict(content, [content["mechanism"].partition(":")[0]])


def _encode(entry: Entry, columns: Columns, seconds: float, said: dict[str, Any]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    num_runs = len(columns["run"])
    table = pa.table(
        {
            "entry": pa.array([entry.id] * num_runs, pa.string()),
            "run": pa.array(columns["run"], pa.int32()),
            "lower_bound": _numbers(columns["lower_bound"]),
            "estimate": _numbers(columns["estimate"]),
            "pair": pa.array(np.asarray(columns["pair"], np.int32)),
            "output": pa.array(columns["output"], pa.list_(pa.float64())),
            "exact": pa.array(columns["exact"], pa.bool_()),
            "status": pa.array([str(status) for status in columns["status"]], pa.string()),
            "seconds": pa.array(np.full(num_runs, seconds), pa.float64()),
            "processor": pa.array([said["processor"]] * num_runs, pa.string()),
        },
        metadata={PLACE: json.dumps(said), "device": device()},
    )
    content = io.BytesIO()
    pq.write_table(table, content)
    return content.getvalue()


def _numbers(values: np.ndarray) -> Any:
    """NaN becomes null: a bound or an estimate that there is not."""
    import pyarrow as pa

    return pa.array(np.asarray(values, np.float64), pa.float64(), from_pandas=True)
