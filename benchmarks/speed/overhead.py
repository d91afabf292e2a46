"""Measure the overhead of a batch of runs, compared with drawing and summing its outputs.

The comparison program draws the same outputs as the runs, from the same blocks with the same keys,
and only adds them up. The quotient of both times shows how much time a perfect estimator could
save.
"""

from dataclasses import replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from benchmarks.presets.experiments import EXPERIMENTS, LEVELS, experiment
from benchmarks.speed.harness import Contender, Goal, Timing, by_name, measure, ratio
from benchmarks.speed.mpl import whole_batch
from dpjax.core.execution import Execution, map_batched, over_devices
from dpjax.core.jit import jit_by_class
from dpjax.core.streaming import Reducer, reduce_samples
from dpjax.sources.streams import CONFIRM, SEARCH, DrawnStreams
from dpjax.sweeps import Entry

LIMITS = {letter: 1.3 if letter in "abcd" else 1.15 for letter in EXPERIMENTS}
"""Goals for the quotients."""


def run(*, quick: bool = False, letters: str | None = None) -> tuple[list[Timing], list[Goal]]:
    """Return timings and goals.

    Args:
        quick: Whether to use only two experiments by default, and fewer runs and rounds.
        letters: Letters of the experiments.
    """
    entries, goals = [], []
    for letter in letters or ("ae" if quick else "".join(EXPERIMENTS)):
        entry = experiment(letter, LEVELS[-1])
        runs = range((200 if letter in "abcd" else 16) // (8 if quick else 1))
        timed = measure(
            "overhead",
            f"{letter} {entry.mechanism.name}",
            {
                "runs": Contender(partial(whole_batch, entry, runs), len(runs)),
                "draws, summed": Contender(partial(draw_and_sum, entry, runs), len(runs)),
            },
            unit="run",
            rounds=3 if quick else 11,
        )
        entries += timed
        named = by_name(timed)
        quotient = ratio(named["runs"], named["draws, summed"])
        goals.append(
            Goal("overhead", f"{letter}: runs over draws", quotient, LIMITS[letter], False)
        )
    return entries, goals


def draw_and_sum(entry: Entry, runs: Any, execution: Execution | None = None) -> Array:
    """Draw the outputs of runs as in a sweep, on the same devices; return their sums [runs]."""
    pairs = entry.pairs
    streams = DrawnStreams(entry.mechanism, pairs.database, pairs.neighbor, entry.key(0))
    layout = replace(execution or Execution(), devices=tuple(jax.local_devices()))
    sizes = entry.method.num_samples, entry.method.num_confirm
    return over_devices(_sums, (streams,), jnp.asarray(list(runs), jnp.int32), layout, sizes=sizes)


@jit_by_class(static_argnames=("sizes", "execution"))
def _sums(streams, runs, *, sizes, execution) -> Array:
    total = Reducer(lambda: jnp.zeros(()), _add, reads_once=True)

    def one_run(number: Array) -> Array:
        source = streams.of_run(number)

        def both_sides(pair: Array, stage: int) -> Array:
            first, second = (
                reduce_samples(source.draw(pair, side, stage, sizes[stage]), total, sizes[stage])
                for side in (0, 1)
            )
            return first + second

        pairs = jnp.arange(source.num_pairs, dtype=jnp.int32)
        searched = map_batched(lambda p: both_sides(p, SEARCH), pairs, execution.pairs)
        # As in an audit, the confirmation depends on the result of the search.
        best = jnp.argmax(searched).astype(jnp.int32)
        return jnp.sum(searched) + both_sides(best, CONFIRM)

    return map_batched(one_run, runs, execution.runs)


def _add(total: Array, samples: Array, valid: Array) -> Array:
    return total + jnp.sum(jnp.where(valid, samples.astype(total.dtype), 0))
