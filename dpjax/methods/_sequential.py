"""Sequential audits, which bet on all events of all pairs; the bounds are valid at any time."""

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from dpjax.core import validate
from dpjax.core.options import option
from dpjax.core.wording import EVENTS, BadValue
from dpjax.inference import PLANNED, errors, first_round, levels_of_bets, start
from dpjax.methods._alarm import TimeUp, alarm, no_output_in_time
from dpjax.methods._candidates import promised
from dpjax.methods._stopped import saying_so_far
from dpjax.methods._walk import ENDLESS, TINY, Walk
from dpjax.notions import BetWealth, Terms
from dpjax.results import Finding, Findings, lost_call, lost_worker
from dpjax.sources import ONE_RUN, Opened, OpenedInTurn, Request, Rounds, Source, WorkerLost

_DRAWS = 250_000
"""Default number of draws per side, summed over all pairs."""

_FEW = 10_000
"""Draws are treated as expensive if the total number per side is at most this number."""

_BLOCK = 4096
"""Number of draws per call of a JAX mechanism's sampler."""


@dataclass(frozen=True)
class Sequential:
    """Lower bound that is valid after every block of draws, so that an audit can stop early.

    Attributes:
        num_draws: Number of draws per side, summed over all pairs, after which the audit ends. If
            `num_draws` is None, the default is 250,000, or no limit if `seconds` is given.
        seconds: Time in seconds after which the audit ends, including the search for pairs. If
            `seconds` is None, the time limit of the source applies, such as the minute of a library
            object. The audit always draws the first outputs of each pair, which determine the
            cells. After these, a call of a Python function or a program is interrupted at the end
            of the time limit. A call that returns nothing for a minute, or for the time limit if it
            is longer, is an error.

    Raises:
        TypeError, ValueError: If a number has the wrong type or is too small.
    """

    num_draws: int | None = option("", default=None)
    seconds: float | None = option(
        "Seconds after which a sequential audit ends and reports its bound.",
        default=None,
    )
    name: ClassVar[str] = "sequential"
    bounded: ClassVar[bool] = True

    def __post_init__(self):
        if self.num_draws is not None:
            validate.draws(num_draws=self.num_draws)
        validate.positive(seconds=self.seconds)

    def longer(self, more: int) -> "Sequential":
        """Return a copy of the method whose limit is higher by `more` draws per side."""
        return replace(
            self, num_draws=(_DRAWS if self.num_draws is None else self.num_draws) + more
        )

    def accepts(self, source: Source) -> str | None:
        """Return None because every source can be audited."""
        return None

    def run(
        self, source: Source, pairs: object, terms: Terms, runs: NDArray[np.int32] = ONE_RUN
    ) -> Findings:
        """Audit a batch of runs, one after the other. See `Events.run` for the arguments.

        Raises:
            ValueError: If the notion cannot be bounded by the counts of one event, or if there are
                too few draws to construct the cells.
        """
        terms.require_one_event("sequential audits", instead=EVENTS)
        limits = [x for x in (self.seconds, getattr(source, "time_limit", None)) if x is not None]
        seconds, source = min(limits, default=None), source.with_time_limit(None)
        return Findings.of(*[self._run(source, pairs, terms, run, seconds) for run in runs])

    def _run(
        self, source: Source, pairs: object, terms: Terms, run: np.int32, seconds: float | None
    ) -> Finding:
        earlier = terms.earlier
        if earlier is not None:
            _refuse_other_bets(earlier, terms)
        total = self._total_of(source)
        few = earlier.wealth.few if earlier else total <= _FEW or source.one_by_one
        request = Request(
            rounds=partial(_rounds, total, few),
            region=None,
            promise=lambda cells, halves, _, compared: promised(
                terms, cells, halves, PLANNED, compared
            ),
            key=terms.root,
            # Other layouts would take longer to compile than these blocks take to run.
            execution=replace(terms.layout, layout="gathered"),
            runs=np.array([run], np.int32),
            block=_BLOCK,
            in_order=True,
            each=few,
            held=None if earlier is None else earlier.held,
        )
        walk, began = None, time.perf_counter()
        # A call of a Python function or a program may never return.
        limit = seconds if source.takes_pairs and source.sampler is None else None
        deadline = None if seconds is None else began + seconds
        try:
            with (
                source.opened(pairs, request) as opened,
                alarm(limit, lambda: opened.tally.seen) as end_search,
            ):
                with saying_so_far(opened.tally, terms):
                    walk = self._begun(source, opened, terms, total, few, run)
                end_search()
                walk.go(deadline)
        except TimeUp:
            if walk is None:
                raise no_output_in_time(source.name) from None
            walk.ended, walk.cut_short = "the time limit was reached", lost_call(source)
        except KeyboardInterrupt:
            # The source has ended its workers and programs.
            if walk is None:
                raise
            walk.ended, walk.cut_short = "the user stopped the audit", {"interrupted": True}
        except WorkerLost:
            # The bounds hold at any time, even if the lost outputs decided that the audit ends.
            if walk is None:
                raise
            walk.ended, walk.cut_short = lost_worker(source)
        return walk.finding()

    def _begun(
        self, source: Source, opened: Opened, terms: Terms, total: int, few: bool, run: np.int32
    ) -> Walk:
        """Return an audit whose cells are determined, but which has placed no new bets."""
        # Outputs that are drawn one by one are stored. Other outputs are equal in a second draw
        # only if dpjax provides the seeds.
        again = source.one_by_one or getattr(source, "replayable", True)
        walk = Walk(
            cast(OpenedInTurn, opened), terms, total, few=few, run=int(run),
            redraws=source.takes_pairs and again, compiles=not source.one_by_one,
        )  # fmt: skip
        if source.counts_again:
            walk.refuse_other_outputs()
        return walk

    def _total_of(self, source: Source) -> int:
        """Return the largest number of draws per side.

        By default, the number is unlimited if there is a time limit or if outputs are recorded.
        """
        if self.num_draws is not None:
            return self.num_draws
        return _DRAWS if self.seconds is None and source.takes_pairs else ENDLESS


def _rounds(total: int, few: bool, num_pairs: int) -> Rounds:
    first = first_round(num_pairs, few)
    if total <= num_pairs * first:
        raise BadValue(
            f"num_draws must be above {num_pairs * first} because the first {first} draws of each "
            f"pair are used only to determine its cells, but was {total}."
        )
    return Rounds(first, 0, 0, total)


def _refuse_other_bets(earlier: BetWealth, terms: Terms) -> None:
    """Raise an error if an audit with the same terms cannot have placed the bets of `earlier`.

    Raises:
        ValueError: If the levels or error probabilities of the bets are those of another claim,
            notion or confidence, because the result was edited.
    """
    error, hypothesis = 1 - terms.own_confidence, terms.notion.hypothesis(terms.distance)
    assert hypothesis is not None
    levels = levels_of_bets(hypothesis.levels, terms.level)
    claim = None if terms.level is None else max(terms.level, TINY)
    new = start(1, 1, error, hypothesis=hypothesis, claim=claim, grid=levels)
    # Without a claim, part of the error probability may be reserved for a look.
    bets, look = errors(error)
    shares = [error] if claim is not None else [error, bets]
    states = [state for state in (earlier.wealth, earlier.before) if state is not None]
    if (
        not math.isclose(earlier.error, error)
        or (earlier.look is not None and not math.isclose(earlier.look.error, look))
        or any(state.hypothesis != hypothesis or state.claim != claim for state in states)
        or any(state.grid.shape != new.grid.shape for state in states)
        # Processors may round levels differently.
        or not all(np.allclose(state.grid, new.grid, rtol=1e-12, atol=0) for state in states)
        or not all(any(math.isclose(state.error, e) for e in shares) for state in states)
    ):
        raise ValueError(
            "the audit cannot be continued: its bets are not those of an audit with its claim, "
            "notion and confidence. Use the result as dpjax wrote it."
        )
