"""The Renyi LDP level by histograms, with a finite-sample guarantee: Algorithms 3 and 4.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Algorithms 3 and 4, Theorem 6.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

from dpjax.core.execution import Execution
from dpjax.core.wording import BadValue
from dpjax.inference import Plan
from dpjax.inference._assumptions import check_order
from dpjax.inference._levels import renyi_levels
from dpjax.methods.histogram._estimate import HistogramResult, Unplanned, estimate


def histogram_rdp(
    mechanism: Any,
    inputs: Any,
    plan: Plan | Unplanned,
    key: Any,
    *,
    order: float | None = None,
    pairs: Sequence[tuple[int, int]] | None = None,
    num_runs: int = 1,
    output_interval: tuple[float, float] | None = None,
    execution: Execution | None = None,
) -> HistogramResult:
    """Estimates the Renyi LDP level of a mechanism at given inputs.

    Two inputs are Algorithm 3; mid-points of an input interval are Algorithm 4. The level of a
    pair is the larger of its two directions. Failures are as in `histogram_ldp`.

    Args:
        mechanism: As `histogram_ldp`.
        inputs: As `histogram_ldp`.
        plan: Made with an order; `Unplanned` gives estimates without a guarantee.
        key: Integer seed or typed key.
        order: alpha > 1; needed where unplanned, otherwise that of the plan.
        pairs: As `histogram_ldp`.
        num_runs: Independent runs.
        output_interval: As `histogram_ldp`.
        execution: As `histogram_ldp`.

    Returns:
        Estimates, levels of all pairs, counts, and how many runs failed.

    Raises:
        TypeError: The outputs are neither reals nor finitely many; the plan is for LDP.
        ValueError: An argument does not fit the plan, or outputs lie outside their interval.

    References:
        Gorla et al., Algorithms 3 and 4, Theorem 6, eq. (17).
    """
    if isinstance(plan, Plan):
        if plan.order is None:
            raise TypeError("plan must be for Renyi (order=...), but is for LDP.")
        if order is not None and order != plan.order:
            raise BadValue(f"order must be that of the plan, {plan.order!r}, but was {order!r}.")
        order = plan.order
    elif order is None:
        raise BadValue("order must be a number > 1 where there is no plan, but was None.")
    check_order(order)
    return estimate(
        mechanism,
        inputs,
        plan,
        key,
        order=order,
        levels=partial(renyi_levels, order=order),
        pairs=pairs,
        num_runs=num_runs,
        output_interval=output_interval,
        execution=execution,
    )
