"""Options of the local approach: everything that changes its answer."""

import math
from dataclasses import dataclass, field
from typing import Any

from dpjax.core import validate
from dpjax.densities import KERNELS, Scott, as_rule


@dataclass(frozen=True)
class LocalOptions:
    """Options of `Local`, which describes them, as the kernels see them."""

    num_samples: int = field(default=20_000, metadata={"static": True})
    num_confirm: int = field(default=50_000, metadata={"static": True})
    region: Any = None
    bandwidth: Any = field(default_factory=Scott)
    floor: Any = None
    kernel: str = field(default="gaussian", metadata={"static": True})
    density: str = field(default="auto", metadata={"static": True})
    num_nodes: int = field(default=512, metadata={"static": True})
    objective: str = field(default="lower-bound", metadata={"static": True})
    undersmoothing: float | None = field(default=None, metadata={"static": True})

    def __post_init__(self):
        validate.draws(num_samples=self.num_samples, num_confirm=self.num_confirm)
        if self.num_confirm <= self.num_samples:
            raise ValueError(
                f"num_confirm (N) must be larger than num_samples (n), but was {self.num_confirm} "
                f"<= {self.num_samples}: the bound is only valid when the confirm stage is finer."
            )
        validate.one_of(KERNELS, kernel=self.kernel)
        validate.one_of(("auto", "binned", "direct"), density=self.density)
        validate.one_of(("lower-bound", "loss"), objective=self.objective)
        validate.positive_int(at_least=16, num_nodes=self.num_nodes)
        validate.within_limit("cells", self.num_nodes, "num_nodes of a lattice are too many")
        if isinstance(self.bandwidth, str | float | int):
            object.__setattr__(self, "bandwidth", as_rule(self.bandwidth))
        if self.floor is not None:
            validate.non_negative(floor=self.floor)
        if self.undersmoothing is not None:
            validate.non_negative(undersmoothing=self.undersmoothing)

    @property
    def confirm_undersmoothing(self) -> float:
        """The gamma in use: gamma > nu / (6 (1 + nu)) with N = n^(1 + nu), condition (C4)."""
        if self.undersmoothing is not None:
            return self.undersmoothing
        nu = math.log(self.num_confirm) / math.log(self.num_samples) - 1
        return max(0.02, 1.01 * nu / (6 * (1 + nu)))
