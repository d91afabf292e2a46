"""Chains and their expected bands, compared with loops over cells, goals and corners."""

import math

import numpy as np
import pytest
from scipy import stats

from dpjax.inference import Way, chain_of
from dpjax.inference._band import radius
from dpjax.inference._chain import _by_line, _judged, expected_bands

PARTS, TAILS, FEWEST = 32, 12, 4.0
"""Goals of sets: fractions of 1/32, and twelve for each tail; the first has four draws."""

PESSIMISM, CORNERS = 1.5, 16
"""Standard errors between estimated and expected fractions, and corners of a band."""


def counts(cells, seed=0, size=500):
    """Return counts [half, side, cells] of two halves; one side has more draws."""
    rng = np.random.default_rng(seed)
    laws = rng.dirichlet(np.full(cells, 0.7), 2)
    sizes = zip((size, 2 * size), laws, strict=True)
    return np.stack([rng.multinomial(n, law, 2) for n, law in sizes], axis=1)


def place_by_hand(table, num_confirm, allowed, score):
    """Return (index of the first set of each cell, number of sets, usable)."""
    cells = table.shape[1]
    amid = [not may for may in allowed]
    order = sorted(range(cells), key=lambda c: (0.0 if amid[c] else -score[c], amid[c], c))
    total, reached, shares = table.sum(), 0, []
    for cell in order:
        reached += int(table[:, cell].sum())
        shares.append(reached / total)
    first = min(FEWEST / num_confirm, 1 / PARTS)
    tails = [first * (1 / PARTS / first) ** (k / TAILS) for k in range(TAILS)]
    goals = [k / PARTS for k in range(1, PARTS)] + tails + [1 - tail for tail in tails]
    lengths = sorted({
        min(next(i for i, share in enumerate(shares) if share >= goal - 1e-12) + 1, cells - 1)
        for goal in goals
    })  # fmt: skip
    place = [0] * cells
    for position, cell in enumerate(order):
        place[cell] = sum(length <= position for length in lengths)
    sets = [set(order[:length]) for length in lengths]
    outside = {c for c in range(cells) if amid[c]}
    end = sum(not (one & outside) for one in sets)
    start = sum(not outside <= one for one in sets)
    return place, len(lengths), (end, start if outside else 0)


def ratios(table, groups=None):
    a, b = (np.bincount(groups, side) if groups is not None else side for side in table)
    score = np.log((a + 1) / (b + 1)) - math.log(table[0].sum() / table[1].sum())
    return score if groups is None else score[groups]


@pytest.mark.parametrize("num_confirm", [50, 3_000, 10**6])
@pytest.mark.parametrize("cells", [2, 7, 60])
@pytest.mark.parametrize("seed", range(3))
def test_a_chain_by_loops(cells, num_confirm, seed):
    table = counts(cells, seed).sum(axis=0)
    groups, line = np.arange(cells) // 3, np.random.default_rng(seed).permutation(cells) * 1.0
    some = np.random.default_rng(9 + seed).random(cells) < 0.7
    for allowed in (None, some):
        may = np.ones(cells, bool) if allowed is None else allowed
        for way, score in (
            (Way(), ratios(table)),
            (Way(groups=groups), ratios(table, groups)),
            (Way(line=line), _by_line(table, line)),
        ):
            chain = chain_of(table, num_confirm, allowed, way)
            place, number, usable = place_by_hand(table, num_confirm, may, score)
            assert chain.place.tolist() == place and chain.num_sets == number
            if may.all() or not may.any():
                assert may.any() is False or chain.usable == (number, 0)
            else:
                assert chain.usable == usable


@pytest.mark.parametrize("seed", range(4))
def test_ranks_along_a_line_change_their_sign_where_the_sides_differ_most(seed):
    table = counts(9, seed).sum(axis=0)
    line = np.random.default_rng(seed).normal(size=9)
    line[seed] = np.nan
    placed = [c for c in np.argsort(line) if np.isfinite(line[c])]
    shares = table / table.sum(axis=1, keepdims=True)
    gaps = np.cumsum([shares[0, c] - shares[1, c] for c in placed])
    crossing = int(np.argmax(np.abs(gaps)))
    sign = 1 if gaps[crossing] >= 0 else -1
    expected = np.zeros(9)
    for rank, cell in enumerate(placed):
        expected[cell] = sign * (crossing + 0.5 - rank)
    np.testing.assert_allclose(_by_line(table, line), expected)
    assert not _by_line(table, np.full(9, np.nan)).any()


def wilson(k, n, z):
    """Return both ends of Wilson's interval."""
    k = min(max(k, 0), n)
    spread = z * math.sqrt(k * (1 - k / n) + z**2 / 4)
    return max(k + z**2 / 2 - spread, 0) / (n + z**2), (k + z**2 / 2 + spread) / (n + z**2)


@pytest.mark.parametrize("way", [Way(), Way(line=np.arange(12.0))])
def test_bands_are_expected_from_the_half_that_did_not_make_the_chain(way):
    halves, allowed = counts(12, 5), np.arange(12) != 4
    bands = expected_bands(halves, 700, 0.1, allowed, way)
    judged = _judged(halves, 700, allowed, way)
    assert len(bands) == len(judged) == 2
    for number, (band, (chain, shares)) in enumerate(zip(bands, judged, strict=True)):
        own = chain_of(halves[number], 700, allowed, way)
        assert chain.place.tolist() == own.place.tolist() and chain.usable == own.usable
        other, r = halves[1 - number], radius(own.num_sets, 0.1)
        lower, upper = band.roc
        assert lower.shape == (own.num_sets, CORNERS)
        for one in range(own.num_sets):
            inside = other[:, own.place <= one].sum(axis=1)
            p = wilson(inside[0], other[0].sum(), PESSIMISM)[0]
            q = wilson(inside[1], other[1].sum(), PESSIMISM)[1]
            assert shares[:, one].tolist() == pytest.approx([p, q])
            for j in range(CORNERS):
                angle = math.pi / (2 * CORNERS)
                low = wilson(p * 700, 700, r * math.cos(j * angle))[0]
                high = wilson(q * 700, 700, r * math.sin((j + 1) * angle))[1]
                assert (lower[one, j], upper[one, j]) == pytest.approx((low, high))
        end, start = own.usable
        assert len(band.power[0]) == end and len(band.power[1]) == own.num_sets - start
    # A half without draws on one side neither makes a chain nor judges one.
    halves[0, 1] = 0
    assert len(_judged(halves, 700, None, way)) == 1


@pytest.mark.parametrize(("num_sets", "error"), [(1, 0.3), (7, 0.05), (40, 1e-6)])
def test_radii_solve_their_equation(num_sets, error):
    r = radius(num_sets, error)
    missed = stats.norm.sf(r) + math.exp(-(r**2) / 2) / 4
    assert 1 - (1 - missed) ** num_sets == pytest.approx(error, rel=1e-6)
