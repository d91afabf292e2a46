"""Experts for bets: each groups the cells, and estimates their probabilities from earlier blocks.

Notation: X and Y [pairs, cells] are the counts of all blocks so far at the database and at its
neighbor.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.inference._hypotheses import Hypothesis

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

MOST_OUTCOMES = 16
"""If there are at most this many cells, bets are placed on each cell individually."""

PSEUDO_DRAWS, SPLIT_DRAWS = (64.0, 1024.0, 16384.0), (8.0, 64.0)
"""After n draws, a bet uses the fraction c = n / (n + rho) with rho from PSEUDO_DRAWS. With
SPLIT_DRAWS pseudo-draws, the shares of a binary split are shrunk to the shares of both sides
together."""

_STAKES = (0.4, 0.1, 0.5)
"""Share of the initial wealth for each rho in PSEUDO_DRAWS."""

_LINE_GROUPS, _DEPTHS = 4, (3, 4)
"""_LINE_GROUPS is the number of groups of equal mass. If draws are expensive, binary splits of the
depths _DEPTHS make 8 and 16 groups instead."""

_ERRORS, _SHRINKAGE = 3.0, 2.0
"""_ERRORS is the number of standard errors subtracted from the level of a half-line. _SHRINKAGE is
the number of draws added to each cell before cells are sorted by ratio."""


class Expert(NamedTuple):
    """A grouping of the cells, with the estimated laws and the fractions of its bets.

    Attributes:
        labels: Group of each cell, int64 [pairs, cells].
        p: Estimated law at the database, [pairs, groups], above 0.
        q: Estimated law at the neighbor, [pairs, groups], above 0.
        fractions: Fraction c of each bet, [bets, pairs].
    """

    labels: Counts
    p: Floats
    q: Floats
    fractions: Floats

    def grouped(self, counts: Counts) -> Counts:
        """Return counts of groups, [pairs, groups], from counts of cells."""
        return sums(counts, self.labels, self.p.shape[1])


def stakes(few: bool) -> Floats:
    """Return the initial wealth of each bet of all experts, [bets], whose mean is 1."""
    if few:
        return np.ones(len(_DEPTHS) * len(SPLIT_DRAWS))
    return len(_STAKES) * np.tile(_STAKES, 2)


def experts(
    first: Counts, second: Counts, *, few: bool, ordered: bool, hypothesis: Hypothesis
) -> list[Expert]:
    """Return all experts after the counts X and Y.

    Args:
        first: Counts X at the database.
        second: Counts Y at the neighbor.
        few: Whether draws are expensive. If True, estimated shares are shrunk, and all fractions c
            are 1.
        ordered: Whether adjacent cells have similar ratios. If False, cells are sorted by ratio.
        hypothesis: Hypothesis to bet against.
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
    """Return the exact counts of groups, [pairs, groups]."""
    pairs = len(counts)
    found = np.zeros(pairs * groups, np.int64)
    np.add.at(found, (labels + groups * np.arange(pairs)[:, None]).ravel(), counts.ravel())
    return found.reshape(pairs, groups)


def equal_mass(counts: Counts, groups: int) -> Counts:
    """Group cells along the line so that each group has about an equal share of the counts."""
    before = np.cumsum(counts, axis=1) - counts
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return np.minimum(groups * (2 * before + counts) // (2 * total), groups - 1)


def half_lines(x: Counts, y: Counts, hypothesis: Hypothesis) -> Counts:
    """Group cells: 0 (likelier at the database), 1 (likelier at the neighbor), 2 (all others).

    Groups 0 and 1 are half-lines. One is the half-line with the largest level minus three standard
    errors. The other is the best half-line in the opposite direction that does not overlap it.
    """
    pairs, cells = x.shape
    n, m = x.sum(axis=1, keepdims=True), y.sum(axis=1, keepdims=True)
    inside = [np.cumsum(side, axis=1)[:, :-1] for side in (x, y)]
    # Shape [pairs, 2 (cells - 1)]: counts of the cells before each cut, then after it.
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
    """Estimate the level and its standard error from counts of n and m draws.

    Half a pseudo-draw is added to the count at the side with fewer draws, and proportionally more
    to the count at the other side.
    """
    one, other = _added(n, m)
    p, q = (larger + 0.5 * one) / (n + one), (smaller + 0.5 * other) / (m + other)
    return hypothesis.shown(p, q, p * (1 - p) / (n + one), q * (1 - q) / (m + other))


def _added(n: Counts, m: Counts) -> tuple[Floats, Floats]:
    """Return pseudo-counts for n and m draws, which are 1 at the side with fewer draws.

    The pseudo-counts are proportional to the draws, so that an outcome that was never drawn has the
    same estimated share at both sides.
    """
    least = np.maximum(np.minimum(n, m), 1)
    return np.maximum(n, 1) / least, np.maximum(m, 1) / least


def _draws(counts: Counts) -> Counts:
    return counts.sum(axis=1, keepdims=True)


def _law(counts: Floats) -> Floats:
    return counts / counts.sum(axis=1, keepdims=True)


def log_ratio(first: Counts, second: Counts) -> Floats:
    """Return the log ratios of all cells, shrunk toward 0, [pairs, cells]."""
    one, other = (_SHRINKAGE * added for added in _added(_draws(first), _draws(second)))
    return np.log((first + one) / (second + other))


def _shrunk(x: Counts, y: Counts) -> list[tuple[Floats, Floats]]:
    """Return laws of 2^depth groups by binary splits, with shares shrunk toward pooled shares."""
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
