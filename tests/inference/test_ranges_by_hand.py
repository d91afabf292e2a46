"""Ranges of a line compared with loops over their ends, and ratios of sample sizes."""

import numpy as np
import pytest

from dpjax.inference import Difference, Ratio, Rivals, Shared, choose_event, divided, size_ratio
from dpjax.inference._choice import errors_by_ratio
from dpjax.inference._events import best_ratio, expected_bound, shrunk
from dpjax.inference._ranges import WORTH, _is_simple, _Ranges, simpler
from dpjax.inference._sizes import tried_ratios

LINE = np.array([3.0, np.nan, 0.0, 1.0, 2.0, 2.0, np.nan, 5.0, 4.0])
ENDS = np.array([-np.inf, 1.0, 2.0, 4.5, np.inf])
PLACED = np.isfinite(LINE) & (np.arange(9) != 3)
ALONE = np.arange(9) == 6


def sets_by_hand():
    """Return (is half-line, cells) of each range, and then of each complement."""
    ranges = [(i, j) for i in range(5) for j in range(i + 1, 5) if (i, j) != (0, 4)]
    found = []
    for outside in (False, True):
        for i, j in ranges:
            cells = [
                bool(ALONE[c] or (PLACED[c] and (ENDS[i] <= LINE[c] < ENDS[j]) != outside))
                for c in range(9)
            ]
            found.append((i == 0 or j == 4, cells))
    return found


def test_ranges_and_their_complements_by_loops():
    made, expected = _Ranges(LINE, PLACED, ALONE, ENDS), sets_by_hand()
    assert made.half_lines.tolist() == [half for half, _ in expected]
    counts = np.random.default_rng(1).integers(0, 50, (2, 9))
    found = made.counts(counts)
    assert found.shape == (2, len(expected))
    for number, (_, cells) in enumerate(expected):
        assert made.cells(number).tolist() == cells
        assert found[:, number].tolist() == counts[:, np.array(cells)].sum(axis=1).tolist()


@pytest.mark.parametrize(
    ("held", "expected"),
    [([0, 0, 0, 0, 0], True), ([1, 1, 0, 0, 0], True), ([0, 1, 1, 0, 0], True),
     ([1, 0, 0, 1, 1], True), ([1, 0, 1, 0, 0], False), ([0, 1, 0, 1, 0], False),
     ([1, 0, 1, 0, 1], False)],
)  # fmt: skip
def test_events_of_one_part(held, expected):
    line, seen = np.array([4.0, 1.0, 0.0, 2.0, 3.0, 9.0]), np.arange(6) != 5
    order = np.argsort(line[:5])
    cells = np.zeros(6, bool)
    cells[order] = np.array(held, bool)
    for last in (False, True):
        cells[5] = last
        assert _is_simple(cells, line, seen) is expected
    # Cells without a position, and unseen cells, do not count.
    cells[:] = [True, False, True, True, False, False]
    assert _is_simple(cells, np.full(6, np.nan), seen) and not _is_simple(cells, line, seen)
    assert _is_simple(cells, line, np.isin(np.arange(6), [0, 1, 2]))


def test_cells_at_one_place_are_in_their_own_order():
    line = np.repeat([1.0, 0.0], 300)
    assert _is_simple((np.arange(600) < 100) | (np.arange(600) >= 500), line, np.ones(600, bool))


def by_hand(event, halves, lines, allowed, size, sure, hypothesis):
    """Return the simplest event that is worth nearly as much, or None."""
    total, cells = halves.sum(axis=0), halves.shape[-1]
    seen, errors = total.any(axis=0), errors_by_ratio(halves)
    larger = int(event.larger)

    def bound(inside, counts):
        sides = [x for side in (larger, 1 - larger)
                 for x in (np.array([inside[side]]), counts[side].sum())]  # fmt: skip
        shares = shrunk(*sides, errors)
        return float(expected_bound(*shares, size, sure, hypothesis)[0]), shares

    found = {True: [], False: []}
    for line in lines:
        placed = np.isfinite(line) & allowed
        ends = [-np.inf, *sorted(set(line[placed & seen]))[1:], np.inf]
        if len(ends) < 3:
            continue
        sets = []
        for outside in (False, True):
            for i in range(len(ends)):
                for j in range(i + 1, len(ends)):
                    if (i, j) == (0, len(ends) - 1):
                        continue
                    inner = (line >= ends[i]) & (line < ends[j])
                    inside = placed & (inner != outside) | (event.cells & ~np.isfinite(line))
                    sets.append((i == 0 or j == len(ends) - 1, inside))
        for kind in (True, False):
            own = [inside for half, inside in sets if half == kind]
            if not own:
                continue
            first, second, whole = (
                own[int(np.argmax([bound(counts[:, s].sum(axis=1), counts)[0] for s in own]))]
                for counts in (halves[0], halves[1], total)
            )
            judged = halves[1][:, first].sum(axis=1) + halves[0][:, second].sum(axis=1)
            found[kind].append((*bound(judged, total), whole))
    assert len(seen) == cells
    for kind in (True, False):
        best = max(found[kind], key=lambda one: one[0], default=None)
        if best is not None and best[0] >= WORTH * event.predicted:
            return best
    return None


@pytest.mark.parametrize("hypothesis", [Ratio(), Difference()])
@pytest.mark.parametrize("size", [700, Shared(700)])
@pytest.mark.parametrize("seed", range(8))
def test_simpler_events_by_loops(seed, size, hypothesis):
    rng = np.random.default_rng(seed)
    cells = 9
    line = np.where(np.arange(cells) == 2, np.nan, rng.permutation(cells) // 1.0)
    law = np.stack([rng.dirichlet(np.full(cells, 2.0)), np.full(cells, 1 / cells)])
    if seed % 2:
        law[0] = np.exp(-0.3 * np.nan_to_num(line)) * rng.uniform(0.9, 1.1, cells)
        law[0] /= law[0].sum()
    halves = rng.multinomial(400, law, (2, 2))
    if seed >= 5:  # Cells that were seen on one side only.
        halves[:, 0, [4, 7]] = halves[:, 1, 1] = 0
    allowed = np.arange(cells) != 5
    event = choose_event(halves[0], size, 0.9, judge=halves[1], hypothesis=hypothesis,
                         allowed=allowed)  # fmt: skip
    lines = [line, np.nan_to_num(line) % 3]
    for share in (1.0, 0.6):
        given = event._replace(predicted=share * event.predicted)
        found = simpler(given, halves, lines, allowed, size, 0.9, hypothesis)
        seen = halves.any(axis=(0, 1))
        if not given.cells.any() or any(_is_simple(given.cells, x, seen & allowed) for x in lines):
            assert found is given
            continue
        best = by_hand(given, halves, lines, allowed, size, 0.9, hypothesis)
        if best is None:
            assert found is given
            continue
        value, shares, inside = best
        assert found.cells.tolist() == inside.tolist() and found.larger == given.larger
        assert float(found.predicted) == pytest.approx(min(value, float(given.predicted)))
        ratio = given.ratio
        if isinstance(size, Shared):
            ratio = best_ratio(*shares, size, 0.9, hypothesis)[0]
        assert float(found.ratio) == pytest.approx(float(ratio))


def test_ratios_of_sizes_that_are_compared():
    """1, the square root, the power 3/4 and the ratio itself, rounded to powers of 2^(1/4)."""
    ratio = 2.0 ** (np.array([-12, -4, 0, 4, 8, 12]) / 4)
    found = tried_ratios(ratio)
    for steps, row in zip((-12, -4, 0, 4, 8, 12), found.T, strict=True):
        exact = [0, round(steps * 0.5), round(steps * 0.75), steps]
        np.testing.assert_allclose(np.log2(row) * 4, exact, atol=1e-9)
    assert Rivals() == (1, 1) and Rivals(3).partitions == 1
    # Events that are certain or impossible on both sides leave the sizes equal.
    assert size_ratio([0.0, 1.0], [0.0, 1.0], Difference()).tolist() == [1.0, 1.0]
    assert size_ratio([0.5], [1e-9], Ratio()).tolist() == [8.0]
    assert [int(n) for n in divided(1.0, 1)] == [1, 1]
    assert [n.tolist() for n in divided([1e9, 1e-9, 3.0], 10)] == [[1, 19, 5], [19, 1, 15]]
