"""Outputs that consist of arrays of numbers, such as the weights of a model.

Such an output has thousands of numbers, but hardly ever another structure than the output before.
Therefore, the names of its numbers are determined once for each structure.
"""

from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from dpjax.core.arrays import to_numpy
from dpjax.core.numerics import MOST_EXACT
from dpjax.partitions._columns_of_outputs import is_rounded
from dpjax.partitions.missing import is_array

ArrayForm = tuple[Any, ...]
"""Hashable structure of arrays. It consists of `np.ndarray` and a shape; or of a type of container,
the names of the parts in their order, and the form of each part.
"""

_NUMBER: ArrayForm = (np.ndarray, ())
"""Structure of a single number."""

_EDGE = 2
"""Length of an edge of a graph. Arrays of edges have a form of their own."""


class Arrays(NamedTuple):
    """Structure and numbers of an output.

    Attributes:
        form: The structure; see `zeros_of`.
        numbers: The numbers, sorted by key within a dict, and by position otherwise.
    """

    form: ArrayForm
    numbers: tuple[float, ...]


def arrays_of(output: Any) -> Arrays | None:
    """Divide an array, or nested dicts, lists and tuples of arrays, into structure and numbers.

    The result is None for a vector, and if the output contains no array, an array that may consist
    of edges, a label, or a number that float64 does not represent exactly.
    """
    parts: list[list[float] | np.ndarray] = []
    form = _form(output, parts)
    if form is None or (form[0] is np.ndarray and len(form[1]) < 2):
        return None
    if not any(isinstance(part, np.ndarray) for part in parts):
        return None
    lists = (part.ravel().tolist() if isinstance(part, np.ndarray) else part for part in parts)
    return Arrays(form, tuple(map(float, chain.from_iterable(lists))))


def zeros_of(form: ArrayForm) -> Any:
    """Return an output of a form whose numbers are 0, with lists in place of arrays."""
    kind, names, *parts = form
    if kind is np.ndarray:
        return np.zeros(names).tolist()
    if kind is dict:
        return dict(zip(names, map(zeros_of, parts), strict=True))
    return tuple(map(zeros_of, parts))


def _form(part: Any, parts: list[list[float] | np.ndarray]) -> ArrayForm | None:
    """Return the form of a part of an output, and append its numbers to `parts`."""
    kind = type(part)
    if kind is float or kind is bool or (kind is int and abs(part) <= MOST_EXACT):
        parts.append([part])
        return _NUMBER
    is_dict = isinstance(part, dict)
    if is_dict and all(type(name) is str for name in part):
        names = tuple(sorted(part, key=repr))
    elif isinstance(part, list | tuple):
        names = tuple(range(len(part)))
    else:
        return _form_of_array(part, parts)
    inside: dict[Any, ArrayForm] = {}
    for name in names:
        if (form := _form(part[name], parts)) is None:
            return None
        inside[name] = form
    if not is_dict and {*inside.values()} <= {_NUMBER}:
        return None  # This may be an edge.
    order = part if is_dict else names
    return (dict if is_dict else tuple, tuple(order), *(inside[name] for name in order))


def _form_of_array(part: Any, parts: list[list[float] | np.ndarray]) -> ArrayForm | None:
    """Return the form of an array or scalar of numbers, and None for any other object."""
    if isinstance(part, np.ma.MaskedArray):
        return None
    if not (is_array(type(part)) or isinstance(part, np.generic)):
        return None
    array = to_numpy(part)
    shape, dtype = array.shape, array.dtype
    if dtype.kind not in "biuf" or is_rounded(array) or (len(shape) > 1 and shape[-1] == _EDGE):
        return None
    parts.append(array if shape else [array.item()])
    return np.ndarray, shape
