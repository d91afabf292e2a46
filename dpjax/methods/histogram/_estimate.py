"""What the LDP and the Renyi histogram estimators share: the draws, and the shape of an answer.

Every input is drawn once, n outputs of it, and counted as they come; all pairs are compared on
these counts. So k inputs cost k samplings, whatever the number of pairs, and memory holds one
block of draws and the counts.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Algorithms 1-4.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from dpjax.core import random, validate
from dpjax.core.errors import Status, Stopped
from dpjax.core.execution import Execution, default_execution, map_batched
from dpjax.core.jit import jit_by_class
from dpjax.core.numerics import WideCount
from dpjax.core.streaming import Blocks, blocks_of, category_counts, in_calls, reduce_samples
from dpjax.core.types import FiniteSpace, RealSpace
from dpjax.core.wording import BadValue
from dpjax.inference import Plan
from dpjax.mechanisms import TruncatedLaplace
from dpjax.partitions._intervals import interval_counts


@dataclass(frozen=True)
class Unplanned:
    """Intervals and samples chosen by hand: an estimate without a guarantee.

    Attributes:
        num_intervals: m.
        num_samples: n, draws at each input.
    """

    num_intervals: int
    num_samples: int

    def __post_init__(self):
        """Checks both numbers."""
        validate.positive_int(num_intervals=self.num_intervals, num_samples=self.num_samples)


@dataclass(frozen=True)
class HistogramResult:
    """Estimates of one or more runs; a run that failed has no number.

    Attributes:
        inputs: [k, ...], where was drawn.
        pairs: int [num_pairs, 2], which inputs were compared.
        levels: float64 [num_runs, num_pairs], masked where a pair failed.
        counts: int64 [num_runs, k, m].
        plan: What was planned, or `Unplanned`.
        order: alpha of a Renyi level, or None for LDP.
    """

    inputs: np.ndarray
    pairs: np.ndarray
    levels: np.ma.MaskedArray = field(repr=False)
    counts: np.ndarray = field(repr=False)
    plan: Plan | Unplanned
    order: float | None

    @property
    def estimates(self) -> np.ma.MaskedArray:
        """The largest level of each run over its pairs, masked where every pair failed."""
        return np.ma.masked_array(self.levels.max(axis=-1))

    @property
    def num_runs(self) -> int:
        """How many independent runs there were."""
        return len(self.levels)

    @property
    def num_failed(self) -> int:
        """How many runs failed, that is, had an empty interval in every pair."""
        return int(np.sum(np.ma.getmaskarray(self.estimates)))

    @property
    def status(self) -> Status:
        """EMPTY_INTERVAL where every run failed."""
        return Status.EMPTY_INTERVAL if self.num_failed == self.num_runs else Status.OK

    @property
    def confidence(self) -> float | None:
        """Least probability that a run is within the plan's precision; None where unplanned."""
        return self.plan.confidence if isinstance(self.plan, Plan) else None

    def witness(self, run: int = 0) -> tuple[np.ndarray, np.ndarray] | None:
        """The two inputs with the largest level in a run; None where the run failed."""
        if np.ma.getmaskarray(self.estimates)[run]:
            return None
        first, second = self.pairs[int(self.levels[run].argmax())]
        return self.inputs[first], self.inputs[second]

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and strings; a failed run is null."""
        settings = self.plan.to_dict() if isinstance(self.plan, Plan) else vars(self.plan)
        witness = self.witness(0)
        return {
            "estimates": self.estimates.tolist(),
            "status": self.status.name,
            "message": self.status.sentence,
            "num_runs": self.num_runs,
            "num_failed": self.num_failed,
            "order": self.order,
            "witness": None if witness is None else [end.tolist() for end in witness],
            "plan": settings,
        }


def draws_per_second() -> float:
    """Measures how fast outputs are drawn and counted here, on a mechanism of typical cost.

    Returns:
        Draws per second of the truncated Laplace mechanism into 100 intervals, compiled, best of
        three.
    """
    num_samples = 2**21
    rates = []
    for repeat in range(4):
        start = time.perf_counter()
        counts = count_outputs(
            TruncatedLaplace(1.0),
            jnp.array([0.0, 1.0]),
            random.as_key(repeat),
            jnp.arange(1, dtype=jnp.int32),
            (0.0, 1.0),
            blocks_of(num_samples),
            num_intervals=100,
            execution=default_execution(),
        )
        jax.block_until_ready(counts)
        rates.append(2 * num_samples / (time.perf_counter() - start))
    # The first repeat also compiles.
    return max(rates[1:])


def midpoints(low: float, high: float, num_inputs: int) -> np.ndarray:
    """Mid-points of `num_inputs` equal buckets of the input interval [low, high].

    Args:
        low: Lower end.
        high: Upper end.
        num_inputs: k.

    Returns:
        float64 [k].

    References:
        Gorla et al., Algorithm 2.
    """
    validate.increasing(low, high, name="the input interval")
    validate.positive_int(num_inputs=num_inputs)
    return low + (high - low) * (np.arange(num_inputs) + 0.5) / num_inputs


def estimate(
    mechanism: Any,
    inputs: Any,
    plan: Plan | Unplanned,
    key: Any,
    *,
    order: float | None,
    levels: Callable[[np.ndarray, np.ndarray], np.ma.MaskedArray],
    pairs: Sequence[tuple[int, int]] | None,
    num_runs: int,
    output_interval: tuple[float, float] | None,
    execution: Execution | None,
) -> HistogramResult:
    """Draws, counts and compares; arguments as `histogram_ldp`, `levels` turns counts to levels."""
    inputs = np.asarray(inputs)
    if inputs.ndim == 0 or len(inputs) < 2:
        raise ValueError(f"inputs must be at least two, but had shape {inputs.shape}.")
    if isinstance(plan, Plan) and plan.num_inputs != len(inputs):
        raise ValueError(
            f"inputs must be the {plan.num_inputs} that were planned for, but were {len(inputs)}."
        )
    validate.positive_int(num_runs=num_runs)
    interval = output_interval_of(mechanism, plan, output_interval)
    counts = np.zeros((num_runs, len(inputs), plan.num_intervals), np.int64)
    drawn, num_draws = 0, num_runs * len(inputs) * plan.num_samples

    def launch(blocks: Blocks) -> WideCount:
        return count_outputs(
            mechanism,
            inputs,
            random.as_key(key),
            np.arange(num_runs, dtype=np.int32),
            interval,
            blocks,
            num_intervals=plan.num_intervals,
            execution=execution or default_execution(),
        )

    streams = num_runs * len(inputs)
    tell = None if execution is None else execution.progress
    if tell is not None:
        tell(0, num_draws)
    try:
        for part, size in in_calls(launch, blocks_of(plan.num_samples), streams):
            counts += part[..., :-1]
            drawn += streams * size
            if tell is not None:
                tell(drawn, num_draws)
    except KeyboardInterrupt:
        raise Stopped(
            f"Stopped after {drawn} of {num_draws} outputs, which are too few for an answer."
        ) from None
    num_outside = num_draws - int(counts.sum())
    if num_outside:
        where = "the finite space" if interval is None else f"[{interval[0]:g}, {interval[1]:g}]"
        raise ValueError(
            f"mechanism must give outputs in {where}, but {num_outside} of {num_draws} draws "
            "lay outside: the histogram estimators are for a closed interval that holds every "
            "output."
        )
    compared = _pairs(pairs, len(inputs))
    return HistogramResult(inputs, compared, levels(counts, compared), counts, plan, order)


@jit_by_class(static_argnames=("num_intervals", "execution"))
def count_outputs(
    mechanism: Any,
    inputs: Array,
    key: Array,
    runs: Array,
    interval: tuple[float, float] | None,
    blocks: Blocks,
    *,
    num_intervals: int,
    execution: Execution,
) -> WideCount:
    """Counts n outputs at every input, in independent runs.

    Args:
        mechanism: A pytree with `sample(key, database, num_samples)`.
        inputs: [k, ...].
        key: Typed key of all runs.
        runs: int32 [num_runs], run numbers; each key is folded from (run, input, block).
        interval: Ends of the output interval, or None for outputs 0..m - 1.
        blocks: Of n outputs, or a part of them.
        num_intervals: m.
        execution: Layout on the machine; never changes the counts.

    Returns:
        WideCount [num_runs, k, m + 1]; outputs that lie outside are in the last entry, and so is
        the padding of the last block.
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


def output_interval_of(
    mechanism: Any, plan: Any, given: tuple[float, float] | None
) -> tuple[float, float] | None:
    """Ends of the output interval, or None for a finite space; checked against the plan."""
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


def all_pairs_of(num_inputs: int) -> np.ndarray:
    """Numbers of all pairs of inputs, int [k (k - 1) / 2, 2]."""
    return np.array(list(combinations(range(num_inputs), 2)))


def _pairs(pairs: Sequence[tuple[int, int]] | None, num_inputs: int) -> np.ndarray:
    if pairs is None:
        return all_pairs_of(num_inputs)
    compared = np.asarray(pairs)
    if compared.ndim != 2 or compared.shape[1] != 2 or compared.dtype.kind not in "iu":
        raise BadValue(f"pairs must be a list of (first, second) input numbers, was {pairs!r}.")
    if np.any((compared < 0) | (compared >= num_inputs)):
        raise BadValue(f"pairs must number inputs below {num_inputs}, but were {pairs!r}.")
    return compared
