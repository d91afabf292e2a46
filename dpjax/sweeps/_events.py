"""Runs of events: one partition a pair for all runs, counted in one kernel."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from jax import Array

from dpjax.core import random
from dpjax.core.execution import Execution
from dpjax.core.streaming import blocks_of, fetched
from dpjax.databases.trees import nth
from dpjax.inference import Event
from dpjax.mechanisms import refuse_repeated
from dpjax.notions import EventCounts
from dpjax.partitions import PILOT, Encoder, Lookup, Partition, encode_drawn, lay, lookup
from dpjax.sources._drawn import options_of
from dpjax.sources._layouts import (
    block_size,
    confirm_counts_runs,
    first_draws,
    search_counts_runs,
    stream_words,
)
from dpjax.sources.streams import LAY, SEARCH, SEARCH_AGAIN
from dpjax.sweeps._chains import chained
from dpjax.sweeps._devices import Columns, over_devices
from dpjax.sweeps._entry import Entry

_RUN = 0
"""Whose draws lay the cells of all runs."""


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
    rounds = entry.method.rounds(num_pairs := len(entry.pairs))
    size = block_size(rounds)
    laid, table = _laid(entry, tuple(random.words_of(key).tolist()), size)
    drawn = (entry.mechanism, entry.pairs.database, entry.pairs.neighbor, table)

    def search(stage: int, num_samples: int, pairs: np.ndarray) -> Any:
        return over_devices(
            search_counts_runs,
            (*drawn, np.int32(stage), blocks_of(num_samples, size)),
            key,
            (runs, pairs),
            devices,
            execution=execution,
        )

    def halves(counts: Any) -> np.ndarray:
        """int64 [runs, searched, half, side, cells]."""
        whole = fetched(counts).as_int()
        return whole.reshape(*whole.shape[:3], 2, table.size).swapaxes(2, 3)

    every = np.broadcast_to(np.arange(num_pairs, dtype=np.int32), (len(runs), num_pairs))
    searched = search(SEARCH, rounds.num_samples, every)

    def finish() -> Columns:
        found, kept = halves(searched), every
        if rounds.num_kept:
            promised = [
                _asked(entry.notion.promise, entry, part, counts, rounds.num_confirm, num_pairs)
                for part, counts in zip(laid, found.swapaxes(0, 1), strict=True)
            ]
            kept = np.argsort(-np.array(promised), axis=0, kind="stable")[: rounds.num_kept].T
            more = search(SEARCH_AGAIN, rounds.num_again, kept.astype(np.int32))
            found = np.take_along_axis(found, kept[..., None, None, None], 1) + halves(more)

        def confirmed(best: np.ndarray, marks: np.ndarray, num_marks: int) -> np.ndarray:
            """int64 [runs, 2, marks]."""
            counts = over_devices(
                confirm_counts_runs,
                (*drawn, blocks_of(rounds.num_confirm, size)),
                key,
                (runs, best.astype(np.int32), marks.astype(np.int32)),
                devices,
                num_marks=num_marks,
                execution=execution,
            )
            return fetched(counts).as_int()

        if entry.is_chained:
            return chained(entry, laid, (found, kept), rounds.num_confirm, confirmed)
        best, event = _best(entry, laid, found, kept, rounds.num_confirm)
        inside = confirmed(best, event.cells, 2)[..., 1]
        evidence = EventCounts(event, inside, (rounds.num_confirm, rounds.num_confirm))
        estimate = evidence.estimate(entry.notion, entry.distance)
        return {
            "lower_bound": evidence.bound(entry.notion, entry.confidence, entry.distance),
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
    rounds = entry.method.rounds(len(entry.pairs))
    mechanism, num_draws = entry.mechanism, min(rounds.num_samples + rounds.num_again, PILOT)
    space, key = mechanism.output_space, np.array(words, np.uint32)

    def draw(pair: int, side: int, stage: int, number: int) -> np.ndarray:
        database = nth((entry.pairs.database, entry.pairs.neighbor)[side], pair)
        stream = stream_words(key, _RUN, pair, side, stage)
        return first_draws(mechanism, stream, database, number, size)

    def cells(pilot: list[np.ndarray]) -> Partition:
        encoder = Encoder(entry.label)
        encoded = [encode_drawn(encoder, side, space) for side in pilot]
        return lay(encoded, encoder.names, **options_of(space, entry.region))

    pilots = [
        [draw(pair, side, LAY, num_draws) for side in (0, 1)] for pair in range(len(entry.pairs))
    ]
    first = pilots[0][0][:size]
    refuse_repeated(first, draw(0, 0, SEARCH, len(first)), label=entry.label)
    laid = tuple(cells(pilot) for pilot in pilots)
    return laid, lookup(laid, space, first.dtype)


def _asked(
    ask: Callable[..., Any], entry: Entry, part: Partition, counts: np.ndarray, *sizes: int
) -> Any:
    """What the notion says of one pair in many runs.

    Args:
        ask: A method of the notion.
        entry: That is run.
        part: Partition of the pair.
        counts: int64 [runs, 2, 2, cells], those of the partition first.
        sizes: N, and how many pairs are rivals.
    """
    num_confirm, num_rivals = sizes
    cells = counts[..., : part.size]
    allowed = part.inside(entry.region)
    return ask(part, cells, allowed, num_confirm, entry.confidence, num_rivals)


def _best(
    entry: Entry,
    laid: Sequence[Partition],
    found: np.ndarray,
    kept: np.ndarray,
    num_confirm: int,
) -> tuple[np.ndarray, Event]:
    """The best pair of each run, and its event, settled as in an audit and padded to one size.

    Args:
        entry: That is run.
        laid: Partition of each pair.
        found: int64 [runs, kept, half, side, cells], counts of the search.
        kept: int [runs, kept], the numbers of the pairs.
        num_confirm: N.

    Returns:
        int64 [runs] and an event with the leading shape [runs].
    """
    num_runs, num_kept = kept.shape
    cells = np.zeros((num_runs, found.shape[-1]), bool)
    larger, best = np.zeros(num_runs, np.int64), np.zeros(num_runs, np.int64)
    predicted = np.full(num_runs, -1.0)
    for pair, part in enumerate(laid):
        runs, place = np.nonzero(kept == pair)
        if not len(runs):
            continue
        counts = found[runs, place]
        event = _asked(entry.notion.choose, entry, part, counts, num_confirm, num_kept)
        (better,) = np.nonzero(event.predicted > predicted[runs])
        runs = runs[better]
        best[runs], cells[runs] = pair, False
        larger[runs], predicted[runs] = event.larger[better], event.predicted[better]
        allowed = part.inside(entry.region)
        for run, row in zip(runs, better, strict=True):
            mask = part.settled(
                event.cells[row], counts[row, ..., : part.size].sum(axis=(0, 1)) > 0
            )
            cells[run, : part.size] = mask if allowed is None else mask & allowed
    return best, Event(cells, larger, predicted)
