"""Sequential audits: bets on all events of all pairs, with a bound that holds after every block.

The first draws lay the cells and are not bet on. Each later block is drawn at the pairs that
promise most, counted, and bet on by what the blocks before it showed, so that the bound holds at
any time: an audit ends once the claim is refuted, the draws or the time are spent, or a person
stops it. Without a claim, part of the error is kept for one exact look at an event that is fixed
before its draws.

References:
    Ville (1939); Waudby-Smith, Ramdas (2024), for bets; Jamieson, Talwalkar (2016), for the phases.
"""

import math
import time
from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpjax.core import random, validate
from dpjax.core.options import option
from dpjax.core.wording import EVENTS, BadValue
from dpjax.inference import (
    Look,
    allocation,
    best_events,
    best_pairs,
    choose_event,
    errors,
    first_round,
    leader,
    phases,
    planned_look,
    start,
    step,
)
from dpjax.methods._candidates import promised
from dpjax.methods._stopped import saying_so_far
from dpjax.notions import BetWealth, Terms
from dpjax.results import Finding, Findings, Observed, Witness, compared, conclude
from dpjax.sources import ONE_RUN, Marked, Opened, Request, Rounds, Source

_DRAWS = 250_000
"""Draws a side, of all pairs together, where nothing is said."""

_ENDLESS = 2**31 - 1
"""Draws a side that no audit reaches."""

_FEW = 10_000
"""Draws up to which each of them counts."""

_BLOCK = 4096
"""Draws of a block of a mechanism in JAX."""

_GROWTH, _LEAST = 0.12, 40
"""Share of the draws so far that a block of a phase adds, and its least draws a side."""

_TINY = 1e-9
"""Stands for a claim of 0: whoever refutes it refutes 0."""


@dataclass(frozen=True)
class Sequential:
    """Lower bound that holds after every block of draws, so that an audit stops early.

    Attributes:
        num_draws: Draws a side in all, of all pairs together, after which the audit ends; 250,000
            if None.
        seconds: Time after which it ends, whatever was drawn; None for no limit.

    Raises:
        TypeError, ValueError: A number is of the wrong kind or too small.
    """

    num_draws: int | None = option("", default=None)
    seconds: float | None = option(
        "Seconds after which a sequential audit ends, with the bound that holds by then.",
        default=None,
    )
    name: ClassVar[str] = "sequential"
    bounded: ClassVar[bool] = True

    def __post_init__(self):
        if self.num_draws is not None:
            validate.draws(num_draws=self.num_draws)
        if self.seconds is not None:
            validate.positive(seconds=self.seconds)

    def accepts(self, source: Source) -> str | None:
        """Nothing is refused: recorded outputs are drawn in the order of their recording."""
        return None

    def run(
        self, source: Source, pairs: Any, terms: Terms, runs: NDArray[np.int32] = ONE_RUN
    ) -> Findings:
        """A batch of runs, one after the other; arguments as `Events.run`.

        Raises:
            ValueError: One event does not bound the notion, the source has a time limit of its
                own, or there are fewer draws than lay the cells.
        """
        if terms.notion.hypothesis() is None:
            raise BadValue(
                "notion must be dpjax.Epsilon(delta), Gdp() or TotalVariation() for sequential "
                f"audits, but was {terms.notion!r}: use {EVENTS}."
            )
        if getattr(source, "time_limit", None) is not None:
            raise BadValue("time_limit must be left out for sequential audits: give them seconds.")
        return Findings.of(*[self._run(source, pairs, terms, run) for run in runs])

    def _run(self, source: Source, pairs: Any, terms: Terms, run: np.int32) -> Finding:
        earlier = terms.earlier
        assert isinstance(earlier, BetWealth | None)
        request = Request(
            rounds=partial(self._rounds, earlier, self._total_of(source)),
            region=None,
            promise=partial(promised, terms),
            key=terms.root,
            # A program of its own would compile longer than these blocks take.
            execution=replace(terms.layout, layout="gathered"),
            runs=np.array([run], np.int32),
            block=_BLOCK,
            in_order=True,
        )
        began = time.perf_counter()
        with source.opened(pairs, request) as opened, saying_so_far(opened.tally, terms):
            walk = _Walk(opened, terms, self._total_of(source), int(run))
            if source.counts_again:
                walk.refuse_other_outputs()
            deadline = None if self.seconds is None else began + self.seconds
            try:
                walk.go(deadline)
            except KeyboardInterrupt:
                walk.ended = "a person stopped it"
            return walk.finding()

    def _total_of(self, source: Source) -> int:
        """Most draws a side; recorded outputs are all used where nothing is said."""
        if self.num_draws is not None:
            return self.num_draws
        return _DRAWS if self.seconds is None and source.takes_pairs else _ENDLESS

    def _rounds(self, earlier: BetWealth | None, total: int, num_pairs: int) -> Rounds:
        few = total <= _FEW if earlier is None else earlier.wealth.few
        first = first_round(num_pairs, few)
        if total <= num_pairs * first:
            raise BadValue(
                f"num_draws must be above {num_pairs * first}, {first} for each pair, which lay "
                f"the cells, but was {total}."
            )
        return Rounds(first, 0, 0, total)


class _Walk:
    """One sequential audit as it goes.

    Attributes:
        ended: Why it ended, in words.
    """

    def __init__(self, opened: Opened, terms: Terms, total: int, run: int):
        self.ended = "all draws were spent"
        self._opened, self._terms = opened, terms
        self._searches = opened.search()
        # Recordings end, and hold no more than this.
        most = opened.num_confirm + sum(int(s.halves[0, :, 0].sum()) for s in self._searches)
        self._total, few = min(total, most), total <= _FEW
        cells = [search.partition for search in self._searches]
        self._size = max(partition.size for partition in cells)
        self._error = 1 - terms.own_confidence
        level, hypothesis = terms.level, terms.notion.hypothesis(terms.distance)
        assert hypothesis is not None
        earlier = terms.earlier
        assert isinstance(earlier, BetWealth | None)
        # One look is planned, and an audit that goes on has had it.
        self._hybrid = level is None and self._total < _ENDLESS and earlier is None
        first, self._look_error = errors(self._error) if self._hybrid else (self._error, 0.0)
        self._state = start(
            len(cells),
            self._size,
            first,
            hypothesis=hypothesis,
            claim=None if level is None else max(level, _TINY),
            few=few,
            ordered=all(partition.ordered and len(partition.shape) == 1 for partition in cells),
        )
        self._taken = np.zeros(len(cells), np.int64)
        self._key = [int(word) for word in random.words_of(terms.root)]
        self._run: int = run
        self._look: Look | None = None
        self._path: list[tuple[int, float, float]] = []
        searched = np.zeros((2, len(cells), self._size), np.int64)
        for pair, search in enumerate(self._searches):
            searched[:, pair, : search.partition.size] = search.halves[0].sum(axis=0)
        self._searched = searched
        self._laid = blake2b(searched.tobytes(), digest_size=16).hexdigest()
        if earlier is None:
            # Without a bet, for nothing is known before.
            self._step(searched)
        else:
            self._go_on(earlier, searched)

    def _go_on(self, earlier: BetWealth, searched: NDArray[np.int64]) -> None:
        """Takes over the state of an audit of the same outputs."""
        if earlier.laid != self._laid or earlier.wealth.first.shape != searched[0].shape:
            raise ValueError(
                "the audit cannot go on: its first outputs are others now. It was of another "
                "mechanism, of a function that takes no seed, or of other recordings."
            )
        self._state, self._path = earlier.wealth, list(earlier.path)
        self._look = earlier.look if earlier.look is not None and earlier.look.is_taken else None
        self._taken = self._state.draws[:, 0] - searched[0].sum(axis=1)

    def refuse_other_outputs(self) -> None:
        """Counts again what an earlier audit of recorded outputs counted.

        Raises:
            ValueError: Those outputs are others by now, or fewer.
        """
        taken = int(self._taken[0])
        if not taken:
            return
        found = np.stack([self._state.first[0], self._state.second[0]]) - self._searched[:, 0]
        if taken > self._opened.num_confirm or not np.array_equal(self._count(0, taken, 0), found):
            raise ValueError(
                f"the audit cannot go on: the first {self._drawn:,} outputs of each side are not "
                "those that it counted. New outputs must come after them."
            )

    def _count(self, pair: int, size: int, first: int) -> NDArray[np.int64]:
        """int64 [2, cells] of fresh outputs of a pair."""
        cells = self._searches[pair].partition.size
        marked = Marked(np.array([pair]), np.arange(cells)[None], cells, first, size)
        counts = np.zeros((2, self._size), np.int64)
        counts[:, :cells] = self._opened.count(marked)[0]
        return counts

    @property
    def _drawn(self) -> int:
        return int(self._state.draws[:, 0].sum())

    def go(self, deadline: float | None) -> None:
        """Draws and bets until there is a reason to end."""
        if not self._hybrid:
            while self._drawn < self._total and not self._is_over(deadline):
                # Fresh bits a block, so that an audit that goes on chooses as one that never ended.
                bits = np.random.Philox(key=self._key, counter=[0, 0, self._run, len(self._path)])
                self._block(allocation(self._state, np.random.Generator(bits)))
            return
        kept = np.arange(len(self._searches))
        for number, phase in enumerate(phases(self._total, len(kept))):
            if number:
                kept = best_pairs(self._state, phase.pairs, phase.draws, self._look_error)
            # What laid the cells is a part of the first phase.
            left = phase.draws - (0 if number else int(self._state.draws[0, 0]))
            if number and phase.pairs == 1:
                self._look = planned_look(self._state, kept, left, self._look_error)
                kept = np.array([self._look.pair])
            while left > 0 and not self._is_over(deadline):
                amount = min(left, max(math.ceil(_GROWTH * self._drawn / len(kept)), _LEAST))
                draws = np.zeros(len(self._searches), np.int64)
                draws[kept] = amount
                self._block(draws)
                left -= amount

    def _is_over(self, deadline: float | None) -> bool:
        if self._state.is_claim_refuted:
            self.ended = "the claim was refuted"
        elif deadline is not None and time.perf_counter() >= deadline:
            self.ended = "the time was over"
        else:
            return False
        return True

    def _block(self, draws: NDArray[np.int64]) -> None:
        """Draws at each side of each pair, and bets on them."""
        most = self._total - self._drawn
        if not self._hybrid and draws.sum() > most:
            draws = draws * most // draws.sum()
            draws[np.argmax(draws)] += most - draws.sum()
        counts = np.zeros((2, len(draws), self._size), np.int64)
        for pair in np.flatnonzero(draws).tolist():
            counts[:, pair] = self._count(pair, int(draws[pair]), int(self._taken[pair]))
            self._taken[pair] += draws[pair]
        if self._look is not None and not self._look.is_taken:
            self._look = self._look.counted(*counts)
        self._step(counts)

    def _step(self, counts: NDArray[np.int64]) -> None:
        state = self._state = step(self._state, *counts)
        at_claim = 0.0
        if state.claim is not None:
            at_claim = float(state.log_mean[np.searchsorted(state.grid, state.claim)])
        self._path.append((self._drawn, state.bound, at_claim))

    def finding(self) -> Finding:
        """What the bets show, with the event that shows most as a witness."""
        state, pairs, terms = self._state, self._opened.pairs, self._terms
        pair = self._look.pair if self._look is not None else leader(state).pair
        cells, draws = self._searches[pair].partition, int(state.draws[pair, 0])
        counts = np.stack([state.first[pair], state.second[pair]])[:, : cells.size]
        event = choose_event(
            counts, max(draws, 1), terms.own_confidence, hypothesis=state.hypothesis,
            positions=cells.positions(), ordered=cells.ordered,
        )  # fmt: skip
        inside = (counts * event.cells).sum(axis=1)
        shown = int(inside[0]), int(inside[1]), draws
        evidence = BetWealth(
            state, self._look, self._error, shown, int(event.larger), self._path, self._laid
        )
        text = cells.describe(event.cells)
        return Finding(
            statement=conclude(evidence, terms),
            evidence=Observed(
                counted=evidence,
                settings={**self._opened.settings, "num_cells": cells.size, "drawn": self._drawn},
                num_samples=int(self._searches[pair].halves[0].sum(axis=(0, 2)).min()),
                num_confirm=draws,
                region=self._opened.region,
                pair_scores=self._scores(),
            ),
            notes=[
                *terms.notes(),
                *pairs.equal_notes(),
                *dict.fromkeys(self._opened.notes),
                f"Ended after {self._drawn:,} draws a side, of all pairs together, in "
                f"{len(self._path)} blocks: {self.ended}.",
            ],
            witness=Witness(
                **compared(pairs, pair),
                output=text.removeprefix("the output is "),
                densities=(shown[0] / max(draws, 1), shown[1] / max(draws, 1)),
                larger=("database", "neighbor")[int(event.larger)],
                event=cells.describe(event.cells, whole=True),
                event_counts=shown[:2],
            ),
            pairs=pairs,
        )

    def _scores(self) -> tuple[tuple[str, float | None], ...]:
        """The bound to be expected of each pair from as many draws again, best first."""
        state, labels = self._state, self._opened.pairs.labels
        draws = max(int(state.draws.max()), 1)
        found = best_events(state, np.arange(len(labels)), draws, self._error).predicted
        order = np.argsort(-found, kind="stable")
        return tuple((labels[pair], float(found[pair])) for pair in order)
