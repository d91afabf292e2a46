"""Conversion of databases and labels of any kind to JSON values, and back without loss.

Numbers, strings, lists and dicts with names are JSON values. Tuples, arrays, and floats that are
not finite are written as a dict with their type: {"dpjax:type": "tuple", "values": [1, 2]}. The
values of a data frame of pandas are its columns: name, dtype and entries.
"""

import sys
from typing import Any

import numpy as np

from dpjax.core.wording import BadValue

_TYPE = "dpjax:type"
"""Name that marks a dict as a tuple, an array or a float, so no database may contain this name."""

_KINDS = "biufU"
"""Kinds of arrays whose entries are JSON values."""

_FRAME = "pandas.DataFrame"
"""Type of a data frame in JSON."""

_TEXT_DTYPES, _COLUMN_KINDS = ("str", "object"), "biufmM"
"""Dtypes of columns of strings, the second before pandas 3, and kinds of all other dtypes."""

_MOST_CELLS = 2**14
"""Maximum number of entries of a data frame that is converted."""


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
        # [] does not state the shape (0, 3).
        return _is_exact_dtype(database.dtype, _KINDS) and (
            database.size > 0 or np.shape(database.tolist()) == database.shape
        )
    if type(database) is list or type(database) is tuple:
        return all(map(_is_exact, database))
    if is_plain_frame(database):
        return _is_exact_frame(database)
    if type(database) is dict:
        return all(
            type(name) is str and name != _TYPE and _is_exact(part)
            for name, part in database.items()
        )
    return type(database) in (bool, int, float, str, type(None))


def _is_exact_dtype(dtype: np.dtype, kinds: str) -> bool:
    """Return whether a dtype has one of the given kinds, and at most 64 bits if it is a float."""
    return dtype.kind in kinds and not (dtype.kind == "f" and dtype.itemsize > 8)


def is_plain_frame(database: object) -> bool:
    """Return whether a database is a data frame of pandas, and not of a subclass."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and type(database) is pandas.DataFrame


def _is_exact_frame(frame: Any) -> bool:
    """Return whether a frame has rows 0, 1, ..., distinct names, and columns of known dtypes."""
    pandas, names = sys.modules["pandas"], list(frame.columns)
    index, rows = frame.index, pandas.RangeIndex(len(frame))
    return (
        0 < len(names)
        and frame.size <= _MOST_CELLS
        and not frame.attrs
        and (type(index) is type(rows) and index.equals(rows) and index.name is None)
        and (frame.columns.name is None and pandas.Index(names).dtype == frame.columns.dtype)
        and all(type(name) in (str, int) for name in names)
        and len({*names}) == len(names)
        and all(_is_exact_column(frame[name]) for name in names)
    )


def _is_exact_column(column: Any) -> bool:
    name = str(column.dtype)
    if name in _TEXT_DTYPES:
        missing = float if name == "str" else type(None)
        return all(type(value) in (str, missing) for value in column.tolist())
    return isinstance(column.dtype, np.dtype) and _is_exact_dtype(column.dtype, _COLUMN_KINDS)


def columns_of(frame: Any) -> list[tuple[str | int, str, list[Any]]]:
    """Return the name, the dtype and the entries of each column of a frame.

    Dates and durations are converted to integers, as in NumPy.

    Args:
        frame: A data frame for which `is_exact` returns True.
    """
    columns = [(name, frame[name]) for name in frame.columns]
    return [
        (name, str(column.dtype), (column.astype("int64") if _is_time(column) else column).tolist())
        for name, column in columns
    ]


def _is_time(column: Any) -> bool:
    return isinstance(column.dtype, np.dtype) and column.dtype.kind in "mM"


def _restored_frame(columns: Any) -> Any:
    """Return the data frame of the columns that `columns_of` returned; refuse all other dtypes."""
    try:
        import pandas
    except ImportError as error:
        raise BadValue("the file contains data frames: install pandas to restore them.") from error
    found = {}
    for name, dtype, values in columns:
        if type(name) not in (str, int) or name in found:
            raise ValueError(name)
        if dtype in _TEXT_DTYPES:
            found[name] = pandas.Series(values, dtype=dtype)
        else:
            kind = np.dtype(dtype)
            if kind.kind not in _COLUMN_KINDS:
                raise ValueError(dtype)
            held = "int64" if kind.kind in "mM" else kind
            found[name] = pandas.Series(np.asarray(values, held).astype(kind))
    if len({len(column) for column in found.values()}) > 1:
        raise ValueError("columns of different lengths")
    return pandas.DataFrame(found)


def exact(database: Any) -> Any:
    """Return a database as JSON values from which `restored` returns an equal database."""
    if isinstance(database, np.ndarray | np.generic):
        return {_TYPE: str(database.dtype), "values": exact(database.tolist())}
    if is_plain_frame(database):
        return {_TYPE: _FRAME, "values": [exact(list(each)) for each in columns_of(database)]}
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
        if kind == _FRAME:
            return _restored_frame(values)
        if kind in ("tuple", "float"):
            return tuple(values) if kind == "tuple" else float(values)
        return np.asarray(values, kind)[()]
    except BadValue:
        raise
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise BadValue(f"a database or a label in the file is damaged: {content!r:.80}.") from error
