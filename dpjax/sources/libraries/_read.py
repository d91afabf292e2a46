"""Selection of the module that reads a library object, without importing the library."""

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from dpjax.core.types import JsonObject

if TYPE_CHECKING:
    from dpjax.sources.libraries._handed import Handed

_READERS = {
    "opendp": "_opendp",
    "diffprivlib": "_diffprivlib",
    "pydp": "_pydp",
    "tmlt": "_tumult",
    "snsql": "_smartnoise",
    "snsynth": "_smartnoise",
}
"""Map from each library to the name of the module that reads its objects."""


def library_of(subject: object) -> str | None:
    """Return the library of an object or a `functools.partial`, or None if it is unknown."""
    if isinstance(subject, functools.partial):
        return library_of(subject.func)
    named = getattr(subject, "__module__", None) or ""
    roots = [str(module).partition(".")[0] for module in (named, type(subject).__module__)]
    # A user-defined subclass belongs to the library of its base class.
    roots += [base.__module__.partition(".")[0] for base in type(subject).__mro__]
    return next((root for root in roots if root in _READERS and root in sys.modules), None)


def knows(subject: object) -> bool:
    """Return whether an object belongs to a known library."""
    return library_of(subject) is not None


def read(subject: object, d_in: object) -> "Handed":
    """Read the claim and the neighboring databases from a library object.

    Args:
        subject: Library object, or a `functools.partial`.
        d_in: Distance between neighboring databases in the library's units, or None for the default
            distance.

    Raises:
        TypeError: If the object's library is unknown, or if objects of its kind cannot be audited.
        ValueError: If dpjax has no notion for the object's claim.
    """
    handed = _of(str(library_of(subject)), "read")(subject, d_in)
    return handed if _is_unchanged(subject) else handed._replace(plain=None)


def _is_unchanged(subject: object) -> bool:
    """Return whether an object has the library's own class, and all methods of this class.

    An object of a user-defined subclass, or with a replaced method, cannot be rebuilt from the name
    of its class and from its parameters.
    """
    subject = getattr(subject, "__self__", subject)
    kind = type(subject)
    own = getattr(subject, "__dict__", {})
    replaced = any(callable(getattr(kind, name, None)) for name in own)
    return kind.__module__.partition(".")[0] in _READERS and not replaced


def made(library: str, plain: JsonObject) -> object:
    """Create a library object from the JSON values in `Handed.plain`."""
    return _of(library, "made")(plain)


def _of(library: str, name: str) -> Callable[..., Any]:
    module = import_module(f"{__package__}.{_READERS[library]}")
    return getattr(module, name)
