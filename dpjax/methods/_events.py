"""Events: one is chosen by the draws that search, or a chain of them, and counted on fresh ones.

An event is post-processing with two outcomes, so this works for every kind of output, and its
counts bound a level at every sample size, without an assumption. Notions that need more than one
event are bounded by a chain of nested ones.

References:
    Askin, Kutta, Dette (2022), Algorithm 4, for the two stages; Buehler (1957) for the bound.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpjax.core import validate
from dpjax.core.numerics import finite_or_none
from dpjax.core.options import option
from dpjax.core.wording import BadValue
from dpjax.inference import Event, Rounds, rounds_of, rounds_within
from dpjax.methods._chains import Plan, plan_chain
from dpjax.methods._findings import finding_of
from dpjax.methods._stopped import saying_so_far
from dpjax.notions import Terms
from dpjax.partitions import Partition
from dpjax.results import Finding
from dpjax.sources import Opened, Request, Search, Source

_SEARCH, _CONFIRM = 20_000, 50_000
"""Outputs a side that search at each pair, and that confirm, where nothing is said."""

_FEWEST = 10
"""Outputs a side for each pair, of a total."""


@dataclass(frozen=True)
class Events:
    """Lower bound from an event's counts, at every sample size and for every kind of output.

    The search chooses the event with the largest expected bound; fresh counts bound it. Of more
    than two pairs the better ones are searched again: 5/11 of the search is spent on all of them,
    the rest on one in four, two at least. Recorded outputs are split by their source instead.

    Attributes:
        num_samples: n, outputs at each side of a pair that search, on average over the pairs;
            20,000 if None.
        num_confirm: N, fresh outputs at each side of the pair that was chosen; 50,000 if None.
        region: Outputs that the event may hold: (low, high) for numbers and vectors, a list of
            outcomes for a finite space; all if None.
        num_draws: In place of both numbers, outputs a side in all: of several pairs 44% search, of
            one 2/7. If nothing is given, it is 20,000 times the number of pairs and 50,000.
        also: Whether a chain of sets is counted beside the event of a notion that one event bounds,
            with half of the error each, so that `AuditResult.bound` answers for every notion.

    Raises:
        TypeError, ValueError: A number of draws is not an integer in [2, 2^31), or a total was
            given with another number.

    References:
        Karnin, Koren, Somekh (2013): sequential halving.
    """

    num_samples: int | None = option(
        "n, draws a side and pair to search. Default: 20000.",
        default=None,
        only=("mechanism", "function", "host", "command"),
    )
    num_confirm: int | None = option(
        "N, fresh draws a side to confirm. Default: 50000.",
        default=None,
        only=("mechanism", "function", "host", "command"),
    )
    region: Any = option(
        "Where outputs are compared.",
        default=None,
        kind="tuple[float, float]",
        metavar="LOW HIGH",
    )
    num_draws: int | None = option(
        "Draws a side in all, to search and to confirm, in place of both numbers.",
        default=None,
        only=("mechanism", "function", "host", "command"),
    )
    also: bool = option(
        "Count a chain of sets too, with half of the error, so that the result answers for every "
        "notion.",
        default=False,
        flag="--also",
    )
    name: ClassVar[str] = "events"

    def __post_init__(self):
        names = ("num_samples", "num_confirm", "num_draws")
        given = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        validate.draws(**given)
        if self.num_draws is not None and len(given) > 1:
            raise BadValue(
                "num_draws must be given alone, for it is the total, but so were "
                f"{' and '.join(sorted(given.keys() - {'num_draws'}))}."
            )

    def rounds(self, num_pairs: int) -> Rounds:
        """How many outputs search and confirm.

        Args:
            num_pairs: At least 1.

        Raises:
            ValueError: `num_draws` is too small for so many pairs.
        """
        if self.num_samples is not None or self.num_confirm is not None:
            search = num_pairs * (self.num_samples or _SEARCH)
            return rounds_of(num_pairs, search, self.num_confirm or _CONFIRM)
        if self.num_draws is None:
            return rounds_within(num_pairs, num_pairs * _SEARCH + _CONFIRM)
        if self.num_draws < _FEWEST * num_pairs:
            raise BadValue(
                f"num_draws must be at least {_FEWEST * num_pairs}, {_FEWEST} for each pair, but "
                f"was {self.num_draws}."
            )
        return rounds_within(num_pairs, self.num_draws)

    def run(self, source: Source, pairs: Any, terms: Terms) -> Finding:
        """One audit.

        Args:
            source: Of any kind.
            pairs: Of databases, as a person writes them.
            terms: Of the audit.

        Raises:
            ValueError: The region is of another kind than the outputs, or none of them is in it.
        """
        request = Request(
            self.rounds, self.region, partial(_promise, terms), terms.root, terms.layout
        )
        with (
            source.opened(pairs, request) as opened,
            saying_so_far(opened.tally, terms) as so_far,
        ):
            searches = opened.search()
            _refuse_empty_region(searches, opened)
            rounds = self.rounds(len(searches))
            promised, kept = _searched_again(searches, opened, terms, rounds)
            plans = {
                pair: self.plan(searches[pair], terms, opened.num_confirm, len(kept))
                for pair in kept
            }
            best = max(kept, key=lambda pair: (plans[pair].predicted, plans[pair].tie))
            # Others come after those that were searched to the end, whatever they promised.
            scores = promised | {pair: plans[pair].predicted for pair in kept}
            order = sorted(scores, key=lambda pair: (pair not in plans, -scores[pair]))
            search, plan = searches[best], plans[best]
            so_far.evidence = plan.evidence
            counts = opened.confirm(best, search.partition, plan.marks)
            ranked = tuple(
                (opened.pairs.labels[pair], finite_or_none(scores[pair])) for pair in order
            )
            return finding_of(opened, search, plan, best, counts, terms, (rounds, ranked))

    def plan(self, search: Search, terms: Terms, num_confirm: int, num_rivals: int) -> Plan:
        """What would be confirmed of one pair.

        Args:
            search: Of the pair.
            terms: Of the audit.
            num_confirm: N, fresh outputs a side.
            num_rivals: How many pairs are searched to the end.
        """
        if terms.notion.hypothesis() is None:
            return plan_chain(search, terms, num_confirm, None)
        event = choose(search, terms, num_confirm, num_rivals)
        if self.also:
            return plan_chain(search, terms, num_confirm, event)
        return Plan(event, None, float(event.predicted), 0.0)


def _promise(terms: Terms, cells: Partition, halves: NDArray[np.int64], num_confirm: int) -> float:
    """By which one of several partitions of a pair is chosen."""
    search = Search(cells, halves, None)
    return float(terms.notion.promise(*_looked_at(search, terms, num_confirm, 1)))


def _searched_again(
    searches: list[Search], opened: Opened, terms: Terms, rounds: Rounds
) -> tuple[dict[int, float], list[int]]:
    """Draws the second round for the pairs that promise most, and adds it to their counts.

    Returns:
        The bound that each pair promises, of those that were ranked, and the pairs that were kept.
    """
    num_pairs = len(searches)
    if not rounds.num_kept:
        return {}, list(range(num_pairs))
    promised = {
        pair: float(terms.notion.promise(*_looked_at(search, terms, opened.num_confirm, num_pairs)))
        for pair, search in enumerate(searches)
    }
    kept = sorted(promised, key=lambda pair: -promised[pair])[: rounds.num_kept]
    for pair, more in zip(kept, opened.search_again(kept), strict=True):
        searches[pair] = searches[pair]._replace(halves=searches[pair].halves + more)
    return promised, kept


def _looked_at(search: Search, terms: Terms, num_confirm: int, num_rivals: int) -> tuple:
    """What a notion is asked about a search."""
    cells, halves, allowed = search
    return cells, halves, allowed, num_confirm, terms.own_confidence, num_rivals


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
    event = terms.notion.choose(*_looked_at(search, terms, num_confirm, num_rivals))
    # Before anything is confirmed, so that the words and the counts are of one event.
    cells = search.partition.settled(event.cells, search.halves.sum(axis=(0, 1)) > 0)
    return event._replace(cells=cells if search.allowed is None else cells & search.allowed)
