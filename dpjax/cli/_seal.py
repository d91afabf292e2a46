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
    look = _held
    before = look()
    # Restore the working folder, because relative paths on the command line refer to it.
    with chdir(Path.cwd()):
        yield
    after = look()
    for name, value in before.items():
        now = after.get(name)
        if now is not value and not (isinstance(value, frozenset) and now == value):
            raise ValueError(
                f"there is no verdict, because audited code replaced {name}: audited code must "
                "not change the code of dpjax."
            )


def _held() -> dict[str, object]:
    """Return the contents of the checked modules, including classes and code, by name."""
    found: dict[str, object] = {}
    for module, content in list(sys.modules.items()):
        if module.partition(".")[0] in _SEALED:
            for name, value in list(vars(content).items()):
                place = f"{module}.{name}"
                found[place] = value
                if isinstance(value, type) and value.__module__ == module:
                    for part, attribute in list(vars(value).items()):
                        _add(found, f"{place}.{part}", attribute)
                    # A name that is added to a class hides the same name in a base class, so the
                    # set of names is recorded too. It takes the place of the descriptor that is
                    # named __dict__ in a class without bases.
                    found[f"{place}.__dict__"] = frozenset(vars(value)) - _CACHED
                else:
                    _add(found, place, value)
    return found


def _add(found: dict[str, object], place: str, value: object) -> None:
    """Add a value, and what is behind it if it is a function, a property or a wrapper."""
    found[place] = value
    if isinstance(value, FunctionType):
        found[f"{place}.__code__"] = value.__code__
        found[f"{place}.__defaults__"] = value.__defaults__
        by_name = value.__kwdefaults__
        found[f"{place}.__kwdefaults__"] = (
            frozenset((name, id(by_name[name])) for name in by_name) if by_name else _NOTHING
        )
        # Most functions have no attributes of their own, and therefore wrap nothing.
        if not value.__dict__:
            return
    elif not isinstance(value, _WRAPPERS):
        return
    for name in _WRAPPED:
        inner = getattr(value, name, None)
        if inner is not None:
            _add(found, f"{place}.{name}", inner)
