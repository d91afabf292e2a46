"""Detection of equal databases in different pairs, so that these pairs can share draws."""

from array import array
from hashlib import blake2b
from typing import Any, Protocol

import jax
import numpy as np
from numpy.typing import NDArray

from dpjax.sources._pairs import AnyPairs

_SCALARS = (bool, int, float, complex, str, bytes, type(None))


class _Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...


def numbers_of_databases(pairs: AnyPairs) -> NDArray[np.int64]:
    """Return an ID for each database and each neighbor, int64 [pairs, 2 sides].

    Equal databases have equal IDs. Arrays, numbers, strings, lists, tuples and dicts are equal if
    their contents and types are equal. Other objects are equal only to themselves.
    """
    numbers: dict[object, int] = {}
    found = np.empty((len(pairs), 2), np.int64)
    for side in (0, 1):
        for pair in range(len(pairs)):
            database = pairs.sides[side][pair]
            key = content_digest(database) or ("object", id(database))
            found[pair, side] = numbers.setdefault(key, len(numbers))
    return found


def content_digest(database: object) -> bytes | None:
    """Return a digest of a database's content, or None if its type is unknown."""
    digest = blake2b(digest_size=16)
    try:
        known = _fed(digest, database)
    except RecursionError:  # A list may contain itself.
        known = False
    return digest.digest() if known else None


def _fed(digest: _Hash, value: Any) -> bool:
    """Update a hash with a value's content, and return False if the content cannot be hashed."""
    if isinstance(value, jax.Array):
        value = np.asarray(value)
    if isinstance(value, np.ndarray | np.generic):
        if value.dtype.hasobject:
            return False
        digest.update(f"array {value.dtype.str} {value.shape} ".encode() + value.tobytes())
        return True
    kind = type(value)
    if kind in _SCALARS:
        text = repr(value).encode()
        digest.update(f"{kind.__name__} {len(text)} ".encode() + text)
        return True
    if kind is dict:
        value = [part for item in value.items() for part in item]
    elif kind is not list and kind is not tuple:
        return False
    digest.update(f"{kind.__name__} {len(value)} ".encode())
    if all(type(part) is float for part in value):
        digest.update(b"floats " + array("d", value).tobytes())
        return True
    return all(_fed(digest, part) for part in value)
