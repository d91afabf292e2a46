"""Options of a source in a recipe, and back."""

from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from typing import Any

from dpjax.core.types import JsonObject
from dpjax.core.validate import check_names
from dpjax.sources.readers._recording import Recording

WHERE = "the recipe's subject"
"""Place of the names, for messages."""

_OF_MACHINE = ("function", "command", "subject", "workers", "x", "y", "scores", "included")
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


def files_of(side: object) -> list[object] | None:
    """Files and column of a recording; None of arrays and lists."""
    if not isinstance(side, Recording):
        return None
    return [[str(path) for path in side.paths], side.column]


def place_of(content: object) -> tuple[list[Path], Any]:
    """Files and column that `files_of` wrote."""
    files, column = content if isinstance(content, list) and len(content) == 2 else (None, None)
    if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
        raise TypeError(f"recorded files must be [[name, ...], column], but were {content!r}.")
    return [Path(name) for name in files], column
