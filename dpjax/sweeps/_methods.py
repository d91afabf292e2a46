"""What an entry of a sweep can run: the methods of an audit, and estimates without a bound."""

from dataclasses import dataclass
from typing import ClassVar

import jax

from dpjax.core import validate
from dpjax.methods import Events, Local


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LocalSearch(Local):
    """DPL: the search stage of `Local` alone, for its estimate; there is no bound.

    Its options are those of `Local`. Nothing is confirmed: `num_confirm` only says how much the
    objective "lower-bound" takes off for the draws that would confirm.

    References:
        Askin, Kutta, Dette (2022), Algorithm 3.
    """

    name: ClassVar[str] = "local-search"


@dataclass(frozen=True)
class HistogramEstimate:
    """The estimate of a histogram at fixed sizes: no plan, and so no precision that is stated.

    Attributes:
        num_intervals: m.
        num_samples: n, draws at each input.
        inputs: Numbers to draw at, at least two; all pairs of them are compared.
        order: alpha of a Renyi level, or None for LDP.

    Raises:
        ValueError, TypeError: A number is out of range, or there are fewer than two inputs.

    References:
        Gorla et al., Algorithms 1 to 4.
    """

    num_intervals: int
    num_samples: int
    inputs: tuple[float, ...]
    order: float | None = None
    name: ClassVar[str] = "histogram-estimate"

    def __post_init__(self):
        validate.positive_int(num_intervals=self.num_intervals, num_samples=self.num_samples)
        object.__setattr__(self, "inputs", tuple(float(x) for x in self.inputs))
        if len(self.inputs) < 2:
            raise ValueError(f"inputs must be at least two, but were {len(self.inputs)}.")
        if self.order is not None and not self.order > 1:
            raise ValueError(f"order must be above 1, but was {self.order}.")


METHODS = {method.name: method for method in (Events, Local, LocalSearch, HistogramEstimate)}
"""Name in a TOML file and a manifest -> method."""

BOUNDED = (Events, Local)
"""Methods with a bound, and so with a notion and a confidence."""
