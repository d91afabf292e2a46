"""A partition of outputs of any kind into finitely many cells.

The map from an output to its cell is post-processing. Therefore, if the mechanism is epsilon-DP,
the probabilities of any union of cells under the two databases differ by a factor of at most
e^epsilon. Every output belongs to some cell because there is one cell for all labels that did not
occur in the pilot, and because the outermost bins extend to infinity.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from dpjax.core.types import Plain
from dpjax.partitions._batches import Outputs
from dpjax.partitions._bins import bins_of
from dpjax.partitions._cells import Cells, after
from dpjax.partitions._region import Box, Region
from dpjax.partitions._words import describe, is_simpler

RANK = "share of outputs: event, then others by P(database) / P(neighbor)"
"""Label of the axis along which a plot arranges boxes."""

GROUPS = (3, 9, 27)
"""How many adjacent bins each coarser partition merges into one bin."""

_MANY_BINS = 64
"""If an entry of non-integer outputs has more bins than this, the first search merges adjacent
bins.
"""


@dataclass(frozen=True)
class Partition(Cells):
    """A partition of `Outputs` into `Cells`, which `dpjax.partitions.lay` constructs."""

    @property
    def cross_fitted(self) -> bool:
        """Whether `index_held_out` differs from `index`."""
        return type(self).index_held_out is not Partition.index_held_out

    @property
    def columns(self) -> Sequence[int]:
        """Index of the entry that each axis divides, or () if the axis is a score."""
        return range(len(self.edges))

    @property
    def is_peer(self) -> bool:
        """Whether the events are as easy to describe as those of the partition before this one."""
        return False

    def along(self, outputs: Outputs, fold: np.ndarray | None = None) -> np.ndarray | None:
        """Return the score that defines the cells, or None if there is none.

        Args:
            outputs: Outputs [n].
            fold: Fold of each output, int [n], for scores fitted without this fold; or None.

        Returns:
            Numbers that increase from cell to cell, float64 [n], or None.
        """
        return None

    def index(self, outputs: Outputs) -> np.ndarray:
        """Return the cell of each output, int64 [n]."""
        labels, values, alone = outputs
        if len(self.boxed) == 1 and not (self.boxed[0] or labels.any() or alone.any()):
            # In the most common case, all outputs are numbers without a label.
            cell = self._box(np.zeros(1, np.int64), values)
            cell += self.num_alone
            return cell
        rank = np.full(len(self.names) + 1, -1)
        rank[self.boxed] = np.arange(len(self.boxed))
        known = np.minimum(labels, len(self.names))
        place = rank[known]
        boxes = ~alone & (place >= 0)
        if boxes.all():
            return self.num_alone + self._box(place, values)
        cell = known.astype(np.int64)
        # If a label had no numbers in the pilot, its outputs with numbers are treated as unseen
        # labels.
        cell[~alone & (place < 0)] = len(self.names)
        cell[boxes] = self.num_alone + self._box(place[boxes], values[boxes])
        return cell

    def _box(self, place: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Return the box index of each output, given the index of its label in `boxed`."""
        for column, edges in enumerate(self.edges):
            bins = bins_of(edges, values[:, column])
            bins += place * (len(edges) + 1)
            place = bins
        return place

    def narrowed(self, marks: np.ndarray) -> tuple[Self, np.ndarray]:
        """Drop each edge that separates only cells with equal marks, so that counting is faster.

        Args:
            marks: Mark of each cell, integers [size].

        Returns:
            A partition with fewer edges, and the marks of its cells. Only the `index` method of the
            new partition may be used.
        """
        boxes, kept = self.boxes(marks), []
        for column, edges in enumerate(self.edges):
            by_bin = np.moveaxis(boxes, column + 1, 0).reshape(len(edges) + 1, -1)
            changes = (by_bin[1:] != by_bin[:-1]).any(axis=1)
            kept.append(edges[changes])
            boxes = np.compress(np.append(True, changes), boxes, axis=column + 1)
        marks = np.concatenate([marks[: self.num_alone], boxes.ravel()])
        return replace(self, edges=tuple(kept)), marks

    def index_held_out(self, outputs: Outputs, fold: np.ndarray) -> np.ndarray:
        """Return each output's cell, int [n], under a score fitted without the output's fold."""
        return self.index(outputs)

    def groups(self, width: int) -> np.ndarray:
        """Merge groups of `width` adjacent bins.

        Labels are never merged. Atoms are merged only if all outputs are integers.

        Returns:
            For each cell, the index of the merged cell that contains it, int64 [size]. The indices
            run from 0 without gaps.
        """
        box = np.zeros(1, np.int64)
        for edges, atoms in zip(self.edges, self.atoms, strict=True):
            # Atoms stay alone, except in integer outputs, whose atoms are merged like bins.
            alone = np.concatenate([[False], np.isin(edges, atoms) & (not self.whole)])
            # A bin starts a new group if the bin or its left neighbor is an atom, or if the group
            # is full.
            starts = alone | np.concatenate([[True], alone[:-1]])
            starts |= np.arange(len(starts)) % width == 0
            bins = np.cumsum(starts) - 1
            box = (box[:, None] * (bins[-1] + 1) + bins).ravel()
        rank = np.arange(len(self.boxed))[:, None] * (box.max() + 1)
        return np.concatenate([np.arange(self.num_alone), self.num_alone + (rank + box).ravel()])

    def coarser(self) -> list[np.ndarray]:
        """Return the coarser partitions that a search compares, each as an array from `groups`."""
        return [self.groups(width) for width in GROUPS if 2 * width <= max(self.shape)]

    def positions(self) -> list[np.ndarray]:
        """Return coordinates by which boxes are sorted: the bin index of each entry, and their sum.

        Returns:
            List of arrays [size], one per coordinate. The entry of a cell is NaN if its outputs
            have no numbers. The list is empty if no label has numbers.
        """
        if not len(self.boxed):
            return []
        bins = list(np.indices(self.shape).reshape(len(self.shape), -1))
        lines = bins if len(bins) == 1 else [*bins, sum(bins)]
        alone = np.full(self.num_alone, np.nan)
        return [np.concatenate([alone, np.tile(line, len(self.boxed))]) for line in lines]

    def merged(self, allowed: np.ndarray | None) -> tuple[np.ndarray, list[np.ndarray]]:
        """Merge adjacent bins for a first, coarse search if there are many bins.

        Args:
            allowed: Whether each cell belongs to the region, bool [size]; None if there is no
                region. Cells in the region are not merged with cells outside it.

        Returns:
            For each cell, the index of the coarse cell that contains it, int64 [size]; and the mean
            of `positions` in each coarse cell. The indices run from 0 without gaps.
        """
        group = np.arange(self.size)
        # Integers are not merged, since a single integer may account for the entire privacy loss.
        # Neighboring bins of reals have similar probabilities.
        if not self.whole and max(self.shape) > _MANY_BINS:
            group = self.groups(GROUPS[0])
        if allowed is not None:
            group = np.unique(2 * group + allowed, return_inverse=True)[1]
        sizes = np.bincount(group)
        lines = self.positions()
        return group, [np.bincount(group, line) / sizes for line in lines]

    def bounds(self) -> np.ndarray:
        """Return the two ends of each cell's interval, [size, 2]; an atom's two ends are equal.

        The ends are NaN for a label, a label with numbers, and a box of vectors.
        """
        found = np.full((self.size, 2), np.nan)
        if len(self.edges) == 1 and self.boxed.tolist() == [0]:
            found[self.num_alone :] = np.stack(self.ends(0), axis=1)
        return found

    def inside(self, region: Region | None) -> np.ndarray | None:
        """Return whether each cell lies entirely in a region, or None if `region` is None."""
        if region is None:
            return None
        box = np.ones(1, bool)
        for column in range(len(self.edges)):
            low, high = self.ends(column)
            # The region's lower ends, and the next floats above its upper ends, are edges.
            if isinstance(region, Box):
                upper = after(float(region.high[column]), whole=False)
                fits = (low >= float(region.low[column])) & (high <= upper)
            else:
                # A bin contains the integers from `low` up to, but not including, `high`; an atom
                # is one integer.
                high = np.where(low == high, low + 1, high)
                first, last = (
                    np.clip(end - region.low, 0, region.size).astype(int) for end in (low, high)
                )
                allowed = np.concatenate([[0], np.cumsum(region.allowed)])
                fits = allowed[last] - allowed[first] == high - low
            box = (box[:, None] & fits).ravel()
        return np.concatenate([np.zeros(self.num_alone, bool), np.tile(box, len(self.boxed))])

    def settled(self, mask: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Simplify the description of an event by adding or removing empty cells.

        A cell is empty if the search set has no outputs in it. An empty interval belongs to the new
        event only if the event contains the nearest non-empty interval on its left and the nearest
        non-empty interval on its right. Empty labels are either all added or all removed, whichever
        makes the description simpler.

        Args:
            mask: The event, bool [size].
            seen: Whether each cell contains outputs of the search set, bool [size].

        Returns:
            The new event, bool [size], which contains the same outputs of the search set as `mask`.
        """
        if mask[seen].all():
            return mask
        if len(self.shape) == 1:
            boxes = zip(*(self.boxes(cells) for cells in (mask, seen)), strict=True)
            filled = [_filled(chosen, happened, np.logical_and) for chosen, happened in boxes]
            mask = np.concatenate([mask[: self.num_alone], *filled])
        never = ~seen & (np.arange(self.size) < self.num_alone)
        without, together = mask & ~never, mask | never
        if not without.any() or 2 * together.sum() <= self.size:
            return without
        return together if is_simpler(self, ~together, without) else without

    def spread(self, places: np.ndarray, seen: np.ndarray, last: int) -> np.ndarray:
        """Assign each empty cell to a nested set or to none, so that the sets have fewer parts.

        An empty bin is assigned to the first set that contains both of its nearest non-empty bins,
        left and right. An empty label is assigned to no set. The values in `places` for non-empty
        cells do not change.

        Args:
            places: For each cell, the index of the first nested set that contains it, int64 [size].
            seen: Whether each cell contains outputs of the search set, bool [size].
            last: Value in `places` that denotes a cell in no set.
        """
        never = ~seen & (np.arange(self.size) < self.num_alone)
        places = np.where(never, last, places)
        if len(self.shape) != 1:
            return places
        boxes = zip(self.boxes(places), self.boxes(seen), strict=True)
        found = [_filled(chosen, happened, np.maximum) for chosen, happened in boxes]
        return np.concatenate([places[: self.num_alone], *found])

    def plain(self) -> Plain | None:
        """Return the label and kind of the plot's axis, or None if the axis shows output values."""
        return {"words": RANK, "kind": "boxes"} if len(self.shape) > 1 else None

    def describe(self, mask: np.ndarray, *, whole: bool = False) -> str:
        """Describe the event that the output lies in a cell of `mask`, bool [size].

        If `whole` is True, the description lists every part of the event with all digits. If
        `whole` is False, the description lists only the first few parts.
        """
        return describe(self, mask, whole)

    def without_numbers(self) -> "Partition":
        """Return a coarser partition that distinguishes labels but ignores numbers."""
        nothing = (np.empty(0),)
        return Partition(self.names, nothing, nothing, np.empty(0, int))


def _filled(values: np.ndarray, seen: np.ndarray, join: np.ufunc) -> np.ndarray:
    """Give each empty bin the joint value of its nearest non-empty bins, left and right."""
    known = np.flatnonzero(seen)
    if not known.size:
        return values
    place = np.searchsorted(known, np.arange(len(seen)))
    left, right = (np.clip(p, 0, len(known) - 1) for p in (place - 1, place))
    return np.where(seen, values, join(values[known[left]], values[known[right]]))
