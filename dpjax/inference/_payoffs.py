"""Payoffs of the bets on one block of draws. Pairs with a common database share its draws.

Let D and E be the two databases of a pair. Let n_D and n_E be the numbers of the block's draws from
D and E, including draws that were made for other pairs. Let w and w' be the weights that
`_betting.weights` returns for the numbers n_D and n_E. The bet of the pair is u = w - 1 for outputs
from D, and v = w' - 1 for outputs from E. Let P and Q be the output distributions of D and E. The
level implies n_D sum_j P_j u_j + n_E sum_j Q_j v_j <= 0. Add the bets of all pairs, each multiplied
by a coefficient c >= 0. Let P_D be the output distribution of database D. The sum over all
databases satisfies

    sum_D n_D sum_j P_D(j) U_D(j) <= 0,

where U_D is the sum of c u over the pairs that contain D. Each draw from D with output j multiplies
the wealth by 1 + U_D(j) >= 0. Because draws are independent, the product of these factors over all
draws has mean prod_D (1 + sum_j P_D(j) U_D(j))^n_D. By the inequality of arithmetic and geometric
means, the mean of this product is at most 1.

The coefficients are the fractions that an expert bets, after two reductions. First, `_damped`
reduces the coefficients of correlated bets because their sum would otherwise be larger than the
best bet. Second, `_room` reduces the coefficients until every U_D is above -1. If a pair shares no
database with other pairs, the coefficient of the pair is not reduced.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.inference._betting import weights
from dpjax.inference._hypotheses import Hypothesis
from dpjax.inference._portfolio import Expert, sums

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

_ROWS = 2048
"""Number of bets per call of `_betting.weights`, chosen so that tables fit in the CPU cache."""

_MOST_CODES = 2**52
"""Largest number of integer codes for combinations of groups.

If there are more codes, they are renumbered without gaps.
"""

_MOST_LOST = 0.95
"""Largest fraction of the wealth that all bets on a common database can lose in one draw."""


class Block(NamedTuple):
    """Draws of one block.

    Attributes:
        x: int64 [pairs, cells], counts of the draws that were made for each pair from its database.
        y: int64 [pairs, cells], counts of the draws that were made for each pair from its neighbor.
        shared: int64 [pairs, 2], IDs of the two databases of each pair.
    """

    x: Counts
    y: Counts
    shared: Counts

    @property
    def pooled(self) -> tuple[Counts, Counts]:
        """Counts of draws from each database, summed over all pairs that contain the database."""
        return pooled(self.x, self.y, self.shared)


class _Common(NamedTuple):
    """A database that occurs in more than one pair.

    Each occurrence of the database in a pair is called a member. For each member, all cells of an
    atom belong to one group; atoms are the largest sets of cells with this property.

    Attributes:
        members: int64 [members, 2], side and pair of each member.
        labels: int64 [members, atoms], for each member, the index of the group that contains each
            atom.
        counts: int64 [atoms], counts of the block's draws from the database.
        mass: float64 [atoms], expected counts of the block's draws from the database.
    """

    members: Counts
    labels: Counts
    counts: Counts
    mass: Floats

    def of(self, table: Floats) -> Floats:
        """Return [..., members, levels], the members' entries in [..., 2, pairs, levels]."""
        return table[..., self.members[:, 0], self.members[:, 1], :]

    def placed(self, bets: Floats) -> Floats:
        """Return the members' bets on atoms, float64 [levels, members, atoms].

        Args:
            bets: float64 [2, pairs, levels, groups], bets on groups.
        """
        own = bets[self.members[:, 0], self.members[:, 1]].swapaxes(0, 1)
        return np.take_along_axis(own, self.labels[None], axis=2)


def pooled(first: Counts, second: Counts, shared: Counts) -> tuple[Counts, Counts]:
    """Return counts of draws from each database, summed over all pairs that contain the database.

    Args:
        first: int64 [pairs, cells], counts of draws from the first database of each pair.
        second: int64 [pairs, cells], counts of draws from the neighbors.
        shared: int64 [pairs, 2], IDs of the two databases of each pair.
    """
    numbers = shared.T.ravel()
    if np.unique(numbers).size == numbers.size:
        return first, second
    counts = np.concatenate([first, second])
    total = np.zeros((int(numbers.max()) + 1, counts.shape[1]), np.int64)
    np.add.at(total, numbers, counts)
    one, other = np.split(total[numbers], 2)
    return one, other


def gains(
    block: Block,
    known: tuple[Counts, Counts],
    expert: Expert,
    hypothesis: Hypothesis,
    grid: Floats,
    is_refuted: NDArray[np.bool_],
) -> Floats:
    """Return the increase in log wealth due to one expert's bets, float64 [bets, pairs, levels].

    If multiple pairs share a database, the increase due to the draws from this database is assigned
    only to the first of these pairs.

    Args:
        block: Block on whose draws the bets are placed.
        known: Two int64 [pairs, cells] arrays with the pooled counts of all earlier blocks.
        expert: Expert that was constructed only from the earlier blocks.
        hypothesis: Hypothesis that the bets oppose.
        grid: float64 [levels], levels that the bets oppose.
        is_refuted: bool [levels], whether each level has already been refuted.
    """
    drawn = block.pooled
    counts = np.stack([expert.grouped(side) for side in drawn])
    draws = np.stack([side.sum(axis=1) for side in drawn], axis=1)
    # A pair does not bet against levels that its estimated distributions satisfy.
    lines = hypothesis.lines(grid, expert.p, expert.q)
    has_draws = np.all(draws > 0, axis=1) & np.any(expert.fractions > 0, axis=0)
    may = (grid < lines.most[:, None]) & (lines.start < 1) & ~is_refuted
    may &= has_draws[:, None]
    found = np.zeros((len(expert.fractions), *may.shape))
    common = list(_common(block, drawn, known, expert))
    is_common = np.zeros((len(may), 2), bool)
    for database in common:
        side, pair = database.members.T
        is_common[pair, side] = True
    joint = np.flatnonzero(is_common.any(axis=1))
    # Compute the row of each pair in the tables for pairs with a common database.
    place = np.full(len(may), -1)
    place[joint] = np.arange(joint.size)
    # The tables have a column for each level that at least one of these pairs bets against.
    columns = np.flatnonzero(may[joint].any(axis=0))
    column = np.zeros(grid.size, np.int64)
    column[columns] = np.arange(columns.size)
    bets = np.zeros((2, joint.size, columns.size, expert.p.shape[1]))
    pair, level = np.nonzero(may)
    for i in range(0, pair.size, _ROWS):
        some, at = pair[i : i + _ROWS], level[i : i + _ROWS]
        bet = weights(
            expert.p[some],
            expert.q[some],
            draws[some].astype(np.float64),
            lines.slope[some, at],
            lines.start[some, at],
        )
        alone = place[some] < 0
        rows, there = some[alone], at[alone]
        found[:, rows, there] = bet.at(alone).log_payoff(
            counts[0, rows], counts[1, rows], expert.fractions[:, rows]
        )
        rows = place[some[~alone]]
        bets[0, rows, column[at[~alone]]] = bet.first[~alone] - 1
        bets[1, rows, column[at[~alone]]] = bet.second[~alone] - 1
    if columns.size:
        common = [one._replace(members=_at_places(one.members, place)) for one in common]
        laws = np.stack([expert.p[joint], expert.q[joint]]) * draws[joint].T[:, :, None]
        placed = [one.placed(bets) for one in common]
        damped = _damped(bets, laws, common, placed)
        share = _room(bets, damped * expert.fractions[:, joint, None], common)
        paid = _paid(bets, share, counts[:, joint], ~is_common[joint].T, (common, placed))
        found[:, joint[:, None], columns] = paid
    return found


def _at_places(members: Counts, place: Counts) -> Counts:
    return np.stack([members[:, 0], place[members[:, 1]]], axis=1)


def _common(
    block: Block, drawn: tuple[Counts, Counts], known: tuple[Counts, Counts], expert: Expert
) -> Iterator[_Common]:
    """Yield each database that occurs more than once among the pairs."""
    for number in np.flatnonzero(np.bincount(block.shared.ravel()) > 1):
        pair, side = np.nonzero(block.shared == number)
        labels, atom = _atoms(expert.labels[pair], expert.p.shape[1])
        one, of = int(side[0]), pair[:1]
        counts, earlier = (
            sums(table[one][of], atom.reshape(1, -1), labels.shape[1])[0]
            for table in (drawn, known)
        )
        mass = earlier * (counts.sum() / max(int(earlier.sum()), 1))
        yield _Common(np.stack([side, pair], axis=1), labels, counts, mass)


def _atoms(labels: Counts, groups: int) -> tuple[Counts, Counts]:
    """Compute the atoms of a database; see `_Common`.

    Args:
        labels: int64 [members, cells], group of each cell for each member.
        groups: Number of groups.

    Returns:
        Two arrays: int64 [members, atoms], for each member, the index of the group that contains
        each atom; and int64 [cells], the index of the atom that contains each cell.
    """
    code, width = labels[0], groups
    for row in labels[1:]:
        code = code * groups + row
        width *= groups
        if width > _MOST_CODES:
            code = np.unique(code, return_inverse=True)[1]
            width = int(code.max()) + 1
    _, first, atom = np.unique(code, return_index=True, return_inverse=True)
    return labels[:, first], atom


def _damped(bets: Floats, laws: Floats, common: list[_Common], placed: list[Floats]) -> Floats:
    """Return a factor for each bet, float64 [pairs, levels]; correlated bets have small factors.

    Let C be the covariance matrix of the bets' payoffs. Bet i has the factor c_i = C_ii / sum_k
    max(C_ik, 0). If each bet is multiplied by its factor, the log wealth from the sum of all bets
    grows at a rate of at least (sum_i c_i C_ii) / 2.

    Args:
        bets: float64 [2, pairs, levels, groups], bets u and v.
        laws: float64 [2, pairs, groups], expected counts of the block's draws in the groups.
        common: Databases that occur in more than one pair.
        placed: For each database in `common`, the bets on its atoms, as `_Common.placed` returns
            them.
    """
    own = np.matmul(bets**2, laws[..., None])[..., 0].sum(axis=0)
    others = np.zeros_like(own)
    for database, at in zip(common, placed, strict=True):
        covariance = np.matmul(at * database.mass, at.swapaxes(1, 2))
        diagonal = np.arange(at.shape[1])
        covariance[:, diagonal, diagonal] = 0
        shared = np.maximum(covariance, 0).sum(axis=2).T
        np.add.at(others, database.members[:, 1], shared)
    return np.divide(own, own + others, out=np.ones_like(own), where=own > 0)


def _room(bets: Floats, share: Floats, common: list[_Common]) -> Floats:
    """Reduce the coefficients so that one draw loses at most the fraction _MOST_LOST of the wealth.

    Args:
        bets: float64 [2, pairs, levels, groups], bets u and v.
        share: float64 [bets, pairs, levels], coefficients.
        common: Databases that occur in more than one pair.
    """
    lost = np.maximum(-bets.min(axis=3), 0) * share[:, None]
    least = np.ones_like(share)
    for database in common:
        room = _MOST_LOST / np.maximum(database.of(lost).sum(axis=1), _MOST_LOST)
        # Loop over the members because a pair may have the same database on both sides.
        for pair in database.members[:, 1]:
            least[:, pair] = np.minimum(least[:, pair], room)
    return share * least


def _paid(
    bets: Floats,
    share: Floats,
    counts: Counts,
    is_own: NDArray[np.bool_],
    databases: tuple[list[_Common], list[Floats]],
) -> Floats:
    """Return the log payoffs of all bets, float64 [bets, pairs, levels].

    Args:
        bets: float64 [2, pairs, levels, groups], bets u and v.
        share: float64 [bets, pairs, levels], coefficient of each bet.
        counts: int64 [2, pairs, groups], counts of the draws in the groups.
        is_own: bool [2, pairs], whether the database on each side occurs only in this pair.
        databases: Databases that occur in more than one pair, and the bets on the atoms of each of
            these databases, as `_Common.placed` returns them.
    """
    found = np.zeros(share.shape)
    for side in (0, 1):
        own = np.flatnonzero(is_own[side])
        gained = np.log1p(share[:, own, :, None] * bets[side, own])
        found[:, own] += np.matmul(gained, counts[side, own, :, None].astype(np.float64))[..., 0]
    for database, at in zip(*databases, strict=True):
        # The shape is [levels, bets, atoms].
        total = np.matmul(share[:, database.members[:, 1]].transpose(2, 0, 1), at)
        gained = np.matmul(np.log1p(total), database.counts.astype(np.float64))
        found[:, database.members[0, 1]] += gained.T
    return found
