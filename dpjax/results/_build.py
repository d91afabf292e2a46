"""One builder of results: what a method found, under the terms of the audit."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpjax.notions import Statement, Terms
from dpjax.results._result import (
    NO_CLAIM,
    NOT_REFUTED,
    VIOLATED,
    AuditResult,
    Witness,
)
from dpjax.results._subjects import subject_to_plain
from dpjax.results.plain import (
    holds_arrays,
    notion_to_plain,
    options_to_plain,
    plain_database,
)
from dpjax.results.provenance import device, seed_of, versions
from dpjax.sources import AnyPairs, Source

_MOST_PAIRS = 10_000
"""Pairs that a recipe holds."""


@dataclass(frozen=True)
class Finding:
    """What a method found, before it is a result.

    Attributes:
        statement: Bounds and estimate.
        witness: As in `AuditResult`, as all others that are named as there.
        pairs: That were compared.
        verdict: (verdict, sentence) of a method with verdicts of its own; None for the usual ones.
        level: What is bounded, where that is not the notion's level.
    """

    statement: Statement
    witness: Witness
    pairs: AnyPairs
    pair_scores: tuple[tuple[str, float | None], ...]
    region: str
    num_samples: int
    num_confirm: int
    settings: dict[str, Any]
    notes: list[str]
    curve: dict[str, list] | None = None
    evidence: dict[str, Any] | None = None
    assumption: dict[str, Any] | None = None
    verdict: tuple[str, str] | None = None
    level: str | None = None


def build(
    finding: Finding, source: Source, method: Any, terms: Terms, seconds: float
) -> AuditResult:
    """The result of an audit.

    Args:
        finding: Of the method.
        source: That was audited.
        method: That audited it.
        terms: Of the audit.
        seconds: Wall time.
    """
    found = finding.statement
    verdict, sentence = finding.verdict or judge(found, terms)
    on_device = finding.settings.get("generator") == "threefry2x32"
    return AuditResult(
        lower_bound=found.lower_bound,
        upper_bound=found.upper_bound,
        estimate=found.estimate,
        standard_error=found.standard_error,
        basis=found.basis,
        confidence=float(terms.confidence),
        num_claims=terms.num_claims,
        smallest_error=found.smallest_error,
        verdict=verdict,
        sentence=sentence,
        claim=terms.plain_claim,
        level=finding.level or terms.notion.symbol,
        witness=finding.witness,
        mechanism=source.name,
        parameters=source.parameters,
        pair_scores=finding.pair_scores,
        region=finding.region,
        num_samples=finding.num_samples,
        num_confirm=finding.num_confirm,
        settings=finding.settings,
        assumption=finding.assumption,
        recipe={
            "subject": subject_to_plain(source),
            "method": {"name": method.name, **options_to_plain(method)},
            "notion": notion_to_plain(terms.notion),
            "distance": terms.distance,
            "pairs": _plain_pairs(finding.pairs, source.stacks_pairs),
            "key": seed_of(terms.key),
        },
        notes=tuple(finding.notes),
        curve=finding.curve,
        evidence=finding.evidence,
        versions=versions(),
        device=device() if on_device else "host",
        seconds=seconds,
    )


def judge(found: Statement, terms: Terms) -> tuple[str, str]:
    """The verdict on a claim, and a sentence that says no more than what was shown."""
    claim = terms.claimed
    sure = (
        f"With confidence {terms.confidence:g}, {terms.notion.symbol} is at least "
        f"{found.lower_bound:.4f}"
    )
    if found.crossing is not None:
        at, shown, claimed = found.crossing
        return VIOLATED, (
            f"With confidence {terms.confidence:g}, {terms.notion.point(at, shown)}, above the "
            f"claimed {claimed:.4g}."
        )
    if claim is None:
        return NO_CLAIM, f"{sure}; no claim was given to compare with."
    if isinstance(claim, float) and found.lower_bound > claim:
        return VIOLATED, f"{sure}, above the claimed {claim:g}."
    what = f"claimed {claim:g}" if isinstance(claim, float) else "claimed curve at any point"
    return NOT_REFUTED, (
        f"{sure}, which does not contradict the {what}. This is no proof of the "
        "claim: other pairs, other outputs and events too rare for these draws were not seen."
    )


def _plain_pairs(pairs: AnyPairs, drawn: bool) -> dict[str, Any] | None:
    """Databases and labels; None where they are too many, or not all as JSON holds them.

    Args:
        pairs: That were compared.
        drawn: Whether JAX is given them, which makes arrays of lists again.
    """
    if len(pairs) > _MOST_PAIRS:
        return None
    sides = [side if isinstance(side, np.ndarray) else list(side) for side in pairs.sides]
    # A function that is given arrays may do another thing with lists.
    types = {d.dtype if isinstance(d, np.ndarray) else None for side in sides for d in side}
    if len(types) > 1 or (not drawn and any(holds_arrays(d) for side in sides for d in side)):
        return None
    found: dict[str, Any] = {"labels": list(pairs.labels)}
    for name, side in zip(("database", "neighbor"), sides, strict=True):
        databases = side.tolist() if isinstance(side, np.ndarray) else side
        plain = [plain_database(database) for database in databases]
        # A text in place of another object is for people, and does not give it back.
        if any(
            type(p) is str and type(d) is not str for p, d in zip(plain, databases, strict=True)
        ):
            return None
        found[name] = plain
    (dtype,) = types
    return found if dtype is None else {**found, "dtype": str(dtype)}
