"""The orders in which sets of cells grow: by the ratio of the two sides, or along a line."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpjax.inference._events import wilson

_SHRINKAGE = 1.0
"""Standard errors of the search by which the ratio of a cell is shrunk."""


class Orders(NamedTuple):
    """Cells in the order in which sets take them.

    Attributes:
        order: int64 [..., 2, cells].
        most: int64 [..., 2], how many may be used.
        ends: int64 [..., 2, cells], the place of the last cell that is taken with the one at this
            place. Of equal names a set has all or none: their order tells nothing.
    """

    order: NDArray[np.int64]
    most: NDArray[np.int64]
    ends: NDArray[np.int64]


class ByRatio(NamedTuple):
    """Cells in the order of how much likelier they are at each side, for sure.

    Attributes:
        allowed: bool [cells].
        labels: int64 [cells], groups whose ratios stand for those of their cells; None for the
            cells' own.
        order: int64 [cells], cells in the order of their groups.
        starts: int64 [groups], where groups start in it.
        ordered: Whether equal cells are taken in the order of their numbers, not together.
    """

    allowed: NDArray[np.bool_]
    labels: NDArray[np.int64] | None
    order: NDArray[np.int64]
    starts: NDArray[np.int64]
    ordered: bool

    @classmethod
    def of(cls, allowed: NDArray[np.bool_], labels: ArrayLike | None, ordered: bool) -> "ByRatio":
        if labels is None:
            return cls(allowed, None, np.arange(0), np.arange(0), ordered)
        # Numbered without gaps.
        labels = np.unique(np.asarray(labels), return_inverse=True)[1]
        order = np.argsort(labels, kind="stable")
        starts = np.searchsorted(labels[order], np.arange(labels.max() + 1))
        return cls(allowed, labels, order, starts, ordered)

    def orders(self, counts: NDArray) -> Orders:
        """Of counts [..., 2, cells], highest ratios first."""
        known, draws = counts, counts.sum(axis=-1, keepdims=True)
        if self.labels is not None:
            known = np.add.reduceat(counts.take(self.order, axis=-1), self.starts, axis=-1)
        low, high = wilson(known, draws, _SHRINKAGE)
        low /= high[..., ::-1, :]
        score = low if self.labels is None else low.take(self.labels, axis=-1)
        score *= self.allowed
        # A positive float's bits are ordered as it is. The last ones make place for the cell's
        # number, so that equal scores are in the order of the cells on every machine.
        number = np.arange(counts.shape[-1])
        last = np.int64((1 << int(number[-1]).bit_length()) - 1)
        order = ~score.view(np.int64)
        order &= ~last
        order |= number
        order.sort(axis=-1)
        ends = np.broadcast_to(number, order.shape)
        if not self.ordered:
            equal = order[..., 1:] ^ order[..., :-1] <= last
            ends = ends.copy()
            ends[..., :-1][equal] = number[-1]
            ends = np.minimum.accumulate(ends[..., ::-1], axis=-1)[..., ::-1]
        order &= last
        return Orders(order, np.count_nonzero(score, axis=-1), ends)


class ByPosition(NamedTuple):
    """Cells along a line from each end; those without a position are at last, and in no set.

    Attributes:
        order: int64 [2, cells].
        most: int64 [2], how many may be used.
    """

    order: NDArray[np.int64]
    most: NDArray[np.int64]

    @classmethod
    def of(cls, allowed: NDArray[np.bool_], line: ArrayLike) -> "ByPosition":
        line = np.where(allowed, np.asarray(line, np.float64), np.nan)
        # NaN is sorted to the end.
        order = np.argsort(np.stack([line, -line]), axis=-1, kind="stable")
        return cls(order, np.full(2, np.isfinite(line).sum()))

    def orders(self, counts: NDArray) -> Orders:
        """As `ByRatio.orders`."""
        shape = counts.shape
        each = np.broadcast_to(np.arange(shape[-1]), shape)
        return Orders(
            np.broadcast_to(self.order, shape), np.broadcast_to(self.most, shape[:-1]), each
        )
