"""A mechanism that is drawn on the device, as a source."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from dpjax import _random
from dpjax._random import numbers_of_process
from dpjax._types import FiniteSpace, IntegerSpace
from dpjax.databases import Pairs
from dpjax.mechanisms import Mechanism, refuse_repeated
from dpjax.partitions import (
    PILOT,
    Encoder,
    Partition,
    as_region,
    encode_drawn,
    lay,
    lookup,
)
from dpjax.sources._layouts import (
    block_size,
    blocks,
    confirm_counts_runs,
    sample_block,
    search_counts_runs,
    stream_words,
)
from dpjax.sources._source import AnyPairs, Request, Search
from dpjax.sources._streams import CONFIRM, SEARCH
from dpjax.sources._subject import check_shape, mechanism_of, name_of, pairs_of, parameters_of

_STREAMED_FROM = 2**25
"""Draws of an audit that NumPy counts in about the time that a kernel takes to compile."""

_RUN = 0


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
        mechanism = mechanism_of(self.mechanism, pairs.database[0])
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
        self.pairs = AnyPairs.of(pairs)
        self.num_confirm = request.num_confirm
        self.region = "all outputs" if self._region is None else str(self._region)
        self.notes: list[str] = []
        # One a pair, so that its cells do not depend on what other pairs gave.
        self._encoders = [Encoder("the mechanism") for _ in range(len(pairs))]
        self._block = block_size(request.num_samples, request.num_confirm)
        self.settings: dict[str, Any] = {"block": self._block, **numbers_of_process()}
        draws = 2 * len(pairs) * request.num_samples + 2 * request.num_confirm
        layout = request.execution.layout
        self._streamed = layout == "streamed" or (layout == "auto" and draws >= _STREAMED_FROM)

    def search(self) -> list[Search]:
        """Lays cells by the first draws of every pair, and counts all of its draws in them."""
        num_samples = self._request.num_samples
        drawn = min(num_samples, PILOT) if self._streamed else num_samples
        laid, halves = [], []
        for pair, encoder in enumerate(self._encoders):
            raw = [self._draw(pair, side, SEARCH, drawn) for side in (0, 1)]
            laid.append(
                lay_drawn([side[:PILOT] for side in raw], self._space, self._region, encoder)
            )
            if not self._streamed:
                halves.append(self._halves(raw, laid[-1], encoder))
        if self._streamed:
            self._table = lookup(laid, self._space, self._dtype)
            halves = self._search_streamed(laid)
        found = [
            Search(cells, counts, cells.inside(self._region))
            for cells, counts in zip(laid, halves, strict=True)
        ]
        self.notes += _lost_outcomes(found, self._space)
        return found

    def confirm(
        self, pair: int, partition: Partition, marks: NDArray[np.integer]
    ) -> NDArray[np.int64]:
        """Fresh draws; see `dpjax.sources.Opened`."""
        num_marks = int(marks.max()) + 1
        self._refuse_repeated(pair)
        if not self._streamed:
            counts = []
            for side in (0, 1):
                raw = self._draw(pair, side, CONFIRM, self.num_confirm)
                cell = partition.index(encode_drawn(self._encoders[pair], raw, self._space))
                counts.append(np.bincount(marks[cell], minlength=num_marks))
            return np.stack(counts)
        counts = confirm_counts_runs(
            self._mechanism,
            self._stacked.database,
            self._stacked.neighbor,
            self._table,
            blocks(self.num_confirm, self._block),
            self._request.key,
            (
                np.full(1, _RUN, np.int32),
                np.full(1, pair, np.int32),
                np.pad(np.asarray(marks, np.int32), (0, self._table.size - len(marks)))[None],
            ),
            num_marks=num_marks,
            execution=self._request.execution,
        )
        return counts.as_int()[0]

    def _refuse_repeated(self, pair: int) -> None:
        """The first blocks of both stages must differ: a sampler may not look at its key."""
        size = min(self._block, self._request.num_samples, self.num_confirm)
        blocks = [self._draw(pair, 0, stage, size) for stage in (SEARCH, CONFIRM)]
        refuse_repeated(*blocks, label=name_of(self._mechanism))

    def _draw(self, pair: int, side: int, stage: int, num_draws: int) -> np.ndarray:
        """The first so many draws of a stream, on the host."""
        stream = stream_words(self._request.key, _RUN, pair, side, stage)
        sides = (self._stacked.database, self._stacked.neighbor)
        drawn = [
            sample_block(
                self._mechanism,
                _random.fold_words(stream, block),
                sides[side][pair],
                size=self._block,
            )
            for block in range(-(-num_draws // self._block))
        ]
        self._dtype = drawn[0].dtype
        return np.concatenate(jax.device_get(drawn))[:num_draws]

    def _halves(self, raw: list[np.ndarray], cells: Partition, encoder: Encoder) -> np.ndarray:
        """Counts of draws of an even and of an odd number, int64 [2, 2, cells]."""
        sides = [encode_drawn(encoder, side, self._space) for side in raw]
        return np.stack(
            [cells.count(side, np.arange(len(side.labels)) % 2, 2) for side in sides], 1
        )

    def _search_streamed(self, partitions: list[Partition]) -> list[np.ndarray]:
        table = self._table
        counts = search_counts_runs(
            self._mechanism,
            self._stacked.database,
            self._stacked.neighbor,
            table,
            blocks(self._request.num_samples, self._block),
            self._request.key,
            np.full(1, _RUN, np.int32),
            execution=self._request.execution,
        ).as_int()[0]
        halves = counts.reshape(len(partitions), 2, 2, table.size).transpose(0, 2, 1, 3)
        return [half[..., : cells.size] for half, cells in zip(halves, partitions, strict=True)]


def lay_drawn(pilot: list[np.ndarray], space: Any, region: Any, encoder: Encoder) -> Partition:
    """Cells for drawn outputs of one pair.

    Args:
        pilot: Outputs at the database and at its neighbor, as drawn.
        space: Of the outputs.
        region: At whose ends cells end, or None.
        encoder: Of the source.
    """
    integers = isinstance(space, FiniteSpace | IntegerSpace)
    return lay(
        [encode_drawn(encoder, side, space) for side in pilot],
        encoder.names,
        outcomes=space.size if isinstance(space, FiniteSpace) else None,
        whole=integers,
        region=region,
    )


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
        f"Up to {share:.2%} of the outputs at a database were integers outside of 0 .. "
        f"{space.size - 1} (num_outcomes): they were counted as one outcome below and one above."
    ]
