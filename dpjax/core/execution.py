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
            the other runs are computed afterwards. None means 1 on a CPU, where XLA spreads each
            run over the cores, and 64 on an accelerator.
        pairs_at_once: Maximum number of pairs of databases that are processed in parallel within
            each run. None means 1 on a CPU and 64 on an accelerator.
        blocks_at_once: Maximum number of blocks of draws, over all runs and pairs, that are drawn
            in parallel. If the runs and pairs in parallel are fewer than this number, several
            blocks of each are drawn in parallel. None means 1 on a CPU, where a block of draws
            stays in the cache, and 1024 on an accelerator, which is then busy even if it computes
            only one run of one pair.
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

    runs_at_once: int | None = None
    pairs_at_once: int | None = None
    blocks_at_once: int | None = None
    layout: str = "auto"
    # Comparisons ignore the next two fields, since compiled programs do not depend on these fields.
    progress: Callable[[int, int], None] | None = field(default=None, compare=False, repr=False)
    devices: tuple[Device, ...] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self):
        validate.one_of(("auto", "streamed", "gathered"), layout=self.layout)
        for name in ("runs_at_once", "pairs_at_once", "blocks_at_once"):
            if getattr(self, name) is not None:
                validate.positive_int(**{name: getattr(self, name)})

    @property
    def runs(self) -> int:
        """Maximum number of runs in parallel on the devices that compute them."""
        return self._given_or_default(self.runs_at_once, 64)

    @property
    def pairs(self) -> int:
        """Maximum number of pairs in parallel within each run."""
        return self._given_or_default(self.pairs_at_once, 64)

    def blocks(self, num_runs: int, num_pairs: int = 1) -> int:
        """Return how many blocks of each stream a kernel draws in parallel.

        Args:
            num_runs: Number of runs that the kernel processes.
            num_pairs: Number of pairs that the kernel processes in each run.
        """
        streams = min(num_runs, self.runs) * min(num_pairs, self.pairs)
        return max(self._given_or_default(self.blocks_at_once, 1024) // streams, 1)

    def _given_or_default(self, given: int | None, of_accelerators: int) -> int:
        if given is not None:
            return given
        platform = self.devices[0].platform if self.devices else jax.default_backend()
        return 1 if platform == "cpu" else of_accelerators


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
