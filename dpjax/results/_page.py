"""The report page of an audit, for every method and source."""

from shlex import quote

from dpjax.core.errors import neutral
from dpjax.core.types import JsonObject
from dpjax.inference import blind_spot
from dpjax.notions import Epsilon, Gdp, Part, Renyi, TotalVariation, Zcdp
from dpjax.partitions import EVERYWHERE
from dpjax.plotting import figure_svg
from dpjax.report import Figure, Page, Section, Table, Verdict, result_text, written
from dpjax.results._advice import advice
from dpjax.results._meaning import meaning
from dpjax.results._panels import Panel, panels, panels_of_every_notion
from dpjax.results._shortcuts import Parts
from dpjax.results._words import (
    claimed,
    headline,
    pretty,
    shown_rows,
    unit_of,
    witness_story,
)
from dpjax.results.recipes import has_inputs

NOT_TESTED = (
    "Databases other than the pairs on this page.",
    "Outputs outside the region.",
    "Side channels: running time, memory, errors that were not recorded as outputs.",
)
"""Cases that no audit tests, for the section "What was not tested" of a page."""


def page_of(result: Parts, content: JsonObject, name: str, *, drawn: bool) -> Page:
    """Build the page of a result."""
    return Page(
        title=f"Audit of {result.mechanism}",
        verdict=Verdict(result.verdict, headline(result), result.sentence),
        sections=(
            *([Section("Why it is doubtful", result.doubts)] if result.doubts else ()),
            *([Section("What this means", tuple(means))] if (means := meaning(result)) else ()),
            _shown(result, drawn),
            Section("What to do now", items=tuple(advice(result))),
            *_evidence(result, drawn),
            Section("What was claimed", tuple(claimed(result)), table=_subject(result)),
            _not_tested(result),
            *_pairs(result),
            _again(result, name),
        ),
        footer=written(result.versions.get("dpjax", "")),
        result=content,
    )


def _subject(result: Parts) -> Table:
    values = {"Audited": result.mechanism, **result.parameters}
    return Table([(name, pretty(value)) for name, value in values.items()], numbers=False)


def _shown(result: Parts, drawn: bool) -> Section:
    """Return the section that shows the figures, and the numbers with their units."""
    unit, sentence = unit_of(result)
    figures = _drawn(panels(result), f"Audit of {result.mechanism}") if drawn else ()
    table = Table(_numbers(result, unit), ("Number", "Value", "Unit"), units=True)
    return Section("What was shown", (sentence,), figures, table, result.notes)


def _numbers(result: Parts, unit: str) -> list[tuple[str, ...]]:
    stated, witness, trials = result.statement, result.witness, result.evidence.trials
    levels = shown_rows(result, result.evidence.counted.table(stated, result.sure))
    if isinstance(result.claim, int | float):
        levels.insert(1, ("Claim", f"{result.claim:g}"))
    rows = [(name, text, unit) for name, text in levels]
    if (down := result.refuted_at) is not None:
        rows.append(("Smallest error at which the claim is refuted", down, "probability"))
    if witness is not None and witness.event_counts is not None:
        sides = ("database", "neighbor")
        for side, count, number in zip(sides, witness.event_counts, trials, strict=True):
            rows.append((f"Event at the {side}", f"{count:,} of {number:,}", _unit(result)))
    if result.num_samples is not None:
        rows.append(("Search set", f"{result.num_samples:,}", "draws per side"))
    return [*rows, ("Time", f"{result.seconds:.1f}", "seconds")]


def _unit(result: Parts) -> str:
    """Return the unit of counts in the event."""
    # A sequential audit chooses and counts the displayed event with the same draws.
    return "fresh draws" if result.evidence.counted.planned else "draws"


def _evidence(result: Parts, drawn: bool) -> list[Section]:
    """Return the sections on the evidence, on the witness and on all notions."""
    counted, witness = result.evidence.counted, result.witness
    found = [_section(part) for part in counted.parts()]
    if witness is not None:
        found.append(Section("The witness", tuple(witness_story(result, witness))))
    if witness is not None and witness.event_counts is not None:
        (first, second), trials = witness.event_counts, result.evidence.trials
        counts = (
            f"{witness.event}: {first} of {trials[0]} {_unit(result)} from the database, "
            f"{second} of {trials[1]} from the neighbor"
        )
        event = Table([("Event, with all digits", counts)], numbers=False)
        found[-1] = found[-1]._replace(table=event)
    if answers := _answers(result):
        every = (
            "Lower bounds from the same counts. All of these bounds hold simultaneously, with the "
            "confidence of this audit."
        )
        shown = _drawn(panels_of_every_notion(result), "Every notion") if drawn else ()
        table = Table([*answers], ("Level", "Lower bound", "Unit"), units=True)
        found.append(Section("Every notion", (every,), shown, table))
    return found


def _pairs(result: Parts) -> list[Section]:
    """Return a section that ranks the pairs by score, or [] if there was no search."""
    if result.evidence.num_confirm is None:
        return []
    said = (
        "The search chose the first pair in this table. The score of this pair is the highest of "
        "many scores, and therefore too high to serve as an estimate."
    )
    scores = [(label, "infinite" if score is None else f"{score:.4f}")
              for label, score in result.pair_scores]  # fmt: skip
    ranked = Table(scores, ("Pair", result.evidence.counted.scored))
    title = "Pairs, by their score in the search"
    return [Section(title, (said,), table=ranked, folded=True)]


def _section(part: Part) -> Section:
    table = Table([*part.rows], part.head, numbers=part.numbers)
    return Section(part.title, (part.text,) if part.text else (), table=table)


def _not_tested(result: Parts) -> Section:
    region, seen = result.evidence.region, result.num_samples
    limits = () if seen is None else (blind_spot(seen),)
    outside = NOT_TESTED[1:2] if region not in (None, EVERYWHERE) else ()
    pairs = () if result.witness is None and not result.pair_scores else NOT_TESTED[:1]
    return Section("What was not tested", limits, items=(*pairs, *outside, NOT_TESTED[2]))


def _answers(result: Parts) -> list[tuple[str, ...]]:
    """Return a row for each notion whose level is a number; [] if no nested events were counted."""
    band = result.evidence.counted.simultaneous(result.statement.own_confidence)
    if band is None:
        return []
    distance = result.recipe["distance"]
    asked = [Epsilon(), Epsilon(1e-5), Gdp(), Zcdp(), TotalVariation()]
    asked += [] if distance > 1 else [Renyi(2), Renyi(8)]
    return [(n.symbol, f"at least {n.of_band(band, distance):.4f}", n.unit[0]) for n in asked]


def _again(result: Parts, name: str) -> Section:
    """Return the section that explains how to repeat the audit."""
    origin, draws = result.provenance, result.evidence.draws()
    took = ", ".join(f"{what} {number}" for what, number in origin.versions.items())
    drawn = "" if draws is None else f"Draws: {draws}; region {result.evidence.region}; "
    drawn += f"{origin.seconds:.1f} s on {_device(origin.device)}. {took}."
    subject, codes = result.recipe.get("subject"), []
    said = (
        "The audited object cannot be imported by name. Call "
        "dpjax.rerun(dpjax.AuditResult.from_file(path), subject) with this object as subject."
    )
    if result.recipe.get("pairs", {}) is None and not has_inputs(result.recipe):
        arguments = "pairs=pairs" if subject is not None else "subject, pairs"
        said = (
            "The recipe does not contain the pairs. Call "
            f"dpjax.rerun(dpjax.AuditResult.from_file(path), {arguments}) with the pairs of this "
            "audit."
        )
    elif subject is not None:
        command = f"dpjax rerun {quote(name)}{_allowance(subject)}"
        codes = [("The command that repeats the audit, with the same bound", neutral(command))]
        said = "The key in the recipe reproduces the same draws."
        if subject["kind"] in ("samples", "one_run"):
            said = "A rerun reads the recorded files again. Run the command in the same folder."
        elif origin.device == "host":
            said += " If the audited code takes no seed, the bound differs from run to run."
    settings = result_text({"recipe": result.recipe, **result.settings})
    return Section(
        "How to do it again", (drawn, said), codes=(*codes, ("The recipe", settings)), folded=True
    )


def _device(name: str) -> str:
    """Return a device's name; omit its kind if the kind repeats the platform, as in "cpu: cpu"."""
    platform, _, kind = name.partition(": ")
    return platform if kind == platform else name


def _allowance(subject: JsonObject) -> str:
    """Return the option that permits `dpjax rerun` to run the code that a recipe names."""
    if subject["kind"] == "command":
        return " --allow-command"
    module, colon, _ = str(subject.get("name", "")).partition(":")
    return f" --allow-import {quote(module)}" if colon else ""


def _drawn(shown: list[Panel], title: str) -> tuple[Figure, ...]:
    return tuple(
        Figure(one.caption, figure_svg(one.figure, one.name, title, one.caption)) for one in shown
    )
