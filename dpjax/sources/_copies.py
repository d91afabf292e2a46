"""Copies of databases and outputs, which functions may modify later."""

import copy
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

from dpjax.partitions._graphs import content_of_graph, is_graph
from dpjax.partitions._nested import has_content

_NEW_OBJECT = object().__reduce_ex__(pickle.HIGHEST_PROTOCOL)[0]
"""Function with which pickle creates an object without content."""

_UNCHANGING = frozenset(
    (type(None), bool, int, float, complex, str, bytes, np.float64, np.int64, np.bool_)
)

_MUTABLE = list | dict | set | tuple | np.ndarray
"""Types that may contain objects that change, with their subclasses."""


def copier(database: object) -> Callable[[], object]:
    """Return a function that returns a fresh copy of the database on each call.

    The copies protect the database from functions that modify their argument. An object that cannot
    be copied, such as a connection, is passed without a copy. So is an object that has no content,
    such as a string, a function or a sentinel.
    """
    if _is_fixed(database):
        return lambda: database
    # Copy common types directly, since a deep copy would visit every entry in Python.
    if type(database) is list and all(map(_is_fixed, database)):
        return database.copy
    if type(database) is np.ndarray and database.dtype.kind != "O":
        return database.copy
    ways = [_by_deep_copies, _by_pickle]
    if not hasattr(type(database), "__deepcopy__"):
        if not _has_content(database):
            return lambda: database
        ways.reverse()
    for way in ways:
        try:
            return way(database)
        except Exception:
            pass  # Copy this object in another way.
    return lambda: database


def snapshot(output: object) -> object:
    """Return a copy of an output, which does not change if the function modifies the output later.

    A function may return parts of one buffer in all calls, and modify the buffer in each call. An
    output that cannot be copied is returned as it is.

    Args:
        output: Output of any kind. Only containers, arrays, tables, objects with fields and graphs
            are copied, and a graph is replaced by its content.
    """
    if type(output) in _UNCHANGING:
        return output
    try:
        return _snapshot(output)
    except Exception:  # The output may contain any object, such as a generator.
        return output


def _snapshot(output: Any) -> object:
    kind = type(output)
    if kind in _UNCHANGING or isinstance(output, str | np.number | jax.Array):
        return output
    if kind is np.ndarray and output.dtype.kind != "O":
        return output.copy()
    # Copy common types directly, since a deep copy takes far longer.
    if kind in (list, tuple, set):
        return kind(output if {*map(type, output)} <= _UNCHANGING else map(_snapshot, output))
    if kind is dict:
        return {key: _snapshot(part) for key, part in output.items()}
    if is_graph(kind):
        return content_of_graph(output)
    return copy.deepcopy(output) if isinstance(output, _MUTABLE) or has_content(kind) else output


def _by_pickle(database: object) -> Callable[[], object]:
    return partial(pickle.loads, pickle.dumps(database))


def _by_deep_copies(database: object) -> Callable[[], object]:
    copy.deepcopy(database)  # For some objects, such as results of PyTorch, this is an error.
    return partial(copy.deepcopy, database)


def _is_fixed(value: object) -> bool:
    """Return whether a value is an immutable number, string, array, or tuple."""
    if type(value) in _UNCHANGING:
        return True
    if type(value) is tuple:
        return all(map(_is_fixed, value))
    if type(value) is np.ndarray:
        return value.dtype.kind != "O" and not value.flags.writeable
    return isinstance(value, np.generic | jax.Array)


def _has_content(value: object) -> bool:
    """Return whether an object has attributes, entries or other content that may change."""
    try:
        reduced = value.__reduce_ex__(pickle.HIGHEST_PROTOCOL)
    except Exception:  # Pickle has no description of the object, or the object is a class.
        return False
    if isinstance(reduced, str):  # The name of an object that exists only once.
        return False
    make, arguments, *content = reduced
    is_empty = arguments == (type(value),) and not any(part is not None for part in content)
    return make is not _NEW_OBJECT or not is_empty
