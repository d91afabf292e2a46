"""Attributes and classes that are imported on first use (PEP 562)."""

import re
import sys
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from importlib import import_module
from types import ModuleType
from typing import Any, TypeVar

_IMPORT = re.compile(r"^    from ([\w.]+) import \(?\s*(\w+) as \2\b", re.MULTILINE)

_PACKAGES: list[str] = []
"""Names of the packages whose attributes are lazy."""

T = TypeVar("T", bound=type)


class _Package(ModuleType):
    """A package whose public names are never replaced when a submodule is imported."""

    def __setattr__(self, name: str, value: object) -> None:
        # Importing the submodule `dpjax.audit` sets the attribute `audit` of `dpjax` to the module;
        # store the function `dpjax.audit.audit` instead.
        if isinstance(value, ModuleType) and name in self.__all__:
            value = getattr(value, name)
        super().__setattr__(name, value)


def lazy(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return the `__getattr__`, `__dir__` and `__all__` of a package with lazy attributes.

    The attributes are the names that the package imports only for type checkers, in lines of the
    form `from MODULE import NAME as NAME`. These lines are read from the source code of the
    package, so that each name is written once. If MODULE is the package itself, NAME is a
    submodule.
    """
    own = sys.modules[package]
    own.__class__ = _Package
    spec: Any = own.__spec__
    if not spec.origin.endswith(".py"):
        raise ImportError(f"{package} needs its source code: install dpjax with its .py files.")
    source = spec.loader.get_data(spec.origin).decode()
    places = {name: module for module, name in _IMPORT.findall(source)}
    _PACKAGES.append(package)

    def find(name: str) -> object:
        if name not in places:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}", name=name, obj=own
            )
        if places[name] == package:
            return import_module(f"{package}.{name}")
        # Cache the attribute, so that later accesses bypass this function.
        setattr(own, name, value := getattr(import_module(places[name]), name))
        return value

    def names() -> list[str]:
        return sorted({*vars(own), *places})

    return find, names, sorted(name for name in places if places[name] != package)


def load_all() -> None:
    """Import all names of the lazy subpackages in use, so that no module of them loads later."""
    for package in _PACKAGES:  # The list grows if an import reaches another package.
        if "." in package:
            for name in sys.modules[package].__all__:
                getattr(sys.modules[package], name)


class Classes(MutableMapping[str, T]):
    """Classes by name, each of which is imported when it is first looked up.

    Args:
        package: Name of the package that contains the classes.
        places: Map from the name of each class to `MODULE:CLASS`, where MODULE is a module in the
            package.
    """

    def __init__(self, package: str, places: Mapping[str, str]):
        self._package = package
        self._places: dict[str, Any] = dict(places)

    def __getitem__(self, name: str) -> T:
        found = self._places[name]
        if isinstance(found, str):
            module, _, kind = found.partition(":")
            found = getattr(import_module(f"{self._package}.{module}"), kind)
            self._places[name] = found
        return found

    def __setitem__(self, name: str, kind: T) -> None:
        self._places[name] = kind

    def __delitem__(self, name: str) -> None:
        del self._places[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places
