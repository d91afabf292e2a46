"""Detection of audited code that changes dpjax, with which it shares a process."""

import sys
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from types import FunctionType

_SEALED = ("dpjax", "typer", "click")


@contextmanager
def untouched() -> Iterator[None]:
    """Check that the body replaces no name, method or function code of dpjax.

    The working folder of the process is restored afterwards.

    Only modules that are already imported are checked, since only dpjax's own imports add others.
    Other packages, such as NumPy, are not checked.

    Raises:
        ValueError: When something was replaced.
    """
    look = _held
    before = look()
    # Relative paths must refer to the command's folder, even if the body changes folders.
    with chdir(Path.cwd()):
        yield
    after = look()
    for name, value in before.items():
        now = after.get(name)
        if now is not value and not (isinstance(value, frozenset) and now == value):
            raise ValueError(
                f"audited code replaced {name}, so there is no verdict: it must not change the "
                "code of dpjax."
            )


def _held() -> dict[str, object]:
    """Return the values in the checked modules, in their classes and functions, by name."""
    found: dict[str, object] = {}
    for module, content in list(sys.modules.items()):
        if module.partition(".")[0] in _SEALED:
            for name, value in list(vars(content).items()):
                place = f"{module}.{name}"
                found[place] = value
                if isinstance(value, type) and value.__module__ == module:
                    # A name added to a class hides that of a base class, so additions count too.
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
