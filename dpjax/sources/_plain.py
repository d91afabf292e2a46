"""Options of a source in a recipe, and back."""

from dataclasses import MISSING, fields, is_dataclass

from dpjax.core.types import JsonObject
from dpjax.core.validate import check_names

WHERE = "the recipe's subject"
"""Place of the names, for messages."""

_OF_MACHINE = ("function", "command", "workers", "x", "y")
"""Options that are no part of a recipe, or have a form of their own in it."""


def stated_options(source: object) -> JsonObject:
    """The options of a source that differ from their defaults."""
    assert is_dataclass(source)
    return {
        f.name: getattr(source, f.name)
        for f in fields(source)
        if f.name not in _OF_MACHINE
        and (f.default is MISSING or getattr(source, f.name) != f.default)
    }


def known_options(kind: type, options: JsonObject) -> JsonObject:
    """Options of a recipe, whose names a class of sources has.

    Raises:
        ValueError: A name is not known.
    """
    names = tuple(f.name for f in fields(kind) if f.name not in _OF_MACHINE)
    check_names(WHERE, options, names)
    return options
