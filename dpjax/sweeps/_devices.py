"""Runs over several devices: each computes its share of them, and they never speak."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh, PartitionSpec

from dpjax._jit import Classes, classes_of


def over_devices(
    function: Callable[..., Any],
    arguments: tuple,
    key: Array,
    runs: Array,
    devices: tuple[Any, ...] | None,
    **static: Any,
) -> Any:
    """function(*arguments, key, runs, **static), with the axis of runs split over devices."""
    if devices is None:
        return function(*arguments, key, runs, **static)
    if len(devices) == 1:
        with jax.default_device(devices[0]):
            return function(*arguments, key, runs, **static)
    program = _split_program(
        function, devices, tuple(sorted(static.items())), classes_of(arguments)
    )
    return program((*jax.tree.map(jnp.asarray, arguments), key), runs)


@lru_cache(maxsize=64)
def _split_program(
    function: Callable[..., Any],
    devices: tuple[Any, ...],
    static: tuple[tuple[str, Any], ...],
    classes: Classes,
) -> Callable[..., Any]:
    del classes  # tells the entries of this cache apart; see dpjax._jit

    def part(arguments: tuple, runs: Array) -> Any:
        return function(*arguments, runs, **dict(static))

    split, whole = PartitionSpec("runs"), PartitionSpec()
    return jax.jit(
        jax.shard_map(
            part,
            mesh=Mesh(np.array(devices), ("runs",)),
            in_specs=(whole, split),
            out_specs=split,
            # The runs never speak to each other, and the check does not know fori_loop's carry.
            check_vma=False,
        )
    )
