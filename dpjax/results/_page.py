"""The page of an audit, by any method of any source."""

import datetime
from shlex import quote

from dpjax.core.errors import neutral
from dpjax.core.types import JsonObject
from dpjax.inference import blind_spot
from dpjax.notions import Epsilon, Gdp, Part, Renyi, Rows, TotalVariation, Zcdp
from dpjax.partitions import EVERYWHERE
from dpjax.plotting import figure_svg
from dpjax.report import Figure, Page, Section, Table, Verdict, result_text
from dpjax.results._figures import has_trade_off, notions_figure, outputs_figure, trade_off_figure
from dpjax.results._meaning import meaning
from dpjax.results._parts import Parts
from dpjax.results._words import (
    HEADLINES,
    claimed,
    outputs_caption,
    pretty,
    shown_rows,
    trade_off_caption,
    unit_of,
    witness_story,
)

NOT_TESTED = (
    "Databases other than the pairs listed above.",
    "Outputs outside the region.",
    "Side channels: running time, memory, errors that were not recorded as outputs.",
)
"""Limits that every page names; `blind_spot` adds the one on rare events."""


def page_of(result: Parts, content: JsonObject, name: str, *, drawn: bool) -> Page:
    """The page of a result.

    Args:
        result: Result of an audit.
        content: The result as plain words and numbers, which the page holds.
        name: Name of the file with the result, for the command that runs the audit again.
        drawn: Whether the page has figures, which needs matplotlib.
    """
    return Page(
        title=f"Audit of {result.mechanism}",
        verdict=Verdict(result.verdict, HEADLINES[result.verdict], result.sentence),
        sections=(
            *([Section("Why it is doubtful", result.doubts)] if result.doubts else ()),
            *([Section("What this means", tuple(means))] if (means := meaning(result)) else ()),
            Section("What was claimed", tuple(claimed(result)), table=_subject(result)),
            *_shown(result, drawn),
            _not_tested(result),
            _again(result, name),
        ),
        footer=f"Written on {datetime.date.today().isoformat()} by dpjax "
        f"{result.provenance.versions.get('dpjax', '')}.",
        result=content,
    )


def _subject(result: Parts) -> Table:
    values = {"Audited": result.mechanism, **result.parameters}
    return Table([(name, pretty(value)) for name, value in values.items()], numbers=False)


def _shown(result: Parts, drawn: bool) -> list[Section]:
    """Sections on the level, the evidence and the witness, as far as there are such."""
    stated, counted, witness = result.statement, result.evidence.counted, result.witness
    figures = _figures(result) if drawn else ()
    rows = shown_rows(result, counted.table(stated, result.sure))
    if (down := result.refuted_at) is not None:
        rows.append(("The claim is refuted at every error probability down to", down))
    found = [Section("What was shown", unit_of(result), figures, Table([*rows]), result.notes)]
    found += [_section(part) for part in counted.parts()]
    if witness is not None:
        found.append(Section("The witness", tuple(witness_story(result, witness))))
    if witness is not None and witness.event_counts is not None:
        (first, second), trials = witness.event_counts, result.evidence.trials
        counts = (
            f"{witness.event}: {first} of {trials[0]} fresh draws at the database, {second} of "
            f"{trials[1]} at the neighbor"
        )
        event = Table([("Event, with all digits", counts)], numbers=False)
        found[-1] = found[-1]._replace(table=event)
    if answers := _answers(result):
        every = "Lower bounds from the same counts, all with the confidence of this audit together."
        shown = _every_notion(result) if drawn else ()
        found.append(Section("Every notion", (every,), shown, Table([*answers])))
    if result.evidence.num_confirm is not None:
        pairs = (
            "The search chose the first of them. What it expected of the best of many pairs is too "
            "high to be an estimate."
        )
        scores = [(label, "infinite" if score is None else f"{score:.4f}")
                  for label, score in result.pair_scores]  # fmt: skip
        ranked = Table(scores, ("Pair", counted.scored))
        found.append(Section("Pairs, by what the search expected", (pairs,), table=ranked))
    return found


def _section(part: Part) -> Section:
    table = Table([*part.rows], numbers=part.numbers)
    return Section(part.title, (part.text,) if part.text else (), table=table)


def _not_tested(result: Parts) -> Section:
    region, seen = result.evidence.region, result.num_samples
    limits = () if seen is None else (blind_spot(seen),)
    outside = NOT_TESTED[1:2] if region not in (None, EVERYWHERE) else ()
    pairs = () if result.witness is None and not result.pair_scores else NOT_TESTED[:1]
    return Section("What was not tested", limits, items=(*pairs, *outside, NOT_TESTED[2]))


def _answers(result: Parts) -> Rows:
    """Bounds of every notion that is a number; none from evidence of one question."""
    band = result.evidence.counted.simultaneous(result.statement.own_confidence)
    if band is None:
        return []
    distance = result.recipe["distance"]
    asked = [Epsilon(), Epsilon(1e-5), Gdp(), Zcdp(), TotalVariation()]
    asked += [] if distance > 1 else [Renyi(2), Renyi(8)]
    return [(n.symbol, f"at least {n.of_band(band, distance):.4f}") for n in asked]


def _again(result: Parts, name: str) -> Section:
    """How to repeat the audit: what was drawn, the command and the recipe."""
    origin, draws = result.provenance, result.evidence.draws()
    took = ", ".join(f"{what} {number}" for what, number in origin.versions.items())
    drawn = "" if draws is None else f"Draws: {draws}; region {result.evidence.region}; "
    drawn += f"{origin.seconds:.1f} s on {origin.device}. {took}."
    subject, codes = result.recipe.get("subject"), []
    said = (
        "What was audited has no name by which it could be found again: call "
        "dpjax.rerun(dpjax.AuditResult.from_file(path), subject) with it."
    )
    if subject is not None:
        command = f"dpjax rerun {quote(name)}{_allowance(subject)}"
        codes = [("The command that runs it again, to the same bound", neutral(command))]
        said = "The same draws are made again, from the key in the recipe."
        if subject["kind"] in ("samples", "one_run"):
            said = "The recorded files are read again, from the same folder."
        elif origin.device == "host":
            said += " Where what is audited takes no seed, bounds differ within their confidence."
    settings = result_text({"recipe": result.recipe, **result.settings})
    return Section("How to do it again", (drawn, said), codes=(*codes, ("The recipe", settings)))


def _allowance(subject: JsonObject) -> str:
    """What a person must allow, since a file may not run code by itself."""
    if subject["kind"] == "command":
        return " --allow-command"
    module, colon, _ = str(subject.get("name", "")).partition(":")
    return f" --allow-import {quote(module)}" if colon else ""


def _figures(result: Parts) -> tuple[Figure, ...]:
    """Figures of the trade-off, and of the outputs or the levels."""
    title, found = f"Audit of {result.mechanism}", []
    if has_trade_off(result):
        said = trade_off_caption(result)
        found.append(Figure(said, figure_svg(trade_off_figure(result), "tests", title, said)))
    said = outputs_caption(result)
    found.append(Figure(said, figure_svg(outputs_figure(result), "outputs", title, said)))
    return tuple(found)


def _every_notion(result: Parts) -> tuple[Figure, ...]:
    """The figure of every notion; none from evidence of one question."""
    every = notions_figure(result, stacked=True)
    if every is None:
        return ()
    said = (
        "What the counts show of every notion at once: of the privacy profile, of the errors of a "
        "test that tells the two databases apart, and of Renyi divergences."
    )
    return (Figure(said, figure_svg(every, "notions", "Every notion", said)),)
