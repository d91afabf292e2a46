"""Execution options: they change speed and memory, never the answer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import jax

from dpjax.core import validate

Tree = TypeVar("Tree")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Execution:
    """Options that change the speed and the memory of a computation, and nothing else.

    Attributes:
        runs_at_once: Runs that are computed side by side; the others wait in a loop.
        pairs_at_once: Pairs of each run that are computed side by side.
        layout: How an audit by events counts what JAX draws: "streamed" in one compiled kernel,
            "gathered" by NumPy, which compiles the sampler alone, or "auto" by the number of draws.
        progress: Called with (outputs so far, total) at the start and then repeatedly; the total
            is 0 while it is unknown. `dpjax.cli.progress_bar` is an example.
    """

    runs_at_once: int = 1
    pairs_at_once: int = 1
    layout: str = "auto"
    # Not compared, since compiled programs do not depend on it.
    progress: Callable[[int, int], None] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self):
        validate.one_of(("auto", "streamed", "gathered"), layout=self.layout)
        validate.positive_int(runs_at_once=self.runs_at_once, pairs_at_once=self.pairs_at_once)


def default_execution() -> Execution:
    """The execution options for the backend in use.

    A CPU computes one stream at a time, so that a block of draws stays in the cache and XLA spreads
    its kernels over the cores. An accelerator computes many, so that one launch fills the chip.
    """
    if jax.default_backend() == "cpu":
        return Execution(runs_at_once=1, pairs_at_once=1)
    return Execution(runs_at_once=64, pairs_at_once=64)


def map_batched(fun: Callable[[Tree], Result], xs: Tree, at_once: int) -> Result:
    """`jax.lax.map` over the leading axis of a pytree, `at_once` entries side by side."""
    return jax.lax.map(fun, xs, batch_size=at_once if at_once > 1 else None)
