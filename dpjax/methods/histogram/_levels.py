"""Estimates of LDP and Renyi levels from histograms, with a finite-sample guarantee.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Algorithms 1-4.
"""

from collections.abc import Sequence
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from dpjax.core import random, validate
from dpjax.core.errors import Stopped
from dpjax.core.execution import Execution, over_devices
from dpjax.core.numerics import WideCount
from dpjax.core.streaming import Blocks, blocks_of, in_calls
from dpjax.core.wording import BadValue
from dpjax.inference import Plan, ldp_levels, renyi_levels
from dpjax.mechanisms import Mechanism
from dpjax.methods.histogram._counts import count_outputs, output_interval_of
from dpjax.methods.histogram._estimate import HistogramResult, Unplanned


def histogram_levels(
    mechanism: Mechanism,
    inputs: object,
    plan: Plan | Unplanned,
    key: object,
    *,
    order: float | None = None,
    pairs: Sequence[tuple[int, int]] | None = None,
    num_runs: int = 1,
    output_interval: tuple[float, float] | None = None,
    execution: Execution | None = None,
) -> HistogramResult:
    """Estimate the LDP epsilon or the Renyi level of a mechanism for given inputs.

    For two inputs, the function runs Algorithm 1 (LDP) or 3 (Renyi). For the midpoints of an input
    interval (see `midpoints`), the function runs Algorithm 2 or 4. For any other list of inputs,
    the function runs the variant of the algorithm for finitely many inputs. The Renyi level of a
    pair is the larger of the levels in its two directions. A pair with an empty interval fails and
    is skipped. A run has no estimate if all of its pairs fail.

    If `plan` is a `Plan`, then P(|estimate - level| <= precision) >= confidence, as in
    Theorems 2, 4 and 6.

    Args:
        mechanism: Mechanism with outputs in an interval or a finite space.
        inputs: Array [k, ...], the inputs.
        plan: Result of `plan` or `plan_finite`. For an estimate without a guarantee, pass an
            `Unplanned`.
        key: Integer seed or typed JAX key.
        order: alpha > 1 of a Renyi level, or None for LDP. The order may be omitted if the plan has
            an order.
        pairs: Pairs of indices (first, second) of the inputs to compare. If `pairs` is None, all
            k (k - 1) / 2 pairs are compared.
        num_runs: Number of independent runs.
        output_interval: Ends (low, high) of the output interval, or None if the mechanism specifies
            them.
        execution: Execution options, which never change the estimates.

    Returns:
        Estimates, levels of all pairs, counts, and the number of failed runs.

    Raises:
        TypeError: If the output space is neither real nor finite.
        ValueError: If an argument contradicts the plan, or if an output is outside the output
            interval.

    References:
        Gorla et al., Algorithms 1 to 4, Theorems 2, 4 and 6, Remark 2, eq. (17).
    """
    validate.positive_int(num_runs=num_runs)
    if isinstance(plan, Plan):
        if order is not None and order != plan.order:
            raise BadValue(f"order must equal the plan's order, {plan.order!r}, but was {order!r}.")
        order = plan.order
    runs = np.arange(num_runs, dtype=np.int32)
    counts, inputs = counts_of_runs(
        mechanism, inputs, plan, key, runs, output_interval=output_interval, execution=execution
    )
    return compared(inputs, counts, plan, order, pairs)


def counts_of_runs(
    mechanism: Mechanism,
    inputs: object,
    plan: Plan | Unplanned,
    key: object,
    runs: NDArray[np.int32],
    *,
    output_interval: tuple[float, float] | None,
    execution: Execution | None,
) -> tuple[NDArray[np.int64], np.ndarray]:
    """Draw the outputs of a batch of runs, and count them.

    See `histogram_levels` for the arguments and errors.

    Returns:
        Counts, int64 [runs, k, m], and the inputs as an array.
    """
    inputs = np.asarray(inputs)
    if inputs.ndim == 0 or len(inputs) < 2:
        raise ValueError(f"inputs must hold at least two inputs, but had shape {inputs.shape}.")
    if isinstance(plan, Plan) and plan.num_inputs != len(inputs):
        raise ValueError(
            f"inputs must have the plan's length, {plan.num_inputs}, but had length {len(inputs)}."
        )
    interval = output_interval_of(mechanism, plan, output_interval)
    execution = execution or Execution()
    counts = np.zeros((len(runs), len(inputs), plan.num_intervals), np.int64)
    streams = len(runs) * len(inputs)
    drawn, num_draws, tell = 0, streams * plan.num_samples, execution.progress

    def launch(blocks: Blocks) -> WideCount:
        return over_devices(
            count_outputs,
            (mechanism, inputs, random.as_key(key), interval, blocks),
            runs,
            execution,
            num_intervals=plan.num_intervals,
        )

    if tell is not None:
        tell(0, num_draws)
    try:
        for part, size in in_calls(launch, blocks_of(plan.num_samples), streams):
            # Drop the last entry, which counts surplus draws and outputs outside the interval.
            counts += part[..., :-1]
            drawn += streams * size
            if tell is not None:
                tell(drawn, num_draws)
    except KeyboardInterrupt:
        raise Stopped(
            f"Stopped after {drawn} of {num_draws} outputs, which are too few for an estimate."
        ) from None
    num_outside = num_draws - int(counts.sum())
    if num_outside:
        where = "the finite space" if interval is None else f"[{interval[0]:g}, {interval[1]:g}]"
        raise ValueError(
            f"mechanism must return outputs in {where}, but {num_outside} of {num_draws} draws "
            "lay outside: the histogram estimators need a closed interval that contains every "
            "output."
        )
    return counts, inputs


def compared(
    inputs: np.ndarray,
    counts: NDArray[np.int64],
    plan: Plan | Unplanned,
    order: float | None,
    pairs: Sequence[tuple[int, int]] | NDArray[np.int64] | None = None,
) -> HistogramResult:
    """Compute the level of each pair of inputs from the counts for its two inputs.

    Args:
        inputs: Array [k, ...], the inputs.
        counts: int64 [runs, k, m], number of draws in each interval for each input.
        plan: Plan that determined the numbers of draws and intervals, or `Unplanned`.
        order: alpha of a Renyi level, or None for LDP.
        pairs: As in `histogram_levels`.
    """
    levels = ldp_levels if order is None else partial(renyi_levels, order=order)
    places = _pairs(pairs, len(inputs))
    return HistogramResult(inputs, places, levels(counts, places), counts, plan, order)


def _pairs(
    pairs: Sequence[tuple[int, int]] | NDArray[np.int64] | None, num_inputs: int
) -> np.ndarray:
    """Return the indices of the inputs of each pair, int [pairs, 2]."""
    if pairs is None:
        return np.array(list(combinations(range(num_inputs), 2)))
    compared = np.asarray(pairs)
    if compared.ndim != 2 or compared.shape[1] != 2 or compared.dtype.kind not in "iu":
        raise BadValue(f"pairs must be a list of (first, second) indices, but was {pairs!r}.")
    if np.any((compared < 0) | (compared >= num_inputs)):
        raise BadValue(f"pairs must hold indices >= 0 and < {num_inputs}, but were {pairs!r}.")
    return compared
