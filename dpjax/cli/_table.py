"""Tables of command-line options, which `dpjax.cli._parser` turns into commands."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

Value = Any
"""Value of an option, with the type that the option's row states; None if there is no value."""

Given = Mapping[str, Value]
"""Values of a command's parameters, by name."""


class Row(NamedTuple):
    """An option or a positional argument of a command.

    Attributes:
        kind: Python type of the value: `bool`, `int`, `float`, `str`, `Path`, a tuple of these for
            an option with multiple values, or a list for an option that may be repeated.
        text: Help text, in which line breaks have no meaning.
        flags: The option as it is typed, if it differs from the name with dashes. The flag of an
            option that turns something off begins with "/"; two flags are separated by "/".
        default: Value if none is given.
        owners: Names of the sources, methods or notions to which the option applies. If `owners` is
            empty, the option applies to every source, method and notion.
        metavar: Placeholder of the value in the help.
        words: Function that returns the words that the shell completion offers.
        parser: Function that converts the value from a string.
        positional: Whether the row is a positional argument.
        required: Whether a positional argument must be given.
        panel: Title of the section of the help that lists the option.
    """

    kind: object
    text: str
    flags: str = ""
    default: object = None
    owners: tuple[str, ...] = ()
    metavar: str | None = None
    words: Callable[[], Iterable[str]] | None = None
    parser: Callable[[str], object] | None = None
    positional: bool = False
    required: bool = False
    panel: str = "Options"


Table = Mapping[str, Row]
"""Map from the parameters of a command to their table rows, in the order of the help."""


def option(
    kind: object,
    text: str,
    flags: str = "",
    *,
    default: object = None,
    owners: tuple[str, ...] = (),
    metavar: str | None = None,
    choices: Iterable[str] = (),
    parser: Callable[[str], object] | None = None,
) -> Row:
    """Return the table row of an option."""
    words = (lambda: choices) if choices else None
    return Row(kind, text, flags, default, owners, metavar, words, parser)


def argument(
    kind: object,
    text: str,
    *,
    required: bool = True,
    metavar: str | None = None,
    words: Callable[[], Iterable[str]] | None = None,
) -> Row:
    """Return the table row of a positional argument."""
    return Row(
        kind,
        text,
        metavar=metavar,
        words=words,
        positional=True,
        required=required,
        panel="Arguments",
    )


def written_of(given: Given) -> dict[str, Value]:
    """Return the parameters that have a value, either from the command line or by default."""
    return {name: value for name, value in given.items() if value not in (None, [], ())}


def chosen(given: Given, names: Iterable[str]) -> dict[str, Value]:
    """Return the values of the named parameters, except parameters that were not given."""
    return {name: given[name] for name in names if given.get(name) is not None}


def option_of(name: str) -> str:
    """Return the command-line option of a parameter: its name with dashes."""
    return "--" + name.replace("_", "-")


def flags_of(name: str, row: Row) -> list[str]:
    """Return the flag of an option and, for a boolean option, the flag that turns it off.

    Either can be "", if an option can only be turned on or only be turned off.
    """
    flags = row.flags or option_of(name)
    if row.kind is bool and not row.flags and row.default is None:
        flags = f"{flags}/--no-{flags[2:]}"
    return flags.split("/")


def options_of(table: Table) -> dict[str, str]:
    """Return the command-line option of each parameter.

    The options of a boolean parameter are also listed under "name=True" and "name=False".
    """
    options = {}
    for name, row in table.items():
        if not row.positional:
            flags = flags_of(name, row)
            options[name] = flags[0] or flags[-1]
            switched = zip((True, False), flags, strict=False)
            options |= {f"{name}={value}": flag for value, flag in switched if flag}
    return options
