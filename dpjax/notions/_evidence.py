"""Evidence: counts of fresh outputs in sets that were chosen before."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.inference import Band, Event, band


class EventCounts(NamedTuple):
    """Evidence: an event that was chosen before, and how often fresh outputs were in it.

    Attributes:
        event: With the leading shape [...].
        counts: int64 [..., 2], outputs in the event at the database and at its neighbor.
        trials: Fresh outputs at the database and at its neighbor.
    """

    event: Event
    counts: NDArray[np.int64]
    trials: tuple[int, int]

    def sided(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Counts at the side that was expected to be likelier, and at the other."""
        side = np.asarray(self.event.larger)[..., None]
        larger = np.take_along_axis(self.counts, side, axis=-1)[..., 0]
        smaller = np.take_along_axis(self.counts, 1 - side, axis=-1)[..., 0]
        return larger, smaller


class ChainCounts(NamedTuple):
    """Evidence: a chain of nested sets that was chosen before, and fresh outputs in each.

    Attributes:
        counts: int64 [2, sets], at the database and at its neighbor.
        trials: Fresh outputs at the database and at its neighbor.
        usable: As in `dpjax.inference.Chain`.
    """

    counts: NDArray[np.int64]
    trials: tuple[int, int]
    usable: tuple[int, int]

    def band(self, confidence: float) -> Band:
        """What it shows with this confidence, of all sets at once."""
        return _band(self.counts.tobytes(), self.counts.shape, self.trials, self.usable, confidence)

    def shares(self) -> Band:
        """What its shares would show if they were the probabilities."""
        first, second = (
            counts[:, None] / n for counts, n in zip(self.counts, self.trials, strict=True)
        )
        return Band.of(first, second, self.usable)


@lru_cache(maxsize=8)
def _band(
    counts: bytes, shape: Any, trials: tuple[int, int], usable: tuple[int, int], confidence: float
) -> Band:
    # Kept, since several notions are asked for in turn.
    whole = np.frombuffer(counts, np.int64).reshape(shape)
    return band(whole, trials, 1 - confidence, usable=usable)


class Evidence(NamedTuple):
    """All that the confirm stage counted; where it is both, each has half of the error.

    Attributes:
        event: Of the notion that was named.
        chain: Of every notion.
    """

    event: EventCounts | None = None
    chain: ChainCounts | None = None

    def confidence(self, own: float) -> float:
        """Of each of the two, where both together have this one."""
        return own if self.event is None or self.chain is None else (1 + own) / 2

    def to_plain(self) -> dict[str, Any]:
        """As JSON holds it."""
        found: dict[str, Any] = {}
        if self.event is not None:
            found["event"] = {
                "inside": self.event.counts.tolist(),
                "trials": list(self.event.trials),
                "larger": int(self.event.event.larger),
            }
        if self.chain is not None:
            found["chain"] = {
                "inside": self.chain.counts.tolist(),
                "trials": list(self.chain.trials),
                "usable": list(self.chain.usable),
            }
        return found


def evidence_from_plain(content: dict[str, Any]) -> Evidence:
    """The evidence that `Evidence.to_plain` wrote; the cells of its event are not in it."""
    event = chain = None
    if "event" in content:
        held = content["event"]
        larger = np.array(held["larger"])
        unknown = Event(np.zeros(0, bool), larger, np.array(0.0))
        first, second = held["trials"]
        event = EventCounts(unknown, np.array(held["inside"], np.int64), (first, second))
    if "chain" in content:
        held = content["chain"]
        (first, second), (end, start) = held["trials"], held["usable"]
        counts = np.array(held["inside"], np.int64)
        chain = ChainCounts(counts, (first, second), (end, start))
    return Evidence(event, chain)
