"""Wealth: what determines it, how rarely it is wrong, and how soon it refutes."""

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy import optimize, stats

from dpjax.inference import Difference, Ratio, Shift
from dpjax.inference._betting import weights
from dpjax.inference._payoffs import _atoms
from dpjax.inference._portfolio import equal_mass, experts, half_lines, sums
from dpjax.inference._wealth import Wealth, recounted, start, step

ERROR = 0.05


def counts_of(seed, pairs=3, cells=30, size=200):
    """Return counts of pairs with equal distributions, which do not depend on the seed."""
    p, q = np.random.default_rng(0).dirichlet(np.ones(cells), 2)
    rng = np.random.default_rng(seed)
    return rng.multinomial(size, p, pairs), rng.multinomial(size, q, pairs)


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("delta", [0.0, 0.01])
@pytest.mark.parametrize("ordered", [False, True])
def test_an_interrupted_run_is_a_prefix_bit_for_bit(few, delta, ordered):
    options = {"few": few, "hypothesis": Ratio(delta), "ordered": ordered, "claim": 0.5}
    state = again = start(3, 30, ERROR, grid=np.geomspace(0.1, 3, 40), **options)
    for seed in range(4):
        x, y = counts_of(seed)
        state = step(state, x, y)
        again = Wealth.from_plain(again.to_plain())
        again = Wealth.from_plain({k: v.tolist() for k, v in step(again, x, y).to_plain().items()})
        for name, value in state.to_plain().items():
            np.testing.assert_array_equal(value, again.to_plain()[name], err_msg=name)
    assert state.bound > 0


def test_a_state_that_is_not_whole_is_refused():
    plain = start(2, 30, ERROR).to_plain()
    with pytest.raises(ValueError, match="lacks log_wealth"):
        Wealth.from_plain({k: v for k, v in plain.items() if k != "log_wealth"})
    with pytest.raises(ValueError, match="shapes"):
        Wealth.from_plain({**plain, "is_refuted": np.zeros(3, bool)})


def test_states_of_earlier_versions_have_no_level_sets():
    for monotonic in (False, True):
        plain = start(2, 30, ERROR, monotonic=monotonic).to_plain()
        assert Wealth.from_plain(plain).monotonic is monotonic
    del plain["monotonic"]
    assert Wealth.from_plain(plain).monotonic


def test_atoms_of_many_members_are_the_cells_with_equal_groups():
    """40 members with 16 groups have more combinations than integers; 600 of them are used."""
    rng = np.random.default_rng(2)
    labels = np.zeros((40, 700), np.int64)
    labels[:14, :600] = rng.integers(16, size=(14, 600))
    labels[:, 600:] = labels[:, :100]
    found, atom = _atoms(labels, 16)
    np.testing.assert_array_equal(found[:, atom], labels)
    assert found.shape[1] == np.unique(labels, axis=1).shape[1] == 600


def test_the_wealth_is_the_mean_over_bets_of_the_product_of_payoffs():
    """Outcomes are used one by one: (1 + c (w - 1)) is multiplied for each output."""
    p, q = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.3, 0.5])
    rng = np.random.default_rng(0)
    x, y = rng.multinomial(90, p)[None], rng.multinomial(70, q)[None]
    u, v = rng.multinomial(20, p)[None], rng.multinomial(35, q)[None]
    level = 0.3
    state = step(step(start(1, 3, ERROR, grid=[level]), x, y), u, v)
    # The first block cannot use earlier draws for its bets.
    added = x + 0.5 * 90 / 70, y + 0.5
    estimated = added[0] / added[0].sum(), added[1] / added[1].sum()
    bet = weights(*estimated, np.array([[20.0, 35.0]]), np.exp([level]), np.zeros(1))
    expected = []
    # Shares of the wealth before the first draw.
    for rho, payoff in ((64, 0.4), (1024, 0.1), (16384, 0.5)):
        c = 70 / (70 + rho)
        for group, number in enumerate(u[0]):
            payoff *= (1 + c * (bet.first[0, group] - 1)) ** number
        for group, number in enumerate(v[0]):
            payoff *= (1 + c * (bet.second[0, group] - 1)) ** number
        expected.append(payoff)
    np.testing.assert_allclose(np.exp(state.log_mean), [np.sum(expected)], rtol=1e-10)


def test_pairs_multiply_and_a_pair_without_draws_changes_nothing():
    x, y = counts_of(0)
    u, v = counts_of(1)
    grid = np.geomspace(0.1, 1, 5)

    def gained(pairs):
        before = step(start(3, 30, 1e-300, grid=grid), x, y)
        mask = np.isin(np.arange(3), pairs)[:, None]
        return step(before, u * mask, v * mask).log_wealth - before.log_wealth

    np.testing.assert_allclose(gained([0, 2]), gained([0]) + gained([2]), rtol=1e-12)
    assert np.all(gained([]) == 0) and np.any(gained([1]) != 0)


SHARED = np.array([[0, 1], [0, 2]])
"""Two pairs that share a database."""


def test_pairs_with_a_common_database_know_its_draws_and_bet_on_them():
    x, y = counts_of(0, pairs=2, cells=8)
    u, v = counts_of(1, pairs=2, cells=8)
    state = step(start(2, 8, ERROR, grid=[0.5], shared=SHARED), x, y)
    np.testing.assert_array_equal(state.known[0], [x.sum(axis=0)] * 2)
    np.testing.assert_array_equal(state.known[1], y)
    after = step(state, u, v)
    np.testing.assert_array_equal(after.first, x + u)
    assert np.any(after.log_wealth != state.log_wealth)
    # It does not matter for which pair the common database was drawn.
    moved = np.stack([u.sum(axis=0), np.zeros(8, int)])
    np.testing.assert_allclose(step(state, moved, v).log_wealth, after.log_wealth, rtol=1e-12)
    again = Wealth.from_plain(state.to_plain())
    np.testing.assert_array_equal(step(again, u, v).log_wealth, after.log_wealth)
    with pytest.raises(ValueError, match="shapes"):
        Wealth.from_plain({**state.to_plain(), "shared": SHARED + 2})


def test_a_single_bet_is_paid_by_all_draws_at_its_common_database():
    """The second pair has no draws from its own database, so only the first pair bets."""
    x, y = counts_of(0, pairs=2, cells=8)
    u, v = counts_of(1, pairs=2, cells=8)
    v[1] = 0
    state = step(start(2, 8, ERROR, grid=[0.5], shared=SHARED), x, y)
    gained = step(state, u, v).log_wealth - state.log_wealth
    # Return a state of one pair with the same counts.
    alone = step(start(1, 8, ERROR, grid=[0.5]), [x.sum(axis=0)], y[:1])
    expected = step(alone, [u.sum(axis=0)], v[:1]).log_wealth - alone.log_wealth
    assert np.any(np.abs(expected) > 0.01)
    np.testing.assert_allclose(gained, expected, rtol=1e-9)


GRAPHS = {
    "star": [[0, 1], [0, 2], [0, 3]],
    "circle": [[0, 1], [1, 2], [2, 0]],
    "twice the same": [[0, 1], [0, 1], [1, 0]],
    "beside another": [[0, 1], [2, 1], [3, 4]],
}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("delta", [0.0, 0.02])
@pytest.mark.parametrize(("few", "cells"), [(True, 6), (False, 20)])
def test_the_mean_payoff_of_pairs_with_common_databases(graph, delta, few, cells):
    """It is at most 1 for distributions with the level; the payoff has one factor per draw."""
    level, shared = 0.4, np.array(GRAPHS[graph])
    rng = np.random.default_rng(len(graph) + cells)
    number = int(shared.max()) + 1
    options = {"few": few, "ordered": False, "hypothesis": Ratio(delta), "grid": [level]}
    state = start(3, cells, 1e-300, shared=shared, **options)
    # These estimates violate the level for several pairs.
    drawn = np.stack([rng.multinomial(150, law) for law in rng.dirichlet(np.ones(cells), number)])
    state = step(state, drawn[shared[:, 0]], drawn[shared[:, 1]])
    sizes = rng.integers(2, 40, (2, 3))

    # Draws from each database.
    place = [np.argwhere(shared.T == one) for one in range(number)]
    total = np.array([sizes[tuple(where.T)].sum() for where in place])

    def gained(cell_of):
        """Return ln of the payoff of each bet if all draws of a database lie in one cell."""
        sides = np.zeros((2, 3, cells), int)
        for one, where in enumerate(place):
            for side, pair in where:
                sides[side, pair, cell_of[one]] = sizes[side, pair]
        return (step(state, *sides).log_wealth - state.log_wealth)[:4, 0]

    base = gained(np.zeros(number, int))
    # ln of the factors [bets, databases, cells]
    found = np.zeros((4, number, cells))
    for one, cell in product(range(number), range(1, cells)):
        found[:, one, cell] = (gained(np.eye(number, dtype=int)[one] * cell) - base) / total[one]

    means = [_largest_mean(total, found[bet], base[bet], shared, level, delta) for bet in range(4)]
    # Nearly 1 is attained, because the bets are the best ones for distributions at the level.
    assert -0.3 < max(means) <= 1e-9


def _largest_mean(total, found, base, shared, level, delta, steps=15):
    """Return ln of the largest mean payoff, by linear programs (Frank, Wolfe)."""
    number, cells = found.shape
    pairs = [ends for pair in shared for ends in (pair, pair[::-1])]
    # All distributions, then the excess of P over e^level Q in each cell, with sum delta.
    size = (number + len(pairs)) * cells
    upper, limits = np.zeros((len(pairs) * (cells + 1), size)), np.zeros(len(pairs) * (cells + 1))
    for row, (one, other) in enumerate(pairs):
        cell = np.arange(cells)
        at = (cells + 1) * row + cell
        upper[at, one * cells + cell] += 1
        upper[at, other * cells + cell] -= math.exp(level)
        upper[at, (number + row) * cells + cell] = -1
        upper[(cells + 1) * row + cells, (number + row) * cells + cell] = 1
        limits[(cells + 1) * row + cells] = delta
    ones = np.zeros((number, size))
    for one in range(number):
        ones[one, one * cells : (one + 1) * cells] = 1
    payoff, laws, largest = np.exp(found), np.full((number, cells), 1 / cells), -math.inf
    for turn in range(steps):
        mean = (laws * payoff).sum(axis=1)
        largest = max(largest, base + total @ np.log(mean))
        slope = np.zeros(size)
        slope[: number * cells] = -(payoff * (total / mean)[:, None]).ravel()
        best = optimize.linprog(slope, upper, limits, ones, np.ones(number)).x
        laws += 2 / (turn + 2) * (best[: number * cells].reshape(laws.shape) - laws)
    return largest


@pytest.mark.slow
def test_no_laws_with_the_level_gain_where_pairs_share_a_database():
    """Enumerates a block of one draw per side; the common database has two of the draws."""
    level, number = 0.5, 200_000
    rng = np.random.default_rng(0)
    # Distributions for which an outcome has exactly the ratio of the level, if possible.
    p = rng.dirichlet(np.ones(3), number)
    q = p * np.exp(level * rng.choice([-1.0, 1.0], (number, 2, 3)).swapaxes(0, 1))
    q[..., 2] = 1 - q[..., :2].sum(axis=-1)
    fine = np.all((q > 0) & (np.abs(np.log(np.maximum(q, 1e-9) / p)) <= level), axis=(0, 2))
    p, q = p[fine], q[:, fine]
    assert len(p) > 1000
    largest = []
    for seed in range(5):
        counts = np.random.default_rng(seed).multinomial(40, [[0.6, 0.3, 0.1]] * 2)
        others = np.random.default_rng(99 - seed).multinomial(40, [[0.2, 0.3, 0.5]] * 2)
        state = step(start(2, 3, ERROR, grid=[level], shared=SHARED), counts, others)
        mean = np.zeros(len(p))
        for one, two, three, four in product(range(3), repeat=4):
            x, y = np.eye(3, dtype=int)[[one, two]], np.eye(3, dtype=int)[[three, four]]
            wealth = np.exp(step(state, x, y).log_mean[0])
            mean += wealth * p[:, one] * p[:, two] * q[0, :, three] * q[1, :, four]
        largest.append(mean.max())
    assert 1 - 1e-3 < max(largest) <= 1 + 1e-9


def test_outputs_at_one_side_alone_place_no_bet():
    x, y = counts_of(0)
    state = step(start(3, 30, ERROR), x, y)
    after = step(state, x, np.zeros_like(y))
    np.testing.assert_array_equal(after.log_wealth, state.log_wealth)
    np.testing.assert_array_equal(after.first, 2 * x)


def test_the_sides_may_be_exchanged():
    grid = np.geomspace(0.1, 2, 30)
    state = other = start(3, 30, ERROR, grid=grid)
    for seed in range(3):
        x, y = counts_of(seed, size=100)
        state, other = step(state, x, y), step(other, y, x)
    np.testing.assert_allclose(state.log_wealth, other.log_wealth, rtol=1e-6, atol=1e-6)


def test_the_same_draws_in_other_cells_keep_the_wealth():
    x, y = counts_of(0, cells=40)
    state = step(start(3, 40, ERROR), x, y)
    halved = [side.reshape(3, 20, 2).sum(axis=2) for side in (x, y)]
    after = recounted(state, *halved)
    np.testing.assert_array_equal(after.log_wealth, state.log_wealth)
    assert step(after, *halved).num_blocks == 2
    with pytest.raises(ValueError, match="as many draws as the state"):
        recounted(state, halved[0] + 1, halved[1])
    # There are as many draws, but no counts.
    for change in ([0.5, -0.5], [-(10**6), 10**6]):
        for place, name in enumerate(("first", "second")):
            sides = [side.astype(float) for side in halved]
            sides[place][0, :2] += change
            with pytest.raises((TypeError, ValueError), match=f"^{name} must"):
                recounted(state, *sides)
    # There is the same number of bets, on single outcomes.
    merged = [side.reshape(3, 8, 5).sum(axis=2) for side in (x, y)]
    assert np.isfinite(step(recounted(state, *merged), *merged).log_wealth).all()


def test_wrong_arguments_are_refused():
    for wrong, name in (
        ({"error": 0.0}, "error"), ({"error": 1.0}, "error"), ({"pairs": 0}, "pairs"),
        ({"cells": 0}, "cells"), ({"claim": 0.0}, "claim"), ({"claim": np.inf}, "claim"),
        ({"grid": [0.0, 1.0]}, "grid"), ({"grid": [1.0, np.inf]}, "grid"), ({"grid": []}, "grid"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=name):
            start(**{"pairs": 1, "cells": 2, "error": ERROR} | wrong)
    state = start(1, 2, ERROR)
    with pytest.raises(ValueError):
        step(state, [[1, -1]], [[1, 1]])
    with pytest.raises(ValueError, match="shape"):
        step(state, [[1, 1, 1]], [[1, 1, 1]])


@pytest.mark.parametrize(
    ("hypothesis", "ends"),
    [(Ratio(), (0.01, 10.0)), (Shift(), (0.01, 10.0)), (Difference(), (0.001, 0.999))],
)
def test_levels_of_bets_are_equally_spaced_logarithms(hypothesis, ends):
    logs = np.log(start(1, 2, ERROR, hypothesis=hypothesis).grid)
    np.testing.assert_allclose(logs, np.linspace(*np.log(ends), 2048), atol=1e-12)


def test_groups_are_what_they_say():
    x, y = counts_of(5, pairs=4, cells=50)
    labels = equal_mass(x + y, 4)
    mass = sums(x + y, labels, 4)
    assert np.all(np.diff(labels, axis=1) >= 0) and np.all(mass.sum(axis=1) == 400)
    assert np.all(np.abs(mass - 100) <= (x + y).max())
    edges = np.linspace(-7, 8, 63)
    p, q = (np.diff(stats.laplace.cdf([-np.inf, *edges, np.inf], centre)) for centre in (0, 1))
    lines = half_lines((1e6 * p).astype(int)[None], (1e6 * q).astype(int)[None], Ratio())[0]
    # The tails of the likelier side, as far as they can be estimated.
    assert lines[0] == 0 and lines[-1] == 1 and np.all(np.diff(lines[lines < 2]) >= 0)
    for few in (False, True):
        for expert in experts(x, y, few=few, ordered=True, hypothesis=Ratio()):
            np.testing.assert_allclose([expert.p.sum(1), expert.q.sum(1)], 1)
            assert expert.p.min() > 0 and expert.q.min() > 0


def test_a_level_is_refuted_by_a_wealth_of_one_over_the_error():
    state = start(1, 2, ERROR, claim=1.0, grid=[1.0])
    for wealth, expected in ((19.9, False), (20.1, True)):
        full = replace(state, log_wealth=np.full_like(state.log_wealth, math.log(wealth)))
        assert step(full, [[1, 0]], [[1, 0]]).is_claim_refuted is expected
