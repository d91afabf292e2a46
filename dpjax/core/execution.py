"""Execution options, which change speed and memory but never the result."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh, PartitionSpec

from dpjax.core import validate
from dpjax.core.jit import jit_by_class
from dpjax.core.types import Device

Tree = TypeVar("Tree")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Execution:
    """Options that change the speed and memory of a computation, but never its result.

    Attributes:
        runs_at_once: Maximum number of runs that are computed in parallel. If there are more runs,
            the other runs are computed afterwards.
        pairs_at_once: Maximum number of pairs of databases that are processed in parallel within
            each run.
        layout: How the event methods count outputs that JAX draws. "streamed" draws and counts in
            one compiled kernel. "gathered" compiles only the sampler, and counts in NumPy. "auto"
            chooses one of these two layouts according to the number of draws. If a learned score
            divides vectors into cells, "gathered" is always used.
        progress: Callback with two arguments, the number of outputs so far and the total number. It
            is called at the start and then repeatedly. While the total number is unknown, the
            second argument is 0. `dpjax.cli.progress_bar` is an example.
        devices: Devices among which the runs of a batch are divided. The number of runs must be a
            multiple of the number of devices. If `devices` is None, jax's default device computes
            all runs.
    """

    runs_at_once: int = 1
    pairs_at_once: int = 1
    layout: str = "auto"
    # Comparisons ignore the next two fields, since compiled programs do not depend on these fields.
    progress: Callable[[int, int], None] | None = field(default=None, compare=False, repr=False)
    devices: tuple[Device, ...] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self):
        validate.one_of(("auto", "streamed", "gathered"), layout=self.layout)
        validate.positive_int(runs_at_once=self.runs_at_once, pairs_at_once=self.pairs_at_once)


def default_execution() -> Execution:
    """Return the execution options for the current backend.

    On a CPU, one stream of draws is computed at a time, so that a block of draws stays in the cache
    and XLA spreads each kernel over the cores. On an accelerator, many streams are computed in
    parallel, so that one launch keeps the whole chip busy.
    """
    if jax.default_backend() == "cpu":
        return Execution(runs_at_once=1, pairs_at_once=1)
    return Execution(runs_at_once=64, pairs_at_once=64)


def map_batched(fun: Callable[[Tree], Result], xs: Tree, at_once: int) -> Result:
    """Apply `jax.lax.map` along a pytree's leading axis, with `at_once` entries in parallel."""
    return jax.lax.map(fun, xs, batch_size=at_once if at_once > 1 else None)


def over_devices(
    function: Callable[..., Result],
    arguments: tuple[object, ...],
    runs: object,
    execution: Execution,
    **static: object,
) -> Result:
    """Call a kernel, and divide its runs among the devices of `execution`.

    The kernel is called as `function(*arguments, runs, execution=execution, **static)`. Each device
    computes its share of the runs, and the devices exchange no data.

    Args:
        function: Compiled kernel that accepts the runs as its last positional argument.
        arguments: Positional arguments of `function` that are the same for all runs.
        runs: One or more arrays whose leading axis indexes the runs.
        execution: Execution options, including the devices.
        **static: Additional static arguments of the kernel.
    """
    devices, static = execution.devices, {"execution": execution, **static}
    if devices is None:
        return function(*arguments, runs, **static)
    if len(devices) == 1:
        with jax.default_device(devices[0]):
            return function(*arguments, runs, **static)
    arguments = jax.tree.map(jnp.asarray, arguments)
    return _split(
        arguments, runs, function=function, devices=devices, static=tuple(sorted(static.items()))
    )


@jit_by_class(static_argnames=("function", "devices", "static"))
def _split(
    arguments: tuple[object, ...],
    runs: Array,
    *,
    function: Callable[..., Result],
    devices: tuple[Device, ...],
    static: tuple[tuple[str, object], ...],
) -> Result:
    def part(arguments: tuple[object, ...], runs: Array) -> Result:
        return function(*arguments, runs, **dict(static))

    split, whole = PartitionSpec("runs"), PartitionSpec()
    return jax.shard_map(
        part,
        mesh=Mesh(np.array(devices), ("runs",)),
        in_specs=(whole, split),
        out_specs=split,
        # Turn the check off, since it does not support the carry of `fori_loop`.
        check_vma=False,
    )(arguments, runs)
