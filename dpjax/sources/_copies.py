"""Copies of databases for functions that may change what they are handed."""

import copy
import pickle
from collections.abc import Callable
from functools import partial

import jax
import numpy as np

_UNCHANGING = frozenset((type(None), bool, int, float, complex, str, bytes))
_CONTAINERS = frozenset((list, dict, tuple, set))


def copier(database: object) -> Callable[[], object]:
    """Gives a database at each call that nobody else holds: a function may sort or fill its own.

    Without it a change would stay, and later outputs would be of another database. Containers,
    arrays and what says how it is copied (tables of pandas) are; what nothing can change, and
    anything else, which may be a connection or be known by its identity, is handed over as it is.

    Args:
        database: Of any kind.
    """
    if _is_fixed(database):
        return lambda: database
    # What is usual goes faster than a deep copy, which walks through Python for every entry.
    if type(database) is list and all(map(_is_fixed, database)):
        return database.copy
    if type(database) is np.ndarray and database.dtype.kind != "O":
        return database.copy
    if type(database) in _CONTAINERS:
        try:
            return partial(pickle.loads, pickle.dumps(database))
        except Exception:
            pass  # A deep copy can do more.
    if type(database) not in _CONTAINERS and not hasattr(type(database), "__deepcopy__"):
        return lambda: database
    try:
        copy.deepcopy(database)
    except Exception:
        return lambda: database
    return lambda: copy.deepcopy(database)


def _is_fixed(value: object) -> bool:
    """Whether nothing can change it: a number, a text, a read-only array, a tuple of such."""
    if type(value) in _UNCHANGING:
        return True
    if type(value) is tuple:
        return all(map(_is_fixed, value))
    if type(value) is np.ndarray:
        return value.dtype.kind != "O" and not value.flags.writeable
    return isinstance(value, np.generic | jax.Array)
