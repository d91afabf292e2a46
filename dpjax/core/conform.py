"""Check that values read from a file match the type hints of a dataclass."""

from dataclasses import fields, is_dataclass
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints


def refuse_misfits(instance: object) -> None:
    """Validate that every field of a dataclass instance matches its type hint.

    Raises:
        TypeError: If a field does not match its type hint; the message names the field.
    """
    assert is_dataclass(instance)
    hints = get_type_hints(type(instance))
    for field in fields(instance):
        value = getattr(instance, field.name)
        if not _conforms(value, hints[field.name]):
            raise TypeError(f"{field.name} holds a {type(value).__name__}")


def _conforms(value: object, kind: Any) -> bool:
    origin, inside = get_origin(kind), get_args(kind)
    if kind is Any or kind is object:
        return True
    if origin is Union or origin is UnionType:
        return any(_conforms(value, one) for one in inside)
    if origin is tuple and isinstance(value, tuple):
        if inside[-1] is Ellipsis:
            return all(_conforms(entry, inside[0]) for entry in value)
        return len(value) == len(inside) and all(map(_conforms, value, inside))
    if origin is list and isinstance(value, list):
        return all(_conforms(entry, inside[0]) for entry in value)
    if origin is dict and isinstance(value, dict):
        return all(
            _conforms(name, inside[0]) and _conforms(entry, inside[1])
            for name, entry in value.items()
        )
    if kind is float or kind is int:
        return isinstance(value, (int, float) if kind is float else int) and value is not True
    return isinstance(value, origin or kind)
