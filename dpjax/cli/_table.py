"""Options of a command as a table: typer reads its signature, and no function has as many."""

import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

import typer

from dpjax.cli._stop import ending_well


class Row(NamedTuple):
    """An option or an argument of a command.

    Attributes:
        kind: Its Python type, as in an annotation for typer.
        info: Of `typer.Option` or `typer.Argument`, with default and help.
        owners: What it is for, in the command's own names; for everything if empty.
    """

    kind: Any
    info: Any
    owners: tuple[str, ...] = ()


Table = Mapping[str, Row]
"""Parameter of a command -> its row, in the order of the help."""


def option(
    kind: Any,
    text: str,
    *flags: str,
    default: Any = None,
    owners: tuple[str, ...] = (),
    **more: Any,
) -> Row:
    """The row of an option.

    Args:
        kind: Its Python type.
        text: Its help.
        *flags: How it is written; its name with dashes if not given.
        default: What it is where nothing was written.
        owners: What it is for.
        **more: Arguments of `typer.Option`.
    """
    return Row(kind, typer.Option(default, *flags, help=text, **more), owners)


def add_command(app: typer.Typer, name: str, run: Any, table: Table, *examples: str) -> None:
    """Adds a command whose parameters are the rows of a table.

    Args:
        app: To which it is added.
        name: What people type.
        run: A function (**given) that gets a value for every row; its docstring is the help.
        table: Of its parameters.
        *examples: Commands as people type them, for the end of its help.
    """
    run, keyword = ending_well(run), inspect.Parameter.KEYWORD_ONLY
    # Where typer looks: the names and defaults, and their types.
    run.__signature__ = inspect.Signature(
        [inspect.Parameter(n, keyword, default=row.info) for n, row in table.items()]
    )
    run.__annotations__ = {n: row.kind for n, row in table.items()}
    app.command(name, epilog=examples_text(*examples))(run)


def examples_text(*examples: str) -> str:
    """The end of a command's help, one line an example."""
    return "\n\n".join(["Examples:", *examples])


def completing(*names: str) -> Any:
    """What a shell offers for a value: those of some names that begin like it."""
    return lambda incomplete: [name for name in names if name.startswith(incomplete)]


def option_of(name: str) -> str:
    """What people type for a parameter: its name with dashes."""
    return "--" + name.replace("_", "-")


def listed(words: list[str]) -> str:
    """Words with commas between, and "and" before the last."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))
