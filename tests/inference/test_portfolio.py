"""Experts by their definitions: fractions of groups, shrunk splits, and cells by ratio."""

import math

import numpy as np
import pytest

from dpjax.inference._hypotheses import Ratio
from dpjax.inference._portfolio import (
    _added,
    _shrunk,
    equal_mass,
    experts,
    half_lines,
    log_ratio,
    stakes,
)


def counts(seed, pairs, cells, draws=(300, 700)):
    """Return counts of both sides, which have different numbers of draws."""
    rng = np.random.default_rng(seed)
    laws = rng.dirichlet(np.ones(cells), (2, pairs))
    return [
        np.stack([rng.multinomial(n, law) for law in side])
        for n, side in zip(draws, laws, strict=True)
    ]


def test_pseudo_counts_are_one_at_the_side_of_fewer_draws():
    n, m = np.array([4, 9, 0, 0]), np.array([8, 3, 5, 0])
    one, other = _added(n, m)
    assert one.tolist() == [1.0, 3.0, 1.0, 1.0] and other.tolist() == [2.0, 1.0, 5.0, 1.0]


def test_ratios_of_counts_have_two_pseudo_draws_in_each_cell():
    first, second = np.array([[3, 0, 1], [0, 2, 0]]), np.array([[0, 0, 8], [1, 0, 0]])
    expected = [
        # Four draws compared with eight: twice as many are added there.
        [math.log(5 / 4), math.log(2 / 4), math.log(3 / 12)],
        # Two compared with one.
        [math.log(4 / 3), math.log(6 / 2), math.log(4 / 2)],
    ]
    np.testing.assert_allclose(log_ratio(first, second), expected, rtol=1e-12)
    np.testing.assert_allclose(log_ratio(second, first), np.negative(expected), rtol=1e-12)


def split(x, y, draws):
    """Return fractions of groups, split by split; pseudo-draws shrink each to the pooled one."""
    if len(x) == 1:
        return [1.0], [1.0]
    half = len(x) // 2
    pooled = (sum(x[:half]) + sum(y[:half]) + 1) / (sum(x) + sum(y) + 2)
    left, right = split(x[:half], y[:half], draws), split(x[half:], y[half:], draws)
    found = []
    for side, counted in enumerate((x, y)):
        share = (sum(counted[:half]) + draws * pooled) / (sum(counted) + draws)
        found.append([share * q for q in left[side]] + [(1 - share) * q for q in right[side]])
    return found


def test_shares_of_splits_are_shrunk_to_those_of_both_sides():
    x, y = counts(1, 3, 8)
    for draws, (p, q) in zip((8.0, 64.0), _shrunk(x, y), strict=True):
        for pair in range(3):
            np.testing.assert_allclose((p[pair], q[pair]), split(x[pair], y[pair], draws))


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize("cells", [5, 16, 17, 40])
def test_experts_by_their_definitions(few, ordered, cells):
    """Each group has the cells of its positions on the line; a line is sorted by ratio."""
    x, y = counts(cells, 3, cells)
    found = experts(x, y, few=few, ordered=ordered, hypothesis=Ratio())
    single = not few and cells <= 16
    assert len(found) == (4 if few else 2)
    assert len(stakes(few)) == sum(len(expert.fractions) for expert in found)
    keeps = ordered or (few and cells <= 16)
    for pair in range(3):
        ratio = [math.log((a + 2) / (b + 2 * 7 / 3)) for a, b in zip(x[pair], y[pair], strict=True)]
        line = [*range(cells)] if keeps else sorted(range(cells), key=lambda cell: ratio[cell])
        left, right = x[pair, line][None], y[pair, line][None]
        if few:
            laid = [equal_mass(left + right, size)[0] for size in (8, 8, 16, 16)]
        else:
            laid = [half_lines(left, right, Ratio())[0]]
            laid.append(np.arange(cells)[line] if single else equal_mass(left + right, 4)[0])
        for number, (expert, groups) in enumerate(zip(found, laid, strict=True)):
            assert expert.labels[pair, line].tolist() == groups.tolist()
            size = expert.p.shape[1]
            assert size == ((8, 8, 16, 16)[number] if few else (3, cells if single else 4)[number])
            sums = [[side[groups == g].sum() for g in range(size)] for side in (left[0], right[0])]
            if few:
                law = split(*sums, (8.0, 64.0)[number % 2])
                assert expert.fractions[:, pair].tolist() == [1.0]
            else:
                added = 0.5, 0.5 * 7 / 3
                law = [
                    (np.array(side) + more) / (np.sum(side) + size * more)
                    for side, more in zip(sums, added, strict=True)
                ]
                assert expert.fractions[:, pair] == pytest.approx(
                    [300 / 364, 300 / 1324, 300 / 16684]
                )
            np.testing.assert_allclose((expert.p[pair], expert.q[pair]), law, rtol=1e-12)


def test_stakes_have_the_mean_one():
    assert stakes(True).tolist() == [1.0] * 4
    assert stakes(False) == pytest.approx([1.2, 0.3, 1.5] * 2)
