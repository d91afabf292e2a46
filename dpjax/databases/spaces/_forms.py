"""Conversion of databases to lists of records, and back."""

import sys
from collections.abc import Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np

from dpjax.core.wording import BadType, BadValue
from dpjax.databases.spaces._exact import is_frame
from dpjax.databases.spaces._fields import Column
from dpjax.databases.spaces._frames import frame_form
from dpjax.databases.spaces._records import Form, Record, fields_of, short
from dpjax.databases.spaces._tensors import has_tensors, tensor_form

_KINDS: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "U": str}
"""Map from the kind of a NumPy dtype to the Python type of its values."""

_CHARACTERS = "a 0\n\x00\u00e9\U0001f600"
"""Characters that tend to break parsers."""


def form_of(like: object) -> Form:
    """Return the form of an example database.

    Args:
        like: A list or tuple of records; an array [records] or [records, fields]; a data frame; a
            tuple of arrays of equal length, such as (X, y); a dict of columns; a string, whose
            records are its characters; or bytes. Tensors of PyTorch may take the place of arrays.

    Raises:
        TypeError: If `like` has none of these forms.
    """
    if isinstance(like, str):
        return Form("text", list, "".join, tuple(sorted({*like, *_CHARACTERS})), exact=True)
    if isinstance(like, bytes | bytearray):
        return Form(type(like).__name__, list, type(like), _each_bit(like), exact=True)
    if has_tensors(like):
        return tensor_form(like, form_of)
    if isinstance(like, np.ma.MaskedArray):
        raise BadType("like must not be a masked array: pass an array in which NaN means missing.")
    if isinstance(like, np.ndarray) and like.ndim in (1, 2):
        return _array(like)
    if is_frame(like):
        return frame_form(like)
    if isinstance(like, dict):
        _check_dict(like)
        names, parts = list(like), _columns(tuple(like.values()), tuple(like))
        return parts._replace(
            name=f"a dict of {names}, {parts.name}",
            records=lambda given: parts.records(tuple(given[name] for name in names)),
            database=lambda rows: dict(zip(names, parts.database(rows), strict=True)),
            size=lambda given: len(given[names[0]]),
        )
    if isinstance(like, tuple) and _are_columns(like):
        return _columns(like, (None,) * len(like))
    if isinstance(like, list | tuple):
        names = list(like[0]) if like and isinstance(like[0], dict) else []
        columns = tuple(map(Column, names))
        records = partial(_in_order, names) if names else list
        return Form(f"a {type(like).__name__}", records, type(like), columns=columns, exact=True)
    was = f"of type {type(like).__name__}"
    advice = "for a number or a vector, pass relation=Within(...)"
    if isinstance(like, np.ndarray) and like.ndim:
        was, advice = f"an array of shape {list(like.shape)}", "reshape each record to a vector"
    raise BadType(
        "like must be a list or tuple of records, an array of one or two axes, a data frame, a "
        f"tuple or dict of columns, a string, or bytes, but was {was}: {advice}."
    )


def in_numpy(database: Any) -> Any:
    """Replace JAX arrays in a database by NumPy arrays, and an array without axes by a number."""
    jax = sys.modules.get("jax")
    if jax is not None and isinstance(database, jax.Array):
        database = np.asarray(database)
    if isinstance(database, np.ndarray) and database.ndim == 0:
        return database[()]
    kind = type(database)
    if jax is None or kind not in (list, tuple, dict):
        return database
    parts = database.values() if isinstance(database, dict) else database
    if not any(isinstance(part, jax.Array) for part in parts):
        return database
    found = list(map(in_numpy, parts))
    return dict(zip(database, found, strict=True)) if isinstance(database, dict) else kind(found)


def _in_order(names: list[Hashable], given: Sequence[Record]) -> list[Record]:
    """Return records, with the keys of each dict in the order of `names`.

    Fields are matched by position, so the keys of all records must have the same order.
    """
    return [
        {name: record[name] for name in names}
        if isinstance(record, dict) and list(record) != names and set(record) == set(names)
        else record
        for record in given
    ]


def _check_dict(like: dict) -> None:
    """Raise an error unless the entries of a dict are columns of equal length."""
    kinds = [
        isinstance(part, list) or (isinstance(part, np.ndarray) and part.ndim > 0)
        for part in like.values()
    ]
    if not like or not all(kinds) or len({len(part) for part in like.values()}) > 1:
        raise BadValue(
            f"like must be a dict of equally long columns (arrays or lists), but was {short(like)}."
        )


def _each_bit(like: bytes | bytearray) -> tuple[int, ...]:
    """Return bytes to try: 0, 255, and bytes of the example, unchanged or with one flipped bit."""
    seen = sorted(set(like[:16]))
    return tuple(sorted({0, 255, *seen, *(byte ^ 1 << bit for byte in seen for bit in range(8))}))


def _array(like: np.ndarray) -> Form:
    dtype, width = like.dtype, like.shape[1:]

    def records(given: np.ndarray) -> list[Record]:
        rows = np.asarray(given).tolist()
        return [tuple(row) for row in rows] if width else rows

    def database(rows: Sequence[Record]) -> np.ndarray:
        return np.array(list(rows), dtype).reshape(len(rows), *width)

    column = column_of(dtype)
    columns = (column,) * (width[0] if width else 1) if column.kind else ()
    blank = () if width else None
    name = f"an array {dtype} {width}"
    return Form(name, records, database, columns=columns, exact=bool(columns), blank=blank)


def column_of(dtype: np.dtype) -> Column:
    """Return the column for a dtype; its kind is None if the dtype allows arbitrary objects."""
    kind = _KINDS.get(dtype.kind)
    number = dtype if dtype.kind in "iuf" else None
    return Column(None, kind, number, stored=lambda value: np.array([value], dtype).tolist()[0])


def _are_columns(parts: Sequence[Any]) -> bool:
    """Return whether there are two or more columns, at least one of them an array.

    Raises:
        ValueError: If the columns differ in length.
    """
    if len(parts) < 2 or not any(isinstance(part, np.ndarray) for part in parts):
        return False
    if not all(isinstance(part, list | np.ndarray) and np.ndim(part) for part in parts):
        return False
    lengths = [len(part) for part in parts]
    if len(set(lengths)) > 1:
        raise BadValue(
            f"like must be a tuple of equally long columns, but their lengths were {lengths}."
        )
    return True


def _columns(like: tuple[Any, ...], names: Sequence[object]) -> Form:
    forms = [form_of(part) for part in like]
    flat = [not (isinstance(part, np.ndarray) and part.ndim == 2) for part in like]
    widths = [1 if one else part.shape[1] for one, part in zip(flat, like, strict=True)]
    ends = np.cumsum([0, *widths]).tolist()

    def records(given: tuple[object, ...]) -> list[Record]:
        parts = [form.records(part) for form, part in zip(forms, given, strict=True)]
        return [tuple(v for part in row for v in fields_of(part)) for row in zip(*parts)]  # noqa: B905

    def database(rows: Sequence[Record]) -> tuple[object, ...]:
        cuts = zip(ends, ends[1:], flat, forms, strict=False)
        return tuple(
            form.database([row[start] if one else row[start:stop] for row in rows])
            for start, stop, one, form in cuts
        )

    columns = [
        (form.columns or (Column(),) * width) for form, width in zip(forms, widths, strict=True)
    ]
    named = [
        column._replace(name=name)
        for name, part in zip(names, columns, strict=True)
        for column in part
    ]
    return Form(
        f"columns {[form.name for form in forms]}",
        records,
        database,
        columns=tuple(named),
        size=lambda given: len(given[0]),
        exact=all(form.exact for form in forms),
        blank=(),
    )
