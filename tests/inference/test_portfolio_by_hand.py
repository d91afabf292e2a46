"""Experts of sequential bets, compared with loops over cells, pairs and splits."""

import math

import numpy as np
import pytest

from dpjax.inference import Difference, Ratio, Shift
from dpjax.inference._portfolio import (
    _shrunk,
    equal_mass,
    experts,
    half_lines,
    log_ratio,
    shown,
    stakes,
    sums,
)


def counts(pairs, cells, seed=0, mean=20.0):
    """Return counts of two sides with different numbers of draws, including zeros."""
    rng = np.random.default_rng(seed)
    return tuple(rng.poisson(mean * size * rng.gamma(0.6, size=(pairs, cells))) for size in (1, 3))


def added(n, m):
    """Return the draws to add: one on the side with fewer draws, and in proportion on the other."""
    least = max(min(n, m), 1)
    return max(n, 1) / least, max(m, 1) / least


def test_stakes_have_a_mean_of_1():
    np.testing.assert_allclose(stakes(False), [1.2, 0.3, 1.5] * 2)
    assert stakes(True).tolist() == [1.0] * 4


@pytest.mark.parametrize("groups", [4, 8])
def test_groups_hold_the_cells_whose_middles_are_in_their_share(groups):
    x, _ = counts(5, 23)
    x[3] = 0
    labels = equal_mass(x, groups)
    for row, found in zip(x.tolist(), labels.tolist(), strict=True):
        total, before = max(sum(row), 1), 0
        for count, label in zip(row, found, strict=True):
            assert label == min(math.floor(groups * (before + count / 2) / total), groups - 1)
            before += count
    np.testing.assert_array_equal(
        sums(x, labels, groups),
        [[row[own == g].sum() for g in range(groups)] for row, own in zip(x, labels, strict=True)],
    )


def test_ratios_are_of_two_more_draws_at_the_smaller_side():
    x, y = counts(4, 6)
    x[2], y[3] = 0, 0
    for row in range(4):
        one, other = added(x[row].sum(), y[row].sum())
        expected = np.log((x[row] + 2 * one) / (y[row] + 2 * other))
        np.testing.assert_allclose(log_ratio(x, y)[row], expected)


@pytest.mark.parametrize("hypothesis", [Ratio(), Ratio(0.01, 2), Shift(), Difference(3)])
def test_levels_of_events_have_half_a_draw_more_at_the_smaller_side(hypothesis):
    for x, n, y, m in ((30, 100, 5, 400), (0, 40, 12, 20), (9, 9, 0, 9), (0, 0, 3, 7)):
        one, other = added(n, m)
        p, q = (x + one / 2) / (n + one), (y + other / 2) / (m + other)
        expected = hypothesis.shown(
            *(np.array([v]) for v in (p, q, p * (1 - p) / (n + one), q * (1 - q) / (m + other)))
        )
        found = shown(hypothesis, *(np.array([v]) for v in (x, n, y, m)))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("groups", [8, 16])
def test_shares_of_splits_are_shrunk_toward_those_of_both_sides(groups):
    x, y = counts(3, groups)
    x[1] = 0

    def law(side, row, draws):
        """Return the probability of each group, as a product along its splits."""
        both, found = x[row] + y[row], []
        for group in range(groups):
            low, high, share = 0, groups, 1.0
            while high - low > 1:
                middle = (low + high) // 2
                pooled = (both[low:middle].sum() + 1) / (both[low:high].sum() + 2)
                left = side[row, low:middle].sum() + draws * pooled
                left /= side[row, low:high].sum() + draws
                low, high = (low, middle) if group < middle else (middle, high)
                share *= left if high == middle else 1 - left
            found.append(share)
        return found

    laws = _shrunk(x, y)
    assert len(laws) == 2
    for (p, q), draws in zip(laws, (8.0, 64.0), strict=True):
        for row in range(3):
            np.testing.assert_allclose(p[row], law(x, row, draws), rtol=1e-12)
            np.testing.assert_allclose(q[row], law(y, row, draws), rtol=1e-12)


@pytest.mark.parametrize("hypothesis", [Ratio(), Difference()])
@pytest.mark.parametrize("seed", range(4))
def test_half_lines_are_the_best_ones_at_both_ends(hypothesis, seed):
    """Compared with a loop over all cuts and directions, at three standard errors."""
    x, y = counts(6, 9, seed)

    def score(row, within, side):
        first, second = (x, y) if side == 0 else (y, x)
        given = (first[row, within].sum(), first[row].sum(), second[row, within].sum(),
                 second[row].sum())  # fmt: skip
        level, error = shown(hypothesis, *(np.array([v]) for v in given))
        return float(level[0] - 3 * error[0])

    for row, found in enumerate(half_lines(x, y, hypothesis)):
        lines = [(end, cut) for end in ("before", "after") for cut in range(1, 9)]
        cells = {
            (end, cut): np.arange(9) < cut if end == "before" else np.arange(9) >= cut
            for end, cut in lines
        }
        best, side, taken = max(
            ((score(row, cells[part], side), side, part) for part in lines for side in (0, 1)),
            key=lambda item: item[0],
        )
        others = [
            part for part in lines if part[0] != taken[0] and not np.any(cells[part] & cells[taken])
        ]
        other = max(others, key=lambda part: score(row, cells[part], 1 - side))
        expected = np.full(9, 2)
        expected[cells[other]], expected[cells[taken]] = 1 - side, side
        assert found.tolist() == expected.tolist(), best


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("cells", [5, 16, 17, 40])
def test_experts_divide_cells_into_parts_of_a_line_and_outcomes(cells, ordered):
    x, y = counts(3, cells, seed=2)
    y[2] = 0
    found = experts(x, y, few=False, ordered=ordered, hypothesis=Ratio())
    line = np.tile(np.arange(cells), (3, 1))
    if not ordered:
        line = np.argsort(log_ratio(x, y), axis=1, kind="stable")
    along = [np.take_along_axis(side, line, axis=1) for side in (x, y)]
    parts = [(half_lines(*along, Ratio()), 3)]
    parts.append((equal_mass(sum(along), 4), 4) if cells > 16 else (None, cells))
    n = np.minimum(x.sum(axis=1), y.sum(axis=1))
    assert len(found) == 2
    for expert, (labels, size) in zip(found, parts, strict=True):
        own = np.tile(np.arange(cells), (3, 1))
        if labels is not None:
            np.put_along_axis(own, line, labels, axis=1)
        np.testing.assert_array_equal(expert.labels, own)
        np.testing.assert_allclose(
            expert.fractions, [n / (n + rho) for rho in (64.0, 1024.0, 16384.0)]
        )
        for row in range(3):
            of_row = added(x[row].sum(), y[row].sum())
            for law, side, more in zip((expert.p, expert.q), (x, y), of_row, strict=True):
                group = np.array([side[row, own[row] == g].sum() for g in range(size)]) + more / 2
                np.testing.assert_allclose(law[row], group / group.sum())
        np.testing.assert_array_equal(expert.grouped(x), sums(x, own, size))


@pytest.mark.parametrize(("cells", "ordered"), [(40, True), (40, False), (16, False), (17, False)])
def test_experts_of_few_draws_split_the_line_in_8_and_in_16(cells, ordered):
    x, y = counts(2, cells, seed=3, mean=2.0)
    found = experts(x, y, few=True, ordered=ordered, hypothesis=Ratio())
    line = np.tile(np.arange(cells), (2, 1))
    if not ordered and cells > 16:
        line = np.argsort(log_ratio(x, y), axis=1, kind="stable")
    assert len(found) == 4
    for number, expert in enumerate(found):
        size = (8, 16)[number // 2]
        along = np.take_along_axis(x + y, line, axis=1)
        own = np.empty_like(line)
        np.put_along_axis(own, line, equal_mass(along, size), axis=1)
        np.testing.assert_array_equal(expert.labels, own)
        p, q = _shrunk(sums(x, own, size), sums(y, own, size))[number % 2]
        np.testing.assert_allclose([expert.p, expert.q], [p, q])
        np.testing.assert_array_equal(expert.fractions, np.ones((1, 2)))
