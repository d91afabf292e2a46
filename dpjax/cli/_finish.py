"""The end of an audit: print the result, write files, and derive the exit code from the verdict."""

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dpjax.cli._options import say_written
from dpjax.cli._pipelines import Place, junit, sarif
from dpjax.cli._progress import terminal
from dpjax.cli._stop import STOPPED, forget_output, say
from dpjax.cli._table import Given, options_of
from dpjax.core.errors import neutral
from dpjax.core.wording import in_options

if TYPE_CHECKING:
    from dpjax.results import AuditResult

_COLORS = {
    "violated": "bold red",
    "not random": "bold red",
    "assumption refuted": "bold yellow",
    "doubtful": "bold yellow",
}
"""Terminal style of each verdict; verdicts that are not listed are shown in bold."""


class Files(NamedTuple):
    """Paths of the optional output files of a command; a path is None if no file is requested."""

    plot: Path | None = None
    report: Path | None = None
    junit: Path | None = None
    sarif: Path | None = None

    @classmethod
    def of(cls, given: Given) -> "Files":
        """Check that the requested files can be written, and return their paths.

        Raises:
            ValueError: If a requested file has an unknown suffix.
            OSError: If a requested file cannot be written.
        """
        files = cls(**{name: given.get(name) for name in cls._fields})
        if files.plot is not None:
            from dpjax.plotting import check_figure_path

            check_figure_path(files.plot)
        if files.report is not None:
            from dpjax.report import check_report_path

            check_report_path(files.report)
        for name, path in (("JUnit file", files.junit), ("SARIF file", files.sarif)):
            if path is not None:
                from dpjax.core.files import refuse_unwritable

                refuse_unwritable(name, path)
        return files


def finish(result: "AuditResult", as_json: bool, files: Files, place: Place | None = None) -> int:
    """Print the result, write the requested files, and return the exit code of the verdict.

    A failure to write a file is reported, but does not change the exit code.
    """
    from dpjax.core.files import write_whole
    from dpjax.results import NO_CLAIM, NOT_REFUTED, REFUTING, is_cut_short

    def show() -> None:
        if as_json:
            print(result.to_json(), flush=True)
        else:
            _print(said)

    ways: list[tuple[str | Path, Callable[[], object]]] = [("standard output", show)]
    if files.plot is not None:
        ways.append((files.plot, partial(result.plot, files.plot)))
    if files.report is not None:
        ways.append((files.report, partial(result.report, files.report)))
    said = _for_people(result)
    if files.junit is not None:
        ways.append((files.junit, lambda path=files.junit: write_whole({path: junit(said)})))
    if files.sarif is not None:
        ways.append((files.sarif, lambda path=files.sarif: write_whole({path: sarif(said, place)})))
    for target, write in ways:
        try:
            write()
        except Exception as error:
            say(f"error: {target} was not written: {type(error).__name__}: {error}")
            if write is show:
                forget_output()
        else:
            if isinstance(target, Path):
                say_written(target)
    if result.verdict in REFUTING:
        return 1
    # Audited code may raise KeyboardInterrupt without a signal, which must not look like a pass.
    stopped = STOPPED if result.settings.get("interrupted") else 2
    passed = stopped if is_cut_short(result.settings) else 0
    return {NOT_REFUTED: passed, NO_CLAIM: passed}.get(result.verdict, 2)


def _print(result: "AuditResult") -> None:
    """Print a result, with its verdict in color if the output is a terminal."""
    text, verdict = str(result), f"{result.verdict.upper()}:"
    console = terminal()
    if console is None or not console.is_terminal:
        print(text, flush=True)
        return
    from rich.text import Text

    # Color the words at the start of the second line, which state the verdict. The first line may
    # also contain these words.
    start = text.index("\n  ") + 3
    shown = Text(text)
    shown.stylize(_COLORS.get(result.verdict, "bold"), start, start + len(verdict))
    console.print(shown, soft_wrap=True, highlight=False)


def _for_people(result: "AuditResult") -> "AuditResult":
    """Replace the names of Python arguments in a result's sentences with command-line options.

    For example, `num_samples` becomes `--num-samples`.
    """
    from dpjax.cli._audit_options import TABLE

    options = options_of(TABLE)

    def said(text: str) -> str:
        return neutral(in_options(text, options))

    statement = dataclasses.replace(result.statement, sentence=said(result.sentence))
    notes, doubts = (tuple(map(said, texts)) for texts in (result.notes, result.doubts))
    return dataclasses.replace(result, statement=statement, notes=notes, doubts=doubts)
