"""How work is laid out on the machine: the one place where speed is chosen, never the answer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax

from dpjax.core import validate


@dataclass(frozen=True)
class Execution:
    """What changes the speed and the memory of a computation, and nothing else.

    Attributes:
        runs_at_once: Runs that are computed side by side; the others wait in a loop.
        pairs_at_once: Pairs of each run that are computed side by side.
        layout: How an audit by events counts what JAX draws: "streamed" in one compiled kernel,
            "gathered" by NumPy, which compiles the sampler alone, or "auto" by the number of draws.
        progress: Called with (outputs so far, of how many), first with none of them and then now
            and then; of how many is 0 while that is not known. `dpjax.cli.progress_bar` is one.
    """

    runs_at_once: int = 1
    pairs_at_once: int = 1
    layout: str = "auto"
    # Not compared: a compiled program does not depend on who looks on.
    progress: Callable[[int, int], None] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self):
        validate.one_of(("auto", "streamed", "gathered"), layout=self.layout)
        validate.positive_int(runs_at_once=self.runs_at_once, pairs_at_once=self.pairs_at_once)


def default_execution() -> Execution:
    """The layout for the backend in use.

    On CPU one stream at a time: a block of draws then stays in the cache, and XLA spreads its
    kernels over the cores. On accelerators many at a time, so that one launch fills the chip.
    """
    if jax.default_backend() == "cpu":
        return Execution(runs_at_once=1, pairs_at_once=1)
    return Execution(runs_at_once=64, pairs_at_once=64)


def map_batched(fun: Callable[[Any], Any], xs: Any, at_once: int) -> Any:
    """`jax.lax.map` over the leading axis of a pytree, `at_once` entries side by side."""
    return jax.lax.map(fun, xs, batch_size=at_once if at_once > 1 else None)
