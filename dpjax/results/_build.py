"""Results of audits, built from the findings of a method."""

from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from dpjax.core.errors import text_of
from dpjax.core.exact import is_exact
from dpjax.core.options import Dataclass
from dpjax.core.types import JsonObject
from dpjax.core.wording import Doubt, SameOutputs, Sentence, confidence_text, term
from dpjax.databases import records_apart
from dpjax.notions import Evidence, Statement, Terms, guesses_of
from dpjax.results._parts import (
    DOUBTFUL,
    NO_CLAIM,
    NOT_REFUTED,
    VIOLATED,
    Conclusion,
    Observed,
    Provenance,
    Witness,
    is_from_calls,
)
from dpjax.results._result import AuditResult
from dpjax.results._subjects import subject_to_plain
from dpjax.results._unvaried import refuse_failures, verdict_on_unvaried
from dpjax.results.provenance import device, seed_of, versions
from dpjax.results.recipes import (
    as_lists,
    exact_pairs,
    notion_to_plain,
    options_to_plain,
)
from dpjax.sources import AnyPairs, Source

_MOST_PAIRS = 10_000

_LONGEST = 2000
"""Largest length of a database as text, in characters, for which a result contains the pairs."""


class _Named(Dataclass, Protocol):
    """A method that a recipe can describe: a dataclass of options with a name."""

    name: ClassVar[str]


@dataclass(frozen=True)
class Finding:
    """A method's findings in a single run, from which a result is built.

    Attributes:
        statement: Statement with its verdict, made by `conclude`.
        evidence: Counts and numbers of draws.
        notes: Notes for readers of the result.
        witness: Pair for which the audit found the largest privacy loss, with its event or output;
            None if the method has no pairs.
        pairs: Pairs that were compared, or None if the method has no pairs.
    """

    statement: Conclusion
    evidence: Observed
    notes: list[str]
    witness: Witness | None = None
    pairs: AnyPairs | None = None


def build(
    finding: Finding, source: Source, method: _Named, terms: Terms, seconds: float
) -> AuditResult:
    """Build the result of an audit.

    Args:
        finding: The method's findings in the run.
        source: Audited source.
        method: Method of the audit.
        terms: Notion, claim, confidence, number of claims and key of the audit.
        seconds: Wall time of the audit.

    Raises:
        ValueError: If every call of the mechanism failed.
    """
    statement, notes = _settled(finding)
    if statement.lower_bound > 0:
        notes = [*notes, *_distance_notes(finding, terms.distance)]
    on_device = finding.evidence.settings.get("generator") == "threefry2x32"
    return AuditResult(
        statement=statement,
        witness=finding.witness,
        evidence=finding.evidence,
        recipe={
            "subject": subject_to_plain(source),
            "method": {"name": method.name, **options_to_plain(method)},
            "notion": notion_to_plain(terms.notion),
            "distance": terms.distance,
            # The value is {} if the method has no pairs, and None if JSON cannot represent the
            # pairs.
            "pairs": {}
            if finding.pairs is None
            else _plain_pairs(finding.pairs, source.stacks_pairs),
            "key": seed_of(terms.key),
        },
        provenance=Provenance(
            mechanism=source.name,
            parameters=source.parameters,
            versions=versions(),
            device=device() if on_device else "host",
            seconds=seconds,
        ),
        notes=tuple(note for note in notes if not isinstance(note, Doubt)),
        doubts=tuple(note for note in notes if isinstance(note, Doubt)),
    )


def _distance_notes(finding: Finding, distance: int) -> list[str]:
    """Return a note if the databases of the witness differ in more records than `distance`."""
    if finding.witness is None or finding.pairs is None:
        return []
    index = finding.pairs.labels.index(finding.witness.pair)
    number = records_apart(*(side[index] for side in finding.pairs.sides))
    if number is None or number <= distance:
        return []
    fewer = "one record" if distance == 1 else f"{distance} records"
    return [
        Sentence(
            f"The databases of the witness differ in {number:,} records. If the claim is about "
            f"databases that differ in {fewer}, it does not cover this pair: pass other pairs or "
            f"{term(f'distance={number}', f'--distance {number}')}."
        )
    ]


def verdict_of(finding: Finding) -> str:
    """Return the verdict of the result that `build` would build from a finding.

    Raises:
        ValueError: If every call of the mechanism failed.
    """
    return _settled(finding)[0].verdict


def _settled(finding: Finding) -> tuple[Conclusion, list[str]]:
    """Return the statement and the notes, after changing the verdict to fit the notes if needed."""
    refuse_failures(finding.notes)
    statement, notes = verdict_on_unvaried(
        finding.statement, finding.witness, finding.evidence.trials, finding.notes
    )
    if statement.lower_bound > 0:
        notes = [note for note in notes if not isinstance(note, SameOutputs)]
    notes = list(dict.fromkeys(notes))  # Notes on several pairs may have the same text.
    doubtful = any(isinstance(note, Doubt) for note in notes)
    return (_doubted(statement, finding.evidence) if doubtful else statement), notes


def _doubted(stated: Conclusion, observed: Observed) -> Conclusion:
    """Return a statement with the verdict "doubtful", because draws do not look independent."""
    required = "independent draws, and the outputs do not look independent"
    stated_by = term("independent=True", "--independent")
    if (made := guesses_of(observed.counted)) is not None:
        required = f"a separate fair coin for each {made.unit}, and perhaps there was none"
        known = f"each {made.unit} had its own coin"
        if made.unit == "canary":
            stated_by = term("fair_coins=True", "--fair-coins")
    else:
        known = "the outputs are independent"
    instead = f"If you know that {known}, pass {stated_by}."
    if is_from_calls(observed.settings):
        instead = (
            "Change the audited code so that every output has its own noise, and audit it again."
        )
    sentence = Sentence(f"There is no verdict: the bound requires {required}. {instead}")
    return replace(stated, verdict=DOUBTFUL, sentence=sentence)


def conclude(counted: Evidence, terms: Terms) -> Conclusion:
    """Return the statement that follows from the evidence, with a verdict on the claim.

    Args:
        counted: Evidence of the audit.
        terms: Notion, claim, confidence, number of claims and key of the audit.

    Raises:
        ValueError: If the evidence allows no bound on the level of the notion.
    """
    asked = terms.own_confidence, terms.num_claims, terms.claimed, terms.distance
    found = counted.state(terms.notion, *asked)
    return concluded(found, terms, terms.notion.symbol, judge(found, terms))


def concluded(found: Statement, terms: Terms, level: str, verdict: tuple[str, str]) -> Conclusion:
    """Add a verdict to a statement.

    Args:
        found: Statement that follows from the evidence.
        terms: Notion, claim, confidence, number of claims and key of the audit.
        level: Name of the bounded quantity, such as "epsilon".
        verdict: The verdict on the claim, and a sentence that states the verdict.
    """
    return Conclusion(
        **vars(found),
        level=level,
        claim=terms.plain_claim,
        confidence=float(terms.confidence),
        num_claims=terms.num_claims,
        verdict=verdict[0],
        sentence=verdict[1],
    )


def judge(found: Statement, terms: Terms) -> tuple[str, str]:
    """Return the verdict on a claim, and a sentence that states the verdict."""
    claim = terms.claimed
    sure = f"With confidence {confidence_text(terms.confidence)}"
    bound = f"{sure}, {terms.notion.symbol} is at least {found.lower_bound:.4f}"
    if found.crossing is not None:
        at, shown, claimed = found.crossing
        return (
            VIOLATED,
            f"{sure}, {terms.notion.point(at, shown)}, above the claimed {claimed:.4g}.",
        )
    if isinstance(claim, tuple):
        error = found.smallest_error
        if error is not None and error <= 1 - terms.confidence:
            return VIOLATED, (
                f"{sure}, {terms.notion.claimable} is not within the claimed curve. The curve is "
                "refuted as a whole, not at one particular point."
            )
    if claim is None:
        return NO_CLAIM, f"{bound}; there was no claim to test."
    if isinstance(claim, float) and found.lower_bound > claim:
        if f"{found.lower_bound:.4f}" == f"{claim:.4f}":
            # A sequential audit stops as soon as its bound exceeds the claim.
            return VIOLATED, f"{sure}, {terms.notion.symbol} is above the claimed {claim:g}."
        return VIOLATED, f"{bound}, above the claimed {claim:g}."
    what = f"claimed {claim:g}" if isinstance(claim, float) else "claimed curve"
    return NOT_REFUTED, f"{bound}; no proof of the {what}."


def _plain_pairs(pairs: AnyPairs, stacked: bool) -> JsonObject | None:
    """Return the databases and labels of pairs, or None if they cannot be restored from JSON."""
    if len(pairs) > _MOST_PAIRS:
        return None
    if stacked:  # `dpjax.Pairs` makes arrays of lists.
        databases, neighbors = ([as_lists(d) for d in side] for side in pairs.sides)
        pairs = AnyPairs((databases, neighbors), pairs.labels)
    if not all(is_exact(database) for side in pairs.sides for database in side):
        return None
    found = exact_pairs(pairs)
    longest = max(len(text_of(d)) for name in ("database", "neighbor") for d in found[name])
    return found if longest <= _LONGEST else None
