"""Batches of outputs that are given as a dict of columns."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np

from dpjax.core.numerics import has_inexact

Key = TypeVar("Key")


def table_of(batch: Mapping[Any, Any]) -> np.ndarray | None:
    """Convert a dict of columns of numbers to a structured array [n], or return None.

    The result is None unless each name is a string and each column is an array of numbers that
    float64 represents exactly. Encoding a structured array takes far less time than encoding dicts.
    """
    columns = list(batch.values())
    if not all(isinstance(name, str) and name for name in batch) or not all(
        isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "biuf"
        for column in columns
    ):
        return None
    if len({len(column) for column in columns}) != 1 or any(map(is_rounded, columns)):
        return None
    table = np.empty(len(columns[0]), [(n, c.dtype) for n, c in batch.items()])
    for name, column in batch.items():
        table[name] = column
    return table


def is_rounded(numbers: np.ndarray) -> bool:
    """Return whether float64 cannot represent every number of an array of numbers."""
    if numbers.dtype.kind == "f":
        return numbers.dtype.itemsize > 8
    return numbers.dtype.itemsize == 8 and has_inexact(numbers)


def rows_of(batch: Mapping[Key, Iterable[object]]) -> list[dict[Key, object]]:
    """Convert a dict of columns to a list of dicts, one per output.

    Raises:
        ValueError: If the columns differ in length.
    """
    columns = [rows_of(v) if isinstance(v, dict) else _listed(v) for v in batch.values()]
    return [dict(zip(batch, row, strict=True)) for row in zip(*columns, strict=True)]


def _listed(column: Iterable[object]) -> list[object]:
    """Return the entries of a column, with numbers as objects of Python."""
    if isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype.kind in "biuf":
        return column.tolist() if column.dtype.itemsize <= 8 else list(column)
    return list(column)
