"""First draws for each pair of databases, and the cells that these draws determine.

If there are many pairs, each compiled call draws for several pairs at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dpjax.core import random
from dpjax.core.types import FiniteSpace, IntegerSpace, JsonObject, OutputSpace, VectorSpace
from dpjax.databases import Pairs
from dpjax.databases.trees import nth
from dpjax.mechanisms import Mechanism
from dpjax.partitions import Encoder, Outputs, Partition, Region, encode_drawn
from dpjax.partitions._entries import NO_ENTRIES
from dpjax.partitions._scored import fold_of
from dpjax.sources._layouts import blocks_at_once, draws_of_pairs
from dpjax.sources._learned import Promise, lay_best
from dpjax.sources.streams import SEARCH

MANY_PAIRS = 512
"""If there are at least this many pairs, each compiled call draws for several of them. For fewer
pairs, compiling an additional program would take more time than the program saves.
"""


_COMPARED, _LEAST_COMPARED = 2**22, 128
"""Number of first draws to keep for `refuse_repeated`: _COMPARED in total, divided among all pairs,
but at least _LEAST_COMPARED for each pair.
"""


def kept_draws(num_pairs: int) -> int:
    """Return the number of first draws to keep for each pair."""
    return max(_COMPARED // num_pairs, _LEAST_COMPARED)


@dataclass
class Laid:
    """The cells of one pair, and the draws that determined the cells.

    Attributes:
        encoder: Encoder whose integer indices for labels agree with those of the partition.
        partition: Partition of the outputs into cells.
        first: First raw draws from the database, at most one block.
        pilots: Encoded draws that determined the cells, or None once these draws are counted.
    """

    encoder: Encoder
    partition: Partition
    first: np.ndarray
    pilots: list[Outputs] | None

    @classmethod
    def by(
        cls,
        raw: Sequence[np.ndarray],
        space: OutputSpace,
        promise: Promise,
        num_kept: int,
        options: JsonObject,
    ) -> Self:
        """Determine the cells of a pair from raw draws on both sides.

        Args:
            raw: Raw draws from the database and from its neighbor.
            space: Space of the outputs.
            promise: Function that returns the expected bound of a partition.
            num_kept: Number of draws from the database to keep.
            options: Options of `dpjax.partitions.lay`, from `options_of`.
        """
        # Create a new encoder, so that the cells of a pair do not depend on other pairs.
        encoder = Encoder("the mechanism")
        pilots = [encode_drawn(encoder, side, space) for side in raw]
        entries = NO_ENTRIES
        if isinstance(space, VectorSpace) and options["region"] is None:
            # The encoder compares only some entries of long vectors from now on.
            pilots = encoder.fixed(pilots)
            entries = encoder.entries
        folds = [fold_of(np.arange(len(pilot.labels))) for pilot in pilots]
        cells = lay_best(pilots, folds, encoder.names, promise, entries, **options)
        return cls(encoder, cells, raw[0][:num_kept].copy(), pilots)


class Pilots:
    """First search draws for each pair; each call draws for as many pairs as possible.

    Args:
        mechanism: Mechanism that draws.
        pairs: Stacked pairs.
        streams: Key of each stream in a run, as two words, uint32 [pairs, 2 sides, stages, 2].
        num_draws: Number of draws per side of each pair.
        block: Number of draws in a block.
        width: Dimension of a draw.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        pairs: Pairs,
        streams: NDArray[np.uint32],
        num_draws: int,
        block: int,
        width: int,
    ):
        self._mechanism, self._streams, self._block = mechanism, streams, block
        self._stacked = pairs.database, pairs.neighbor
        self._num_draws, self._blocks = num_draws, -(-num_draws // block)
        self._at_once = max(blocks_at_once(block, width) // self._blocks, 1)
        self._first, self._drawn = 0, [np.empty(0), np.empty(0)]

    def of(self, pair: int) -> list[np.ndarray]:
        """Return a pair's draws from the database and from the neighbor, [num_draws, ...] each."""
        if not self._first <= pair < self._first + len(self._drawn[0]):
            self._first = pair
            place = np.arange(pair, min(pair + self._at_once, len(self._streams)))
            blocks = np.arange(self._blocks)
            self._drawn = [
                draws_of_pairs(
                    self._mechanism,
                    random.fold_words(self._streams[place, side, SEARCH][:, None], blocks),
                    nth(self._stacked[side], place),
                    size=self._block,
                    at_once=self._at_once,
                )
                for side in (0, 1)
            ]
        return [drawn[pair - self._first, : self._num_draws] for drawn in self._drawn]


def options_of(space: OutputSpace, region: Region | None) -> JsonObject:
    """Return the options of `dpjax.partitions.lay` for outputs in a space.

    Args:
        space: Space of the outputs.
        region: Region whose boundaries must also be cell boundaries, or None for no region.
    """
    return {
        "outcomes": space.size if isinstance(space, FiniteSpace) else None,
        "ordered": not isinstance(space, FiniteSpace) or space.ordered,
        "whole": isinstance(space, FiniteSpace | IntegerSpace),
        "region": region,
    }
