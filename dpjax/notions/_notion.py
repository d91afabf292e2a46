"""The base class of notions of privacy, which guide the search and turn counts into levels.

A notion bounds its level from the counts of one event, by its hypothesis, or from the confidence
band of a chain of nested sets.
"""

import math
from collections.abc import Sequence
from dataclasses import Field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpjax.core.wording import BadType
from dpjax.inference import (
    WORTH,
    Band,
    Chain,
    Event,
    Hypothesis,
    Way,
    chain_of,
    epsilon_of,
    event_lower_bound,
    expected_bands,
    gdp_of,
    largest,
    of_sets,
    simpler,
)
from dpjax.notions import _claims
from dpjax.notions._asked import Asked, chosen, fresh, promised
from dpjax.notions._claims import Claim
from dpjax.notions._statement import Crossing
from dpjax.partitions import Budget, Partition, Search

_FEW_BINS = 32
"""If every axis has at most this many bins, cells are ordered only by their own ratios."""

_HUGE = 1e300
"""Finite number that replaces an infinite bound when bounds are averaged."""


class Notion:
    """A notion of privacy, whose options are the fields of a frozen dataclass.

    Attributes:
        name: Name of the notion on the command line and in recipes.
        unit: Unit of the level, and a sentence that explains it.
        takes_delta: Whether `delta` is an option of the notion.
        delta: Delta of (epsilon, delta)-differential privacy, or 0 for other notions.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[object]]]
    name: ClassVar[str]
    unit: ClassVar[tuple[str, str]]
    takes_delta: ClassVar[bool] = False
    delta: float = 0.0

    @property
    def symbol(self) -> str:
        """Name of the level, with its options."""
        raise NotImplementedError

    @property
    def quantity(self) -> str:
        """Name of the level, without a delta."""
        return self.symbol

    @property
    def claimable(self) -> str:
        """Name of the quantity that a claim is about."""
        return self.symbol

    def of_band(self, band: Band, distance: int = 1) -> float:
        """Return the lower bound on the level that follows from a band, at least 0.

        Args:
            band: Band of a chain.
            distance: Number k of records in which the databases of the pair differ. The bound is
                for one record.
        """
        raise NotImplementedError

    def hypothesis(self, distance: int = 1) -> Hypothesis | None:
        """Return the hypothesis about one event, or None if the notion has none."""
        return None

    def value(self, p: NDArray, q: NDArray) -> NDArray[np.float64]:
        """Return scores of events with probabilities p and q, to choose a witness."""
        return gdp_of(p, q)

    def refuse_distance(self, distance: int) -> None:
        """Raise an error if pairs at a distance imply no bound for one record."""

    def point(self, place: float, shown: float) -> str:
        """Describe in words a bound on a curve at one point."""
        raise NotImplementedError

    def claimed(self, claim: object) -> Claim:
        """Convert a claim to a number in the notion's unit, or to points of a curve.

        Raises:
            TypeError, ValueError: When the claim is neither a number nor a curve of this notion, or
                when it is out of range.
        """
        _claims.refuse_text(claim)
        if not _claims.is_number(claim):
            raise BadType(f"claim must be a number for {self.symbol}, but was {claim!r}.")
        return _claims.number(claim)

    def choose(self, search: Search, budget: Budget) -> Event:
        """Choose the event with the largest expected bound, or a nearly as good simpler event.

        Args:
            search: Search set of one pair, in one or several runs. One half of the set is used to
                make sets of cells, and the other half to evaluate them.
            budget: Confirmation draws, confidence and number of rival pairs.

        Returns:
            One event per run, stacked along the leading axes of the counts.

        Raises:
            ValueError: When the notion has no hypothesis about one event.
        """
        return self.choices([search], budget)[0]

    def choices(self, searches: Sequence[Search], budget: Budget) -> list[Event]:
        """Return what `choose` returns for each pair; alike pairs are evaluated together.

        Args:
            searches: Search sets of several pairs, each in one or several runs.
            budget: Confirmation draws, confidence and number of rival pairs.

        Raises:
            ValueError: When the notion has no hypothesis, since it needs more than one event.
        """
        hypothesis = self._of_an_event()
        asked = [
            Asked(search, search.partition.positions(), search.partition.coarser())
            for search in searches
        ]
        found = []
        for each, event in zip(asked, chosen(asked, budget, hypothesis), strict=True):
            partition, halves, allowed = each.search
            # Events of codes, or of sums of several numbers, are not easy to describe.
            lines = each.positions[: len(partition.shape)] if partition.ordered else []
            batch, terms = event.larger.shape, (fresh(budget), budget.confidence, hypothesis)
            simple = [
                simpler(event.at(at), halves[at], lines, allowed, *terms)
                for at in np.ndindex(batch)
            ]
            found.append(Event.stacked(simple, batch))
        return found

    def _of_an_event(self, distance: int = 1) -> Hypothesis:
        """Return the hypothesis about one event, or raise an error if the notion has none."""
        found = self.hypothesis(distance)
        if found is None:
            raise ValueError(f"{self.symbol} cannot be bounded by the counts of one event.")
        return found

    def promise(self, search: Search, budget: Budget) -> NDArray[np.float64]:
        """Return approximate expected bounds of a pair, computed with few cells, to rank pairs.

        Args:
            search: Search set of one pair, in one or several runs.
            budget: Confirmation draws, confidence and number of rival pairs.

        Returns:
            One bound per run, along the leading axes of the counts.
        """
        return self.promises([search], budget)[0]

    def promises(self, searches: Sequence[Search], budget: Budget) -> list[NDArray[np.float64]]:
        """Return what `promise` returns for each pair; alike pairs are evaluated together.

        Args:
            searches: Search sets of several pairs, each in one or several runs.
            budget: Confirmation draws, confidence and number of rival pairs.
        """
        hypothesis, asked, found = self.hypothesis(), [], []
        for search in searches:
            merged, may, positions = merged_counts(*search)
            asked.append(Asked(search._replace(halves=merged, allowed=may), positions))
        if hypothesis is not None:
            return promised(asked, budget, hypothesis)
        for (_, merged, may), *_ in asked:
            bounds = [
                self._mean_of(
                    expected_bands(counts, budget.num_confirm, 1 - budget.confidence, may)
                )
                for counts in merged.reshape(-1, *merged.shape[-3:])
            ]
            found.append(np.array(bounds).reshape(merged.shape[:-3]))
        return found

    def chain(self, search: Search, budget: Budget) -> tuple[Chain, float, float]:
        """Choose the chain to confirm. Its cells are ordered by ratio, by group or by position.

        Args:
            search: Search set of one pair in one run.
            budget: Confirmation draws and confidence.

        Returns:
            The chain, its expected bound, and its expected mu of Gaussian privacy, which breaks
            ties between pairs.
        """
        partition, halves, allowed = search
        num_confirm, error, ways = budget.num_confirm, 1 - budget.confidence, ways_of(partition)
        tried = [expected_bands(halves, num_confirm, error, allowed, way) for way in ways]
        # Differences near the middle of the distributions increase mu; differences in the tails
        # increase epsilon.
        shifts = [sum(largest(b, gdp_of) for b in bands) for bands in tried]
        tails = [sum(largest(b, epsilon_of(0.0)) for b in bands) for bands in tried]
        scores = [shift + tail for shift, tail in zip(shifts, tails, strict=True)]
        # Prefer sets along a numeric entry, since half-lines are easy to describe.
        worth = [i for i, way in enumerate(ways) if way.line is not None or len(ways) == 1]
        worth = [i for i in worth if scores[i] >= WORTH * max(scores)]
        best = max(worth or range(len(ways)), key=lambda i: (scores[i], -i))
        chain = chain_of(halves.sum(axis=0), num_confirm, allowed, ways[best])
        return chain, self._mean_of(tried[best]), shifts[best] / max(len(tried[best]), 1)

    def _mean_of(self, bands: Sequence[Band]) -> float:
        """Return the mean of the bounds that follow from several bands."""
        return sum(min(self.of_band(band), _HUGE) for band in bands) / max(len(bands), 1)

    def of_event(
        self,
        larger: NDArray[np.int64],
        smaller: NDArray[np.int64],
        trials: tuple[int, int],
        confidence: float,
        distance: int = 1,
    ) -> NDArray[np.float64]:
        """Return exact lower bounds from the counts of one event.

        Args:
            larger: Counts of the event, integers [...], at the side where the event should be
                likelier.
            smaller: Counts of the event, integers [...], at the other side.
            trials: Numbers of confirmation draws at the likelier side and at the other side.
            confidence: Confidence of each bound.
            distance: Number of records in which the databases of the pair differ.

        Raises:
            ValueError: When the notion has no hypothesis about one event.
        """
        hypothesis = self._of_an_event(distance)
        return event_lower_bound(larger, smaller, *trials, confidence, hypothesis)

    def of_shares(self, p: NDArray, q: NDArray, distance: int) -> NDArray[np.float64]:
        """Return the level, at least 0, for known probabilities p and q of one event."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(p > q, self.value(p, q), 0.0)
        return np.maximum(np.nan_to_num(found, posinf=np.inf), 0.0) / distance

    def compare(self, band: Band, claim: Claim, distance: int) -> tuple[float, Crossing | None]:
        """Return the bound minus the claim, and the point where a claimed curve is exceeded.

        Args:
            band: Band of a chain.
            claim: Claimed level, or points of a claimed curve, as `claimed` returns them.
            distance: Number of records in which the databases of the pair differ.
        """
        assert isinstance(claim, float)
        return self.of_band(band, distance) - claim, None

    def columns(self, band: Band, distance: int) -> dict[str, list[float]] | None:
        """Return the columns of a table of the curve by name, or None if the notion is a number."""
        return None

    def shown(self, chain: Chain, band: Band) -> Event:
        """Return the event of a chain with the largest `value`, for display.

        Args:
            chain: Chain of nested sets of cells.
            band: Band of the chain, from the confirmation set.
        """
        found = of_sets(band, self.value)
        best = [float(values.max(initial=-math.inf)) for values in found]
        larger = int(np.argmax(best))
        number = int(np.argmax(found[larger])) if found[larger].size else 0
        number += chain.usable[1] if larger == 1 else 0
        return Event(chain.event(number, larger), np.array(larger), np.array(max(best)))


def merged_counts(
    partition: Partition, halves: NDArray[np.int64], allowed: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None, list[NDArray[np.float64]]]:
    """Return counts of merged cells, whether each merged cell is allowed, and positions.

    Args:
        partition: Partition of the cells.
        halves: int64 [..., cells], counts of the two halves of the search set.
        allowed: bool [cells], the cells that are allowed in events, or None for all cells.
    """
    group, positions = partition.merged(allowed)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(int(group.max()) + 1))
    merged = np.add.reduceat(halves.take(order, axis=-1), starts, axis=-1)
    return merged, None if allowed is None else allowed[order[starts]], positions


def ways_of(partition: Partition) -> list[Way]:
    """Return ways to order cells: by ratio, and for many cells also by group and by position."""
    if max(partition.shape) <= _FEW_BINS:
        # With few cells, ratios are estimated well, and adjacent cells may differ a lot.
        return [Way()]
    found = [Way(), *(Way(groups=groups) for groups in partition.coarser())]
    return found + [Way(line=line) for line in partition.positions()]
