"""Draws are allocated to promising bets; the planned look counts fresh draws of a fixed event."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpjax.inference import Ratio, _allocation, event_lower_bound
from dpjax.inference._allocation import (
    _half_line_levels,
    allocation,
    leader,
    outgrown,
    phases,
)
from dpjax.inference._hybrid import Look, best_pairs, errors, look_bound, planned_look
from dpjax.inference._wealth import start, step

CELLS = 40


def laws(shifts):
    """Return the probabilities of cells of Laplace noise at 0 and at a shift, for each pair."""
    edges = np.linspace(-6, 7, CELLS - 1)

    def law(centre):
        below = np.where(edges < centre, np.exp(edges - centre) / 2, 1 - np.exp(centre - edges) / 2)
        return np.diff(np.concatenate([[0], below, [1]]))

    return np.stack([law(0)] * len(shifts)), np.stack([law(x) for x in shifts])


def drawn(shifts, sizes, seed):
    rng = np.random.default_rng(seed)
    p, q = laws(shifts)
    return rng.multinomial(sizes, p), rng.multinomial(sizes, q)


def philox(seed=0):
    return np.random.Generator(np.random.Philox(seed))


@pytest.mark.parametrize("claim", [None, 0.6])
def test_the_pair_with_the_largest_level_gets_most_draws(claim):
    shifts = [0.1, 0.2, 1.0, 0.3]
    state, random = start(4, CELLS, 0.05, claim=claim, grid=[0.1, 0.6]), philox()
    for seed in range(25):
        state = step(state, *drawn(shifts, allocation(state, random), seed))
    draws = state.draws[:, 0]
    assert draws.argmax() == 2 and draws[2] > draws.sum() / 2
    assert np.all(draws >= 250) and leader(state).pair == 2


def test_draws_are_shared_by_the_chance_of_the_largest_score(monkeypatch):
    """Thompson sampling: each pair gets the share of rounds in which its random score is largest.

    If one of 3 standard normals is shifted by 1, the probability that it is largest follows from a
    multivariate normal. Five standard errors of 32,000 random scores have probability 1e-6.
    """
    score = np.array([[0.0, -9.0], [-9.0, 1.0], [0.0, -9.0]])
    monkeypatch.setattr(_allocation, "_level_scores", lambda state: (score, np.ones((3, 2))))
    state = step(start(3, CELLS, 0.05), *drawn([0.1, 0.2, 0.3], [10**6] * 3, 0))
    shares = [allocation(state, philox(seed)) for seed in range(2000)]
    found = np.mean([draws / draws.sum() for draws in shares], axis=0)
    x = np.linspace(-8, 9, 4001)
    largest = np.sum(stats.norm.pdf(x - 1) * stats.norm.cdf(x) ** 2) * (x[1] - x[0])
    wins = np.array([(1 - largest) / 2, largest, (1 - largest) / 2])
    # In each round, one of three pairs gets 5% of the draws at random.
    np.testing.assert_allclose(found, 0.95 * wins + 0.05 / 3, atol=0.015)


def test_the_leader_has_a_direction():
    counts = np.array([[900, 100]]), np.array([[500, 500]])
    state = step(start(1, 2, 0.05), *counts)
    # The rarer outcome has the larger ratio.
    assert leader(state) == (0, 1)
    assert leader(step(start(1, 2, 0.05), *counts[::-1])) == (0, 0)


@pytest.mark.parametrize("ordered", [True, False])
def test_exchanged_sides_exchange_the_directions(ordered):
    """Groups are determined by the draws of both sides, whose numbers may differ."""
    x, y = drawn([1.5, 0.4], [3_000, 2_000], 0)
    state = start(2, CELLS, 0.05, ordered=ordered)
    for found, other in zip(
        _half_line_levels(step(state, x, y)), _half_line_levels(step(state, y, x)), strict=True
    ):
        if ordered:
            np.testing.assert_allclose(found, other[::-1], rtol=1e-12)
        else:
            # The cells are in reverse order, and groups are counted from the other end.
            best, expected = found.max(axis=2), other[::-1].max(axis=2)
            np.testing.assert_allclose(best, expected, rtol=0.1)


def test_codes_may_be_renamed():
    """If adjacent cells are not similar, groups contain cells with similar ratios."""
    found = []
    for order in (np.arange(CELLS), np.random.default_rng(3).permutation(CELLS)):
        state = start(2, CELLS, 0.05, ordered=False)
        counts = drawn([1.0, 0.4], [3_000] * 2, 0)
        state = step(state, *(side[:, order] for side in counts))
        found.append(_half_line_levels(state))
    for one, other in zip(*found, strict=True):
        # Equal ratios keep the order of the cells, which moves at most one or two cells.
        np.testing.assert_allclose(one.max(axis=2), other.max(axis=2), rtol=0.1)


def test_rounds_have_the_sizes_of_the_plan():
    assert allocation(start(1, 2, 0.05), philox()).tolist() == [16]
    assert allocation(start(10, 2, 0.05), philox()).tolist() == [100] * 10
    assert allocation(start(50, 2, 0.05), philox()).tolist() == [40] * 50
    state = start(4, CELLS, 0.05)
    state = step(state, *drawn([0.1, 0.2, 0.5, 1.0], [250] * 4, 0))
    found = allocation(state, philox(1))
    assert found.sum() == 120
    np.testing.assert_array_equal(found, allocation(state, philox(1)))
    # A random one of the four pairs gets a twentieth of the draws.
    visits = np.array([allocation(state, philox(seed)) for seed in range(60)])
    assert np.all((visits >= 6).sum(axis=0) >= 3)


def test_draws_of_a_round_add_up_where_several_pairs_are_visited():
    """Three of twelve pairs are selected at random; a round is 12% of all earlier draws."""
    state = start(12, CELLS, 0.05)
    state = step(state, *drawn([0.1] * 11 + [1.0], [100] * 12, 0))
    for seed in range(5):
        found = allocation(state, philox(seed))
        assert found.sum() == 144 and found.min() >= 0


@pytest.mark.parametrize(("draws", "share"), [(500, 0.5), (2000, 3.0)])
def test_rounds_are_large_far_from_a_refutation_and_small_near_one(draws, share):
    """A claim above the level is never refuted; a claim below it is, when bets have won enough."""
    counts = np.array([[draws * 3 // 5, draws * 2 // 5]]), np.array([[draws // 2, draws // 2]])
    level = np.log(6 / 5)
    far = step(start(1, 2, 0.05, claim=2 * level), *counts)
    assert allocation(far, philox()).tolist() == [share * draws]
    # The first block won nothing; z standard errors are a log likelihood ratio of z^2 / 2.
    claim = 0.5 * level
    state = step(start(1, 2, 0.05, claim=claim), *counts)
    error = np.sqrt((1 / counts[0] + 1 / counts[1] - 2 / draws)[0])
    levels = np.log(counts[0] / counts[1])[0]
    z = max((levels - claim) / error)
    z = max(z, max((-levels - claim) / error))
    ends = 0.5 * np.log(20)
    assert allocation(state, philox()) == pytest.approx(
        min(ends / ((z + 2) ** 2 / 2), share) * draws, rel=0.02
    )
    for won, expected in ((0.6, 0.03), (0.99, 0.03)):
        near = replace(state, log_wealth=state.log_wealth + won * np.log(20))
        assert allocation(near, philox()).tolist() == [int(expected * draws)]


@pytest.mark.parametrize("z", [2.0, 0.0, -0.7, -9.0])
def test_rounds_of_several_pairs_are_an_eighth_of_what_seems_to_be_needed(z):
    draws = 1000
    counts = np.array([[600, 400]] * 2), np.array([[500, 500]] * 2)
    errors = [np.sqrt(1 / x + 1 / 500 - 2 / draws) for x in (600, 400)]
    claim = max(np.log(6 / 5) - z * errors[0], np.log(5 / 4) - z * errors[1])
    state = step(start(2, 2, 0.05, claim=claim), *counts)
    share = allocation(state, philox()).sum() / (2 * draws)
    # Half of the refuting log wealth, in units of what these draws would add at two errors.
    needed = 0.5 * np.log(20) / max((z + 2) ** 2 / 2 * (z > -2), 1e-9)
    expected = {2.0: needed, 0.0: 0.2, -0.7: needed / 8, -9.0: 3.0}[z]
    assert {2.0: 0.187, 0.0: 0.75, -0.7: 1.77, -9.0: 1.5e9}[z] == pytest.approx(needed, rel=0.02)
    assert share == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize("pairs", [1, 2, 3, 10, 17])
def test_phases_spend_the_total(pairs):
    found = phases(250_000, pairs)
    assert sum(phase.pairs * phase.draws for phase in found) == 250_000
    assert found[-1].pairs == 1 and found[0].pairs == pairs
    if pairs == 1:
        assert [phase.draws for phase in found] == [70_000, 180_000]
    if pairs == 10:
        assert [(phase.pairs, phase.draws) for phase in found] == [
            (10, 5000), (3, 20_000), (1, 140_000),
        ]  # fmt: skip


def test_cells_are_outgrown_by_half_as_many_draws_again_up_to_4096():
    laid = np.array([16, 16, 17, 100, 2730, 2731, 4000, 16])
    draws = np.array([23, 24, 25, 150, 4096, 4096, 6000, 4097])
    assert outgrown(draws, laid).tolist() == [1, 3, 4]


def searched():
    shifts = [0.2, 1.0, 0.4]
    state = start(3, CELLS, errors(0.05)[0], grid=np.geomspace(0.05, 2, 60))
    for seed in range(4):
        state = step(state, *drawn(shifts, [500] * 3, seed))
    return shifts, state


def test_the_look_is_fixed_before_its_draws():
    shifts, state = searched()
    error = errors(0.05)[1]
    kept = best_pairs(state, 2, 4000, error)
    assert kept.tolist() == [1, 2]
    look = planned_look(state, kept, 4000, error)
    assert look.pair == 1 and not look.is_taken
    confirm = np.array([0, 2000, 0])
    for seed in (10, 11):
        assert not look.is_taken
        x, y = drawn(shifts, confirm, seed)
        state, look = step(state, x, y), look.counted(x, y)
        look = Look.from_plain({k: v.tolist() for k, v in look.to_plain().items()})
    assert look.is_taken
    bound = event_lower_bound(*look.counts, 4000, 4000, 1 - error, Ratio())
    assert look_bound(look, Ratio(), look.error) == bound
    assert max(float(bound), state.bound) > 0.7
    with pytest.raises(ValueError, match="planned"):
        look.counted(x, y)


def test_the_look_counts_its_event_at_its_likelier_side():
    cells = np.array([True, False, True])
    x, y = np.array([[9, 9, 9], [1, 2, 3]]), np.array([[9, 9, 9], [4, 1, 1]])
    for larger, expected in ((0, (4, 5)), (1, (5, 4))):
        assert Look(1, cells, larger, 10, 0.04).counted(x, y).counts == expected


@pytest.mark.parametrize("sides", [([[3, 3]], [[5, 4]]), ([[5, 4]], [[3, 3]])])
def test_neither_side_of_the_look_has_more_draws_than_planned(sides):
    look = Look(0, np.array([True, False]), 0, 8, 0.04)
    with pytest.raises(ValueError, match="planned for 8 draws per side, but 9 were"):
        look.counted(*sides)


def test_errors_add_up():
    assert errors(0.05) == pytest.approx((0.01, 0.04)) and sum(errors(0.001)) <= 0.001


@pytest.mark.parametrize("wrong", [-1, 0.5, np.nan])
def test_blocks_of_a_look_are_counts(wrong):
    look = Look(0, np.array([True, False]), 0, 8, 0.04)
    with pytest.raises(ValueError, match=r"\bx\b"):
        look.counted([[wrong, 1]], [[1, 1]])
