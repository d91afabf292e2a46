"""`dpjax audit`: a built-in mechanism, a function, a program, or files of outputs."""

import dataclasses
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import typer

from dpjax.cli._audit_options import TABLE, source_of
from dpjax.cli._notion import claim_of, notion_of
from dpjax.cli._options import say_written
from dpjax.cli._progress import progress_bar
from dpjax.cli._stop import say
from dpjax.cli._subject import subject_and_pairs
from dpjax.cli._table import add_command
from dpjax.cli._wording import in_options, options_of

EXAMPLES = (
    "dpjax audit laplace --epsilon 1 --claim 1 --report audit.html",
    "dpjax audit --function release.py:release --pairs '[[0, 1]]' --claim 1",
    "dpjax audit --host release.py:mean_age --pairs pairs.json --time-limit 60",
    "dpjax audit --command 'python noise.py {database} {num_samples}' --pairs '[[0, 1]]'",
    "dpjax audit --samples x.csv.gz y.csv.gz --claim 0.5 --json",
    "ssh host cat y.csv | dpjax audit --samples x.csv -",
    "dpjax audit gaussian --notion gdp --claim 1",
    "dpjax audit truncated-laplace --param scale=2 --method histogram --lipschitz 0.64",
)
_TERMS = ("confidence", "num_claims", "distance", "key")


def register(app: typer.Typer) -> None:
    """Adds the command."""
    add_command(app, "audit", audit, TABLE, *EXAMPLES)


def audit(**given: Any) -> None:
    """Audits a mechanism: a confidence bound on its level of privacy, with a witness.

    Exits with 0 if the claim is not refuted or none was given, 1 if it is violated, 2 on bad input
    (an assumption that the counts refute among it), 3 on an error of dpjax itself, 130 or 143 where
    a signal stopped it. A file that cannot be written afterwards changes no exit code.
    """
    written = {name: value for name, value in given.items() if value not in (None, [], ())}
    source = source_of(written)
    plot, report = written.get("plot"), written.get("report")
    check_places(plot, report)
    with progress_bar(quiet=given["quiet"], announce=partial(_announced, source, written)) as show:
        result = _audited(source, written, show)
    finish(result, written["as_json"], plot, report)


def shown_by(show: Any) -> Any:
    """The usual layout, whose progress is shown."""
    from dpjax.core.execution import default_execution

    return dataclasses.replace(default_execution(), progress=show)


def _announced(source: str, written: dict[str, Any], total: int, seconds: str) -> str:
    """What is said before long work: how much it is, and what would shorten it."""
    if source not in ("host", "command"):
        return f"{total:,} outputs take about {seconds} in all."
    subject, size = written["subject"], written["subject"].batch_size
    calls = -(-total // size) if subject.batched else total
    said = f"{total:,} outputs by {calls:,} calls of {subject.name} take about {seconds} in all"
    if subject.time_limit is not None:
        return f"{said}, within --time-limit {subject.time_limit:g}."
    return f"{said}; --time-limit 60 would draw as many as fit into a minute."


def _audited(source: str, written: dict[str, Any], show: Any) -> Any:
    """The result of the audit that was asked for."""
    from dpjax.core import validate
    from dpjax.core.errors import signals_wait

    with signals_wait():
        from dpjax.audit import audit as run
        from dpjax.methods import METHODS
        from dpjax.sources import AnyPairs

    method: Any = METHODS[written["method"]]
    options = _chosen(written, (field.name for field in dataclasses.fields(method)))
    if "input_width" in written:
        validate.positive(input_width=written["input_width"])
        options["input_interval"] = (0.0, written["input_width"])
    notion, claim = notion_of(written), claim_of(written)
    chosen = method(**options)
    with ExitStack() as stack:
        subject, pairs = subject_and_pairs(source, written, stack)
        written["subject"] = subject
        if pairs is not None:
            AnyPairs.of(pairs).refuse_equal()
        terms = {**_chosen(written, _TERMS), "execution": shown_by(show)}
        return run(subject, pairs, method=chosen, notion=notion, claim=claim, **terms)


def _chosen(written: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: written[name] for name in names if name in written}


def _for_people(result: Any) -> Any:
    """The result, with sentences that name the options of this command."""
    options = options_of(TABLE)
    sentence, *notes = (in_options(text, options) for text in (result.sentence, *result.notes))
    statement = dataclasses.replace(result.statement, sentence=sentence)
    return dataclasses.replace(result, statement=statement, notes=tuple(notes))


def check_places(plot: Path | None, report: Path | None) -> None:
    """Refuses files that cannot be written, before anything is drawn."""
    if plot is not None:
        from dpjax.plotting import check_figure_path

        check_figure_path(plot)
    if report is not None:
        from dpjax.report import check_report_path

        check_report_path(report)


def finish(result: Any, as_json: bool, plot: Path | None, report: Path | None) -> None:
    """Prints the result and writes figure and report, and exits with the verdict's code.

    What cannot be written is said: the verdict is known by then, and must not be lost to a folder,
    nor changed by it.
    """
    from dpjax.results import ASSUMPTION_REFUTED, VIOLATED

    def show() -> None:
        print(result.to_json() if as_json else _for_people(result), flush=True)

    ways: list[tuple[str | Path, Callable[[], Any]]] = [("standard output", show)]
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
    raise typer.Exit({VIOLATED: 1, ASSUMPTION_REFUTED: 2}.get(result.verdict, 0))
