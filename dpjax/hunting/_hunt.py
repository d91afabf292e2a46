"""Hunts: audits of cases in releases, where each release has its own environment."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NoReturn

from dpjax.audit import audit
from dpjax.core.errors import text_of
from dpjax.core.types import JsonObject
from dpjax.core.wording import BadValue
from dpjax.hunting._case import Case
from dpjax.hunting._draws import Draws, Server, recorded, recording, serving
from dpjax.hunting._environment import Environment
from dpjax.methods import Events, pairs_to_audit
from dpjax.notions import Epsilon, Terms
from dpjax.results import AuditResult
from dpjax.sources import AnyPairs, HostMechanism
from dpjax.sources._calls import draw_several
from dpjax.sources._deadline import Deadline
from dpjax.sources._schedule import Raw, Restarted
from dpjax.sources._time_limit import next_size

_PROBE, _MOST_PROBED = 0.02, 2000
"""When timing draws, stop after this share of the drawing time, or this many draws per database."""

_RESTARTED, _MOST_RESTARTED = 5, 100
"""Limits on the draws per side in a new process. The process makes one draw for every `_RESTARTED`
draws of the audit, and at most `_MOST_RESTARTED` draws. Draws in new processes reveal whether the
noise is the same in every process."""

_TOGETHER, _QUICK = 64, 0.1
"""Maximum number of outputs per request, and maximum expected duration of a request in seconds."""

_RECORD = ".jsonl.gz"

_AUDITED, _LEAST = 0.6, 60
"""Limits on the draws of an audit. An audit makes as many draws as fit into the share `_AUDITED` of
the time limit, but at least `_LEAST` draws per side and pair."""


@dataclass(frozen=True)
class Caught:
    """The outcome of auditing a case in a release.

    Attributes:
        case: The case.
        spec: Specification of the release, or the package's name if no release has a record.
        result: Result of the audit, or None if the audit failed.
        failure: Reason for the failure, or "" if the audit did not fail.
        seconds: Time that drawing and auditing took, in seconds.
    """

    case: Case
    spec: str
    result: AuditResult | None
    failure: str
    seconds: float

    @property
    def row(self) -> JsonObject:
        """The outcome as a table row: a dictionary from column names to values."""
        found = self.result
        bounded = found is not None and found.witness is not None and found.witness.event_counts
        return {
            "release": self.spec,
            "case": self.case.title,
            "claim": self.case.claim,
            "delta": self.case.delta,
            "bound": found.lower_bound if found is not None and bounded else None,
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
    """Audit every case in every release of the case's package.

    Args:
        cases: Cases to audit.
        environments: Function that maps a case to the environments of its releases; not called if
            `again` is True.
        folder: Folder for the records of draws, one per case and release.
        again: If True, draw nothing, and audit the recorded draws of every release that has a
            record. A case without a record is an outcome that failed.
        confidence: Confidence of each bound.
        key: Seed for all random choices of the audit. Released libraries use their own randomness.
        seconds: Time for drawing, in seconds per case and release.

    Yields:
        The outcome of each case in each release, as soon as the audit has ended or failed.

    Raises:
        ValueError: If two cases have the same file name.
    """
    refuse_same_names(cases)
    for case in cases:
        for spec, run in _runs(case, environments, folder, again=again, seconds=seconds):
            start, result, failure = time.perf_counter(), None, ""
            try:
                result = run(confidence, key)
            except Exception as error:  # Any failure of a library is reported as an outcome.
                failure = str(error) if isinstance(error, ValueError) else text_of(error)
            yield Caught(case, spec, result, failure, time.perf_counter() - start)


def refuse_same_names(cases: Sequence[Case]) -> None:
    """Raise a ValueError if two cases have the same file name."""
    stems = [case.path.stem for case in cases]
    for stem in stems:
        if stems.count(stem) > 1:
            raise BadValue(
                f"cases must be files with different names, because records are named after them, "
                f"but two files are named {stem}.py."
            )


def _runs(
    case: Case,
    environments: Callable[[Case], Sequence[Environment]],
    folder: Path,
    *,
    again: bool,
    seconds: float,
) -> Iterator[tuple[str, Callable[[float, int], AuditResult]]]:
    """Yield the releases of a case, each with a function that audits the release."""
    if not again:
        for environment in environments(case):
            path = folder / f"{case.path.stem}@{environment.spec}{_RECORD}"
            yield environment.spec, partial(_drawn, case, environment, path, seconds)
        return
    paths = sorted(
        path
        for path in folder.glob(f"*{_RECORD}")
        if path.name.removesuffix(_RECORD).rpartition("@")[0] == case.path.stem
    )
    if not paths:
        # The outcomes of other cases must not be lost.
        yield case.package, partial(_unrecorded, case, folder)
    for path in paths:
        spec = path.name.removesuffix(_RECORD).rpartition("@")[2]
        yield spec, partial(_replayed, case, path)


def _drawn(
    case: Case, environment: Environment, path: Path, seconds: float, confidence: float, key: int
) -> AuditResult:
    """Search for pairs, then run an audit, and record the draws of the audit."""
    with serving(case, environment) as server:
        source = _Searched(server, batched=False, bits=case.bits, time_limit=seconds)
        terms = Terms(Epsilon(case.delta), case.claim, confidence, 1, key)
        found, _ = pairs_to_audit(source, case.pairs, terms, least=case.draws)
        pairs = AnyPairs.of(found)
        sides = [side for pair in zip(*pairs.sides, strict=True) for side in pair]
        # The first draw is not timed, because its time includes the import of the library.
        server(sides[0])
        pace = max(_pace(server, side, _PROBE * seconds / len(sides)) for side in sides)
        draws = min(max(int(_AUDITED * seconds / (2 * pace)), _LEAST * len(pairs)), case.draws)
        head: JsonObject = {
            "database": pairs.database,
            "neighbor": pairs.neighbor,
            "labels": pairs.labels,
        }
        head |= {"draws": draws, "restarts": min(draws // _RESTARTED, _MOST_RESTARTED)}
        head["case"] = case.mark
        with recording(path, head, server, partial(serving, case, environment)) as drawing:
            return _audit(case, drawing, pairs, head, confidence, key)


def _pace(server: Server, database: object, seconds: float) -> float:
    """Return the mean time, in seconds, for drawing one output for a database."""
    spent, count, size = 0.0, 0, 1
    while count == 0 or (spent < seconds and count < _MOST_PROBED):
        began = time.perf_counter()
        server.several(database, size)
        took = time.perf_counter() - began
        spent, count = spent + took, count + size
        size = next_size(size, took / size, _TOGETHER, _QUICK)
    return spent / count


def _replayed(case: Case, path: Path, confidence: float, key: int) -> AuditResult:
    with recorded(path) as (head, drawing):
        # Records of earlier versions have no digest.
        if head.get("case") not in (None, case.mark):
            raise BadValue(
                f"the record {path.name} holds outputs of another case, or of the case before it "
                "changed: draw again."
            )
        pairs = AnyPairs((head["database"], head["neighbor"]), tuple(head["labels"]))
        return _audit(case, drawing, pairs, head, confidence, key)


def _unrecorded(case: Case, folder: Path, confidence: float, key: int) -> NoReturn:
    raise BadValue(
        f"the folder {folder} has no recorded draws of {case.path.stem}: draw outputs first."
    )


@dataclass(frozen=True)
class _Searched(HostMechanism):
    """Mechanism that draws several outputs of a release at once, in a search for pairs.

    A search makes few draws from each of many databases, so it would spend most of its time waiting
    for answers to single requests.
    """

    def _call(self, deadline: Deadline | None) -> Callable[..., Raw]:
        assert isinstance(self.function, Server)
        return partial(draw_several, self.function.several, self.name, deadline)


@dataclass(frozen=True)
class _Released(HostMechanism):
    """Mechanism that draws a case's outputs with one release, in a restartable process."""

    served: Draws | None = None
    restarts: int = 0

    def _call(self, deadline: Deadline | None) -> Callable[..., Raw]:
        return partial(draw_several, self._several, self.name, deadline)

    def _several(self, database: object, count: int) -> list[object]:
        """Draw outputs, with requests that grow as long as the answers take little time."""
        assert self.served is not None
        outputs, size = [], 1
        while len(outputs) < count:
            began = time.perf_counter()
            drawn = self.served.several(database, min(size, count - len(outputs)))
            pace = (time.perf_counter() - began) / len(drawn)
            outputs += drawn
            size = next_size(size, pace, _TOGETHER, _QUICK)
        return outputs

    def restarted(self, sides: tuple[object, object], count: int) -> Restarted | None:
        """Draw outputs in two new processes of the release, as specified by `OnHost.restarted`."""
        if self.served is None or not self.restarts:
            return None
        runs = []
        for _ in range(2):
            with self.served.restarted() as draw:
                runs.append([[draw(side) for _ in range(self.restarts)] for side in sides])
        return "processes", runs


def _audit(
    case: Case, drawing: Draws, pairs: AnyPairs, head: JsonObject, confidence: float, key: int
) -> AuditResult:
    return audit(
        _Released(
            drawing.draw,
            batched=False,
            bits=case.bits,
            served=drawing,
            restarts=int(head.get("restarts", 0)),
        ),
        pairs,
        method=Events(num_draws=int(head["draws"])),
        notion=Epsilon(case.delta),
        claim=case.claim,
        confidence=confidence,
        key=key,
    )
