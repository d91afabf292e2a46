"""Replacement for `jax.jit` that keeps few programs and never confuses those of different classes.

A user's function is part of the tree structure of its mechanism, and `jax.jit` would keep the
function and its programs, 4 to 30 MB, until the process ends. `jit_by_class` makes a separate
`jax.jit` function for every tree structure of the arguments, and keeps the `most_programs` most
recently used functions.

Consider two classes that are registered by `register_dataclass` and have equal fields. In some
versions of jax (at least 0.10.0 to 0.10.2), the tree structures of the two classes compare equal,
although the hashes of the tree structures differ. The cache of compiled programs first compares
only part of the hash. Therefore, the cache sometimes silently runs a program that was compiled for
another class. For example, the cache may run the program of SVT5 for SVT6, which has a different
epsilon. In an experiment with one `jax.jit` and 120 classes that had equal fields, 20 to 24 classes
got a wrong program. In an affected version of jax, `jit_by_class` also makes a separate `jax.jit`
function for every combination of classes.

The cache can confuse two classes only if the tree structures of these classes compare equal. The
function `classes_are_confused` compares the tree structures of two probe classes, so no list of
affected versions is needed. Comparing tree structures always detects the fault, but running two
programs would reveal the fault only occasionally.
"""

from collections.abc import Callable
from dataclasses import make_dataclass
from functools import lru_cache, update_wrapper, wraps
from itertools import chain
from typing import Any, Generic, TypeVar

import jax

_MOST_PROGRAMS = 128
"""Default maximum number of `jax.jit` functions that are kept for one Python function.

A `jax.jit` function that is called again after it was dropped is compiled again.
"""

Classes = tuple[type, ...]
Result = TypeVar("Result")


@lru_cache(maxsize=1)
def classes_are_confused() -> bool:
    """Return whether the installed version of jax may confuse two classes with equal fields."""
    first, second = (
        jax.tree_util.register_dataclass(make_dataclass("Probe", [("x", float, 0.0)]))
        for _ in range(2)
    )
    return jax.tree.structure(first()) == jax.tree.structure(second())


def classes_of(structure: Any) -> Classes:
    """Return the classes of all nodes of a `PyTreeDef`, in depth-first order."""
    node = structure.node_data()
    if node is None:
        return ()
    return node[0], *chain.from_iterable(map(classes_of, structure.children()))


class JitByClass(Generic[Result]):
    """A jitted function with a separate `jax.jit` function for each structure of its arguments."""

    def __init__(
        self,
        function: Callable[..., Result],
        static_argnames: tuple[str, ...],
        most_programs: int,
    ):
        update_wrapper(self, function)

        @lru_cache(maxsize=most_programs)
        def made(structure: Any, classes: Classes) -> Callable[..., Result]:
            del structure, classes  # Needed only as the cache key.

            # jax caches traces by function object, so every program needs its own function object.
            @wraps(function)
            def own(*args: object, **kwargs: object) -> object:
                return function(*args, **kwargs)

            return jax.jit(own, static_argnames=static_argnames)

        self._made = made

    def program(self, *args: object, **kwargs: object) -> Callable[..., Result]:
        """Return the `jax.jit` function that belongs to the structure of the given arguments."""
        structure = jax.tree.structure((args, kwargs))
        classes = classes_of(structure) if classes_are_confused() else ()
        return self._made(structure, classes)

    def __call__(self, *args: object, **kwargs: object) -> Result:
        """Run the program that was compiled for the structure of the given arguments."""
        return self.program(*args, **kwargs)(*args, **kwargs)


def jit_by_class(
    *, static_argnames: tuple[str, ...] = (), most_programs: int = _MOST_PROGRAMS
) -> Callable[[Callable[..., Result]], JitByClass[Result]]:
    """Return a decorator like `jax.jit`, except that the result is a `JitByClass`.

    Args:
        static_argnames: Names of the arguments that are compiled as constants.
        most_programs: Maximum number of `jax.jit` functions that are kept.
    """
    return lambda function: JitByClass(function, static_argnames, most_programs)
