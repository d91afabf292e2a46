"""How two neighboring databases differ: a short description, and the number of records."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpjax.core.errors import text_of
from dpjax.databases._pairs import is_frame
from dpjax.databases.spaces._forms import form_of, in_numpy
from dpjax.databases.spaces._records import Record, key_of_fields

_WIDE = 60
"""Maximum length, in characters, of databases that are shown in full and need no description."""

_MOST = 2**20
"""Maximum total number of entries in both databases; larger databases are not compared."""

_MOST_FIELDS = 2**16
"""Maximum number of fields of all records in a database; larger databases have no count."""

_SHOWN, _LONGEST = 3, 60
"""Maximum number of differences to describe, and maximum number of characters per value."""


def difference(database: object, neighbor: object) -> str | None:
    """Describe the places where two databases differ.

    Args:
        database: An array, a list, a dict of arrays or lists, or a pandas or Polars data frame.
        neighbor: Neighbor of the database.

    Returns:
        A string such as "entry 49: 0.0 and 1.0" or "row 2 is missing from the neighbor". The result
        is None if the databases are short enough to be shown in full, have different types, or are
        too large to compare.
    """
    try:
        if all(len(text_of(_plain(side))) <= _WIDE for side in (database, neighbor)):
            return None
        found = _places(database, neighbor)
    except Exception:
        return None  # A value of a foreign type raised an error, or a list contains itself.
    if not found:
        return None
    more = len(found) - _SHOWN
    return "; ".join([*found[:_SHOWN], *([f"{more} more"] if more > 0 else [])])


def records_apart(database: object, neighbor: object) -> int | None:
    """Return the number of records in which two databases differ, regardless of their order.

    A changed record counts once, like an added or a removed record. The result is None if the
    databases do not clearly consist of records. For instance, a list of numbers may be a vector of
    query answers, all of which depend on a single record. The result is also None if a database is
    too large.

    Args:
        database: A list of strings, tuples, lists or dicts; an array [records, fields]; a tuple of
            arrays such as (X, y); a dict of columns; or a data frame.
        neighbor: Neighbor of the database, of the same type.
    """
    if type(database) is not type(neighbor):
        return None
    try:
        one, other = (_records(in_numpy(side)) for side in (database, neighbor))
    except Exception:
        return None  # The type is unknown, or a value of a foreign type raised an error.
    if one is None or other is None:
        return None
    first, second = (Counter(map(key_of_fields, side)) for side in (one, other))
    return max((first - second).total(), (second - first).total())


def _records(side: object) -> list[Record] | None:
    """Return the records of a database, or None if it is too large or its entries are numbers."""
    if isinstance(side, str | bytes | bytearray) or _num_fields(side) > _MOST_FIELDS:
        return None
    records = form_of(side).records(side)
    return records if all(isinstance(one, str | tuple | list | dict) for one in records) else None


def _num_fields(side: Any) -> int:
    """Return the number of values in a database, or a number above the limit if there are more."""
    if hasattr(side, "numel"):  # PyTorch
        return side.numel()
    if not isinstance(side, list | tuple | dict):
        return getattr(side, "size", 1)
    if len(side) > _MOST_FIELDS:
        return len(side)
    return sum(map(_num_fields, side.values() if isinstance(side, dict) else side))


def _places(first: object, second: object) -> list[str]:
    """Describe each place where two databases differ; return [] if they cannot be compared."""
    if isinstance(first, dict) and isinstance(second, dict):
        return _of_dicts(first, second)
    if is_frame(first) and is_frame(second):
        return _of_frames(first, second)
    rows = [_rows(side) for side in (first, second)]
    if rows[0] is None or rows[1] is None:
        return []
    return _of_rows(rows[0], rows[1])


def _of_dicts(first: dict, second: dict) -> list[str]:
    found = []
    for name in {**first, **second}:
        if name not in first or name not in second:
            side = "database" if name not in first else "neighbor"
            found.append(f"{name!r} is missing from the {side}")
        elif not _same(first[name], second[name]):
            inside = _places(first[name], second[name])
            shown = f"{_short(first[name])} and {_short(second[name])}"
            found += [f"{name!r}, {place}" for place in inside] or [f"{name!r}: {shown}"]
    return found


def _of_frames(first: Any, second: Any) -> list[str]:
    """Describe the values that differ between two frames, or the rows missing from one frame."""
    columns = [str(name) for name in first.columns]
    if columns != [str(name) for name in second.columns]:
        return []
    sides = [np.asarray(side, object) for side in (first, second)]
    if sum(side.size for side in sides) > _MOST:
        return []
    if sides[0].shape == sides[1].shape:
        return [
            f"row {row}, {columns[column]}: {_short(a)} and {_short(b)}"
            for (row, column), (a, b) in _changed(*sides)
        ]
    rows = [list(map(tuple, side.tolist())) for side in sides]
    return _missing(rows[0], rows[1], "row")


def _of_rows(first: np.ndarray, second: np.ndarray) -> list[str]:
    """Describe the entries that differ between two arrays, or the rows missing from one array.

    An entry of a matrix is identified by its row and column.
    """
    if first.size + second.size > _MOST or first.ndim != second.ndim:
        return []
    if first.shape == second.shape:
        return [
            f"entry {', '.join(map(str, place))}: {_short(a)} and {_short(b)}"
            for place, (a, b) in _changed(first, second)
        ]
    if first.shape[1:] != second.shape[1:]:
        return []
    sides = [
        list(map(_key, side.reshape(len(side), -1).tolist() if side.ndim > 1 else side.tolist()))
        for side in (first, second)
    ]
    return _missing(sides[0], sides[1], "row" if first.ndim > 1 else "entry")


def _changed(first: np.ndarray, second: np.ndarray) -> list[tuple[tuple[int, ...], tuple]]:
    """Return the places where two arrays differ, each with both values; NaNs count as equal."""
    differs = first != second
    differs &= ~((first != first) & (second != second))
    places = [tuple(map(int, place)) for place in np.argwhere(differs)]
    return [(place, (_plain(first[place]), _plain(second[place]))) for place in places]


def _missing(first: Sequence[object], second: Sequence[object], what: str) -> list[str]:
    """Describe the rows missing from the shorter list; return [] if other rows also differ."""
    side = "neighbor" if len(first) > len(second) else "database"
    longer, shorter = (first, second) if side == "neighbor" else (second, first)
    found, at = [], 0
    for number, row in enumerate(longer):
        if at < len(shorter) and row == shorter[at]:
            at += 1
        else:
            found.append(f"{what} {number} is missing from the {side}: {_short(row)}")
    return found if at == len(shorter) else []


def _rows(side: object) -> np.ndarray | None:
    """Convert a list or array of numbers or strings to an array; return None for other types."""
    if not isinstance(side, list | tuple) and not hasattr(side, "__array__"):
        return None
    array = np.asarray(side)
    return array if array.ndim and array.dtype.kind in "biufcUS" else None


def _same(first: object, second: object) -> bool:
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return np.array_equal(np.asarray(first), np.asarray(second))
    return bool(first == second)


def _key(row: object) -> object:
    return tuple(row) if isinstance(row, list) else row


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _short(value: object) -> str:
    text = text_of(_plain(value))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
