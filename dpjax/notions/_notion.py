"""What every notion of privacy does: it says what to look for, and bounds what was counted.

A notion bounds two kinds of evidence: the counts of one event, for which its hypothesis is needed,
and those of a chain of sets, whose band answers all notions at once.
"""

import math
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dpjax.core.numerics import finite_or_none
from dpjax.core.wording import BadType
from dpjax.inference import (
    WORTH,
    Band,
    Chain,
    Event,
    Hypothesis,
    Way,
    chain_of,
    choose_event,
    epsilon_of,
    event_lower_bound,
    expected_bands,
    gdp_of,
    largest,
    of_sets,
    simpler,
)
from dpjax.notions import _claims
from dpjax.notions._claims import Claim
from dpjax.notions._evidence import ChainCounts, EventCounts, Evidence
from dpjax.notions._statement import Statement, smallest_error
from dpjax.partitions import Partition

BAND = "simultaneous band"
"""What a bound of a chain rests on."""

_FEW_BINS = 32
"""Of a number, which are ordered by their own ratios alone."""

_HUGE = 1e300
"""Stands for infinity in a mean."""


class Notion:
    """A notion of privacy; its options are the fields of a frozen dataclass.

    Attributes:
        name: On the command line and in recipes.
    """

    name: ClassVar[str]

    @property
    def symbol(self) -> str:
        """The level in words."""
        raise NotImplementedError

    def of_band(self, band: Band, distance: int = 1) -> float:
        """The lower bound that a band shows, at least 0.

        Args:
            band: Of a chain.
            distance: k, records in which the pair differs; the bound is of one record.
        """
        raise NotImplementedError

    def hypothesis(self, distance: int = 1) -> Hypothesis | None:
        """What a level says of one event; None for a notion that needs more than one."""
        return None

    def value(self, p: NDArray, q: NDArray) -> NDArray[np.float64]:
        """By which the event of a chain is chosen that is shown as the witness."""
        return gdp_of(p, q)

    def refuse_distance(self, distance: int) -> None:
        """Raises where nothing of one record follows from pairs at such a distance."""

    def point(self, place: float, shown: float) -> str:
        """In words, what is shown at one place of a curve."""
        raise NotImplementedError

    def claimed(self, claim: Any) -> Claim:
        """A claim in the notion's unit, as a number or points of a curve.

        Raises:
            TypeError, ValueError: It is of another form, or out of range.
        """
        if not _claims.is_number(claim):
            raise BadType(f"claim must be a number for {self.symbol}, but was {claim!r}.")
        return _claims.number(claim)

    def choose(
        self,
        partition: Partition,
        halves: NDArray[np.int64],
        allowed: NDArray[np.bool_] | None,
        num_confirm: int,
        confidence: float,
        num_rivals: int = 1,
    ) -> Event:
        """The event with the largest bound to be expected, or one that is easier to say.

        Args:
            partition: Of the search.
            halves: int64 [..., 2, 2, cells], counts of two halves of the search at both sides: one
                makes sets of cells, the other judges them.
            allowed: bool [cells] that events may hold, or None.
            num_confirm: N, fresh outputs a side.
            confidence: Of the bound.
            num_rivals: How many pairs are searched.

        Raises:
            ValueError: The notion has no hypothesis, for it needs more than one event.
        """
        hypothesis, lines = self._of_an_event(), partition.positions()
        event = choose_event(
            halves[..., 0, :, :],
            num_confirm,
            confidence,
            allowed=allowed,
            hypothesis=hypothesis,
            judge=halves[..., 1, :, :],
            coarser=partition.coarser(),
            positions=lines,
            ordered=partition.ordered,
            num_rivals=num_rivals,
        )
        # Of the sum of several numbers, and of codes, nothing is easy to say.
        lines = lines[: len(partition.shape)] if partition.ordered else []
        batch = event.larger.shape
        found = [
            simpler(event.at(at), halves[at], lines, allowed, num_confirm, confidence, hypothesis)
            for at in np.ndindex(batch)
        ]
        return Event.stacked(found, batch)

    def _of_an_event(self, distance: int = 1) -> Hypothesis:
        """The hypothesis of a notion that has one."""
        found = self.hypothesis(distance)
        if found is None:
            raise ValueError(f"{self.symbol} cannot be bounded by the counts of one event.")
        return found

    def promise(
        self,
        partition: Partition,
        halves: NDArray[np.int64],
        allowed: NDArray[np.bool_] | None,
        num_confirm: int,
        confidence: float,
        num_rivals: int,
    ) -> NDArray[np.float64]:
        """The bound to be expected of a pair, by a few coarse cells: enough to rank pairs.

        Args:
            partition: Of the search, as all other arguments are those of `choose`.
            halves: int64 [..., 2, 2, cells].
            allowed: bool [cells], or None.
            num_confirm: N.
            confidence: Of the bound.
            num_rivals: How many pairs are searched.

        Returns:
            Of the leading shape of the counts.
        """
        merged, may, positions = merged_counts(partition, halves, allowed)
        hypothesis, found = self.hypothesis(), []
        if hypothesis is not None:
            return choose_event(
                merged[..., 0, :, :],
                num_confirm,
                confidence,
                allowed=may,
                hypothesis=hypothesis,
                judge=merged[..., 1, :, :],
                positions=positions,
                ordered=partition.ordered,
                num_rivals=num_rivals,
            ).predicted
        for counts in merged.reshape(-1, *merged.shape[-3:]):
            bands = expected_bands(counts, num_confirm, 1 - confidence, may)
            found.append(sum(min(self.of_band(b), _HUGE) for b in bands) / max(len(bands), 1))
        return np.array(found).reshape(merged.shape[:-3])

    def chain(
        self,
        partition: Partition,
        halves: NDArray[np.int64],
        allowed: NDArray[np.bool_] | None,
        num_confirm: int,
        confidence: float,
    ) -> tuple[Chain, float, float]:
        """The chain of sets to confirm, of fine cells or of coarser ones, or along a line.

        Args:
            partition: Of the search.
            halves: int64 [2, 2, cells], counts of two halves of the search at both sides.
            allowed: bool [cells] that events may hold, or None.
            num_confirm: N, fresh outputs a side.
            confidence: Of the bound.

        Returns:
            The chain, the bound that is to be expected, and mu of Gaussian privacy for ties.
        """
        ways = ways_of(partition)
        tried = [expected_bands(halves, num_confirm, 1 - confidence, allowed, w) for w in ways]
        # What is near the middle shows in mu, and what is far out in epsilon; both cost little.
        shifts = [sum(largest(b, gdp_of) for b in bands) for bands in tried]
        tails = [sum(largest(b, epsilon_of(0.0)) for b in bands) for bands in tried]
        scores = [shift + tail for shift, tail in zip(shifts, tails, strict=True)]
        # Sets along a number are half-lines, which are easy to say.
        worth = [i for i, way in enumerate(ways) if way.line is not None or len(ways) == 1]
        worth = [i for i in worth if scores[i] >= WORTH * max(scores)]
        best = max(worth or range(len(ways)), key=lambda i: (scores[i], -i))
        chain = chain_of(halves.sum(axis=0), num_confirm, allowed, ways[best])
        found = [min(self.of_band(b), _HUGE) for b in tried[best]]
        return chain, sum(found) / max(len(found), 1), shifts[best] / max(len(found), 1)

    def bound(
        self, evidence: EventCounts | ChainCounts, confidence: float, distance: int = 1
    ) -> NDArray[np.float64]:
        """Exact lower bounds, of the leading shape of the evidence.

        Raises:
            ValueError: The evidence is of one event, and the notion needs a chain.
        """
        if isinstance(evidence, ChainCounts):
            return np.array(self.of_band(evidence.band(confidence), distance))
        hypothesis = self._of_an_event(distance)
        larger, smaller = evidence.sided()
        trials = np.asarray(evidence.trials)
        side = np.asarray(evidence.event.larger)
        if trials[0] != trials[1] and side.ndim:
            raise ValueError("trials must be equal where there are several events.")
        first = int(trials[int(side.flat[0]) if side.size else 0])
        return event_lower_bound(
            larger, smaller, first, int(trials.sum() - first), confidence, hypothesis
        )

    def estimate(
        self, evidence: EventCounts | ChainCounts, distance: int = 1
    ) -> NDArray[np.float64]:
        """The level that the shares of fresh outputs show, at least 0; it may be infinite."""
        if isinstance(evidence, ChainCounts):
            return np.array(self.of_band(evidence.shares(), distance))
        (p, q), trials = evidence.sided(), np.asarray(evidence.trials, float)
        side = np.asarray(evidence.event.larger)
        return self.of_shares(p / trials[side], q / trials[1 - side], distance)

    def of_shares(self, p: NDArray, q: NDArray, distance: int) -> NDArray[np.float64]:
        """The level that two probabilities of one event show, at least 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(p > q, self.value(p, q), 0.0)
        return np.maximum(np.nan_to_num(found, posinf=np.inf), 0.0) / distance

    def state(
        self,
        evidence: Evidence,
        own_confidence: float,
        num_claims: int = 1,
        claim: Claim | None = None,
        distance: int = 1,
    ) -> Statement:
        """The statement of one audit, from the notion's own event if there is one.

        Args:
            evidence: Of the confirm stage.
            own_confidence: Of all of its statements.
            num_claims: By which the smallest error is multiplied.
            claim: Level to compare with, or None.
            distance: Records in which the pair differs.
        """
        counts = evidence.event if evidence.event is not None else evidence.chain
        assert counts is not None
        error = None
        if claim is not None:

            def excess(own: float) -> float:
                return self.excess(counts, evidence.confidence(own), claim, distance)

            error = smallest_error(excess, 0.0)
        sure = evidence.confidence(own_confidence)
        return Statement(
            lower_bound=float(self.bound(counts, sure, distance)),
            estimate=finite_or_none(float(self.estimate(counts, distance))),
            basis=BAND if evidence.event is None else "exact binomial",
            smallest_error=None if error is None else min(error * num_claims, 1.0),
        )

    def excess(
        self, counts: EventCounts | ChainCounts, confidence: float, claim: Claim, distance: int
    ) -> float:
        """By how much a claim is exceeded; below 0 where it is not."""
        assert isinstance(claim, float)
        return float(self.bound(counts, confidence, distance)) - claim

    def shown(self, chain: Chain, counts: ChainCounts, confidence: float) -> Event:
        """The event of a chain that shows most, for people.

        Args:
            chain: With the places of the cells.
            counts: Of fresh outputs.
            confidence: Of the bounds that are compared.
        """
        found = of_sets(counts.band(confidence), self.value)
        best = [float(values.max(initial=-math.inf)) for values in found]
        larger = int(np.argmax(best))
        number = int(np.argmax(found[larger])) if found[larger].size else 0
        number += counts.usable[1] if larger == 1 else 0
        return Event(chain.event(number, larger), np.array(larger), np.array(max(best)))


def merged_counts(
    partition: Partition, halves: NDArray[np.int64], allowed: NDArray[np.bool_] | None
) -> tuple[NDArray[np.int64], NDArray[np.bool_] | None, list[NDArray[np.float64]]]:
    """Counts of fewer cells, which of those events may hold, and their places along lines.

    Args:
        partition: Of the cells.
        halves: int64 [..., cells].
        allowed: bool [cells], or None.
    """
    group, positions = partition.merged(allowed)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(int(group.max()) + 1))
    merged = np.add.reduceat(halves.take(order, axis=-1), starts, axis=-1)
    return merged, None if allowed is None else allowed[order[starts]], positions


def ways_of(partition: Partition) -> list[Way]:
    """Orders that are tried: by ratios of cells, and of many of groups and along the numbers."""
    if max(partition.shape) <= _FEW_BINS:
        # Of few cells the ratios are known well, and their neighbours may be quite different.
        return [Way()]
    found = [Way(), *(Way(groups=groups) for groups in partition.coarser())]
    return found + [Way(line=line) for line in partition.positions()]
