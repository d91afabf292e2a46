"""A mechanism that is drawn on the device, as a source."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpjax.core import random
from dpjax.core.numerics import WideCount
from dpjax.core.streaming import Blocks, blocks_of, in_calls
from dpjax.core.types import FiniteSpace, IntegerSpace, VectorSpace
from dpjax.core.wording import Sentence, term
from dpjax.databases import Pairs
from dpjax.databases.trees import nth
from dpjax.mechanisms import FromFunction, Mechanism, refuse_repeated
from dpjax.partitions import (
    PILOT,
    Encoder,
    Outputs,
    Partition,
    as_region,
    encode_drawn,
    lookup,
    region_text,
)
from dpjax.partitions._scored import fold_of
from dpjax.sources._layouts import (
    block_size,
    confirm_counts_runs,
    first_draws,
    search_counts_runs,
    stream_words,
)
from dpjax.sources._learned import lay_best
from dpjax.sources._source import AnyPairs, Request, Search, Tally, count_halves, parts_note
from dpjax.sources._subject import check_shape, mechanism_at, name_of, pairs_of, parameters_of
from dpjax.sources.streams import CONFIRM, SEARCH, SEARCH_AGAIN

_STREAMED_FROM = 2**25
"""Draws of an audit that NumPy counts in about the time that a kernel takes to compile."""

_RUN = 0

_BATCH = 2**22
"""Numbers that are drawn before they are counted by NumPy."""


@dataclass(frozen=True)
class Drawn:
    """A mechanism whose outputs JAX draws.

    Attributes:
        mechanism: A mechanism of `dpjax.mechanisms`, one of your own, or a JAX function
            (key, database) -> output that draws one output.
    """

    mechanism: Any

    @property
    def name(self) -> str:
        """Of the mechanism or function."""
        return name_of(self.mechanism)

    @property
    def parameters(self) -> dict[str, Any]:
        """Of the mechanism, as plain numbers and lists."""
        return parameters_of(self.mechanism)

    def at(self, pairs: Any) -> tuple[Mechanism, Pairs]:
        """The mechanism, looked at on a database if it is new, and pairs that fit it.

        Raises:
            TypeError, ValueError: They do not fit, or the mechanism is none.
        """
        pairs = pairs_of(self.mechanism, pairs)
        mechanism = mechanism_at(self.mechanism, pairs)
        check_shape(mechanism, pairs)
        return mechanism, pairs

    @contextmanager
    def opened(self, pairs: Any, request: Request) -> Iterator["_OpenedDrawn"]:
        """The mechanism at pairs; a built-in one's standard pairs if None."""
        yield _OpenedDrawn(*self.at(pairs), request)


class _OpenedDrawn:
    """Draws of one audit; see `dpjax.sources.Opened`."""

    def __init__(self, mechanism: Mechanism, pairs: Pairs, request: Request):
        self._mechanism, self._stacked, self._request = mechanism, pairs, request
        self._space = mechanism.output_space
        self._region = None
        if request.region is not None:
            self._region = as_region(request.region, self._space)
        self.tally = Tally(request.execution.progress)
        self.pairs = AnyPairs.of(pairs)
        self._rounds = request.rounds(len(pairs))
        self.num_confirm = self._rounds.num_confirm
        self.region = region_text(self._region)
        self.notes: list[str] = []
        if isinstance(mechanism, FromFunction) and mechanism.parts:
            self.notes.append(parts_note(mechanism.parts))
        # One a pair, so that its cells do not depend on what other pairs gave.
        self._encoders = [Encoder("the mechanism") for _ in range(len(pairs))]
        self._first: list[np.ndarray] = []
        self._laid: list[Partition] = []
        self._block = block_size(self._rounds)
        self.settings: dict[str, Any] = {"block": self._block, **random.numbers_of_process()}
        draws = 2 * (self._rounds.searched(len(pairs)) + self.num_confirm)
        self.tally.expect(draws)
        layout = request.execution.layout
        self._streamed = layout == "streamed" or (layout == "auto" and draws >= _STREAMED_FROM)
        # Scores are computed on the host.
        self._streamed &= not isinstance(self._space, VectorSpace) or self._region is not None

    def search(self) -> list[Search]:
        """Lays cells by the first draws of every pair, and counts all of its draws in them."""
        num_samples = self._rounds.num_samples
        laid, halves = self._laid, []
        for pair, encoder in enumerate(self._encoders):
            # The pilot fills whole blocks or is all there is, so that the rest begins after it.
            raw = [self._draw(pair, side, SEARCH, min(num_samples, PILOT)) for side in (0, 1)]
            self._first.append(raw[0][: self._block])
            pilots = [encode_drawn(encoder, side, self._space) for side in raw]
            folds = [fold_of(np.arange(len(pilot.labels))) for pilot in pilots]
            options = options_of(self._space, self._region)
            laid.append(lay_best(pilots, folds, encoder.names, self._promise, **options))
            if not self._streamed:
                self.tally.saw(sum(len(pilot.labels) for pilot in pilots))
                rests = [
                    self._batches(pair, side, SEARCH, num_samples, PILOT // self._block)
                    for side in (0, 1)
                ]
                sides = [chain([p], rest) for p, rest in zip(pilots, rests, strict=True)]
                halves.append(count_halves(laid[-1], sides))
                self.tally.searched += 2 * num_samples
        if self._streamed:
            self._table = lookup(laid, self._space, self._first[0].dtype)
            halves = self._search_streamed(SEARCH, num_samples, range(len(laid)))
        found = [
            Search(cells, counts, cells.inside(self._region))
            for cells, counts in zip(laid, halves, strict=True)
        ]
        self.notes += _lost_outcomes(found, self._space)
        return found

    def search_again(self, kept: Sequence[int]) -> list[NDArray[np.int64]]:
        """Draws of a stage of their own; see `dpjax.sources.Opened`."""
        num_again = self._rounds.num_again
        if self._streamed:
            return self._search_streamed(SEARCH_AGAIN, num_again, kept)
        halves = []
        for pair in kept:
            sides = [self._batches(pair, side, SEARCH_AGAIN, num_again) for side in (0, 1)]
            halves.append(count_halves(self._laid[pair], sides))
            self.tally.searched += 2 * num_again
        return halves

    def confirm(
        self, pair: int, partition: Partition, marks: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """Fresh draws; see `dpjax.sources.Opened`."""
        num_marks = int(marks.max()) + 1
        block = min(self._block, self.num_confirm)
        self._refuse_repeated(pair, self._draw(pair, 0, CONFIRM, block))
        if not self._streamed:
            for side in (0, 1):
                for batch in self._batches(pair, side, CONFIRM, self.num_confirm):
                    counts = np.zeros((2, num_marks), np.int64)
                    counts[side] = np.bincount(marks[partition.index(batch)], minlength=num_marks)
                    self.tally.confirm(counts)
            assert self.tally.confirmed is not None
            return self.tally.confirmed
        of_run = (
            np.full(1, _RUN, np.int32),
            np.full(1, pair, np.int32),
            np.pad(np.asarray(marks, np.int32), (0, self._table.size - len(marks)))[None],
        )

        def launch(blocks: Blocks) -> WideCount:
            return confirm_counts_runs(
                self._mechanism,
                self._stacked.database,
                self._stacked.neighbor,
                self._table,
                blocks,
                self._request.key,
                of_run,
                num_marks=num_marks,
                execution=self._request.execution,
            )

        for counts, size in in_calls(launch, blocks_of(self.num_confirm, self._block), 2):
            self.tally.confirm(counts[0])
            self.tally.saw(2 * size)
        assert self.tally.confirmed is not None
        return self.tally.confirmed

    def _promise(self, cells: Partition, halves: NDArray[np.int64]) -> float:
        return self._request.promise(cells, halves, self._rounds.num_confirm)

    def _refuse_repeated(self, pair: int, fresh: np.ndarray) -> None:
        """The first blocks of both stages must differ: a sampler may not look at its key."""
        first = self._first[pair]
        size = min(len(first), len(fresh))
        refuse_repeated(first[:size], fresh[:size], label=name_of(self._mechanism))

    def _draw(self, pair: int, side: int, stage: int, num_draws: int, first: int = 0) -> np.ndarray:
        """So many draws of a stream from a block on, on the host."""
        stream = stream_words(random.words_of(self._request.key), _RUN, pair, side, stage)
        database = nth((self._stacked.database, self._stacked.neighbor)[side], pair)
        return first_draws(self._mechanism, stream, database, num_draws, self._block, first=first)

    def _batches(
        self, pair: int, side: int, stage: int, num_draws: int, first: int = 0
    ) -> Iterator[Outputs]:
        """The first so many draws of a stream without some first blocks, in flat memory."""
        width = self._space.dimension if isinstance(self._space, VectorSpace) else 1
        step = max(_BATCH // (self._block * width), 1)
        for block in range(first, -(-num_draws // self._block), step):
            size = min(step * self._block, num_draws - block * self._block)
            raw = self._draw(pair, side, stage, size, block)
            self.tally.saw(len(raw))
            yield encode_drawn(self._encoders[pair], raw, self._space)

    def _search_streamed(
        self, stage: int, num_samples: int, searched: Sequence[int]
    ) -> list[np.ndarray]:
        streams, counts = 2 * len(searched), np.int64(0)

        def launch(blocks: Blocks) -> WideCount:
            return search_counts_runs(
                self._mechanism,
                self._stacked.database,
                self._stacked.neighbor,
                self._table,
                np.int32(stage),
                blocks,
                self._request.key,
                (np.full(1, _RUN, np.int32), np.array([searched], np.int32)),
                execution=self._request.execution,
            )

        for part, size in in_calls(launch, blocks_of(num_samples, self._block), streams):
            counts = counts + part[0]
            self.tally.searched += streams * size
            self.tally.saw(streams * size)
        halves = counts.reshape(len(searched), 2, 2, self._table.size).transpose(0, 2, 1, 3)
        return [
            half[..., : self._laid[pair].size] for half, pair in zip(halves, searched, strict=True)
        ]


def options_of(space: Any, region: Any) -> dict[str, Any]:
    """How outputs of a space are laid in cells.

    Args:
        space: Of the outputs.
        region: At whose ends cells end, or None.
    """
    return {
        "outcomes": space.size if isinstance(space, FiniteSpace) else None,
        "ordered": not isinstance(space, FiniteSpace) or space.ordered,
        "whole": isinstance(space, FiniteSpace | IntegerSpace),
        "region": region,
    }


def _lost_outcomes(found: list[Search], space: Any) -> list[str]:
    """Says what share of the outputs was outside of a finite space."""
    if not isinstance(space, FiniteSpace):
        return []
    share = 0.0
    for search in found:
        low, high = search.partition.bounds().T
        outside = (low < 0) | (high > space.size)
        counts = search.halves.sum(axis=0)
        share = max(share, float((counts[:, outside].sum(axis=1) / counts.sum(axis=1)).max()))
    if share == 0:
        return []
    return [
        Sentence(
            f"Up to {share:.2%} of the outputs at a database were integers outside of 0 .. "
            f"{space.size - 1} ({term('num_outcomes')}): they were counted as one outcome "
            "below and one above."
        )
    ]
