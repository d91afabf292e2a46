"""Counts of outputs in intervals: each input is sampled once, and all its pairs share the counts.

Thus k inputs cost k samples, whatever the number of pairs. Memory holds one block of draws and the
counts.
"""

import math
import time
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core import random, validate
from dpjax.core.categories import category_counts
from dpjax.core.execution import Execution, default_execution, map_batched
from dpjax.core.jit import jit_by_class
from dpjax.core.numerics import WideCount
from dpjax.core.streaming import Blocks, blocks_of, reduce_samples
from dpjax.core.types import FiniteSpace, RealSpace
from dpjax.core.wording import BadValue
from dpjax.inference import Plan
from dpjax.mechanisms import Mechanism, TruncatedLaplace
from dpjax.methods.histogram._estimate import Unplanned
from dpjax.partitions._intervals import interval_counts


@jit_by_class(static_argnames=("num_intervals", "execution"))
def count_outputs(
    mechanism: Mechanism,
    inputs: Array,
    key: Array,
    interval: tuple[float, float] | None,
    blocks: Blocks,
    runs: Array,
    *,
    num_intervals: int,
    execution: Execution,
) -> WideCount:
    """Count n outputs at every input, in independent runs.

    Args:
        mechanism: A pytree with `sample(key, database, num_samples)`.
        inputs: Inputs at which to draw, [k, ...].
        key: Typed key of all runs.
        interval: Ends of the output interval, or None for outputs 0..m - 1.
        blocks: All or some of the blocks of n outputs.
        runs: Indices of the runs, int32 [runs]; each key is folded from (run, input, block).
        num_intervals: m, number of intervals or outputs.
        execution: Execution options, which never change the counts.

    Returns:
        WideCount [runs, k, m + 1]; the last entry counts outputs outside the interval and the
        padding of the last block.
    """
    if interval is None:
        reducer = category_counts(num_intervals)
    else:
        reducer = interval_counts(*interval, num_intervals)

    def one_input(run_key: Array, index: Array) -> WideCount:
        stream = random.fold_in(run_key, index)

        def draw(block: Array) -> Array:
            return mechanism.sample(random.fold_in(stream, block), inputs[index], blocks.size)

        return reduce_samples(draw, reducer, blocks)

    def one_run(run: Array) -> WideCount:
        run_key = random.fold_in(key, run)
        indices = jnp.arange(inputs.shape[0], dtype=jnp.int32)
        return map_batched(partial(one_input, run_key), indices, execution.pairs_at_once)

    return map_batched(one_run, runs, execution.runs_at_once)


def draws_per_second() -> float:
    """Measure the speed of drawing and counting on this machine, for a typical mechanism.

    Returns:
        Draws per second of the truncated Laplace mechanism, counted in 100 intervals; best of three
        measurements without compilation.
    """
    num_samples = 2**21
    rates = []
    for repeat in range(4):
        start = time.perf_counter()
        counts = count_outputs(
            TruncatedLaplace(1.0),
            jnp.array([0.0, 1.0]),
            random.as_key(repeat),
            (0.0, 1.0),
            blocks_of(num_samples),
            jnp.zeros(1, jnp.int32),
            num_intervals=100,
            execution=default_execution(),
        )
        jax.block_until_ready(counts)
        rates.append(2 * num_samples / (time.perf_counter() - start))
    # The first repeat also compiles.
    return max(rates[1:])


def output_interval_of(
    mechanism: Mechanism, plan: Plan | Unplanned, given: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Return the ends of the output interval, or None for a finite space, and check the plan."""
    space = mechanism.output_space
    finite = isinstance(space, FiniteSpace)
    if finite and plan.num_intervals != space.size:
        raise ValueError(
            f"plan must count the {space.size} outputs of the mechanism (num_intervals; see "
            f"plan_finite), but counts {plan.num_intervals}."
        )
    if finite:
        return None
    if not isinstance(space, RealSpace):
        raise TypeError(
            f"mechanism must have finite or real outputs, but they are {space}: intervals are not "
            "defined there."
        )
    low, high = (space.low, space.high) if given is None else given
    if math.isinf(low) or math.isinf(high):
        raise BadValue(
            f"output_interval must be given for a mechanism that does not bound its outputs; they "
            f"are {space}."
        )
    validate.increasing(low, high, name="output_interval")
    width = getattr(getattr(plan, "assumption", None), "width", high - low)
    if not math.isclose(width, high - low, rel_tol=1e-6):
        raise ValueError(
            f"plan must be for outputs of width {high - low:g}, but is for width {width:g}."
        )
    return float(low), float(high)
