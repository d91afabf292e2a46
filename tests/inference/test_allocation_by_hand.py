"""Scores and sizes that determine how a sequential audit allocates its draws."""

import math
from dataclasses import replace

import numpy as np
import pytest

from dpjax.inference import Difference, Ratio, Shift
from dpjax.inference import _allocation as allocated
from dpjax.inference._allocation import (
    LAYING,
    Leader,
    _claim_scores,
    _growth,
    _half_line_levels,
    _level_scores,
    allocation,
    first_round,
    leader,
    outgrown,
    phases,
)
from dpjax.inference._hybrid import Look
from dpjax.inference._portfolio import equal_mass, log_ratio, shown
from dpjax.inference._wealth import start, step


def counted(pairs, cells, seed=0, **options):
    """Return a state after numbers of draws that differ between pairs and sides."""
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.full(cells, 2.0), (2, pairs))
    size = 300 + 170 * np.arange(pairs)
    x = np.stack([rng.multinomial(n, p) for n, p in zip(size, law[0], strict=True)])
    y = np.stack([rng.multinomial(2 * n, q) for n, q in zip(size, law[1], strict=True)])
    return step(start(pairs, cells, 0.05, grid=[0.05, 0.3], **options), x, y)


def half_lines(state):
    """Return (level, error) of each direction, pair and half-line, using loops."""
    first, second = state.known
    cells = first.shape[1]
    found = []
    for x, y in zip(first, second, strict=True):
        if not state.ordered:
            order = np.argsort(log_ratio(x[None], y[None])[0], kind="stable")
            x, y = x[order], y[order]
        labels = np.arange(cells) if cells <= 16 else equal_mass((x + y)[None], 8)[0]
        n, m = x.sum(), y.sum()
        of_pair = []
        for cut in range(1, labels.max() + 1 if cells <= 16 else 8):
            before = labels < cut
            of_pair.append((x[before].sum(), y[before].sum()))
        of_pair += [(n - a, m - b) for a, b in of_pair]
        directions = []
        for swap in (False, True):
            given = [(b, m, a, n) if swap else (a, n, b, m) for a, b in of_pair]
            arrays = (np.array(column) for column in zip(*given, strict=True))
            directions.append(shown(state.hypothesis, *arrays))
        found.append(directions)
    # [direction, pair, half-line], for levels and errors.
    return [np.stack([[pair[d][k] for pair in found] for d in (0, 1)]) for k in (0, 1)]


CASES = [
    (cells, ordered, hypothesis)
    for cells in (5, 16, 17, 40)
    for ordered, hypothesis in ((True, Ratio()), (False, Difference()), (True, Shift(2)))
]


@pytest.mark.parametrize(("cells", "ordered", "hypothesis"), CASES)
def test_levels_of_half_lines_by_loops(cells, ordered, hypothesis):
    state = counted(3, cells, ordered=ordered, hypothesis=hypothesis)
    level, error = half_lines(state)
    found = _half_line_levels(state)
    np.testing.assert_allclose(found[0], level, rtol=1e-9)
    np.testing.assert_allclose(found[1], error, rtol=1e-9)
    # Without a claim, this is the bound at the end minus the bound of today, in errors.
    n = state.draws.min(axis=1)
    scores = level - 2 * error * np.sqrt(n / (n + 3 * n.sum()))[None, :, None] - error
    score, spread = _level_scores(state)
    for pair in range(3):
        for side in (0, 1):
            best = int(scores[side, pair].argmax())
            assert score[pair, side] == pytest.approx(scores[side, pair, best])
            assert spread[pair, side] == pytest.approx(error[side, pair, best])
    lower = level - 2 * error
    side, pair, _ = np.unravel_index(lower.argmax(), lower.shape)
    assert leader(state) == Leader(pair, side)
    # With a claim, in standard errors of one draw, minus one standard error.
    score, spread = _claim_scores(state, 0.1)
    for pair in range(3):
        assert spread[pair].tolist() == pytest.approx([1 / math.sqrt(n[pair])] * 2)
        for side in (0, 1):
            z = ((level - 0.1) / error)[side, pair].max()
            assert score[pair, side] == pytest.approx((z - 1) / math.sqrt(n[pair]))


@pytest.mark.parametrize(
    ("pairs", "few", "draws"),
    [(1, False, 16), (1, True, 16), (2, False, 500), (3, False, 333), (25, False, 40),
     (24, False, 41), (500, False, 40), (7, True, 16)],
)  # fmt: skip
def test_first_rounds(pairs, few, draws):
    assert first_round(pairs, few) == draws
    found = allocation(start(pairs, 3, 0.05, few=few), np.random.default_rng(0))
    assert found.tolist() == [draws] * pairs


def test_cells_are_constructed_again_after_growth_by_a_half():
    draws = np.array([29, 30, 31, 4096, 4097, 10, 6000])
    laid = np.array([20, 20, 20, 100, 100, 10, 5000])
    assert outgrown(draws, laid).tolist() == [1, 2, 3] and LAYING == 4096


@pytest.mark.parametrize(
    ("total", "pairs", "expected"),
    [
        (1000, 1, [(1, 280), (1, 720)]), (1001, 1, [(1, 280), (1, 721)]),
        (1000, 2, [(2, 100), (2, 120), (1, 560)]), (1000, 4, [(4, 50), (2, 120), (1, 560)]),
        (1000, 8, [(8, 25), (2, 120), (1, 560)]), (1000, 9, [(9, 22), (3, 80), (1, 562)]),
        (1000, 13, [(13, 15), (4, 60), (1, 565)]),
    ],
)  # fmt: skip
def test_phases_of_a_fixed_number_of_draws(total, pairs, expected):
    assert [tuple(phase) for phase in phases(total, pairs)] == expected


def test_rounds_grow_by_shares_of_all_earlier_draws():
    assert _growth(counted(2, 5), 3.0) == 0.12
    assert _growth(counted(2, 5, few=True), 3.0) == 0.08
    assert _growth(counted(2, 5, few=True, claim=0.3), 3.0) == 0.08
    one = counted(1, 5, claim=0.3)
    done = one.log_at_claim
    for excess in (-5.0, -2.0, -1.0, 0.0, 1.0, 3.0, 9.0):
        needed = (0.5 * math.log(20) - done) / max(max(excess + 2, 0) ** 2 / 2, 1e-9)
        assert _growth(one, excess) == pytest.approx(min(max(needed, 0.03), 0.5))
        later = replace(one, first=one.first * 4, second=one.second * 4)
        assert _growth(later, excess) == pytest.approx(min(max(needed, 0.03), 3.0))
    several = counted(2, 5, claim=0.3)
    for excess in (-5.0, -1.0, 0.0, 2.0, 9.0):
        needed = (0.5 * math.log(20) - several.log_at_claim) / max(
            max(excess + 2, 0) ** 2 / 2, 1e-9
        )
        most = min(max(needed / 8, 0.2), 3.0)
        assert _growth(several, excess) == pytest.approx(min(max(needed, 0.03), most))


def test_the_limit_of_early_rounds_ends_at_a_thousand_draws():
    """The claim needs many more draws; 999 and 1,000 have been made."""
    for draws, growth in ((999, 0.5), (1000, 3.0)):
        state = start(1, 2, 0.05, claim=5.0, grid=[0.1])
        state = replace(state, first=np.array([[draws - 400, 400]]), second=np.array([[300, 300]]))
        assert _growth(state, -3.0) == growth


@pytest.mark.parametrize(("pairs", "visited"), [(2, 1), (5, 1), (6, 2), (12, 3)])
def test_a_fifth_of_the_pairs_is_visited_whatever_they_score(pairs, visited, monkeypatch):
    """They share a twentieth of a round; the pair with the best score gets the rest."""
    score = np.full((pairs, 2), -1e6)
    score[1, 0] = 0.0
    monkeypatch.setattr(allocated, "_level_scores", lambda state: (score, np.ones((pairs, 2))))
    state = start(pairs, 2, 0.05)
    state = replace(state, first=np.full((pairs, 2), 10**6), second=np.full((pairs, 2), 10**6))
    seen = set()
    for seed in range(12):
        found = allocation(state, np.random.default_rng(seed))
        total = int(0.12 * 2 * 10**6 * pairs)
        assert found.sum() == total
        rest = np.delete(found, 1) / total
        others = visited - (found[1] / total > 0.9501)
        assert np.count_nonzero(rest) == others
        np.testing.assert_allclose(rest[rest > 0], 0.05 / visited, atol=1e-5)
        seen.update(np.flatnonzero(found).tolist())
    assert len(seen) > min(pairs - 1, visited)


def test_a_look_comes_back_with_the_counts_of_each_side():
    look = Look(1, np.array([True, False]), 1, 90, 0.04, (3, 5), (7, 11))
    again = Look.from_plain({name: value.tolist() for name, value in look.to_plain().items()})
    assert (again.counts, again.drawn, again.draws, again.larger) == ((3, 5), (7, 11), 90, 1)
