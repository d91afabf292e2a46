"""Chains of sets as evidence: every notion from one count of the cells of fresh outputs."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.inference import Chain, Event
from dpjax.notions import ChainCounts, EventAndChain, EventCounts, Evidence, Profile, Terms
from dpjax.sources import Search


class Plan(NamedTuple):
    """What the search of one pair would confirm.

    Attributes:
        event: Of the notion that was named; None where it needs a chain.
        chain: Of every notion; None where an event alone is counted.
        predicted: The bound that is to be expected.
        tie: By which pairs are told apart of which the same is expected.
    """

    event: Event | None
    chain: Chain | None
    predicted: float
    tie: float

    @property
    def marks(self) -> NDArray[np.int64]:
        """Marks of cells, int64 [cells], of which the counts of all sets follow."""
        if self.chain is None:
            assert self.event is not None
            return self.event.cells.astype(np.int64)
        place = self.chain.place
        return place if self.event is None else 2 * place + self.event.cells

    def evidence(self, counts: NDArray[np.int64]) -> Evidence:
        """Of counts [2, marks] of fresh outputs; marks without cells may be left out, or added."""
        trials = int(counts[0].sum()), int(counts[1].sum())
        size = 1 if self.chain is None else self.chain.num_sets + 1
        parts = 1 if self.event is None else 2
        whole = np.zeros((2, size * parts), np.int64)
        used = min(counts.shape[1], whole.shape[1])
        whole[:, :used] = counts[:, :used]
        whole = whole.reshape(2, size, parts)
        if self.chain is None:
            assert self.event is not None
            return EventCounts(self.event, whole[:, :, 1].sum(axis=1), trials)
        inside = self.chain.inside(whole.sum(axis=2))
        chain = ChainCounts(inside, trials, self.chain.usable)
        if self.event is None:
            return chain
        return EventAndChain(EventCounts(self.event, whole[:, :, 1].sum(axis=1), trials), chain)


def plan_chain(search: Search, terms: Terms, num_confirm: int, event: Event | None) -> Plan:
    """The chain of one pair, alone or beside the event of a notion that was named.

    Args:
        search: Of the pair.
        terms: Of the audit.
        num_confirm: N, fresh outputs a side.
        event: Of the notion, or None.
    """
    # Beside an event, the chain is that of the whole profile.
    notion = terms.notion if event is None else Profile()
    chain, *expected = notion.chain(
        search.partition, search.halves, search.allowed, num_confirm, terms.own_confidence
    )
    seen = search.halves.sum(axis=(0, 1)) > 0
    place = search.partition.spread(chain.place, seen, chain.num_sets)
    if search.allowed is not None:
        place = np.where(search.allowed, place, chain.place)
    chain = chain._replace(place=place)
    if event is not None:
        return Plan(event, chain, float(event.predicted), 0.0)
    return Plan(None, chain, *expected)
