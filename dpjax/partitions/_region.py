"""The region of outputs over which an audit maximizes the privacy loss."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import ArrayLike

from dpjax.core import validate
from dpjax.core.types import FiniteSpace, IntegerSpace, OutputSpace, RealSpace, VectorSpace
from dpjax.core.wording import BadType, BadValue


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Outcomes:
    """A region that is a finite set of integers.

    Attributes:
        low: Smallest integer of a range that contains the region.
        size: Number of integers in the range.
        allowed: Whether each integer of the range belongs to the region, bool [size].
    """

    low: int = field(metadata={"static": True})
    size: int = field(metadata={"static": True})
    allowed: Array | np.ndarray

    def __str__(self) -> str:
        if np.all(self.allowed):
            return f"{{{self.low}, ..., {self.low + self.size - 1}}}"
        last = self.low + self.size - 1
        return f"{int(np.sum(self.allowed))} of the outcomes {self.low}, ..., {last}"


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Box:
    """A region that is an interval or a box of real outputs.

    Attributes:
        low: Lower ends, shape [d].
        high: Upper ends, shape [d].
        num_points: Number of grid points per axis for direct density estimates. The value 0 denotes
            a default number, which depends on the dimension.
    """

    # The caller passes numbers; validation replaces them with arrays.
    low: Any
    high: Any
    num_points: int = field(default=0, metadata={"static": True})

    def __post_init__(self):
        if validate.is_traced(self.low) or validate.is_traced(self.high):
            return
        try:
            low, high = (np.atleast_1d(np.asarray(x, float)) for x in (self.low, self.high))
        except (TypeError, ValueError):
            raise BadType(
                f"region must have numbers as ends, but had {self.low!r} and {self.high!r}."
            ) from None
        if low.ndim != 1 or low.shape != high.shape:
            raise BadValue(
                "region must have ends of the same shape [d], but their shapes were "
                f"{low.shape} and {high.shape}."
            )
        dtype = jnp.result_type(float)
        validate.increasing(low, high, name="region")
        if np.any(low.astype(dtype) >= high.astype(dtype)):
            raise BadValue(
                f"region must have ends that are distinct {np.dtype(dtype)} numbers, but had "
                f"{self.low!r} and {self.high!r}: subtract a constant from the outputs, or turn on "
                "float64 (jax_enable_x64; --x64 on the command line)."
            )
        object.__setattr__(self, "low", low.astype(dtype))
        object.__setattr__(self, "high", high.astype(dtype))
        # Grids have 201, 1681 or 2197 points. Finer grids change the bound by less than 0.004.
        default = {1: 201, 2: 41, 3: 13}.get(len(low), 2)
        num_points = self.num_points or default
        validate.positive_int(at_least=2, num_points=num_points)
        object.__setattr__(self, "num_points", num_points)

    @property
    def dimension(self) -> int:
        """Number of axes."""
        return self.low.shape[-1]

    def grid(self) -> Array:
        """Return all grid points, [num_points^d, d]."""
        return product_grid(self.low, self.high, self.num_points)

    def __str__(self) -> str:
        return " x ".join(f"[{a:g}, {b:g}]" for a, b in zip(self.low, self.high, strict=True))


Region = Outcomes | Box
RegionLike = Region | Iterable[ArrayLike] | Sequence[int]
"""Type of arguments that specify a region: a region object, the ends (low, high), or outcomes."""


def product_grid(low: Array, high: Array, num_points: int) -> Array:
    """Return the Cartesian product of equally spaced points on each axis, including both ends.

    Args:
        low: Lower ends [d].
        high: Upper ends [d].
        num_points: Number of points on each axis.

    Returns:
        Points, [num_points^d, d].
    """
    axes = [jnp.linspace(low[i], high[i], num_points) for i in range(low.shape[0])]
    return jnp.stack([g.ravel() for g in jnp.meshgrid(*axes, indexing="ij")], axis=-1)


def as_region(region: RegionLike | None, space: OutputSpace) -> Region:
    """Convert an argument to a region and validate it against the output space.

    Args:
        region: A `Box` or `Outcomes`. For reals, vectors and integers, (low, high) is accepted as
            well. For a finite space, a list of outcomes is accepted, and None stands for all
            outcomes.
        space: The output space.

    Raises:
        ValueError: If the region is empty, unbounded or outside the output space, if its dimension
            differs from that of the outputs, or if `region` is None and the space is not finite.
        TypeError: If `region` does not have one of the accepted forms.
    """
    if isinstance(space, FiniteSpace):
        return _finite_region(region, space)
    if region is None:
        raise BadValue(
            f"region must be given as (low, high) for outputs in {space}; only "
            "finite output spaces allow None."
        )
    if isinstance(region, Region):
        box = region
    else:
        box = _box_between(region)
    if isinstance(space, IntegerSpace):
        return _integer_region(box)
    if not isinstance(box, Box):
        raise BadType(f"region must be an interval or a box for outputs in {space}.")
    dimension = space.dimension if isinstance(space, VectorSpace) else 1
    if box.dimension != dimension:
        raise BadValue(
            f"region must have dimension {dimension}, like the outputs, but had {box.dimension}."
        )
    if dimension > 3:
        raise ValueError(
            f"outputs of dimension {dimension} have too many entries for a kernel estimate, which "
            "accepts at most 3: audit a function of the output, such as one of its entries."
        )
    if isinstance(space, RealSpace) and (box.high[0] <= space.low or box.low[0] >= space.high):
        raise ValueError(f"region {box} lies outside the support of the outputs, {space}.")
    return box


EVERYWHERE = "all outputs"
"""Description of the region if no region was specified and all outputs are allowed."""


def region_text(region: Region | None) -> str:
    """Describe a region in words. The value None stands for all outputs."""
    return EVERYWHERE if region is None else str(region)


def as_box(region: RegionLike | None) -> Box | None:
    """Convert (low, high) to a `Box`, and return a `Box` or None unchanged.

    Raises:
        ValueError, TypeError: If `region` is neither (low, high) nor a `Box` nor None.
    """
    return region if region is None or isinstance(region, Box) else _box_between(region)


def _box_between(ends: Any) -> Box:
    try:
        low, high = ends
    except (TypeError, ValueError):
        raise BadType(f"region must be (low, high), but was {ends!r}.") from None
    return Box(low, high)


def _finite_region(region: RegionLike | None, space: FiniteSpace) -> Outcomes:
    allowed = np.ones(space.size, bool)
    if isinstance(region, Outcomes):
        if region.low < 0 or region.low + region.size > space.size:
            raise BadValue(
                f"region must lie within the outcomes 0..{space.size - 1}, but had the range "
                f"{region.low}..{region.low + region.size - 1}."
            )
        return _not_empty(region)
    if region is not None:
        chosen = np.asarray(region)
        if chosen.size == 0:
            raise BadValue("region must hold at least one outcome, but was empty.")
        if chosen.dtype.kind not in "iu" or chosen.ndim != 1:
            raise BadType(f"region must be a list of outcomes (integers), but was {region!r}.")
        if chosen.min() < 0 or chosen.max() >= space.size:
            raise BadValue(
                f"region must hold only outcomes 0..{space.size - 1}, but was {region!r}: no other "
                "output is possible."
            )
        allowed = np.isin(np.arange(space.size), chosen)
    return Outcomes(0, space.size, allowed)


def _integer_region(region: Region) -> Outcomes:
    if isinstance(region, Outcomes):
        return _not_empty(region)
    if region.dimension != 1:
        raise BadValue(
            f"region must have dimension 1, like the outputs, but had {region.dimension}."
        )
    if np.max(np.abs([region.low[0], region.high[0]])) > 2**24:
        raise ValueError(
            f"region {region} reaches past 2^24, where its ends are no longer exact integers: "
            "subtract a constant from the outputs."
        )
    low, high = int(np.ceil(region.low[0])), int(np.floor(region.high[0]))
    if low > high:
        raise ValueError(f"region {region} holds no integer.")
    if high - low >= 2**20:
        raise ValueError(f"region {region} holds more than 2^20 integers: shrink the region.")
    return Outcomes(low, high - low + 1, np.ones(high - low + 1, bool))


def _not_empty(region: Outcomes) -> Outcomes:
    if np.shape(region.allowed) != (region.size,) or not np.any(region.allowed):
        raise BadValue(
            f"region.allowed must hold one bool for each of the {region.size} integers, at least "
            f"one of them True, but {int(np.sum(region.allowed))} of its {np.size(region.allowed)} "
            "entries were True."
        )
    return region
