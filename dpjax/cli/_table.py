"""Tables of command-line options, from which typer signatures are generated."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import typer
from typer.models import ArgumentInfo, OptionInfo

Value = Any
"""Value of an option, with the type that the option's row states; None if there is no value."""

Given = Mapping[str, Value]
"""Values of a command's parameters, by name."""


class Row(NamedTuple):
    """An option or an argument of a command.

    Attributes:
        kind: Python type of the option's value, as in a typer annotation.
        info: `typer.Option` or `typer.Argument`, with default and help.
        owners: Names of the sources, methods or notions to which the option applies. If `owners` is
            empty, the option applies to every source, method and notion.
    """

    kind: object
    info: OptionInfo | ArgumentInfo
    owners: tuple[str, ...] = ()


Table = Mapping[str, Row]
"""Map from the parameters of a command to their table rows, in the order of the help."""


def option(
    kind: object,
    text: str,
    *flags: str,
    default: object = None,
    owners: tuple[str, ...] = (),
    metavar: str | None = None,
    choices: Iterable[str] = (),
    parser: Callable[[str], object] | None = None,
) -> Row:
    """Return the table row of an option."""
    info = typer.Option(
        default,
        *flags,
        help=help_text(text),
        # A flag takes no value, so its help must not show a metavar.
        metavar="" if kind is bool else metavar,
        autocompletion=completing(choices) if choices else None,
        parser=parser,
    )
    return Row(kind, info, owners)


def argument(kind: object, text: str, **more: Value) -> Row:
    """Return the table row of a positional argument; `more` is passed to `typer.Argument`."""
    return Row(kind, typer.Argument(help=help_text(text), **more))


def add_command(
    app: typer.Typer, name: str, command: Callable[..., None], table: Table, examples: Iterable[str]
) -> None:
    """Add a command whose parameters are given by the rows of a table."""
    # typer reads names, defaults and types from the signature and the annotations.
    parameters = [
        inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=row.info)
        for n, row in table.items()
    ]
    vars(command)["__signature__"] = inspect.Signature(parameters)
    command.__annotations__ = {n: row.kind for n, row in table.items()}
    said = help_text(command.__doc__ or "")
    app.command(name, help=said, epilog=examples_text(examples))(command)


def help_text(text: str) -> str:
    """Prepare a help text so that typer shows it completely.

    typer keeps line breaks, which rarely match the terminal's width, so line breaks within a
    paragraph are removed. typer interprets words in brackets as markup, so brackets are escaped.
    """
    paragraphs = (" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))
    return re.sub(r"\[(?=[a-zA-Z/@#])", r"\[", "\n\n".join(paragraphs))


def examples_text(examples: Iterable[str]) -> str:
    """Return the last paragraph of a command's help, with one line per example."""
    return help_text("\n\n".join(["Examples:", *examples]))


def completing(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a function that maps a prefix to the matching names, for shell completion."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def written_of(given: Given) -> dict[str, Value]:
    """Return the parameters that have a value, either from the command line or by default."""
    return {name: value for name, value in given.items() if value not in (None, [], ())}


def chosen(given: Given, names: Iterable[str]) -> dict[str, Value]:
    """Return the values of the named parameters, except parameters that were not given."""
    return {name: given[name] for name in names if given.get(name) is not None}


def option_of(name: str) -> str:
    """Return the command-line option of a parameter: its name with dashes."""
    return "--" + name.replace("_", "-")


def options_of(table: Table) -> dict[str, str]:
    """Return the command-line option of each parameter.

    The options of a boolean parameter are also listed under "name=True" and "name=False".
    """
    options = {}
    for name, row in table.items():
        if isinstance(row.info, OptionInfo):
            flags = (row.info.param_decls or [option_of(name)])[0].strip().split("/")
            options[name] = flags[0] or flags[-1]
            switched = zip((True, False), flags, strict=False)
            options |= {f"{name}={value}": flag for value, flag in switched if flag}
    return options


def listed(words: list[str]) -> str:
    """Join words with commas, and with "and" before the last word."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
