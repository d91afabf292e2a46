"""Recorded outputs, counted in the order in which they were recorded.

The first outputs determine the cells, and each later output is counted once. A sequential audit
that continues with longer recordings counts only the new outputs.
"""

import copy
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from dpjax.core.arrays import joined
from dpjax.core.wording import EVENTS, BadValue
from dpjax.inference import LAYING, PLANNED
from dpjax.partitions import Encoder, Partition, Search
from dpjax.partitions._scored import fold_of
from dpjax.sources._as_written import notes_as_written
from dpjax.sources._coins_in_outputs import notes_of_run_numbers
from dpjax.sources._counting import Tally, count_halves, marks_counter
from dpjax.sources._held import Chunked, Sides, held, names_of_entries
from dpjax.sources._labels_alone import notes_of_labels_alone
from dpjax.sources._learned import lay_best
from dpjax.sources._opened import Marked, Request
from dpjax.sources._pairs import RECORDED_PAIRS
from dpjax.sources._recorded_counts import (
    advice_on,
    notes_of_new_draws,
    notes_of_summaries,
    refuse_two_kinds,
    weighed,
)
from dpjax.sources._serial import notes_of_order
from dpjax.sources._side_values import SideValues
from dpjax.sources.readers._databases import notes_of_other_names

_ORDERED = 2**18
"""Number of first outputs per side whose order is tested for independence."""


class _Side:
    """One side's outputs, which are examined in a first pass and counted in a second pass.

    Attributes:
        name: Name for display.
        values: Summary of the side's values and their counts.
    """

    def __init__(self, recording: Chunked, name: str):
        self.name = name if recording.name == name else f"{name} ({recording.name})"
        self.values = SideValues()
        self._recording = recording
        self._chunks = recording.chunks()
        self._left: np.ndarray | None = None
        self._place = 0
        self._kept = np.empty(0)

    def first(self, number: int, tally: Tally) -> np.ndarray:
        """Add all outputs to `values`, and return the first `number` outputs.

        Raises:
            ValueError: If there are at most `number` outputs.
        """
        kept, total = [], 0
        for chunk in self._recording.chunks():
            kept.append(chunk[: max(LAYING - total, 0)])
            total += len(chunk)
            self.values.add(chunk)
            tally.saw(len(chunk))
        if total <= number:
            raise BadValue(
                f"{self.name} must hold more than {number} outputs, since the first {number} "
                f"outputs determine the cells, but held {total}: use {EVENTS}."
            )
        self._kept = joined([chunk for chunk in kept if len(chunk)])
        return self._kept[:number]

    def again(self, number: int) -> np.ndarray:
        """Return the first `number` outputs, at most `LAYING`, without reading a file again."""
        return self._kept[:number]

    def beginning(self) -> np.ndarray:
        """Return the side's first outputs, whose order is tested for independence."""
        kept, total = [], 0
        for chunk in self._recording.chunks():
            kept.append(chunk[: _ORDERED - total])
            total += len(kept[-1])
            if total == _ORDERED:
                break
        return joined(kept)

    def read(self, start: int, number: int) -> Iterator[np.ndarray]:
        """Yield outputs start, ..., start + number - 1.

        These outputs must follow all outputs that earlier calls yielded.
        """
        while self._place < start + number:
            if self._left is None or not len(self._left):
                self._left = next(self._chunks)
            skipped = min(max(start - self._place, 0), len(self._left))
            wanted = min(start + number - self._place, len(self._left))
            if wanted > skipped:
                yield self._left[skipped:wanted]
            self._place, self._left = self._place + wanted, self._left[wanted:]


class OpenedInOrder:
    """Recorded outputs that were opened for a sequential audit; see `dpjax.sources.Opened`.

    Args:
        source: Recorded outputs of both sides.
        request: Settings of the audit, such as its key and its numbers of draws.
        gone: Number of outputs per side that an earlier audit counted and that the source has
            dropped. The dropped outputs directly follow the first `dpjax.inference.LAYING` outputs.
    """

    held = None
    lays_once = False

    def __init__(self, source: Sides, request: Request, gone: int = 0):
        self.shares = False
        if source.blocks is not None:
            raise BadValue("blocks must be left out if outputs are counted in recorded order.")
        self._source, self._request, self._gone = source, request, gone
        sides = (held("x", source.x), held("y", source.y))
        self._sides = [_Side(side, name) for side, name in zip(sides, "xy", strict=True)]
        self.notes: list[str] = [note for side in sides for note in getattr(side, "notes", ())]
        self.notes += notes_of_other_names(source.x, source.y)
        self.tally = Tally(request.execution.progress)
        self.tally.expect(0)
        self.pairs = RECORDED_PAIRS
        self.num_confirm = self._first = 0
        self.region = "all outputs"
        self.settings = {"discrete": source.discrete, "bits": source.bits, "order": "recorded"}
        self._cells: Partition | None = None
        self._entries = names_of_entries(source.x, source.y)

    def search(self) -> list[Search]:
        """Determine cells from the first outputs of both sides, and examine all outputs."""
        self._first = self._request.rounds(1).num_samples
        raw = [side.first(self._first, self.tally) for side in self._sides]
        names = [side.name for side in self._sides]
        refuse_two_kinds(names, raw)
        values = [side.values for side in self._sides]
        self.notes += weighed(notes_of_new_draws(names, values), self._source)
        self.num_confirm = min(value.total for value in values) - self._first + self._gone
        found = self._lay(raw)
        if len({value.total for value in values}) == 2:
            more = int(np.argmax([value.total for value in values]))
            self.notes.append(
                f"{names[more]} has {abs(values[0].total - values[1].total):,} more outputs than "
                f"{names[1 - more]}; these outputs are not counted, unless the audit continues "
                "with a longer recording of the other side."
            )
        # Use a copy, because counted outputs must be encoded without knowledge of later outputs.
        encoder = copy.deepcopy(self._encoder)
        first = [side.beginning() for side in self._sides]
        self.notes += notes_as_written(names, first)
        beginnings = [encoder.encode(outputs) for outputs in first]
        total = sum(value.total for value in values)
        # Many outputs show whether later cells will be those of summaries.
        whole = self._new_encoder()
        pilots = whole.fixed([whole.encode(outputs) for outputs in first])
        self.notes += notes_of_labels_alone(pilots, whole, whole.source, total)
        self.notes += notes_of_summaries(names, pilots, whole)
        self.notes += notes_of_run_numbers(names, pilots, whole)
        for side, beginning in zip(self._sides, beginnings, strict=True):
            # Test the order of many outputs now, since the audit may later count only a few
            # outputs.
            order = found.partition.index(beginning)
            if np.any(order == found.partition.num_alone - 1):
                # Labels of the first outputs have their own cells, but other labels share one cell,
                # which contains no first outputs. The cells are in random order only for later
                # outputs.
                order = order[self._first :]
            likely = order >= max(np.median(order), order.min() + 1)
            doubts = notes_of_order(side.name, [likely], order, advice=advice_on(self._source))
            self.notes += weighed(doubts, self._source)
        self.tally.searched += 2 * self._first
        return [found]

    def _new_encoder(self) -> Encoder:
        names = " and ".join(side.name for side in self._sides)
        return Encoder(names, bits=self._source.bits, names_of_entries=self._entries)

    def _lay(self, raw: list[np.ndarray]) -> Search:
        """Determine cells from the first outputs of both sides, and count these outputs."""
        # Every label that the encoder knows gets a cell. If it knew labels that only later outputs
        # have, the cells would depend on these outputs, and bounds would be invalid.
        encoder = self._encoder = self._new_encoder()
        pilots = encoder.fixed([encoder.encode(outputs) for outputs in raw])
        cells = self._cells = lay_best(
            pilots,
            [fold_of(np.arange(len(pilot.labels))) for pilot in pilots],
            encoder.names,
            lambda cells, halves, number: self._request.promise(cells, halves, PLANNED, number),
            encoder.entries,
            discrete=self._source.discrete,
            region=None,
        )
        return Search(cells, count_halves(cells, [[pilot] for pilot in pilots])[None], None)

    def lay_again(self, pair: int, size: int) -> Search:
        """Determine cells again, from the outputs in memory; see `dpjax.sources.OpenedInTurn`."""
        return self._lay([side.again(self._first + size) for side in self._sides])

    def search_again(self, kept: NDArray[np.int64]) -> NDArray[np.int64]:
        """Raise NotImplementedError, because a sequential audit has only one search round."""
        raise NotImplementedError

    def count(self, marked: Marked) -> NDArray[np.int64]:
        """Count the next outputs; see `dpjax.sources.Opened`.

        Raises:
            ValueError: If a requested output precedes the last counted output.
        """
        assert self._cells is not None and marked.size is not None
        counts = np.zeros((1, 2, marked.num_marks), np.int64)
        counted = marks_counter(self._cells, marked.marks[0], marked.num_marks)
        for place, side in enumerate(self._sides):
            for chunk in side.read(self._first + marked.first - self._gone, marked.size):
                counts[0, place] += counted(self._encoder.encode(chunk))
                self.tally.saw(len(chunk))
        self.tally.confirm(counts[0])
        return counts
