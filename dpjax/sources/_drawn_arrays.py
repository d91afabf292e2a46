"""Draws as streams for compiled kernels, and the region in which densities are estimated."""

import numpy as np
from jax import Array
from numpy.typing import NDArray

from dpjax.core.types import FiniteSpace, JsonObject, MixedSpace
from dpjax.core.wording import EVENTS, BadValue, Sentence, term
from dpjax.databases import Pairs
from dpjax.mechanisms import Mechanism, is_built_in
from dpjax.partitions import Outcomes, RegionLike, as_region
from dpjax.sources._pairs import AnyPairs
from dpjax.sources._subject import inner_range, pilot_outputs
from dpjax.sources.streams import DrawnStreams

PILOT_NOTE = "The region covers the central 99% of the outputs in a pilot."

_LOST = 1e-6
"""Largest share of outputs that may seem to lie outside the finite space merely because of rounding
errors.
"""


class DrawnArrays:
    """Draws from which a batch of runs estimates densities; see `dpjax.sources.Arrays`.

    Args:
        mechanism: Mechanism to draw from.
        pairs: Stacked pairs of databases.
        region: Region in the caller's form. The default for None is the standard region if a
            built-in mechanism has one, the whole space if it is finite, and otherwise the central
            range of the pilot outputs.
        key: Typed key for all runs.

    Raises:
        ValueError: If the outputs have no density, if they are constant or not finite, or if they
            are integers outside the finite space.
    """

    sizes = None

    def __init__(self, mechanism: Mechanism, pairs: Pairs, region: RegionLike | None, key: Array):
        space = mechanism.output_space
        if isinstance(space, MixedSpace):
            raise BadValue(
                f"{term('Local', '--method local')} cannot audit outputs that are {space}: outputs "
                f"with atoms have no density; use {EVENTS}."
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
        """Return the output unchanged, because drawn outputs are already in the caller's form."""
        return output

    def notes_of_lost(self, shares: NDArray[np.floating]) -> list[str]:
        """Return a note if a notable share of the outputs is outside the finite space."""
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
                f"{lost:.2%} of the outputs on one side of the chosen pair were integers outside "
                f"0 .. {space.size - 1} ({term('num_outcomes')}). These outputs belong to no "
                f"event; {EVENTS} counts them, too."
            )
        ]


def _refuse_lost_outcomes(outputs: np.ndarray, size: int) -> None:
    """Raise an error if any output is an integer outside 0, ..., size - 1."""
    outside = outputs[(outputs < 0) | (outputs >= size)]
    if outside.size:
        raise BadValue(
            f"num_outcomes is {size}, but {int(outside[0])} and other integers outside 0 .. "
            f"{size - 1} make up {outside.size / outputs.size:.2%} of a pilot's outputs: "
            f"pass a larger {term('num_outcomes')} (or FiniteSpace), or use {EVENTS}, which counts "
            "all smaller integers as one outcome, and all larger ones as another."
        )
