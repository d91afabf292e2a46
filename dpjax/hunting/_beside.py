"""Imports of modules that lie in the folder of a case."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from types import ModuleType


class Beside:
    """The modules that a case imports from its own folder.

    Only the code of the case finds these modules, because a module of a case in another folder may
    have the same name.

    Args:
        folder: Folder of the case.
    """

    def __init__(self, folder: Path):
        self._folder = folder
        self._modules: dict[str, ModuleType] = {}

    @contextmanager
    def imports(self) -> Iterator[None]:
        """Within the context, permit imports of modules from the folder."""
        search, known = list(sys.path), set(sys.modules)
        sys.path.append(str(self._folder))
        for name, module in self._modules.items():
            sys.modules.setdefault(name, module)
        try:
            yield
        finally:
            sys.path[:] = search
            new = set(sys.modules) - known
            own = {name for name in new if self._holds(sys.modules[name])}
            for name in new:
                if name.partition(".")[0] in own:
                    self._modules[name] = sys.modules.pop(name)

    def calling(self, function: Callable[[object], bool]) -> Callable[[object], bool]:
        """Return a function that may import modules from the folder whenever it is called."""

        @wraps(function)
        def call(database: object) -> bool:
            with self.imports():
                return function(database)

        return call

    def _holds(self, module: ModuleType) -> bool:
        """Return whether the folder directly contains a module's file or a package's folder.

        Modules in subfolders do not count, because a subfolder may be an environment of Python.
        """
        places = getattr(module, "__path__", None) or [getattr(module, "__file__", None)]
        return any(Path(place).parent.resolve() == self._folder for place in places if place)
