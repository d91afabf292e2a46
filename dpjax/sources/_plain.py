"""Conversion of a source's options to their form in recipes, and back."""

from dataclasses import MISSING, fields, is_dataclass
from typing import Any

from dpjax.core.files import as_path
from dpjax.core.types import JsonObject
from dpjax.core.validate import check_names
from dpjax.sources.readers._recording import Recording

WHERE = "the recipe's subject"
"""Name of the table of options, for error messages about unknown options."""

_OF_MACHINE = "workers"
"""Name of the option that recipes omit because it only affects a source's speed."""


def stated_options(source: object) -> JsonObject:
    """Return the options of a source that differ from their defaults."""
    return {
        name: getattr(source, name)
        for name, default in _options_of(type(source)).items()
        if getattr(source, name) != default
    }


def known_options(kind: type, options: JsonObject) -> JsonObject:
    """Check that a recipe's options are options of the source class, and return them.

    Raises:
        ValueError: If a name is not an option of the class.
    """
    check_names(WHERE, options, tuple(_options_of(kind)))
    return options


def _options_of(kind: type) -> JsonObject:
    """Return a class's options with their defaults; each field that has a default is an option."""
    assert is_dataclass(kind)
    return {
        f.name: f.default
        for f in fields(kind)
        if f.default is not MISSING and f.name != _OF_MACHINE
    }


def files_of(side: object) -> list[object] | None:
    """Return a recording's files and columns as JSON values, or None for a recording in memory."""
    if not isinstance(side, Recording):
        return None
    rows = [] if side.by is None else [side.by, side.value]
    return [[str(path) for path in side.paths], side.column, *rows]


def place_of(content: object) -> tuple[Any, ...]:
    """Convert a value from `files_of` to the arguments of a recording."""
    files, *columns = content if isinstance(content, list) and len(content) in (2, 4) else [None]
    if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
        raise TypeError(f"recorded files must be [[name, ...], column], but were {content!r}.")
    return [as_path("each recorded file", name) for name in files], *columns
