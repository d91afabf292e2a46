"""Missing outputs. Each kind of missing output is a separate outcome, even after conversions.

| output | outcome |
|---|---|
| None, an Arrow or Polars null | `None` |
| a masked entry of a NumPy array | `masked` |
| `pandas.NA` | `NA` |
| `pandas.NaT`, `numpy.datetime64("NaT")` | `NaT` |
| NaN | `NaN` |
| `""`, `b""` | `empty text`, `empty bytes` |
| an empty list, tuple, dict or array | `empty` |
"""

import math
from collections.abc import Iterable, Sequence, Sized
from functools import lru_cache
from typing import Any, Self

import numpy as np

from dpjax.core.arrays import to_numpy
from dpjax.core.errors import one_line
from dpjax.core.numerics import has_inexact
from dpjax.core.wording import NOTHING, BadValue
from dpjax.partitions._graphs import content_of_graph, is_graph
from dpjax.partitions._metadata import categorized

FAILED = "error: "
"""Beginning of the reason why a call returned no output, such as "error: ValueError"."""


class Raised(str):
    """The reason why an output is missing, such as "error: ValueError".

    Args:
        reason: The reason. Outputs with equal reasons are equal.
        message: Message of the exception, or the last errors that a program wrote. The message is
            not a part of the output.
    """

    __slots__ = ("message",)
    message: str

    def __new__(cls, reason: str, message: str = "") -> Self:
        """Create the reason, and shorten the message to one line of at most 200 characters."""
        raised = super().__new__(cls, reason)
        raised.message = one_line(message)
        return raised


MASKED = Raised("masked")
"""Replacement for `numpy.ma.masked`, which an object array cannot contain."""

_OF_PANDAS = {"NAType": "NA", "NaTType": "NaT"}
"""Map from the type name of a pandas missing value to the name of its outcome."""


def missing(item: object) -> str | None:
    """Return the outcome's name if an output is missing, and None otherwise."""
    if isinstance(item, Raised):
        return str(item)
    if item is None:
        return NOTHING
    if item is np.ma.masked:
        return str(MASKED)
    if isinstance(item, np.datetime64 | np.timedelta64):
        return "NaT" if np.isnat(item) else None
    if isinstance(item, Sized) and not len(item) and not isinstance(item, np.void):
        return {str: "empty text", bytes: "empty bytes"}.get(type(item), "empty")
    return _OF_PANDAS.get(type(item).__name__)


def unmasked(array: np.ndarray) -> np.ndarray:
    """Return an array without a mask, in which `MASKED` replaces each masked entry."""
    if not np.ma.is_masked(array):
        return np.asarray(array)
    found = np.ma.getdata(array).astype(object)
    found[np.ma.getmaskarray(array)] = MASKED
    return found


def masked_rows(table: np.ndarray) -> list[tuple[object, ...]] | None:
    """Return the rows of a structured array with masked entries, or None if no entry is masked.

    `MASKED` replaces a masked number or string, and None replaces a masked part of a nested field.
    """
    masks = np.ascontiguousarray(np.ma.getmaskarray(table))
    if not isinstance(table, np.ma.MaskedArray) or not masks.view(bool).any():
        return None
    columns = [table[name] for name in table.dtype.names or ()]
    plain = [column if column.dtype.names else unmasked(column) for column in columns]
    return list(zip(*[column.tolist() for column in plain], strict=True))


@lru_cache
def is_array(kind: type) -> bool:
    """Return whether a type is an array of NumPy, JAX or PyTorch, without row or column labels."""
    return issubclass(kind, np.ndarray) or hasattr(kind, "__dlpack__")


@lru_cache
def has_index(kind: type) -> bool:
    """Return whether a type is a series or a frame of pandas, whose rows have labels."""
    return hasattr(kind, "iloc") and hasattr(kind, "index")


@lru_cache
def is_table(kind: type) -> bool:
    """Return whether a type is a table of pandas, Polars or Arrow, whose columns have names."""
    named = hasattr(kind, "columns") or hasattr(kind, "column_names")
    return named and hasattr(kind, "__array__")


@lru_cache
def has_entries(kind: type) -> bool:
    """Return whether `entries` accepts a type."""
    return is_array(kind) or has_index(kind) or is_table(kind) or is_graph(kind)


def entries(array: Any) -> object:
    """Return the content of an array, a series, a table or a graph.

    The content is a scalar, nested lists, a dict, or a `Graph`. The labels of the rows of a series
    or table are part of it, unless they are just the row numbers. Their order counts, because it
    may be the order of the confidential values.
    """
    if is_graph(type(array)):
        return content_of_graph(array)
    labels = array.index.tolist() if has_index(type(array)) else None
    columns = as_columns(array)
    if columns is not None:
        content: object = {
            name: column if isinstance(column, list) else list(column)
            for name, column in columns.items()
        }
    elif has_index(type(array)):
        content = list(_values(array)) if array.ndim == 1 else array.to_numpy().tolist()
    else:
        content = unmasked(array if isinstance(array, np.ndarray) else to_numpy(array)).tolist()
    is_counted = labels is None or labels == [*range(len(labels))]
    return content if is_counted else [labels, content]


def as_array(outputs: object) -> np.ndarray:
    """Convert outputs of another library to an array without turning missing values into NaN.

    Args:
        outputs: An array, a series, a table, or another object that has `__array__`.

    Returns:
        An array of numbers or strings; or an array of objects if any output is missing.
    """
    if isinstance(outputs, np.ndarray):
        return unmasked(outputs)
    for name in ("itercolumns", "iter_columns"):  # tables of Arrow and of Polars
        if (columns := getattr(outputs, name, None)) is not None:
            parts = [as_array(column) for column in columns()]
            for part in parts:
                _refuse_rounded(part, len(parts))
            return np.stack(parts, axis=1)
    nulls = getattr(outputs, "null_count", 0)
    for name in ("to_pylist", "to_list"):  # columns of Arrow and of Polars
        rows = getattr(outputs, name, None)
        if rows is not None and (nulls() if callable(nulls) else nulls):
            return as_objects(rows())
    if (places := getattr(outputs, "iloc", None)) is not None:
        names = getattr(outputs, "columns", ())
        for place in range(len(names)):
            _refuse_rounded(np.asarray(places[:, place]), len(names))
    found, as_type = to_numpy(outputs), getattr(outputs, "astype", None)
    if found.dtype.kind == "f" and np.isnan(found).any() and callable(as_type):
        # pandas extension types distinguish NA from NaN; a float array cannot.
        types = getattr(outputs, "dtypes", getattr(outputs, "dtype", found.dtype))
        if not all(isinstance(kind, np.dtype) for kind in np.ravel(np.asarray(types, object))):
            return np.asarray(as_type(object))
    return found


def as_known_kind(array: np.ndarray) -> np.ndarray:
    """Convert complex numbers, dates, durations and the floats of JAX; keep other arrays.

    Args:
        array: Outputs of any dtype, [n] or [n, d].

    Returns:
        The real and imaginary parts, [n, 2 d]; dates and durations as objects, [n]; floats of other
        libraries, such as bfloat16, as float32; or the array itself.
    """
    if array.dtype.kind == "c" and array.ndim in (1, 2):
        parts = np.stack([np.real(array), np.imag(array)], axis=-1)
        return parts.reshape(len(array), -1)
    if array.dtype.kind in "Mm" and array.ndim == 1:
        return as_objects(array)
    if array.dtype.kind == "V" and array.dtype.fields is None and "float" in array.dtype.name:
        return array.astype(np.float32)
    return array


def _refuse_rounded(column: np.ndarray, num_columns: int) -> None:
    """Raise an error if a column's integers would be rounded beside columns of floats."""
    if num_columns > 1 and column.dtype.kind in "iu" and has_inexact(column):
        raise BadValue(
            "tables with integers above 2^53, which float64 cannot represent exactly: convert the "
            "column to strings."
        )


def as_columns(table: Any) -> dict[Any, Any] | None:
    """Convert a table of another library to a dict of columns, or return None.

    Args:
        table: A table of pandas, Arrow or Polars. For any other object, and for a table whose
            columns are named 0, 1, and so on, the result is None.

    Returns:
        Map from the name of each column to an array of numbers or a list of objects, or None.

    Raises:
        BadValue: If two columns have equal names.
    """
    if isinstance(table, np.ndarray) or getattr(table, "ndim", 2) != 2:
        return None
    names = getattr(table, "column_names", getattr(table, "columns", None))
    if names is None or not hasattr(table, "__array__") or callable(names):
        return None
    names = list(names)
    if names == list(range(len(names))):
        return None
    if len({*names}) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise BadValue(f"tables must have different column names, but {twice!r} is repeated.")
    for method in ("itercolumns", "iter_columns"):
        if (each := getattr(table, method, None)) is not None:
            columns = list(each())
            break
    else:
        each = [table.iloc[:, place] for place in range(len(names))]
        columns = [categorized(column, _values(column)) for column in each]
        return dict(zip(names, columns, strict=True))
    return dict(zip(names, map(_values, columns), strict=True))


def _values(column: Any) -> Any:
    """Return the entries of a column as an array of numbers, or as objects of Python."""
    found = as_array(column)
    if found.dtype.kind in "biuf":
        return found
    return found.tolist() if found.dtype.kind in "USO" else list(column)


def as_objects(rows: Iterable[object]) -> np.ndarray:
    """Return an array of objects [n], even if the objects are sequences of equal lengths."""
    return np.fromiter(rows, object)


def rows_of_objects(array: np.ndarray) -> np.ndarray:
    """Convert a matrix of objects to an array [n] of tuples, one per row; keep other arrays."""
    if array.dtype.kind != "O" or array.ndim < 2:
        return array
    return as_objects([tuple(row) for row in array.tolist()])


def special_text(row: Sequence[float] | np.ndarray) -> str:
    """Describe each entry of a number or vector as "NaN", "+inf", "-inf" or "number" (finite)."""
    names = ["NaN" if math.isnan(v) else ("number" if math.isfinite(v) else f"{v:+}") for v in row]
    return names[0] if len(names) == 1 else f"({', '.join(names)})"


def patterns_of(rows: np.ndarray, base: int) -> tuple[list[str], np.ndarray]:
    """Return the texts of all patterns of NaN and infinities, and the pattern of each row.

    Args:
        rows: float64 [n, d].
        base: Number of columns that every text describes. Further columns are described only up to
            the last one that is not finite, so that the text does not change if columns are added.

    Returns:
        The result of `special_text` for each pattern, and the index of each row's pattern, int [n].
    """
    kinds = np.where(np.isnan(rows), 1, np.where(np.isfinite(rows), 0, np.sign(rows) + 3))
    found, first, places = np.unique(
        kinds.astype(np.int8), axis=0, return_index=True, return_inverse=True
    )
    ends = [max(base, 1 + int(np.flatnonzero(kind).max(initial=-1))) for kind in found]
    texts = [special_text(rows[row, :end]) for row, end in zip(first, ends, strict=True)]
    return texts, places.ravel()
