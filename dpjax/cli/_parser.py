"""The commands of the command line, which click parses, from the tables of their options."""

from collections.abc import Callable, Iterable
from inspect import cleandoc
from pathlib import Path
from typing import Any, get_args, get_origin

import click

from dpjax.cli._table import Row, Table, flags_of

_HYPHEN = "\N{NON-BREAKING HYPHEN}"


class _Formatter(click.HelpFormatter):
    """A formatter that writes non-breaking hyphens as hyphens, so that no option is broken."""

    def write(self, string: str) -> None:
        super().write(string.replace(_HYPHEN, "-"))


class _Context(click.Context):
    formatter_class = _Formatter


class _WithExamples(click.Command):
    """A command whose help ends with examples, one per line."""

    context_class = _Context
    examples: tuple[str, ...] = ()

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(_unbroken(self.help or ""))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")


class Command(_WithExamples):
    """A command whose help lists the arguments, and the options in sections with titles.

    Args:
        name: Name of the command.
        run: Function that takes the values of the parameters by name. Its docstring is the help.
        table: Table rows of the parameters, by name.
        examples: Example commands for the help.
    """

    def __init__(
        self, name: str, run: Callable[..., None], table: Table, examples: tuple[str, ...]
    ):
        super().__init__(
            name,
            callback=run,
            params=[_parameter(each, row) for each, row in table.items()],
            help=cleandoc(run.__doc__ or ""),
        )
        self.table, self.examples = table, examples

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of a command; refuse options with two values that are given twice.

        Such an option names two files or two ends of a range. click would drop all but the last two
        values without a word.

        Raises:
            ValueError: If an option with two values is given several times.
        """
        if not ctx.resilient_parsing:  # Words that the shell completes may be incomplete.
            *_, order = self.make_parser(ctx).parse_args(args=list(args))
            for parameter in dict.fromkeys(order):
                is_pair = isinstance(parameter, click.Option) and parameter.nargs > 1
                if is_pair and (times := order.count(parameter)) > 1:
                    raise ValueError(
                        f"{parameter.opts[-1]} must be given once, but was given {times} times: "
                        "run one command for each."
                    )
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write one section for each title, in the order of the table."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            row = self.table.get(parameter.name or "")
            if row is not None and row.positional:
                record = row.metavar or parameter.human_readable_name, row.text
            else:
                record = parameter.get_help_record(ctx) or ("", "")
            said = record[0].removeprefix(" / "), _unbroken(record[1])
            sections.setdefault(row.panel if row else "Options", []).append(said)
        for title, records in sections.items():
            with formatter.section(title):
                formatter.write_dl(records)


class Commands(_WithExamples, click.Group):
    """A group whose help shows the commands in their order, with complete first sentences."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order in which they were added."""
        return list(self.commands)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the name and the first sentence of each command."""
        with formatter.section("Commands"):
            firsts = {
                name: (each.help or "").split("\n")[0] for name, each in self.commands.items()
            }
            formatter.write_dl([(name, _unbroken(first)) for name, first in firsts.items()])


def _unbroken(text: str) -> str:
    """Return a text whose lines are not broken at hyphens."""
    return text.replace("-", _HYPHEN)


def _parameter(name: str, row: Row) -> click.Parameter:
    """Return click's parameter for a table row."""
    many = get_origin(row.kind) is list
    shared: dict[str, Any] = {"type": _type(row), "metavar": row.metavar}
    if row.default is not None:
        shared["default"] = row.default
    if many:
        shared["callback"] = _as_list
    if row.words is not None:
        shared["shell_complete"] = _completion(row.words)
    if row.positional:
        if row.metavar and not row.required:
            shared["metavar"] = f"[{row.metavar}]"
        return click.Argument([name], required=row.required, nargs=-1 if many else 1, **shared)
    if row.kind is bool:
        on, *off = flags_of(name, row)
        # click reads " /--flag", with a space, as a flag that turns something off.
        flags = "/".join([on or " ", *off])
        return click.Option([name, flags], is_flag=True, default=row.default, help=row.text)
    default = "" if row.default is None else f" Default: {row.default}."
    return click.Option(
        [name, *flags_of(name, row)],
        help=f"{row.text}{default}",
        multiple=many,
        nargs=1 if many else len(get_args(row.kind)) or 1,
        **shared,
    )


def _type(row: Row) -> Any:
    """Return click's type of one value of a table row."""
    kind = (get_args(row.kind) or (row.kind,))[0]
    return row.parser or (click.Path(path_type=Path) if kind is Path else kind)


def _as_list(ctx: click.Context, parameter: click.Parameter, value: Any) -> list[Any]:
    return list(value or ())


def _completion(words: Callable[[], Iterable[str]]) -> Callable[..., list[str]]:
    return lambda ctx, parameter, start: [word for word in words() if word.startswith(start)]
