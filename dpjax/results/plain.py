"""Mechanisms, pairs, regions and options as plain words and numbers, and back."""

import importlib
import inspect
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from dpjax import densities, mechanisms
from dpjax.core import validate
from dpjax.core.errors import nearest
from dpjax.core.types import FiniteSpace
from dpjax.core.wording import BadValue
from dpjax.databases import Pairs
from dpjax.notions import NOTIONS, Epsilon, Notion
from dpjax.partitions import Box, Outcomes, Region
from dpjax.sources._subject import parameters_of

_SHOWN = 2000
"""Characters of a database that is written as a text."""

STANDARD = "standard"
"""Stands for the pairs that a built-in mechanism brings along."""


def check_names(
    what: str, content: Mapping[str, Any], names: tuple[str, ...], *taken_before: str
) -> None:
    """Refuses a name that is not known, and what is no table at all.

    Args:
        what: Is checked, for the message.
        content: Its names and values.
        names: That are accepted.
        taken_before: Names that are known as well, and were read by somebody else.
    """
    if not isinstance(content, Mapping):
        raise TypeError(f"{what} must be a table, but was {content!r}.")
    for name in content:
        if name not in names:
            raise ValueError(
                f"{what} has no {name!r}; {nearest(str(name), (*names, *taken_before))}"
            )


def mechanism_name(mechanism: Any) -> str:
    """A name of the catalogue, or MODULE:NAME of what can be imported."""
    if hasattr(mechanism, "standard_pairs") and hasattr(mechanism, "name"):
        return mechanism.name
    source = getattr(mechanism, "function", None) or type(mechanism)
    path = f"{source.__module__}:{source.__qualname__}"
    if "<" in path or source.__module__ == "__main__":
        raise ValueError(
            f"mechanism must be importable by its name for a sweep, but was {path}: define it at "
            "the top level of a module, so that every process finds it."
        )
    return path


def mechanism_parameters(mechanism: Any) -> dict[str, Any]:
    """What its class, or `from_function`, must be given to make it again."""
    if hasattr(mechanism, "standard_pairs"):
        return parameters_of(mechanism)
    space = getattr(mechanism, "output_space", None)
    if hasattr(mechanism, "function"):
        return {"num_outcomes": space.size} if isinstance(space, FiniteSpace) else {}
    return {f.name: getattr(mechanism, f.name) for f in fields(mechanism)}


def mechanism_from_plain(
    name: Any, parameters: Any, database: Any, allow_import: Collection[str] = ()
) -> Any:
    """The mechanism of a name and its parameters; functions are looked at on the database.

    Args:
        name: Of the catalogue, or MODULE:NAME.
        parameters: Of the mechanism, or of `from_function`.
        database: Of the first pair, or None.
        allow_import: Modules that may be imported, each with those inside it. Without one a name
            runs no code but that of the catalogue.

    Raises:
        ValueError: The name is not known or not allowed, or a value is out of range.
        TypeError: It names neither a class of mechanisms nor a function, or a value is of the wrong
            kind.
    """
    if not isinstance(name, str):
        raise TypeError(f"mechanism must be a name, but was {name!r}.")
    if ":" not in name:
        cls = mechanisms.find_mechanism(name)
        check_names(f"the mechanism {name}", parameters, tuple(f.name for f in fields(cls)))
        return cls(**parameters)
    found = imported(name, allow_import)
    known = tuple(f.name for f in fields(found)) if isinstance(found, type) else ("num_outcomes",)
    check_names(f"the mechanism {name}", parameters, known)
    if isinstance(found, type):
        return found(**parameters)
    if database is None:
        raise BadValue(f"pairs must be given for the function {name}.")
    return mechanisms.from_function(found, database, **parameters)


def imported(name: str, allow_import: Collection[str]) -> Any:
    """The class or function of MODULE:NAME, which was looked at and not called.

    Args:
        name: MODULE:NAME.
        allow_import: Modules that may be imported, each with those inside it.

    Raises:
        ValueError: It is not allowed, or cannot be imported.
        TypeError: It is neither a class of mechanisms nor a function.
    """
    module, _, attribute = name.partition(":")
    if not _allowed(module, allow_import):
        raise ValueError(
            f"mechanism {name!r} would import code, which a file may not do by itself: if you "
            f"trust the module, allow it with allow_import={[module]!r} (--allow-import {module})."
        )
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(f"mechanism {name!r} cannot be imported: {error}.") from None
    # A decorator of jax leaves the function that it wraps.
    plain = found if isinstance(found, type) else inspect.unwrap(found)
    of_mechanism = hasattr(plain, "__dataclass_fields__") and all(
        hasattr(plain, member) for member in ("sample", "output_space")
    )
    if not (of_mechanism if isinstance(plain, type) else inspect.isfunction(plain)):
        raise TypeError(
            f"mechanism {name!r} must be a dataclass with output_space and sample, or a function, "
            f"but was {found!r}."
        )
    # What the module has only imported itself, such as subprocess.run, is somebody else's.
    if not _allowed(str(plain.__module__), allow_import):
        raise ValueError(
            f"mechanism {name!r} is of the module {plain.__module__!r}, which was not allowed."
        )
    return found


def _allowed(module: str, allow_import: Collection[str]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in allow_import)


def pairs_to_plain(pairs: Pairs, mechanism: Any) -> Any:
    """Databases, neighbors and labels; "standard" for the mechanism's own."""
    content = _plain_pairs(pairs)
    if hasattr(mechanism, "standard_pairs") and _plain_pairs(mechanism.standard_pairs()) == content:
        return STANDARD
    return content


def _plain_pairs(pairs: Pairs) -> dict[str, Any]:
    sides = {name: _plain_side(getattr(pairs, name)) for name in ("database", "neighbor")}
    return {**sides, "labels": list(pairs.labels)}


def _plain_side(stacked: Any) -> Any:
    """Arrays, and dicts of them, as lists."""
    if isinstance(stacked, dict):
        return {name: _plain_side(part) for name, part in stacked.items()}
    if not isinstance(stacked, np.ndarray):
        raise BadValue(
            "pairs must hold arrays, or dicts of arrays, for a sweep, which writes them down, but "
            f"held {type(stacked).__name__}."
        )
    return stacked.tolist()


def pairs_from_plain(content: Any) -> Pairs:
    """What `pairs_to_plain` wrote, or a list of (database, neighbor)."""
    if isinstance(content, Mapping):
        check_names("pairs", content, ("database", "neighbor", "labels"))
        sides = (content["database"], content["neighbor"])
        return Pairs(*sides, tuple(content.get("labels", ())))
    return Pairs.of(content)


def _region_to_plain(region: Region) -> dict[str, Any]:
    """Ends and grid of a box, or a range and its outcomes."""
    if isinstance(region, Box):
        low, high = (np.asarray(end, float).tolist() for end in (region.low, region.high))
        return {"low": low, "high": high, "num_points": region.num_points}
    allowed = (np.flatnonzero(region.allowed) + region.low).tolist()
    return {"low": region.low, "size": region.size, "outcomes": allowed}


def _region_from_plain(content: Any) -> Any:
    """What `_region_to_plain` wrote, or what `as_region` takes."""
    if not isinstance(content, Mapping):
        return content
    if "outcomes" in content:
        check_names("region", content, ("low", "size", "outcomes"))
        numbers = content["low"] + np.arange(content["size"])
        return Outcomes(content["low"], content["size"], np.isin(numbers, content["outcomes"]))
    check_names("region", content, ("low", "high", "num_points"))
    return Box(content["low"], content["high"], content.get("num_points", 0))


def options_to_plain(options: Any) -> dict[str, Any]:
    """Every option of a method or notion that is not None, for TOML knows no null, nor off."""
    content = {f.name: getattr(options, f.name) for f in fields(options)}
    if "bandwidth" in content:
        rule = content["bandwidth"]
        content["bandwidth"] = {"rule": type(rule).__name__, **vars(rule)}
    if isinstance(content.get("region"), Box | Outcomes):
        content["region"] = _region_to_plain(content["region"])
    content = {k: _plain_value(v) for k, v in content.items()}
    return {k: v for k, v in content.items() if v is not None and v is not False}


def notion_to_plain(notion: Notion) -> dict[str, Any]:
    """Its options, and its name where it is not `Epsilon`."""
    options = options_to_plain(notion)
    return options if isinstance(notion, Epsilon) else {"name": notion.name, **options}


def notion_from_plain(content: Mapping[str, Any]) -> Notion:
    """What `notion_to_plain` wrote, or a person."""
    options = dict(content)
    validate.one_of(NOTIONS, notion=(name := options.pop("name", Epsilon.name)))
    return options_from_plain(NOTIONS[name], options)


def options_from_plain(kind: Any, content: Mapping[str, Any]) -> Any:
    """A method or notion, from `options_to_plain` or from what a person wrote."""
    check_names(kind.__name__, content, tuple(f.name for f in fields(kind)))
    content = dict(content)
    if "bandwidth" in content:
        content["bandwidth"] = _rule_from_plain(content["bandwidth"])
    if "region" in content:
        content["region"] = _region_from_plain(content["region"])
    return kind(**content)


def _plain_value(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_plain_value(entry) for entry in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def plain_database(database: Any) -> Any:
    """A database as JSON can hold it, or the beginning of its text."""
    database = _listed(database)
    text = repr(database)
    if len(text) > _SHOWN:
        return f"{text[:_SHOWN]}..."
    return database if _is_plain(database) else text


def _listed(database: Any) -> Any:
    """Arrays as lists, also those in dicts."""
    if isinstance(database, dict):
        return {name: _listed(part) for name, part in database.items()}
    return database.tolist() if isinstance(database, np.ndarray | np.generic) else database


def holds_arrays(database: Any) -> bool:
    """Whether a dict has arrays in it, of which lists would be something else to a function."""
    if isinstance(database, dict):
        return any(isinstance(p, np.ndarray) or holds_arrays(p) for p in database.values())
    return False


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(type(name) is str and _is_plain(part) for name, part in value.items())
    if isinstance(value, float):
        return bool(np.isfinite(value))
    return value is None or isinstance(value, str | int)


def _rule_from_plain(content: Any) -> densities.BandwidthRule:
    if not isinstance(content, Mapping):
        return densities.as_rule(content)
    classes = {cls.__name__: cls for cls in (*densities.RULES.values(), densities.Fixed)}
    name = content.get("rule", "")
    if name not in [*classes]:
        raise ValueError(f"bandwidth rule {name!r} is not known; {nearest(str(name), [*classes])}")
    rest = {k: v for k, v in content.items() if k != "rule"}
    check_names(f"bandwidth rule {name}", rest, tuple(f.name for f in fields(classes[name])))
    return classes[name](**rest)
