"""Mechanisms, pairs, regions and settings as plain words and numbers, and back."""

import importlib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

import numpy as np

from dpjax import densities, mechanisms
from dpjax._errors import nearest
from dpjax._types import FiniteSpace
from dpjax.databases import Pairs
from dpjax.partitions import Box, Outcomes, Region, as_region
from dpjax.results._provenance import parameters_of

STANDARD = "standard"
"""Stands for the pairs or the region that a built-in mechanism brings along."""


def check_entries(
    what: str, content: Mapping[str, Any], names: tuple[str, ...], *taken_before: str
) -> None:
    """Refuses an entry that is not one of the names, and what is no table at all.

    Args:
        what: Is checked, for the message.
        content: Its entries.
        names: Of accepted entries.
        taken_before: Names that are known as well, and were read by somebody else.
    """
    if not isinstance(content, Mapping):
        raise TypeError(f"{what} must be a table of entries, but was {content!r}.")
    for name in content:
        if name not in names:
            raise ValueError(
                f"{what} has no entry {name!r}; known: {', '.join((*names, *taken_before))}."
            )


def chosen_parts(only: Iterable[str], known: Iterable[str]) -> list[str]:
    """The known parts that were asked for, in their own order; all if none was."""
    known, only = list(known), list(only)
    for part in only:
        if part not in known:
            raise ValueError(f"only: part {part!r} is not known; {nearest(part, known)}.")
    return [part for part in known if not only or part in only]


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


def mechanism_from_plain(name: Any, parameters: Mapping[str, Any], pairs: Pairs | None) -> Any:
    """The mechanism of a name and its parameters; functions are looked at on the pairs."""
    if not isinstance(name, str):
        raise TypeError(f"mechanism must be a name, but was {name!r}.")
    module, _, attribute = name.partition(":")
    if not attribute:
        cls = mechanisms.find_mechanism(name)
        check_entries(f"the mechanism {name}", parameters, tuple(f.name for f in fields(cls)))
        return cls(**parameters)
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"mechanism {name!r} cannot be imported: {error}.") from None
    if isinstance(found, type):
        return found(**parameters)
    if pairs is None:
        raise ValueError(f"pairs must be given for the function {name}.")
    return mechanisms.from_function(found, pairs.database[0], **parameters)


def pairs_to_plain(pairs: Pairs, mechanism: Any) -> Any:
    """Databases, neighbors and labels; "standard" for the mechanism's own."""
    content = _plain_pairs(pairs)
    if hasattr(mechanism, "standard_pairs") and _plain_pairs(mechanism.standard_pairs()) == content:
        return STANDARD
    return content


def _plain_pairs(pairs: Pairs) -> dict[str, Any]:
    sides = {side: np.asarray(getattr(pairs, side)).tolist() for side in ("database", "neighbor")}
    return {**sides, "labels": list(pairs.labels)}


def pairs_from_plain(content: Any) -> Pairs:
    """What `pairs_to_plain` wrote, or a list of (database, neighbor)."""
    if isinstance(content, Mapping):
        check_entries("pairs", content, ("database", "neighbor", "labels"))
        return Pairs(
            np.asarray(content["database"]),
            np.asarray(content["neighbor"]),
            tuple(content.get("labels", ())),
        )
    return Pairs.of(content)


def region_to_plain(region: Region, mechanism: Any) -> Any:
    """Ends and grid of a box, or a range and its outcomes; "standard" for the mechanism's own."""
    content = _plain_region(region)
    if hasattr(mechanism, "standard_region"):
        standard = as_region(mechanism.standard_region, mechanism.output_space)
        if _plain_region(standard) == content:
            return STANDARD
    return content


def _plain_region(region: Region) -> dict[str, Any]:
    if isinstance(region, Box):
        low, high = (np.asarray(end, float).tolist() for end in (region.low, region.high))
        return {"low": low, "high": high, "num_points": region.num_points}
    allowed = (np.flatnonzero(region.allowed) + region.low).tolist()
    return {"low": region.low, "size": region.size, "outcomes": allowed}


def region_from_plain(content: Any) -> Any:
    """What `region_to_plain` wrote, or what `as_region` takes."""
    if not isinstance(content, Mapping):
        return content
    if "outcomes" in content:
        check_entries("region", content, ("low", "size", "outcomes"))
        numbers = content["low"] + np.arange(content["size"])
        return Outcomes(content["low"], content["size"], np.isin(numbers, content["outcomes"]))
    check_entries("region", content, ("low", "high", "num_points"))
    return Box(content["low"], content["high"], content.get("num_points", 0))


def settings_to_plain(settings: Any) -> dict[str, Any]:
    """Every setting that is not None: TOML knows no null."""
    content = {f.name: getattr(settings, f.name) for f in fields(settings)}
    if "bandwidth" in content:
        rule = content["bandwidth"]
        content["bandwidth"] = {"rule": type(rule).__name__, **vars(rule)}
    content = {k: list(v) if isinstance(v, tuple) else v for k, v in content.items()}
    return {name: value for name, value in content.items() if value is not None}


def settings_from_plain(kind: Any, content: Mapping[str, Any]) -> Any:
    """Settings of a kind, from `settings_to_plain` or from what a person wrote."""
    check_entries("settings", content, tuple(f.name for f in fields(kind)))
    content = dict(content)
    if "bandwidth" in content:
        content["bandwidth"] = _rule_from_plain(content["bandwidth"])
    try:
        return kind(**content)
    except TypeError as error:
        raise TypeError(f"settings do not fit the estimator: {error}") from None


def _rule_from_plain(content: Any) -> densities.BandwidthRule:
    if not isinstance(content, Mapping):
        return densities.as_rule(content)
    classes = {cls.__name__: cls for cls in (*densities.RULES.values(), densities.Fixed)}
    name = content.get("rule", "")
    if name not in classes:
        raise ValueError(f"bandwidth rule {name!r} is not known; {nearest(name, [*classes])}.")
    return classes[name](**{k: v for k, v in content.items() if k != "rule"})
