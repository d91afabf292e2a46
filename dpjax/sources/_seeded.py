"""NumPy generators for many seeds, each equal to `numpy.random.default_rng(seed)`.

Most of the time that NumPy needs to create a generator is spent on the hash that turns a seed into
a state. Here, one computation with arrays hashes the seeds of a whole batch.

References:
    The hash is that of `numpy.random.SeedSequence`, which follows the C++ proposal of M. E. O'Neill
    (2015, "Developing a seed_seq alternative"). NumPy guarantees that it does not change.
"""

from collections.abc import Iterable, Iterator
from typing import Any, cast

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence
from numpy.random.bit_generator import ISpawnableSeedSequence
from numpy.typing import NDArray

_FEW = 16
"""Number of seeds below which it is faster to create the generators one by one."""

_POOL, _WORDS = 4, 4
"""Number of 32-bit words in the hash's pool, and number of 64-bit words in a seed of `PCG64`."""

_FIRST, _FIRST_FACTOR = 0x43B0D7E5, 0x931E8875
_SECOND, _SECOND_FACTOR = 0x8B51F9DD, 0x58F38DED
_LEFT, _RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)
"""Constants of the hash: the first values and factors of its two sequences, and its mixing factors.

The first sequence is used to fill and mix the pool, and the second to compute the state from it.
"""


class _Hashed(ISpawnableSeedSequence):
    """A seed sequence whose state is known. It otherwise behaves like `SeedSequence(seed)`."""

    __slots__ = ("_seed", "_state", "_whole")

    def __init__(self, seed: int, state: NDArray[np.uint64]):
        self._seed, self._state = seed, state
        self._whole: SeedSequence | None = None

    @property
    def _sequence(self) -> SeedSequence:
        if self._whole is None:
            self._whole = SeedSequence(self._seed)
        return self._whole

    def generate_state(self, n_words: int, dtype: Any = np.uint32) -> NDArray[Any]:
        """Return `n_words` words of the state."""
        if n_words == _WORDS and dtype is np.uint64:
            return self._state.copy()
        return self._sequence.generate_state(n_words, dtype)

    def spawn(self, n_children: int) -> list[Any]:
        """Return the next `n_children` independent seed sequences."""
        return self._sequence.spawn(n_children)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of `SeedSequence`, such as `entropy` or `spawn_key`."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._sequence, name)

    def __reduce__(self) -> str | tuple[Any, ...]:
        """Copy and pickle the seed sequence as a `SeedSequence`, with its number of children."""
        return self._sequence.__reduce__()


def generators(seeds: Iterable[int]) -> Iterator[Generator]:
    """Yield `numpy.random.default_rng(seed)`, or an equal generator, for each seed in [0, 2^64)."""
    numbers = np.fromiter(seeds, np.uint64)
    if numbers.size < _FEW:
        yield from map(np.random.default_rng, numbers.tolist())
        return
    for seed, state in zip(numbers.tolist(), _states(numbers), strict=True):
        yield Generator(PCG64(cast(Any, _Hashed(seed, state))))


def _states(seeds: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the states with which `SeedSequence` seeds `PCG64`, uint64 [n, 4]."""
    low, high = ((seeds >> np.uint64(shift)).astype(np.uint32) for shift in (0, 32))
    none = np.zeros_like(low)
    constants = _constants(_FIRST, _FIRST_FACTOR)
    pool = [_hashed(word, constants) for word in (low, high, none, none)]
    for source in range(_POOL):
        for target in range(_POOL):
            if source != target:
                mixed = _LEFT * pool[target] - _RIGHT * _hashed(pool[source], constants)
                pool[target] = _folded(mixed)
    constants = _constants(_SECOND, _SECOND_FACTOR)
    words = [_hashed(pool[place % _POOL], constants) for place in range(2 * _WORDS)]
    halves = np.stack(words, axis=1).astype(np.uint64)
    return halves[:, 0::2] | halves[:, 1::2] << np.uint64(32)


def _constants(value: int, factor: int) -> Iterator[tuple[np.uint32, np.uint32]]:
    """Yield pairs of successive values of the sequence value * factor^k, modulo 2^32."""
    while True:
        after = value * factor % 2**32
        yield np.uint32(value), np.uint32(after)
        value = after


def _hashed(
    words: NDArray[np.uint32], constants: Iterator[tuple[np.uint32, np.uint32]]
) -> NDArray[np.uint32]:
    mask, factor = next(constants)
    return _folded((words ^ mask) * factor)


def _folded(words: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return words ^ (words >> np.uint32(16))
