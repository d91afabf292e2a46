"""Runs of the histogram estimate at fixed sizes."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core.errors import Status
from dpjax.core.execution import Execution
from dpjax.core.numerics import WideCount
from dpjax.core.streaming import blocks_of, fetched
from dpjax.inference._levels import ldp_levels, renyi_levels
from dpjax.methods.histogram._estimate import all_pairs_of, count_outputs, output_interval_of
from dpjax.sweeps._devices import Columns, over_devices
from dpjax.sweeps._entry import Entry


def start_histogram(
    entry: Entry, runs: Array, key: Array, execution: Execution, devices: Any
) -> Callable[[], Columns]:
    """Starts runs of `HistogramEstimate`, as `compute` does; what it returns waits for them."""
    method = entry.method
    interval = output_interval_of(entry.mechanism, method, None)
    started = over_devices(
        _count_outputs,
        (entry.mechanism, jnp.asarray(method.inputs), interval, blocks_of(method.num_samples)),
        key,
        runs,
        devices,
        execution=execution,
        num_intervals=method.num_intervals,
    )
    return lambda: _columns(entry, fetched(started))


def _count_outputs(mechanism, inputs, interval, blocks, key, runs, **static) -> WideCount:
    return count_outputs(mechanism, inputs, key, runs, interval, blocks, **static)


def _columns(entry: Entry, counted: WideCount) -> Columns:
    method = entry.method
    counts = counted.as_int()[..., :-1]  # the last one holds what lies outside, and padding
    if np.any(counts.sum(axis=-1) < method.num_samples):
        raise ValueError(
            f"the mechanism of {entry.label!r} gave outputs outside of its stated interval, where "
            "the histogram estimators are not defined."
        )
    pairs = all_pairs_of(len(method.inputs))
    if method.order is None:
        levels = ldp_levels(counts, pairs)
    else:
        levels = renyi_levels(counts, pairs, method.order)
    largest = np.ma.masked_array(levels.max(axis=-1))
    failed = np.ma.getmaskarray(largest)
    return {
        "estimate": largest.filled(np.nan),
        "pair": np.where(failed, 0, levels.filled(-np.inf).argmax(axis=-1)),
        "status": np.where(failed, Status.EMPTY_INTERVAL.name, Status.OK.name),
    }
