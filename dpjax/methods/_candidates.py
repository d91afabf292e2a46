"""Candidates for confirmation. A candidate is an event, a chain of sets, or both."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.inference import MOST_SETS, Chain, Event, divided
from dpjax.notions import (
    ChainCounts,
    EventAndChain,
    EventCounts,
    Evidence,
    Notion,
    Profile,
    Terms,
)
from dpjax.partitions import Budget, Partition, Search


class Candidate(NamedTuple):
    """A candidate for confirmation, found by the search of one pair in one run.

    Attributes:
        event: Event whose counts bound the level of the audit's notion, or None if the notion
            requires a chain.
        chain: Chain of sets whose counts bound the level of every notion, or None if only an event
            is counted.
        predicted: Expected lower bound.
        tie: Score that breaks ties between pairs with equal expected bounds.
    """

    event: Event | None
    chain: Chain | None
    predicted: float
    tie: float = 0.0

    @property
    def marks(self) -> NDArray[np.int64]:
        """Mark of each cell, int64 [cells].

        Outputs in cells with equal marks are counted together.
        """
        if self.chain is None:
            assert self.event is not None
            return self.event.cells.astype(np.int64)
        place = self.chain.place
        return place if self.event is None else 2 * place + self.event.cells

    def sizes(self, num_confirm: int) -> NDArray[np.int64]:
        """Return the number of fresh outputs to draw from each of the two databases, int64 [2].

        The sum of the numbers is `2 * num_confirm`. If only a chain is counted, both numbers are
        equal.
        """
        if self.event is None:
            return np.full(2, num_confirm, np.int64)
        sizes = np.array(divided(self.event.ratio, num_confirm))
        return sizes[::-1] if self.event.larger else sizes

    def settled(self, search: Search) -> "Candidate":
        """Return a candidate whose description is simpler because empty cells are reassigned.

        Cells without outputs in the search set may be added to the event or removed from it, or
        moved to other sets of the chain. Call this method before any confirmation output is counted
        because a candidate must be fixed in advance.
        """
        partition, allowed, event, chain = search.partition, search.allowed, self.event, self.chain
        if event is not None:
            cells = partition.settled(event.cells, search.seen)
            event = event._replace(cells=cells if allowed is None else cells & allowed)
        if chain is not None:
            place = partition.spread(chain.place, search.seen, chain.num_sets)
            if allowed is not None:
                place = np.where(allowed, place, chain.place)
            chain = chain._replace(place=place)
        return self._replace(event=event, chain=chain)

    def evidence(self, counts: NDArray[np.int64]) -> Evidence:
        """Return the evidence that consists of the candidate and counts of fresh outputs.

        Args:
            counts: int64 [2, marks], number of outputs with each mark, from the database and from
                its neighbor.
        """
        trials = int(counts[0].sum()), int(counts[1].sum())
        size = 1 if self.chain is None else self.chain.num_sets + 1
        parts = 1 if self.event is None else 2
        whole = counts[:, : size * parts].reshape(2, size, parts)
        event = None
        if self.event is not None:
            event = EventCounts(self.event, whole[:, :, 1].sum(axis=1), trials)
        if self.chain is None:
            assert event is not None
            return event
        inside = self.chain.inside(whole.sum(axis=2))
        chain = ChainCounts(inside, trials, self.chain.usable)
        return chain if event is None else EventAndChain(event, chain)


def num_marks(candidate: Candidate) -> int:
    """Return the largest number of distinct marks that a candidate with the same parts can have.

    The parts are an event, a chain, or both. If the arrays of all runs have the returned length,
    one compiled program serves all runs.
    """
    parts = 1 if candidate.event is None else 2
    return parts if candidate.chain is None else parts * (MOST_SETS + 1)


def candidates(
    searches: Sequence[Search], terms: Terms, budget: Budget, also: bool
) -> list[list[Candidate]]:
    """Return one list per pair, with one candidate per run.

    Args:
        searches: Search sets of the pairs, with counts [runs, 2 halves, 2 sides, cells].
        terms: Terms of the audit.
        budget: Settings of the confirmation: the number of fresh outputs, the confidence, and the
            number of searched pairs.
        also: Whether to count a chain in addition to the event. The argument is ignored if the
            notion requires a chain.
    """
    notion = terms.notion
    events: list[Event] | list[None] = [None] * len(searches)
    if notion.hypothesis() is not None:
        events = notion.choices(searches, budget)
    found = []
    for search, of_pair in zip(searches, events, strict=True):
        runs = range(len(search.halves))
        of_runs = [None if of_pair is None else of_pair.at((run,)) for run in runs]
        if also or of_pair is None:
            found.append([_with_chain(search.at(r), notion, budget, of_runs[r]) for r in runs])
        else:
            found.append([Candidate(e, None, float(e.predicted)) for e in of_runs if e is not None])
    return found


def _with_chain(search: Search, notion: Notion, budget: Budget, event: Event | None) -> Candidate:
    if event is None:
        return Candidate(None, *notion.chain(search, budget))
    # The event bounds the notion, so choose the chain with the best bound on the privacy profile.
    return Candidate(event, Profile().chain(search, budget)[0], float(event.predicted))


def promised(
    terms: Terms,
    cells: Partition,
    halves: NDArray[np.int64],
    num_confirm: int,
    num_partitions: int = 1,
) -> float:
    """Return the expected bound for a partition of the outputs.

    The expected bound is computed from the pilot, which consists of the first outputs of an audit.
    An audit compares multiple partitions and uses the partition with the largest expected bound.

    Args:
        terms: Terms of the audit.
        cells: The partition.
        halves: int64 [half, side, cells], counts of the pilot.
        num_confirm: Number of fresh outputs per side in the confirmation.
        num_partitions: Number of partitions that are compared. The larger this number, the more the
            estimated ratios are shrunk.
    """
    budget = Budget(num_confirm, terms.own_confidence, num_partitions=num_partitions)
    return float(terms.notion.promise(Search(cells, halves, None), budget))
