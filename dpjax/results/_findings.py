"""A method's findings in a batch of runs, with the rows for a sweep; the finding of repeats."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from dpjax.core.errors import Status
from dpjax.notions import BetWealth, Statement, Terms, bets_of
from dpjax.results._build import Finding, concluded, verdict_of
from dpjax.results._cut_short import refuse_cut_short
from dpjax.results._parts import NOT_RANDOM, Observed, Witness
from dpjax.results.recipes import compared
from dpjax.sources import Repeats


class Row(NamedTuple):
    """The row of a single run in a sweep.

    Attributes:
        statement: Bounds and estimate of the run.
        pair: Index of the chosen pair.
        output: Output of the witness as a list of numbers, or None if there is no such output.
        status: Name of a member of `Status`.
        verdict: Verdict if the method itself determines the verdict; None if the verdict follows
            from the bound and the claim.
        state: Wealth of the bets, from which the run can continue, or None if the run made no bets.
    """

    statement: Statement
    pair: int
    output: list[float] | None = None
    status: str = Status.OK.name
    verdict: str | None = None
    state: BetWealth | None = None


@dataclass(frozen=True)
class Findings:
    """A method's findings in a batch of runs.

    Attributes:
        finding: Function that maps a run's position in the batch to the complete findings of the
            run.
        rows: Function that returns one row per run for a sweep. The rows are cheaper to compute
            than the complete findings.
    """

    finding: Callable[[int], Finding]
    rows: Callable[[], list[Row]]

    @classmethod
    def of(cls, *findings: Finding) -> "Findings":
        """Build the findings of a batch from the complete findings of each run.

        The rows raise an error if a run was cut short (see `refuse_cut_short`), or if every call
        of a mechanism failed.
        """

        def row(found: Finding) -> Row:
            refuse_cut_short(found.evidence.settings)
            labels = () if found.pairs is None else found.pairs.labels
            pair = 0 if found.witness is None else labels.index(found.witness.pair)
            state = bets_of(found.evidence.counted)
            return Row(found.statement, pair, verdict=verdict_of(found), state=state)

        return cls(findings.__getitem__, lambda: [row(found) for found in findings])

    @classmethod
    def of_rows(cls, rows: Callable[[], list[Row]]) -> "Findings":
        """Build the findings of a batch from rows, for a method that computes only estimates."""

        def finding(run: int) -> Finding:
            raise ValueError(
                "this method computes only estimates, so no result with a bound can be built."
            )

        return cls(finding, rows)


def finding_of_repeats(found: Repeats, terms: Terms) -> Finding:
    """Return the finding, with the verdict "not random", that two runs gave the same outputs."""
    stated = found.counted.state(terms.notion, terms.own_confidence)
    verdict = NOT_RANDOM, found.sentence
    return Finding(
        statement=concluded(stated, terms, terms.notion.symbol, verdict),
        evidence=Observed(found.counted, settings=found.settings),
        notes=[*terms.notes(), found.advice],
        witness=Witness(**compared(found.pairs, 0)),
        pairs=found.pairs,
    )
