"""Conversion of pairs, regions, notions and options to JSON values, and back."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from dpjax import densities
from dpjax.core import validate
from dpjax.core.errors import nearest, text_of
from dpjax.core.exact import exact, is_exact, restored
from dpjax.core.options import Dataclass
from dpjax.core.types import JsonObject
from dpjax.core.validate import check_names
from dpjax.core.wording import BadValue
from dpjax.databases import Pairs, difference
from dpjax.databases._pairs import distinct_labels
from dpjax.notions import NOTIONS, Epsilon, Notion
from dpjax.partitions import Box, Outcomes, Region
from dpjax.partitions.previews import preview_database
from dpjax.sources import AnyPairs

_MOST_ROWS = 100
"""Maximum number of rows of a data frame that is shown as a dict of columns."""

_SHOWN = 2000
"""Maximum length of a database's text, in characters; longer texts are truncated."""

Options = TypeVar("Options", bound=Dataclass)
"""A method or a notion, both of which are frozen dataclasses of options."""

STANDARD = "standard"
"""Word that recipes store in place of a built-in mechanism's standard pairs."""


def pairs_to_plain(pairs: Pairs | AnyPairs, mechanism: object) -> JsonObject | str:
    """Return databases, neighbors and labels, or "standard" for the mechanism's standard pairs.

    Raises:
        ValueError: If the databases cannot be restored exactly.
    """
    if isinstance(pairs, AnyPairs):
        return _exact_pairs(pairs)
    content = _plain_pairs(pairs)
    standard = getattr(mechanism, "standard_pairs", None)
    return STANDARD if standard is not None and _plain_pairs(standard()) == content else content


def _exact_pairs(pairs: AnyPairs) -> JsonObject:
    """Return pairs as JSON values from which `pairs_from_plain` restores equal databases."""
    for database in (*pairs.database, *pairs.neighbor):
        if not is_exact(database):
            raise BadValue(
                "a sweep stores its pairs, so the databases of a Python function must be numbers, "
                "strings, arrays or small data frames of these, or lists, tuples or dicts of "
                f"these, but one was {text_of(database)[:80]} ({type(database).__name__})."
            )
    return exact_pairs(pairs)


def exact_pairs(pairs: AnyPairs) -> JsonObject:
    """Return labels and databases as JSON values; `is_exact` must hold for each database."""
    sides = [[exact(database) for database in side] for side in pairs.sides]
    return {"database": sides[0], "neighbor": sides[1], "labels": list(pairs.labels)}


def _plain_pairs(pairs: Pairs) -> JsonObject:
    sides = {name: _plain_side(getattr(pairs, name)) for name in ("database", "neighbor")}
    return {**sides, "labels": list(pairs.labels)}


def _plain_side(stacked: object) -> object:
    """Convert arrays to lists, including arrays inside dicts."""
    if isinstance(stacked, dict):
        return {name: _plain_side(part) for name, part in stacked.items()}
    if not isinstance(stacked, np.ndarray):
        raise BadValue(
            "a sweep stores its pairs, so pairs must contain arrays or dicts of arrays, but "
            f"contained {type(stacked).__name__}."
        )
    return stacked.tolist()


def pairs_from_plain(content: Any, stacked: bool) -> Pairs | AnyPairs:
    """Restore pairs from the output of `pairs_to_plain`, or from a list of (database, neighbor).

    Args:
        content: Nested lists and numbers. For pairs that are not stacked, `dtype` states that each
            database is an array.
        stacked: Whether the databases are stacked into arrays.
    """
    if not isinstance(content, Mapping):
        return Pairs.of(content) if stacked else AnyPairs.of(content)
    check_names("pairs", content, ("database", "neighbor", "labels", "dtype"))
    sides, labels = (content["database"], content["neighbor"]), tuple(content.get("labels", ()))
    if stacked:
        return Pairs(*sides, labels)
    databases, neighbors = map(restored, sides)
    lists = isinstance(databases, list) and isinstance(neighbors, list)
    if not lists or not databases or len(databases) != len(neighbors):
        shown = " and ".join(map(preview_database, sides))
        raise BadValue(
            "pairs must have two lists database and neighbor of equal length with at least one "
            f"pair, but the lists were {shown}."
        )
    if "dtype" in content:
        databases, neighbors = (
            [np.asarray(database, content["dtype"])[()] for database in side]
            for side in (databases, neighbors)
        )
    made = AnyPairs.of(list(zip(databases, neighbors, strict=True)))
    # A pair without a label would not be audited.
    if labels and len(labels) != len(made):
        raise ValueError(
            f"labels must name each of the {len(made)} pairs, but there were {len(labels)}."
        )
    return AnyPairs(made.sides, distinct_labels(map(str, labels)) or made.labels)


def has_inputs(recipe: JsonObject) -> bool:
    """Return whether the method in a recipe has inputs, which take the place of pairs."""
    method = recipe.get("method", {})
    return any(method.get(name) is not None for name in ("inputs", "input_interval"))


def _region_to_plain(region: Region) -> JsonObject:
    """Return the ends and the grid size of a box, or the range and outcomes of a finite region."""
    if isinstance(region, Box):
        low, high = (np.asarray(end, float).tolist() for end in (region.low, region.high))
        return {"low": low, "high": high, "num_points": region.num_points}
    allowed = (np.flatnonzero(region.allowed) + region.low).tolist()
    return {"low": region.low, "size": region.size, "outcomes": allowed}


def _region_from_plain(content: object) -> object:
    """Restore a region from the output of `_region_to_plain`; return other content unchanged."""
    if not isinstance(content, Mapping):
        return content
    if "outcomes" in content:
        check_names("region", content, ("low", "size", "outcomes"))
        numbers = content["low"] + np.arange(content["size"])
        return Outcomes(content["low"], content["size"], np.isin(numbers, content["outcomes"]))
    check_names("region", content, ("low", "high", "num_points"))
    return Box(content["low"], content["high"], content.get("num_points", 0))


def options_to_plain(options: Dataclass) -> JsonObject:
    """Return the options of a method or notion, except options that are None or False."""
    content = {f.name: getattr(options, f.name) for f in fields(options)}
    if "bandwidth" in content:
        rule = content["bandwidth"]
        content["bandwidth"] = {"rule": type(rule).__name__, **vars(rule)}
    if isinstance(content.get("region"), Box | Outcomes):
        content["region"] = _region_to_plain(content["region"])
    content = {k: _plain_value(v) for k, v in content.items()}
    return {k: v for k, v in content.items() if v is not None and v is not False}


def notion_to_plain(notion: Notion, implied: str | None = None) -> JsonObject:
    """Return the name and options of a notion.

    Args:
        notion: Any notion.
        implied: Name of the default notion. If `notion` has this name, the name is omitted.
    """
    named = {} if notion.name == implied else {"name": notion.name}
    return {**named, **options_to_plain(notion)}


def notion_from_plain(content: JsonObject) -> Notion:
    """Restore a notion from the output of `notion_to_plain`, or from a user's table."""
    options = validate.check_table("notion, such as {name = 'gdp'} or {delta = 1e-6},", content)
    validate.one_of(NOTIONS, notion=(name := options.pop("name", Epsilon.name)))
    return options_from_plain(NOTIONS[name], options)


def options_from_plain(kind: type[Options], content: JsonObject) -> Options:
    """Restore a method or notion from the output of `options_to_plain`, or from a user's table."""
    check_names(kind.__name__, content, tuple(f.name for f in fields(kind)))
    content = dict(content)
    if "bandwidth" in content:
        content["bandwidth"] = _rule_from_plain(content["bandwidth"])
    if "region" in content:
        content["region"] = _region_from_plain(content["region"])
    return kind(**content)


def _plain_value(value: object) -> object:
    if isinstance(value, list | tuple):
        return [_plain_value(entry) for entry in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def plain_database(database: object) -> object:
    """Return a database as JSON values, or as text if it is long or JSON cannot represent it."""
    text = text_of(_columns_of(listed := as_lists(database)))
    if len(text) > _SHOWN:
        return f"{text[:_SHOWN]}..."
    try:
        return listed if _is_plain(listed) else text
    except RecursionError:  # A list may contain itself.
        return text


def _columns_of(database: Any) -> object:
    """Return a short data frame as a dict of its columns, which fits on a line; see `_MOST_ROWS`.

    Every other database, and a frame in which two columns have the same name, is unchanged.
    """
    if not (hasattr(database, "columns") and hasattr(database, "to_dict")):
        return database
    try:
        names = list(database.columns)
        if len(database) > _MOST_ROWS or len(set(names)) < len(names):
            return database
        return {name: list(database[name]) for name in names}
    except Exception:
        return database  # A foreign type only looks like a data frame.


def compared(pairs: AnyPairs, index: int) -> JsonObject:
    """Return the arguments of `Witness` that describe a pair: label, databases and difference."""
    first, second = (side[index] for side in pairs.sides)
    return {
        "pair": pairs.labels[index],
        "database": plain_database(first),
        "neighbor": plain_database(second),
        "difference": difference(first, second),
    }


def as_lists(database: object) -> object:
    """Convert arrays to lists, including arrays inside dicts."""
    if isinstance(database, dict):
        return {name: as_lists(part) for name, part in database.items()}
    return database.tolist() if isinstance(database, np.ndarray | np.generic) else database


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(type(name) is str and _is_plain(part) for name, part in value.items())
    if isinstance(value, float):
        return bool(np.isfinite(value))
    return value is None or isinstance(value, str | int)


def _rule_from_plain(
    content: JsonObject | densities.BandwidthRule | str | float,
) -> densities.BandwidthRule:
    if not isinstance(content, Mapping):
        return densities.as_rule(content)
    classes = {cls.__name__: cls for cls in (*densities.RULES.values(), densities.Fixed)}
    name = content.get("rule", "")
    if name not in [*classes]:
        raise ValueError(f"bandwidth rule {name!r} is not known; {nearest(str(name), [*classes])}")
    rest = {k: v for k, v in content.items() if k != "rule"}
    check_names(f"bandwidth rule {name}", rest, tuple(f.name for f in fields(classes[name])))
    return classes[name](**rest)
