"""Orders of cells, by ratios of probabilities or by positions along a line."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpjax.inference._events import wilson

_SHRINKAGE = 1.0
"""Number of standard errors by which a cell's ratio is shrunk."""

_FIRST = 2.0**64
"""Factor for the scores of cells that are more frequent on one side.

Cells are sorted by how strongly they favor this side. Since scores without the factor are between
2^-64 and 1, cells that are more frequent on this side precede all other cells.
"""

_LAST = 2.0**-100
"""Score of allowed cells that have no draws on this side; smaller than all other scores."""


class Orders(NamedTuple):
    """Two orders of cells. The initial segments of each order are candidate sets.

    The first order is for sets that are more likely under the database, and the second order is for
    sets that are more likely under the neighbor.

    Attributes:
        order: int64 [..., 2, cells], index of the cell at each position in each order.
        most: int64 [..., 2], the largest number of cells in a set.
        ends: int64 [..., 2, cells]. In each order, entry i is the position of the last cell that is
            tied with the cell at position i. A set contains either all or none of a group of tied
            cells.
    """

    order: NDArray[np.int64]
    most: NDArray[np.int64]
    ends: NDArray[np.int64]


class ByRatio(NamedTuple):
    """A way to order cells by lower bounds on the ratios of their probabilities.

    Attributes:
        allowed: bool [cells], whether each cell is allowed in events.
        labels: int64 [cells], the group of each cell. The group's ratio is used for the cell. If
            `labels` is None, each cell's own ratio is used.
        order: int64 [cells], indices of the cells sorted by group.
        starts: int64 [groups], position in `order` at which each group begins.
        ordered: Whether ties are broken by cell index. If `ordered` is False, a set contains either
            all or none of a group of tied cells.
        numbers: int64 [cells], increasing indices of the cells in the whole partition.
        num_cells: Number of cells in the whole partition.
    """

    allowed: NDArray[np.bool_]
    labels: NDArray[np.int64] | None
    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    ordered: bool
    numbers: NDArray[np.int64]
    num_cells: int

    @classmethod
    def of(cls, allowed: NDArray[np.bool_], labels: ArrayLike | None, ordered: bool) -> "ByRatio":
        numbers = np.arange(len(allowed))
        if labels is None:
            return cls(allowed, None, numbers[:0], numbers[:0], ordered, numbers, len(numbers))
        # Renumber the groups with consecutive integers.
        labels = np.unique(np.asarray(labels), return_inverse=True)[1]
        order = np.argsort(labels, kind="stable")
        starts = np.searchsorted(labels[order], np.arange(labels.max() + 1))
        return cls(allowed, labels, order, starts, ordered, numbers, len(numbers))

    def only(self, needed: NDArray[np.bool_]) -> "ByRatio":
        """Return the same order, restricted to the cells in a mask, bool [cells]."""
        labels = None if self.labels is None else self.labels[needed]
        found = ByRatio.of(self.allowed[needed], labels, self.ordered)
        return found._replace(numbers=np.flatnonzero(needed), num_cells=self.num_cells)

    def ends_of(self, unseen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return all cells in `unseen` that may be last in an order, and possibly other cells.

        The result contains the last unseen cell of each group, and the last cell that is not
        allowed.
        """
        labels = np.zeros(len(unseen)) if self.labels is None else self.labels[unseen]
        last = len(unseen) - 1 - np.unique(labels[::-1], return_index=True)[1]
        return np.concatenate([unseen[last], np.flatnonzero(~self.allowed)[-1:]])

    def orders(self, counts: NDArray) -> Orders:
        """For counts [..., 2, cells], return the orders of the cells by decreasing ratio."""
        known, draws = counts, counts.sum(axis=-1, keepdims=True)
        if self.labels is not None:
            known = np.add.reduceat(counts.take(self.order, axis=-1), self.starts, axis=-1)
        low, high = wilson(known, draws, _SHRINKAGE)
        low /= high[..., ::-1, :]
        # Put the cells whose frequency is larger on this side before all others. If only the lower
        # bounds were used, a rare cell of this kind might follow a common cell whose frequency is
        # slightly smaller on this side.
        shares = known / np.maximum(draws, 1)
        low *= np.where(shares > shares[..., ::-1, :], _FIRST, 1.0)
        score = low if self.labels is None else low.take(self.labels, axis=-1)
        # An allowed cell without draws precedes all cells that are not allowed.
        score = np.maximum(score, _LAST) * self.allowed
        # Positive floats have the same order as the integers with the same bits. Replace the last
        # bits by the cell's index, so that ties are broken in the same way on every machine.
        last = np.int64((1 << (self.num_cells - 1).bit_length()) - 1)
        order = ~score.view(np.int64)
        order &= ~last
        order |= self.numbers
        order.sort(axis=-1)
        number = np.arange(counts.shape[-1])
        ends = np.broadcast_to(number, order.shape)
        if not self.ordered:
            equal = order[..., 1:] ^ order[..., :-1] <= last
            ends = ends.copy()
            ends[..., :-1][equal] = number[-1]
            ends = np.minimum.accumulate(ends[..., ::-1], axis=-1)[..., ::-1]
        order &= last
        if len(number) < self.num_cells:
            place = np.zeros(self.num_cells, np.int64)
            place[self.numbers] = number
            order = place[order]
        return Orders(order, np.count_nonzero(score > _LAST, axis=-1), ends)


class ByPosition(NamedTuple):
    """A way to order cells by their positions along a line, with one order from each end.

    Cells without a position do not belong to any set.

    Attributes:
        order: int64 [2, cells], indices of the cells in the order from each end of the line.
        most: int64 [2], largest number of cells in a set.
    """

    order: NDArray[np.int64]
    most: NDArray[np.int64]

    @classmethod
    def of(cls, allowed: NDArray[np.bool_], line: ArrayLike) -> "ByPosition":
        line = np.where(allowed, np.asarray(line, np.float64), np.nan)
        # The sort puts NaN last.
        order = np.argsort(np.stack([line, -line]), axis=-1, kind="stable")
        return cls(order, np.full(2, np.isfinite(line).sum()))

    @property
    def line(self) -> NDArray[np.int64]:
        """Indices of the cells on the line, in their order."""
        return self.order[0, : self.most[0]]

    def only(self, needed: NDArray[np.bool_]) -> "ByPosition":
        """Return the same order, restricted to the cells in a mask, bool [cells]."""
        is_kept = needed[self.order]
        place = np.cumsum(needed) - 1
        order = place[self.order[is_kept]].reshape(2, -1)
        most = [np.count_nonzero(row[:most]) for row, most in zip(is_kept, self.most, strict=True)]
        return ByPosition(order, np.array(most))

    def ends_of(self, unseen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first and the last cell of each order. See `ByRatio.ends_of`."""
        return self.order[:, [0, -1]].ravel()

    def orders(self, counts: NDArray) -> Orders:
        """Return the orders of cells from both ends of the line."""
        shape = counts.shape
        each = np.broadcast_to(np.arange(shape[-1]), shape)
        return Orders(
            np.broadcast_to(self.order, shape), np.broadcast_to(self.most, shape[:-1]), each
        )


class Candidates(NamedTuple):
    """Orders of cells, each with the side on which its sets should be more likely.

    Attributes:
        order: int64 [candidates], index of the order. The i-th way to order cells defines the
            orders 2 i and 2 i + 1.
        direction: int64 [candidates], the side on which the sets should be more likely: 0 for the
            database, 1 for the neighbor.
        by_ratio: bool [candidates], whether the cells are ordered by ratio (True) or by position
            (False).
    """

    order: NDArray[np.int64]
    direction: NDArray[np.int64]
    by_ratio: NDArray[np.bool_]

    @classmethod
    def of(cls, ways: Sequence[ByRatio | ByPosition]) -> "Candidates":
        """Return the candidates for the given ways to order cells.

        Each order by ratio is a candidate for one side. Each order along a line is a candidate for
        both sides.
        """
        found = []
        for i, way in enumerate(ways):
            by_ratio = isinstance(way, ByRatio)
            found += [(2 * i, 0, by_ratio), (2 * i + 1, 1, by_ratio)]
            found += [] if by_ratio else [(2 * i + 1, 0, False), (2 * i, 1, False)]
        return cls(*(np.array(values) for values in zip(*found, strict=True)))
