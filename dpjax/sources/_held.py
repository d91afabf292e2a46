"""Outputs in memory, which are validated and then read in chunks, like recordings in files."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from numbers import Integral
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from dpjax.core.errors import text_of
from dpjax.core.numerics import MOST_EXACT
from dpjax.core.wording import BadValue, term
from dpjax.partitions._columns_of_outputs import rows_of
from dpjax.partitions._distinct import labels_at
from dpjax.partitions.missing import (
    as_array,
    as_objects,
    entries,
    is_array,
    missing,
    rows_of_objects,
)
from dpjax.partitions.previews import described
from dpjax.sources.readers import Recording
from dpjax.sources.readers._columns import without_indices

_ROWS = 2**18

_SPARE = 8
"""Maximum size of an array of labels, as a multiple of the total length of these labels."""

_VECTORS = (list, tuple, np.ma.MaskedArray)
"""Types of outputs that may have masked entries."""

_JOINED = (bool, int, float, str, bytes, list, tuple, np.generic)
"""Types of outputs, apart from arrays, that NumPy may combine into one array. For other types, an
array would lose part of the content, such as the index of a pandas series.
"""

_OF_PANDAS = ("CategoricalDtype", "StringDtype")
"""Names of pandas dtypes; a column with one of these dtypes may contain only strings."""

_TEXTS = ("string", "large_string")
"""Prefixes of the names of Arrow's string types."""


@runtime_checkable
class Chunked(Protocol):
    """Recorded outputs that can be read in chunks, as often as needed."""

    @property
    def name(self) -> str:
        """Name for display."""
        ...

    @property
    def origins(self) -> dict[object, str]:
        """Map from the identifier of each origin of the outputs, such as a file, to its name.

        The recordings of the two sides must not share an origin.
        """
        ...

    def chunks(self) -> Iterator[np.ndarray]:
        """Yield all outputs in order, as arrays [n] or [n, d]."""
        ...


class Sides(Protocol):
    """Recorded outputs of both sides, together with options; see `dpjax.Recorded`."""

    @property
    def x(self) -> object: ...

    @property
    def y(self) -> object: ...

    @property
    def discrete(self) -> bool | None: ...

    @property
    def bits(self) -> int | str | None: ...

    @property
    def search_fraction(self) -> float: ...

    @property
    def blocks(self) -> int | None: ...

    @property
    def independent(self) -> bool: ...

    @property
    def flips_coins(self) -> bool: ...


@dataclass(frozen=True)
class Held:
    """A recording whose outputs are in memory.

    Attributes:
        outputs: Array of outputs, [n] or [n, d]. The dtype is object if the outputs are of multiple
            kinds.
        name: Name for display.
    """

    outputs: np.ndarray
    name: str

    @property
    def origins(self) -> dict[object, str]:
        """Empty dict, because the origin of an array is unknown."""
        return {}

    def chunks(self) -> Iterator[np.ndarray]:
        """Yield all outputs in chunks."""
        for start in range(0, len(self.outputs), _ROWS):
            yield self.outputs[start : start + _ROWS]


def refuse_other_columns(x: object, y: object) -> None:
    """Raise an error if two tables have different columns, or the same columns in another order.

    Raises:
        ValueError: If both tables have several columns with names, and the names differ.
    """
    first, second = map(columns_of, (x, y))
    if first != second and min(len(first), len(second)) > 1:
        raise BadValue(
            "x and y must have the same columns in the same order, but the columns of x are "
            f"{text_of(', '.join(first))}, and the columns of y are {text_of(', '.join(second))}: "
            f"reorder the columns of y, or choose columns with {term('column=[...]', '--column')}."
        )


def columns_of(outputs: Any) -> list[str]:
    """Return the names of a table's columns, or [] if the columns have no names."""
    # Pandas, Polars and recordings in files have `columns`, and Arrow has `column_names`.
    names = getattr(outputs, "column_names", None) or getattr(outputs, "columns", None)
    if names is None or isinstance(names, str) or not isinstance(names, Iterable):
        return []
    return without_indices([*map(str, names)])


def names_of_entries(x: object, y: object) -> tuple[str, ...]:
    """Return the names of the columns that form vectors, if they are the same on both sides."""
    first, second = (_chosen_columns(side) or columns_of(side) for side in (x, y))
    return tuple(first) if first == second else ()


def _chosen_columns(outputs: object) -> list[str]:
    """Return the columns that were chosen for vectors, or [] if some were chosen by index."""
    if not isinstance(outputs, Recording) or not isinstance(outputs.column, list | tuple):
        return []
    names = [*map(str, outputs.column)]
    return [] if any(map(str.isdecimal, names)) else names


def held(name: str, outputs: object) -> Chunked:
    """Convert an array or a list to a recording; if a recording is passed, return it unchanged.

    Raises:
        TypeError: If the outputs are neither numbers nor labels.
        ValueError: If the outputs do not have shape [n] or [n, d].
    """
    return outputs if isinstance(outputs, Chunked) else Held(as_outputs(name, outputs), name)


def as_outputs(name: str, outputs: object) -> np.ndarray:
    """Convert outputs to an array of numbers [n] or [n, d], of labels [n], or of objects [n].

    Raises:
        TypeError: If the outputs are neither numbers nor labels.
        ValueError: If the outputs do not have shape [n] or [n, d].
    """
    if isinstance(outputs, str | os.PathLike):
        raise TypeError(
            f"{name} must be outputs, but was the name {str(outputs)!r}: pass outputs in a file as "
            f"dpjax.Recording({str(outputs)!r})."
        )
    try:
        array = _array(_rows_of_mixed(outputs))
    except Exception as error:  # NumPy and other libraries may raise any exception.
        raise BadValue(f"{name} must be outputs that form an array: {text_of(error)}.") from None
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim == 2 and array.shape[1] == 0:
        array = as_objects([()] * len(array))
    if array.ndim == 0:
        raise TypeError(
            f"{name} must be an array or a list with one entry per output, but was "
            f"{described(outputs)}."
        )
    if array.ndim not in (1, 2):
        raise ValueError(f"{name} must have the shape [n] or [n, d], but had {array.shape}.")
    if array.dtype.kind not in "biufUSO":
        raise TypeError(f"{name} must hold numbers or labels, but had dtype {array.dtype}.")
    if array.dtype.kind == "O" and array.ndim == 2 and any(map(missing, array.ravel())):
        array = rows_of_objects(array)
    if array.dtype.kind in "USO" and array.ndim == 2:
        raise TypeError(f"{name} must be a vector of labels, but had the shape {array.shape}.")
    return array


def _rows_of_mixed(outputs: object) -> object:
    """Convert a data frame with labels to one dict per row, and return other outputs unchanged."""
    names, kinds = getattr(outputs, "columns", None), getattr(outputs, "dtypes", None)
    if names is None or kinds is None or len(names) < 2:
        return outputs
    columns = {str(name): list(cast(Any, outputs)[name]) for name in names}
    labeled = [any(isinstance(v, str) for v in column) for column in columns.values()]
    return rows_of(columns) if any(labeled) and len(columns) == len(names) else outputs


def _array(outputs: object) -> np.ndarray:
    """Convert outputs to an array in such a way that different outputs remain different."""
    if not isinstance(outputs, list | tuple):
        if (labels := _by_codes(outputs)) is not None:
            return labels
        array = as_array(outputs)
        texts = array.dtype.kind == "O" and array.ndim == 1 and {*map(type, array)} == {str}
        return labels_at(array.tolist(), spare=_SPARE) if texts else array
    # Most lists hold few types, so look at each type once.
    types = {*map(type, outputs)}
    kinds = {next((kind for kind in (str, bytes) if issubclass(t, kind)), None) for t in types}
    vectors = any(issubclass(kind, _VECTORS) for kind in types)
    if len(kinds) <= 1 and all(issubclass(kind, _JOINED) or is_array(kind) for kind in types):
        if not (vectors and any(map(_is_masked, outputs))):
            try:
                array = np.asarray(outputs)
            except ValueError:  # The outputs are vectors of different shapes, or not all vectors.
                array = None
            if array is not None and _keeps_all(outputs, array):
                return array
    return as_objects(map(_unmasked, outputs))


def _keeps_all(outputs: Sequence[Any], array: np.ndarray) -> bool:
    """Return whether NumPy converted a list of outputs to numbers or labels without a loss.

    NumPy drops NUL characters at the end of strings. In a list that also contains floats, NumPy
    rounds integers above 2^53.
    """
    if array.ndim > 2 or array.dtype.kind not in ("biufUSO" if array.ndim == 1 else "biuf"):
        return False
    if array.dtype.kind in "US":
        return [*map(len, outputs)] == np.char.str_len(array).tolist()
    if array.dtype.kind != "f" or not np.any(np.abs(array) >= MOST_EXACT):
        return True
    rows = outputs if array.ndim == 1 else chain.from_iterable(outputs)
    return not any(isinstance(v, Integral) for v in rows)


def _by_codes(outputs: Any) -> np.ndarray | None:
    """Convert an Arrow or pandas column of strings to labels, using a dictionary encoding.

    Returns:
        Labels [n], or None if the outputs are not a column of strings or if an entry is missing.
    """
    if (encode := getattr(outputs, "dictionary_encode", None)) is not None:
        if not str(outputs.type).removeprefix("dictionary<values=").startswith(_TEXTS):
            return None
        found = encode()
        found = found.combine_chunks() if hasattr(found, "combine_chunks") else found
        if found.null_count:
            return None
        kinds, codes = found.dictionary.to_pylist(), found.indices.to_numpy()
    elif type(getattr(outputs, "dtype", None)).__name__ in _OF_PANDAS:
        codes, kinds = outputs.factorize()
        kinds = list(kinds)
        if codes.min(initial=0) < 0:
            return None
    else:
        return None
    return labels_at(kinds, codes, _SPARE) if {*map(type, kinds)} == {str} else None


def _is_masked(output: object) -> bool:
    if isinstance(output, list | tuple):
        return any(entry is np.ma.masked for entry in output)
    return isinstance(output, np.ma.MaskedArray) and np.ma.is_masked(output)


def _unmasked(output: object) -> object:
    """Replace masked entries of an output by `MASKED`, and convert vectors to tuples."""
    if isinstance(output, list | tuple):
        return tuple(map(_unmasked, output))
    if is_array(type(output)) and not isinstance(output, np.generic):
        return _unmasked(entries(output))
    return output
