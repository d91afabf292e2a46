"""Payoffs of one block of draws, if pairs with a common database bet on the same draws.

Let D and E be the two databases of a pair, and let n_D and n_E be the numbers of draws of the block
at D and E, including draws that were made for other pairs. Let (w, v') be the `weights` of the pair
for n_D and n_E draws. The bet of the pair is then u = w - 1 for outputs at D, and v = v' - 1 for
outputs at E. If the level holds, then n_D sum_j P_j u_j + n_E sum_j Q_j v_j <= 0. If bets are added
with coefficients c >= 0, the sum over all databases D satisfies

    sum_D n_D sum_j P_D(j) U_D(j) <= 0,    U_D = the sum of c u over the pairs at D.

Each draw at D with output j multiplies the wealth once, by 1 + U_D(j) >= 0. Draws are independent,
so the mean of the product over all draws is prod_D (1 + sum_j P_D(j) U_D(j))^n_D, which is at most
1 by the inequality of arithmetic and geometric means.

The coefficients are the expert's fractions, reduced in two ways. `_damped` reduces bets that are
correlated, because their sum would otherwise be larger than the best bet. `_room` keeps U_D above
-1. The bets of a pair that shares no database are not reduced.
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
"""Number of bets that are computed in one call, so that their tables fit in a processor's cache."""

_MOST_CODES = 2**52
"""Largest number of combinations of groups that are numbered before unused combinations are
dropped."""

_MOST_LOST = 0.95
"""Largest share of the wealth that bets of several pairs on one database can lose by one draw."""


class Block(NamedTuple):
    """Draws of one block.

    Attributes:
        x: Counts [pairs, cells] at the database, of the draws that were made for each pair.
        y: Counts [pairs, cells] at the neighbor, of the draws that were made for each pair.
        shared: IDs of the two databases of each pair, int64 [pairs, 2].
    """

    x: Counts
    y: Counts
    shared: Counts

    @property
    def pooled(self) -> tuple[Counts, Counts]:
        """Counts [pairs, cells] at both sides, summed over all pairs with the same database."""
        return pooled(self.x, self.y, self.shared)


class _Common(NamedTuple):
    """A database that several pairs have in common.

    Attributes:
        members: Side and pair of each occurrence of the database, int64 [members, 2].
        labels: Group of each atom for each member, int64 [members, atoms]. An atom is a set of
            cells that lie in the same group for every member.
        counts: Counts of the block's draws in the atoms, [atoms].
        mass: Expected draws of the block in the atoms, [atoms].
    """

    members: Counts
    labels: Counts
    counts: Counts
    mass: Floats

    def of(self, table: Floats) -> Floats:
        """Return the members' rows of a table [..., 2, pairs, levels]."""
        return table[..., self.members[:, 0], self.members[:, 1], :]

    def placed(self, bets: Floats) -> Floats:
        """Return the members' bets on atoms, [levels, members, atoms], from bets on groups."""
        own = bets[self.members[:, 0], self.members[:, 1]].swapaxes(0, 1)
        return np.take_along_axis(own, self.labels[None], axis=2)


def pooled(first: Counts, second: Counts, shared: Counts) -> tuple[Counts, Counts]:
    """Return counts [pairs, cells] at both sides, summed over all pairs with the same database."""
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
    """Return the gain in ln wealth from one expert's bets, [bets, pairs, levels].

    If several pairs share a database, the gain from its draws is counted once, for the first pair.

    Args:
        block: Draws of the block.
        known: Pooled counts [pairs, cells] of all earlier blocks, from which the expert was made.
        expert: Expert, made from earlier draws alone.
        hypothesis: Hypothesis to bet against.
        grid: Levels [levels].
        is_refuted: Whether each level is refuted already, bool [levels].
    """
    drawn = block.pooled
    counts = np.stack([expert.grouped(side) for side in drawn])
    draws = np.stack([side.sum(axis=1) for side in drawn], axis=1)
    # A pair does not bet against levels that its estimated laws satisfy.
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
    # Row of each pair in the tables of the pairs that share a database.
    place = np.full(len(may), -1)
    place[joint] = np.arange(joint.size)
    # The tables have a column for each level that any of these pairs bets against.
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
    """Return the group of each atom for each member, and the atom of each cell.

    Args:
        labels: Group of each cell for each member, [members, cells].
        groups: Number of groups.
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
    """Return a factor for each bet, [pairs, levels], which is small for correlated bets.

    Let C be the covariance of the bets. Bet i has the factor c_i = C_ii / sum_k max(C_ik, 0). The
    sum of the bets with the factors c_i grows at least as fast as half of the sum of c_i C_ii.

    Args:
        bets: u and v, [2, pairs, levels, groups].
        laws: Expected draws in the groups, [2, pairs, groups].
        common: Databases of several pairs.
        placed: Bets on the atoms of each database in `common`.
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
    """Reduce the coefficients of bets, so that one draw loses at most the share _MOST_LOST."""
    lost = np.maximum(-bets.min(axis=3), 0) * share[:, None]
    least = np.ones_like(share)
    for database in common:
        room = _MOST_LOST / np.maximum(database.of(lost).sum(axis=1), _MOST_LOST)
        # A pair may have the database at both of its sides.
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
    """Return the log payoffs of all bets, [bets, pairs, levels].

    Args:
        bets: u and v, [2, pairs, levels, groups].
        share: Coefficient of each bet, [bets, pairs, levels].
        counts: Counts of the draws in the groups, [2, pairs, groups].
        is_own: Whether a side's database belongs to one pair alone, bool [2, pairs].
        databases: Databases of several pairs, and the bets on the atoms of each database.
    """
    found = np.zeros(share.shape)
    for side in (0, 1):
        own = np.flatnonzero(is_own[side])
        gained = np.log1p(share[:, own, :, None] * bets[side, own])
        found[:, own] += np.matmul(gained, counts[side, own, :, None].astype(np.float64))[..., 0]
    for database, at in zip(*databases, strict=True):
        # [levels, bets, atoms]
        total = np.matmul(share[:, database.members[:, 1]].transpose(2, 0, 1), at)
        gained = np.matmul(np.log1p(total), database.counts.astype(np.float64))
        found[:, database.members[0, 1]] += gained.T
    return found
