"""The LDP epsilon by histograms, with a finite-sample guarantee: Algorithms 1 and 2.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Algorithms 1 and 2, Theorems 2 and 4.
"""

from collections.abc import Sequence
from typing import Any

from dpjax.core.execution import Execution
from dpjax.inference import Plan
from dpjax.inference._levels import ldp_levels
from dpjax.methods.histogram._estimate import HistogramResult, Unplanned, estimate


def histogram_ldp(
    mechanism: Any,
    inputs: Any,
    plan: Plan | Unplanned,
    key: Any,
    *,
    pairs: Sequence[tuple[int, int]] | None = None,
    num_runs: int = 1,
    output_interval: tuple[float, float] | None = None,
    execution: Execution | None = None,
) -> HistogramResult:
    """Estimates the LDP epsilon of a mechanism at given inputs.

    Two inputs are Algorithm 1; the mid-points of an input interval (see `midpoints`) are Algorithm
    2; any other finite list of inputs is its variant for a finite input set. A pair with an empty
    interval fails and is left out; a run fails where every pair does, and then has no estimate.

    With a plan, P(|estimate - epsilon| <= precision) >= confidence, as in Theorems 2 and 4; which
    counts its bound covers is said in `dpjax.inference.plan`'s module.

    Args:
        mechanism: Outputs in an interval or a finite space.
        inputs: [k, ...], the inputs to draw at.
        plan: Made by `plan` or `plan_finite`; `Unplanned` gives estimates without a guarantee.
        key: Integer seed or typed key.
        pairs: Which inputs are compared, by number; all k (k - 1) / 2 pairs if None.
        num_runs: Independent runs.
        output_interval: Ends of the outputs, where the mechanism does not state them.
        execution: Layout on the machine; never changes the estimates.

    Returns:
        Estimates, levels of all pairs, counts, and how many runs failed.

    Raises:
        TypeError: The outputs are neither reals nor finitely many; the plan is for Renyi.
        ValueError: An argument does not fit the plan, or outputs lie outside their interval.

    References:
        Gorla et al., Algorithms 1 and 2, Theorems 2 and 4, Remark 2.
    """
    if getattr(plan, "order", None) is not None:
        raise TypeError("plan must be for LDP (order=None), but has an order: use histogram_rdp.")
    return estimate(
        mechanism,
        inputs,
        plan,
        key,
        order=None,
        levels=ldp_levels,
        pairs=pairs,
        num_runs=num_runs,
        output_interval=output_interval,
        execution=execution,
    )
