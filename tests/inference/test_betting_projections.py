"""Projections of estimates onto a level, compared with general optimizers."""

import numpy as np
import pytest
from scipy import optimize

from dpjax.inference._betting import (
    _cells,
    _events,
    _growth,
    _one_event,
    _taxed,
    _two_events,
    weights,
)  # fmt: skip


def entropy(counts, law):
    return float(np.sum(counts * np.log(law)))


CASES = [
    (60.0, 9.0, 100.0, 130.0, 2.0, 0.02), (30.0, 2.0, 40.0, 15.0, 1.3, 0.1),
    (9.0, 1.0, 500.0, 20.0, 4.0, 1e-4), (5.0, 4.9, 10.0, 30.0, 1.0, 0.05),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_one_event_is_projected_onto_the_line_of_the_level(case):
    k, m, a, b, e, d = case

    def lost(q):
        p = e * q + d
        return -entropy(np.array([k, a - k, m, b - m]), np.array([p, 1 - p, q, 1 - q]))

    best = optimize.minimize_scalar(lost, bounds=(1e-12, (1 - d) / e - 1e-12), method="bounded",
                                    options={"xatol": 1e-12}).x  # fmt: skip
    p, q = (float(x[0]) for x in _one_event(*(np.array([x]) for x in case)))
    assert p == pytest.approx(e * q + d, rel=1e-12)
    assert q == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("seed", range(6))
def test_two_events_are_projected_onto_both_lines(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.dirichlet([6, 1, 3]) * 90, rng.dirichlet([1, 5, 3]) * 40
    e, d = 1.2 + seed / 5, 0.01 * (seed + 1)

    def laws(u, z):
        p, q = e * u + d, e * z + d
        return np.array([p, z, 1 - p - z]), np.array([u, q, 1 - u - q])

    def lost(x):
        p, q = laws(*x)
        if min(p.min(), q.min()) <= 0:
            return 1e9
        return -entropy(first, p) - entropy(second, q)

    start = np.full(2, (1 - d) / (1 + e) / 2)
    best = optimize.minimize(lost, start, method="Nelder-Mead",
                             options={"xatol": 1e-10, "fatol": 1e-12, "maxiter": 4000})  # fmt: skip
    u, z = _two_events(first[:, None], second[:, None], np.array([e]), np.array([d]))
    assert -lost((float(u[0]), float(z[0]))) >= -best.fun - 1e-9
    np.testing.assert_allclose([u[0], z[0]], best.x, atol=1e-5)


def nearest(p, q, a, b, e, d, *, whole):
    """Return the smallest divergence of estimates from the level, in nats of a + b draws.

    With `whole`, each group satisfies the level separately, which suffices without delta.
    """
    size = len(p)
    rows = np.eye(size) if whole else np.array([p > e * q, q > e * p], float)
    limits = []
    for row in rows:
        limits.append({"type": "ineq", "fun": lambda x, r=row: e * r @ x[size:] + d - r @ x[:size]})
        limits.append({"type": "ineq", "fun": lambda x, r=row: e * r @ x[:size] + d - r @ x[size:]})
    if not whole:
        limits = [limits[0], limits[3]]
    for side in (slice(0, size), slice(size, None)):
        limits.append({"type": "eq", "fun": lambda x, s=side: x[s].sum() - 1})

    def lost(x):
        return a * np.sum(p * np.log(p / x[:size])) + b * np.sum(q * np.log(q / x[size:]))

    middle = (a * p + b * q) / (a + b)
    found = optimize.minimize(lost, np.append(middle, middle), bounds=[(1e-9, 1)] * (2 * size),
                              constraints=limits, method="SLSQP",
                              options={"ftol": 1e-13, "maxiter": 500})  # fmt: skip
    return found.fun


LAWS = [
    ([0.5, 0.3, 0.2], [0.1, 0.3, 0.6]), ([0.7, 0.25, 0.05], [0.2, 0.3, 0.5]),
    ([0.4, 0.35, 0.25], [0.05, 0.55, 0.4]), ([0.05, 0.9, 0.05], [0.3, 0.65, 0.05]),
]  # fmt: skip


@pytest.mark.parametrize("draws", [(50.0, 50.0), (30.0, 80.0), (200.0, 20.0)])
@pytest.mark.parametrize("law", LAWS)
def test_bets_grow_by_the_least_divergence(law, draws):
    """Outcomes are used one by one without delta, and as two events with it."""
    p, q = (np.array([side]) for side in law)
    sizes = np.array([draws])
    bet, s = _cells(p, q, sizes, np.array([[1.4]]))
    exact = nearest(p[0], q[0], *draws, 1.4, 0.0, whole=True)
    assert float(_growth(bet, p, q, sizes)[0]) == pytest.approx(exact, rel=1e-4)
    # A tax makes the same bet valid for a positive delta.
    taxed = _taxed(bet, s, sizes, np.array([[0.02]]))
    over = max(float((draws[0] * bet.first - s).max()), 0)
    over += max(float((draws[1] * bet.second - (sum(draws) - s)).max()), 0)
    factor = sum(draws) / (sum(draws) + 0.02 * over)
    np.testing.assert_allclose(taxed.first, bet.first * factor)
    np.testing.assert_allclose(taxed.second, bet.second * factor)
    events = _events(p, q, sizes, np.array([1.4]), np.array([0.02]))
    # Estimates within an event are treated as a single outcome.
    up, down = p[0] > 1.4 * q[0], q[0] > 1.4 * p[0]
    merged = [
        np.array([side[0][part].sum() for part in (up, down, ~(up | down)) if part.any()])
        for side in (p, q)
    ]
    exact = nearest(*merged, *draws, 1.4, 0.02, whole=False)
    assert float(_growth(events, p, q, sizes)[0]) == pytest.approx(exact, rel=2e-3, abs=2e-4)


@pytest.mark.parametrize("draws", [(1e5, 1e5), (6e4, 1e10)])
def test_no_bet_against_a_small_level_is_expected_to_lose(draws):
    """The sum of the projected probabilities has a second root, at which bets lose."""
    rng = np.random.default_rng(3)
    second = rng.gamma(1.0, size=(500, 8))
    first = second * np.exp(rng.normal(0, 1e-3, second.shape))
    p, q = (law / law.sum(axis=1, keepdims=True) for law in (first, second))
    counts = np.tile(draws, (500, 1))
    bet = weights(p, q, counts, np.exp(10.0 ** rng.uniform(-9, -6, 500)), np.zeros(500))
    assert _growth(bet, p, q, counts).min() > -1e-6
