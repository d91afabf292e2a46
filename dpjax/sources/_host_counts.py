"""Counts of outputs that a host mechanism draws, in constant memory."""

import time
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpjax.core import random
from dpjax.core.types import JsonObject
from dpjax.inference import LAYING
from dpjax.partitions import (
    PILOT,
    Outputs,
    Partition,
    Search,
    as_box,
    parted,
    pilot_size,
    region_text,
)
from dpjax.partitions._batches import in_turn
from dpjax.partitions._columns import notes_of_ignored
from dpjax.partitions._scored import fold_of
from dpjax.sources._counting import Tally, count_halves, marks_counter
from dpjax.sources._definition import definition_of
from dpjax.sources._kept import Kept
from dpjax.sources._labels_alone import notes_of_labels_alone
from dpjax.sources._learned import lay_best
from dpjax.sources._opened import Marked, Request
from dpjax.sources._pairs import AnyPairs
from dpjax.sources._same_keys import clearly_differ, notes_of_same_seeds
from dpjax.sources._schedule import Draw
from dpjax.sources._serial import notes_of_calls
from dpjax.sources._time_limit import Pace, Quota
from dpjax.sources._watched import Watched, encoders_of
from dpjax.sources.streams import CONFIRM, MEASURE, SEARCH, SEARCH_AGAIN

_RESTARTED, _FEWEST_RESTARTED, _RESTART_SHARE = 100, 20, 0.02
"""Limits for comparing two new runs of a mechanism: the maximum and the minimum number of outputs
per side in each run, and the maximum share of the time limit.
"""

_EVERY = 2**31 - 1
"""Maximum number of outputs to keep in audits that keep every output. No audit draws this many
outputs.
"""

NO_REPLAY = "The mechanism draws its own randomness, so this audit cannot be replayed bit for bit."
"""Note on a mechanism that is not replayable."""

_OPTIONS = ("batched", "batch_size", "special", "bits", "time_limit", "timeout")
"""Names of the attributes of a source that the settings of a result include, where they exist."""


class OpenedOnHost:
    """A host mechanism that was opened for one audit; see `dpjax.sources.Opened`."""

    lays_once = False

    def __init__(self, source: Any, draw: Draw, pairs: AnyPairs, request: Request):
        self._start = time.perf_counter()
        self._source, self._draw = source, draw
        self._box = as_box(request.region)
        (run,) = request.runs.tolist()
        self._encoders = encoders_of(source, pairs)
        self.tally = Tally(request.execution.progress)
        words = tuple(random.words_of(request.key).tolist())
        self.settings = {name: getattr(source, name) for name in _OPTIONS if hasattr(source, name)}
        self.settings["generator"] = "seeds by NumPy's SeedSequence"
        seed = words, run
        self._stream = Watched(draw, self._encoders, pairs, seed, self.tally, self.settings)
        self.pairs = pairs
        self._rounds, self._request = request.rounds(len(pairs)), request
        self.num_confirm = self._rounds.num_confirm
        self._laid: list[Partition] = []
        self._pace: Pace | None = None
        self.shares = True
        self.region = region_text(self._box)
        self._quota = Quota(0, None, None)
        self._counted: set[int] = set()
        self._said: list[str] = []
        self._of_pilots: dict[int, list[str]] = {}
        # Notes on each pair whose outputs for the same seeds were compared.
        self._same_seeds: dict[int, list[str]] = {}
        self._drawn_when_compared: dict[int, int] = {}
        # Keep all outputs if each output is expensive; otherwise, keep only outputs that determine
        # cells.
        every = request.each and not source.batched
        # Only a sequential audit stores its outputs, so other audits need no digests of the code.
        define = partial(definition_of, source, self.pairs) if request.in_order else dict
        most = _EVERY if every else LAYING
        self._kept = Kept(self._encoders, most, define, every and request.in_order)
        if request.held is not None:
            self._kept.restore(request.held)
        if not source.replayable:
            self._said.append(NO_REPLAY)

    @property
    def notes(self) -> list[str]:
        """Notes for the result, as collected so far."""
        encoders, counted = self._encoders, sorted(self._counted)
        known = {pair: encoders[pair].notes() + self._of_pilots.get(pair, []) for pair in counted}
        of_pairs = dict.fromkeys(note for pair in counted for note in known[pair])
        watched = [note for pair in counted for note in self._stream.notes(pair, known[pair])]
        watched += self._stream.failures(counted)
        ignored = notes_of_ignored([e.columns for e in encoders]) if counted else []
        same = [*self._same_seeds.values()]
        # An audit that counts several pairs can detect a leak if any of them gives other outputs.
        alike = chain.from_iterable(same) if all(same) else []
        return [*self._said, *alike, *of_pairs, *ignored, *watched]

    def search(self) -> list[Search]:
        """Draw and count the outputs of the first search round; see `dpjax.sources.Opened`."""
        rounds, pairs = self._rounds, self.pairs
        total = 2 * (rounds.searched(len(pairs)) + rounds.num_confirm)
        self.tally.expect(total)
        if self._source.time_limit is not None and self._request.seconds is None:
            self._pace = Pace(self._source, self._draw)
            databases = [side[pair] for pair in range(len(pairs)) for side in pairs.sides]
            self._pace.measure(databases, self._stream.words(0, 0, MEASURE), total)
        quota = self._plan(len(pairs), rounds.num_samples, rounds.num_kept * rounds.num_again)
        if self._request.in_order:
            self._refuse_other_seeded()
            outputs_of = partial(self._sequence, start=0, stop=quota.num_samples)
        else:
            outputs_of = partial(self._stream.batches, stage=SEARCH, quota=quota)
        found = [
            self._count(pair, [outputs_of(pair, side) for side in (0, 1)])
            for pair in range(len(pairs))
        ]
        self._laid = [search.partition for search in found]
        self._note_fewer([search.halves for search in found], rounds.num_samples, "for the search")
        if not rounds.num_kept:
            self._plan_confirm()
        return found

    def _refuse_other_seeded(self) -> None:
        """Raise an error if equal seeds no longer give the first outputs of an earlier audit.

        Outputs that are drawn one by one may be expensive, so they are not drawn a second time.
        """
        if self._request.held is None or not (self._source.replayable and self._source.batched):
            return
        quota = Quota(self._rounds.num_samples, None, None)
        for side in (0, 1):
            self._kept.refuse_other(0, side, [*self._stream.batches(0, side, SEARCH, quota)])

    def search_again(self, kept: NDArray[np.int64]) -> NDArray[np.int64]:
        """Draw and count the outputs of the second search round; see `dpjax.sources.Opened`."""
        wanted = self._rounds.num_again
        quota = self._plan(kept.size, wanted, 0)
        size = max(cells.size for cells in self._laid)
        counts = np.zeros((*kept.shape, 2, 2, size), np.int64)
        for place, chosen in np.ndenumerate(kept):
            pair = int(chosen)
            cells = self._laid[pair]
            sides = [self._stream.batches(pair, side, SEARCH_AGAIN, quota) for side in (0, 1)]
            counts[place][..., : cells.size] = count_halves(cells, sides)
        self._note_fewer(counts[0], wanted, "for the second search round")
        self._plan_confirm()
        return counts

    def _plan(self, num_pairs: int, wanted: int, later: int) -> Quota:
        """Plan the draws of a round.

        Args:
            num_pairs: Number of pairs that the round searches.
            wanted: Number of samples per side of each pair that the round draws if time allows.
            later: Number of samples per side in the next search round, summed over all pairs of
                that round, or 0 if there is no next round.
        """
        if self._pace is None:
            each = self._request.each
            quota = Quota.of(self._source.batched, wanted, self._request.seconds, each=each)
        else:
            now = num_pairs * wanted
            share = now / (now + later + self._rounds.num_confirm)
            quota = self._pace.search(num_pairs, wanted, share, self.num_confirm, self._used())
        self._quota = quota
        left = num_pairs * quota.num_samples + later + self.num_confirm
        self.tally.expect(2 * left)
        return quota

    def _plan_confirm(self) -> None:
        """Plan the size of the confirmation set: the requested size, or less if time is short."""
        if self._pace is None:
            return
        wanted = self._rounds.num_confirm
        streams = self._stream.streams()
        self.shares = self._pace.alike(streams)
        self.num_confirm = self._pace.confirm(streams, wanted, self._used())
        self._said += self._pace.notes_of_fewer(self.num_confirm, wanted, "for the confirmation")
        self.tally.expect(2 * self.num_confirm)

    def _note_fewer(self, halves: Iterable[np.ndarray], wanted: int, what: str) -> None:
        if self._pace is not None:
            least = min(int(counts.sum(axis=(-3, -1)).min()) for counts in halves)
            self._said += self._pace.notes_of_fewer(least, wanted, what)

    def count(self, marked: Marked) -> NDArray[np.int64]:
        """Count fresh outputs of the chosen pair; see `dpjax.sources.Opened`."""
        pair, (marks,), num_marks = int(marked.pairs[0]), marked.marks, marked.num_marks
        counted, first = marks_counter(self._laid[pair], marks, num_marks), marked.first
        if pair not in self._counted:
            self._counted.add(pair)
            self._refuse_same_runs(pair)
        # Set no time limit here, since the choice of outputs to count must not depend on how long
        # they take.
        stops = marked.stops(self.num_confirm)[0].tolist()
        quotas = [Quota(stop - first, self._quota.cut, None) for stop in stops]
        if self._request.in_order:
            before = self._rounds.num_samples
            sides = [
                self._sequence(pair, side, before + first, before + stop)
                for side, stop in enumerate(stops)
            ]
        else:
            sides = [
                self._stream.batches(pair, side, CONFIRM, quota, first)
                for side, quota in enumerate(quotas)
            ]
        counts = np.zeros((1, 2, num_marks), np.int64)
        # Alternate between the sides, so that both have counts if an interrupt occurs.
        for side, batch in in_turn(sides):
            part = np.zeros((2, num_marks), np.int64)
            part[side] = counted(batch)
            counts[0] += part
            self.tally.confirm(part)
        if self._same_seeds.get(pair, True):
            if clearly_differ(counts[0]):
                self._same_seeds[pair] = []
            else:
                self._compare_seeds(pair)
        return counts

    def _compare_seeds(self, pair: int) -> None:
        """Note whether both databases of a pair give equal outputs for the same seeds.

        A sequential audit has drawn too few outputs in its first blocks, so a later block compares.
        If the outputs are equal, more of them are compared whenever twice as many were drawn, since
        the databases may give other outputs only rarely.
        """
        taken = [self._stream.taken.get((pair, side), (0, 0.0)) for side in (0, 1)]
        drawn = sum(number for number, _ in taken)
        if drawn < 2 * self._drawn_when_compared.get(pair, 0):
            return
        limits = [self._source.time_limit, self._request.seconds]
        given = [limit for limit in limits if limit is not None]
        left = min(given) - self._used() if given else None
        sides = self.pairs.sides[0][pair], self.pairs.sides[1][pair]
        words = self._stream.words(pair, 0, SEARCH)
        label = self.pairs.labels[pair]
        notes = notes_of_same_seeds(self._source, self._draw, sides, words, label, taken, left)
        if notes is not None:
            self._same_seeds[pair], self._drawn_when_compared[pair] = notes, drawn

    def _refuse_same_runs(self, pair: int) -> None:
        """Raise an error if two new runs of the mechanism have equal outputs.

        Raises:
            Repeats: If both runs return the same outputs.
        """
        count, limit = _RESTARTED, self._source.time_limit
        if limit is not None:
            pace = max(seconds / drawn for drawn, seconds in self._stream.streams()[pair])
            count = min(count, int(_RESTART_SHARE * limit / (4 * pace)))
        if self._source.replayable or self._request.each or count < _FEWEST_RESTARTED:
            return
        sides = self.pairs.sides[0][pair], self.pairs.sides[1][pair]
        restarted = self._source.restarted(sides, count)
        if restarted is not None:
            self._stream.refuse_same(pair, restarted)

    def lay_again(self, pair: int, size: int) -> Search:
        """Determine the cells of a pair from the kept outputs; see `dpjax.sources.OpenedInTurn`.

        Raises:
            ValueError: If an earlier audit drew the outputs but did not store them in its file.
        """
        stop = self._rounds.num_samples + size
        if min(self._kept.number(pair, side) for side in (0, 1)) < stop:
            raise ValueError(
                "the audit cannot be continued: its first outputs are labels that JSON cannot "
                "represent, such as sets. Return strings, numbers or lists of these instead."
            )
        whole = self._kept.whole(pair, stop)
        if whole is not None:
            # More outputs show better which entries of long vectors differ.
            self._stream.begin_again(pair, self._encoders[pair].choose_again(whole))
        kept = [self._kept.first(pair, side, 0, stop) for side in (0, 1)]
        search = self._count(pair, [iter([part]) for part in kept if part is not None])
        self._laid[pair] = search.partition
        return search

    @property
    def held(self) -> JsonObject | None:
        """The kept outputs as JSON values; see `dpjax.sources.OpenedInTurn`."""
        return self._kept.to_plain()

    def _sequence(self, pair: int, side: int, start: int, stop: int) -> Iterator[Outputs]:
        """Yield one side's outputs start, ..., stop - 1; output 0 is the first search output.

        Kept outputs are not drawn again. The requested outputs must all belong to the search set,
        or all to the confirmation set.
        """
        known = self._kept.first(pair, side, start, stop)
        done = 0 if known is None else len(known.labels)
        if done < stop - start and self._source.batched:
            # The outputs of a batch share a seed, so a batch cannot be drawn in part.
            self._kept.forget(pair, side, start)
            done = 0
        if known is not None and done:
            yield known
        if done == stop - start:
            return
        before = self._rounds.num_samples
        stage, offset = (SEARCH, 0) if start < before else (CONFIRM, before)
        quota = self._quota._replace(num_samples=stop - start, seconds=None)
        number = start + done
        for batch in self._stream.batches(pair, side, stage, quota, start - offset, done):
            self._kept.add(pair, side, batch, number)
            number += len(batch.labels)
            yield self._encoders[pair].padded(batch)

    def _promise(self, cells: Partition, halves: NDArray[np.int64], compared: int) -> float:
        return self._request.promise(cells, halves, self._rounds.num_confirm, compared)

    def _used(self) -> float:
        return time.perf_counter() - self._start

    def _count(self, pair: int, batches: list[Iterator[Outputs]]) -> Search:
        """Determine a pair's cells from its first outputs, and count all its outputs."""
        encoder = self._encoders[pair]
        pilots, rests = zip(*(parted(side, PILOT) for side in batches), strict=True)
        # The encoder knows the dimension of an output once the first outputs have been encoded.
        width = encoder.dimension or 1
        if self._box is None and (size := pilot_size(width, len(self.pairs))) > PILOT:
            sides = zip(pilots, rests, strict=True)
            pilots, rests = zip(*(parted(chain([p], r), size) for p, r in sides), strict=True)
        before = encoder.is_reduced
        pilots = encoder.fixed(pilots)
        if encoder.is_reduced != before:
            self._stream.begin_again(pair, pilots)
        self._of_pilots[pair] = notes_of_labels_alone(
            pilots, encoder, f"outputs of {encoder.source}"
        )
        if self._source.one_by_one:
            self._of_pilots[pair] += notes_of_calls(encoder.source, pilots)
        folds = [fold_of(np.arange(len(pilot.labels))) for pilot in pilots]
        names = encoder.names
        if self._request.in_order:
            # A resumed audit knows more labels, but must construct the same cells.
            names = names[: 1 + max(int(pilot.labels.max(initial=0)) for pilot in pilots)]
        cells = lay_best(pilots, folds, names, self._promise, encoder.entries, region=self._box)
        sides = zip(pilots, rests, strict=True)
        halves = count_halves(cells, [chain([p], map(encoder.padded, r)) for p, r in sides])
        return Search(cells, halves[None], cells.inside(self._box))
