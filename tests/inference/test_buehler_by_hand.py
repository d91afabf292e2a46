"""Parts of Buehler's bound compared with loops: intervals, divisions, and tails of blocks."""

import math

import numpy as np
import pytest
from scipy import stats

from dpjax.inference import Difference, Ratio, Shift
from dpjax.inference._blocks import Blocks, Windows
from dpjax.inference._buehler import _quantile
from dpjax.inference._tail import Bounds, Tail, _above, _even, _line_gaps

BOUNDS = Bounds(
    ends=np.array([-5.0, -4.0, -3.5, -9.0]),
    lines=np.array([0.02, 1.5, 0.3, 40.0]),
    corners=np.array([np.inf, 0.9, np.inf, 3.0]),
    highest=-3.4,
)


def test_the_supremum_is_the_largest_of_all_intervals():
    assert BOUNDS.supremum == pytest.approx(-4.0 + 0.9)
    assert BOUNDS._replace(highest=-3.0).supremum == -3.0
    assert BOUNDS._replace(corners=np.full(4, np.inf)).supremum == pytest.approx(-9.0 + 40)


@pytest.mark.parametrize("looseness", [1.0, 0.05, 1e-3])
def test_intervals_are_divided_into_as_many_parts_as_they_need(looseness):
    """Line bounds decrease with the square of the number of parts, corner bounds linearly."""
    places = np.array([0.0, 0.1, 0.4, 0.9, 1.0])
    expected = [0.0]
    for i in range(4):
        allowed = looseness + BOUNDS.highest - BOUNDS.ends[i]
        needed = min(math.sqrt(BOUNDS.lines[i] / allowed), BOUNDS.corners[i] / allowed)
        parts = min(max(math.ceil(needed - 1e-9), 1), 16)
        low, high = places[i], places[i + 1]
        expected += [low + (high - low) * (k + 1) / parts for k in range(parts)]
    np.testing.assert_allclose(BOUNDS.finer(places, looseness), expected)


def test_a_line_gap_is_an_eighth_of_the_squared_change_of_log_odds():
    p = np.array([0.1, 0.3, 0.7, 0.9, 1.0])
    odds = np.append(np.log(p[:4] / (1 - p[:4])), np.inf)
    for trials in (1, 40):
        found = _line_gaps(p, trials)
        # The largest variance is at 1/2, or at the end that is closer to 1/2.
        for i, share in enumerate((0.3, 0.5, 0.7)):
            exact = trials * share * (1 - share) * (odds[i + 1] - odds[i]) ** 2 / 8
            assert found[i] == pytest.approx(exact)
        assert found[3] == np.inf


def test_quantiles_of_tails():
    for tail in (1e-9, 0.05, 0.5, 0.999):
        assert _quantile(math.log(tail)) == pytest.approx(stats.norm.ppf(tail))
    assert _quantile(0.0) == _quantile(0.3) == pytest.approx(stats.norm.ppf(1 - 1e-12), rel=1e-3)


@pytest.mark.parametrize(("low", "high"), [(0.01, 0.7), (0.0, 1.0), (0.2, 0.2)])
def test_even_steps_are_steps_of_the_arc_sine(low, high):
    found = _even(low, high, np.linspace(0, 1, 5))
    arcs = np.arcsin(np.sqrt(found))
    np.testing.assert_allclose(np.diff(arcs), (arcs[-1] - arcs[0]) / 4, atol=1e-12)
    np.testing.assert_allclose(found[[0, -1]], [low, high], atol=1e-15)


@pytest.mark.parametrize("trials", [40, 3_000])
def test_tails_of_windows_are_sums_from_above(trials):
    blocks = Blocks(0.05, 0.4, trials, 1e-9)
    p = np.linspace(0.06, 0.38, 7)
    many = Windows(blocks, p)
    for part in (slice(0, 7), slice(2, 5)):
        rows = part.stop - part.start
        for least in (0, 1, many.size // 2):
            place = np.sort(
                np.random.default_rng(1).integers(least, many.size + 1, (rows, 5)), axis=1
            )
            place[0, 0], place[-1, -1] = least, many.size
            found = _above(many, part, place.copy(), 1e-4)
            mass = many.masses(part, 0)
            for row in range(rows):
                for column in range(5):
                    at = place[row, column]
                    exact = 1.0 if at == 0 else min(mass[row, at:].sum() + 1e-4, 1.0)
                    assert found[row, column] == pytest.approx(exact, rel=1e-12)


@pytest.mark.parametrize("hypothesis", [Ratio(), Ratio(0.03), Difference(), Shift()])
@pytest.mark.parametrize("counts", [(17, 4), (29, 0), (12, 12)])
def test_tails_of_small_numbers_of_draws_are_sums_over_all_counts(counts, hypothesis):
    """Up to parts that are left out, and up to rounding if scores are equal."""
    trials, error = (30, 40), 0.05
    tail = Tail(hypothesis, counts, trials, error)
    z = stats.norm.isf(error)
    score = hypothesis.order(np.arange(31)[:, None], np.arange(41), trials, z)
    extreme = score >= hypothesis.order(*counts, trials, z) - 1e-12
    assert tail.observed == pytest.approx(float(hypothesis.order(*counts, trials, z)))
    low, high = (
        stats.beta.ppf(0.0025 * error, counts[1], 41 - counts[1]) if counts[1] else 0.0,
        stats.beta.isf(0.0025 * error, counts[1] + 1, 40 - counts[1]),
    )
    assert tail.least == pytest.approx(low)
    assert tail.range == pytest.approx((max(low, high / 100), high))
    q = np.linspace(*tail.range, 6)
    p = np.sort(np.clip(q * 1.7 + 0.02, 0, 0.97))
    exact = [
        stats.binom.pmf(np.arange(31), 30, a) @ extreme @ stats.binom.pmf(np.arange(41), 40, b)
        for a, b in zip(p, q, strict=True)
    ]
    found = tail._tails(p, q)
    assert np.all(found >= np.array(exact) - 1e-12)
    np.testing.assert_allclose(found, exact, atol=3e-5 * error + 1e-9)
