"""A partition of outputs into finitely many cells: one class for outputs of every kind.

The number of an output's cell is post-processing with finitely many outcomes, so an event made of
cells has a probability ratio of at most e^epsilon, whatever the outputs are. No output is dropped:
labels that the pilot did not see share a cell, and bins have tails on both sides.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpjax.partitions._region import Box, Region
from dpjax.partitions._words import describe, is_simpler
from dpjax.partitions.outputs import Outputs

RANK = "share of outputs, likelier at the database first"
"""The line along which boxes are drawn."""

GROUPS = (3, 9, 27)
"""Numbers of neighbouring bins that are tried as one."""

_MANY_BINS = 64
"""Bins of one number, above which a first look takes several as one."""


@dataclass(frozen=True)
class Partition:
    """Cells of `Outputs`; `dpjax.partitions.lay` makes them.

    Cells are numbered: each label of the pilot standing alone; labels that it did not see; then,
    for each label that came with numbers, the boxes of the numbers in C order.

    Attributes:
        names: Of the labels that the pilot saw, by number.
        edges: For each number of an output, increasing float64 edges. A bin holds its lower edge
            and not its upper one.
        atoms: For each number, the values whose bins hold nothing else.
        boxed: Numbers of the labels that came with numbers in the pilot.
        whole: Whether all numbers are integers by their type.
        ordered: Whether numbers that are neighbours are alike; codes of outcomes are not.
    """

    names: tuple[str, ...]
    edges: tuple[np.ndarray, ...]
    atoms: tuple[np.ndarray, ...]
    boxed: np.ndarray
    whole: bool = False
    ordered: bool = True

    @property
    def shape(self) -> tuple[int, ...]:
        """Bins of each number."""
        return tuple(len(edges) + 1 for edges in self.edges)

    @property
    def num_alone(self) -> int:
        """Cells without numbers."""
        return len(self.names) + 1

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.num_alone + len(self.boxed) * int(np.prod(self.shape))

    def index(self, outputs: Outputs) -> np.ndarray:
        """int64 [n], the cell of each output."""
        labels, values, alone = outputs
        rank = np.full(len(self.names) + 1, -1)
        rank[self.boxed] = np.arange(len(self.boxed))
        known = np.minimum(labels, len(self.names))
        cell = known.astype(np.int64)
        boxes = ~alone & (rank[known] >= 0)
        # Numbers beside a label that had none in the pilot: with the labels that it did not see.
        cell[~alone & (rank[known] < 0)] = len(self.names)
        place = rank[known[boxes]]
        for column, edges in enumerate(self.edges):
            bins = np.searchsorted(edges, values[boxes, column], side="right")
            place = place * (len(edges) + 1) + bins
        cell[boxes] = self.num_alone + place
        return cell

    def index_held_out(self, outputs: Outputs, fold: np.ndarray) -> np.ndarray:
        """The same by what was learned without the fold of each output, int [n], if anything."""
        return self.index(outputs)

    def groups(self, width: int) -> np.ndarray:
        """Coarser cells: so many neighbouring bins as one, but each atom and label for itself.

        Args:
            width: How many bins.

        Returns:
            int64 [size], from 0 without gaps: the coarser cell of each cell.
        """
        box = np.zeros(1, np.int64)
        for edges, atoms in zip(self.edges, self.atoms, strict=True):
            # Neighbouring integers are grouped like bins.
            alone = np.concatenate([[False], np.isin(edges, atoms) & (not self.whole)])
            # A bin starts a group where it or its left neighbour is an atom, or the group is full.
            starts = alone | np.concatenate([[True], alone[:-1]])
            starts |= np.arange(len(starts)) % width == 0
            bins = np.cumsum(starts) - 1
            box = (box[:, None] * (bins[-1] + 1) + bins).ravel()
        rank = np.arange(len(self.boxed))[:, None] * (box.max() + 1)
        return np.concatenate([np.arange(self.num_alone), self.num_alone + (rank + box).ravel()])

    def coarser(self) -> list[np.ndarray]:
        """The groups that a search tries, int64 [size] each."""
        return [self.groups(width) for width in GROUPS if 2 * width <= max(self.shape)]

    def positions(self) -> list[np.ndarray]:
        """Lines along which the boxes lie: the bins of each number, and of vectors their sum.

        Returns:
            Arrays [size], NaN for labels that stand alone; none where all do.
        """
        if not len(self.boxed):
            return []
        bins = list(np.indices(self.shape).reshape(len(self.shape), -1))
        lines = bins if len(bins) == 1 else [*bins, sum(bins)]
        alone = np.full(self.num_alone, np.nan)
        return [np.concatenate([alone, np.tile(line, len(self.boxed))]) for line in lines]

    def merged(self, allowed: np.ndarray | None) -> tuple[np.ndarray, list[np.ndarray]]:
        """Fewer cells, for a first look: neighbouring bins as one where there are many.

        Args:
            allowed: bool [size], the cells of a region, which merge with none outside; or None.

        Returns:
            int64 [size], from 0 without gaps, the coarse cell of each cell; and their places along
            the lines of `positions`.
        """
        group = np.arange(self.size)
        # An outcome among others can be all that tells; bins of a density are alike.
        if not self.whole and max(self.shape) > _MANY_BINS:
            group = self.groups(GROUPS[0])
        if allowed is not None:
            group = np.unique(2 * group + allowed, return_inverse=True)[1]
        sizes = np.bincount(group)
        lines = self.positions()
        return group, [np.bincount(group, line) / sizes for line in lines]

    def labels(self) -> np.ndarray:
        """int64 [size], the number of each cell's label."""
        alone = np.arange(self.num_alone)
        return np.concatenate([alone, np.repeat(self.boxed, int(np.prod(self.shape)))])

    def ends(self, column: int) -> tuple[np.ndarray, np.ndarray]:
        """Where the bins of one number begin and end, [bins] each; the same twice for an atom."""
        edges = self.edges[column]
        low, high = np.append(-np.inf, edges), np.append(edges, np.inf)
        return low, np.where(np.isin(low, self.atoms[column]), low, high)

    def bounds(self) -> np.ndarray:
        """[size, 2], where the numbers of each cell begin and end, the same twice for an atom.

        NaN for all cells that are not all outputs in an interval: labels, also beside numbers, and
        vectors.
        """
        found = np.full((self.size, 2), np.nan)
        if len(self.edges) == 1 and self.boxed.tolist() == [0]:
            found[self.num_alone :] = np.stack(self.ends(0), axis=1)
        return found

    def inside(self, region: Region | None) -> np.ndarray | None:
        """Bool [size], the cells that lie in a region as a whole; None where there is no region."""
        if region is None:
            return None
        box = np.ones(1, bool)
        for column in range(len(self.edges)):
            low, high = self.ends(column)
            # Edges were laid at the region's ends, the upper one just after it.
            if isinstance(region, Box):
                upper = np.nextafter(float(region.high[column]), np.inf)
                fits = (low >= float(region.low[column])) & (high <= upper)
            else:
                # Integers from `low` to below `high`; an atom is one.
                high = np.where(low == high, low + 1, high)
                first, last = (
                    np.clip(end - region.low, 0, region.size).astype(int) for end in (low, high)
                )
                allowed = np.concatenate([[0], np.cumsum(region.allowed)])
                fits = allowed[last] - allowed[first] == high - low
            box = (box[:, None] & fits).ravel()
        return np.concatenate([np.zeros(self.num_alone, bool), np.tile(box, len(self.boxed))])

    def settled(self, mask: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """The event with what never happened where it is simplest, in or out.

        An interval between two cells that happened goes with them if they agree, and a label is
        left out, unless with all of those that never happened there is less to say.

        Args:
            mask: bool [size], the event.
            seen: bool [size], the cells that happened in the search.

        Returns:
            bool [size], an event with the same outputs of the search.
        """
        if mask[seen].all():
            return mask
        if len(self.shape) == 1:
            boxes = zip(*(self.boxes(cells) for cells in (mask, seen)), strict=True)
            filled = [_filled(chosen, happened) for chosen, happened in boxes]
            mask = np.concatenate([mask[: self.num_alone], *filled])
        never = ~seen & (np.arange(self.size) < self.num_alone)
        without, together = mask & ~never, mask | never
        if not without.any() or 2 * together.sum() <= self.size:
            return without
        return together if is_simpler(self, ~together, without) else without

    def spread(self, places: np.ndarray, seen: np.ndarray, last: int) -> np.ndarray:
        """Places along a chain, with bins that never happened as late as one of their neighbours.

        Labels that never happened come last. Sets of the chain are then in fewer parts, and hold
        the same outputs of the search.

        Args:
            places: int64 [size].
            seen: bool [size], the cells that happened in the search.
            last: The place of what is in no set.
        """
        never = ~seen & (np.arange(self.size) < self.num_alone)
        places = np.where(never, last, places)
        if len(self.shape) != 1:
            return places
        found = [
            np.where(happened, chosen, np.maximum(*_beside(chosen, happened)))
            if happened.any()
            else chosen
            for chosen, happened in zip(self.boxes(places), self.boxes(seen), strict=True)
        ]
        return np.concatenate([places[: self.num_alone], *found])

    def boxes(self, cells: np.ndarray) -> np.ndarray:
        """The part of [size] with numbers, [labels that came with numbers, *shape]."""
        return cells[self.num_alone :].reshape(len(self.boxed), *self.shape)

    def kind(self, whole: bool) -> str:
        """What an output with numbers is, in words."""
        return "a number" if len(self.shape) == 1 else "a vector with"

    def plain(self) -> dict[str, Any] | None:
        """What was learned, and the line of a plot; None of what lies on a line of its own."""
        return {"words": RANK, "kind": "boxes"} if len(self.shape) > 1 else None

    def describe(self, mask: np.ndarray, *, whole: bool = False) -> str:
        """The event that the output lies in one of the cells of bool [size], in words.

        Args:
            mask: Of the cells.
            whole: Whether to name every part with all digits, so that the event can be counted
                again, rather than the first few parts.
        """
        return describe(self, mask, whole)

    def without_numbers(self) -> "Partition":
        """The partition into labels alone."""
        nothing = (np.empty(0),)
        return Partition(self.names, nothing, nothing, np.empty(0, int))


def after(values: np.ndarray, whole: bool) -> np.ndarray:
    """The next number: where the bins of atoms end."""
    return values + 1 if whole else np.nextafter(values, np.inf)


def _filled(chosen: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Bins of one number, those that never happened with both that did beside them, or not."""
    if not seen.any():
        return chosen
    before, behind = _beside(chosen, seen)
    return np.where(seen, chosen, before & behind)


def _beside(values: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of each bin, the value of the nearest one before it that happened, and of one behind."""
    known = np.flatnonzero(seen)
    place = np.searchsorted(known, np.arange(len(seen)))
    first, second = (np.clip(p, 0, len(known) - 1) for p in (place - 1, place))
    return values[known[first]], values[known[second]]
