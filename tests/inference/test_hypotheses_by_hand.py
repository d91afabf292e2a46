"""Hypotheses about one event: lines, scores and errors by definition, at any distance."""

import math

import numpy as np
import pytest
from scipy import optimize, special, stats

from dpjax.inference import Difference, Ratio, Shift
from dpjax.inference._hypotheses import Lines, estimates
from dpjax.inference._shift import _slopes

COUNTS, TRIALS = ((70, 12), (9, 1), (100, 40)), ((100, 130), (40, 25), (100, 90))


def moments(counts, trials, z):
    """Agresti and Coull: add z^2 / 2 draws in the event, and as many outside of it."""
    shares = [(k + z**2 / 2) / (n + z**2) for k, n in zip(counts, trials, strict=True)]
    return shares, [s * (1 - s) / (n + z**2) for s, n in zip(shares, trials, strict=True)]


@pytest.mark.parametrize("z", [0.5, 1.645, 4.0])
def test_estimates_by_hand(z):
    for counts, trials in zip(COUNTS, TRIALS, strict=True):
        (p, q), (v1, v2) = moments(counts, trials, z)
        np.testing.assert_allclose(estimates(*counts, trials, z), (p, q, v1, v2))
    # A count above the number of draws is treated as the number of draws.
    assert estimates(120, 5, (100, 50), z) == estimates(100, 5, (100, 50), z)


@pytest.mark.parametrize("z", [0.5, 1.645])
@pytest.mark.parametrize("distance", [1, 3])
def test_scores_and_errors_by_hand(distance, z):
    for counts, trials in zip(COUNTS, TRIALS, strict=True):
        (p, q), (v1, v2) = moments(counts, trials, z)
        order, error = Difference(distance).order_and_error(*counts, trials, z)
        spread = math.sqrt(v1 + v2)
        assert (order, error) == pytest.approx(((p - q - z * spread) / distance, spread / distance))
        order, error = Shift(distance).order_and_error(*counts, trials, z)
        x, y = stats.norm.ppf(p), stats.norm.ppf(q)
        spread = math.sqrt(v1 / stats.norm.pdf(x) ** 2 + v2 / stats.norm.pdf(y) ** 2)
        assert (order, error) == pytest.approx(((x - y - z * spread) / distance, spread / distance))
        for delta in (0.0, 0.02):
            e = p - distance * delta
            order, error = Ratio(delta, distance).order_and_error(*counts, trials, z)
            # Fieller: (e - r q)^2 = z^2 (v1 + r^2 v2), the smaller root.
            roots = np.roots([q**2 - z**2 * v2, -2 * e * q, e**2 - z**2 * v1])
            lower = min(root for root in roots if root > 0)
            assert order == pytest.approx(math.log(lower) / distance, rel=1e-9)
            expected = math.sqrt(v1 / max(e, math.sqrt(v1)) ** 2 + v2 / q**2)
            assert error == pytest.approx(expected / distance)
            shown = Ratio(delta, distance).shown(*(np.array(v) for v in (p, q, v1, v2)))
            assert shown[0] == pytest.approx(math.log(e / q) / distance)
        found = Difference(distance).shown(*(np.array(v) for v in (p, q, v1, v2)))[0]
        assert found == pytest.approx((p - q) / distance)
        for kind in (Difference(distance), Shift(distance), Ratio(0.02, distance)):
            assert kind.order(*counts, trials, z) == kind.order_and_error(*counts, trials, z)[0]


def test_hopeless_counts_are_below_all_others_and_in_order():
    """If the lower bound on p is not above delta, only the estimates of p are compared."""
    kind = Ratio(0.3)
    order = kind.order(np.arange(0, 101), 40, (100, 100), 1.645)
    (p, _), (v1, _) = np.array([moments((k, 40), (100, 100), 1.645) for k in range(101)]).transpose(
        1, 2, 0
    )
    hopeless = (p <= 0.3) | ((p - 0.3) ** 2 <= 1.645**2 * v1)
    assert 25 < hopeless.sum() < 45 and np.all(np.diff(hopeless.astype(int)) <= 0)
    np.testing.assert_allclose(order[hopeless] + 1e6, ((p - 0.3) / np.sqrt(v1))[hopeless])
    assert np.all(order[~hopeless] > -20) and np.all(np.diff(order) > 0)


@pytest.mark.parametrize("distance", [1, 2, 4])
def test_lines_of_levels(distance):
    for level in (0.1, 0.9):
        slope, start = Ratio(0.03, distance).line(level)
        assert slope == pytest.approx(math.exp(distance * level))
        assert start == pytest.approx(0.03 * sum(math.exp(i * level) for i in range(distance)))
        assert Ratio(0.0, distance).line(level)[1] == 0
        slope, start = Difference(distance).line(level)
        assert (slope, start) == (1, pytest.approx(distance * level))
        for kind in (Ratio(0.03, distance), Difference(distance), Shift(distance)):
            q = np.array([0.001, 0.02])
            p = kind.likelier(level, q)
            np.testing.assert_allclose(kind.other(level, p[p < 1]), q[p < 1], rtol=1e-6)
    assert Ratio(0.03).other(0.5, np.array([0.02]))[0] == 0
    assert Ratio(0.03).lift(0.5, np.array([0.1, 0.2, 0.3])).tolist() == [0, 0]
    np.testing.assert_allclose(Shift(distance).likelier(0.5, np.array([0.2])),
                               stats.norm.cdf(stats.norm.ppf(0.2) + 0.5 * distance))  # fmt: skip
    assert Shift(distance).likelier(40.0, np.array([0.5]))[0] == 2


P = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]])
Q = np.array([[0.1, 0.3, 0.6], [0.25, 0.2, 0.55]])


@pytest.mark.parametrize("distance", [1, 2])
def test_largest_levels_of_estimated_laws(distance):
    levels = np.array([0.2, 0.5, 0.8])
    for kind, most in (
        (Ratio(0.0, distance), [math.log(5), math.log(1.25)]),
        (Ratio(0.01, distance), [math.log(5), math.log(1.25)]),
        (Difference(distance), [0.4, 0.05]),
    ):
        lines = kind.lines(levels, P, Q)
        assert isinstance(lines, Lines)
        np.testing.assert_allclose(lines.most, np.array(most) / distance)
        for pair in (0, 1):
            np.testing.assert_allclose([lines.slope[pair], lines.start[pair]], kind.line(levels))


@pytest.mark.parametrize("distance", [1, 2])
def test_tangents_of_a_shift_touch_its_curve_at_the_event_that_shows_most(distance):
    levels = np.array([0.05, 0.3, 1.2])
    lines = Shift(distance).lines(levels, P, Q)
    places = stats.norm.ppf
    for pair, (p, q) in enumerate(zip(P, Q, strict=True)):
        # Sets of cells with the largest or the smallest ratios; one of them is the best event.
        order = np.argsort(p / q)
        pairs = [(p[order[:i]].sum(), q[order[:i]].sum()) for i in (1, 2)]
        shift, best = max((places(b) - places(a), (a, b)) for a, b in pairs)
        assert lines.most[pair] == pytest.approx(shift / distance)
        middle = abs(places(best[0]) + places(best[1])) / 2
        for level, slope, start in zip(levels, lines.slope[pair], lines.start[pair], strict=True):
            moved = distance * level
            assert slope == pytest.approx(math.exp(moved * middle))
            # The tangent lies above the curve and touches it.
            gap = optimize.minimize_scalar(
                lambda x, r=slope, d=start, s=moved: (
                    r * stats.norm.cdf(x) + d - stats.norm.cdf(x + s)
                ),
                bounds=(-8, 8),
                method="bounded",
                options={"xatol": 1e-9},
            ).fun
            assert gap == pytest.approx(0, abs=1e-9)


def test_tangents_have_finite_slopes():
    rare = np.array([[1e-290, 1 - 1e-290]]), np.array([[1e-280, 1 - 1e-280]])
    lines = Shift().lines(np.array([1.0, 10.0, 40.0]), *rare)
    assert np.isfinite(lines.slope).all() and np.all(lines.start >= 0)
    assert lines.slope[0, 2] == pytest.approx(math.exp(600.0))


def test_levels_of_bets_are_geometric():
    for kind, low, high in ((Ratio(0.1, 2), 0.01, 10), (Shift(), 0.01, 10),
                            (Difference(), 0.001, 0.999)):  # fmt: skip
        levels = kind.levels
        assert levels.size == 2048 and levels[[0, -1]] == pytest.approx([low, high])
        np.testing.assert_allclose(np.diff(np.log(levels)), math.log(high / low) / 2047)


def test_slopes_of_log_odds_are_bounded_between_points():
    x = np.array([-3.0, -1.0, 0.5, 2.0, 2.5])
    low, high = _slopes(x)

    def slope(t):
        step = 1e-5
        ends = [special.log_ndtr(t + s) - special.log_ndtr(-t - s) for s in (step, -step)]
        return (ends[0] - ends[1]) / (2 * step)

    for i in range(4):
        inside = [slope(t) for t in np.linspace(x[i], x[i + 1], 401)]
        assert low[i] == pytest.approx(min(inside), rel=1e-4)
        assert high[i] == pytest.approx(max(inside), rel=1e-4)
