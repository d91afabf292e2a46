"""Experts, which use the counts of earlier blocks of draws to propose bets.

An expert divides the cells into groups and estimates the probabilities of the groups.

Notation: X and Y are the counts of all earlier draws from the databases and from their neighbors,
int64 [pairs, cells].
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.inference._hypotheses import Hypothesis

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

MOST_OUTCOMES = 16
"""Largest number of cells for which an expert bets on each cell individually."""

PSEUDO_DRAWS, SPLIT_DRAWS = (64.0, 1024.0, 16384.0), (8.0, 64.0)
"""Numbers of pseudo-draws, which determine how much bets and estimated shares are shrunk.

PSEUDO_DRAWS lists the values of a parameter rho. For each rho, there is one bet, whose fraction c
after n draws is n / (n + rho). SPLIT_DRAWS lists the numbers of pseudo-draws that are used if draws
are expensive. These pseudo-draws shrink the estimated shares of a binary split toward the shares in
the pooled draws from both sides.
"""

_STAKES = (0.4, 0.1, 0.5)
"""Fraction of the initial wealth that is assigned to the bets with each rho in PSEUDO_DRAWS."""

_LINE_GROUPS, _DEPTHS = 4, (3, 4)
"""Numbers of groups into which the cells along a line are divided.

_LINE_GROUPS is the number of groups with equal counts. If draws are expensive, the groups result
from binary splits with the depths in _DEPTHS: depth 3 gives 8 groups, and depth 4 gives 16 groups.
"""

_ERRORS, _SHRINKAGE = 3.0, 2.0
"""Parameters of the scores of half-lines and cells; see `half_lines` and `log_ratio`.

_ERRORS is the number of standard errors that are subtracted from the estimated level of a
half-line. _SHRINKAGE is the number of pseudo-draws that are added to each cell before cells are
sorted by ratio.
"""


class Expert(NamedTuple):
    """Groups of cells, their estimated probabilities, and the fraction c of each bet.

    Attributes:
        labels: int64 [pairs, cells], the group of each cell.
        p: float64 [pairs, groups], positive estimated probabilities under the database.
        q: float64 [pairs, groups], positive estimated probabilities under the neighbor.
        fractions: float64 [bets, pairs], the fraction c of each bet.
    """

    labels: Counts
    p: Floats
    q: Floats
    fractions: Floats

    def grouped(self, counts: Counts) -> Counts:
        """Return counts of groups, [pairs, groups], from counts of cells, [pairs, cells]."""
        return sums(counts, self.labels, self.p.shape[1])


def stakes(few: bool) -> Floats:
    """Return the initial wealth of all experts' bets, float64 [bets]. The mean is 1.

    Args:
        few: Whether draws are expensive.
    """
    if few:
        return np.ones(len(_DEPTHS) * len(SPLIT_DRAWS))
    return len(_STAKES) * np.tile(_STAKES, 2)


def experts(
    first: Counts, second: Counts, *, few: bool, ordered: bool, hypothesis: Hypothesis
) -> list[Expert]:
    """Return the experts for the next block.

    Args:
        first: int64 [pairs, cells], counts X of earlier draws from the databases.
        second: int64 [pairs, cells], counts Y of earlier draws from the neighbors.
        few: Whether draws are expensive. If `few` is True, estimated shares are shrunk, and all
            fractions c are 1.
        ordered: Whether adjacent cells have similar ratios. If `ordered` is False, cells are sorted
            by ratio.
        hypothesis: Hypothesis that the bets oppose.
    """
    cells = first.shape[1]
    if not ordered and (cells > MOST_OUTCOMES or not few):
        places = np.argsort(np.argsort(log_ratio(first, second), axis=1, kind="stable"), axis=1)
    else:
        places = np.broadcast_to(np.arange(cells), first.shape)
    # Sort the counts along the line.
    order = np.argsort(places, axis=1, kind="stable")
    x, y = (np.take_along_axis(side, order, axis=1) for side in (first, second))
    if few:
        return [
            Expert(np.take_along_axis(labels, places, axis=1), p, q, np.ones((1, len(x))))
            for depth in _DEPTHS
            for labels in (equal_mass(x + y, 2**depth),)
            for p, q in _shrunk(sums(x, labels, 2**depth), sums(y, labels, 2**depth))
        ]
    n = np.minimum(first.sum(axis=1), second.sum(axis=1)).astype(np.float64)
    along = [half_lines(x, y, hypothesis)]
    if cells > MOST_OUTCOMES:
        along.append(equal_mass(x + y, _LINE_GROUPS))
    groupings = [
        (np.take_along_axis(labels, places, axis=1), size)
        for labels, size in zip(along, (3, _LINE_GROUPS), strict=False)
    ]
    if cells <= MOST_OUTCOMES:
        groupings.append((np.broadcast_to(np.arange(cells), first.shape), cells))
    fractions = np.stack([n / (n + rho) for rho in PSEUDO_DRAWS])
    one, other = (0.5 * added for added in _added(_draws(first), _draws(second)))
    return [
        Expert(
            labels,
            _law(sums(first, labels, size) + one),
            _law(sums(second, labels, size) + other),
            fractions,
        )
        for labels, size in groupings
    ]


def sums(counts: Counts, labels: Counts, groups: int) -> Counts:
    """Return the exact counts of groups, int64 [pairs, groups].

    Args:
        counts: int64 [pairs, cells], counts of cells.
        labels: int64 [pairs, cells], the group of each cell.
        groups: Number of groups.
    """
    pairs = len(counts)
    found = np.zeros(pairs * groups, np.int64)
    np.add.at(found, (labels + groups * np.arange(pairs)[:, None]).ravel(), counts.ravel())
    return found.reshape(pairs, groups)


def equal_mass(counts: Counts, groups: int) -> Counts:
    """Return labels of groups of adjacent cells; all groups have similar total counts."""
    before = np.cumsum(counts, axis=1) - counts
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return np.minimum(groups * (2 * before + counts) // (2 * total), groups - 1)


def half_lines(x: Counts, y: Counts, hypothesis: Hypothesis) -> Counts:
    """Return labels of three groups of cells, int64 [pairs, cells].

    Group 0 is expected to be more likely under the database, group 1 is expected to be more likely
    under the neighbor, and group 2 contains all other cells. Groups 0 and 1 are half-lines: each
    contains all cells on one side of a cut of the line. The score of a half-line is its estimated
    level minus three standard errors. The half-line with the largest score is one of the groups 0
    and 1. The other group is chosen among the half-lines that start at the other end of the line
    and do not overlap the first group. It is the one with the largest score in the opposite
    direction.

    Args:
        x: int64 [pairs, cells], counts of draws from the first database of each pair.
        y: int64 [pairs, cells], counts of draws from the neighbors.
        hypothesis: Hypothesis whose level is estimated.
    """
    pairs, cells = x.shape
    n, m = x.sum(axis=1, keepdims=True), y.sum(axis=1, keepdims=True)
    inside = [np.cumsum(side, axis=1)[:, :-1] for side in (x, y)]
    # Concatenate the counts before each cut and the counts after each cut: [pairs, 2 (cells - 1)].
    larger = np.concatenate([inside[0], n - inside[0]], axis=1)
    smaller = np.concatenate([inside[1], m - inside[1]], axis=1)
    scores = np.stack(
        [
            level - _ERRORS * error
            for level, error in (
                shown(hypothesis, larger, n, smaller, m),
                shown(hypothesis, smaller, m, larger, n),
            )
        ]
    )
    cut = np.tile(np.arange(1, cells), 2)
    is_before = np.arange(cut.size) < cells - 1
    rows, line = np.arange(pairs), np.arange(cells)
    best = scores.argmax(axis=2)
    side = scores.max(axis=2).argmax(axis=0)
    taken = best[side, rows][:, None]
    is_beside = (is_before != is_before[taken]) & np.where(
        is_before, cut <= cut[taken], cut >= cut[taken]
    )
    other = np.where(is_beside, scores[1 - side, rows], -np.inf).argmax(axis=1)[:, None]
    labels = np.full((pairs, cells), 2)
    for place, event in ((other, 1 - side), (taken, side)):
        within = np.where(is_before[place], line < cut[place], line >= cut[place])
        labels = np.where(within, event[:, None], labels)
    return labels


def shown(
    hypothesis: Hypothesis, larger: Counts, n: Counts, smaller: Counts, m: Counts
) -> tuple[Floats, Floats]:
    """Return estimates of a level and their standard errors, computed from counts of events.

    Pseudo-draws are added to each count: half a draw on the side with fewer draws, and
    proportionally more on the other side.

    Args:
        hypothesis: Hypothesis whose level is estimated.
        larger: Counts of the events, each on the side where the event is more likely.
        n: Numbers of draws on the side where the event is more likely.
        smaller: Counts of the events on the other side.
        m: Numbers of draws on the other side.
    """
    one, other = _added(n, m)
    p, q = (larger + 0.5 * one) / (n + one), (smaller + 0.5 * other) / (m + other)
    return hypothesis.shown(p, q, p * (1 - p) / (n + one), q * (1 - q) / (m + other))


def _added(n: Counts, m: Counts) -> tuple[Floats, Floats]:
    """Return pseudo-counts for n draws on one side and m draws on the other side.

    The pseudo-count is 1 on the side with fewer draws. Pseudo-counts are proportional to the
    numbers of draws, so a cell that was never drawn has equal estimated shares on both sides.
    """
    least = np.maximum(np.minimum(n, m), 1)
    return np.maximum(n, 1) / least, np.maximum(m, 1) / least


def _draws(counts: Counts) -> Counts:
    return counts.sum(axis=1, keepdims=True)


def _law(counts: Floats) -> Floats:
    return counts / counts.sum(axis=1, keepdims=True)


def log_ratio(first: Counts, second: Counts) -> Floats:
    """Return each cell's log ratio of counts, shrunk toward 0, float64 [pairs, cells]."""
    one, other = (_SHRINKAGE * added for added in _added(_draws(first), _draws(second)))
    return np.log((first + one) / (second + other))


def _shrunk(x: Counts, y: Counts) -> list[tuple[Floats, Floats]]:
    """Estimate the probabilities of groups by binary splits, for each number in SPLIT_DRAWS.

    A split divides a set of adjacent groups into two halves of equal size. The share of each half
    is shrunk toward the half's share in the pooled draws from both sides.

    Args:
        x: int64 [pairs, groups], counts from the databases. The number of groups is a power of 2.
        y: int64 [pairs, groups], counts from the neighbors.

    Returns:
        For each number in SPLIT_DRAWS, two float64 [pairs, groups] arrays: the estimated
        probabilities under the databases and under the neighbors.
    """
    laws = []
    for draws in SPLIT_DRAWS:
        found = [np.ones((len(x), 1)), np.ones((len(x), 1))]
        size = x.shape[1]
        while size > 1:
            nodes = [side.reshape(len(x), -1, size).sum(axis=2) for side in (x, y)]
            lefts = [side.reshape(len(x), -1, 2, size // 2)[:, :, 0].sum(axis=2) for side in (x, y)]
            pooled = (lefts[0] + lefts[1] + 1) / (nodes[0] + nodes[1] + 2)
            for i in (0, 1):
                left = (lefts[i] + draws * pooled) / (nodes[i] + draws)
                halves = np.stack([found[i] * left, found[i] * (1 - left)], axis=2)
                found[i] = halves.reshape(len(x), -1)
            size //= 2
        laws.append((found[0], found[1]))
    return laws
