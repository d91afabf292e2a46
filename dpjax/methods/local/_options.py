"""The local approach as a method: everything that changes its answer."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import jax

from dpjax.core import validate
from dpjax.core.options import option
from dpjax.core.wording import BadValue, term
from dpjax.densities import KERNELS, as_rule

if TYPE_CHECKING:
    from dpjax.notions import Terms
    from dpjax.results import Finding
    from dpjax.sources import Source


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Local:
    """Lower bound from densities at one output, asymptotic (DPL and MPL).

    It is for what JAX draws and for recorded arrays. Sizes and names are static in compiled
    programs; floor and bandwidth may be traced.

    Attributes:
        num_samples: n, draws at each side of each pair in the search stage. Recorded outputs are
            split by their source instead.
        num_confirm: N > n, fresh draws at each side of the chosen pair.
        region: Where outputs are compared: (low, high) for numbers and vectors, a list of outcomes
            for a finite space. If None, the standard region of a built-in mechanism, all of a
            finite space, or the range of a pilot's outputs.
        bandwidth: A rule of the search stage, its name or a number; the confirm stage uses its mean
            over both sides. Wider than the paper's Silverman, Scott's rule gives a smaller error
            and a tighter bound.
        floor: tau, below which a density is not believed; None for 20 draws' worth, q = 20 / n
            and at most 0.01, for frequencies, and q / s^d for densities of data with spread s in d
            dimensions.
        kernel: Name of the kernel.
        density: How densities are estimated: "binned" (d = 1), "direct", or "auto" for the first
            that applies.
        num_nodes: Lattice nodes of the binned method. `audit` takes more where the bandwidth needs
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

    num_samples: int = option("", default=20_000, static=True)
    num_confirm: int = option("", default=50_000, static=True)
    region: Any = option("", default=None)
    bandwidth: Any = option(
        "silverman, scott, hoelder, cross-validated, or a number.",
        default="scott",
        kind="float | str",
        metavar="RULE|NUMBER",
    )
    floor: Any = option("Densities below it are not believed.", default=None, kind="float")
    kernel: str = option(
        "gaussian, laplace, epanechnikov or biweight.",
        default="gaussian",
        choices=("gaussian", "laplace", "epanechnikov", "biweight"),
        static=True,
    )
    density: str = option(
        "How densities are estimated: binned, direct or auto.",
        default="auto",
        choices=("binned", "direct", "auto"),
        static=True,
    )
    num_nodes: int = option("Lattice nodes of binned densities.", default=512, static=True)
    objective: str = option(
        "What the search maximises: lower-bound, or loss as in the paper.",
        default="lower-bound",
        choices=("lower-bound", "loss"),
        static=True,
    )
    undersmoothing: float | None = option(
        "gamma of the bandwidth that confirms; follows if not given.", default=None, static=True
    )
    name: ClassVar[str] = "local"

    def __post_init__(self):
        validate.draws(num_samples=self.num_samples, num_confirm=self.num_confirm)
        if self.num_confirm <= self.num_samples:
            raise BadValue(
                f"num_confirm (N) must be larger than {term('num_samples')} (n), but was "
                f"{self.num_confirm} <= {self.num_samples}: the bound is only valid when the "
                "confirm stage is finer."
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

    def run(self, source: "Source", pairs: Any, terms: "Terms") -> "Finding":
        """One audit.

        Args:
            source: Drawn by JAX, or recorded in memory.
            pairs: Of databases, as a person writes them.
            terms: Of the audit.

        Raises:
            ValueError: delta > 0, outputs without a density, or no output in the region.
            TypeError: The source has no densities that could be estimated.
        """
        # Only here, for the kernels know their settings but not what is made of their sums.
        from dpjax.methods.local._audit import audit_local

        return audit_local(self, source, pairs, terms)
