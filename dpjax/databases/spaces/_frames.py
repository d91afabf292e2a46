"""Conversion of pandas data frames to lists of records; this module never imports pandas."""

import sys
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import count, islice
from typing import Any

import numpy as np

from dpjax.databases.spaces._domain import Value
from dpjax.databases.spaces._fields import Column
from dpjax.databases.spaces._records import Form, Record, Row

Frame = Any
"""A pandas data frame."""

Series = Any
"""A column of a pandas data frame, or its index."""

_STEPS: dict[str, tuple[Value, Value]] = {
    "integer": (0, 1),
    "floating": (0.0, 1.0),
    "datetime64": (datetime(2000, 1, 1), timedelta(days=1)),
    "timedelta64": (timedelta(0), timedelta(days=1)),
}
"""Map from the inferred type of a pandas index to the first label and the step between labels."""


def frame_form(like: Frame) -> Form:
    """Return the form of data frames with the same columns, types and kind of index as an example.

    A record is a row. The row's index label is part of the record, unless the index of the example
    counts 0, 1, 2 and so on. If the labels of the example are distinct, the labels in every
    database are distinct, because a row whose label is already in use gets a new label.
    """
    pandas, dtypes, types = sys.modules["pandas"], list(like.dtypes), type(like)
    labelled = not like.index.equals(pandas.RangeIndex(len(like))) or like.index.nlevels > 1

    def records(given: Frame) -> list[Record]:
        columns = [_values(given.iloc[:, place]) for place in range(given.shape[1])]
        rows = list(zip(*columns, strict=True)) if columns else [()] * len(given)
        return list(map(Row, rows, given.index.tolist())) if labelled else rows

    def database(rows: Sequence[Record]) -> Frame:
        rows = settled(list(rows))
        columns = list(zip(*rows, strict=True)) if rows else [()] * len(dtypes)
        parts = {
            place: pandas.Series(list(values), dtype=dtype)
            for place, (values, dtype) in enumerate(zip(columns, dtypes, strict=True))
        }
        frame = pandas.DataFrame(parts, index=pandas.RangeIndex(len(rows), name=like.index.name))
        frame.columns = like.columns
        if labelled:
            frame.index = _index_like(like.index, [row.label for row in rows])
        frame = frame if types is pandas.DataFrame else types(frame)
        frame.attrs = dict(like.attrs)
        return frame

    def settled(rows: list[Record]) -> list[Record]:
        return _labelled(rows, like.index) if labelled else rows

    columns = tuple(
        _column(pandas, name, dtype, like.iloc[:, place])
        for place, (name, dtype) in enumerate(zip(like.columns, dtypes, strict=True))
    )
    index = (like.index.dtype, like.index.names, like.index.is_unique) if labelled else None
    name = f"a data frame {list(like.columns)} {dtypes} {index}"
    return Form(name, records, database, columns=columns, settled=settled, exact=True, blank=())


def _values(column: Series) -> list[Value]:
    values = column.tolist()
    if column.dtype.kind == "O":
        return [value.item() if isinstance(value, np.generic) else value for value in values]
    return values


def _column(pandas: Any, name: object, dtype: Any, like: Frame) -> Column:
    """Return the properties of a column in a data frame."""
    kind, types = None, pandas.api.types
    tests: list[tuple[type, Callable[[Value], bool]]] = [
        (bool, types.is_bool_dtype),
        (int, types.is_integer_dtype),
        (float, types.is_float_dtype),
        (datetime, types.is_datetime64_any_dtype),
        (timedelta, types.is_timedelta64_dtype),
        (str, types.is_string_dtype),
    ]
    categories: tuple[Value, ...] = ()
    if isinstance(dtype, pandas.CategoricalDtype):
        categories = tuple(dtype.categories.tolist())
    elif not types.is_object_dtype(dtype) or not len(like):
        kind = next((kind for kind, fits in tests if fits(dtype)), None)
    # The missing value is the value that pandas writes into a new row. If this would change the
    # column's type, the column cannot store a missing value.
    longer = like.iloc[:0].reset_index(drop=True).reindex(range(1))
    missing = tuple(longer.tolist()) if longer.dtype == dtype else ()

    def stored(value: Value) -> Value:
        if isinstance(dtype, pandas.CategoricalDtype):
            if not pandas.isna(value) and value not in categories:
                raise ValueError(f"{value!r} is not a category")
        return _values(pandas.Series([value], dtype=dtype))[0]

    number = getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype))
    number = number if kind in (int, float) else None
    return Column(name, kind, number, categories, missing, stored)


def _index_like(index: Series, labels: list[Value]) -> Series:
    """Return an index with the given labels, and with the type and the names of `index`."""
    pandas = sys.modules["pandas"]
    if index.nlevels == 1:
        return pandas.Index(labels, dtype=index.dtype, name=index.name)
    levels = [
        pandas.Index([label[place] for label in labels], dtype=level.dtype)
        for place, level in enumerate(index.levels)
    ]
    return pandas.MultiIndex.from_arrays(levels, names=index.names)


def _labelled(rows: list[Record], index: Series) -> list[Record]:
    """Return rows with labels; the labels are distinct if the labels of `index` are distinct."""
    labels = [row.label for row in rows if isinstance(row, Row)]
    distinct = set(labels)
    if len(labels) == len(rows) and (len(distinct) == len(rows) or not index.is_unique):
        return rows
    distinct.update(index.tolist())
    new = (label for label in _new_labels(index) if label not in distinct)
    missing = len(rows) - len(set(labels))
    # Convert new labels to the values that the index would store.
    stored = iter(_index_like(index, list(islice(new, missing))).tolist())
    used: set[object] = set()
    found = []
    for row in rows:
        if not isinstance(row, Row) or row.label in used:
            row = Row(row, next(stored))
        used.add(row.label)
        found.append(row)
    return found


def _new_labels(index: Series) -> Iterator[Value]:
    """Yield candidates for new labels; some of them may already be in the index.

    Raises:
        ValueError: If this function cannot create labels of the index's type.
    """
    if index.nlevels > 1:
        front = index[0][:-1] if len(index) else None
        if front is None:
            raise ValueError("an empty index with multiple levels has no labels to vary.")
        yield from ((*front, label) for label in _new_labels(index.levels[-1]))
    elif index.inferred_type in _STEPS:
        first, step = _STEPS[index.inferred_type]
        first = max(index.tolist()) + step if len(index) else first
        yield from (first + number * step for number in count())
    elif index.inferred_type in ("string", "empty"):
        yield from (f"new {number}" for number in count())
    else:
        raise ValueError(f"no new label can be made for an index of type {index.inferred_type}.")
