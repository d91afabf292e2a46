"""Evidence from counts of draws in one event, in a chain of nested sets, or in both."""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpjax.core import validate
from dpjax.core.numerics import finite_or_none
from dpjax.core.types import JsonObject
from dpjax.inference import Band, Event, band
from dpjax.notions._claims import Claim
from dpjax.notions._notion import Notion
from dpjax.notions._statement import Crossing, Statement
from dpjax.notions.evidence._evidence import Evidence, register


class _OfSets(Evidence):
    """Base class of evidence that counts draws in the sets with the largest expected bounds."""

    estimated: ClassVar[str] = "Estimate at the witness"
    scored: ClassVar[str] = "Expected bound"


@register
@dataclass(frozen=True, eq=False)
class EventCounts(_OfSets):
    """Counts of confirmation draws in an event, for one or more runs.

    Attributes:
        event: Events of all runs, stacked along leading axes [...].
        counts: int64 [..., 2], numbers of draws in the event, from the database and from its
            neighbor.
        trials: Numbers of confirmation draws, first from the database, then from its neighbor.
    """

    event: Event
    counts: NDArray[np.int64]
    trials: tuple[int, int]
    kind: ClassVar[str] = "event"

    def sided(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return both sides' counts, first for the side where the event should be more likely."""
        side = np.asarray(self.event.larger)[..., None]
        larger = np.take_along_axis(self.counts, side, axis=-1)[..., 0]
        smaller = np.take_along_axis(self.counts, 1 - side, axis=-1)[..., 0]
        return larger, smaller

    def bound(self, notion: Notion, confidence: float, distance: int = 1) -> NDArray[np.float64]:
        """Return exact lower bounds on the level, one per run.

        Raises:
            ValueError: If the notion has no hypothesis about one event, or if there is more than
                one run and the two sides have different numbers of draws.
        """
        side = np.asarray(self.event.larger)
        if self.trials[0] != self.trials[1] and side.ndim:
            raise ValueError("trials must be equal on both sides if there are multiple events.")
        first = self.trials[int(side.flat[0]) if side.size else 0]
        trials = first, sum(self.trials) - first
        return notion.of_event(*self.sided(), trials, confidence, distance)

    def estimate(self, notion: Notion, distance: int = 1) -> NDArray[np.float64]:
        """Return one level in [0, inf] per run, computed from the observed frequencies."""
        (p, q), trials = self.sided(), np.asarray(self.trials, float)
        side = np.asarray(self.event.larger)
        return notion.of_shares(p / trials[side], q / trials[1 - side], distance)

    def answer(
        self, notion: Notion, confidence: float, distance: int, named: Notion | None
    ) -> Statement:
        """See `Evidence`.

        Raises:
            ValueError: If the event was chosen for another notion.
        """
        if named not in (None, notion):
            raise ValueError(
                f"this audit counted only one event, which was chosen for {named.symbol}, so it "
                f"has no bound for {notion.symbol}: audit with notion={notion!r}, or with "
                "method=Events(also=True)."
            )
        return Statement(
            lower_bound=float(self.bound(notion, confidence, distance)),
            estimate=finite_or_none(float(self.estimate(notion, distance))),
            basis="exact binomial",
        )

    def showing(self, event: Event, inside: NDArray[np.int64]) -> Self:
        """See `Evidence`."""
        return replace(self, event=event, counts=inside)

    def to_plain(self) -> JsonObject:
        """See `Evidence`. The JSON values omit the cells of the event."""
        return {**super().to_plain(), "event": int(self.event.larger)}

    @classmethod
    def from_plain(cls, content: JsonObject) -> Self:
        """See `Evidence`."""
        side = content.pop("event")
        validate.counts(at_most=1, event=side)
        event = Event(np.zeros(0, bool), np.array(side), np.array(0.0))
        return cls(event, *_counted(content))


@register
@dataclass(frozen=True, eq=False)
class ChainCounts(_OfSets):
    """Counts of confirmation draws in the sets of a chain of nested sets.

    The counts in a chain imply bounds on the levels of all notions.

    Attributes:
        counts: int64 [2, sets], numbers of draws in each set, from the database and from its
            neighbor.
        trials: Numbers of confirmation draws, first from the database, then from its neighbor.
        usable: Pair (end, start). Sets with an index below `end`, and complements of sets with an
            index of at least `start`, may be used as events.
    """

    counts: NDArray[np.int64]
    trials: tuple[int, int]
    usable: tuple[int, int]
    kind: ClassVar[str] = "chain"

    def band(self, confidence: float) -> Band:
        """Return the simultaneous confidence band for all sets of the chain."""
        return _band(self.counts.tobytes(), self.counts.shape, self.trials, self.usable, confidence)

    def shares(self) -> Band:
        """Return a band of width 0, as if the probabilities equaled the observed frequencies."""
        first, second = (
            counts[:, None] / n for counts, n in zip(self.counts, self.trials, strict=True)
        )
        return Band.of(first, second, self.usable)

    def answer(
        self, notion: Notion, confidence: float, distance: int, named: Notion | None
    ) -> Statement:
        """See `Evidence`."""
        band = self.band(confidence)
        return Statement(
            lower_bound=notion.of_band(band, distance),
            estimate=finite_or_none(notion.of_observed(band, self.shares(), distance)),
            basis="simultaneous band",
            curve=notion.columns(band, distance),
        )

    def compare(
        self, notion: Notion, confidence: float, claim: Claim, distance: int
    ) -> tuple[float, Crossing | None]:
        """See `Evidence`."""
        return notion.compare(self.band(confidence), claim, distance)

    def simultaneous(self, confidence: float) -> Band | None:
        """See `Evidence`."""
        return self.band(confidence)

    @classmethod
    def from_plain(cls, content: JsonObject) -> Self:
        """See `Evidence`."""
        end, start = content.pop("usable")
        counts, trials = _counted(content)
        validate.counts(at_most=counts.shape[1], usable=[end, start])
        return cls(counts, trials, (end, start))


@register
@dataclass(frozen=True, eq=False)
class EventAndChain(_OfSets):
    """Counts in an event and in a chain, each with half of the error probability.

    Attributes:
        event: Counts in the event; they imply the bound on the level of the audit's notion.
        chain: Counts in the chain; they imply the bounds on the levels of all other notions.
    """

    event: EventCounts
    chain: ChainCounts
    kind: ClassVar[str] = "event and chain"

    @staticmethod
    def half(confidence: float) -> float:
        """Return the confidence of each of two statements that jointly have `confidence`."""
        return (1 + confidence) / 2

    def answer(
        self, notion: Notion, confidence: float, distance: int, named: Notion | None
    ) -> Statement:
        """See `Evidence`."""
        part = self.event if named in (None, notion) else self.chain
        return part.answer(notion, self.half(confidence), distance, None)

    def simultaneous(self, confidence: float) -> Band | None:
        """See `Evidence`."""
        return self.chain.band(self.half(confidence))

    def showing(self, event: Event, inside: NDArray[np.int64]) -> Self:
        """See `Evidence`."""
        return replace(self, event=self.event.showing(event, inside))

    @classmethod
    def from_plain(cls, content: JsonObject) -> Self:
        """See `Evidence`."""
        event, chain = content["event"], content["chain"]
        kinds = event.pop("kind"), chain.pop("kind")
        validate.one_of((f"{EventCounts.kind}, {ChainCounts.kind}",), kinds=", ".join(kinds))
        return cls(EventCounts.from_plain(event), ChainCounts.from_plain(chain))


@lru_cache(maxsize=8)
def _band(
    counts: bytes,
    shape: tuple[int, ...],
    trials: tuple[int, int],
    usable: tuple[int, int],
    confidence: float,
) -> Band:
    # The cache avoids computing the band again for each further notion.
    whole = np.frombuffer(counts, np.int64).reshape(shape)
    return band(whole, trials, 1 - confidence, usable=usable)


def _counted(content: JsonObject) -> tuple[NDArray[np.int64], tuple[int, int]]:
    """Remove the counts and the trials from a dictionary of JSON values, and return them.

    Raises:
        TypeError, ValueError: If the values are not valid, or if `content` has other fields.
    """
    counts, trials = content.pop("counts"), content.pop("trials")
    if content:
        raise TypeError(f"counts must have no other fields, but had {', '.join(content)}")
    first, second = trials
    for inside, most in zip(counts, trials, strict=True):
        validate.positive_int(trials=most)
        validate.counts(at_most=most, counts=inside)
    return np.array(counts, np.int64), (first, second)
