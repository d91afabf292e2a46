"""Package attributes that are imported on first use (PEP 562)."""

import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from types import ModuleType


class _Package(ModuleType):
    """A package whose public names are never replaced when a submodule is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        # Importing the submodule `dpjax.audit` sets the attribute `audit` of `dpjax` to the module;
        # store the function `dpjax.audit.audit` instead.
        if isinstance(value, ModuleType) and name in self.__all__:
            value = getattr(value, name)
        super().__setattr__(name, value)


def lazy(
    package: str, names: Mapping[str, list[str]], folders: Sequence[str] = ()
) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return the `__getattr__`, `__dir__` and `__all__` of a package with lazy attributes.

    Args:
        package: Name of the package, from its `__name__`.
        names: Map from each module to the public names that it defines.
        folders: Subpackages that are imported when they are first accessed as attributes of the
            package.
    """
    places = {name: module for module, taken in names.items() for name in taken}
    own = sys.modules[package]
    own.__class__ = _Package

    def find(name: str) -> object:
        if name in places:
            # Cache the attribute, so that later accesses bypass this function.
            setattr(own, name, value := getattr(import_module(places[name]), name))
            return value
        if name in folders:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=own)

    def names_and_folders() -> list[str]:
        return sorted({*vars(own), *places, *folders})

    return find, names_and_folders, sorted(places)
