"""What was audited, as a recipe names it, and made again from there if a person allows it."""

from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from dpjax.core.wording import BadType
from dpjax.mechanisms import Mechanism
from dpjax.results.plain import (
    check_names,
    imported,
    mechanism_from_plain,
    mechanism_name,
    mechanism_parameters,
)
from dpjax.sources import CommandMechanism, Drawn, HostMechanism, Recorded
from dpjax.sources.readers import Recording

_OF_MACHINE = ("function", "workers", "progress", "x", "y")
"""Options of sources that are no part of a recipe, or are written in their own way."""


def subject_to_plain(source: Any) -> dict[str, Any] | None:
    """The kind of a source, its name and its options; None where nothing names it.

    Names are those of the catalogue, MODULE:NAME of what can be imported, a program's command, and
    files.
    """
    if isinstance(source, Drawn):
        return _drawn(source.mechanism)
    if isinstance(source, HostMechanism):
        path = _path(source.function)
        return None if path is None else {"kind": "host", "name": path, **_options(source)}
    if isinstance(source, CommandMechanism):
        return {"kind": "command", **_options(source)}
    if isinstance(source, Recorded):
        sides = [_files(side) for side in (source.x, source.y)]
        if None in sides:
            return None
        return {"kind": "samples", "x": sides[0], "y": sides[1], **_options(source)}
    return None


def subject_from_plain(
    content: Any,
    database: Any,
    allow_import: Collection[str] = (),
    allow_command: bool = False,
) -> Any:
    """What `subject_to_plain` named, as `dpjax.audit` takes it.

    Args:
        content: Of a recipe.
        database: Of the first pair, or None.
        allow_import: Modules that may be imported, each with those inside it.
        allow_command: Whether a program may be run.

    Raises:
        ValueError: It is not allowed, not known, or cannot be made.
        TypeError: It is of another form.
    """
    if not isinstance(content, Mapping):
        raise TypeError(f"the recipe's subject must be a table, but was {content!r}.")
    options = dict(content)
    kind = options.pop("kind", None)
    if kind == "mechanism":
        check_names("the recipe's subject", options, ("name", "parameters"))
        parameters = options.get("parameters", {})
        return mechanism_from_plain(options.get("name"), parameters, database, allow_import)
    if kind == "host":
        function = imported(str(options.pop("name", "")), allow_import)
        return HostMechanism(function, **_known(HostMechanism, options))
    if kind == "command":
        command = options.pop("command", None)
        if not isinstance(command, str):
            raise BadType(f"command must be a text, but was {command!r}.")
        if not allow_command:
            raise ValueError(
                f"the program {command!r} would be run, which a file may not do by itself: if you "
                "trust it, allow it with allow_command=True (--allow-command)."
            )
        return CommandMechanism(command, **_known(CommandMechanism, options))
    if kind == "samples":
        x, y = (Recording(*_place(options.pop(name, None))) for name in ("x", "y"))
        return Recorded(x, y, **_known(Recorded, options))
    raise ValueError(f"the recipe's subject is of no kind that is known, but of {kind!r}.")


def _drawn(mechanism: Any) -> dict[str, Any] | None:
    if not isinstance(mechanism, Mechanism):
        path = _path(mechanism)
        return None if path is None else {"kind": "mechanism", "name": path, "parameters": {}}
    try:
        name, parameters = mechanism_name(mechanism), mechanism_parameters(mechanism)
    except ValueError:
        return None
    plain = all(isinstance(value, bool | int | float | str) for value in parameters.values())
    if "<" in name or not plain:
        return None
    return {"kind": "mechanism", "name": name, "parameters": parameters}


def _path(function: Any) -> str | None:
    """MODULE:NAME; None of what is inside another function, or of no module of its own."""
    module, name = (getattr(function, part, "") for part in ("__module__", "__qualname__"))
    if not module or module == "__main__" or not name.isidentifier():
        return None
    return f"{module}:{name}"


def _options(source: Any) -> dict[str, Any]:
    """All that are not as they are where nothing is said."""
    return {
        f.name: getattr(source, f.name)
        for f in fields(source)
        if f.name not in _OF_MACHINE
        and (f.default is MISSING or getattr(source, f.name) != f.default)
    }


def _known(kind: Any, options: dict[str, Any]) -> dict[str, Any]:
    names = tuple(f.name for f in fields(kind) if f.name not in _OF_MACHINE)
    check_names("the recipe's subject", options, names)
    return options


def _files(side: Any) -> list[Any] | None:
    """Files and column of a recording; None of arrays and lists."""
    if not isinstance(side, Recording):
        return None
    return [[str(path) for path in side.paths], side.column]


def _place(content: Any) -> tuple[list[Path], Any]:
    files, column = content if isinstance(content, list) and len(content) == 2 else (None, None)
    if not isinstance(files, list) or not all(isinstance(name, str) for name in files):
        raise TypeError(f"recorded files must be [[name, ...], column], but were {content!r}.")
    return [Path(name) for name in files], column
