"""Names of a package that are imported where they are first used (PEP 562)."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import Any


class _Package(ModuleType):
    """A package in which a name stays its own when a module of the same name is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        # The import of a module also sets it as an attribute of its package: `dpjax.audit` would
        # be the module once anything has imported that.
        if isinstance(value, ModuleType) and name in self.__all__:
            value = getattr(value, name)
        super().__setattr__(name, value)


def lazy(
    package: str, names: Mapping[str, list[str]], folders: Sequence[str] = ()
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """What a package assigns to `__getattr__`, `__dir__` and `__all__`, so that its names are lazy.

    Args:
        package: Its `__name__`.
        names: Of every module that is imported from, what is taken of it.
        folders: Folders of it that are attributes without an import statement, too.
    """
    places = {name: module for module, taken in names.items() for name in taken}
    own = sys.modules[package]
    own.__class__ = _Package

    def find(name: str) -> Any:
        if name in places:
            # Kept, so that the next use does not come here.
            setattr(own, name, value := getattr(import_module(places[name]), name))
            return value
        if name in folders:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=own)

    def names_and_folders() -> list[str]:
        return sorted({*vars(own), *places, *folders})

    return find, names_and_folders, sorted(places)
