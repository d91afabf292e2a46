"""Cases, audits and table rows of the mechanisms of other auditing tools (peers)."""

import time
from typing import Any, NamedTuple

import dpjax
from dpjax.results import REFUTING

CONFIDENCE = 0.95
"""Confidence of the bounds, because both peers test with an error probability of 0.05."""


class Case(NamedTuple):
    """A mechanism of a peer at one size of its databases and one claim.

    Attributes:
        title: Name of the mechanism.
        size: Size of its databases, for the table.
        mechanism: Sampler of the outputs.
        pairs: The peer's pairs of neighboring databases.
        claim: Claimed epsilon.
        level: True epsilon at `delta`, or an upper bound on it. None if no bound is known.
        draws: Draws of the peer and a tenth of them, as arguments of `dpjax.Events`.
        peer: Result of the peer, or an empty string if the peer was not run.
        delta: Claimed delta.
    """

    title: str
    size: str
    mechanism: Any
    pairs: dpjax.Pairs
    claim: float
    level: float | None
    draws: tuple[dict[str, Any], dict[str, Any]]
    peer: str
    delta: float = 0.0


class Found(NamedTuple):
    """Result of one audit.

    Attributes:
        bound: Lower confidence bound on epsilon.
        refuted: Whether the claim is refuted.
        seconds: CPU time in seconds, including compilation.
    """

    bound: float
    refuted: bool
    seconds: float


def audited(case: Case, tenth: bool, key: int = 0, confidence: float = CONFIDENCE) -> Found:
    """Audit a case with the default search.

    Args:
        case: Mechanism, pairs and claim.
        tenth: Whether to use a tenth of the peer's draws.
        key: Seed of the audit.
        confidence: Confidence of the bound.
    """
    start = time.process_time()
    result = dpjax.audit(
        case.mechanism,
        case.pairs,
        method=dpjax.Events(**case.draws[tenth]),
        notion=dpjax.Epsilon(case.delta),
        claim=case.claim,
        confidence=confidence,
        key=key,
    )
    refuted = result.verdict in REFUTING
    return Found(result.lower_bound, refuted, time.process_time() - start)


def row_of(case: Case, own: Found, tenth: Found) -> str:
    """Return a line of the table: the case, the peer's finding, and the results of both audits."""

    def said(found: Found) -> str:
        return f"{found.bound:.3f}, {'refuted' if found.refuted else 'not refuted'}"

    level = "unknown" if case.level is None else f"{case.level:.3g}".replace("inf", "infinite")
    seconds = f"{own.seconds:.1f}, {tenth.seconds:.1f}"
    cells = (case.title, case.size, f"{case.claim:g}", level, case.peer or "not run")
    return f"| {' | '.join((*cells, said(own), said(tenth), seconds))} |"
