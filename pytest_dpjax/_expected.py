"""How many audits a test is expected to make: call sites in all that it names.

Nothing is run, so an assertion in a loop counts once, and one that is skipped counts as well.
"""

import dis
import inspect
from types import CodeType
from typing import Any

import pytest

ASSERTIONS = frozenset({"assert_private", "assert_not_private"})

_INSTALLED = ("site-packages", "dist-packages", inspect.__file__.removesuffix("inspect.py"))
"""Parts of the paths of code that is nobody's helper of a test, and whose calls lead far."""


class Expected:
    """Counts the audits of the tests of one run.

    A fixture of a wider scope than a test is counted at the first test that uses it, which runs it.
    """

    def __init__(self):
        self._known: dict[tuple[CodeType, int], int] = {}
        self._shared: set[Any] = set()

    def of_item(self, item: pytest.Item) -> int:
        """Audits in a test and in its fixtures."""
        found = self._of(getattr(item, "function", None))
        fixtures = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
        # The last definition of a name overrides the others.
        for fixture in [definitions[-1] for definitions in fixtures.values()]:
            audits = self._of(fixture.func)
            if audits and fixture.scope != "function":
                scope = {"class": "cls", "module": "module"}.get(fixture.scope)
                once = (fixture.func, getattr(item, scope, None) if scope else None)
                audits = 0 if once in self._shared else audits
                self._shared.add(once)
            found += audits
        return found

    def _of(self, function: Any) -> int:
        """Audits of a function, and of those that it names and that its module has."""
        function = getattr(inspect.unwrap(function), "__func__", function) if function else None
        function = inspect.unwrap(function) if function else None
        code = getattr(function, "__code__", None)
        if code is None or any(part in code.co_filename for part in _INSTALLED):
            return 0
        names = function.__globals__
        place = (code, id(names))
        if place not in self._known:
            # Met again on the way, a function that calls itself adds nothing.
            self._known[place] = 0
            self._known[place] = self._in_code(code, names)
        return self._known[place]

    def _in_code(self, code: CodeType, names: dict[str, Any]) -> int:
        worth = {name: self._worth(name, names.get(name)) for name in code.co_names}
        found = 0
        if any(worth.values()):
            for instruction in dis.get_instructions(code):
                if instruction.opname.startswith("LOAD"):
                    found += worth.get(str(instruction.argval), 0)
        inner = (constant for constant in code.co_consts if isinstance(constant, CodeType))
        return found + sum(self._in_code(nested, names) for nested in inner)

    def _worth(self, name: str, value: Any) -> int:
        """Audits where a name is used."""
        if name in ASSERTIONS or getattr(value, "__name__", None) in ASSERTIONS:
            return 1
        return self._of(value) if inspect.isfunction(value) else 0
