"""Detection of random generators of which several workers have copies.

A generator is copied if it is pickled with a function. A generator that a module creates with a
fixed seed has the same state in every worker that imports the module.
"""

import functools
import io
import os
import pickle
import random
import sys
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np

from dpjax.sources._schedule import Raw

_GENERATORS = (
    random.Random,
    np.random.Generator,
    np.random.RandomState,
    np.random.BitGenerator,
)

_FIRST: dict[str, dict[str, bytes]] = {}
"""Map from each module to the states of its generators when a function of it was first called."""


class Drawn(NamedTuple):
    """A batch that a worker drew, and the generators from which it drew.

    Attributes:
        process: Process ID of the worker.
        used: Map from the name of each generator that the batch used to a digest of the state that
            the generator had before its first use in the worker.
        batch: Raw outputs.
    """

    process: int
    used: dict[str, bytes]
    batch: Raw


def draw_noting_generators(
    draw: Callable[..., Raw], function: Callable[..., object], *arguments: object
) -> Drawn:
    """Draw a batch in a worker, and note the generators of the function's module that it used."""
    module, before = _module_of(function), dict(_states(_module_of(function)))
    first = {**before, **_FIRST.get(module, {})}
    _FIRST[module] = first
    batch = draw(*arguments)
    after = dict(_states(module))
    used = {name: first[name] for name, state in before.items() if after.get(name) != state}
    return Drawn(os.getpid(), used, batch)


def shared_generator(seen: dict[tuple[str, bytes], int], drawn: Drawn) -> str | None:
    """Return the name of a generator that began with the same state in two workers, or None.

    Args:
        seen: Map from (name, first state) of a generator to the worker that used it, to which the
            generators of `drawn` are added.
        drawn: Batch of a worker.
    """
    for generator in drawn.used.items():
        if seen.setdefault(generator, drawn.process) != drawn.process:
            return generator[0]
    return None


def _module_of(function: object) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return getattr(function, "__module__", None) or type(function).__module__


def _states(module: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and a digest of the state of each generator in a module, and global ones."""
    yield "random", _digest(random.getstate())
    yield "numpy.random", _digest(np.random.get_state())
    if (torch := sys.modules.get("torch")) is not None:
        yield "torch.default_generator", _digest(torch.default_generator)
    for name, value in list(getattr(sys.modules.get(module), "__dict__", {}).items()):
        if _is_generator(value) and not isinstance(value, random.SystemRandom):
            yield f"{module}.{name}", _digest(value)


def _is_generator(value: object) -> bool:
    return isinstance(value, _GENERATORS) or _is_of_torch(value)


def _is_of_torch(value: object) -> bool:
    return isinstance(value, getattr(sys.modules.get("torch"), "Generator", ()))


def _digest(state: Any) -> bytes:
    if _is_of_torch(state):
        # Older versions of PyTorch cannot pickle generators.
        state = state.get_state().numpy().tobytes()
    return blake2b(pickle.dumps(state), digest_size=16).digest()


def pickled_generators(value: object) -> list[str]:
    """Pickle a value, and return the types of the random generators that the pickle contains.

    Every unpickled copy of such a generator draws the same numbers.

    Args:
        value: Any object. Functions and classes at the top level of a module are pickled by name,
            so generators that belong to them are not found.
    """
    pickler = _Pickler(io.BytesIO())
    pickler.dump(value)
    return pickler.found


class _Pickler(pickle.Pickler):
    """Pickler that lists the types of the random generators that it visits."""

    def __init__(self, file: io.BytesIO):
        super().__init__(file)
        self.found: list[str] = []

    def persistent_id(self, obj: object) -> None:
        """Note a generator; see `pickle.Pickler`. The value None means that `obj` is pickled."""
        if _is_generator(obj):
            self.found.append(type(obj).__name__)
