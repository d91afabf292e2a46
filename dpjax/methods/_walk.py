"""The state of a sequential audit in progress: its draws, bets and cells.

The first draws determine the cells, and no bets are placed on these draws. Each later block
contains draws for the most promising pairs. The bets on a block depend only on earlier blocks, so
the bound is valid at any time. Therefore, an audit may end when the claim is refuted, when a limit
on draws or time is reached, or when the user stops the audit. Each time the number of draws has
grown by half, the cells are determined again, up to a limit on the number of draws. Without a
claim, part of the error probability is reserved for one exact bound, called the look. The event of
the look is fixed before any draw is counted for the look.

References:
    Ville (1939) and Waudby-Smith, Ramdas (2024), for the bets; Jamieson, Talwalkar (2016), for the
    phases in which an audit without a claim drops pairs.
"""

import math
import time
from dataclasses import replace
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from dpjax.core import random
from dpjax.inference import (
    Look,
    Wealth,
    allocation,
    best_events,
    best_pairs,
    choose_event,
    errors,
    leader,
    levels_of_bets,
    outgrown,
    phases,
    planned_look,
    recounted,
    start,
    step,
)
from dpjax.methods._draw_times import DrawTimes
from dpjax.methods._stopped import ending, whole
from dpjax.notions import BetWealth, Terms
from dpjax.partitions import Partition
from dpjax.results import Finding, Observed, Witness, compared, conclude
from dpjax.sources import Marked, OpenedInTurn, numbers_of_databases

ENDLESS = 2**31 - 1
"""Number of draws per side that stands for "no limit"."""

_GROWTH, _GROWTH_COMPILED, _LEAST = 0.12, 0.5, 40
"""Size of a block in an audit without a claim.

The size is _GROWTH times the number of draws in all earlier blocks, or _GROWTH_COMPILED times this
number for a compiled mechanism. A block has at least _LEAST draws per side.
"""

TINY = 1e-9
"""Level that replaces a claim of 0 in bets."""


class Walk:
    """One sequential audit in progress.

    Args:
        opened: Source of the draws.
        terms: Terms of the audit. The terms include the bets of the earlier audit, if there is one.
        total: Largest number of draws per side, summed over all pairs.
        few: Whether draws are few or expensive.
        run: Index of the run.
        redraws: Whether a later audit can draw a block again in full if a limit cut it short.
        compiles: Whether the measured time of the first count includes compilation.

    Attributes:
        ended: The reason why the audit ended, in words.
        cut_short: Settings that state why the audit is incomplete; empty if it is complete.
    """

    def __init__(
        self,
        opened: OpenedInTurn,
        terms: Terms,
        total: int,
        *,
        few: bool,
        run: int,
        redraws: bool,
        compiles: bool,
    ):
        self.ended, self._redraws = "all draws were used", redraws
        self.cut_short: dict[str, bool] = {}
        self._opened, self._terms = opened, terms
        self._searches = opened.search()
        drawn = [int(search.halves[0, :, 0].sum()) for search in self._searches]
        self._first = drawn[0]
        self._numbers = numbers_of_databases(opened.pairs)
        # There may be fewer recorded outputs than `total`.
        self._total = min(total, opened.num_confirm + sum(drawn))
        self._error = 1 - terms.own_confidence
        level, hypothesis = terms.level, terms.notion.hypothesis(terms.distance)
        assert hypothesis is not None
        earlier = terms.earlier
        # An audit may have only one look, which the earlier audit has already used.
        self._hybrid = level is None and self._total < ENDLESS and earlier is None
        first, self._look_error = errors(self._error) if self._hybrid else (self._error, 0.0)
        self._key = [int(word) for word in random.words_of(terms.root)]
        self._run: int = run
        self._look: Look | None = None
        self._path: list[tuple[int, float, float]] = []
        self._times = DrawTimes(len(drawn), compiles=compiles)
        self._growth = _GROWTH_COMPILED if compiles else _GROWTH
        self._before: Wealth | None = None
        # Number of draws per side from which the cells of each pair were constructed.
        self._laid = np.array(drawn)
        self._size = max(cells.size for cells in self._cells)
        if earlier is not None:
            self._go_on(earlier)
            return
        self._state = start(
            len(drawn),
            self._size,
            first,
            hypothesis=hypothesis,
            claim=None if level is None else max(level, TINY),
            few=few,
            **self._line,
            grid=levels_of_bets(hypothesis.levels, level),
            shared=self._shared(),
        )
        # Do not bet on the first draws because bets are chosen from earlier draws.
        self._step(self._searched())

    @property
    def _cells(self) -> list[Partition]:
        return [search.partition for search in self._searches]

    @property
    def _line(self) -> dict[str, bool]:
        """Whether all pairs have ordered cells, and whether any has a monotonic loss."""
        ordered = all(cells.ordered and len(cells.shape) == 1 for cells in self._cells)
        return {"ordered": ordered, "monotonic": any(cells.monotonic for cells in self._cells)}

    def _shared(self) -> NDArray[np.int64]:
        """Return the IDs of the databases, int64 [pairs, 2]. See `Wealth.shared`."""
        seen: dict[object, int] = {}
        found = np.empty((len(self._searches), 2), np.int64)
        for (pair, side), number in np.ndenumerate(self._numbers):
            key = int(number), self._cells[pair].key
            found[pair, side] = seen.setdefault(key, len(seen))
        return found

    @property
    def _drawn(self) -> int:
        return int(self._state.draws[:, 0].sum())

    @property
    def _taken(self) -> NDArray[np.int64]:
        """Number of draws per side of each pair, excluding the first draws, int64 [pairs]."""
        return self._state.draws[:, 0] - self._first

    def _searched(self) -> NDArray[np.int64]:
        """Return int64 [2, pairs, cells], the counts of those draws that determined the cells."""
        counts = np.zeros((2, len(self._searches), self._size), np.int64)
        for pair, search in enumerate(self._searches):
            counts[:, pair, : search.partition.size] = search.halves[0].sum(axis=0)
        return counts

    def _digest(self) -> str:
        counts = [search.halves[0].sum(axis=0).tobytes() for search in self._searches]
        return blake2b(b"".join(counts), digest_size=16).hexdigest()

    def _go_on(self, earlier: BetWealth) -> None:
        """Continue from the state of an earlier audit with the same outputs."""
        # If the limit on draws cut the last block short, go back and draw this block in full.
        # A block that refuted the claim is kept, because a refuted claim stays refuted.
        before = None if earlier.wealth.is_claim_refuted else earlier.before
        self._state = earlier.wealth if before is None else before
        self._path = list(earlier.path if before is None else earlier.path[:-1])
        self._look = earlier.look if earlier.look is not None and earlier.look.is_taken else None
        self._size = max(self._size, self._state.first.shape[1])
        if len(earlier.laid_by) == len(self._laid):
            for pair in np.flatnonzero(earlier.laid_by > self._laid).tolist():
                self._lay(pair, int(earlier.laid_by[pair]))
        if self._state.first.shape[0] != len(self._laid) or earlier.laid != self._digest():
            raise ValueError(
                "the audit cannot be continued because its first outputs are no longer the same: "
                "the mechanism or the recordings changed, or the function takes no seed."
            )

    def refuse_other_outputs(self) -> None:
        """Raise an error unless the recorded outputs begin with the outputs of the earlier audit.

        Raises:
            ValueError: If outputs that the earlier audit counted have changed or are missing.
        """
        taken, laid = int(self._taken[0]), int(self._laid[0]) - self._first
        if taken <= laid:
            return
        found = np.stack([self._state.first[0], self._state.second[0]]) - self._searched()[:, 0]
        if taken > self._opened.num_confirm or not np.array_equal(
            self._count(0, taken - laid, laid), found
        ):
            raise ValueError(
                f"the audit cannot be continued because the first {self._drawn:,} outputs on each "
                "side differ from the outputs that it counted: add new outputs only at the end."
            )

    def _count(self, pair: int, size: int, first: int) -> NDArray[np.int64]:
        """Return the counts of `size` fresh outputs per side of a pair, int64 [2, cells]."""
        cells = np.arange(self._searches[pair].partition.size)
        marked = Marked(np.array([pair]), cells[None], self._size, first, size)
        with self._times.measured(pair, size):
            return self._opened.count(marked)[0]

    def go(self, deadline: float | None) -> None:
        """Draw and bet until the audit ends."""
        if not self._hybrid:
            while self._drawn < self._total and not self._is_over(deadline):
                self._lay_outgrown()
                # Seed each block separately, so that a resumed audit and an uninterrupted audit
                # make the same choices.
                bits = np.random.Philox(key=self._key, counter=[0, 0, self._run, len(self._path)])
                draws = allocation(self._state, np.random.Generator(bits))
                if self._block(draws, deadline) < draws.sum():
                    return
            return
        kept = np.arange(len(self._searches))
        for number, phase in enumerate(phases(self._total, len(kept))):
            if number:
                kept = best_pairs(self._state, phase.pairs, phase.draws, self._look_error)
            # The draws that determined the first cells are part of the first phase.
            left = phase.draws - (0 if number else self._first)
            left = min(left, (self._total - self._drawn) // phase.pairs)
            # If there are few draws, the first phases may use all of them.
            if number and phase.pairs == 1 and left > 0:
                self._look = planned_look(self._state, kept, left, self._look_error)
                kept = np.array([self._look.pair])
            while left > 0 and not self._is_over(deadline):
                if self._look is None:
                    self._lay_outgrown()
                amount = min(left, max(math.ceil(self._growth * self._drawn / len(kept)), _LEAST))
                draws = np.zeros(len(self._searches), np.int64)
                draws[kept] = amount
                if self._block(draws, deadline) < draws.sum():
                    return
                left -= amount

    def _is_over(self, deadline: float | None) -> bool:
        if self._state.is_claim_refuted:
            self.ended = "the claim was refuted"
        elif deadline is not None and time.perf_counter() >= deadline:
            self.ended = "the time limit was reached"
        else:
            return False
        return True

    @whole
    def _lay_outgrown(self) -> None:
        """Construct new cells for each pair with many new draws, and recount all draws of the pair.

        Later bets remain valid because they still depend only on earlier blocks.
        """
        if self._opened.lays_once:
            return
        draws = self._state.draws[:, 0]
        pairs = outgrown(draws, self._laid).tolist()
        for pair in pairs:
            self._lay(pair, int(draws[pair]))
        if not pairs:
            return
        room = self._size - self._state.first.shape[1]
        counts = [
            np.pad(side, ((0, 0), (0, room))) for side in (self._state.first, self._state.second)
        ]
        for side, searched in zip(counts, self._searched(), strict=True):
            side[pairs] = searched[pairs]
        after = recounted(self._state, *counts, shared=self._shared())
        self._state = replace(after, **self._line)

    def _lay(self, pair: int, draws: int) -> None:
        """Construct the cells of a pair from its first draws."""
        search = self._opened.lay_again(pair, draws - self._first)
        # Reset the tally because counts in old and new cells cannot be added. The state contains
        # all counts.
        self._opened.tally.confirmed = None
        self._searches[pair], self._laid[pair] = search, draws
        self._size = max(self._size, search.partition.size)

    @whole
    def _block(self, draws: NDArray[np.int64], deadline: float | None) -> int:
        """Draw a block, place bets on its outputs, and return the number of draws per side.

        If the limit on draws or the deadline is reached, the block is cut short.

        Args:
            draws: int64 [pairs], planned number of draws per side of each pair.
            deadline: Value of `time.perf_counter()` at which the audit ends, or None.
        """
        most = self._total - self._drawn
        is_cut = not self._hybrid and draws.sum() > most
        if is_cut:
            draws = draws * most // draws.sum()
            draws[np.argmax(draws)] += most - draws.sum()
        share = self._times.share_until(deadline, draws)
        if share < 1:
            draws, is_cut = (share * draws).astype(np.int64), not self._hybrid
            self.ended = "the time limit was reached"
            if not draws.any():
                return 0
        counts = np.zeros((2, len(draws), self._size), np.int64)
        for pair in np.flatnonzero(draws).tolist():
            counts[:, pair] = self._count(pair, int(draws[pair]), int(self._taken[pair]))
        if self._look is not None and not self._look.is_taken:
            self._look = self._look.counted(*counts)
        self._before = self._state if is_cut and self._redraws else None
        self._step(counts)
        return int(draws.sum())

    def _step(self, counts: NDArray[np.int64]) -> None:
        state = self._state = step(self._state, *counts)
        self._path.append((self._drawn, state.bound, state.log_at_claim))

    def finding(self) -> Finding:
        """Return the finding, whose witness is the event with the largest expected bound."""
        state, pairs, terms = self._state, self._opened.pairs, self._terms
        pair = self._look.pair if self._look is not None else leader(state).pair
        cells, draws = self._searches[pair].partition, int(state.draws[pair, 0])
        counts = np.stack([state.first[pair], state.second[pair]])[:, : cells.size]
        event = choose_event(
            counts, max(draws, 1), terms.own_confidence, hypothesis=state.hypothesis,
            positions=cells.positions(), ordered=cells.ordered, monotonic=cells.monotonic,
        )  # fmt: skip
        inside = (counts * event.cells).sum(axis=1)
        shown = int(inside[0]), int(inside[1]), draws
        evidence = BetWealth(
            state, self._look, self._error, shown, int(event.larger), self._path, self._digest(),
            self._laid, self._before, self._opened.held,
        )  # fmt: skip
        text = cells.describe(event.cells)
        return Finding(
            statement=conclude(evidence, terms),
            evidence=Observed(
                counted=evidence,
                settings={
                    **self._opened.settings,
                    "num_cells": cells.size,
                    "drawn": self._drawn,
                    **self.cut_short,
                },
                num_samples=self._first,
                num_confirm=draws,
                region=self._opened.region,
                pair_scores=self._scores(),
            ),
            notes=[
                *terms.notes(),
                *pairs.equal_notes(),
                *dict.fromkeys(self._opened.notes),
                ending(self._drawn, len(self._path), self.ended),
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
        """Return the pairs' expected bounds for equal numbers of draws, in decreasing order."""
        state, labels = self._state, self._opened.pairs.labels
        draws = max(int(state.draws.max()), 1)
        found = best_events(state, np.arange(len(labels)), draws, self._error).predicted
        order = np.argsort(-found, kind="stable")
        return tuple((labels[pair], float(found[pair])) for pair in order)
