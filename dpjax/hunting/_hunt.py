"""Cases times releases: each is audited by draws of its own environment."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dpjax.audit import audit
from dpjax.core.errors import text_of
from dpjax.core.types import JsonObject
from dpjax.core.wording import BadValue
from dpjax.hunting._case import Case
from dpjax.hunting._draws import Draw, Server, recorded, recording, serving
from dpjax.hunting._environment import Environment
from dpjax.methods import Events, pairs_to_audit
from dpjax.notions import Epsilon, Terms
from dpjax.results import AuditResult
from dpjax.sources import AnyPairs, HostMechanism

_PROBE, _MOST_PROBED = 0.02, 2000
"""Share of the time, and draws, that measure the pace of the pair that was found."""

_RECORD = ".jsonl.gz"
"""End of the name of a record."""

_AUDITED, _LEAST = 0.5, 60
"""Share of the time for the audit; draws a side of the slowest."""


@dataclass(frozen=True)
class Caught:
    """What became of one case in one release.

    Attributes:
        case: The case.
        spec: The release.
        result: The audit; None if there was none.
        failure: Why there was none, or "".
        seconds: Of drawing and auditing.
    """

    case: Case
    spec: str
    result: AuditResult | None
    failure: str
    seconds: float

    @property
    def row(self) -> JsonObject:
        """What a table shows."""
        found = self.result
        return {
            "release": self.spec,
            "case": self.case.title,
            "claim": self.case.claim,
            "delta": self.case.delta,
            "bound": None if found is None else found.lower_bound,
            "verdict": self.failure if found is None else found.verdict,
            "pair": "" if found is None or found.witness is None else found.witness.pair,
            "seconds": self.seconds,
            "reported": self.case.reported,
            "documented": self.case.documented,
        }


def hunt(
    cases: Sequence[Case],
    environments: Callable[[Case], Sequence[Environment]],
    folder: Path,
    *,
    again: bool = False,
    confidence: float = 0.999,
    key: int = 0,
    seconds: float = 60.0,
) -> Iterator[Caught]:
    """Audits every case in every release of its package.

    Args:
        cases: That are tried.
        environments: Case -> its releases; not asked with `again`.
        folder: Of the records of draws, one for each case and release.
        again: Whether draws are read from their records, of every release that has one.
        confidence: Of each bound.
        key: Of all that is chosen here. The libraries draw from randomness of their own.
        seconds: Of drawing, for a case in a release.

    Yields:
        What became of each, as it is done. A release that fails is a row, and no end.
    """
    for case in cases:
        for spec, run in _runs(case, environments, folder, again=again, seconds=seconds):
            start, result, failure = time.perf_counter(), None, ""
            try:
                result = run(confidence, key)
            except Exception as error:  # of code of others, whose failure is a row
                failure = text_of(error)
            yield Caught(case, spec, result, failure, time.perf_counter() - start)


def _runs(
    case: Case,
    environments: Callable[[Case], Sequence[Environment]],
    folder: Path,
    *,
    again: bool,
    seconds: float,
) -> Iterator[tuple[str, Callable[[float, int], AuditResult]]]:
    """Releases of a case, and what audits each."""
    if not again:
        for environment in environments(case):
            path = folder / f"{case.path.stem}@{environment.spec}{_RECORD}"
            yield environment.spec, partial(_drawn, case, environment, path, seconds)
        return
    paths = sorted(folder.glob(f"{case.path.stem}@*{_RECORD}"))
    if not paths:
        raise BadValue(f"folder must hold a record of {case.path.stem}, but had none.")
    for path in paths:
        spec = path.name.removesuffix(_RECORD).partition("@")[2]
        yield spec, partial(_replayed, case, path)


def _drawn(
    case: Case, environment: Environment, path: Path, seconds: float, confidence: float, key: int
) -> AuditResult:
    """The search within a share of the time, then one audit of fixed size, whose draws are kept."""
    with serving(case, environment) as server:
        source = HostMechanism(server, batched=False, bits=case.bits, time_limit=seconds)
        terms = Terms(Epsilon(case.delta), case.claim, confidence, 1, key)
        found, _ = pairs_to_audit(source, case.pairs, terms)
        pairs = AnyPairs.of(found)
        sides = [side for pair in zip(*pairs.sides, strict=True) for side in pair]
        # The import of the library is no part of the pace.
        server(sides[0])
        pace = max(_pace(server, side, _PROBE * seconds / len(sides)) for side in sides)
        draws = min(max(int(_AUDITED * seconds / (2 * pace)), _LEAST * len(pairs)), case.draws)
        head = {"database": pairs.database, "neighbor": pairs.neighbor, "labels": pairs.labels}
        with recording(path, {**head, "draws": draws}, server) as draw:
            return _audit(case, draw, pairs, draws, confidence, key)


def _pace(server: Server, database: Any, seconds: float) -> float:
    """Seconds of an output at a database."""
    began, count = time.perf_counter(), 0
    while count == 0 or (time.perf_counter() - began < seconds and count < _MOST_PROBED):
        server(database)
        count += 1
    return (time.perf_counter() - began) / count


def _replayed(case: Case, path: Path, confidence: float, key: int) -> AuditResult:
    with recorded(path) as (head, draw):
        pairs = AnyPairs((head["database"], head["neighbor"]), tuple(head["labels"]))
        return _audit(case, draw, pairs, int(head["draws"]), confidence, key)


def _audit(
    case: Case, draw: Draw, pairs: AnyPairs, draws: int, confidence: float, key: int
) -> AuditResult:
    return audit(
        HostMechanism(draw, batched=False, bits=case.bits),
        pairs,
        method=Events(num_draws=draws),
        notion=Epsilon(case.delta),
        claim=case.claim,
        confidence=confidence,
        key=key,
    )
