"""Writing and reading of a source's options in recipes."""

from collections.abc import Sequence
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path

from dpjax.core.types import JsonObject
from dpjax.core.validate import check_names
from dpjax.sources.readers._recording import Recording

WHERE = "the recipe's subject"
"""Where error messages locate an unknown name."""

_OF_MACHINE = "workers"
"""Option that affects only the speed of a source, and not its outputs."""


def stated_options(source: object) -> JsonObject:
    """Return the options of a source that differ from their defaults."""
    return {
        name: getattr(source, name)
        for name, default in _options_of(type(source)).items()
        if getattr(source, name) != default
    }


def known_options(kind: type, options: JsonObject) -> JsonObject:
    """Return a recipe's options, after checking that the class of sources accepts them.

    Raises:
        ValueError: When a name is unknown.
    """
    check_names(WHERE, options, tuple(_options_of(kind)))
    return options


def _options_of(kind: type) -> JsonObject:
    """Return the defaults of a class's options; fields without a default are not options."""
    assert is_dataclass(kind)
    return {
        f.name: f.default
        for f in fields(kind)
        if f.default is not MISSING and f.name != _OF_MACHINE
    }


def files_of(side: object) -> list[object] | None:
    """Return the files and the column of a recording; None for arrays and lists."""
    if not isinstance(side, Recording):
        return None
    return [[str(path) for path in side.paths], side.column]


def place_of(content: object) -> tuple[list[Path], str | int | Sequence[str | int] | None]:
    """Read the files and the column from what `files_of` returned."""
    files, column = content if isinstance(content, list) and len(content) == 2 else (None, None)
    if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
        raise TypeError(f"recorded files must be [[name, ...], column], but were {content!r}.")
    return [Path(name) for name in files], column
