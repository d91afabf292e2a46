"""What a batch of runs costs beyond its draws: runs over draws of the same outputs that are summed.

The twin draws every output of the runs, from the same blocks under the same keys, and does nothing
but add them up. The quotient is what a perfect estimator could still save.
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
"""Quotients that were aimed at."""


def run(*, quick: bool = False, letters: str | None = None) -> tuple[list[Timing], list[Goal]]:
    """Entries and goals; `quick` is for two experiments, fewer runs and rounds."""
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
    """Sums of all outputs of some runs, [runs] floats, drawn as a sweep draws them, and where."""
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
        # The confirm stage waits for the search stage here, too.
        best = jnp.argmax(searched).astype(jnp.int32)
        return jnp.sum(searched) + both_sides(best, CONFIRM)

    return map_batched(one_run, runs, execution.runs)


def _add(total: Array, samples: Array, valid: Array) -> Array:
    return total + jnp.sum(jnp.where(valid, samples.astype(total.dtype), 0))
