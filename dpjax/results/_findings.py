"""Findings of a method in a batch of runs, with their rows in a sweep."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from dpjax.core.errors import Status
from dpjax.notions import BetWealth, Statement, bets_of
from dpjax.results._build import Finding


class Row(NamedTuple):
    """The row of one run in a sweep.

    Attributes:
        statement: Bounds and estimate of the run.
        pair: Index of the pair that was chosen.
        output: Output of the witness as a list of numbers, or None if there is no such output.
        status: Name of a `Status`.
        verdict: Verdict, if the method itself determines the verdict, or None if the verdict
            follows from the bound and the claim.
        state: Wealth of bets from which the run can continue, or None if the run made no bets.
    """

    statement: Statement
    pair: int
    output: list[float] | None = None
    status: str = Status.OK.name
    verdict: str | None = None
    state: BetWealth | None = None


@dataclass(frozen=True)
class Findings:
    """Findings of a method in a batch of runs.

    Attributes:
        finding: Function from a run's position in the batch to its complete finding.
        rows: Function that returns the sweep's row of each run, at less cost than the complete
            findings.
    """

    finding: Callable[[int], Finding]
    rows: Callable[[], list[Row]]

    @classmethod
    def of(cls, *findings: Finding) -> "Findings":
        """Make the findings of a batch from the complete findings of each run."""

        def row(found: Finding) -> Row:
            labels = () if found.pairs is None else found.pairs.labels
            pair = 0 if found.witness is None else labels.index(found.witness.pair)
            state = bets_of(found.evidence.counted)
            return Row(found.statement, pair, verdict=found.statement.verdict, state=state)

        return cls(findings.__getitem__, lambda: [row(found) for found in findings])

    @classmethod
    def of_rows(cls, rows: Callable[[], list[Row]]) -> "Findings":
        """Make the findings of a batch from the rows of a method that only estimates."""

        def finding(run: int) -> Finding:
            raise ValueError("this method only estimates, so no result with a bound can be built.")

        return cls(finding, rows)
