"""Construction of a chain of nested sets from a search set, and predictions of the chain's band.

References:
    Neyman, Pearson (1933), for the optimality of sets with large likelihood ratios.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.inference._band import Band, radius
from dpjax.inference._events import wilson

_PARTS, _TAIL_SETS, _FEWEST = 32, 12, 4.0
"""Sizes of the sets of a chain.

The target sizes of the sets, as fractions of the draws, are the multiples of 1 / _PARTS. In
addition, there are _TAIL_SETS target sizes below 1 / _PARTS, and _TAIL_SETS target sizes above 1 -
1 / _PARTS. A set with the smallest target size is expected to contain _FEWEST draws of the
confirmation set.
"""

MOST_SETS = _PARTS - 1 + 2 * _TAIL_SETS
"""Maximum number of sets in a chain."""

_PESSIMISM, _FEW_CORNERS = 1.5, 16
"""Parameters of predicted bands.

_PESSIMISM is the number of standard errors between the estimated and the pessimistic probability of
a set. _FEW_CORNERS is the number of corners per set.
"""


class Chain(NamedTuple):
    """A chain of nested sets: initial segments of the cells in a chosen order.

    Attributes:
        place: int64 [cells], index of the first set that contains each cell, or `num_sets` for
            cells that are in no set.
        num_sets: K, the number of sets.
        usable: Pair (end, start). Sets with an index below `end`, and complements of sets with an
            index of at least `start`, contain only cells that are allowed in events.
    """

    place: NDArray[np.int64]
    num_sets: int
    usable: tuple[int, int]

    def inside(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return int64 [..., sets], the count of each set, computed by cumulative sums.

        Args:
            counts: int64 [..., sets + 1], total count of the cells that each set adds to the
                previous set. The last entry is the count of all cells that are in no set.
        """
        return np.cumsum(counts[..., : self.num_sets], axis=-1)

    def tally(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the counts of the sets, [2, sets], from the counts of the cells, [2, cells]."""
        return self.inside(
            np.stack([np.bincount(self.place, c, self.num_sets + 1) for c in counts])
        )

    def event(self, number: int, larger: int) -> NDArray[np.bool_]:
        """Return whether each cell is in an event, bool [cells].

        Args:
            number: Index of a set.
            larger: 0 if the event is the set; 1 if the event is the complement of the set.
        """
        return self.place <= number if larger == 0 else self.place > number


class Way(NamedTuple):
    """A way to order cells.

    Attributes:
        groups: int64 [cells], the group of each cell. Cells are ordered by the ratios of the counts
            in their groups. If `groups` is None, cells are ordered by the ratios of their
            individual counts.
        line: float64 [cells], positions by which the cells are ordered; NaN denotes a cell without
            a position. If `line` is None, cells are ordered by ratios.
    """

    groups: NDArray[np.int64] | None = None
    line: NDArray[np.float64] | None = None


def chain_of(
    counts: NDArray[np.int64],
    num_confirm: int,
    allowed: NDArray[np.bool_] | None = None,
    way: Way = Way(),  # noqa: B008 (immutable)
) -> Chain:
    """Construct a chain of sets from the counts of a search set.

    Args:
        counts: int64 [2, cells], number of draws from the database and from its neighbor in each
            cell. There must be at least one draw on each side.
        num_confirm: N, the number of fresh draws per side that will be counted.
        allowed: bool [cells], whether each cell is allowed in events. If `allowed` is None, all
            cells are allowed. Cells that are not allowed are placed in the middle of the chain.
        way: Order of the cells.
    """
    cells, draws = counts.shape[-1], counts.sum(axis=-1)
    score = _by_ratio(counts, way.groups) if way.line is None else _by_line(counts, way.line)
    amid = np.zeros(cells, bool) if allowed is None else ~allowed
    # Place the cells that are not allowed after the allowed cells whose score is 0 or more.
    order = np.lexsort((amid, -np.where(amid, 0.0, score)))
    share = np.cumsum(counts.sum(axis=0)[order]) / draws.sum()
    tails = np.geomspace(min(_FEWEST / num_confirm, 1 / _PARTS), 1 / _PARTS, _TAIL_SETS + 1)[:-1]
    goals = np.concatenate([np.arange(1, _PARTS) / _PARTS, tails, 1 - tails])
    # For each target size, find the shortest initial segment with at least this share of the draws.
    lengths = np.unique(np.searchsorted(share, goals - 1e-12) + 1)
    lengths = np.unique(np.minimum(lengths, cells - 1))
    place = np.empty(cells, np.int64)
    place[order] = np.searchsorted(lengths, np.arange(cells), side="right")
    usable = len(lengths), 0
    if amid.any():
        block = np.flatnonzero(amid[order])
        usable = (
            int(np.searchsorted(lengths, block[0], side="right")),
            int(np.searchsorted(lengths, block[-1] + 1)),
        )
    return Chain(place, len(lengths), usable)


def _by_ratio(counts: NDArray[np.int64], groups: NDArray[np.int64] | None) -> NDArray[np.float64]:
    """Return each cell's log ratio of counts, or its group's, after adding 1 to each count."""
    if groups is not None:
        counts = np.stack([np.bincount(groups, side) for side in counts])
    draws = counts.sum(axis=-1)
    # Do not shrink the ratios. Shrinkage gives many uncertain cells the same ratio, and these cells
    # would keep the order of their indices. For a sparse vector mechanism with 11 outcomes and
    # 1,000 confirmation draws, shrinkage lowers the bound from 0.32 to 0.28.
    score = np.log((counts[0] + 1) / (counts[1] + 1)) - np.log(draws[0] / draws[1])
    return score if groups is None else score[groups]


def _by_line(counts: NDArray[np.int64], line: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the ranks of cells on a line.

    At the end of the line where outputs are more likely under the database, cells have positive
    ranks. Cells without a position have rank 0.
    """
    # The sort puts NaN last.
    order = np.argsort(line, kind="stable")
    (placed,) = np.nonzero(np.isfinite(line[order]))
    gap = np.cumsum(np.diff(counts[::-1] / counts.sum(axis=-1)[::-1, None], axis=0)[0][order])
    crossing = int(np.argmax(np.abs(gap[placed]))) if placed.size else 0
    rank = np.zeros(line.shape)
    rank[order[placed]] = crossing + 0.5 - placed
    return rank if placed.size and gap[crossing] >= 0 else -rank


def expected_bands(
    halves: NDArray[np.int64],
    num_confirm: int,
    error: float,
    allowed: NDArray[np.bool_] | None = None,
    way: Way = Way(),  # noqa: B008 (immutable)
) -> list[Band]:
    """Construct a chain from each half of the search set, and predict the bands of both chains.

    The probabilities of a chain's sets are estimated from the half that was not used to construct
    the chain. A half is skipped if it contains no draws on one side.

    Args:
        halves: int64 [half, side, cells], counts of the draws from each side in each half of the
            search set.
        num_confirm: N, the number of fresh draws per side.
        error: Error probability of the band.
        allowed: As in `chain_of`.
        way: As in `chain_of`.
    """
    angle = np.arange(_FEW_CORNERS + 1) * (np.pi / (2 * _FEW_CORNERS))
    found = []
    for chain, (first, second) in _judged(halves, num_confirm, allowed, way):
        r = radius(chain.num_sets, error)
        held, out = first[:, None] * num_confirm, second[:, None] * num_confirm
        lower = wilson(held, num_confirm, r * np.cos(angle[:-1]))[0]
        upper = wilson(out, num_confirm, r * np.sin(angle[1:]))[1]
        found.append(Band.of(lower, upper, chain.usable))
    return found


def _judged(
    halves: NDArray[np.int64], num_confirm: int, allowed: NDArray[np.bool_] | None, way: Way
) -> list[tuple[Chain, NDArray[np.float64]]]:
    """Return two chains, each with pessimistic probabilities of its sets, float64 [2, sets].

    See `expected_bands` for the arguments. A half is skipped if it contains no draws on one side.
    """
    found = []
    for maker, judge in ((0, 1), (1, 0)):
        if not halves[maker].sum(axis=-1).all():
            continue
        chain = chain_of(halves[maker], num_confirm, allowed, way)
        inside, draws = chain.tally(halves[judge]), halves[judge].sum(axis=-1)
        first = wilson(inside[0], draws[0], _PESSIMISM)[0]
        second = wilson(inside[1], draws[1], _PESSIMISM)[1]
        found.append((chain, np.stack([first, second])))
    return found
