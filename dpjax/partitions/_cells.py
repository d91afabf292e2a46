"""A partition of outputs into finitely many cells, so that every kind of output can be counted.

The number of an output's cell is post-processing with finitely many outcomes, so an event made of
cells has a probability ratio of at most e^epsilon, whatever the outputs are. No output is dropped:
there are cells below and above all edges, and NaN and the infinities have cells of their own.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from dpjax.partitions._words import describe_product

_NUM_ATOMS = 3
"""Cells of a float axis that hold NaN, -infinity and +infinity."""

_GROUP_WIDTHS = (2, 4, 8, 16, 32)
"""Neighbouring bins that are looked at together."""

_FEW_EDGES = 128
"""With more, a binary search takes no longer than comparing with all, nor to compile."""

MAX_CELLS = 2**21
"""More cells than this are refused."""


class Partition(Protocol):
    """What an audit needs to know of cells."""

    @property
    def size(self) -> int:
        """How many cells there are."""
        ...

    def index(self, outputs: Any) -> Any:
        """int32 [n], the cell of each output."""
        ...

    def describe(self, mask: Any) -> str:
        """The event that the output lies in one of the cells of bool [size], in words."""
        ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class CellAxis:
    """Cells of one number: below all edges, between two neighbouring ones, from the last one on.

    A bin holds its lower edge and not its upper one. Where `atoms`, three more cells hold NaN,
    -infinity and +infinity.

    Attributes:
        edges: Increasing, shape [edges]; integers where `whole`.
        name: What the number is called, such as "the output".
        whole: Whether the numbers are whole, so that a bin of width 1 is one outcome.
        unit: Whether all bins have width 1.
        atoms: Whether NaN and infinities can happen.
    """

    edges: Any
    name: str = field(default="the output", metadata={"static": True})
    whole: bool = field(default=False, metadata={"static": True})
    unit: bool = field(default=False, metadata={"static": True})
    atoms: bool = field(default=True, metadata={"static": True})

    @property
    def num_bins(self) -> int:
        """Cells that are ordered along the axis, the two outer ones among them."""
        return self.edges.shape[0] + 1

    @property
    def size(self) -> int:
        """All cells."""
        return self.num_bins + (_NUM_ATOMS if self.atoms else 0)

    def index(self, values: Any) -> Any:
        """int32 cells of values [n], by NumPy for arrays of NumPy and by jnp otherwise."""
        xp: Any = np if isinstance(values, np.ndarray) else jnp
        edges = xp.asarray(self.edges, values.dtype)
        if self.unit:
            # Compared before the difference is taken, which could overflow.
            inside = (values >= edges[0]) & (values < edges[-1])
            place = xp.where(inside, values - edges[0], 0).astype(np.int32) + 1
            bins = xp.where(inside, place, xp.where(values < edges[0], 0, self.num_bins - 1))
        elif xp is jnp and edges.shape[0] <= _FEW_EDGES:
            # Compared with every edge in one loop: for 65 edges six times faster than a search.
            bins = jnp.zeros(values.shape, np.int32)
            for edge in edges:
                bins += values >= edge
        elif xp is jnp:
            bins = jnp.searchsorted(edges, values, side="right", method="scan")
        else:
            bins = np.searchsorted(edges, values, side="right")
        bins = bins.astype(np.int32)
        if not self.atoms:
            return bins
        infinite = xp.where(values > 0, np.int32(2), np.int32(1))
        atom = xp.where(xp.isnan(values), np.int32(0), infinite)
        return xp.where(xp.isfinite(values), bins, np.int32(self.num_bins) + atom)

    def bounds(self) -> np.ndarray:
        """[size, 2], where each bin begins and ends, the same twice for a single number.

        NaN for the cells of NaN and the infinities.
        """
        edges = np.asarray(self.edges)
        low, high = np.append(-np.inf, edges), np.append(edges, np.inf)
        following = edges + 1 if self.whole else np.nextafter(edges, np.array(np.inf, edges.dtype))
        high[1:] = np.where(following >= high[1:], low[1:], high[1:])
        atoms = np.full((self.size - self.num_bins, 2), np.nan)
        return np.concatenate([np.stack([low, high], axis=1), atoms])

    def groups(self, width: int) -> np.ndarray:
        """int64 [size], numbers of groups: `width` neighbouring bins each; others stay alone."""
        inner = 1 + np.arange(self.num_bins - 2) // width
        last = inner[-1] if inner.size else 0
        return np.concatenate([[0], inner, last + 1 + np.arange(self.size - self.num_bins + 1)])


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Cells:
    """The product of one or more axes, cells numbered in C order.

    Attributes:
        axes: One for outputs of shape [n]; one a column for outputs of shape [n, d].
    """

    axes: tuple[CellAxis, ...]

    def __post_init__(self):
        if len(self.axes) and hasattr(self.axes[0], "size") and self.size > MAX_CELLS:
            raise ValueError(
                f"cells must be at most {MAX_CELLS}, but were {self.size}: give fewer bins, or "
                "audit a function of the output."
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Cells of each axis."""
        return tuple(axis.size for axis in self.axes)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return int(np.prod(self.shape))

    def positions(self) -> list[np.ndarray]:
        """The place of each cell along each ordered axis, float64 [size]; NaN for atoms."""
        found = []
        for number, axis in enumerate(self.axes):
            if axis.num_bins > 2:
                place = np.where(np.arange(axis.size) < axis.num_bins, np.arange(axis.size), np.nan)
                shape = [-1 if i == number else 1 for i in range(len(self.axes))]
                found.append(np.broadcast_to(place.reshape(shape), self.shape).ravel())
        return found

    def coarser(self) -> list[np.ndarray]:
        """Groups of neighbouring cells, int64 [size] each, from narrow to wide."""
        widest = max(axis.num_bins for axis in self.axes)
        found = []
        for width in (w for w in _GROUP_WIDTHS if 2 * w <= widest):
            cell = np.zeros((), np.int64)
            for axis in self.axes:
                group = axis.groups(width)
                cell = cell[..., None] * (int(group.max()) + 1) + group
            found.append(cell.ravel())
        return found

    def index(self, outputs: Any) -> Any:
        """int32 [n], the cell of each output of shape [n] or [n, d], for NumPy and jnp arrays."""
        if len(self.axes) == 1:
            return self.axes[0].index(outputs)
        cell = self.axes[0].index(outputs[:, 0])
        for column, axis in enumerate(self.axes[1:], start=1):
            cell = cell * np.int32(axis.size) + axis.index(outputs[:, column])
        return cell

    def describe(self, mask: Any) -> str:
        """The event that the output lies in one of the cells of bool [size], in words."""
        mask = np.asarray(mask, bool)
        if mask.shape != (self.size,):
            raise ValueError(f"mask must have the shape [{self.size}], but had {mask.shape}.")
        return describe_product(self.axes, mask.reshape(self.shape))

    def name_of(self, cell: int) -> str:
        """The event that the output lies in one cell, in words."""
        mask = np.zeros(self.size, bool)
        mask[cell] = True
        return self.describe(mask)


def outcome_cells(size: int, first: int = 0) -> Cells:
    """One cell an outcome, and one each for all integers below and above.

    Args:
        size: How many integers have a cell of their own.
        first: The smallest of them.
    """
    edges = np.arange(first, first + size + 1)
    return Cells((CellAxis(edges, whole=True, unit=True, atoms=False),))


def integer_cells(values: Any) -> Cells:
    """One cell for each of some integers, and one for each gap between them and beyond them.

    Args:
        values: Distinct integers in any order; they may be far apart.
    """
    values = np.unique(np.asarray(values, np.int64))
    edges = np.union1d(values, values + 1)
    return Cells((CellAxis(edges, whole=True, atoms=False),))


def interval_cells(edges: Any, *, name: str = "the output") -> Cells:
    """Intervals between edges, two tails, and atoms for NaN and the infinities.

    Args:
        edges: Increasing finite numbers, [edges].
        name: What the number is called.
    """
    return Cells((CellAxis(_edges(edges), name=name),))


def product_cells(edges: Any) -> Cells:
    """The product of `interval_cells` of each entry of a vector.

    Args:
        edges: One array of edges an entry.
    """
    return Cells(
        tuple(CellAxis(_edges(e), name=f"entry {number}") for number, e in enumerate(edges))
    )


def mixed_cells(num_labels: int, edges: Any) -> Cells:
    """Labels x intervals, for outputs (label, real) of shape [n, 2].

    Args:
        num_labels: Labels are 0, ..., num_labels - 1.
        edges: Of the real; an edge at 0 and one right above it part atoms from densities there.
    """
    label = CellAxis(np.arange(num_labels + 1), name="the label", whole=True, unit=True)
    return Cells((label, CellAxis(_edges(edges), name="the number")))


def _edges(edges: Any) -> np.ndarray:
    # Float32, as the outputs that are compared with them, so that no two of them merge there.
    edges = np.unique(np.asarray(edges, jnp.result_type(float)))
    if edges.size == 0 or not np.all(np.isfinite(edges)):
        raise ValueError(f"edges must be finite numbers, at least one, but were {edges}.")
    return edges


def count_cells(cells: Partition, outputs: Any) -> np.ndarray:
    """How often each cell happened in outputs on the host.

    Args:
        cells: A partition.
        outputs: Of the kind that the partition takes, [n, ...].

    Returns:
        int64 [size].
    """
    return np.bincount(cells.index(np.asarray(outputs)), minlength=cells.size)
