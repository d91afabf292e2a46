"""Databases that are PyTorch tensors, or tuples or dicts with tensors, as databases of arrays."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from dpjax.core.arrays import to_numpy
from dpjax.core.wording import BadType
from dpjax.databases.spaces._records import Form


def has_tensors(database: Any) -> bool:
    """Return whether a database is a tensor, or a tuple or dict that contains a tensor."""
    torch = sys.modules.get("torch")
    kind = getattr(torch, "Tensor", ())
    return any(isinstance(part, kind) for part in [database, *_parts(database)])


def tensor_form(like: Any, form_of: Callable[[object], Form]) -> Form:
    """Return the form of a database with tensors; its databases have tensors at the same places.

    Args:
        like: Example database, for which `has_tensors` is true.
        form_of: Function that returns the form of an example database without tensors.

    Raises:
        TypeError: If `like` has no form, or if a part of it that is not a tensor contains tensors.
    """
    for part in _parts(like):
        if any(map(has_tensors, _parts(part))):
            raise BadType(
                "like must be a tensor, or one tuple or dict of tensors and arrays, but contained "
                f"a {type(part).__name__} of tensors: pass its tensors as entries of like."
            )
    arrays = _in_arrays(like)
    if isinstance(arrays, np.ndarray) and not arrays.ndim:
        raise BadType(
            f"like must be a tensor of one or two axes, but was {like!r}, a tensor without axes: "
            "for a number, pass a Python float and relation=Within(...), and let the function "
            "convert its database to a tensor."
        )
    form = form_of(arrays)
    return form._replace(
        name=f"{form.name} in tensors",
        records=lambda given: form.records(_in_arrays(given)),
        database=lambda rows: _in_tensors(form.database(rows), like),
        size=lambda given: form.size(_in_arrays(given)),
        exact=False,  # For instance, bfloat16 rounds numbers of the array.
    )


def _parts(database: Any) -> list[Any]:
    if isinstance(database, dict):
        return [*database.values()]
    return [*database] if isinstance(database, tuple) else []


def _in_arrays(database: Any) -> Any:
    """Replace each tensor in a database by an array."""

    def converted(part: Any, _: Any) -> Any:
        return to_numpy(part) if has_tensors(part) else part

    return _mapped(converted, database, database)


def _in_tensors(database: Any, like: Any) -> Any:
    """Replace each array in a database by a tensor if the example has a tensor in its place."""

    def converted(part: Any, example: Any) -> Any:
        if not has_tensors(example):
            return part
        return sys.modules["torch"].as_tensor(part, dtype=example.dtype, device=example.device)

    return _mapped(converted, database, like)


def _mapped(function: Callable[[Any, Any], Any], database: Any, like: Any) -> Any:
    """Apply a function to each part of a database and of an example, or to both as a whole."""
    if isinstance(like, dict):
        return {name: function(part, like[name]) for name, part in database.items()}
    if isinstance(like, tuple):
        return tuple(map(function, database, like))
    return function(database, like)
