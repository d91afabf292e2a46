"""Conversion of a source's options to recipes and back."""

from collections.abc import Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path

from dpjax.core.types import JsonObject
from dpjax.core.validate import check_names
from dpjax.sources.readers._recording import Recording

WHERE = "the recipe's subject"
"""Words by which error messages say where an unknown name was found."""

_OF_MACHINE = "workers"
"""Option that affects only the speed of a source, not its outputs; recipes leave it out."""


def stated_options(source: object) -> JsonObject:
    """Return the options of a source that differ from their defaults."""
    return {
        name: getattr(source, name)
        for name, default in _options_of(type(source)).items()
        if getattr(source, name) != default
    }


def known_options(kind: type, options: JsonObject) -> JsonObject:
    """Return a recipe's options if the class of sources has all of them.

    Raises:
        ValueError: When the class has no option of a name.
    """
    check_names(WHERE, options, tuple(_options_of(kind)))
    return options


def _options_of(kind: type) -> JsonObject:
    """Return the default of each option of a class; fields without a default are no options."""
    assert is_dataclass(kind)
    return {
        f.name: f.default
        for f in fields(kind)
        if f.default is not MISSING and f.name != _OF_MACHINE
    }


def files_of(side: object) -> list[object] | None:
    """Return a recording's files and column as JSON values, or None for outputs in memory."""
    if not isinstance(side, Recording):
        return None
    return [[str(path) for path in side.paths], side.column]


def place_of(content: object) -> tuple[list[Path], str | int | Sequence[str | int] | None]:
    """Convert a value that `files_of` returned to the files and the column of a recording."""
    files, column = content if isinstance(content, list) and len(content) == 2 else (None, None)
    if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
        raise TypeError(f"recorded files must be [[name, ...], column], but were {content!r}.")
    return [Path(name) for name in files], column
