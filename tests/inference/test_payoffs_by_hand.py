"""Payoffs of pairs that share databases, compared with loops over pairs, sides and cells."""

import math

import numpy as np
import pytest

from dpjax.inference import Difference, Ratio
from dpjax.inference._betting import weights
from dpjax.inference._payoffs import Block, _atoms, gains, pooled
from dpjax.inference._portfolio import Expert, experts

GRAPHS = {
    "apart": [[0, 1], [2, 3], [4, 5]],
    "a common database": [[0, 1], [0, 2], [0, 3]],
    "on either side": [[0, 1], [2, 0], [3, 1]],
    "some apart": [[0, 1], [2, 3], [0, 3]],
    "with itself": [[0, 0], [0, 1], [2, 3]],
}


def drawn(shared, size, seed):
    """Return counts of pairs [pairs, 6], whose databases have different distributions."""
    rng = np.random.default_rng(seed)
    laws = np.random.default_rng(7).dirichlet(np.full(6, 1.5), 6)
    return [rng.multinomial(size, laws[np.array(shared)[:, side]]) for side in (0, 1)]


def by_hand(block, known, expert, hypothesis, grid, refuted):
    """Return the log payoff of each bet, pair and level."""
    pairs, cells = block.x.shape
    counts = pooled(block.x, block.y, block.shared)
    found = np.zeros((len(expert.fractions), pairs, len(grid)))
    occurs = {
        int(d): [(int(s), int(p)) for p, s in zip(*np.nonzero(block.shared == d), strict=True)]
        for d in np.unique(block.shared)
    }
    common = {d: members for d, members in occurs.items() if len(members) > 1}
    lines = hypothesis.lines(grid, expert.p, expert.q)
    for level, t in enumerate(grid):
        bets = np.zeros((2, pairs, cells))
        groups = np.zeros((2, pairs, expert.p.shape[1]))
        for i in range(pairs):
            draws = np.array([[counts[0][i].sum(), counts[1][i].sum()]], float)
            if refuted[level] or t >= lines.most[i] or lines.start[i, level] >= 1:
                continue
            if not draws.all() or not expert.fractions[:, i].any():
                continue
            bet = weights(expert.p[i : i + 1], expert.q[i : i + 1], draws,
                          lines.slope[i, [level]], lines.start[i, [level]])  # fmt: skip
            for side, of_side in enumerate(bet):
                groups[side, i] = of_side[0] - 1
                bets[side, i] = groups[side, i][expert.labels[i]]
        damped = np.ones(pairs)
        for i in range(pairs):
            # A group without cells also counts, because its fraction is estimated.
            own = sum(
                np.sum(groups[side, i] ** 2 * law[i]) * counts[side][i].sum()
                for side, law in ((0, expert.p), (1, expert.q))
            )
            others = 0.0
            for members in common.values():
                side, first = members[0]
                earlier, now = known[side][first], counts[side][first]
                mass = earlier * now.sum() / max(earlier.sum(), 1)
                for a, one in enumerate(members):
                    for b, two in enumerate(members):
                        if a != b and one[1] == i:
                            others += max(np.sum(bets[one] * bets[two] * mass), 0)
            if own > 0:
                damped[i] = own / (own + others)
        for number, fraction in enumerate(expert.fractions):
            share = damped * fraction
            room = np.ones(pairs)
            for members in common.values():
                lost = sum(max(-groups[m].min(), 0) * share[m[1]] for m in members)
                for _, i in members:
                    room[i] = min(room[i], 0.95 / max(lost, 0.95))
            share = share * room
            for members in occurs.values():
                side, first = members[0]
                total = sum(share[i] * bets[s, i] for s, i in members)
                found[number, first, level] += np.sum(counts[side][first] * np.log1p(total))
    return found


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("hypothesis", [Ratio(), Ratio(0.02), Difference()])
@pytest.mark.parametrize("graph", GRAPHS)
def test_bets_are_paid_by_the_draws_of_their_databases(graph, hypothesis, few):
    shared, grid = np.array(GRAPHS[graph]), np.array([0.05, 0.1, 0.3, 0.6])
    first, second = drawn(shared, 700, 1)
    block = Block(*drawn(shared, 90, 2), shared)
    known = pooled(first, second, shared)
    refuted = np.array([False, True, False, False])
    made = experts(*known, few=few, ordered=True, hypothesis=hypothesis)
    nonzero = 0
    for expert in made[:2]:
        found = gains(block, known, expert, hypothesis, grid, refuted)
        expected = by_hand(block, known, expert, hypothesis, grid, refuted)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
        nonzero += np.count_nonzero(expected)
        assert not found[:, :, 1].any()
    assert nonzero > 3


def test_all_bets_on_a_database_lose_at_most_95_percent_of_the_wealth_in_a_draw():
    """Three pairs make the same bets; a draw of the rare outcome takes nearly all of the stakes."""
    laws = np.array([[0.9, 0.05, 0.05]] * 3), np.array([[0.02, 0.08, 0.9]] * 3)
    expert = Expert(np.tile(np.arange(3), (3, 1)), *laws, np.ones((1, 3)))
    shared, grid, refuted = np.array([[0, 1], [0, 2], [0, 3]]), np.array([0.01]), np.zeros(1, bool)
    known = np.tile([500, 30, 30], (3, 1)), np.tile([10, 40, 450], (3, 1))
    for cell in range(3):
        x = np.zeros((3, 3), int)
        x[0, cell] = 1
        block = Block(x, np.tile([0, 0, 1], (3, 1)), shared)
        found = gains(block, known, expert, Ratio(), grid, refuted)
        expected = by_hand(block, known, expert, Ratio(), grid, refuted)
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)
        # The first pair has the draws of the common database in addition to its own.
        common = found[0, 0, 0] - found[0, 1, 0]
        assert common == pytest.approx(math.log(0.05)) if cell == 2 else common > -0.5


def test_counts_are_pooled_by_database():
    shared = np.array([[5, 1], [1, 2], [5, 5]])
    x, y = np.arange(9).reshape(3, 3), np.arange(9).reshape(3, 3) * 10 + 1
    one, other = pooled(x, y, shared)
    by_database = {5: x[0] + x[2] + y[2], 1: y[0] + x[1], 2: y[1]}
    for pair, (d, e) in enumerate(shared.tolist()):
        assert one[pair].tolist() == by_database[d].tolist()
        assert other[pair].tolist() == by_database[e].tolist()
    apart = pooled(x, y, np.array([[0, 3], [1, 4], [2, 9]]))
    assert apart[0] is x and apart[1] is y


@pytest.mark.parametrize("most", [2**52, 8])
def test_atoms_are_cells_with_equal_groups(most, monkeypatch):
    monkeypatch.setattr("dpjax.inference._payoffs._MOST_CODES", most)
    labels = np.random.default_rng(3).integers(0, 3, (4, 40))
    of_atoms, atom = _atoms(labels, 3)
    np.testing.assert_array_equal(of_atoms[:, atom], labels)
    assert of_atoms.shape[1] == len({tuple(column) for column in labels.T}) == atom.max() + 1


def test_atoms_of_many_members_are_told_apart_by_the_first_one():
    """Codes of 40 members with 16 groups have 160 bits."""
    labels = np.zeros((40, 32), int)
    labels[0], labels[20] = np.arange(32) % 16, np.arange(32) // 16
    of_atoms, atom = _atoms(labels, 16)
    assert of_atoms.shape == (40, 32)
    np.testing.assert_array_equal(of_atoms[:, atom], labels)


def test_without_draws_on_both_sides_no_bet_is_placed():
    shared = np.array([[0, 1], [2, 3]])
    known = drawn(shared, 700, 1)
    x, y = drawn(shared, 90, 2)
    made = experts(*known, few=False, ordered=True, hypothesis=Ratio())
    grid, refuted = np.array([0.05, 0.1]), np.zeros(2, bool)
    for sides in ((x, y * [[1], [0]]), (x * [[1], [0]], y)):
        for expert in made:
            found = gains(Block(*sides, shared), known, expert, Ratio(), grid, refuted)
            assert not found[:, 1].any() and found[:, 0].any()
    # If fractions are 0 before the first draws, there are no bets, either.
    still = made[0]._replace(fractions=np.zeros((3, 2)))
    assert not gains(Block(x, y, shared), known, still, Ratio(), grid, refuted).any()
