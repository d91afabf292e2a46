"""Reference of the command line, generated from the option tables of the commands."""

import inspect
from importlib import import_module

from dpjax.cli._app import COMMANDS
from dpjax.cli._table import Row, flags_of


def commands() -> str:
    """Return a page with the description, examples and options of each command."""
    lines = ["# Command line\n", "`dpjax COMMAND --help` shows the same in a terminal.\n"]
    modules = {name: import_module(f"dpjax.cli._{name.replace('-', '_')}") for name in COMMANDS}
    lines += ["| command | description |", "|---|---|"]
    for name, module in modules.items():
        lines.append(f"| [`dpjax {name}`](#dpjax-{name}) | {_first(module.command)} |")
    for name, module in modules.items():
        said = inspect.cleandoc(module.command.__doc__ or "")
        examples = "\n".join(module.EXAMPLES)
        lines += [f"\n## dpjax {name}\n", said, f"\n```bash\n{examples}\n```\n"]
        rows = [(_written(key, row), _help(row)) for key, row in module.TABLE.items()]
        lines += ["| option | description |", "|---|---|"]
        lines += [f"| `{written}` | {text} |" for written, text in rows]
    return "\n".join([*lines, ""])


def _first(command: object) -> str:
    return (inspect.getdoc(command) or "").partition("\n")[0]


def _written(name: str, row: Row) -> str:
    """Return the flags of an option, or the name of an argument in capital letters."""
    if row.positional:
        return name.upper().replace("_", "-")
    return ", ".join(filter(None, flags_of(name, row)))


def _help(row: Row) -> str:
    """Return the help of an option as Markdown for a table cell."""
    text = row.text
    for sign in "|<*_":
        text = text.replace(sign, f"\\{sign}")
    return text.replace("[", "\\[")
