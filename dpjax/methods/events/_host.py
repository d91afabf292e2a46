"""Audits of mechanisms of the host: outputs are counted as they come, and bounded exactly.

A pilot lays cells, the draws that search are counted in them and choose a pair and an event, and
fresh draws count that event alone. Nothing but a few batches and the counts is in memory.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain
from typing import Any

import jax
import numpy as np

from dpjax import _validate
from dpjax.methods.events._choice import Found, choose_in_cells
from dpjax.methods.events._result import host_pairs, refuse_foreign, streamed_result
from dpjax.methods.local._recorded_outcomes import refuse_labels_alone
from dpjax.notions._terms import equal_notes, own_confidence_of
from dpjax.partitions._output_cells import PILOT, OutputCells, lay_cells
from dpjax.partitions._outputs import Encoder, HostSource, Outputs
from dpjax.results._result import AuditResult
from dpjax.sources._time_limit import Pace, Plan

_BEGINNINGS = (100, 1000)
"""So many first outputs of batches are compared."""

_REPEAT_NATS = 40.0
"""What is less likely than e^-40 to happen twice by chance did not happen by chance."""

_STAGES = {"search": 0, "confirm": 1, "measure": 2}


def audit_host(
    source: HostSource,
    pairs: Any,
    *,
    notes: Sequence[str],
    no_region: Any,
    no_outcomes: Any,
    num_samples: int,
    num_confirm: int,
    confidence: float,
    num_claims: int,
    claim: float | None,
    delta: float,
    key: jax.Array,
    seed: Any,
) -> AuditResult:
    """Audits a mechanism of the host.

    Arguments are those of `dpjax.audit`, notes to begin with, and two that must not be given.

    Raises:
        ValueError: The mechanism failed, repeats itself, or gives what cannot be compared.
    """
    start = time.perf_counter()
    refuse_foreign(region=no_region, num_outcomes=no_outcomes)
    _validate.positive_int(num_samples=num_samples, num_confirm=num_confirm)
    own_confidence = own_confidence_of(confidence, num_claims)
    pairs = host_pairs(pairs)
    words = tuple(int(word) for word in np.asarray(jax.random.key_data(key)))
    encoder = source.encoder()
    progress = _Progress(source.progress, 2 * len(pairs) * num_samples + 2 * num_confirm)
    said = [*notes, *equal_notes(pairs.sides[0], pairs.sides[1], pairs.labels)]
    with source.opened() as draw:
        drawn = _Drawn(draw, encoder, pairs, words, progress)
        plan, pace = Plan(num_samples, None, None), None
        if source.time_limit is not None:
            pace = Pace(source, draw)
            measuring = (*words, 0, 0, _STAGES["measure"])
            pace.measure(
                pairs.sides[0][0], measuring, 2 * len(pairs) * num_samples + 2 * num_confirm
            )
            used = time.perf_counter() - start
            plan = pace.search(len(pairs), num_samples, num_confirm, used)
            progress.expect(2 * len(pairs) * plan.num_samples + 2 * num_confirm)
        counted = [
            _count([drawn.batches(p, side, "search", plan) for side in (0, 1)], encoder)
            for p in range(len(pairs))
        ]
        if pace is not None:
            # Without the time of the choice below, which draws nothing.
            used = time.perf_counter() - start
            streams = [[drawn.taken[p, side] for side in (0, 1)] for p in range(len(pairs))]
            possible = pace.confirm(streams, num_confirm, used)
            least = min(int(halves.sum(axis=(0, 2)).min()) for _, halves in counted)
            said += _said_fewer(pace, least, num_samples, "and pair searched")
            said += _said_fewer(pace, possible, num_confirm, "confirmed")
            num_confirm = possible
            progress.expect(progress.done + 2 * num_confirm)
        found = [
            Found(
                cells,
                halves.sum(axis=0),
                choose_in_cells(cells, halves, num_confirm, own_confidence, delta),
            )
            for cells, halves in counted
        ]
        best = int(np.argmax([f.event.predicted for f in found]))
        # No clock here: which outputs confirm must not depend on how long they took.
        last = Plan(num_confirm, plan.cut, None)
        cells, mask = found[best].cells, found[best].event.cells
        confirmed = [
            _in_event(drawn.batches(best, side, "confirm", last), cells, mask) for side in (0, 1)
        ]
    if not source.replayable:
        said.append(
            "The mechanism draws its own randomness, so this audit cannot be replayed bit for bit."
        )
    said += drawn.notes(best)
    options = ("batched", "batch_size", "special", "bits", "time_limit")
    return streamed_result(
        found,
        best,
        confirmed,
        pairs=pairs,
        mechanism=source.name,
        confidence=confidence,
        num_claims=num_claims,
        claim=claim,
        delta=delta,
        seed=seed,
        settings={name: getattr(source, name) for name in options if hasattr(source, name)},
        notes=said,
        seconds=time.perf_counter() - start,
    )


def _count(batches: list[Iterator[Outputs]], encoder: Encoder) -> tuple[OutputCells, np.ndarray]:
    """Lays cells by the first outputs of both sides, and counts all in them.

    Returns:
        The cells, and int64 [2, 2, cells]: counts of two halves at both sides.
    """
    joined, rests = zip(*(_parted(side, PILOT) for side in batches), strict=True)
    width = encoder.dimension or 1
    joined = [o._replace(values=_widened(o.values, width)) for o in joined]
    refuse_labels_alone(joined, encoder, f"outputs of {encoder.source}")
    cells = lay_cells(joined, encoder.names)
    halves = np.zeros((2, 2, cells.size), np.int64)
    for side, (pilot, rest) in enumerate(zip(joined, rests, strict=True)):
        number = 0
        for batch in chain([pilot], rest):
            # By the number of the output, so that no half depends on how batches are cut.
            half = (number + np.arange(len(batch.labels))) % 2
            halves[:, side] += cells.count(batch, half, 2)
            number += len(batch.labels)
    return cells, halves


def _in_event(batches: Iterable[Outputs], cells: OutputCells, mask: np.ndarray) -> tuple[int, int]:
    """How many outputs lie in the event, of how many."""
    inside = total = 0
    for batch in batches:
        inside += int(mask[cells.index(batch)].sum())
        total += len(batch.labels)
    return inside, total


def _parted(batches: Iterator[Outputs], count: int) -> tuple[Outputs, Iterator[Outputs]]:
    """The first `count` outputs, whatever the batches are, and the batches of the others."""
    taken, size = [], 0
    for batch in batches:
        taken.append(batch)
        size += len(batch.labels)
        if size >= count:
            break
    joined = _joined(taken)
    first, others = (
        Outputs(*(column[part] for column in joined)) for part in (slice(count), slice(count, None))
    )
    return first, chain([others], batches)


def _joined(batches: list[Outputs]) -> Outputs:
    width = max(batch.values.shape[1] for batch in batches)
    return Outputs(
        np.concatenate([batch.labels for batch in batches]),
        np.concatenate([_widened(batch.values, width) for batch in batches]),
        np.concatenate([batch.alone for batch in batches]),
    )


def _widened(values: np.ndarray, width: int) -> np.ndarray:
    """Zeros in as many columns as later batches have, where all labels stood alone so far."""
    return values if values.shape[1] == width else np.zeros((len(values), width))


class _Progress:
    """Counts outputs and tells who wants to know."""

    def __init__(self, tell: Callable[[int, int], None] | None, total: int):
        self._tell, self._total, self.done = tell, total, 0

    def expect(self, total: int) -> None:
        """There will be so many in all, and not as many as was said."""
        self._total = total

    def add(self, count: int) -> None:
        self.done += count
        if self._tell is not None:
            self._tell(self.done, self._total)


class _Drawn:
    """Encoded batches of a mechanism, watched for randomness that is none.

    Attributes:
        taken: (pair, side) -> outputs so far of the last stage, and the seconds of drawing them.
    """

    def __init__(self, draw: Any, encoder: Encoder, pairs: Any, words: Any, progress: _Progress):
        self._draw, self._encoder, self._pairs = draw, encoder, pairs
        self._words, self._progress = words, progress
        self.taken: dict[tuple[int, int], tuple[int, float]] = {}
        self._seen: set[tuple[int, int, bytes]] = set()
        self._constant: dict[tuple[int, int], bool] = {}

    def batches(self, pair: int, side: int, stage: str, plan: Plan) -> Iterator[Outputs]:
        """Batches at one database, until there are as many as planned or the time is over."""
        database = self._pairs.sides[side][pair]
        words = (*self._words, pair, side, _STAGES[stage])
        spent, last, count = 0.0, time.perf_counter(), 0
        for raw in self._draw(database, plan.num_samples, words, plan.cut):
            outputs = self._encoder.encode(raw)
            self._watch(outputs, pair, side)
            self._progress.add(len(outputs.labels))
            # Only the time of this stream: the two sides of a pair are drawn in turns.
            spent += time.perf_counter() - last
            count += len(outputs.labels)
            self.taken[pair, side] = count, spent
            yield outputs
            last = time.perf_counter()
            if plan.seconds is not None and spent >= plan.seconds:
                return

    def notes(self, pair: int) -> list[str]:
        """What was seen at the chosen pair."""
        if not all(self._constant.get((pair, side)) for side in (0, 1)):
            return []
        return [
            "All outputs at each of the two databases were the same: the mechanism may draw no "
            "randomness, or the same at every call."
        ]

    def _watch(self, outputs: Outputs, pair: int, side: int) -> None:
        values = outputs.values[:, 0] + 1j * outputs.labels
        constant = self._constant.get((pair, side), True)
        self._constant[pair, side] = constant and bool(np.all(values == values[0]))
        for size in _BEGINNINGS:
            counts = np.unique(values[:size], return_counts=True)[1]
            # No distribution gives these outputs a larger probability than their own frequencies.
            nats = -np.sum(counts * np.log(counts / counts.sum()))
            if size > len(values) or nats < _REPEAT_NATS:
                continue
            content = outputs.labels[:size].tobytes() + outputs.values[:size].tobytes()
            place = (pair, side, blake2b(content, digest_size=16).digest())
            if place in self._seen:
                raise ValueError(
                    f"{self._encoder.source} gave two batches with the same first {size} outputs, "
                    "so its draws are not independent: it must not set a fixed seed (or one of the "
                    "time in seconds), and must draw anew at every call; or let it take a seed."
                )
            self._seen.add(place)


def _said_fewer(pace: Pace, possible: int, wanted: int, what: str) -> list[str]:
    if possible >= wanted:
        return []
    return [
        f"For the time limit of {pace.limit:g} s, {possible} outputs a side {what}, not {wanted}."
    ]
