"""Options of the local method that affect the result."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpjax.core import validate
from dpjax.core.options import option
from dpjax.core.wording import BadType, BadValue, term
from dpjax.densities import KERNELS, Fixed, as_rule
from dpjax.partitions import RegionLike

_LARGEST = float(np.finfo(np.float32).max)

_MOST = {"bandwidth": _LARGEST, "floor": _LARGEST, "undersmoothing": 1.0}
"""Largest accepted values. Densities are float32, and their bandwidth is N^-(1/(d+4) + gamma)."""


@dataclass(frozen=True)
class LocalOptions:
    """Options of the local method. See `Local` for the meaning of each option."""

    num_samples: int = option("", default=20_000, static=True)
    num_confirm: int = option("", default=50_000, static=True)
    region: RegionLike | None = option("", default=None, kind="tuple[float, float]")
    bandwidth: Any = option(
        "Bandwidth of the kernel: silverman, scott, hoelder, cross-validated, or a number.",
        default="scott",
        kind="float | str",
        metavar="RULE|NUMBER",
    )
    floor: float | None = option(
        "Floor to which smaller densities are raised.", default=None, kind="float"
    )
    kernel: str = option(
        "Kernel of the density estimate: gaussian, laplace, epanechnikov or biweight.",
        default="gaussian",
        choices=("gaussian", "laplace", "epanechnikov", "biweight"),
        static=True,
    )
    density: str = option(
        "Method of density estimation: binned, direct or auto.",
        default="auto",
        choices=("binned", "direct", "auto"),
        static=True,
    )
    num_nodes: int = option(
        "Number of lattice nodes of a binned density estimate.", default=512, static=True
    )
    objective: str = option(
        "Objective of the search: lower-bound, or loss as in the paper.",
        default="lower-bound",
        choices=("lower-bound", "loss"),
        static=True,
    )
    undersmoothing: float | None = option(
        "Undersmoothing exponent gamma of the bandwidth in the confirmation stage. Default: "
        "derived from the numbers of draws.",
        default=None,
        static=True,
    )

    def __post_init__(self):
        validate.draws(num_samples=self.num_samples, num_confirm=self.num_confirm)
        if self.num_confirm <= self.num_samples:
            raise BadValue(
                f"num_confirm (N) must be larger than {term('num_samples')} (n), but was "
                f"{self.num_confirm} <= {self.num_samples}: the bound is valid only if the "
                "confirmation has more draws than the search."
            )
        validate.one_of(KERNELS, kernel=self.kernel)
        validate.one_of(("auto", "binned", "direct"), density=self.density)
        validate.one_of(("lower-bound", "loss"), objective=self.objective)
        validate.positive_int(at_least=16, num_nodes=self.num_nodes)
        validate.within_limit("cells", self.num_nodes, "num_nodes of a lattice is too large")
        # None is a placeholder of JAX, but also a value that a user may pass by mistake.
        if self.bandwidth is None or not validate.is_traced(self.bandwidth):
            asked: Any = self.bandwidth
            object.__setattr__(self, "bandwidth", as_rule(asked))
        if isinstance(self.floor, int):
            validate.non_negative(floor=self.floor)
            object.__setattr__(self, "floor", float(self.floor))
        if self.undersmoothing is not None and np.ndim(self.undersmoothing):
            raise BadType(f"undersmoothing must be a number >= 0, but was {self.undersmoothing!r}.")
        fixed = self.bandwidth.bandwidth if isinstance(self.bandwidth, Fixed) else None
        _check(bandwidth=fixed, floor=self.floor, undersmoothing=self.undersmoothing)

    @property
    def confirm_undersmoothing(self) -> float:
        """Value of gamma: `undersmoothing`, or the default if `undersmoothing` is None.

        Condition (C4) is gamma > nu / (6 (1 + nu)), where nu is defined by N = n^(1 + nu).
        """
        if self.undersmoothing is not None:
            return self.undersmoothing
        nu = math.log(self.num_confirm) / math.log(self.num_samples) - 1
        return max(0.02, 1.01 * nu / (6 * (1 + nu)))


def _check(**options: Any) -> None:
    """Check that values, or arrays of values for `jax.vmap`, are neither negative nor large."""
    for name, value in options.items():
        if not validate.is_traced(value):
            validate.non_negative(**{name: value})
            if np.max(value) > _MOST[name]:
                raise BadValue(f"{name} must be at most {_MOST[name]:.3g}, but was {value!r}.")
