"""The statistical settings of the local approach: everything that changes the answer."""

import math
from dataclasses import dataclass, field
from typing import Any

import jax

from dpjax import _validate
from dpjax.densities import KERNELS, BandwidthRule, Scott


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LocalSettings:
    """Settings of DPL and MPL. Sizes and names are static; floor and bandwidth may be traced.

    Attributes:
        num_samples: n, draws at each side of each pair in the search stage.
        num_confirm: N > n, fresh draws at each side of the chosen pair.
        bandwidth: Rule of the search stage; the confirm stage uses its mean over both sides. Wider
            than the paper's Silverman, Scott's rule gives a smaller error and a tighter bound.
        floor: tau, below which a density is not believed; None for 20 draws' worth, q = 20 / n
            and at most 0.01, for frequencies, and q / s^d for densities of data with spread s in d
            dimensions.
        kernel: Name of the kernel.
        method: "binned" (d = 1), "direct", or "auto" for the first that applies.
        num_cells: Lattice nodes of the binned method. `audit` takes more where the bandwidth needs
            them; with 512 the counts stay in a CPU's first cache.
        objective: What the search maximises: "lower-bound" for the loss less what both stages'
            standard errors take off it there, or "loss" for the paper's plain loss, which noise
            tends to put where densities are small. Both are valid; the first is tighter.
        undersmoothing: gamma of the confirm stage's bandwidth, N^-(1/(d+4) + gamma); None for the
            smallest that (C4) allows, and at least 0.02.

    Raises:
        ValueError, TypeError: An entry is out of range, or num_confirm <= num_samples.

    References:
        Askin, Kutta, Dette (2022), Algorithms 3 and 4, conditions (C3), (C4) and (D).
    """

    num_samples: int = field(default=20_000, metadata={"static": True})
    num_confirm: int = field(default=50_000, metadata={"static": True})
    bandwidth: BandwidthRule = field(default_factory=Scott)
    floor: Any = None
    kernel: str = field(default="gaussian", metadata={"static": True})
    method: str = field(default="auto", metadata={"static": True})
    num_cells: int = field(default=512, metadata={"static": True})
    objective: str = field(default="lower-bound", metadata={"static": True})
    undersmoothing: float | None = field(default=None, metadata={"static": True})

    def __post_init__(self):
        check_sizes(num_samples=self.num_samples, num_confirm=self.num_confirm)
        if self.num_confirm <= self.num_samples:
            raise ValueError(
                f"num_confirm (N) must be larger than num_samples (n), but was {self.num_confirm} "
                f"<= {self.num_samples}: the bound is only valid when the confirm stage is finer."
            )
        _validate.one_of(KERNELS, kernel=self.kernel)
        _validate.one_of(("auto", "binned", "direct"), method=self.method)
        _validate.one_of(("lower-bound", "loss"), objective=self.objective)
        _validate.positive_int(at_least=16, num_cells=self.num_cells)
        if self.floor is not None:
            _validate.non_negative(floor=self.floor)
        if self.undersmoothing is not None:
            _validate.non_negative(undersmoothing=self.undersmoothing)

    @property
    def confirm_undersmoothing(self) -> float:
        """The gamma in use: gamma > nu / (6 (1 + nu)) with N = n^(1 + nu), condition (C4)."""
        if self.undersmoothing is not None:
            return self.undersmoothing
        nu = math.log(self.num_confirm) / math.log(self.num_samples) - 1
        return max(0.02, 1.01 * nu / (6 * (1 + nu)))


def check_sizes(**sizes: int) -> None:
    """Numbers of draws must be integers in [2, 2^31); raises as `_validate.positive_int` does."""
    _validate.positive_int(at_least=2, **sizes)
    for name, value in sizes.items():
        if value >= 2**31:
            raise ValueError(f"{name} must be below 2^31, but was {value}.")
