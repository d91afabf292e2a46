"""Neighboring databases that are made from an example on the command line."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

from dpjax.cli._table import Given, Value, chosen

if TYPE_CHECKING:
    from dpjax.databases.spaces import Neighbors

_WITHIN = "within"


def neighbors_of(written: Given) -> "Neighbors | None":
    """Return the space of neighbors that --like, --relation, --bounds and --size describe, or None.

    Raises:
        ValueError: If an option is malformed, or if --pairs is given, too.
    """
    if "like" not in written:
        for name in ("relation", "bounds", "size"):
            if name in written:
                raise ValueError(f"--{name} needs --like, an example of a database.")
        return None
    if "pairs" in written:
        raise ValueError("give either --pairs, to use these pairs, or --like, to search for pairs.")
    from dpjax.databases.spaces import Domain, neighbors

    values = chosen(written, ("size",))
    if "bounds" in written:
        values["bounds"] = _bounds_of(written["bounds"])
    domain = Domain(**values) if values else None
    try:
        example = _example_of(written["like"])
        return neighbors(example, _relation_of(written.get("relation", "add-remove")), domain)
    except TypeError as error:
        raise ValueError(f"--like: {error}") from None


def _example_of(text: str) -> Value:
    """Read an example from JSON on the command line, or from a file with JSON or a table."""
    from dpjax.core.files import read_document, refuse_endless
    from dpjax.core.frames import is_frame_file, read_frame
    from dpjax.partitions.previews import shortened

    try:
        return json.loads(text)
    except ValueError as error:
        said = error
    path = Path(text)
    if not path.is_file():
        raise ValueError(
            f"--like {shortened(text)} must be a database as JSON, such as '[30, 80, 45]', or a "
            f"file with such JSON or with a table (csv or Parquet): {said}."
        )
    if is_frame_file(path):
        return read_frame(path, "--like")
    refuse_endless("--like", path)
    try:
        return json.loads(read_document("--like", path))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"--like {shortened(text)} must be a file with JSON: {error}.") from None


def _bounds_of(text: str) -> tuple[float, float]:
    try:
        low, high = map(float, text.split(","))
    except ValueError:
        raise ValueError(
            f"--bounds must be two numbers, such as 0,100, but was {text!r}."
        ) from None
    return low, high


def _relation_of(text: str) -> Value:
    """Return the relation with a name, or a `Within` for "within:DISTANCE" and a norm."""
    name, *parts = text.split(":", 2)
    if name != _WITHIN:
        return text
    from dpjax.databases import Within

    try:
        distance = float(parts[0])
    except (IndexError, ValueError):
        raise ValueError(
            f"--relation must be within:DISTANCE or within:DISTANCE:NORM, but was {text!r}."
        ) from None
    return Within(distance, parts[1]) if parts[1:] else Within(distance)
