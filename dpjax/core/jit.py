"""A `jax.jit` that keeps the compiled programs of different classes apart.

In some versions of jax (at least 0.10.0 to 0.10.2) the tree structures of two classes registered by
`register_dataclass` compare equal whenever their fields do, although their hashes differ. The
cache of compiled programs compares only part of the hash first, so it sometimes silently runs the
program of another class: that of SVT5 for SVT6, with another epsilon. Of 120 classes with the same
fields that went through one `jax.jit`, 20 to 24 got a wrong program. In such a version, every
combination of classes gets its own `jax.jit` function here.

No list of versions is needed: a cache confuses two entries only if their structures compare equal,
so `classes_are_confused` compares those of two classes once. This finds the fault whenever it is
present, whereas running programs would find it only now and then. (jax 0.9.2 is not affected.)
"""

from collections.abc import Callable, Iterator
from dataclasses import make_dataclass
from functools import lru_cache, update_wrapper, wraps
from typing import Generic, TypeVar

import jax

Classes = tuple[type, ...]
Result = TypeVar("Result")


@lru_cache(maxsize=1)
def classes_are_confused() -> bool:
    """Return whether the installed jax confuses two classes with the same fields."""
    first, second = (
        jax.tree_util.register_dataclass(make_dataclass("Probe", [("x", float, 0.0)]))
        for _ in range(2)
    )
    return jax.tree.structure(first()) == jax.tree.structure(second())


def classes_of(tree: object) -> Classes:
    """Return the classes of all nodes of a pytree, in depth-first order."""

    def walk(structure) -> Iterator[type]:
        node = structure.node_data()
        if node is not None:
            yield node[0]
            for child in structure.children():
                yield from walk(child)

    return tuple(walk(jax.tree.structure(tree)))


class JitByClass(Generic[Result]):
    """A function with a compiled program for each class of its arguments, where jax needs it."""

    def __init__(self, function: Callable[..., Result], static_argnames: tuple[str, ...]):
        update_wrapper(self, function)
        self._function = function
        self._static_argnames = static_argnames

    def program(self, *args: object, **kwargs: object) -> Callable[..., Result]:
        """Return the `jax.jit` function that runs with these arguments."""
        classes = classes_of((args, kwargs)) if classes_are_confused() else ()
        return _program(self._function, self._static_argnames, classes)

    def __call__(self, *args: object, **kwargs: object) -> Result:
        """Run the program for these arguments."""
        return self.program(*args, **kwargs)(*args, **kwargs)


def jit_by_class(
    *, static_argnames: tuple[str, ...] = ()
) -> Callable[[Callable[..., Result]], JitByClass[Result]]:
    """Decorate a function with `jax.jit` by the classes of its arguments."""
    return lambda function: JitByClass(function, static_argnames)


@lru_cache(maxsize=1024)
def _program(
    function: Callable[..., Result], static_argnames: tuple[str, ...], classes: Classes
) -> Callable[..., Result]:
    del classes  # Only part of the cache key.

    # jax caches traces by function object, so every program needs its own.
    @wraps(function)
    def own(*args: object, **kwargs: object) -> object:
        return function(*args, **kwargs)

    return jax.jit(own, static_argnames=static_argnames)
