"""Options of a command as a table: typer reads its signature, and no function has as many."""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import typer
from typer.models import ArgumentInfo, OptionInfo

Value = Any
"""What typer makes of an option: of the kind in its row, or None where it was not written."""

Given = Mapping[str, Value]
"""Parameter of a command -> value."""


class Row(NamedTuple):
    """An option or an argument of a command.

    Attributes:
        kind: Its Python type, as in an annotation for typer.
        info: Of `typer.Option` or `typer.Argument`, with default and help.
        owners: What it is for, in the command's own names; for everything if empty.
    """

    kind: object
    info: OptionInfo | ArgumentInfo
    owners: tuple[str, ...] = ()


Table = Mapping[str, Row]
"""Parameter of a command -> its row, in the order of the help."""


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
    """The row of an option.

    Args:
        kind: Its Python type.
        text: Its help.
        *flags: How it is written; its name with dashes if not given.
        default: What it is where nothing was written.
        owners: What it is for.
        metavar: What stands for its value in the help.
        choices: What a shell offers for its value.
        parser: Makes the value of what was written.
    """
    info = typer.Option(
        default,
        *flags,
        help=help_text(text),
        # A flag has no value; without this, the help shows one.
        metavar="" if kind is bool else metavar,
        autocompletion=completing(choices) if choices else None,
        parser=parser,
    )
    return Row(kind, info, owners)


def argument(kind: object, text: str, **more: Value) -> Row:
    """The row of an argument; more are arguments of `typer.Argument`, such as its default."""
    return Row(kind, typer.Argument(help=help_text(text), **more))


def add_command(
    app: typer.Typer, name: str, command: Callable[..., None], table: Table, examples: Iterable[str]
) -> None:
    """Adds a command whose parameters are the rows of a table.

    Args:
        app: To which it is added.
        name: What people type.
        command: A function (**given) that gets a value for every row; its docstring is the help.
        table: Of its parameters.
        examples: Commands as people type them, for the end of its help.
    """
    # Where typer looks: the names and defaults, and their types.
    parameters = [
        inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=row.info)
        for n, row in table.items()
    ]
    vars(command)["__signature__"] = inspect.Signature(parameters)
    command.__annotations__ = {n: row.kind for n, row in table.items()}
    said = help_text(command.__doc__ or "")
    app.command(name, help=said, epilog=examples_text(examples))(command)


def help_text(text: str) -> str:
    """A text as typer shows it whole.

    Typer keeps the ends of lines within a paragraph, which then break at other places than the
    terminal's, and takes a word in brackets for markup.
    """
    paragraphs = (" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))
    return re.sub(r"\[(?=[a-zA-Z/@#])", r"\[", "\n\n".join(paragraphs))


def examples_text(examples: Iterable[str]) -> str:
    """The end of a command's help, one line an example."""
    return help_text("\n\n".join(["Examples:", *examples]))


def completing(names: Iterable[str]) -> Callable[[str], list[str]]:
    """What a shell offers for a value: those of some names that begin like it."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def written_of(given: Given) -> dict[str, Value]:
    """Parameter -> value, of those that were written on the command line or have a default."""
    return {name: value for name, value in given.items() if value not in (None, [], ())}


def chosen(given: Given, names: Iterable[str]) -> dict[str, Value]:
    """Those of some names that were written."""
    return {name: given[name] for name in names if given.get(name) is not None}


def option_of(name: str) -> str:
    """What people type for a parameter: its name with dashes."""
    return "--" + name.replace("_", "-")


def options_of(table: Table) -> dict[str, str]:
    """Parameter of a command -> how its option is written; of flags, also "name=True" -> that."""
    options = {}
    for name, row in table.items():
        if isinstance(row.info, OptionInfo):
            flags = (row.info.param_decls or [option_of(name)])[0].strip().split("/")
            options[name] = flags[0] or flags[-1]
            switched = zip((True, False), flags, strict=False)
            options |= {f"{name}={value}": flag for value, flag in switched if flag}
    return options


def listed(words: list[str]) -> str:
    """Words with commas between, and "and" before the last."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
