"""Bets by projection, compared with linear programs and general solvers."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import optimize, stats

from dpjax.inference import Difference, Ratio, Shift
from dpjax.inference import growth as growth_of_laws
from dpjax.inference._betting import weights

DRAWS = [(50.0, 50.0), (10.0, 170.0), (300.0, 7.0)]


def problems(groups, seeds=range(12)):
    """Return distributions that are far apart, nearly equal, or have nearly empty groups."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        spread = (0.3, 1.0, 5.0)[seed % 3]
        yield (
            seed,
            rng.dirichlet(np.full(groups, spread)) + 1e-9,
            rng.dirichlet(np.full(groups, spread)) + 1e-9,
        )


def normed(p, q):
    return p / p.sum(), q / q.sum()


def largest_mean(w, v, a, b, epsilon, delta):
    """Return the largest a P.w + b Q.v over all distributions with the level."""
    m, e = len(w), np.exp(epsilon)
    one, none = np.eye(m), np.zeros((m, m))
    # The variables are P, Q, and the positive parts of P - e Q and of Q - e P.
    limits = [np.hstack([one, -e * one, -one, none]), np.hstack([-e * one, one, none, -one])]
    sums = np.zeros((2, 4 * m))
    sums[0, 2 * m : 3 * m] = sums[1, 3 * m :] = 1
    equal = np.zeros((2, 4 * m))
    equal[0, :m] = equal[1, m : 2 * m] = 1
    found = optimize.linprog(
        -np.concatenate([a * w, b * v, np.zeros(2 * m)]),
        A_ub=np.vstack([*limits, sums]),
        b_ub=np.concatenate([np.zeros(2 * m), [delta, delta]]),
        A_eq=equal,
        b_eq=[1, 1],
        method="highs",
    )
    assert found.success
    return -found.fun


def bet(p, q, draws, epsilon, delta=0.0):
    found = weights(p[None], q[None], np.array([draws]), np.exp([epsilon]), np.array([delta]))
    return found.first[0], found.second[0]


def growth(w, v, p, q, draws):
    return draws[0] * p @ np.log(w) + draws[1] * q @ np.log(v)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("draws", DRAWS)
@pytest.mark.parametrize("delta", [0.0, 1e-5, 0.05, 0.3])
@pytest.mark.parametrize("groups", [2, 3, 4, 8])
def test_no_law_with_the_level_gains(groups, delta, draws):
    for seed, p, q in problems(groups):
        p, q = normed(p, q)
        for epsilon in (0.0, 1e-3, 0.3, 1.0):
            w, v = bet(p, q, draws, epsilon, delta)
            assert w.min() >= 0 and v.min() >= 0
            mean = largest_mean(w, v, *draws, epsilon, delta) / sum(draws)
            assert mean <= 1 + 1e-9, (seed, epsilon)


def solved(p, q, draws, epsilon, delta, sets):
    """Return the smallest divergence from distributions with the level, by a general solver."""
    m, e, (a, b) = len(p), np.exp(epsilon), draws

    def value(z):
        return a * p @ np.log(p / z[:m]) + b * q @ np.log(q / z[m:])

    def slope(z):
        return -np.concatenate([a * p / z[:m], b * q / z[m:]])

    rows = np.vstack([np.hstack([-sets, e * sets]), np.hstack([e * sets, -sets])])
    sums = np.kron(np.eye(2), np.ones(m))
    middle = (a * p + b * q) / (a + b)
    found = optimize.minimize(
        value,
        np.concatenate([middle, middle]),
        jac=slope,
        method="SLSQP",
        bounds=[(1e-9, 1)] * (2 * m),
        constraints=[
            {"type": "ineq", "fun": lambda z: rows @ z + delta, "jac": lambda z: rows},
            {"type": "eq", "fun": lambda z: sums @ z - 1, "jac": lambda z: sums},
        ],
        options={"ftol": 1e-15, "maxiter": 2000},
    )
    return found.fun


@pytest.mark.parametrize("draws", [(1.0, 1.0), (0.3, 1.7)])
@pytest.mark.parametrize("groups", [2, 3, 6])
def test_growth_is_the_least_divergence(groups, draws):
    for seed, p, q in problems(groups, [1, 2, 4, 5, 7, 8]):
        p, q = normed(p + 0.05, q + 0.05)
        for epsilon in (0.1, 0.4):
            expected = solved(p, q, draws, epsilon, 0.0, np.eye(groups))
            found = growth(*bet(p, q, draws, epsilon), p, q, draws)
            np.testing.assert_allclose(found, expected, atol=1e-8, err_msg=str((seed, epsilon)))


def test_the_growth_of_known_laws_is_that_of_one_draw_a_side():
    for _, p, q in problems(4, [1, 2, 4, 5]):
        p, q = normed(p + 0.05, q + 0.05)
        expected = solved(p, q, (1.0, 1.0), 0.2, 0.0, np.eye(4))
        assert growth_of_laws(p, q, 0.2) == pytest.approx(expected, abs=1e-8)
    assert growth_of_laws([0.6, 0.4], [0.5, 0.5], np.log(1.25)) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("draws", [(1.0, 1.0), (0.3, 1.7)])
@pytest.mark.parametrize("delta", [1e-5, 0.02])
def test_growth_with_delta_is_between_two_events_and_all(delta, draws):
    """Both are equal if one cell is likelier on each side, and nearly equal for a small delta."""
    every = np.array([[i >> j & 1 for j in range(4)] for i in range(1, 15)], float)
    for seed, p, q in problems(4, [1, 2, 4, 5, 7, 8, 10, 11]):
        p, q = normed(p + 0.05, q + 0.05)
        for epsilon in (0.1, 0.4):
            up, down = p > np.exp(epsilon) * q, q > np.exp(epsilon) * p
            two = np.stack([up, down]).astype(float)
            # A test of both directions with either event would be stronger.
            least = solved(p, q, draws, epsilon, delta, two)
            most = solved(p, q, draws, epsilon, delta, every)
            found = growth(*bet(p, q, draws, epsilon, delta), p, q, draws)
            assert least - 1e-5 <= found <= most + 1e-8, (seed, epsilon)
            if delta == 1e-5:
                assert found >= most - 1e-4, (seed, epsilon)


def test_laws_with_the_level_place_no_bet():
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.4, 0.2])
    for delta in (0.0, 0.1):
        w, v = bet(p, q, (30.0, 20.0), 0.5, delta)
        np.testing.assert_array_equal(w, 1.0)
        np.testing.assert_array_equal(v, 1.0)


def test_the_sides_may_be_exchanged():
    for _, p, q in problems(4):
        p, q = normed(p, q)
        for delta in (0.0, 0.01):
            w, v = bet(p, q, (20.0, 70.0), 0.4, delta)
            v2, w2 = bet(q, p, (70.0, 20.0), 0.4, delta)
            np.testing.assert_allclose([w, v], [w2, v2], rtol=1e-6)


def test_a_fraction_of_a_bet_pays_that_fraction_of_the_gain():
    p, q = np.array([0.7, 0.3]), np.array([0.3, 0.7])
    found = weights(p[None], q[None], np.array([[5.0, 5.0]]), np.exp([0.2]), np.zeros(1))
    x, y = np.array([[1, 0]]), np.array([[0, 0]])
    for c in (0.0, 0.25, 1.0):
        expected = np.log(1 + c * (found.first[0, 0] - 1))
        np.testing.assert_allclose(found.log_payoff(x, y, np.array([c])), expected, rtol=1e-12)


@pytest.mark.parametrize("distance", [1, 3])
def test_lines_against_gaussian_privacy_touch_its_curve_from_above(distance):
    levels = np.array([0.01, 0.4, 1.0, 3.0])
    laws = [normed(p, q) for _, p, q in problems(5)]
    p, q = (np.stack(side) for side in zip(*laws, strict=True))
    found = Shift(distance).lines(levels, p, q)
    x = stats.norm.cdf(np.linspace(-9, 9, 20_001))
    for slope, start, most, one, other in zip(*found, p, q, strict=True):
        for r, d, level in zip(slope, start, levels, strict=True):
            curve = stats.norm.cdf(stats.norm.ppf(x) + distance * level)
            above = r * x + d - curve
            # A step of .0009 along the axis is at most 2e-7 from the point of contact.
            assert -1e-13 < above.min() < 1e-6 and r >= 1
        # No event shows more, and one event shows as much.
        sets = [list(c) for n in range(1, 5) for c in combinations(range(5), n)]
        shown = [stats.norm.ppf(one[s].sum()) - stats.norm.ppf(other[s].sum()) for s in sets]
        np.testing.assert_allclose(most, np.abs(shown).max() / distance, rtol=1e-6)


@pytest.mark.parametrize("distance", [1, 2])
def test_lines_of_other_notions_are_their_definitions(distance):
    levels, p, q = np.array([0.1, 0.7]), np.array([[0.5, 0.5]]), np.array([[0.2, 0.8]])
    slope, start, most = Difference(distance).lines(levels, p, q)
    np.testing.assert_allclose([slope[0], start[0]], [[1, 1], distance * levels])
    np.testing.assert_allclose(most, 0.3 / distance)
    slope, start, most = Ratio(0.01, distance).lines(levels, p, q)
    np.testing.assert_allclose(slope[0], np.exp(distance * levels))
    np.testing.assert_allclose(start[0], [0.01 * (1 + np.exp(x) * (distance - 1)) for x in levels])
    np.testing.assert_allclose(most, np.log(2.5) / distance)


def test_a_tangent_bets_nearly_as_well_as_the_best_line():
    """Two groups, (p, q) = (.8, .3), and mu = 1: compared with a search over all tangents."""
    p, q, draws, mu = np.array([0.8, 0.2]), np.array([0.3, 0.7]), (50.0, 50.0), 1.0
    slope, start, _ = Shift().lines(np.array([mu]), p[None], q[None])
    line = weights(p[None], q[None], np.array([draws]), slope[:, 0], start[:, 0])
    found = growth(line.first[0], line.second[0], p, q, draws)
    best = -math.inf
    for z in np.linspace(0, 2, 201):
        r = math.exp(mu * z)
        d = stats.norm.cdf(mu / 2 - z) - r * stats.norm.cdf(-mu / 2 - z)
        bets = weights(p[None], q[None], np.array([draws]), np.array([r]), np.array([d]))
        best = max(best, growth(bets.first[0], bets.second[0], p, q, draws))
    assert 0.98 * best <= found <= best * (1 + 1e-6)


def test_bets_with_and_without_delta_do_not_change_each_other():
    """The levels of one call may differ; each bet equals the bet of a separate call."""
    cases = [(0.3, 0.0), (0.3, 0.05), (0.0, 0.2), (1.0, 0.0)]
    for _, p, q in problems(3, range(3)):
        p, q = normed(p, q)
        epsilons, deltas = np.array(cases).T
        rows = [np.tile(side, (len(cases), 1)) for side in (p, q)]
        together = weights(*rows, np.full((len(cases), 2), 1.0), np.exp(epsilons), deltas)
        for row, case in enumerate(cases):
            alone = bet(p, q, (1.0, 1.0), *case)
            np.testing.assert_allclose(together.first[row], alone[0], rtol=1e-12)
            np.testing.assert_allclose(together.second[row], alone[1], rtol=1e-12)


@pytest.mark.parametrize("level", [1e-9, 1e-5, 0.01, 0.3, 2.0, 20.0])
@pytest.mark.parametrize("draws", [*DRAWS, (1e6, 1e6), (1e6, 3.0), (2.0, 1e5)])
def test_a_multiplier_is_as_good_as_that_of_a_scalar_search(level, draws):
    """The growth as a function of the multiplier is maximized by Brent's method."""
    a, b = draws
    for groups in (2, 3, 16):
        for _, p, q in problems(groups):
            p, q = normed(p, q)
            bet = weights(p[None], q[None], np.array([draws]), np.exp([level]), np.zeros(1))
            found = (a * p * np.log(bet.first[0]) + b * q * np.log(bet.second[0])).sum()
            bound = math.exp(level)

            def loss(s, p=p, q=q, bound=bound):
                # The largest weights of each group for the multipliers s and a + b - s.
                t, both = a + b - s, a * p + b * q
                up, down = a * p * t > bound * b * q * s, b * q * s > bound * a * p * t
                first = np.where(up, a * p / both * (s + t / bound), s)
                first = np.where(down, a * p / both * (s + t * bound), first)
                second = np.where(up, b * q / both * (s * bound + t), t)
                second = np.where(down, b * q / both * (s / bound + t), second)
                return -(a * p * np.log(first / a) + b * q * np.log(second / b)).sum()

            best = optimize.minimize_scalar(
                loss, bounds=(1e-9 * (a + b), (1 - 1e-9) * (a + b)), method="bounded",
                options={"xatol": 1e-9 * (a + b)},
            )  # fmt: skip
            assert found >= -best.fun - 1e-4 * max(-best.fun, 1e-4 * (a + b)) - 1e-9
