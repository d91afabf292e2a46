"""Options of a command, written on the fields of the dataclasses that use them.

The command line reads these calls from the source files, so that its help needs no jax: their
arguments must be literals.
"""

from dataclasses import field
from typing import TypeVar

T = TypeVar("T")


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
    """Make a field of a dataclass that is an option of the command line too.

    Args:
        help: What it is, one sentence or more. If empty, that of another class with a field of the
            same name. The default is added to it, unless it is None or a bool.
        default: Default of the field; the command line leaves out what was not written.
        kind: The type that the command line reads; that of the field if empty.
        metavar: What stands for a value in the help.
        choices: Names that a shell offers for the value.
        flag: How the option is written; its name with dashes if empty. Of a bool, "--on/--off", or
            "/--off" for a field that is on by default.
        only: Sources, methods or notions of the command line that alone have the option, besides
            the class of the field.
        static: Whether it is no leaf of a pytree; see `jax.tree_util.register_dataclass`.

    Returns:
        The field, as `dataclasses.field` does.
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
