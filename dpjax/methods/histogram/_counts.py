"""Counts of outputs in intervals.

Each input has one array of counts. All pairs that contain the input use this array. Only the counts
and one block of draws are held in memory.
"""

import math
import time
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core import random, validate
from dpjax.core.categories import category_counts, interval_counts
from dpjax.core.execution import Execution, map_batched
from dpjax.core.jit import jit_by_class
from dpjax.core.numerics import WideCount
from dpjax.core.streaming import Blocks, blocks_of, reduce_samples
from dpjax.core.types import FiniteSpace, RealSpace
from dpjax.core.wording import BadValue
from dpjax.inference import Plan
from dpjax.mechanisms import Mechanism, TruncatedLaplace
from dpjax.methods.histogram._estimate import Unplanned


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
    """For every run and every input, count how many of n outputs fall in each interval.

    Args:
        mechanism: Pytree with a method `sample(key, database, num_samples)`.
        inputs: Array [k, ...], the inputs.
        key: Typed JAX key for all runs.
        interval: Ends of the output interval, or None for outputs from 0 to m - 1.
        blocks: All or some of the blocks into which the n outputs are divided.
        runs: int32 [runs], indices of the runs. The key of each block is derived from the run, the
            input and the block.
        num_intervals: m, the number of intervals or outputs.
        execution: Execution options, which never change the counts.

    Returns:
        Counts, WideCount [runs, k, m + 1]. Entry m is the number of draws outside the interval plus
        the number of surplus draws in the last block.
    """
    if interval is None:
        reducer = category_counts(num_intervals)
    else:
        reducer = interval_counts(*interval, num_intervals)

    at_once = execution.blocks(len(runs), len(inputs))

    def one_input(run_key: Array, index: Array) -> WideCount:
        stream = random.fold_in(run_key, index)

        def draw(block: Array) -> Array:
            return mechanism.sample(random.fold_in(stream, block), inputs[index], blocks.size)

        return reduce_samples(draw, reducer, blocks, at_once=at_once)

    def one_run(run: Array) -> WideCount:
        run_key = random.fold_in(key, run)
        indices = jnp.arange(inputs.shape[0], dtype=jnp.int32)
        return map_batched(partial(one_input, run_key), indices, execution.pairs)

    return map_batched(one_run, runs, execution.runs)


def draws_per_second() -> float:
    """Measure how many draws this machine can make and count per second for a typical mechanism.

    Returns:
        Number of draws per second from the truncated Laplace mechanism, counted in 100 intervals.
        The number is the largest of three measurements. The measurements exclude compilation.
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
            execution=Execution(),
        )
        jax.block_until_ready(counts)
        rates.append(2 * num_samples / (time.perf_counter() - start))
    # Discard the first measurement, which includes compilation.
    return max(rates[1:])


def output_interval_of(
    mechanism: Mechanism, plan: Plan | Unplanned, given: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Validate a plan for a mechanism, and return the ends of the output interval.

    The result is None if the mechanism has finitely many outputs.

    Args:
        mechanism: Mechanism whose outputs are counted.
        plan: Plan of the estimate, or the sizes of an estimate without a plan.
        given: Ends of the output interval, or None if the mechanism specifies them.

    Raises:
        TypeError: If the output space contains neither real numbers nor finitely many outcomes.
        ValueError: If the plan or the interval is not suitable for the mechanism.
    """
    space = mechanism.output_space
    finite = isinstance(space, FiniteSpace)
    if finite and plan.num_intervals != space.size:
        raise ValueError(
            f"plan must have num_intervals = {space.size}, the number of outputs of the mechanism, "
            f"but had {plan.num_intervals}: create the plan with plan_finite."
        )
    if finite:
        return None
    if not isinstance(space, RealSpace):
        raise TypeError(
            "mechanism must have real outputs or finitely many outputs because intervals of "
            f"{space} are not defined."
        )
    low, high = (space.low, space.high) if given is None else given
    if math.isinf(low) or math.isinf(high):
        raise BadValue(
            "output_interval must be given because the mechanism does not bound its outputs: they "
            f"are {space}."
        )
    validate.increasing(low, high, name="output_interval")
    width = getattr(getattr(plan, "assumption", None), "width", high - low)
    if not math.isclose(width, high - low, rel_tol=1e-6):
        raise ValueError(
            f"plan must be for an output interval of width {high - low:g}, but is for width "
            f"{width:g}."
        )
    return float(low), float(high)
