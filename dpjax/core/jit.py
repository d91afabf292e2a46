"""`jax.jit` that never takes the program of one class for that of another.

There are versions of jax (0.10.0 to 0.10.2 at least) in which the structures of two classes
registered by `register_dataclass` are equal as soon as their fields are, although their hashes
differ. A table of compiled programs, which looks at a part of a hash before it compares, then at
times runs the program of another class, silently: that of SVT5 for SVT6, with another epsilon. Of
120 classes with the same fields that went through one `jax.jit`, 20 to 24 did. Where that is so,
every combination of classes has a program of its own here, whose tables hold nothing else.

Which versions these are need not be known. A table takes one entry for another only if their
structures compare equal, so `classes_are_confused` compares those of two classes, once. That shows
the fault whenever it is there, where running programs would show it only now and then. (jax 0.9.2
does not have it.)
"""

from collections.abc import Callable, Iterator
from dataclasses import make_dataclass
from functools import lru_cache, update_wrapper, wraps
from typing import Any

import jax

Classes = tuple[type, ...]


@lru_cache(maxsize=1)
def classes_are_confused() -> bool:
    """Whether the installed jax takes a class for another one with the same fields."""
    first, second = (
        jax.tree_util.register_dataclass(make_dataclass("Probe", [("x", float, 0.0)]))
        for _ in range(2)
    )
    return jax.tree.structure(first()) == jax.tree.structure(second())


def classes_of(tree: Any) -> Classes:
    """The classes of all nodes of a pytree, in the order of a walk: what tells two trees apart."""

    def walk(structure: Any) -> Iterator[type]:
        node = structure.node_data()
        if node is not None:
            yield node[0]
            for child in structure.children():
                yield from walk(child)

    return tuple(walk(jax.tree.structure(tree)))


class JitByClass:
    """A function with a compiled program for each class of its arguments, where jax needs that."""

    def __init__(self, function: Callable[..., Any], static_argnames: tuple[str, ...]):
        update_wrapper(self, function)
        self._function = function
        self._static_argnames = static_argnames

    def program(self, *args: Any, **kwargs: Any) -> Any:
        """The `jax.jit` function that these arguments run."""
        classes = classes_of((args, kwargs)) if classes_are_confused() else ()
        return _program(self._function, self._static_argnames, classes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs that program."""
        return self.program(*args, **kwargs)(*args, **kwargs)


def jit_by_class(*, static_argnames: tuple[str, ...] = ()) -> Callable[[Callable], JitByClass]:
    """A decorator: `jax.jit`, but by the arguments' classes. `static_argnames` as there."""
    return lambda function: JitByClass(function, static_argnames)


@lru_cache(maxsize=1024)
def _program(
    function: Callable[..., Any], static_argnames: tuple[str, ...], classes: Classes
) -> Any:
    del classes  # tells the entries of this cache apart

    # A function object of its own, for jax's tables of traces hang on that.
    @wraps(function)
    def own(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return jax.jit(own, static_argnames=static_argnames)
