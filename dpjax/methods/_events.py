"""Events: one is chosen by the draws that search, and counted on fresh ones.

An event is post-processing with two outcomes, so this works for every kind of output, and its
counts bound epsilon at every sample size, without an assumption.

References:
    Askin, Kutta, Dette (2022), Algorithm 4, for the two stages; Buehler (1957) for the bound.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from dpjax import _validate
from dpjax.inference import Event
from dpjax.notions import EventCounts, Terms
from dpjax.partitions._curve import curve_of
from dpjax.results import Finding, Witness, plain_database
from dpjax.sources import Opened, Request, Search, Source


@dataclass(frozen=True)
class Events:
    """An event with the largest bound to be expected is chosen, and its fresh counts bound.

    The bound is exact at every sample size and for every kind of output.

    Attributes:
        num_samples: n, outputs at each side of each pair that search.
        num_confirm: N, fresh outputs at each side of the pair that was chosen. Recorded outputs are
            split by their source instead.
        region: Outputs that the event may hold: (low, high) for numbers and vectors, a list of
            outcomes for a finite space; all if None.

    Raises:
        TypeError, ValueError: A number of draws is not an integer in [2, 2^31).
    """

    num_samples: int = 20_000
    num_confirm: int = 50_000
    region: Any = None
    name: ClassVar[str] = "events"

    def __post_init__(self):
        _validate.draws(num_samples=self.num_samples, num_confirm=self.num_confirm)

    def run(self, source: Source, pairs: Any, terms: Terms) -> Finding:
        """One audit.

        Args:
            source: Of any kind.
            pairs: Of databases, as a person writes them.
            terms: Of the audit.

        Raises:
            ValueError: The region is of another kind than the outputs, or none of them is in it.
        """
        request = Request(self.num_samples, self.num_confirm, self.region, terms.root, terms.layout)
        with source.opened(pairs, request) as opened:
            searches = opened.search()
            _refuse_empty_region(searches, opened)
            events = [
                choose(search, terms, opened.num_confirm, len(searches)) for search in searches
            ]
            best = int(np.argmax([event.predicted for event in events]))
            search, event = searches[best], events[best]
            counts = opened.confirm(best, search.partition, event.cells.astype(np.int64))
            return _finding(opened, searches, events, best, counts, terms)


def _refuse_empty_region(searches: list[Search], opened: Opened) -> None:
    """A region without outputs would look like a mechanism without a loss."""
    for search in searches:
        if search.allowed is None or search.halves[..., search.allowed].any():
            return
    raise ValueError(
        f"region {opened.region} lies outside the support of the outputs: none of those that "
        "searched fell into it."
    )


def choose(search: Search, terms: Terms, num_confirm: int, num_rivals: int) -> Event:
    """The event of one pair, with what never happened where it is simplest to say."""
    event = terms.notion.choose(
        search.partition,
        search.halves,
        search.allowed,
        num_confirm,
        terms.own_confidence,
        num_rivals,
    )
    # Before anything is confirmed, so that the words and the counts are of one event.
    cells = search.partition.settled(event.cells, search.halves.sum(axis=(0, 1)) > 0)
    return event._replace(cells=cells if search.allowed is None else cells & search.allowed)


def _finding(
    opened: Opened,
    searches: list[Search],
    events: list[Event],
    best: int,
    counts: np.ndarray,
    terms: Terms,
) -> Finding:
    (cells, halves, _), event = searches[best], events[best]
    notes = [*terms.notes(), *opened.pairs.equal_notes(), *opened.notes]
    trials = int(counts[0].sum()), int(counts[1].sum())
    # Marks are 0 and 1: without any cell in the event there is no column of it.
    inside = counts[:, 1] if counts.shape[1] > 1 else np.zeros(2, np.int64)
    mask = event.cells
    if not inside.any():
        # Its probability on either side is unknown, so what always happened is shown instead.
        if mask.any():
            notes.append("The event that the search chose did not happen in the draws to confirm.")
        inside, mask = np.array(trials), ~mask
    evidence = EventCounts(event._replace(cells=mask), inside, trials)
    text, whole = cells.describe(mask), cells.describe(mask, whole=True)
    if not event.cells.any():
        reason = (
            cells.describe(event.cells)
            if terms.notion.delta
            else ("no event: nothing tells the two apart")
        )
        text = whole = f"{whole} ({reason})"
    predicted = [float(event.predicted) for event in events]
    order = np.argsort(-np.array(predicted), kind="stable")
    pairs, searched = opened.pairs, halves.sum(axis=0)
    return Finding(
        statement=terms.notion.state(evidence, terms.own_confidence, terms.num_claims, terms.claim),
        witness=Witness(
            pair=pairs.labels[best],
            database=plain_database(pairs.sides[0][best]),
            neighbor=plain_database(pairs.sides[1][best]),
            output=text.removeprefix("the output is "),
            densities=(float(inside[0] / trials[0]), float(inside[1] / trials[1])),
            larger=("database", "neighbor")[int(event.larger)],
            event=whole,
            event_counts=(int(inside[0]), int(inside[1])),
        ),
        pairs=pairs,
        pair_scores=tuple((pairs.labels[i], predicted[i]) for i in order),
        region=opened.region,
        num_samples=int(searched.sum(axis=1).min()),
        num_confirm=min(trials),
        settings={
            **opened.settings,
            "num_cells": cells.size,
            "confirmed": list(trials),
            "share": float(event.share),
            "predicted": float(event.predicted),
        },
        notes=notes,
        curve=_curve(search=Search(cells, halves, None), event=mask),
    )


def _curve(search: Search, event: np.ndarray) -> dict[str, list] | None:
    """For a plot: labels that came with numbers are taken without them. None for vectors."""
    cells, counts = search.partition, search.halves.sum(axis=0)
    if len(cells.shape) > 1:
        return None
    if cells.boxed.tolist() not in ([], [0]):
        # In the event are the labels of which all that happened is.
        label, alone = cells.labels(), cells.without_numbers()
        outside = np.bincount(label, counts.sum(axis=0) * ~event, alone.size)
        cells, counts = alone, np.stack([np.bincount(label, c, alone.size) for c in counts])
        event = (outside == 0) & counts.any(axis=0)
    names = [*cells.names, "some other label"]
    return curve_of(counts, event, cells.bounds(), names.__getitem__)
