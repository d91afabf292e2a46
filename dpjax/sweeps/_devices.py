"""Runs over several devices: each computes its share of them, and they never speak."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh, PartitionSpec

from dpjax.core.jit import jit_by_class

Columns = dict[str, Any]
"""Name -> one value a run."""


def over_devices(
    function: Callable[..., Any],
    arguments: tuple,
    key: Array,
    runs: Any,
    devices: tuple[Any, ...] | None,
    **static: Any,
) -> Any:
    """function(*arguments, key, runs, **static), with the axis of runs split over devices.

    `runs` may hold several arrays with a leading axis of runs.
    """
    if devices is None:
        return function(*arguments, key, runs, **static)
    if len(devices) == 1:
        with jax.default_device(devices[0]):
            return function(*arguments, key, runs, **static)
    arguments = jax.tree.map(jnp.asarray, (*arguments, key))
    return _split(
        arguments, runs, function=function, devices=devices, static=tuple(sorted(static.items()))
    )


@jit_by_class(static_argnames=("function", "devices", "static"))
def _split(
    arguments: tuple,
    runs: Array,
    *,
    function: Callable[..., Any],
    devices: tuple[Any, ...],
    static: tuple[tuple[str, Any], ...],
) -> Any:
    def part(arguments: tuple, runs: Array) -> Any:
        return function(*arguments, runs, **dict(static))

    split, whole = PartitionSpec("runs"), PartitionSpec()
    return jax.shard_map(
        part,
        mesh=Mesh(np.array(devices), ("runs",)),
        in_specs=(whole, split),
        out_specs=split,
        # The runs never speak to each other, and the check does not know fori_loop's carry.
        check_vma=False,
    )(arguments, runs)
