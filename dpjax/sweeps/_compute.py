"""Computes runs of a cell: one compiled program a shape of cell, its runs spread over devices.

A run's draws follow from (seed, cell, run number) alone, so neither the devices nor the block that
a run is computed in can change it.
"""

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax import _random
from dpjax._batching import Execution, default_execution
from dpjax._errors import Status
from dpjax._numerics import WideCount
from dpjax.densities import MAX_NODES, find_kernel, finer
from dpjax.inference._levels import ldp_levels, renyi_levels
from dpjax.methods.histogram._estimate import all_pairs_of, count_outputs, output_interval_of
from dpjax.methods.local import LocalBounds, LocalStatistics, PairSearch, dpl_runs, mpl_runs
from dpjax.methods.local._assemble import bounds_of
from dpjax.sweeps._cell import Cell
from dpjax.sweeps._devices import over_devices
from dpjax.sweeps._law_counts import law_counts, run_words

Columns = dict[str, Any]
"""Column -> one entry a run."""

_NODES = "nodes_per_bandwidth"
"""A column that estimators on a lattice have besides, for `_refined`."""


class _Estimator(NamedTuple):
    """How a cell is computed: on the devices (returns at once), then on the host."""

    launch: Callable[..., Any]
    finish: Callable[[Cell, Any], Columns]


def compute(
    cell: Cell,
    runs: Iterable[int],
    key: Any,
    *,
    execution: Execution | None = None,
    devices: tuple[Any, ...] | None = None,
) -> Callable[[], Columns]:
    """Starts runs of a cell on the devices.

    Args:
        cell: What is run.
        runs: Run numbers.
        key: Integer seed or typed key; the cell's identity is folded into it.
        execution: Layout on the machine; never changes a row.
        devices: Over which the runs are spread; jax's default device if None.

    Returns:
        A function that waits for the runs and returns their columns: `run`, `lower_bound` (NaN for
        estimators without one), `estimate`, `pair`, `output` (list of numbers, or None), `exact`
        and `status`.

    Raises:
        ValueError: The cell does not fit its estimator.
    """
    numbers = np.asarray(list(runs), np.int32)
    if devices is not None:
        devices = devices[: len(numbers)]
    # Every device has the same number of runs; those beyond the last are dropped again.
    missing = -len(numbers) % len(devices or (None,))
    padded = np.pad(numbers, (0, missing), mode="edge")
    cell_key, layout = _cell_key(cell, key), execution or default_execution()
    estimator = _ESTIMATORS[cell.estimator]

    def start(cell: Cell) -> Any:
        return estimator.launch(cell, jnp.asarray(padded), cell_key, layout, devices)

    started = start(cell)

    def finish() -> Columns:
        columns = {"run": padded, **estimator.finish(cell, jax.device_get(started))}
        columns = _refined(
            cell, columns, lambda finer: estimator.finish(finer, jax.device_get(start(finer)))
        )
        return {name: values[: len(numbers)] for name, values in columns.items()}

    return finish


def _refined(cell: Cell, columns: Columns, again: Callable[[Cell], Columns]) -> Columns:
    """Runs on a lattice too coarse for their bandwidth, once more on a finer one, as `audit` does.

    Each run decides for itself, so that it does not matter which others are computed with it.
    """
    nodes = columns.pop(_NODES, None)
    if nodes is None:
        return columns
    kernel = find_kernel(cell.settings.kernel)
    coarse = ~(np.asarray(nodes) >= kernel.min_nodes)
    if not coarse.any():
        return columns
    # At once as fine as every run needs.
    most = max((float(n) for n in np.asarray(nodes)[coarse] if n > 0), default=0.0)
    num_cells = finer(cell.settings.num_cells, most, kernel)
    if num_cells > MAX_NODES:
        raise ValueError(
            f"region of {cell.label!r} is so wide against the bandwidth that more than {MAX_NODES} "
            "lattice cells would be needed (or its outputs are constant, NaN or infinite): narrow "
            "it, or set method = 'direct'."
        )
    cell = dataclasses.replace(
        cell, settings=dataclasses.replace(cell.settings, num_cells=num_cells)
    )
    better = _refined(cell, again(cell), again)
    return columns | {
        name: [new if c else old for c, new, old in zip(coarse, values, columns[name], strict=True)]
        for name, values in better.items()
    }


def run_bounds(
    cell: Cell, runs: Iterable[int], *, key: Any = 0, execution: Execution | None = None
) -> LocalBounds:
    """Lower bounds of many independent runs of a cell, in memory and at once.

    Args:
        cell: A cell of the estimator "mpl".
        runs: Run numbers; each run's draws follow from its number and the key alone.
        key: Integer seed or typed key; the cell's identity is folded into it.
        execution: Layout on the machine; never changes the bounds.

    Returns:
        Bounds with a leading axis of runs, those of `compute`.

    Raises:
        ValueError: The region is too wide against the bandwidth for any lattice.
    """
    numbers = jnp.asarray(np.asarray(list(runs), np.int32))
    key, execution = _cell_key(cell, key), execution or default_execution()

    def columns(cell: Cell) -> Columns:
        statistics = jax.device_get(_launch_mpl(cell, numbers, key, execution, None))
        bounds = bounds_of(statistics, cell.settings, cell.region, cell.confidence)
        return {**bounds._asdict(), _NODES: statistics.found.nodes_per_bandwidth}

    found = _refined(cell, columns(cell), columns)
    return LocalBounds(**{name: np.asarray(values) for name, values in found.items()})


def _cell_key(cell: Cell, key: Any) -> Array:
    return _random.fold_in(_random.as_key(key), _random.stable_hash(cell.id))


def _launch_mpl(cell: Cell, runs: Array, key: Array, execution: Execution, devices: Any) -> Any:
    return over_devices(mpl_runs, _local(cell), key, runs, devices, execution=execution)


def _launch_dpl(cell: Cell, runs: Array, key: Array, execution: Execution, devices: Any) -> Any:
    return over_devices(dpl_runs, _local(cell), key, runs, devices, execution=execution)


def _launch_counts(cell: Cell, runs: Array, key: Array, execution: Execution, devices: Any) -> Any:
    settings = cell.settings
    return over_devices(
        _count_outputs,
        (
            cell.mechanism,
            jnp.asarray(settings.inputs),
            output_interval_of(cell.mechanism, settings, None),
        ),
        key,
        runs,
        devices,
        execution=execution,
        num_intervals=settings.num_intervals,
        num_samples=settings.num_samples,
    )


def _launch_law(cell: Cell, runs: Array, key: Array, execution: Execution, devices: Any) -> Any:
    return run_words(key, runs)


def _local(cell: Cell) -> tuple:
    pairs = cell.pairs
    return cell.mechanism, pairs.database, pairs.neighbor, cell.region, cell.settings


def _count_outputs(mechanism, inputs, interval, key, runs, **static) -> WideCount:
    return count_outputs(mechanism, inputs, key, runs, interval, **static)


def _finish_mpl(cell: Cell, statistics: LocalStatistics) -> Columns:
    bounds = bounds_of(statistics, cell.settings, cell.region, cell.confidence)
    return {
        "lower_bound": bounds.lower_bound,
        "estimate": bounds.estimate,
        "pair": statistics.pair,
        "output": _outputs(statistics.found.point),
        "exact": bounds.exact,
        "status": np.where(bounds.on_floor, Status.ON_FLOOR.name, Status.OK.name),
        _NODES: statistics.found.nodes_per_bandwidth,
    }


def _finish_dpl(cell: Cell, search: PairSearch) -> Columns:
    best = np.argmax(search.score, axis=1)

    def chosen(leaf: Any) -> np.ndarray:
        return np.asarray(leaf)[np.arange(len(best)), best]

    on_floor = chosen(search.densities).min(axis=-1) <= chosen(search.floor)
    return {
        "lower_bound": np.full(len(best), np.nan),
        "estimate": chosen(search.loss).astype(float),
        "pair": best,
        "output": _outputs(chosen(search.point)),
        "exact": np.zeros(len(best), bool),
        "status": np.where(on_floor, Status.ON_FLOOR.name, Status.OK.name),
        _NODES: search.nodes_per_bandwidth.min(axis=-1),
    }


def _finish_drawn(cell: Cell, counted: WideCount) -> Columns:
    counts = counted.as_int()[..., :-1]  # the last entry holds what lies outside, and padding
    if np.any(counts.sum(axis=-1) < cell.settings.num_samples):
        raise ValueError(
            f"the mechanism of {cell.label!r} gave outputs outside of its stated interval, where "
            "the histogram estimators are not defined."
        )
    return _finish_counts(cell, counts)


def _finish_law(cell: Cell, words: Any) -> Columns:
    return _finish_counts(cell, law_counts(cell.mechanism, cell.settings, words))


def _finish_counts(cell: Cell, counts: np.ndarray) -> Columns:
    settings = cell.settings
    pairs = all_pairs_of(len(settings.inputs))
    if settings.order is None:
        levels = ldp_levels(counts, pairs)
    else:
        levels = renyi_levels(counts, pairs, settings.order)
    largest = np.ma.masked_array(levels.max(axis=-1))
    failed = np.ma.getmaskarray(largest)
    return {
        "lower_bound": np.full(len(counts), np.nan),
        "estimate": largest.filled(np.nan),
        "pair": np.where(failed, 0, levels.filled(-np.inf).argmax(axis=-1)),
        "output": [None] * len(counts),
        "exact": np.zeros(len(counts), bool),
        "status": np.where(failed, Status.EMPTY_INTERVAL.name, Status.OK.name),
    }


def _outputs(point: Any) -> list[list[float]]:
    """One list of numbers a run: the coordinates of a point, or an outcome alone."""
    return np.asarray(point, float).reshape(len(point), -1).tolist()


_ESTIMATORS = {
    "mpl": _Estimator(_launch_mpl, _finish_mpl),
    "dpl": _Estimator(_launch_dpl, _finish_dpl),
    "histogram": _Estimator(_launch_counts, _finish_drawn),
    "histogram-law": _Estimator(_launch_law, _finish_law),
}
