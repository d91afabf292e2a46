"""Counts of draws from a JAX mechanism, computed by one compiled program or by NumPy."""

from collections.abc import Callable, Iterator
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from dpjax.core import random
from dpjax.core.execution import over_devices
from dpjax.core.numerics import WideCount
from dpjax.core.streaming import Blocks, blocks_of, fetched, in_calls
from dpjax.core.types import JsonObject, VectorSpace
from dpjax.databases import Pairs
from dpjax.mechanisms import FromFunction, Mechanism, refuse_repeated
from dpjax.mechanisms.named import name_of
from dpjax.partitions import (
    PILOT,
    Lookup,
    Outputs,
    Partition,
    Search,
    as_region,
    encode_drawn,
    is_fixed,
    lookup,
    pilot_size,
    region_text,
)
from dpjax.partitions._columns import parts_note
from dpjax.sources._counting import Tally, count_halves, marks_counter
from dpjax.sources._drawn_blocks import DrawnBlocks
from dpjax.sources._layouts import (
    block_size,
    confirm_counts_runs,
    ends_of,
    search_counts_runs,
)
from dpjax.sources._opened import Marked, Request
from dpjax.sources._pairs import AnyPairs
from dpjax.sources._pilots import MANY_PAIRS, Laid, Pilots, kept_draws, options_of
from dpjax.sources._same_keys import clearly_differ, notes_of_same_keys
from dpjax.sources._searched import notes_of_search
from dpjax.sources.streams import CONFIRM, SEARCH, SEARCH_AGAIN, DrawnStreams

_STREAMED_FROM = 2**25
"""Minimum number of draws for which the streamed layout is faster despite its compile time."""

_FIRST_RUN = 0
"""Index of the run whose first draws determine the cells of all runs."""

_STREAMED_PAIRS = 2**12
"""Maximum number of pairs per compiled search, which limits its memory."""


class OpenedDrawn:
    """An opened source that draws outputs and counts them; see `dpjax.sources.Opened`.

    For each pair, the first draws of run 0 determine the cells for all runs, so that one compiled
    program can count the draws of all runs.
    """

    # A later audit can draw the first outputs again.
    held = None

    def __init__(self, mechanism: Mechanism, pairs: Pairs, request: Request):
        self.shares = True
        self._mechanism, self._stacked, self._request = mechanism, pairs, request
        self._streams = DrawnStreams(mechanism, pairs.database, pairs.neighbor, request.key)
        self._space = mechanism.output_space
        self._width = self._space.dimension if isinstance(self._space, VectorSpace) else 1
        region = request.region
        self._region = None if region is None else as_region(region, self._space)
        self.tally = Tally(request.execution.progress)
        self.pairs = AnyPairs.of(pairs)
        self._rounds = request.rounds(len(pairs))
        self.num_confirm = self._rounds.num_confirm
        self.region = region_text(self._region)
        self.lays_once = is_fixed(options_of(self._space, None)["outcomes"])
        self._said: list[str] = []
        self._same: dict[int, list[str]] = {}
        if isinstance(mechanism, FromFunction) and mechanism.parts:
            self._said.append(parts_note(mechanism.parts))
        self._laid: dict[int, Laid] = request.kept.setdefault("laid", {})
        self._pilots: Pilots | None = None
        self._block = request.block or block_size(self._rounds)
        words, in_order = random.words_of(request.key), request.in_order
        self._draws = DrawnBlocks(mechanism, pairs, words, self._block, self._width, in_order)
        self.settings: JsonObject = {"block": self._block, **random.numbers_of_process()}
        draws = 2 * (self._rounds.searched(len(pairs)) + self.num_confirm) * len(request.runs)
        self.tally.expect(draws)
        layout = request.execution.layout
        self._streamed = layout == "streamed" or (layout == "auto" and draws >= _STREAMED_FROM)
        # The scores of vectors are computed on the host, so the streamed layout is impossible.
        self._streamed &= not isinstance(self._space, VectorSpace) or self._region is not None

    @property
    def notes(self) -> list[str]:
        """Notes for the result, as collected so far."""
        same = [*self._same.values()]
        # An audit that counts several pairs can detect a leak if any of them gives other outputs.
        return [*self._said, *(same[0] if same and all(same) else [])]

    def search(self) -> list[Search]:
        """Determine the cells of every pair, and count the draws of the first search round."""
        num_samples, num_pairs = self._rounds.num_samples, len(self.pairs)
        if self._streamed:
            for pair in range(num_pairs):
                self._lay(pair).pilots = None
            every = np.tile(np.arange(num_pairs), (len(self._request.runs), 1))
            halves = list(self._search_streamed(SEARCH, num_samples, every).swapaxes(0, 1))
        else:
            halves = [self._search_gathered(pair, num_samples) for pair in range(num_pairs)]
        found = []
        for pair, counts in enumerate(halves):
            cells = self._laid[pair].partition
            found.append(Search(cells, counts[..., : cells.size], cells.inside(self._region)))
        encoders = [laid.encoder for laid in self._laid.values()]
        self._said += next((e.notes() for e in encoders if e.is_reduced), [])
        self._said += notes_of_search(found, self._space, self.pairs.labels)
        return found

    def search_again(self, kept: NDArray[np.int64]) -> NDArray[np.int64]:
        """Count the draws of the second search round; see `dpjax.sources.Opened`."""
        num_again = self._rounds.num_again
        if self._streamed:
            return self._search_streamed(SEARCH_AGAIN, num_again, kept)
        size = max(laid.partition.size for laid in self._laid.values())
        counts = np.zeros((*kept.shape, 2, 2, size), np.int64)
        for (run, place), chosen in np.ndenumerate(kept):
            pair = int(chosen)
            cells = self._laid[pair].partition
            number = int(self._request.runs[run])
            sides = [self._batches(number, pair, side, SEARCH_AGAIN, num_again) for side in (0, 1)]
            counts[run, place, ..., : cells.size] = count_halves(cells, sides)
            self.tally.searched += 2 * num_again
        return counts

    def lay_again(self, pair: int, size: int) -> Search:
        """Determine a pair's cells from all draws so far; see `dpjax.sources.OpenedInTurn`."""
        (run,) = self._request.runs.tolist()
        parts = ((SEARCH, self._rounds.num_samples), (CONFIRM, size))
        raw = [
            np.concatenate([self._draws.draw(run, pair, side, stage, n) for stage, n in parts if n])
            for side in (0, 1)
        ]
        # Copy the dict of cells, so that the cells of other runs do not change.
        self._laid = dict(self._laid)
        laid = self._lay_by(pair, raw)
        assert laid.pilots is not None
        halves = count_halves(laid.partition, [[pilot] for pilot in laid.pilots])
        laid.pilots = None
        return Search(laid.partition, halves[None], laid.partition.inside(self._region))

    def count(self, marked: Marked) -> NDArray[np.int64]:
        """Count the confirmation draws of one pair per run; see `dpjax.sources.Opened`."""
        pair, stops = int(marked.pairs[0]), marked.stops(self.num_confirm)
        if not marked.first:
            self._refuse_repeated(pair)
        counts = (self._count_streamed if self._streamed else self._count_gathered)(marked, stops)
        if pair not in self._same:
            differ = clearly_differ(counts[0])
            self._same[pair] = [] if differ else self._notes_of_same_keys(pair)
        return counts

    def _notes_of_same_keys(self, pair: int) -> list[str]:
        """Return a note if both databases of a pair give equal outputs for the same keys."""
        first = self._laid[pair].first
        if self._request.in_order:
            # The search draws few outputs of a whole block, and cells may be determined anew.
            first = self._draws.draw(_FIRST_RUN, pair, 0, SEARCH, self._block)
        second = self._draws.with_same_keys(_FIRST_RUN, pair, SEARCH, len(first))
        return notes_of_same_keys(first, second, self.pairs.labels[pair], f"{len(first)} keys")

    def _count_gathered(self, marked: Marked, stops: NDArray[np.int64]) -> NDArray[np.int64]:
        runs, (pairs, marks, num_marks, first) = self._request.runs, marked[:4]
        counts = np.zeros((len(runs), 2, num_marks), np.int64)
        for row, (run, pair) in enumerate(zip(runs, pairs, strict=True)):
            counted = marks_counter(self._laid[int(pair)].partition, marks[row], num_marks)
            for side in (0, 1):
                stop = int(stops[row, side])
                for batch in self._batches(int(run), pair, side, CONFIRM, stop, first):
                    part = np.zeros((2, num_marks), np.int64)
                    part[side] = counted(batch)
                    counts[row] += part
                    self.tally.confirm(part)
        return counts

    def _lay(self, pair: int) -> Laid:
        """Return a pair's cells; the first call determines the cells from draws of run 0."""
        if pair in self._laid:
            return self._laid[pair]
        # A pilot of whole blocks, or of all draws, lets the next draws begin with a new block.
        most = PILOT if self._region is not None else pilot_size(self._width, len(self.pairs))
        number = min(self._rounds.num_samples, most)
        if len(self.pairs) < MANY_PAIRS or self._draws.keeps_last:
            return self._lay_by(
                pair, [self._draws.draw(_FIRST_RUN, pair, side, SEARCH, number) for side in (0, 1)]
            )
        if self._pilots is None:
            self._pilots = Pilots(
                self._mechanism,
                self._stacked,
                self._draws.streams(_FIRST_RUN),
                number,
                self._block,
                self._width,
            )
        return self._lay_by(pair, self._pilots.of(pair))

    def _lay_by(self, pair: int, raw: list[np.ndarray]) -> Laid:
        """Determine the cells of a pair from raw draws of both sides."""
        options = options_of(self._space, self._region)
        first = min(self._block, kept_draws(len(self.pairs)))
        self._laid[pair] = laid = Laid.by(raw, self._space, self._promise, first, options)
        return laid

    def _search_gathered(self, pair: int, num_samples: int) -> NDArray[np.int64]:
        """Count a pair's draws in the first search round.

        The counts are int64 [runs, 2 halves, 2 sides, cells].
        """
        laid, found = self._lay(pair), []
        for run in self._request.runs:
            pilots, start = None, 0
            if run == _FIRST_RUN and laid.pilots is not None:
                # The first draws of run 0 determined the cells and are still in memory.
                pilots, start = laid.pilots, len(laid.pilots[0].labels)
                self.tally.saw(sum(len(pilot.labels) for pilot in pilots))
            sides = [
                chain(
                    [] if pilots is None else [pilots[side]],
                    self._batches(int(run), pair, side, SEARCH, num_samples, start),
                )
                for side in (0, 1)
            ]
            found.append(count_halves(laid.partition, sides))
            self.tally.searched += 2 * num_samples
        laid.pilots = None
        return np.stack(found)

    @property
    def _table(self) -> Lookup:
        """The cells of all pairs, as a lookup table on the device."""
        kept = self._request.kept
        if "table" not in kept:
            laid = [self._laid[pair].partition for pair in range(len(self.pairs))]
            kept["table"] = lookup(laid, self._space, self._laid[0].first.dtype)
        return kept["table"]

    def _search_streamed(
        self, stage: int, num_samples: int, searched: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Count the draws of one search round in a compiled program.

        The counts are int64 [runs, searched, 2 halves, 2 sides, cells], for the pairs that each run
        searches.
        """
        num_searched = searched.shape[1]
        if num_searched > _STREAMED_PAIRS:
            size = max(laid.partition.size for laid in self._laid.values())
            found = np.empty((*searched.shape, 2, 2, size), np.int64)
            for start in range(0, num_searched, _STREAMED_PAIRS):
                # All parts have the same number of pairs, and therefore share a compiled program.
                places = np.arange(start, start + _STREAMED_PAIRS)
                part = searched[:, np.minimum(places, num_searched - 1)]
                counts = self._search_streamed(stage, num_samples, part)
                some = found[:, start : start + _STREAMED_PAIRS]
                some[...] = counts[:, : some.shape[1], ..., :size]
            return found
        table, counts = self._table, np.int64(0)

        def launch(blocks: Blocks) -> WideCount:
            return over_devices(
                search_counts_runs,
                (self._streams, table, np.int32(stage), blocks),
                (self._request.runs, searched.astype(np.int32)),
                self._request.execution,
            )

        for part in self._parts(launch, 2 * searched.size, num_samples, 0):
            counts = counts + part
            self.tally.searched += int(part.sum())
        return counts.reshape(*searched.shape, 2, 2, table.size).swapaxes(2, 3)

    def _count_streamed(self, marked: Marked, stops: NDArray[np.int64]) -> NDArray[np.int64]:
        pairs, marks, num_marks, first = marked[:4]
        table, counts = self._table, np.zeros((len(pairs), 2, num_marks), np.int64)
        room = table.size - marks.shape[1]
        chosen = (
            self._request.runs,
            pairs.astype(np.int32),
            ends_of(stops, self._block),
            np.pad(marks.astype(np.int32), ((0, 0), (0, room))),
        )

        def launch(blocks: Blocks) -> WideCount:
            return over_devices(
                confirm_counts_runs,
                (self._streams, table, blocks),
                chosen,
                self._request.execution,
                num_marks=num_marks,
            )

        for part in self._parts(launch, 2 * len(pairs), int(stops.max()), first):
            counts += part
            self.tally.confirm(part.sum(axis=0))
        return counts

    def _parts(
        self,
        launch: Callable[[Blocks], WideCount],
        num_streams: int,
        num_draws: int,
        first: int,
    ) -> Iterator[NDArray[np.int64]]:
        """Draw `num_draws` outputs from each stream in parts, and yield each part's counts."""
        blocks, start = blocks_of(num_draws, self._block), first // self._block
        if len(self._request.runs) > 1 and not start:
            yield fetched(launch(blocks)).as_int()
            return
        for part, _ in in_calls(launch, blocks, num_streams, start):
            self.tally.saw(int(part.sum()))
            yield part

    def _promise(self, cells: Partition, halves: NDArray[np.int64], compared: int) -> float:
        return self._request.promise(cells, halves, self._rounds.num_confirm, compared)

    def _refuse_repeated(self, pair: int) -> None:
        """Raise an error if the confirmation set begins with the same outputs as the search set."""
        first, run = self._laid[pair].first, int(self._request.runs[0])
        fresh = self._draws.first_block(run, pair, 0, CONFIRM)
        size = min(len(first), len(fresh), self.num_confirm)
        refuse_repeated(first[:size], fresh[:size], label=name_of(self._mechanism))

    def _batches(
        self, run: int, pair: int, side: int, stage: int, num_draws: int, first: int = 0
    ) -> Iterator[Outputs]:
        """Yield encoded draws in batches; see `DrawnBlocks.batches`."""
        encoder = self._laid[int(pair)].encoder
        for raw in self._draws.batches(run, int(pair), side, stage, num_draws, first):
            self.tally.saw(len(raw))
            yield encode_drawn(encoder, raw, self._space)
