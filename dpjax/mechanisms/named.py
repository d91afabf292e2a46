"""Conversion of mechanisms to and from names: catalogue names, or MODULE:NAME for user code."""

import importlib
import inspect
from collections.abc import Collection
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from dpjax.core.errors import name_of_function
from dpjax.core.types import FiniteSpace, JsonObject
from dpjax.core.validate import check_names
from dpjax.core.wording import BadValue
from dpjax.mechanisms import Mechanism, from_function
from dpjax.mechanisms._catalogue import find_mechanism, is_built_in

_MOST_NUMBERS = 20
"""Maximum size of an array whose entries are listed individually."""


def name_of(mechanism: object) -> str:
    """Return the name of a built-in mechanism, or of the function that a mechanism wraps."""
    name = getattr(mechanism, "name", None)
    if name:
        return name
    return name_of_function(getattr(mechanism, "function", mechanism))


def parameters_of(mechanism: object) -> JsonObject:
    """Return the parameters of a dataclass mechanism as plain numbers and lists.

    If the mechanism is a function, the dictionary is empty. A value that is neither a number nor an
    array is replaced by its name, and a large array is replaced by a description.
    """
    if not is_dataclass(mechanism) or hasattr(mechanism, "function"):
        return {}
    return {f.name: _plain(getattr(mechanism, f.name)) for f in fields(mechanism)}


def _plain(value: object) -> object:
    if isinstance(value, int):
        return value
    try:
        array = np.asarray(value, float)
        if array.size > _MOST_NUMBERS:
            return f"{array.size} numbers of shape {list(array.shape)}"
        return array.tolist()
    except (TypeError, ValueError):
        return getattr(value, "__name__", str(value))


def mechanism_name(mechanism: Any) -> str:
    """Return a mechanism's catalogue name, or MODULE:NAME if it is not in the catalogue."""
    if is_built_in(mechanism):
        return mechanism.name
    source = getattr(mechanism, "function", None) or type(mechanism)
    path = f"{source.__module__}:{source.__qualname__}"
    if "<" in path or source.__module__ == "__main__":
        raise ValueError(
            f"mechanism must be importable by its name for a sweep, but was {path}: define it at "
            "the top level of a module, so that every process finds it."
        )
    return path


def mechanism_parameters(mechanism: Any) -> JsonObject:
    """Return the arguments from which the class or `from_function` recreates a mechanism."""
    if is_built_in(mechanism):
        return parameters_of(mechanism)
    space = getattr(mechanism, "output_space", None)
    if hasattr(mechanism, "function"):
        return {"num_outcomes": space.size} if isinstance(space, FiniteSpace) else {}
    return {f.name: getattr(mechanism, f.name) for f in fields(mechanism)}


def mechanism_from_plain(
    name: object, parameters: JsonObject, database: object, allow_import: Collection[str] = ()
) -> Any:
    """Create a mechanism from its name and parameters.

    Args:
        name: Catalogue name, or MODULE:NAME of a class or function.
        parameters: Parameters of the mechanism, or arguments for `from_function`.
        database: Database with which a function is validated; may be None if `name` refers to a
            class.
        allow_import: Modules that may be imported, including their submodules. If the collection is
            empty, only mechanisms in the catalogue are accepted.

    Raises:
        ValueError: If the name is unknown, if its module is not allowed, or if a value is out
            of range.
        TypeError: If the name refers to neither a mechanism class nor a function, or if a value
            has the wrong type.
    """
    if not isinstance(name, str):
        raise TypeError(f"mechanism must be a name, but was {name!r}.")
    if ":" not in name:
        cls = find_mechanism(name)
        check_names(f"the mechanism {name}", parameters, tuple(f.name for f in fields(cls)))
        return cls(**parameters)
    found = imported(name, allow_import)
    known = tuple(f.name for f in fields(found)) if isinstance(found, type) else ("num_outcomes",)
    check_names(f"the mechanism {name}", parameters, known)
    if isinstance(found, type):
        return found(**parameters)
    if database is None:
        raise BadValue(f"pairs must be given for the function {name}.")
    return from_function(found, database, **parameters)


def imported(name: str, allow_import: Collection[str]) -> Any:
    """Import the class or function MODULE:NAME, and validate it without calling it.

    Raises:
        ValueError: If the module is not allowed, or if the name cannot be imported.
        TypeError: If the imported object is neither a mechanism class nor a function.
    """
    module, _, attribute = name.partition(":")
    if not _allowed(module, allow_import):
        raise ValueError(
            f"mechanism {name!r} would import code, which a stored name may not do without your "
            "permission: if you trust the module, allow it with "
            f"allow_import={[module]!r} (--allow-import {module})."
        )
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"mechanism {name!r} cannot be imported: {error}.") from None
    # The class or function may be wrapped by decorators such as jax.jit.
    plain = found if isinstance(found, type) else inspect.unwrap(found)
    of_mechanism = hasattr(plain, "__dataclass_fields__") and all(
        hasattr(plain, member) for member in ("sample", "output_space")
    )
    if not (of_mechanism if isinstance(plain, type) else inspect.isfunction(plain)):
        raise TypeError(
            f"mechanism {name!r} must be a dataclass with output_space and sample, or a function, "
            f"but was {found!r}."
        )
    # An allowed module's own definitions are accepted, but not its imports, such as subprocess.run.
    if not _allowed(str(plain.__module__), allow_import):
        raise ValueError(
            f"mechanism {name!r} belongs to the module {plain.__module__!r}, which was not "
            "allowed: if you trust this module, allow it with allow_import."
        )
    return found


def _allowed(module: str, allow_import: Collection[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in allow_import)


def mechanism_to_plain(mechanism: object) -> JsonObject | None:
    """Return a mechanism's name and parameters, or None if the mechanism has no importable name."""
    if not isinstance(mechanism, Mechanism):
        path = path_of(mechanism)
        return None if path is None else {"name": path, "parameters": {}}
    try:
        name, parameters = mechanism_name(mechanism), mechanism_parameters(mechanism)
    except ValueError:
        return None
    plain = all(isinstance(value, bool | int | float | str) for value in parameters.values())
    return {"name": name, "parameters": parameters} if plain else None


def path_of(function: object) -> str | None:
    """Return MODULE:NAME of a function, or None if the function has no importable name."""
    module, name = (getattr(function, part, "") for part in ("__module__", "__qualname__"))
    if not module or module == "__main__" or not name.isidentifier():
        return None
    return f"{module}:{name}"
