"""What a command audits: a built-in mechanism by its name, a function, or a program."""

import importlib
import json
import sys
from pathlib import Path
from typing import Any


def mechanism_and_pairs(
    name: str | None, epsilon: float | None, param: list[str], function: str | None, pairs: Any
) -> tuple[Any, Any]:
    """What is audited, and the pairs of a file or None.

    Args:
        name: Of a built-in mechanism, or None.
        epsilon: Its parameter of that name, or None.
        param: Its other parameters, as NAME=VALUE.
        function: MODULE:NAME of a JAX function, or None.
        pairs: A file, or None.

    Raises:
        ValueError: One of them is not known, or not of its form.
    """
    given = None if pairs is None else _read_pairs(pairs)
    if function is not None:
        if epsilon is not None or param:
            raise ValueError("--epsilon and --param are for built-in mechanisms, not --function.")
        return _import_function(function), given
    import dataclasses

    from dpjax._errors import nearest
    from dpjax.mechanisms import find_mechanism

    cls = find_mechanism(name or "")
    fields = {field.name: field for field in dataclasses.fields(cls)}
    settings = [] if epsilon is None else [f"epsilon={epsilon!r}"]
    values: dict[str, Any] = {}
    for setting in settings + list(param):
        key, _, text = setting.partition("=")
        key = key.replace("-", "_")
        if key not in fields:
            raise ValueError(f"{name} has no parameter {key!r}; {nearest(key, list(fields))}.")
        kind = int if isinstance(fields[key].default, int) else float
        try:
            values[key] = kind(text)
        except ValueError:
            raise ValueError(
                f"--param {key} must be {'an integer' if kind is int else 'a number'}, but was "
                f"{text!r}."
            ) from None
    return cls(**values), given


def host_and_pairs(
    host: str | None, command: str | None, pairs: Path | None, options: dict[str, Any]
) -> tuple[Any, Any]:
    """A mechanism of the host, and its pairs of databases of any kind.

    Args:
        host: MODULE:NAME of a Python function, or None.
        command: A program with its arguments, or None.
        pairs: A file.
        options: Of `dpjax.HostMechanism` or `dpjax.CommandMechanism`.

    Raises:
        ValueError: One of them is not of its form, or an option is for the other one.
    """
    import dpjax

    kind = "--host" if host is not None else "--command"
    if pairs is None:
        raise ValueError(f"{kind} needs --pairs, a file with [[database, neighbor], ...].")
    foreign = {"--host": "timeout", "--command": "batched"}[kind]
    if foreign in options:
        name = {"timeout": "--timeout is for --command", "batched": "--one-by-one is for --host"}
        raise ValueError(f"{name[foreign]}, not {kind}.")
    given = _read_pairs(pairs, any_kind=True)
    if host is not None:
        return dpjax.HostMechanism(_import_function(host, kind), **options), given
    return dpjax.CommandMechanism(command or "", **options), given


def _import_function(path: str, option: str = "--function") -> Any:
    module, _, attribute = path.partition(":")
    if not module or not attribute:
        raise ValueError(f"{option} must be MODULE:NAME, but was {path!r}.")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"{option} {path!r}: the module cannot be imported: {error}.") from None
    try:
        return getattr(found, attribute)
    except AttributeError:
        raise ValueError(f"{option} {path!r}: the module has no {attribute!r}.") from None


def _read_pairs(path: Path, *, any_kind: bool = False) -> Any:
    """Pairs of a file: stacked numbers, or, for mechanisms of the host, whatever JSON holds."""
    import zipfile

    import numpy as np

    from dpjax.databases import Pairs

    if path.is_dir():
        raise ValueError(f"--pairs {path} is a folder; name the file in it.")
    if not path.is_file():
        raise ValueError(f"--pairs {path} is not a file.")
    form = "JSON [[database, neighbor], ...] or an npz file with the arrays database and neighbor"
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as content:
                database, neighbor = content["database"], content["neighbor"]
            # Before a mechanism of the host, they keep their digits.
            return (
                list(zip(database, neighbor, strict=True))
                if any_kind
                else Pairs(database, neighbor)
            )
        content = json.loads(path.read_text(encoding="utf-8"))
        rows = [tuple(row) for row in content if isinstance(row, list) and len(row) == 2]
        if not isinstance(content, list) or not rows or len(rows) != len(content):
            raise ValueError("it holds something else")
        return rows if any_kind else Pairs.of(rows)
    except KeyError as error:
        raise ValueError(f"--pairs {path} must be {form}: it has no array {error}.") from None
    except (ValueError, TypeError, OSError, EOFError, zipfile.BadZipFile) as error:
        text = str(error).rstrip(".")
        if "allow_pickle" in text or isinstance(error, zipfile.BadZipFile):
            text = "it is no npz file of numbers"
        raise ValueError(f"--pairs {path} must be {form}: {text}.") from None
