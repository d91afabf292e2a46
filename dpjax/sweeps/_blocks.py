"""Computation of a block of runs; the result is the bytes of a Parquet file."""

import io
import json
import time
from dataclasses import replace
from functools import lru_cache

import jax
import numpy as np

from dpjax.core.execution import Execution
from dpjax.core.types import JsonObject
from dpjax.results.provenance import device
from dpjax.sweeps._binding import PLACE, binding
from dpjax.sweeps._compute import Columns, compute
from dpjax.sweeps._entry import Entry
from dpjax.sweeps._spec import Block


def on_all_devices(execution: Execution | None) -> Execution:
    """Return the execution options; if they name no device, add all devices of this process."""
    layout = execution or Execution()
    return layout if layout.devices else replace(layout, devices=tuple(jax.local_devices()))


def block_bytes(
    block: Block,
    size: int,
    key: int,
    *,
    execution: Execution | None = None,
    states: list[bytes] | None = None,
) -> bytes:
    """Compute a block of an entry's runs, and return the bytes of the block's Parquet file.

    Args:
        block: Block to compute.
        size: Number of runs that the compiled program computes, at least the number of runs of the
            block. Surplus runs are dropped. All blocks of an entry should have the same size, so
            that the program is compiled only once.
        key: Integer seed of the sweep.
        execution: Options for the speed and memory of the computation.
        states: States of the same runs after fewer draws, from which the runs continue, or None to
            start each run with its first draw.
    """
    start = time.perf_counter()
    entry, first, stop, more = block
    if not entry.source.side_by_side or entry.goes_on:
        # The runs are computed one by one, so no compiled program depends on the size.
        size = stop - first
    runs = range(first, first + size)
    whole = compute(entry, runs, key, execution=execution, more=more, states=states)
    columns = {name: values[: stop - first] for name, values in whole.items()}
    seconds = (time.perf_counter() - start) / size
    return _encode(entry, columns, seconds, binding(block, key))


def compute_block(
    entry: str,
    first: int,
    stop: int,
    size: int,
    key: int,
    execution: Execution | None,
    more: int = 0,
    states: list[bytes] | None = None,
) -> bytes:
    """Compute a block on all devices of an executor's worker; `entry` is JSON text."""
    block = Block(_entry_from_json(entry), first, stop, more)
    return block_bytes(block, size, key, execution=on_all_devices(execution), states=states)


@lru_cache(maxsize=256)
def _entry_from_json(text: str) -> Entry:
    content = json.loads(text)
    # The import is permitted because the process that runs the sweep has checked the module.
    return Entry.from_dict(content, [content["mechanism"].partition(":")[0]])


def _encode(entry: Entry, columns: Columns, seconds: float, said: JsonObject) -> bytes:
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
            "verdict": pa.array(columns["verdict"], pa.string()),
            "seconds": pa.array(np.full(num_runs, seconds), pa.float64()),
            "processor": pa.array([said["processor"]] * num_runs, pa.string()),
            "state": pa.array(columns["state"], pa.binary()),
        },
        metadata={PLACE: json.dumps(said), "device": device()},
    )
    content = io.BytesIO()
    pq.write_table(table, content)
    return content.getvalue()


def _numbers(values: np.ndarray) -> object:
    """Convert numbers to an Arrow array, with null for NaN."""
    import pyarrow as pa

    return pa.array(np.asarray(values, np.float64), pa.float64(), from_pandas=True)
