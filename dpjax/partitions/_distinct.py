"""Search for distinct labels by hashing, and conversion of strings to arrays of labels."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

_TURNS = 3
"""Number of hash tables to try before the remaining labels are sorted."""

_SAMPLED, _FEW = 4096, 1024
"""Constants that determine the size of the hash tables. A sample of _SAMPLED labels is examined. If
the sample contains at most _FEW distinct labels, the tables are small.
"""

_SMALL, _LARGE = 16, 22
"""Number of index bits of a small hash table (_SMALL) and of a large hash table (_LARGE)."""

_FACTOR = 0x9E3779B97F4A7C15
"""Odd factor by which hashes are multiplied, so that labels change slots in the next hash table."""

_WIDE = 2**24
"""A string array is wide if it has more characters than this, including padding."""


def distinct(labels: NDArray[np.str_] | NDArray[np.bytes_]) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted distinct labels, and the index of each label among the distinct labels.

    The result equals `np.unique(labels, return_inverse=True)`. Different labels with equal hashes
    remain distinct because labels in the same slot of a hash table are compared.

    Args:
        labels: Strings or bytes, [n].

    Returns:
        The k distinct labels, and integers [n], the index of each label among the distinct labels.
    """
    hashes = _hashes(labels)
    sample = hashes[:: max(len(hashes) // _SAMPLED, 1)]
    bits = _SMALL if len(np.unique(sample)) <= _FEW else _LARGE
    table = np.empty(2**bits, np.int64)
    rows = np.arange(len(labels))
    # `first` contains, for each label, the row of the equal label that represents it.
    first, left = rows.copy(), rows
    for _ in range(_TURNS):
        slots = (hashes >> np.uint64(64 - bits)).astype(np.intp)
        table[slots] = left
        found = table[slots]
        same = labels[found] == (labels if left is rows else labels[left])
        first[left[same]] = found[same]
        if same.all():
            break
        # Equal labels share a slot, so labels that equal the label in their slot need no further
        # search.
        left, hashes = left[~same], hashes[~same] * np.uint64(_FACTOR)
    else:
        _, starts, places = np.unique(labels[left], return_index=True, return_inverse=True)
        first[left] = left[starts[places]]
    kinds = np.flatnonzero(first == rows)
    kinds = kinds[np.argsort(labels[kinds])]
    number = np.empty(len(labels), np.intp)
    number[kinds] = np.arange(len(kinds))
    return labels[kinds], number[first]


def labels_at(
    kinds: Sequence[str], places: NDArray[np.integer] | None = None, spare: int = 0
) -> np.ndarray:
    """Convert strings to an array of labels without making different strings equal.

    Args:
        kinds: Strings [k].
        places: Index of each label in `kinds`, integers [n]; or None if `kinds` itself lists all n
            labels.
        spare: Maximum size of a wide string array, as a multiple of the total length of its labels.

    Returns:
        A string array [n]; or an object array [n] if padding would make a string array too large,
        or if labels end with NUL characters, which a string array would drop.
    """
    lengths = np.fromiter(map(len, kinds), np.int64, len(kinds))
    every = lengths if places is None else lengths[places]
    most = max(_WIDE, spare * int(every.sum()))
    whole = not any(kind[-1:] == "\0" for kind in kinds)
    if lengths.max(initial=0) * len(every) <= most and whole:
        labels = np.array(kinds, np.str_)
    else:
        labels = np.empty(len(kinds), object)
        labels[:] = kinds
    return labels if places is None else labels[places]


def _hashes(labels: np.ndarray) -> NDArray[np.uint64]:
    """Return hashes of labels, uint64 [n]. Each hash is linear in the label's 64-bit words."""
    width = -(-max(labels.itemsize, 1) // 8) * 8
    size = width // np.dtype(f"{labels.dtype.kind}1").itemsize
    padded = np.ascontiguousarray(labels, f"{labels.dtype.kind}{size}")
    words = padded.view(np.uint64).reshape(len(labels), width // 8)
    random = np.random.Philox(0).random_raw(width // 8)
    return words @ (random | np.uint64(1))
