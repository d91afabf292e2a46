"""Runs of events: one partition a pair for all runs, counted in one kernel."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jax import Array

from dpjax import _random
from dpjax._batching import Execution
from dpjax._streaming import blocks_of
from dpjax.inference import Event
from dpjax.mechanisms import refuse_repeated
from dpjax.notions import EventCounts
from dpjax.partitions import PILOT, Encoder, Lookup, Partition, encode_drawn, lookup
from dpjax.sources._drawn import lay_drawn
from dpjax.sources._layouts import (
    block_size,
    confirm_counts_runs,
    first_draws,
    search_counts_runs,
    stream_words,
)
from dpjax.sources._streams import SEARCH
from dpjax.sweeps._devices import Columns, over_devices
from dpjax.sweeps._entry import Entry

_RUN, _PILOT_STAGE = 0, 2
"""Whose draws lay the cells: of a stage that no run counts."""


def start_events(
    entry: Entry, runs: Array, key: Array, execution: Execution, devices: Any
) -> Callable[[], Columns]:
    """Starts the search of runs of `Events`; what it returns waits, chooses, confirms and bounds.

    Args:
        entry: With the method `dpjax.Events`.
        runs: int32 [runs], run numbers.
        key: Of the entry.
        execution: Layout on the machine; never changes a row.
        devices: Over which the runs are spread.
    """
    method, notion, pairs = entry.method, entry.notion, entry.pairs
    size = block_size(method.num_samples, method.num_confirm)
    laid, table = _laid(entry, tuple(_random.words_of(key).tolist()), size)
    drawn = (entry.mechanism, pairs.database, pairs.neighbor, table)
    searched = over_devices(
        search_counts_runs,
        (*drawn, blocks_of(method.num_samples, size)),
        key,
        runs,
        devices,
        execution=execution,
    )

    def finish() -> Columns:
        counts = jax.device_get(searched).as_int()
        halves = counts.reshape(*counts.shape[:3], 2, table.size).transpose(1, 0, 3, 2, 4)
        events = [
            notion.choose(
                part,
                half[..., : part.size],
                part.inside(entry.region),
                method.num_confirm,
                entry.confidence,
                len(laid),
            )
            for part, half in zip(laid, halves, strict=True)
        ]
        best = np.argmax([event.predicted for event in events], axis=0)
        chosen = _chosen(entry, laid, events, halves, best)
        confirmed = over_devices(
            confirm_counts_runs,
            (*drawn, blocks_of(method.num_confirm, size)),
            key,
            (runs, best.astype(np.int32), chosen.cells.astype(np.int32)),
            devices,
            num_marks=2,
            execution=execution,
        )
        inside = jax.device_get(confirmed).as_int()[..., 1]
        evidence = EventCounts(chosen, inside, (method.num_confirm, method.num_confirm))
        estimate = notion.estimate(evidence)
        return {
            "lower_bound": notion.bound(evidence, entry.confidence),
            "estimate": np.where(np.isfinite(estimate), estimate, np.nan),
            "pair": best,
            "exact": np.ones(len(best), bool),
        }

    return finish


@lru_cache(maxsize=32)
def _laid(entry: Entry, words: tuple[int, int], size: int) -> tuple[tuple[Partition, ...], Lookup]:
    """Partitions of all pairs by draws that no run counts, and their twin on the device.

    Kept for the next block of the entry.

    Args:
        entry: That is run.
        words: Of its key.
        size: Of a block of draws.

    Raises:
        ValueError: The mechanism gives the same outputs under two keys.
    """
    mechanism, num_draws = entry.mechanism, min(entry.method.num_samples, PILOT)
    space, key = mechanism.output_space, np.array(words, np.uint32)

    def draw(pair: int, side: int, stage: int, number: int) -> np.ndarray:
        database = (entry.pairs.database, entry.pairs.neighbor)[side][pair]
        stream = stream_words(key, _RUN, pair, side, stage)
        return first_draws(mechanism, stream, database, number, size)

    def cells(pilot: list[np.ndarray]) -> Partition:
        encoder = Encoder(entry.label)
        encoded = [encode_drawn(encoder, side, space) for side in pilot]
        return lay_drawn(encoded, encoder, space, entry.region)

    pilots = [
        [draw(pair, side, _PILOT_STAGE, num_draws) for side in (0, 1)]
        for pair in range(len(entry.pairs))
    ]
    first = pilots[0][0][:size]
    refuse_repeated(first, draw(0, 0, SEARCH, len(first)), label=entry.label)
    laid = tuple(cells(pilot) for pilot in pilots)
    return laid, lookup(laid, space, first.dtype)


def _chosen(
    entry: Entry,
    laid: Sequence[Partition],
    events: Sequence[Event],
    halves: np.ndarray,
    best: np.ndarray,
) -> Event:
    """The event of each run's best pair, its cells settled as in an audit and padded to one size.

    Args:
        entry: Says which cells an event may hold.
        laid: Partition of each pair.
        events: Of each pair, with the leading shape [runs].
        halves: int64 [pairs, runs, 2, 2, cells], counts of the search.
        best: int [runs], number of the pair.
    """
    cells = np.zeros((len(best), halves.shape[-1]), bool)
    for run, pair in enumerate(best):
        part = laid[pair]
        seen = halves[pair, run, ..., : part.size].any(axis=(0, 1))
        mask = part.settled(events[pair].cells[run], seen)
        allowed = part.inside(entry.region)
        cells[run, : part.size] = mask if allowed is None else mask & allowed
    others = (np.stack([getattr(event, name) for event in events]) for name in Event._fields[1:])
    return Event(cells, *(values[best, np.arange(len(best))] for values in others))
