"""Copies of databases for functions that may change what they are handed."""

import copy
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np

from dpjax._outputs import preview_database

_UNCHANGING = frozenset((type(None), bool, int, float, complex, str, bytes))
_CONTAINERS = frozenset((list, dict, tuple, set))


def copier(database: Any, name: str) -> Callable[[], Any]:
    """Gives a database at each call that nobody else holds: a function may sort or fill its own.

    Without it a change would stay, and later outputs would be of another database.

    Args:
        database: Of any kind; itself where nothing can change it.
        name: Of the function, for messages.

    Returns:
        Makes the copies; raises a ValueError where the database cannot be copied.
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
            pass  # A deep copy can do more, and says what it cannot.

    def deep() -> Any:
        try:
            return copy.deepcopy(database)
        except Exception as error:
            raise ValueError(
                f"pairs must hold databases that can be copied for each call of {name}, but "
                f"{preview_database(database)} cannot ({type(error).__name__}: {error}): give a "
                "path or a name, and open it in the function."
            ) from error

    return deep


def _is_fixed(value: Any) -> bool:
    """Whether nothing can change it: a number, a text, a read-only array, a tuple of such."""
    if type(value) in _UNCHANGING:
        return True
    if type(value) is tuple:
        return all(map(_is_fixed, value))
    if type(value) is np.ndarray:
        return value.dtype.kind != "O" and not value.flags.writeable
    return isinstance(value, np.generic | jax.Array)
