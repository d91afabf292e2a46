"""Recorded outputs as arrays for compiled kernels, split into search and confirmation sets."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from dpjax.core import validate
from dpjax.core.types import FiniteSpace, JsonObject, RealSpace, VectorSpace
from dpjax.core.wording import DISCRETE, EVENTS, BadType, BadValue, term
from dpjax.partitions import Box, Region, RegionLike, as_region
from dpjax.sources._held import Chunked, Sides, as_outputs
from dpjax.sources._opened import Smoothing
from dpjax.sources._outcomes import (
    MIN_REAL,
    in_one_type,
    in_python,
    looks_discrete,
    most_often,
    number_outcomes,
)
from dpjax.sources._pairs import RECORDED_PAIRS
from dpjax.sources._recorded_counts import advice_on, notes_of_new_draws, weighed
from dpjax.sources._serial import Advice, notes_of_order
from dpjax.sources._side_values import SideValues
from dpjax.sources._split import MIN_SEARCH, key_of_side, random_words
from dpjax.sources.streams import StoredStreams

_MIN_DISCRETE = 40
_TAIL = 0.005


class RecordedArrays:
    """Recorded outputs of both sides, for density estimates; see `dpjax.sources.Arrays`.

    Attributes:
        space: Space of the outputs.
        labels: Outcomes in the caller's form, sorted by integer index; or None if the outputs are
            reals.
        origin: Median of the outputs, float [d]. It is subtracted before reals are rounded to
            float32.
    """

    def __init__(
        self,
        streams: StoredStreams,
        space: FiniteSpace | RealSpace | VectorSpace,
        labels: np.ndarray | None,
        origin: np.ndarray,
        notes: list[str],
        region: RegionLike | None,
    ):
        self.pairs = RECORDED_PAIRS
        self.streams, self.space, self.labels = streams, space, labels
        self.origin, self.notes = origin, notes
        self.settings: JsonObject = {}
        self.sizes = streams.search[0].shape[0], streams.confirm[0].shape[0]
        self.region = self.region_of(region)
        self.region_text = self.text_of(self.region)

    def region_of(self, region: Any) -> Region:
        """Convert a region from the caller's coordinates to the kernels' coordinates."""
        if self.labels is not None:
            if region is None:
                return as_region(None, self.space)
            if isinstance(region, str) or not hasattr(region, "__iter__"):
                raise BadType(
                    "region must be a list of outcomes if the outputs are labels, but was "
                    f"{region!r}."
                )
            numbers = {in_python(label): i for i, label in enumerate(self.labels)}
            unknown = [label for label in region if label not in numbers]
            if unknown:
                raise BadValue(f"region must hold outcomes that were recorded, but had {unknown}.")
            return as_region([numbers[label] for label in region], self.space)
        if region is None:
            pooled = np.concatenate([np.asarray(part) for part in self.streams.search])
            low, high = np.quantile(pooled, [_TAIL, 1 - _TAIL], axis=0)
            return as_region((low, high), self.space)
        return as_region(self._shifted(region), self.space)

    def _shifted(self, region: Any) -> RegionLike:
        """Subtract the origin from a box or from (low, high); return any other region unchanged."""
        ends, num_points = region, 0
        if isinstance(region, Box):
            ends, num_points = (region.low, region.high), region.num_points
        try:
            low, high = (np.atleast_1d(np.asarray(end, float)) for end in ends)
        except (TypeError, ValueError):
            return region
        if not low.shape == high.shape == self.origin.shape:
            return region
        validate.increasing(low, high, name="region")
        # Subtract before rounding to float32, since rounding could make ends far from 0 equal.
        return Box(low - self.origin, high - self.origin, num_points)

    def text_of(self, region: Region) -> str:
        """Describe the region in words, in the caller's coordinates."""
        if isinstance(region, Box):
            ends = zip(region.low + self.origin, region.high + self.origin, strict=True)
            # Do not create a Box, since rounding to float32 could make ends far from 0 equal.
            return " x ".join(_interval(float(low), float(high)) for low, high in ends)
        if self.labels is not None:
            chosen = [str(in_python(self.labels[i])) for i in np.flatnonzero(region.allowed)]
            rest = f", ... ({len(chosen)} in all)" if len(chosen) > 6 else ""
            return "{" + ", ".join(chosen[:6]) + rest + "}"
        return str(region)

    def relabel(self, output: Any) -> object:
        """Convert the index of an outcome, or a point, to an output in the caller's form."""
        if self.labels is not None:
            return in_python(self.labels[output])
        if isinstance(output, list):
            return [v + float(o) for v, o in zip(output, self.origin, strict=True)]
        return output + float(self.origin[0])

    def notes_of_lost(self, shares: NDArray[np.floating]) -> list[str]:
        """Return no notes, because all recorded outcomes belong to the finite space."""
        return []


def recorded_arrays(
    recorded: Sides, region: RegionLike | None, key: jax.Array, smoothing: Smoothing | None
) -> RecordedArrays:
    """Validate recorded outputs, and split each side at random into search and confirmation sets.

    Reals must have densities. Atoms, NaN and infinities are refused with an error. For the
    arguments, see `Source.arrays`.

    Raises:
        ValueError: If there are too few outputs, if the outputs are constant or copies of each
            other, or if some outputs are atoms, NaN or infinite.
        TypeError: If the outputs are in files, or if they are of multiple kinds or dimensions.
    """
    x, y = _comparable(recorded)
    size, fraction = min(len(x), len(y)), recorded.search_fraction
    count, notes = int(size * fraction), list[str]()
    # Shuffle before cutting the longer side, since outputs in files may be sorted or drift over
    # time.
    mixed = [_shuffled(outputs, key, side)[:size] for side, outputs in enumerate((x, y))]
    discrete = recorded.discrete
    if discrete is None:
        # Base the decision on the search set only, since the confirmation set must not affect its
        # own treatment.
        discrete = looks_discrete(mixed[0][:count], mixed[1][:count], size, smoothing, notes)
    if len(x) != len(y):
        notes.append(
            f"x has {len(x)} outputs and y has {len(y)}; {size} random outputs of each were used."
        )
    needed = _MIN_DISCRETE if discrete else MIN_REAL
    if size < needed:
        raise ValueError(
            f"x and y must hold at least {needed} outputs each"
            f"{'' if discrete else ' for a density estimate'}, but the shorter one held {size}."
        )
    notes += weighed(_notes_of_draws(x, y, advice_on(recorded)), recorded)
    if count < MIN_SEARCH:
        raise BadValue(
            f"search_fraction must put at least {MIN_SEARCH} outputs per side into the search set, "
            f"but {fraction} of {size} is only {count}."
        )
    x, y = mixed
    labels, origin = None, np.zeros(1)
    if discrete:
        x, y, labels = number_outcomes(x, y)
        space: FiniteSpace | RealSpace | VectorSpace = FiniteSpace(max(len(labels), 2))
    else:
        _check_reals(x[:count], y[:count])
        dimension = 1 if x.ndim == 1 else x.shape[1]
        # Subtract the median before rounding to float32, so that reals keep their digits.
        origin = np.atleast_1d(np.median(np.concatenate([x, y]).astype(float), axis=0))
        x, y = x - origin, y - origin
        _check_range(x, y)
        space = RealSpace() if dimension == 1 else VectorSpace(dimension)
    dtype = jnp.int32 if discrete else jnp.result_type(float)
    x, y = (np.asarray(side, dtype) for side in (x, y))
    search = jax.device_put((x[:count], y[:count]))
    confirm = jax.device_put((x[count:], y[count:]))
    notes.append(
        f"{count} outputs per side form the search set, and the other {size - count} form the "
        "confirmation set."
    )
    found = RecordedArrays(StoredStreams(search, confirm), space, labels, origin, notes, region)
    found.settings = {
        "discrete": recorded.discrete,
        "search_fraction": fraction,
        "generator": "philox4x64",
    }
    return found


def _comparable(recorded: Sides) -> tuple[np.ndarray, np.ndarray]:
    """Return the outputs of both sides in one type, after checks of their kinds and dimensions."""
    x, y = _array("x", recorded.x), _array("y", recorded.y)
    if x.ndim != y.ndim or x.shape[1:] != y.shape[1:]:
        raise TypeError(
            f"x and y must have outputs of the same dimension, but had the shapes "
            f"{x.shape}, {y.shape}."
        )
    if _kind(x) != _kind(y):
        raise TypeError(
            f"x and y must hold outputs of one kind, but held {_kind(x)} and {_kind(y)}."
        )
    return in_one_type(x, y)


def _notes_of_draws(x: np.ndarray, y: np.ndarray, advice: Advice) -> list[str]:
    """Return notes if outputs seem to be repeated, or to depend on their order."""
    values = SideValues(), SideValues()
    for side, outputs in zip(values, (x, y), strict=True):
        side.add(outputs)
    notes = notes_of_new_draws("xy", values)
    for name, outputs in zip("xy", (x, y), strict=True):
        # Rank vectors by their first number, and labels alphabetically.
        place = np.unique(outputs.reshape(len(outputs), -1)[:, 0], return_inverse=True)[1]
        split = place >= max(np.median(place), 1)
        notes += notes_of_order(name, [split], place, advice=advice)
    return notes


def _shuffled(outputs: np.ndarray, key: jax.Array, side: int) -> np.ndarray:
    """Shuffle outputs by sorting them according to one random word per output."""
    words = random_words(key_of_side(key, side), 0, len(outputs))
    return outputs[np.argsort(words, kind="stable")]


def _array(name: str, outputs: object) -> np.ndarray:
    if isinstance(outputs, Chunked):
        raise BadType(
            f"{term('Local', '--method local')} needs outputs in memory, but {name} was a "
            f"{type(outputs).__name__}: read it into an array with "
            f"dpjax.sources.readers.read_samples, or use {EVENTS}."
        )
    array = as_outputs(name, outputs)
    if array.dtype.kind == "f" and not np.all(np.isfinite(array)):
        bad = int(np.sum(~np.isfinite(array)))
        raise BadValue(
            f"{name} must hold finite numbers, but {bad} of {array.size} were NaN or infinite: use "
            f"{EVENTS}, which counts them as outcomes."
        )
    if array.dtype.kind == "O":
        kinds = sorted({type(v).__name__ for v in array})
        if kinds != ["str"]:
            raise BadType(
                f"{name} must hold either numbers or labels, but held the types {kinds}: use "
                f"{EVENTS}, which counts outputs of every kind."
            )
    return array


def _kind(array: np.ndarray) -> str:
    return "labels" if array.dtype.kind in "USO" else "numbers"


def _check_reals(x: np.ndarray, y: np.ndarray) -> None:
    if x.dtype.kind in "USO":
        raise BadType(f"labels cannot be treated as reals: leave out discrete, or use {DISCRETE}.")
    for name, side in (("x", x), ("y", y)):
        for column in side.reshape(len(side), -1).T:
            values, counts = np.unique(column, return_counts=True)
            if len(values) == 1:
                raise BadValue(
                    f"{name} is constant ({values[0]}), so it has no density: use {DISCRETE}."
                )
            if counts.max() > most_often(len(column)):
                share, atom = counts.max() / len(column), values[counts.argmax()]
                raise BadValue(
                    f"{name} holds the value {atom:g} in {share:.0%} of its search set, so it has "
                    f"no density there: use {EVENTS}, which counts the value separately, or use "
                    f"{DISCRETE}."
                )


def _check_range(x: np.ndarray, y: np.ndarray) -> None:
    """Check that all distances from the median can be converted to the default float type."""
    most = float(jnp.finfo(jnp.result_type(float)).max)
    for name, side in (("x", x), ("y", y)):
        furthest = float(np.max(np.abs(side)))
        if furthest > most:
            raise BadValue(
                f"{name} must hold numbers within {most:.3g} of the median for a density estimate, "
                f"but held a number at a distance of {furthest:.3g}: rescale the outputs, or use "
                f"{EVENTS}."
            )


def _interval(low: float, high: float) -> str:
    """Format an interval; rounding changes each end by less than a hundredth of the width."""
    digits = max(4 + math.floor(math.log10(max(abs(low), abs(high)) / (high - low))), 6)
    return f"[{low:.{digits}g}, {high:.{digits}g}]"
