"""What a mechanism draws as streams of a kernel, and the region where densities are estimated."""

from typing import Any

import numpy as np
from jax import Array
from numpy.typing import NDArray

from dpjax.core.types import FiniteSpace, JsonObject, MixedSpace
from dpjax.core.wording import EVENTS, BadValue, Sentence, term
from dpjax.databases import Pairs
from dpjax.mechanisms import Mechanism, is_built_in
from dpjax.partitions import Outcomes, as_region
from dpjax.sources._pairs import AnyPairs
from dpjax.sources._subject import inner_range, pilot_outputs
from dpjax.sources.streams import DrawnStreams

PILOT_NOTE = "The region was set from the range of a pilot's outputs."

_LOST = 1e-6
"""Share of the outputs below which rounding explains what is missing."""


class DrawnArrays:
    """Draws of a batch of runs; see `dpjax.sources.Arrays`.

    Args:
        mechanism: Of the draws.
        pairs: Databases, stacked.
        region: As a person writes it; if None, the standard region of a built-in mechanism, all of
            a finite space, or the range of a pilot's outputs.
        key: Typed key of all runs.

    Raises:
        ValueError: The outputs have no density, a constant or a value that is not finite, or
            integers lie outside of the finite space.
    """

    sizes = None

    def __init__(self, mechanism: Mechanism, pairs: Pairs, region: Any, key: Array):
        space = mechanism.output_space
        if isinstance(space, MixedSpace):
            raise BadValue(
                f"{term('Local', '--method local')} cannot audit outputs that are {space}: beside "
                f"an atom there is no density; use {EVENTS}."
            )
        self.pairs, self.settings = AnyPairs.of(pairs), JsonObject()
        self.streams = DrawnStreams(mechanism, pairs.database, pairs.neighbor, key)
        self.notes: list[str] = []
        self._space = space
        if region is None:
            region = getattr(mechanism, "standard_region", None)
        if region is None and not isinstance(space, FiniteSpace):
            region = inner_range(pilot_outputs(mechanism, pairs, key))
            self.notes.append(PILOT_NOTE)
        self.region = as_region(region, space)
        self.region_text = str(self.region)
        if isinstance(space, FiniteSpace) and not is_built_in(mechanism):
            _refuse_lost_outcomes(pilot_outputs(mechanism, pairs, key), space.size)

    def relabel(self, output: object) -> object:
        """The output as it is."""
        return output

    def notes_of_lost(self, shares: NDArray[np.floating]) -> list[str]:
        """Says what share of the outputs was outside of the finite space."""
        space, region = self._space, self.region
        if not isinstance(space, FiniteSpace) or not isinstance(region, Outcomes):
            return []
        if (region.low, region.size) != (0, space.size):
            return []
        lost = 1 - shares.sum(axis=1).min()
        if lost < _LOST:
            return []
        return [
            Sentence(
                f"{lost:.2%} of the outputs at one side of the chosen pair were integers outside "
                f"of 0 .. {space.size - 1} ({term('num_outcomes')}) and were in no event; {EVENTS} "
                "counts them too."
            )
        ]


def _refuse_lost_outcomes(outputs: np.ndarray, size: int) -> None:
    """Refuses integers outside of 0, ..., size - 1, which a count of these would lose."""
    outside = outputs[(outputs < 0) | (outputs >= size)]
    if outside.size:
        raise BadValue(
            f"num_outcomes is {size}, but {int(outside[0])} and others outside of 0 .. {size - 1} "
            f"were returned in {outside.size / outputs.size:.2%} of a pilot's outputs: give a "
            f"larger {term('num_outcomes')} (or FiniteSpace), or use {EVENTS}, which counts those "
            "below and those above as one outcome each."
        )
