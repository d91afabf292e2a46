"""A check that audited code, which runs in the same process, does not modify dpjax."""

import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from functools import cache, cached_property, partial
from pathlib import Path
from types import FunctionType

from dpjax.core.lazy import load_all

_SEALED = ("dpjax", "click")

_CACHED = {"__slotnames__", "__annotations__", "__annotations_cache__"}
"""Names that Python adds to a class when an object of the class is first pickled, or when the
annotations of the class are first read.
"""

_NOTHING: frozenset[tuple[str, int]] = frozenset()

_WRAPPERS = (
    FunctionType, property, staticmethod, classmethod, partial, cached_property,
    type(cache(len)),
)  # fmt: skip
_WRAPPED = ("__wrapped__", "__func__", "func", "fget")
"""Types of objects that call a function, and the attributes that hold this function."""


@contextmanager
def untouched() -> Iterator[None]:
    """Check that the body of a `with` statement replaces no name, method or function of dpjax.

    The check covers the modules of dpjax and click that are imported when the body starts, but no
    other modules. Therefore, all modules that an audit may need are imported first. After the body,
    the original working folder is restored.

    Raises:
        ValueError: If the body has replaced a name, a method or the code of a function.
    """
    load_all()
    parts_of = _parts_of
    before = _held()
    # Restore the working folder, because relative paths on the command line refer to it.
    with chdir(Path.cwd()):
        yield
    for place, holder, parts in before:
        found = parts_of(holder)
        for name, value in parts.items():
            now = found.get(name)
            if now is not value and not (isinstance(value, frozenset) and now == value):
                raise ValueError(
                    f"there is no verdict, because audited code replaced {place}.{name}: audited "
                    "code must not change the code of dpjax."
                )


def _held() -> list[tuple[str, object, dict[str, object]]]:
    """Return all holders of checked contents, each with its place and its contents by name.

    Holders are the names of the checked modules, and the classes, functions and wrappers in them.
    Most of these have several places, because other modules import them, but are returned once.
    """
    found: list[tuple[str, object, dict[str, object]]] = []
    seen: set[int] = set()

    def add(place: str, holder: object) -> dict[str, object]:
        seen.add(id(holder))
        parts = _parts_of(holder)
        found.append((place, holder, parts))
        return parts

    def add_functions(place: str, parts: dict[str, object]) -> None:
        for name, value in parts.items():
            if isinstance(value, _WRAPPERS) and id(value) not in seen:
                inner = f"{place}.{name}"
                content = add(inner, value)
                if type(value) is not FunctionType or value.__dict__:
                    add_functions(inner, content)

    for module in list(sys.modules):
        if module.partition(".")[0] in _SEALED:
            content = add(module, module)
            add_functions(module, content)
            for name, value in content.items():
                if isinstance(value, type) and value.__module__ == module and id(value) not in seen:
                    place = f"{module}.{name}"
                    add_functions(place, add(place, value))
    return found


def _parts_of(holder: object) -> dict[str, object]:
    """Return the contents of a module (given by its name), a class, a function or a wrapper."""
    if isinstance(holder, str):
        return dict(vars(sys.modules[holder])) if holder in sys.modules else {}
    if isinstance(holder, type):
        parts = dict(vars(holder))
        # A name that is added to a class hides the same name in a base class, so the set of names
        # is recorded too. It takes the place of the descriptor that is named __dict__ in a class
        # without bases.
        parts["__dict__"] = frozenset(parts) - _CACHED
        return parts
    parts = {}
    if isinstance(holder, FunctionType):
        by_name = holder.__kwdefaults__
        ids = frozenset([(name, id(by_name[name])) for name in by_name]) if by_name else _NOTHING
        parts["__code__"], parts["__defaults__"] = holder.__code__, holder.__defaults__
        parts["__kwdefaults__"] = ids
        # Most functions have no attributes of their own, and therefore wrap nothing.
        if not holder.__dict__:
            return parts
    for name in _WRAPPED:
        inner = getattr(holder, name, None)
        if inner is not None:
            parts[name] = inner
    return parts
