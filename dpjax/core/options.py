"""Command-line options, which are declared as fields of dataclasses.

The command line reads the calls to `option` from the source files, and therefore shows its help
without importing jax. For this reason, all arguments in a call to `option` must be literals.
"""

from collections.abc import Callable
from dataclasses import Field, field
from functools import wraps
from typing import Any, ClassVar, Protocol, TypeVar

from dpjax.core.errors import nearest

T = TypeVar("T")
Kind = TypeVar("Kind", bound=type)


class Dataclass(Protocol):
    """Protocol for a dataclass whose fields are options."""

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]


def option(
    help: str,
    *,
    default: T,
    kind: str = "",
    metavar: str = "",
    choices: tuple[str, ...] = (),
    flag: str = "",
    only: tuple[str, ...] = (),
    static: bool = False,
) -> T:
    """Return a dataclass field that is also a command-line option.

    Args:
        help: Help text of one or more sentences. The default is appended to the text unless the
            default is None or a bool. If `help` is empty, the help text of a field with the same
            name in another class is used.
        default: Default value of the field.
        kind: Type of the option's value on the command line. If `kind` is empty, the option's value
            has the type of the field.
        metavar: Placeholder that the help shows for the option's value.
        choices: Values that shell completion offers.
        flag: Name of the option. If `flag` is empty, the option is named after the field, with
            dashes in place of underscores. The option for a bool field is written "--on/--off", or
            "/--off" if the field is True by default.
        only: Names of the sources, methods or notions with which the option may be combined. If
            `only` names no source, the option may be combined with every source; the same holds for
            methods and notions.
        static: Whether the field is static in a pytree; see `jax.tree_util.register_dataclass`.

    Returns:
        The field, as returned by `dataclasses.field`.
    """
    shown = {
        "help": help,
        "kind": kind,
        "metavar": metavar,
        "choices": choices,
        "flag": flag,
        "only": only,
    }
    return field(default=default, metadata={"option": shown, "static": static})


def suggests_names(kind: Kind) -> Kind:
    """Decorate a dataclass so that an unknown argument raises an error with similar names."""
    init: Callable[..., None] = kind.__init__
    names = [name for name, each in kind.__dataclass_fields__.items() if each.init]

    @wraps(init)
    def checked(self: Any, *args: Any, **options: Any) -> None:
        __tracebackhide__ = True
        for name in options:
            if name not in names:
                raise TypeError(
                    f"{kind.__name__}() has no argument {name!r}: {nearest(name, names)}"
                )
        init(self, *args, **options)

    kind.__init__ = checked
    return kind
