"""DPL and MPL for batches of runs and pairs.

DPL is the search stage, which estimates the privacy loss of every pair. MPL consists of DPL and a
confirmation stage for the best pair.

References:
    Askin, Kutta, Dette (2022), Algorithms 3 (DPL) and 4 (MPL).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from dpjax.core.execution import Execution, map_batched
from dpjax.core.jit import jit_by_class
from dpjax.methods.local._confirm import Confirmation, confirm_pair
from dpjax.methods.local._options import LocalOptions
from dpjax.methods.local._search import PairSearch, search_pair
from dpjax.partitions import Region
from dpjax.sources.streams import Streams

_MOST_PROGRAMS = 32
"""Maximum number of compiled kernels of each kind that are kept. A kernel takes about 28 MB."""


class LocalStatistics(NamedTuple):
    """Statistics from which bounds are computed. All arrays have a leading axis of runs.

    Attributes:
        pair_scores: Float [runs, pairs], largest value of the search objective for each pair. The
            objective is the privacy loss, or the privacy loss minus a penalty.
        pair: int32 [runs], index of the chosen pair.
        found: Result of the search stage for the chosen pair.
        confirmation: Statistics of the fresh draws for the chosen pair.
    """

    pair_scores: Array
    pair: Array
    found: PairSearch
    confirmation: Confirmation


@jit_by_class(static_argnames=("execution", "with_curves"), most_programs=_MOST_PROGRAMS)
def mpl_runs(
    streams: Streams,
    region: Region,
    options: LocalOptions,
    runs: Array,
    *,
    execution: Execution,
    with_curves: bool = False,
) -> LocalStatistics:
    """Run MPL for many independent runs, and return statistics from which bounds are computed.

    Args:
        streams: Streams of outputs for all runs.
        region: Region C of outputs.
        options: Options that affect the statistics.
        runs: int32 [runs], indices of the runs. Each run's key is derived from its index.
        execution: Execution options, which never change the statistics.
        with_curves: Whether to return the density estimates of the chosen pair.

    Returns:
        Statistics with a leading axis of runs.

    References:
        Askin, Kutta, Dette (2022), Algorithm 4.
    """

    def one_run(run: Array) -> LocalStatistics:
        drawn = streams.of_run(run)
        searched = _search_all(drawn, region, options, execution, len(runs), with_curves)
        best = jnp.argmax(searched.score).astype(jnp.int32)
        found = jax.tree.map(lambda leaf: leaf[best], searched)
        with jax.named_scope("confirm"):
            at_once = execution.blocks(len(runs))
            confirmation = confirm_pair(drawn, best, found, region, options, at_once)
        return LocalStatistics(searched.score, best, found, confirmation)

    return map_batched(one_run, runs, execution.runs)


@jit_by_class(static_argnames=("execution",), most_programs=_MOST_PROGRAMS)
def dpl_runs(
    streams: Streams, region: Region, options: LocalOptions, runs: Array, *, execution: Execution
) -> PairSearch:
    """Run DPL on every pair for many independent runs.

    See `mpl_runs` for the arguments. The arrays in the result have leading axes [runs, pairs].

    References:
        Askin, Kutta, Dette (2022), Algorithm 3.
    """

    def one_run(run: Array) -> PairSearch:
        drawn = streams.of_run(run)
        return _search_all(drawn, region, options, execution, len(runs), with_curves=False)

    return map_batched(one_run, runs, execution.runs)


def _search_all(
    source: Streams,
    region: Region,
    options: LocalOptions,
    execution: Execution,
    num_runs: int,
    with_curves: bool,
) -> PairSearch:
    at_once = execution.blocks(num_runs, source.num_pairs)

    def one_pair(pair: Array) -> PairSearch:
        return search_pair(source, pair, region, options, at_once, with_curves=with_curves)

    with jax.named_scope("search"):
        pairs = jnp.arange(source.num_pairs, dtype=jnp.int32)
        return map_batched(one_pair, pairs, execution.pairs)
