"""Copies of databases, which protect a database from functions that modify their argument."""

import copy
import pickle
from collections.abc import Callable
from functools import partial

import jax
import numpy as np

_UNCHANGING = frozenset((type(None), bool, int, float, complex, str, bytes))
_CONTAINERS = frozenset((list, dict, tuple, set))


def copier(database: object) -> Callable[[], object]:
    """Return a function that returns a fresh copy of the database on each call.

    The copies protect the database from functions that modify their argument. Containers, arrays,
    and objects with a copy method of their own (such as pandas tables) are copied. All other
    objects, such as strings and connections, are passed without a copy.

    Args:
        database: Database of any kind.
    """
    if _is_fixed(database):
        return lambda: database
    # Copy common types directly, since a deep copy would visit every entry in Python.
    if type(database) is list and all(map(_is_fixed, database)):
        return database.copy
    if type(database) is np.ndarray and database.dtype.kind != "O":
        return database.copy
    if type(database) in _CONTAINERS:
        try:
            return partial(pickle.loads, pickle.dumps(database))
        except Exception:
            pass  # Use a deep copy for this type.
    if type(database) not in _CONTAINERS and not hasattr(type(database), "__deepcopy__"):
        return lambda: database
    try:
        copy.deepcopy(database)
    except Exception:
        return lambda: database
    return lambda: copy.deepcopy(database)


def _is_fixed(value: object) -> bool:
    """Return whether a value is an immutable number, string, array, or tuple."""
    if type(value) in _UNCHANGING:
        return True
    if type(value) is tuple:
        return all(map(_is_fixed, value))
    if type(value) is np.ndarray:
        return value.dtype.kind != "O" and not value.flags.writeable
    return isinstance(value, np.generic | jax.Array)
