"""Where the exact laws are registered, one function a class, and what those on integers share."""

from functools import singledispatch
from typing import Any

import numpy as np


@singledispatch
def law_of(mechanism: Any, database: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Log density of a built-in mechanism; each module of laws registers its classes.

    Args:
        mechanism: With one value per parameter.
        database: float64 of the shape that the mechanism takes.
        outputs: float64 [num_outputs], or [num_outputs, width] for vectors and mixed outputs.

    Returns:
        float64 [num_outputs].
    """
    raise NotImplementedError


def look_up(log_table: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """Entries of a table over 0, 1, ..., -inf elsewhere."""
    inside = (outputs >= 0) & (outputs < len(log_table))
    index = np.where(inside, outputs, 0).astype(int)
    return on_integers(np.where(inside, log_table[index], -np.inf), outputs)


def on_integers(log_pmf: np.ndarray, outputs: np.ndarray) -> np.ndarray:
    """`log_pmf` where the outputs are integers, -inf elsewhere."""
    return np.where(outputs == np.floor(outputs), log_pmf, -np.inf)


def category_of(database: np.ndarray, size: int) -> int:
    """The database as a category; raises ValueError where it is none of 0..size - 1."""
    if database != np.floor(database) or not 0 <= database < size:
        raise ValueError(f"database must be an integer in [0, {size - 1}], but was {database}.")
    return int(database)
