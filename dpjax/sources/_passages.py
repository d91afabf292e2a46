"""Detection of sequences of outputs (passages) that have arrived before.

A window is any sequence of `WINDOW` consecutive outputs on one side. A window's hash is kept if the
hash is a multiple of `_EVERY`. On average, one in `_EVERY` windows has such a hash. If a passage
arrives again, in the same or in other chunks, it consists of the same windows and therefore has the
same kept hashes. A window is ignored if it may occur twice by chance. The last outputs of each side
are kept, so that windows may span chunks.

References:
    Manber, "Finding similar files in a large file system", USENIX Winter 1994 (for selecting hashes
    by their values).
"""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from dpjax.core.arrays import packed, unpacked
from dpjax.core.types import JsonObject
from dpjax.sources._hashes import mix
from dpjax.sources._side_values import cannot_recur

WINDOW = 128
"""Number of consecutive outputs in a window, a power of 2."""

_EVERY = 2**8
"""Average number of windows per kept hash."""

Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Passages:
    """The kept hashes of all windows so far, and the hashes of the last outputs on each side.

    Attributes:
        words: Hash of each kept window, uint64 [k], ascending.
        chunks: For each kept window, index of the chunk that contains its last output, int32 [k].
        tails: Hashes of the last outputs on each side, at most `WINDOW` - 1 per side.
    """

    words: Words
    chunks: NDArray[np.int32]
    tails: tuple[Words, Words]

    @classmethod
    def none(cls) -> Self:
        """Return the state before the first chunk, which contains no hashes."""
        nothing = np.empty(0, np.uint64)
        return cls(nothing, np.empty(0, np.int32), (nothing, nothing))

    def after(self, number: int, sides: tuple[Words, Words]) -> tuple[Self, int | None]:
        """Add a chunk, and check whether the chunk repeats a passage of earlier outputs.

        Args:
            number: Index of the chunk.
            sides: Hashes of the outputs from the database and from its neighbor, uint64 [n].

        Returns:
            The new state, and the index of the earliest chunk that contains a passage of the new
            chunk. The index is None if all passages are new. If a passage occurs twice in the new
            chunk but in no earlier chunk, the index is `number`.
        """
        known = [np.concatenate(both) for both in zip(self.tails, sides, strict=True)]
        new = np.sort(np.concatenate([_kept(side) for side in known]))
        again = new[np.isin(new, self.words)]
        if again.size:
            return self, int(self.chunks[np.isin(self.words, again)].min())
        if np.any(new[1:] == new[:-1]):
            return self, number
        words = np.concatenate([self.words, new])
        order = np.argsort(words, kind="stable")
        chunks = np.concatenate([self.chunks, np.full(new.size, number, np.int32)])
        tails = known[0][1 - WINDOW :], known[1][1 - WINDOW :]
        return replace(self, words=words[order], chunks=chunks[order], tails=tails), None

    def to_plain(self) -> list[JsonObject]:
        """Return the state as JSON values, from which `from_plain` restores the state."""
        return [packed(array) for array in (self.words, self.chunks, *self.tails)]

    @classmethod
    def from_plain(cls, plain: list[JsonObject]) -> Self:
        """Restore the state from JSON values.

        Raises:
            KeyError, TypeError, ValueError: If the values do not describe a state.
        """
        words, chunks, first, second = (unpacked(array, "ui") for array in plain)
        hashes = (words, first, second)
        if any(array.ndim != 1 or array.dtype != np.uint64 for array in hashes):
            raise ValueError("its passages are not hashes")
        if words.shape != chunks.shape or np.any(words[1:] <= words[:-1]):
            raise ValueError("its passages are not in order")
        return cls(words, chunks.astype(np.int32), (first[1 - WINDOW :], second[1 - WINDOW :]))


def _kept(outputs: Words) -> Words:
    """Return the kept window hashes for a sequence of hashes of outputs, in ascending order."""
    words, width = outputs, 1
    while width < WINDOW:
        if len(words) <= width:
            return np.empty(0, np.uint64)
        first = words[:-width].copy()
        mix(first)
        words = first + words[width:]
        mix(words)
        width *= 2
    starts = np.flatnonzero(words % _EVERY == 0)
    kept, first, counts = np.unique(words[starts], return_index=True, return_counts=True)
    tells = [cannot_recur(outputs[start : start + WINDOW]) for start in starts[first]]
    return np.repeat(kept, counts * np.array(tells, np.int64))
