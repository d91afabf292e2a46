"""Which library an object is of, found by its type; the library itself is not imported."""

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

from dpjax.core.types import JsonObject
from dpjax.sources.libraries._handed import Handed

_READERS = {"opendp": "_opendp", "diffprivlib": "_diffprivlib"}
"""Library -> module of this package that reads its objects."""


def library_of(subject: object) -> str | None:
    """Name of the library of an object, or of a function with arguments bound; None if unknown."""
    if isinstance(subject, functools.partial):
        return library_of(subject.func)
    named = getattr(subject, "__module__", None) or ""
    roots = [str(module).partition(".")[0] for module in (named, type(subject).__module__)]
    # A subclass of a user's own is of the library of its base.
    roots += [base.__module__.partition(".")[0] for base in type(subject).__mro__]
    return next((root for root in roots if root in _READERS and root in sys.modules), None)


def knows(subject: object) -> bool:
    """Whether an object is of a library that is read."""
    return library_of(subject) is not None


def read(subject: object, d_in: object) -> Handed:
    """What an object of a library says of itself.

    Args:
        subject: The object.
        d_in: Distance of neighbouring databases in the library's units; None for the usual one.

    Raises:
        TypeError: It is of no library that is known, or of a kind that cannot be audited.
        ValueError: It states what no notion of dpjax is about.
    """
    return _of(str(library_of(subject)), "read")(subject, d_in)


def made(library: str, plain: JsonObject) -> object:
    """The object that `Handed.plain` describes."""
    return _of(library, "made")(plain)


def _of(library: str, name: str) -> Callable[..., Any]:
    module = import_module(f"{__package__}.{_READERS[library]}")
    return getattr(module, name)
