"""Conversion of databases and labels of any kind to JSON values, and back without loss.

Numbers, strings, lists and dicts with names are JSON values. Tuples, arrays, and floats that are
not finite are written as a dict with their type: {"dpjax:type": "tuple", "values": [1, 2]}.
"""

from typing import Any

import numpy as np

from dpjax.core.wording import BadValue

_TYPE = "dpjax:type"
"""Name that marks a dict as a tuple, an array or a float, so no database may contain this name."""

_KINDS = "biufU"
"""Kinds of arrays whose entries are JSON values."""


def is_exact(database: object) -> bool:
    """Return whether `restored(exact(database))` has the same content and types as `database`.

    Args:
        database: A database, or any other object, such as the label of an output.
    """
    try:
        return _is_exact(database)
    except RecursionError:  # A list may contain itself.
        return False


def _is_exact(database: object) -> bool:
    if isinstance(database, np.generic) or (type(database) is np.ndarray and database.ndim):
        # JSON has no floats of more than 64 bits, and [] does not state the shape (0, 3).
        return (
            database.dtype.kind in _KINDS
            and not (database.dtype.kind == "f" and database.dtype.itemsize > 8)
            and (database.size > 0 or np.shape(database.tolist()) == database.shape)
        )
    if type(database) is list or type(database) is tuple:
        return all(map(_is_exact, database))
    if type(database) is dict:
        return all(
            type(name) is str and name != _TYPE and _is_exact(part)
            for name, part in database.items()
        )
    return type(database) in (bool, int, float, str, type(None))


def exact(database: Any) -> Any:
    """Return a database as JSON values from which `restored` returns an equal database.

    Args:
        database: A database for which `is_exact` returns True.
    """
    if isinstance(database, np.ndarray | np.generic):
        return {_TYPE: str(database.dtype), "values": exact(database.tolist())}
    if isinstance(database, tuple):
        return {_TYPE: "tuple", "values": [exact(part) for part in database]}
    if isinstance(database, list):
        return [exact(part) for part in database]
    if isinstance(database, dict):
        return {name: exact(part) for name, part in database.items()}
    if isinstance(database, float) and not np.isfinite(database):
        return {_TYPE: "float", "values": str(database)}
    return database


def restored(content: Any) -> Any:
    """Return the database that `exact` converted to `content`.

    Raises:
        ValueError: If `content` was not written by `exact`.
    """
    if isinstance(content, list):
        return [restored(part) for part in content]
    if not isinstance(content, dict):
        return content
    if _TYPE not in content:
        return {name: restored(part) for name, part in content.items()}
    try:
        kind, values = content[_TYPE], restored(content["values"])
        if kind in ("tuple", "float"):
            return tuple(values) if kind == "tuple" else float(values)
        return np.asarray(values, kind)[()]
    except (KeyError, TypeError, ValueError) as error:
        raise BadValue(f"a database or a label in the file is damaged: {content!r:.80}.") from error
