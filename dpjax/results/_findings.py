"""Findings of a method in a batch of runs, and the rows that a sweep keeps of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from dpjax.core.errors import Status
from dpjax.notions import Evidence, Statement
from dpjax.results._build import Finding


class Row(NamedTuple):
    """What a sweep keeps of a run.

    Attributes:
        statement: Bounds and estimate.
        pair: Number of the pair that was chosen.
        output: Numbers of the witness's output, if it has such.
        status: Name of a `Status`.
        verdict: Of a method with verdicts of its own; None for the usual ones.
        state: Evidence from which the run can go on, or None.
    """

    statement: Statement
    pair: int
    output: list[float] | None = None
    status: str = Status.OK.name
    verdict: str | None = None
    state: Evidence | None = None


@dataclass(frozen=True)
class Findings:
    """What a method found in a batch of runs.

    Attributes:
        finding: Place of a run in the batch -> all that was found in it, as a result needs it.
        rows: () -> what a sweep keeps of each run, which costs less.
    """

    finding: Callable[[int], Finding]
    rows: Callable[[], list[Row]]

    @classmethod
    def of(cls, *findings: Finding) -> "Findings":
        """Findings that were made one by one; the pair is the one that each witness names."""

        def row(found: Finding) -> Row:
            labels = () if found.pairs is None else found.pairs.labels
            pair = 0 if found.witness is None else labels.index(found.witness.pair)
            evidence = found.evidence.counted
            state = evidence if evidence.resumable else None
            return Row(found.statement, pair, verdict=found.statement.verdict, state=state)

        return cls(findings.__getitem__, lambda: [row(found) for found in findings])

    @classmethod
    def of_rows(cls, rows: Callable[[], list[Row]]) -> "Findings":
        """Findings of a method that estimates alone, so that no result can be made of them."""

        def finding(run: int) -> Finding:
            raise ValueError("there is an estimate alone, and no bound that a result could state.")

        return cls(finding, rows)
