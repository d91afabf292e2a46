"""Cases times releases: each is audited by draws of its own environment."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpjax.audit import audit
from dpjax.core.errors import text_of
from dpjax.core.types import JsonObject
from dpjax.core.wording import BadValue
from dpjax.databases import Neighbors
from dpjax.hunting._case import Case
from dpjax.hunting._draws import drawn, recorded
from dpjax.hunting._environment import Environment
from dpjax.methods import Events, search_pairs
from dpjax.notions import Epsilon
from dpjax.results import AuditResult
from dpjax.sources import HostMechanism

_SEARCHED = 2
"""Draws that search, over those at one side of the audit."""


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
        seconds: For which one answer of a release is waited; a call that hangs ends with it.

    Yields:
        What became of each, as it is done. A release that fails is a row, and no end.
    """
    for case in cases:
        if again:
            paths = sorted(folder.glob(f"{case.path.stem}@*.jsonl.gz"))
            if not paths:
                raise BadValue(f"folder must hold a record of {case.path.stem}, but had none.")
            for path in paths:
                spec = path.name.removesuffix(".jsonl.gz").partition("@")[2]
                yield _audited(case, spec, recorded(path), confidence, key)
            continue
        for environment in environments(case):
            path = folder / f"{case.path.stem}@{environment.spec}.jsonl.gz"
            draws = drawn(case, environment, path, seconds)
            yield _audited(case, environment.spec, draws, confidence, key)


def _audited(
    case: Case, spec: str, draws: AbstractContextManager[Any], confidence: float, key: int
) -> Caught:
    start, result, failure = time.perf_counter(), None, ""
    try:
        with draws as draw:
            source = HostMechanism(draw, batch_size=case.draws, bits=case.bits)
            pairs = case.pairs
            if isinstance(pairs, Neighbors):
                pairs = search_pairs(source, pairs, budget=_SEARCHED * case.draws, key=key).pairs
            result = audit(
                source,
                pairs,
                method=Events(num_draws=case.draws),
                notion=Epsilon(case.delta),
                claim=case.claim,
                confidence=confidence,
                key=key,
            )
    except Exception as error:  # of code of others, whose failure is a row
        failure = f"{type(error).__name__}: {text_of(error)}"
    return Caught(case, spec, result, failure, time.perf_counter() - start)
