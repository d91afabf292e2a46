"""Computes runs of an entry: one compiled program a shape of entry, its runs spread over devices.

A run's draws follow from (key, entry, run number) alone, so neither the devices nor the block that
a run is computed in can change it.
"""

from collections.abc import Callable, Iterable
from typing import Any

import jax.numpy as jnp
import numpy as np

from dpjax.core.errors import Status
from dpjax.core.execution import Execution, default_execution
from dpjax.methods import Events, Local
from dpjax.sweeps._devices import Columns
from dpjax.sweeps._entry import Entry
from dpjax.sweeps._events import start_events
from dpjax.sweeps._histogram import start_histogram
from dpjax.sweeps._local import start_local
from dpjax.sweeps._methods import HistogramEstimate, LocalSearch

_STARTS: dict[type, Callable[..., Callable[[], Columns]]] = {
    Events: start_events,
    Local: start_local,
    LocalSearch: start_local,
    HistogramEstimate: start_histogram,
}
"""Method -> (entry, runs, key, execution, devices) -> a function that waits for the columns
`estimate`, `pair`, and those in which it has more to say than `compute`."""


def compute(
    entry: Entry,
    runs: Iterable[int],
    key: Any,
    *,
    execution: Execution | None = None,
    devices: tuple[Any, ...] | None = None,
) -> Callable[[], Columns]:
    """Starts runs of an entry on the devices.

    Args:
        entry: What is run.
        runs: Run numbers.
        key: Integer seed or typed key; the entry's identity is folded into it.
        execution: Layout on the machine; never changes a row.
        devices: Over which the runs are spread; jax's default device if None.

    Returns:
        A function that waits for the runs and returns their columns: `run`, `lower_bound` (NaN for
        methods without one), `estimate` (NaN where it is infinite or unknown), `pair`, `output`
        (list of numbers, or None), `exact` and `status`.

    Raises:
        ValueError: The mechanism does not fit the method.
    """
    numbers = np.asarray(list(runs), np.int32)
    if devices is not None:
        devices = devices[: len(numbers)]
    # Every device has the same number of runs; those beyond the last are dropped again.
    missing = -len(numbers) % len(devices or (None,))
    padded = np.pad(numbers, (0, missing), mode="edge")
    finish = _STARTS[type(entry.method)](
        entry, jnp.asarray(padded), entry.key(key), execution or default_execution(), devices
    )

    def columns() -> Columns:
        whole = {
            "run": padded,
            "lower_bound": np.full(len(padded), np.nan),
            "output": [None] * len(padded),
            "exact": np.zeros(len(padded), bool),
            "status": np.full(len(padded), Status.OK.name),
            **finish(),
        }
        return {name: values[: len(numbers)] for name, values in whole.items()}

    return columns
