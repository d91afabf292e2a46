"""Random split of a recording's outputs into a search set and a confirmation set."""

from collections.abc import Iterator

import jax
import numpy as np

from dpjax.core import random
from dpjax.core.arrays import joined
from dpjax.core.wording import BadValue
from dpjax.partitions import PILOT, Encoder, Partition, part_of
from dpjax.partitions._scored import fold_of
from dpjax.sources._counting import Tally
from dpjax.sources._held import Chunked
from dpjax.sources._side_values import SideValues

_MIN_SIDE, MIN_SEARCH = 40, 10
"""Minimum number of outputs (or of blocks, if outputs form blocks) on a side, and minimum number of
outputs in a side's search set.
"""

_ORDERED = 2**18
"""Number of first outputs per side whose order is tested for independence."""

_ROWS = 2**16
"""Number of outputs that are counted at a time."""


def key_of_side(key: jax.Array, side: int) -> np.ndarray:
    """Return the key of a side's random words, uint64 [2].

    Args:
        key: Typed key of the audit.
        side: 0 for the database, 1 for its neighbor.
    """
    words = random.words_of(key).tolist()
    return np.array([words[0] << 32 | words[1], side], np.uint64)


def random_words(key: np.ndarray, start: int, count: int) -> np.ndarray:
    """Return words start, ..., start + count - 1 of a random stream.

    Args:
        key: Key of the stream, uint64 [2].
        start: Index of the first word.
        count: Number of words.

    Returns:
        Random words, uint64 [count].
    """
    # Philox generates four words for each value of its counter.
    generator = np.random.Philox(key=key, counter=start // 4)
    return generator.random_raw(start % 4 + count)[start % 4 :]


class Split:
    """A recording with a random split of its outputs into a search set and a confirmation set.

    A random word decides to which set an output belongs. A counter-based generator computes this
    word from the audit's key and the index of the output's block. Therefore the split is the same
    in every pass over the outputs, and does not depend on the size of the chunks.

    Args:
        recording: Outputs of one side.
        name: "x" or "y".
        key: Typed key of the audit.
        place: Tuple (index of the side, number of outputs in a block of dependent outputs).
        fraction: Share of the outputs that form the search set.

    Attributes:
        name: Name for display.
        fraction: Share of the outputs that form the search set.
        values: Summary of the values of the side, with their counts.
        folds: Fold of each output of the pilot, int64 [n].
        labels: Number of outputs with each label index, int64 [labels]; see `Outputs`.
        in_order: Cell of each of the first outputs, in recorded order, integers [n]. If outputs
            form blocks, only outputs of the confirmation set are included.

    References:
        Salmon, Moraes, Dror, Shaw (2011): Philox-4x64.
    """

    def __init__(
        self,
        recording: Chunked,
        name: str,
        key: jax.Array,
        place: tuple[int, int],
        fraction: float,
    ):
        self._recording, (side, self._block) = recording, place
        self.name = name if recording.name == name else f"{name} ({recording.name})"
        self._key = key_of_side(key, side)
        self.fraction, self._limit = fraction, np.uint64(int(fraction * 2**64))
        self.values, self.in_order = SideValues(), np.empty(0, np.uint8)
        self.labels = np.zeros(1, np.int64)

    def _numbered(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield chunks, with one random word per output; all outputs in a block share one word."""
        start = 0
        for chunk in self._recording.chunks():
            first, last = start // self._block, (start + len(chunk) - 1) // self._block
            words = random_words(self._key, first, last - first + 1)
            if self._block > 1:
                words = words[(start + np.arange(len(chunk))) // self._block - first]
            yield chunk, words
            start += len(chunk)

    def _parts(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield the chunks of `_numbered` in parts that fit in a processor's cache."""
        for chunk, words in self._numbered():
            # The distinct labels of each part are looked up, which takes longer for small parts.
            rows = _ROWS if chunk.dtype.kind in "biuf" else len(chunk)
            for start in range(0, len(chunk), rows):
                yield chunk[start : start + rows], words[start : start + rows]

    def pilot(self, tally: Tally) -> np.ndarray:
        """Return a random part of the search set: the outputs with the smallest random words.

        All outputs are read and added to `values`.
        """
        kept: list[tuple[np.ndarray, np.ndarray]] = []
        size = total = searching = entries = 0
        smallest, limit = np.empty(0, np.uint64), self._limit
        for chunk, words in self._numbered():
            total, entries = total + len(chunk), entries + chunk.size
            tally.saw(len(chunk))
            self.values.add(chunk)
            if searching < MIN_SEARCH:
                searching += int((words < self._limit).sum())
            if searching < MIN_SEARCH:
                smallest = np.sort(np.concatenate([smallest, words]))[: MIN_SEARCH + 1]
            chosen = np.flatnonzero(words < limit)
            kept.append((chunk[chosen], words[chosen]))
            size += len(chosen)
            if size > 4 * PILOT:
                kept = [_smallest(kept)]
                # Outputs with a larger word cannot be in the pilot.
                size, limit = PILOT, kept[0][1].max() + np.uint64(1)
        if total < _MIN_SIDE * self._block:
            blocks = "" if self._block == 1 else f" ({_MIN_SIDE} blocks)"
            row = f", a row of {entries} entries: write each output in a row of its own"
            raise ValueError(
                f"{self.name} must hold at least {_MIN_SIDE * self._block} outputs{blocks}, but "
                f"held {total}{row if entries > total == 1 else ''}."
            )
        if int(total * self.fraction) < MIN_SEARCH:
            raise BadValue(
                f"search_fraction must put at least {MIN_SEARCH} outputs of {self.name} into the "
                f"search set, but {self.fraction} of {total} is only {int(total * self.fraction)}."
            )
        if searching < MIN_SEARCH:
            # If there are few outputs, too few random words may be below the limit, so raise the
            # limit.
            self._limit = smallest[MIN_SEARCH] + np.uint64(1)
            numbered = [(chunk, words, words < self._limit) for chunk, words in self._numbered()]
            kept = [(chunk[chosen], words[chosen]) for chunk, words, chosen in numbered]
        pilot, words = _smallest(kept)
        self.folds = _fold(words)
        return pilot

    def counts(self, encoder: Encoder, cells: Partition, tally: Tally) -> np.ndarray:
        """Return the counts of both search halves and of the confirmation set, int64 [3, cells]."""
        counts, number, kept = np.zeros((4, cells.size), np.int64), 0, []
        for chunk, words in self._parts():
            half = (words & np.uint64(1)).astype(np.int64)
            part = np.where(words < self._limit, half, 2)
            if self._block > 1:
                # In each block of the confirmation set, count a single output, which is selected by
                # other bits of the random word.
                place = (number + np.arange(len(chunk))) % self._block
                chosen = (words >> np.uint64(1)) % np.uint64(self._block)
                part[(part == 2) & (place != chosen)] = 3
            outputs = encoder.encode(chunk)
            labels = np.bincount(outputs.labels, minlength=len(self.labels))
            labels[: len(self.labels)] += self.labels
            self.labels = labels
            search = part < 2
            if not cells.cross_fitted:
                cell = cells.index(outputs)
            else:
                cell = np.empty(len(part), np.int64)
                seen, fresh = part_of(outputs, search), part_of(outputs, ~search)
                cell[search] = cells.index_held_out(seen, _fold(words[search]))
                cell[~search] = cells.index(fresh)
            counts += np.bincount(cell + cells.size * part, minlength=4 * cells.size).reshape(4, -1)
            room = max(_ORDERED - sum(map(len, kept)), 0)
            alone = cell if self._block == 1 else cell[part == 2]
            kept.append(alone[:room].astype(np.min_scalar_type(cells.size)))
            number += len(chunk)
            tally.searched += int(search.sum())
            tally.saw(len(chunk))
        self.in_order = np.concatenate(kept)
        return counts[:3]


def _fold(words: np.ndarray) -> np.ndarray:
    """Return the fold of each output, computed from unused bits of the output's random word."""
    return fold_of((words >> np.uint64(32)).astype(np.int64))


def _smallest(parts: list[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    words = np.concatenate([words for _, words in parts])
    if len(words) > PILOT:
        # Select outputs before joining the parts, since labels may be long.
        last = np.partition(words, PILOT - 1)[PILOT - 1]
        parts = [(outputs[few], words[few]) for outputs, words in parts for few in [words <= last]]
    outputs, words = zip(*parts, strict=True)
    return joined(outputs), np.concatenate(words)
