"""How an audit ends: its result is printed and written, and its verdict becomes the exit code."""

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpjax.cli._options import say_written
from dpjax.cli._stop import say
from dpjax.cli._table import options_of
from dpjax.core.errors import neutral
from dpjax.core.wording import in_options

if TYPE_CHECKING:
    from dpjax.results import AuditResult

_COLORS = {
    "violated": "bold red",
    "assumption refuted": "bold yellow",
    "doubtful": "bold yellow",
}
"""Verdict -> style of its word on a terminal; others are bold."""


def check_places(plot: Path | None, report: Path | None) -> None:
    """Refuses files that cannot be written, before anything is drawn."""
    if plot is not None:
        from dpjax.plotting import check_figure_path

        check_figure_path(plot)
    if report is not None:
        from dpjax.report import check_report_path

        check_report_path(report)


def finish(result: "AuditResult", as_json: bool, plot: Path | None, report: Path | None) -> int:
    """Prints the result and writes figure and report, and returns the verdict's exit code.

    What cannot be written is said: the verdict is known by then, and must not be lost to a folder,
    nor changed by it.
    """
    from dpjax.results import NO_CLAIM, NOT_REFUTED, VIOLATED

    def show() -> None:
        if as_json:
            print(result.to_json(), flush=True)
        else:
            _print(_for_people(result))

    ways: list[tuple[str | Path, Callable[[], object]]] = [("standard output", show)]
    if plot is not None:
        ways.append((plot, partial(result.plot, plot)))
    if report is not None:
        ways.append((report, partial(result.report, report)))
    for place, write in ways:
        try:
            write()
        except Exception as error:
            say(f"error: {place} was not written: {type(error).__name__}: {error}")
        else:
            if isinstance(place, Path):
                say_written(place)
    return {VIOLATED: 1, NOT_REFUTED: 0, NO_CLAIM: 0}.get(result.verdict, 2)


def _print(result: "AuditResult") -> None:
    """Prints a result; a terminal shows its verdict in color."""
    from rich.console import Console
    from rich.text import Text

    text, verdict = str(result), f"{result.verdict.upper()}:"
    console = Console(highlight=False)
    if not console.is_terminal:
        print(text, flush=True)
        return
    # The verdict begins the second line; the first may hold any name.
    start = text.index("\n  ") + 3
    shown = Text(text)
    shown.stylize(_COLORS.get(result.verdict, "bold"), start, start + len(verdict))
    console.print(shown, soft_wrap=True)


def _for_people(result: "AuditResult") -> "AuditResult":
    """The result, whose sentences speak of the options of `dpjax audit`."""
    from dpjax.cli._audit_options import TABLE

    options = options_of(TABLE)
    sentence, *notes = (
        neutral(in_options(text, options)) for text in (result.sentence, *result.notes)
    )
    statement = dataclasses.replace(result.statement, sentence=sentence)
    return dataclasses.replace(result, statement=statement, notes=tuple(notes))
