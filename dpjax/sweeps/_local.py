"""Runs of the local approach: its bound, or the estimate of its search alone."""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core.errors import Status
from dpjax.core.execution import Execution, default_execution
from dpjax.core.streaming import fetched
from dpjax.densities import MAX_NODES, find_kernel, finer
from dpjax.methods.local import (
    Local,
    LocalBounds,
    LocalStatistics,
    PairSearch,
    dpl_runs,
    mpl_runs,
)
from dpjax.methods.local._findings import bounds_of
from dpjax.sweeps._devices import Columns, over_devices
from dpjax.sweeps._entry import Entry
from dpjax.sweeps._methods import LocalSearch

_NODES = "nodes_per_bandwidth"
"""A column besides, for `_refined`."""


def start_local(
    entry: Entry, runs: Array, key: Array, execution: Execution, devices: Any
) -> Callable[[], Columns]:
    """Starts runs of `Local` or `LocalSearch`, as `compute` does; what it returns waits."""
    alone = isinstance(entry.method, LocalSearch)
    kernel, columns = (dpl_runs, _of_search) if alone else (mpl_runs, _of_bounds)
    return _started(kernel, columns, entry, runs, key, execution, devices)


def run_bounds(
    entry: Entry, runs: Iterable[int], *, key: Any = 0, execution: Execution | None = None
) -> LocalBounds:
    """Lower bounds of many independent runs of `Local`, in memory and at once.

    Args:
        entry: With the method `dpjax.Local`.
        runs: Run numbers; each run's draws follow from its number and the key alone.
        key: Integer seed or typed key; the entry's identity is folded into it.
        execution: Layout on the machine; never changes the bounds.

    Returns:
        Bounds with a leading axis of runs, those of `compute`.

    Raises:
        TypeError: The entry has another method.
        ValueError: The region is too wide against the bandwidth for any lattice.
    """
    if type(entry.method) is not Local:
        raise TypeError(f"entry must have the method Local, but has {entry.method.name!r}.")
    numbers = jnp.asarray(np.asarray(list(runs), np.int32))
    layout = execution or default_execution()

    def columns(entry: Entry, settings: Local, statistics: LocalStatistics) -> Columns:
        bounds = bounds_of(statistics, settings, entry.region, entry.confidence)
        return {**bounds._asdict(), _NODES: statistics.found.nodes_per_bandwidth}

    found = _started(mpl_runs, columns, entry, numbers, entry.key(key), layout, None)()
    return LocalBounds(**{name: np.asarray(values) for name, values in found.items()})


def _started(
    kernel: Callable[..., Any],
    columns: Callable[[Entry, Local, Any], Columns],
    entry: Entry,
    runs: Array,
    key: Array,
    execution: Execution,
    devices: Any,
) -> Callable[[], Columns]:
    """Starts a kernel of runs; what it returns waits, and makes columns of its statistics."""
    pairs = entry.pairs

    def launch(settings: Local) -> Any:
        drawn = (entry.mechanism, pairs.database, pairs.neighbor, entry.region, settings)
        return over_devices(kernel, drawn, key, runs, devices, execution=execution)

    def again(settings: Local) -> Columns:
        found = columns(entry, settings, fetched(launch(settings)))
        return _refined(entry, settings, found, again)

    # The region is an argument of its own.
    settings = dataclasses.replace(entry.method, region=None)
    started = launch(settings)

    def finish() -> Columns:
        found = columns(entry, settings, fetched(started))
        return _refined(entry, settings, found, again)

    return finish


def _refined(
    entry: Entry, settings: Local, columns: Columns, again: Callable[[Local], Columns]
) -> Columns:
    """Runs on a lattice too coarse for their bandwidth, once more on a finer one, as `audit` does.

    Each run decides for itself, so that it does not matter which others are computed with it.
    """
    nodes, kernel = np.asarray(columns.pop(_NODES)), find_kernel(settings.kernel)
    coarse = ~(nodes >= kernel.min_nodes)
    if not coarse.any():
        return columns
    # At once as fine as every run needs.
    most = max((float(n) for n in nodes[coarse] if n > 0), default=0.0)
    num_nodes = finer(settings.num_nodes, most, kernel)
    if num_nodes > MAX_NODES:
        raise ValueError(
            f"region of {entry.label!r} is so wide against the bandwidth that more than "
            f"{MAX_NODES} lattice nodes would be needed (or its outputs are constant, NaN or "
            "infinite): narrow it, or set density = 'direct'."
        )
    better = again(dataclasses.replace(settings, num_nodes=num_nodes))
    return {
        name: [new if c else old for c, new, old in zip(coarse, values, columns[name], strict=True)]
        for name, values in better.items()
    }


def _of_bounds(entry: Entry, settings: Local, statistics: LocalStatistics) -> Columns:
    bounds = bounds_of(statistics, settings, entry.region, entry.confidence)
    return {
        "lower_bound": bounds.lower_bound,
        "estimate": bounds.estimate,
        "pair": statistics.pair,
        "output": _outputs(statistics.found.point),
        "exact": bounds.exact,
        "status": np.where(bounds.on_floor, Status.ON_FLOOR.name, Status.OK.name),
        _NODES: statistics.found.nodes_per_bandwidth,
    }


def _of_search(entry: Entry, settings: Local, search: PairSearch) -> Columns:
    best = np.argmax(search.score, axis=1)

    def chosen(leaf: Any) -> np.ndarray:
        return np.asarray(leaf)[np.arange(len(best)), best]

    on_floor = chosen(search.densities).min(axis=-1) <= chosen(search.floor)
    return {
        "estimate": chosen(search.loss).astype(float),
        "pair": best,
        "output": _outputs(chosen(search.point)),
        "status": np.where(on_floor, Status.ON_FLOOR.name, Status.OK.name),
        _NODES: np.min(search.nodes_per_bandwidth, axis=-1),
    }


def _outputs(point: Any) -> list[list[float]]:
    """One list of numbers a run: the coordinates of a point, or an outcome alone."""
    return np.asarray(point, float).reshape(len(point), -1).tolist()
