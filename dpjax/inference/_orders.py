"""Orders of cells, by the ratio of their probabilities or by their positions along a line."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpjax.inference._events import wilson

_SHRINKAGE = 1.0
"""Number of standard errors of the search by which the ratio of a cell is shrunk."""

_FIRST = 2.0**64
"""Factor on the scores of cells that are likelier at one side, so that they precede the cells that
are likelier at the other side. All scores are between 2^-64 and 1 without the factor."""


class Orders(NamedTuple):
    """Orders of cells, whose initial segments are candidate sets.

    Attributes:
        order: int64 [..., 2, cells], the cell at each position of the order, for each likelier
            side.
        most: int64 [..., 2], largest number of cells in a set.
        ends: int64 [..., 2, cells], the position of the last cell that is tied with the cell at
            each position; a set contains all or none of the tied cells.
    """

    order: NDArray[np.int64]
    most: NDArray[np.int64]
    ends: NDArray[np.int64]


class ByRatio(NamedTuple):
    """Cells sorted by a lower bound on the ratio of their probabilities, largest first.

    Attributes:
        allowed: bool [cells], cells that are allowed in events.
        labels: int64 [cells], the group of each cell. The ratio of the group replaces the ratio of
            the cell, unless `labels` is None.
        order: int64 [cells], cells sorted by group.
        starts: int64 [groups], first positions of the groups in `order`.
        ordered: Whether ties are broken by cell number. If False, a set contains all or none of the
            tied cells.
        numbers: int64 [cells], increasing numbers of the cells among all cells.
        num_cells: Number of all cells.
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
        # Renumber groups without gaps.
        labels = np.unique(np.asarray(labels), return_inverse=True)[1]
        order = np.argsort(labels, kind="stable")
        starts = np.searchsorted(labels[order], np.arange(labels.max() + 1))
        return cls(allowed, labels, order, starts, ordered, numbers, len(numbers))

    def only(self, needed: NDArray[np.bool_]) -> "ByRatio":
        """Return the same orders of some of the cells, given as bool [cells]."""
        labels = None if self.labels is None else self.labels[needed]
        found = ByRatio.of(self.allowed[needed], labels, self.ordered)
        return found._replace(numbers=np.flatnonzero(needed), num_cells=self.num_cells)

    def ends_of(self, unseen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the cells among `unseen`, and others, that may be last in an order.

        These are the last cell of each group, and the last cell that is not allowed.
        """
        labels = np.zeros(len(unseen)) if self.labels is None else self.labels[unseen]
        last = len(unseen) - 1 - np.unique(labels[::-1], return_index=True)[1]
        return np.concatenate([unseen[last], np.flatnonzero(~self.allowed)[-1:]])

    def orders(self, counts: NDArray) -> Orders:
        """Return the orders of cells with counts [..., 2, cells], highest ratios first."""
        known, draws = counts, counts.sum(axis=-1, keepdims=True)
        if self.labels is not None:
            known = np.add.reduceat(counts.take(self.order, axis=-1), self.starts, axis=-1)
        low, high = wilson(known, draws, _SHRINKAGE)
        low /= high[..., ::-1, :]
        # Cells that are likelier at this side come first. Otherwise the bound of a rare cell may
        # fall below the ratio of a frequent one that is slightly less likely here.
        shares = known / np.maximum(draws, 1)
        low *= np.where(shares > shares[..., ::-1, :], _FIRST, 1.0)
        score = low if self.labels is None else low.take(self.labels, axis=-1)
        score *= self.allowed
        # The bits of positive floats have the same order as the floats. The last bits are replaced
        # by the cell's number, so that ties have the same order on every machine.
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
        return Orders(order, np.count_nonzero(score, axis=-1), ends)


class ByPosition(NamedTuple):
    """Cells ordered along a line from each end. No set contains cells without a position.

    Attributes:
        order: int64 [2, cells], the cells in their order from each end of the line.
        most: int64 [2], largest number of cells in a set.
    """

    order: NDArray[np.int64]
    most: NDArray[np.int64]

    @classmethod
    def of(cls, allowed: NDArray[np.bool_], line: ArrayLike) -> "ByPosition":
        line = np.where(allowed, np.asarray(line, np.float64), np.nan)
        # Sorting puts NaN at the end.
        order = np.argsort(np.stack([line, -line]), axis=-1, kind="stable")
        return cls(order, np.full(2, np.isfinite(line).sum()))

    def only(self, needed: NDArray[np.bool_]) -> "ByPosition":
        """Return the same orders of some of the cells, given as bool [cells]."""
        is_kept = needed[self.order]
        place = np.cumsum(needed) - 1
        order = place[self.order[is_kept]].reshape(2, -1)
        most = [np.count_nonzero(row[:most]) for row, most in zip(is_kept, self.most, strict=True)]
        return ByPosition(order, np.array(most))

    def ends_of(self, unseen: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the first and the last cell of both orders; see `ByRatio`."""
        return self.order[:, [0, -1]].ravel()

    def orders(self, counts: NDArray) -> Orders:
        """Return the orders of cells along the line, for both ends."""
        shape = counts.shape
        each = np.broadcast_to(np.arange(shape[-1]), shape)
        return Orders(
            np.broadcast_to(self.order, shape), np.broadcast_to(self.most, shape[:-1]), each
        )


class Candidates(NamedTuple):
    """Orders of cells, each with the side at which its sets should be likelier.

    Attributes:
        order: int64 [candidates], index of the order. Way number i of ordering cells makes the
            orders 2 i and 2 i + 1.
        direction: int64 [candidates], the likelier side: 0 for the database, 1 for the neighbor.
        by_ratio: bool [candidates], whether the order is by ratios.
    """

    order: NDArray[np.int64]
    direction: NDArray[np.int64]
    by_ratio: NDArray[np.bool_]

    @classmethod
    def of(cls, ways: Sequence[ByRatio | ByPosition]) -> "Candidates":
        """Return each order by ratio with one side, and each order along a line with both sides."""
        found = []
        for i, way in enumerate(ways):
            by_ratio = isinstance(way, ByRatio)
            found += [(2 * i, 0, by_ratio), (2 * i + 1, 1, by_ratio)]
            found += [] if by_ratio else [(2 * i + 1, 0, False), (2 * i, 1, False)]
        return cls(*(np.array(values) for values in zip(*found, strict=True)))
