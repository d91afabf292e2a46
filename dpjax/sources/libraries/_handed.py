"""Description of a library object, with the claim and the neighbors that the object states."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

from dpjax.core.types import JsonObject
from dpjax.core.wording import BadType, BadValue
from dpjax.databases import Neighbors
from dpjax.notions import Notion

Foreign = Any
"""An object from another library; dpjax does not import the library's classes."""


class Handed(NamedTuple):
    """A library object, with its claim and its neighboring databases.

    Attributes:
        name: Name for display.
        call: Picklable function that maps a database to one output, and draws its own randomness.
        notion: Privacy notion of the claim, or None if there is no claim.
        claim: Level that the object claims, in the notion's unit.
        pairs: Search space of neighboring databases, or None if they are unknown.
        plain: JSON values from which the object can be rebuilt, or None if there are no such
            values.
        anew: Function that creates a new object with the same parameters, and returns the new
            object's `call`. The attribute `anew` is None if a new object cannot be created, or if
            the randomness comes from the system.
    """

    name: str
    call: Callable[[object], object]
    notion: Notion | None
    claim: object
    pairs: Neighbors | None
    plain: JsonObject | None
    anew: Callable[[], Callable[[object], object]] | None = None


def made_by(module: str, plain: JsonObject) -> Any:
    """Create an object from the name of its class in a module, and from its parameters."""
    kind = getattr(import_module(module), str(plain["class"]))
    return kind(**dict(plain["parameters"]))


def refuse_class(subject: object) -> None:
    """Raise TypeError if the subject is a class."""
    if isinstance(subject, type):
        raise BadType(
            f"subject must be an instance, but was the class {subject.__name__}: write "
            f"{subject.__name__}(...) with its parameters."
        )


def finite(level: float, measure: str, d_in: object) -> float:
    """Return the level that an object claims, or raise ValueError if the level is infinite."""
    if not level < float("inf"):
        raise BadValue(
            f"subject must state a finite {measure} at d_in = {d_in!r}, but states {level!r}: "
            "no audit could refute that."
        )
    return float(level)
