"""Evidence from the local approach: kernel sums or frequencies at one output.

References:
    Askin, Kutta, Dette (2022), Algorithm 4, lines 8-10.
"""

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dpjax.core.numerics import finite_or_none
from dpjax.core.types import JsonObject
from dpjax.core.wording import EVENTS, BadValue
from dpjax.inference import KernelSums, LocalBounds, local_bounds
from dpjax.notions._epsilon import Epsilon
from dpjax.notions._notion import Notion
from dpjax.notions._statement import Statement
from dpjax.notions.evidence._evidence import Evidence, Rows, register


@register
@dataclass(frozen=True, eq=False)
class LocalSums(Evidence):
    """Counts of the confirmation set at the witness, for one or more runs.

    The witness is the output with the largest estimated density ratio, and its event is a set of
    outputs around the witness.

    Attributes:
        search_densities: float64 [..., 2], densities at the witness under the two databases,
            estimated from the search set. Densities below the floor are not raised to the floor.
        floor: float64 [...], the floor tau. Densities below the floor are raised to the floor
            before an estimate is computed.
        events: int64 [..., 2], number of confirmation draws in the witness's event, for each of the
            two databases.
        kernel: Kernel sums for real outputs, or None for outputs that are categories.
        num_confirm: N, the number of confirmation draws per side.
    """

    search_densities: NDArray[np.float64]
    floor: NDArray[np.float64]
    events: NDArray[np.int64]
    kernel: KernelSums | None
    num_confirm: int
    kind: ClassVar[str] = "local"
    estimated: ClassVar[str] = "Estimate at the witness"

    def bounds(self, confidence: float) -> LocalBounds:
        """Return lower bounds and estimates, one per run."""
        searched = self.search_densities, self.floor
        return local_bounds(*searched, self.events, self.kernel, self.num_confirm, confidence)

    def answer(
        self, notion: Notion, confidence: float, distance: int, named: Notion | None
    ) -> Statement:
        """See `Evidence`.

        Raises:
            ValueError: If the notion is not epsilon at delta = 0.
        """
        if notion != Epsilon():
            raise no_events(notion)
        found = self.bounds(confidence)
        return Statement(
            lower_bound=float(found.lower_bound),
            estimate=finite_or_none(float(found.estimate)),
            basis="exact binomial" if found.exact else "normal",
            standard_error=finite_or_none(float(found.standard_error)),
        )

    def rows(self, found: Statement, sure: str) -> Rows:
        """See `Evidence`."""
        bound, estimate = super().rows(found, sure)
        if self.search_densities.min() <= self.floor:
            estimate = "estimate", "none because a density is at the floor"
        return [bound, estimate]

    @classmethod
    def from_plain(cls, content: JsonObject) -> Self:
        """See `Evidence`."""
        kernel, kinds = content["kernel"], {"events": np.int64}
        arrays = {
            name: np.array(content[name], kinds.get(name, np.float64))
            for name in ("search_densities", "floor", "events")
        }
        sums = None if kernel is None else KernelSums(**kernel)
        found = cls(**{**content, **arrays, "kernel": sums})
        found.bounds(0.5)  # This validates the counts.
        return found


def no_events(notion: Notion) -> ValueError:
    """Create the exception for a notion that cannot be bounded without counts of events."""
    return BadValue(
        f"this audit counted no events, so it cannot bound {notion.symbol}: use {EVENTS}."
    )
