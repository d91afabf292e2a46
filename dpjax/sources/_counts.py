"""Counts of cells, and fresh counts of an event made of them, for all runs and pairs at once.

Between the two stages the host chooses pair and event (`dpjax.inference.choose_event`), so there
are two kernels here and no decision.

References:
    Askin, Kutta, Dette (2022), Algorithm 4, for the two stages that share no draw.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from dpjax import _random
from dpjax._batching import Execution, map_batched
from dpjax._jit import jit_by_class
from dpjax._numerics import WideCount
from dpjax._streaming import Blocks, Reducer, category_counts, drawn_once, reduce_samples
from dpjax.partitions import Cells
from dpjax.sources._streams import CONFIRM, SEARCH, Drawn, Source


@jit_by_class(static_argnames=("execution",))
def cell_counts_runs(
    mechanism: Any,
    database: Array,
    neighbor: Array,
    cells: Cells,
    num_samples: Blocks,
    key: Array,
    runs: Array,
    *,
    execution: Execution,
) -> WideCount:
    """The search stage: how often each cell happens at both sides of every pair.

    Args:
        mechanism: A pytree with `sample(key, database, num_samples)`.
        database: [pairs, ...].
        neighbor: [pairs, ...].
        cells: Partition of the outputs.
        num_samples: n, draws at each side of each pair, as `blocks_of` cuts them: all sizes with
            the same blocks share one compiled program.
        key: Typed key of all runs.
        runs: int32 [runs], run numbers; each run's key is folded from its number.
        execution: Layout on the machine; never changes the counts.

    Returns:
        Counts [runs, pairs, 2, cells].
    """

    def one_run(run: Array) -> WideCount:
        source = Drawn(mechanism, database, neighbor, _random.fold_in(key, run))
        pairs = jnp.arange(source.num_pairs, dtype=jnp.int32)
        return map_batched(
            lambda pair: _cell_counts(source, pair, cells, num_samples),
            pairs,
            execution.pairs_at_once,
        )

    with jax.named_scope("search"):
        return map_batched(one_run, runs, execution.runs_at_once)


@jit_by_class(static_argnames=("execution",))
def event_counts_runs(
    mechanism: Any,
    database: Array,
    neighbor: Array,
    cells: Cells,
    num_confirm: Blocks,
    key: Array,
    runs: Array,
    pairs: Array,
    events: Array,
    *,
    execution: Execution,
) -> WideCount:
    """The confirm stage: how often one event happens in fresh draws of one pair.

    Args:
        mechanism: As in `cell_counts_runs`, as the databases, cells, key, runs and execution.
        database: [pairs, ...].
        neighbor: [pairs, ...].
        cells: Partition of the outputs.
        num_confirm: N, fresh draws at each side, as `blocks_of` cuts them.
        key: Typed key of all runs.
        runs: int32 [runs].
        pairs: int32 [runs], the chosen pair of each run.
        events: bool [runs, cells], the cells of each run's event.
        execution: Layout on the machine.

    Returns:
        Counts [runs, 2].
    """

    def one_run(chosen: tuple[Array, Array, Array]) -> WideCount:
        run, pair, event = chosen
        source = Drawn(mechanism, database, neighbor, _random.fold_in(key, run))
        return _event_counts(source, pair, cells, event, num_confirm)

    with jax.named_scope("confirm"):
        return map_batched(one_run, (runs, pairs, events), execution.runs_at_once)


def _cell_counts(source: Source, pair: Array, cells: Cells, num_samples: int | Blocks) -> WideCount:
    counts = _both_sides(source, pair, SEARCH, num_samples, cells, category_counts(cells.size))
    return WideCount(*(limb[:, :-1] for limb in counts))


def _event_counts(
    source: Source, pair: Array, cells: Cells, event: Array, num_confirm: int | Blocks
) -> WideCount:
    def update(carry: WideCount, numbers: Array, valid: Array) -> WideCount:
        return carry.add(jnp.sum(event[numbers] & valid, dtype=jnp.int32))

    reducer = Reducer(WideCount.zeros, update)
    return _both_sides(source, pair, CONFIRM, num_confirm, cells, reducer)


def _both_sides(
    source: Source,
    pair: Array,
    stage: int,
    num_samples: int | Blocks,
    cells: Cells,
    reducer: Reducer,
) -> WideCount:
    """Streams the numbers of the cells of both sides' draws through a reducer."""

    def numbers(side: int) -> Callable[[Array], Array]:
        draw = drawn_once(source.draw(pair, side, stage, num_samples))
        return lambda block: cells.index(draw(block))

    sides = [reduce_samples(numbers(side), reducer, num_samples) for side in (0, 1)]
    return WideCount(*(jnp.stack(limbs) for limbs in zip(*sides, strict=True)))
