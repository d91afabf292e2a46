"""Outputs with named fields: dataclasses, attrs classes, namespaces and rows of structured arrays.

These outputs are compared like dicts of their fields. The name of a class is a part of the
structure, so that two classes with equal fields differ.
"""

from dataclasses import fields as dataclass_fields
from dataclasses import is_dataclass
from enum import Enum
from functools import lru_cache
from numbers import Number
from types import SimpleNamespace
from typing import Any

import numpy as np

from dpjax.partitions._graphs import Graph

_OTHERS = (Graph, Enum, Number, str, bytes, tuple, list, dict, set, frozenset, BaseException)
"""Types that are compared in another way, even if a dataclass is derived from them."""


class Fields(dict[str, Any]):
    """The fields of an output by their names.

    Args:
        fields: The fields.
        kind: Name of the output's class, or "" for a row of an array.
    """

    __slots__ = ("kind",)

    def __init__(self, fields: dict[str, Any], kind: str):
        super().__init__(fields)
        self.kind = kind


@lru_cache
def has_fields(kind: type) -> bool:
    """Return whether outputs of a type may have fields. Some rows of NumPy are plain bytes."""
    if issubclass(kind, SimpleNamespace | np.void):
        return True
    return _names(kind) is not None and not issubclass(kind, _OTHERS)


def fields_of(item: Any) -> Fields | None:
    """Return the fields of an output, or None for an output without fields."""
    kind = type(item)
    if not has_fields(kind):
        return None
    if isinstance(item, np.void):
        names = item.dtype.names
        return None if names is None else Fields({name: item[name] for name in names}, "")
    if isinstance(item, SimpleNamespace):
        return Fields(vars(item), kind.__name__)
    # A field without a default value may have no value.
    found = {name: getattr(item, name) for name in _names(kind) or () if hasattr(item, name)}
    return Fields(found, kind.__name__)


@lru_cache
def _names(kind: type) -> tuple[str, ...] | None:
    """Return the names of the fields of a dataclass or of a class of attrs."""
    if is_dataclass(kind):
        return tuple(field.name for field in dataclass_fields(kind))
    fields = getattr(kind, "__attrs_attrs__", None)
    return None if fields is None else tuple(field.name for field in fields)
