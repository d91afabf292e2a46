"""Hashes of outputs, which are equal for equal outputs."""

from collections.abc import Sequence
from hashlib import blake2b
from itertools import compress
from typing import Any

import numpy as np

from dpjax.core.errors import text_of
from dpjax.core.numerics import MOST_EXACT
from dpjax.partitions._distinct import distinct

_SIGN = np.uint64(0x9E3779B97F4A7C15)
"""Bits that mark negative integers in a hash."""

_NUMBERS = (int, float, np.integer, np.floating, np.bool_)
"""Types of numbers in arrays of objects."""

_KNOWN = 2**17
"""Maximum number of strings whose digests are stored for reuse."""


def hashes_of(outputs: np.ndarray, known: dict[str, bytes] | None = None) -> np.ndarray:
    """Return a hash of each output, uint64 [n].

    Equal outputs have equal hashes, even in different processes and for different number types.

    Args:
        outputs: Numbers [n] or [n, d], labels [n] or objects [n].
        known: Dict of the digests of strings. The function adds the digests of new strings to it.
    """
    kinds, places = hashes_of_kinds(outputs, known)
    return kinds if places is None else kinds[places]


def hashes_of_kinds(
    outputs: np.ndarray, known: dict[str, bytes] | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Hash all outputs, but each distinct label only once; see `hashes_of` for the arguments.

    Returns:
        The hash of each output, uint64 [n], and None; or the hash of each distinct label, uint64
        [k], and the index of each output's label, integers [n].
    """
    if outputs.dtype.kind in "biuf":
        hashes = np.zeros(len(outputs), np.uint64)
        for column in outputs.reshape(len(outputs), -1).T:
            hashes ^= _words(column)
            mix(hashes)
        return hashes, None
    if outputs.dtype.kind == "O":
        numeric = np.fromiter((isinstance(o, _NUMBERS) for o in outputs), bool, len(outputs))
        if numeric.any():
            hashes = np.empty(len(outputs), np.uint64)
            hashes[numeric] = _words_of_objects(outputs[numeric].tolist())
            mix(hashes)
            if not numeric.all():
                hashes[~numeric] = hashes_of(outputs[~numeric], known)
            return hashes, None
        # A string has the same hash in an object array as in a string array.
        numbers: dict[str, int] = {}
        found = [
            numbers.setdefault(o if type(o) is str else _text(o), len(numbers)) for o in outputs
        ]
        places = np.array(found, np.int64)
        kinds = list(numbers)
    else:
        few, places = distinct(outputs)
        kinds = [*map(str, few.tolist())]
    if known is None:
        known = {}
    for text in kinds:
        if text not in known:
            content = text.encode("utf-8", "surrogatepass")
            known[text] = blake2b(content, digest_size=8).digest()
    digests = np.frombuffer(b"".join(map(known.__getitem__, kinds)), np.uint64)
    if len(known) > _KNOWN:
        known.clear()
    return digests, places


def _words(numbers: np.ndarray) -> np.ndarray:
    """Return 64 bits per number, uint64 [n], which differ if the numbers differ."""
    # Add 0.0 to convert -0.0 to 0.0.
    words = (numbers.astype(np.float64) + 0.0).view(np.uint64)
    if numbers.dtype.kind in "iu" and numbers.dtype.itemsize == 8:
        (rows,) = np.nonzero((numbers > MOST_EXACT) | (numbers < -MOST_EXACT))
        large = numbers[rows]
        sizes = np.where(large < 0, -large, large).astype(np.uint64)
        # Float64 represents an integer exactly if the integer has at most 53 bits, not counting
        # trailing zeros.
        lowest = sizes & (~sizes + np.uint64(1))
        rounded = sizes // lowest >= np.uint64(MOST_EXACT)
        negative = np.where(large < 0, _SIGN, np.uint64(0))
        words[rows[rounded]] = (sizes ^ negative)[rounded]
    return words


def _words_of_objects(numbers: Sequence[Any]) -> np.ndarray:
    """Return the words that `_words` returns for these numbers, uint64 [n]."""
    numbers = [n.item() if isinstance(n, np.generic) else n for n in numbers]
    words = np.empty(len(numbers), np.uint64)
    whole = np.array([isinstance(n, int) for n in numbers])
    long = np.array([isinstance(n, int) and not -(2**63) <= n < 2**63 for n in numbers])
    for rows, dtype in ((~whole, np.float64), (whole & ~long, np.int64)):
        words[rows] = _words(np.array([*compress(numbers, rows)], dtype))
    for row in np.flatnonzero(long).tolist():
        if 0 <= numbers[row] < 2**64:
            words[row] = _words(np.array([numbers[row]], np.uint64))[0]
        else:
            content = str(numbers[row]).encode()
            words[row] = np.frombuffer(blake2b(content, digest_size=8).digest(), np.uint64)[0]
    return words


def _text(output: object) -> str:
    """Return a label as text; the text of a label that is not a string begins with NUL."""
    return str.__str__(output) if isinstance(output, str) else f"\0{text_of(output)}"


def mix(words: np.ndarray) -> None:
    """Scramble words, uint64 [n], in place with the last steps of SplitMix64, a bijection."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words ^= words >> np.uint64(shift)
        words *= np.uint64(factor)
    words ^= words >> np.uint64(31)
