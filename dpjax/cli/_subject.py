"""What a command audits: a built-in mechanism by its name, or a function of the user's."""

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


def _import_function(path: str) -> Any:
    module, _, attribute = path.partition(":")
    if not module or not attribute:
        raise ValueError(f"--function must be MODULE:NAME, but was {path!r}.")
    sys.path.insert(0, str(Path.cwd()))
    try:
        found = importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"--function {path!r}: the module cannot be imported: {error}.") from None
    try:
        return getattr(found, attribute)
    except AttributeError:
        raise ValueError(f"--function {path!r}: the module has no {attribute!r}.") from None


def _read_pairs(path: Path) -> Any:
    import numpy as np

    from dpjax.databases import Pairs

    if not path.is_file():
        raise ValueError(f"--pairs {path} is not a file.")
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as content:
                return Pairs(content["database"], content["neighbor"])
        return Pairs.of(json.loads(path.read_text()))
    except (KeyError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"--pairs {path} must be JSON [[database, neighbor], ...] or an npz file with the "
            f"arrays database and neighbor: {error}."
        ) from None
