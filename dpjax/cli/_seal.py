"""A seal on the code that reaches a verdict: what is audited shares its process."""

import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from types import FunctionType

_SEALED = ("dpjax", "typer", "click")


@contextmanager
def untouched() -> Iterator[None]:
    """Refuse what runs within it if it replaces a name, a method or the code of a function.

    The folder of the process afterwards is the one before.

    Only modules that are imported before it are watched, for nothing but dpjax's own imports adds
    others. What other packages hold, such as NumPy's functions, is not.

    Raises:
        ValueError: Something was replaced.
    """
    look = _held
    before = look()
    # Files are written where the command was given, whatever folder the process is in by then.
    with chdir(Path.cwd()):
        yield
    after = look()
    for name, value in before.items():
        now = after.get(name)
        if now is not value and not (isinstance(value, frozenset) and now == value):
            raise ValueError(
                f"what dpjax was to run replaced {name}, so there is no verdict: it must leave the "
                "code that audits it as it is."
            )


def _held() -> dict[str, object]:
    """What the modules, and their classes and functions, hold under each name."""
    found: dict[str, object] = {}
    for module, content in list(sys.modules.items()):
        if module.partition(".")[0] in _SEALED:
            for name, value in list(vars(content).items()):
                place = f"{module}.{name}"
                found[place] = value
                if isinstance(value, type) and value.__module__ == module:
                    # A new name in a class hides that of a base.
                    found[f"{place}.__dict__"] = frozenset(vars(value))
                    for part, attribute in list(vars(value).items()):
                        _add(found, f"{place}.{part}", attribute)
                else:
                    _add(found, place, value)
    return found


def _add(found: dict[str, object], place: str, value: object) -> None:
    found[place] = value
    if isinstance(value, FunctionType):
        found[f"{place}.__code__"] = value.__code__
