"""The report of an audit, by any method of any source."""

import datetime
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Any

from dpjax.core.errors import neutral
from dpjax.core.files import write_whole
from dpjax.inference import blind_spot, searched_text
from dpjax.notions import Epsilon, Evidence, Gdp, Renyi, TotalVariation, Zcdp, evidence_from_plain
from dpjax.partitions import EVERYWHERE
from dpjax.plotting import (
    as_plain,
    figure_svg,
    has_chain,
    plot_audit,
    plot_levels,
    plot_notions,
)
from dpjax.report._files import check_report_path, render
from dpjax.report._page import Figure, Page, Section, Table, Verdict, result_text
from dpjax.report._words import HEADLINES, claimed, levels, picture, pretty, witness_story

NOT_TESTED = (
    "Databases other than the pairs listed above.",
    "Outputs outside the region.",
    "Side channels: running time, memory, errors that were not recorded as outputs.",
)
"""What no reader should take the report to say; rare events are in `blind_spot`."""


def render_report(result: Any, kind: str = ".html", name: str = "report.html") -> str:
    """The text of a report.

    Args:
        result: A `dpjax.AuditResult`, or its `to_dict()`, such as a JSON file holds.
        kind: ".html" (self-contained, with figures and the result itself) or ".md".
        name: Of the file, for the command that runs the audit again.

    Returns:
        The file's content.

    Raises:
        ModuleNotFoundError: jinja2 or matplotlib is missing; the message says how to get them.
    """
    found = as_plain(result)
    histogram = found["assumption"] is not None
    drawn = _figures(found) if kind == ".html" else ()
    middle = _of_histogram(found, drawn) if histogram else _of_event(found, drawn)
    return render(
        Page(
            title=f"Audit of {found['mechanism']}",
            verdict=Verdict(found["verdict"], HEADLINES[found["verdict"]], found["sentence"]),
            sections=(
                Section("What was claimed", tuple(claimed(found)), table=_subject(found)),
                *middle,
                _not_tested(found),
                _again(found, name if kind == ".html" else "audit.json"),
            ),
            footer=f"Written on {datetime.date.today().isoformat()} by dpjax "
            f"{found['versions'].get('dpjax', '')}.",
            result=dict(found),
        ),
        kind,
    )


def write_report(result: Any, path: str | Path) -> Path:
    """Writes a report; the file appears only once it is complete.

    Args:
        result: As in `render_report`.
        path: Name that ends in .html or .md.

    Returns:
        The path.

    Raises:
        ValueError, OSError, ModuleNotFoundError: As `check_report_path` and `render_report`.
    """
    path = check_report_path(path)
    write_whole({path: render_report(result, path.suffix.lower(), path.name)})
    return path


def _subject(found: Mapping[str, Any]) -> Table:
    values = {"Audited": found["mechanism"], **found["parameters"]}
    return Table([(name, pretty(value)) for name, value in values.items()], numbers=False)


def _of_event(found: Mapping[str, Any], drawn: tuple[Figure, ...]) -> tuple[Section, ...]:
    """Sections on a lower bound and its witness."""
    witness = found["witness"]
    trials = found["settings"].get("confirmed", [found["num_confirm"]] * 2)
    sure = f"{found['basis']}, confidence {found['confidence']:g}"
    rows = [
        (f"Lower bound ({sure})", f"{found['lower_bound']:.4f}"),
        ("Estimate at the witness", _number(found["estimate"])),
    ]
    if found["verdict"] == "violated" and found["smallest_error"] is not None:
        refuted = "The claim is refuted at every error probability down to"
        rows.append((refuted, f"{found['smallest_error']:.2g}"))
    first, second = witness["event_counts"]
    counted = (
        f"{witness['event']}: {first} of {trials[0]} fresh draws at the database, {second} of "
        f"{trials[1]} at the neighbor"
    )
    events = found["recipe"]["method"]["name"] == "events"
    ranked = Table(
        [(label, _number(value)) for label, value in found["pair_scores"]],
        ("Pair", "Expected bound" if events else "Score in the search"),
    )
    answers = Table([(name, f"at least {value:.4f}") for name, value in _answers(found)])
    every = "Lower bounds from the same counts, all with the confidence of this audit together."
    pairs = (
        "The search chose the first of them. What it expected of the best of many pairs is too "
        "high to be an estimate."
    )
    return (
        Section("What was shown", (), drawn[:1], Table(rows), tuple(found["notes"])),
        Section(
            "The witness",
            tuple(witness_story(found, trials)),
            table=Table([("Event, with all digits", counted)], numbers=False),
        ),
        *([Section("Every notion", (every,), drawn[1:], answers)] if answers.rows else []),
        Section("Pairs, by what the search expected", (pairs,), table=ranked),
    )


def _of_histogram(found: Mapping[str, Any], drawn: tuple[Figure, ...]) -> tuple[Section, ...]:
    """Sections on an interval and the assumption that it rests on."""
    assumed, failed = found["assumption"], found["estimate"] is None
    plan, p_value = assumed["plan"], assumed["p_value"]
    rows = [
        (
            f"{found['level']}, estimate",
            "none: the run failed" if failed else _number(found["estimate"]),
        )
    ]
    if not failed:
        ends = f"{found['lower_bound']:.4f} to {found['upper_bound']:.4f}"
        rows.append((f"Interval, confidence {pretty(found['confidence'])}", ends))
    rows.append(("Precision", pretty(plan["precision"])))
    check = "none: it needs an assumption on densities, and more draws"
    if p_value is not None:
        says = "the counts contradict it" if p_value <= 0.05 else "the counts do not contradict it"
        check = f"p = {p_value:.3g}, {says}"
    worth = f"Assumed: {assumed['text']}. The interval is worth as much as this assumption."
    witness = found["witness"]
    best = [] if failed else [
        ("Told apart best", f"{pretty(witness['database'])} and {pretty(witness['neighbor'])}")
    ]  # fmt: skip
    counts = {
        "Inputs": plan["num_inputs"],
        "Pairs compared": assumed["num_pairs"],
        "Pairs that failed (an output or interval without a draw)": assumed["num_failed"],
        "Draws at each input": plan["num_samples"],
        "Outputs or intervals counted": plan["num_intervals"],
    }
    checks = [("Safety check of the assumption", check), ("Union bound", plan["bound"])]
    inputs = [*best, *((name, pretty(value)) for name, value in counts.items())]
    return (
        Section("What was shown", (), drawn, Table(rows), tuple(found["notes"])),
        Section("What it rests on", (worth,), table=Table(checks, numbers=False)),
        Section("Inputs", table=Table(inputs)),
    )


def _not_tested(found: Mapping[str, Any]) -> Section:
    everywhere = found["region"] == EVERYWHERE or found["assumption"] is not None
    lines = [NOT_TESTED[0], *([] if everywhere else NOT_TESTED[1:2]), NOT_TESTED[2]]
    return Section("What was not tested", (blind_spot(found["num_samples"]),), items=tuple(lines))


def _answers(found: Mapping[str, Any]) -> list[tuple[str, float]]:
    """What the counts of a chain say of every notion that is a number; none of one event."""
    if not has_chain(found):
        return []
    evidence = evidence_from_plain(found["evidence"])
    own = evidence.confidence(1 - (1 - found["confidence"]) / found["num_claims"])
    chain, distance = Evidence(chain=evidence.chain), found["recipe"]["distance"]
    asked = [Epsilon(), Epsilon(1e-5), Gdp(), Zcdp(), TotalVariation()]
    asked += [] if distance > 1 else [Renyi(2), Renyi(8)]
    return [(n.symbol, n.state(chain, own, distance=distance).lower_bound) for n in asked]


def _again(found: Mapping[str, Any], name: str) -> Section:
    """How to repeat the audit: what was drawn, the command and the recipe."""
    took = ", ".join(f"{what} {number}" for what, number in found["versions"].items())
    drawn = f"{found['seconds']:.1f} s on {found['device']}. {took}."
    if found["assumption"] is None:
        drawn = (
            f"Draws: {searched_text(found)}, {found['num_confirm']} fresh ones a side to confirm; "
            f"region {found['region']}; {drawn}"
        )
    subject, codes = found["recipe"].get("subject"), []
    said = (
        "What was audited has no name by which it could be found again: call "
        "dpjax.rerun(dpjax.AuditResult.from_file(path), subject) with it."
    )
    if subject is not None:
        command = f"dpjax rerun {quote(name)}{_allowance(subject)}"
        codes = [("The command that runs it again, to the same bound", neutral(command))]
        said = "The same draws are made again, from the key in the recipe."
        if subject["kind"] == "samples":
            said = "The recorded files are read again, from the same folder."
        elif found["device"] == "host":
            said += " Where what is audited takes no seed, bounds differ within their confidence."
    settings = result_text({"recipe": found["recipe"], **found["settings"]})
    return Section("How to do it again", (drawn, said), codes=(*codes, ("The recipe", settings)))


def _allowance(subject: Mapping[str, Any]) -> str:
    """What a person must allow, since a file may not run code by itself."""
    if subject["kind"] == "command":
        return " --allow-command"
    module, colon, _ = str(subject.get("name", "")).partition(":")
    return f" --allow-import {quote(module)}" if colon else ""


def _number(value: float | None) -> str:
    return "infinite" if value is None else f"{value:.4f}"


def _figures(found: Mapping[str, Any]) -> tuple[Figure, ...]:
    """Of the outputs or the levels, and of every notion, as far as there are such."""
    if found["curve"] is None:
        said, figure = levels(found), plot_levels(found)
    else:
        said, figure = picture(found), plot_audit(found)
    first = Figure(said, figure_svg(figure, "outputs", f"Audit of {found['mechanism']}", said))
    if not has_chain(found):
        return (first,)
    said = (
        "What the counts show of every notion at once: of the privacy profile, of the errors of a "
        "test that tells the two databases apart, and of Renyi divergences."
    )
    every = figure_svg(plot_notions(found, stacked=True), "notions", "Every notion", said)
    return first, Figure(said, every)
