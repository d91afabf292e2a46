"""The band of a chain and its levels: exact values, and coverage by enumerating all counts."""

import itertools
import math

import numpy as np
import pytest
from scipy import special, stats

from dpjax.inference import _band
from dpjax.inference._band import Band, band, known_band, radius
from dpjax.inference._band_levels import epsilon_of, gdp_of, largest, profile, trade_off
from dpjax.inference._divergences import renyi, two_points, zcdp


def difference(p, q):
    return p - q


def law(seed, cells=7):
    """Return two distributions on some cells, none of which is rare."""
    return np.random.default_rng(seed).dirichlet(np.full(cells, 2.0), size=2)


def ratios(law):
    """Return the values of epsilon between which delta is linear in exp(epsilon)."""
    e = np.abs(np.log(law[0] / law[1]))
    return np.concatenate([[0.0], np.sort(e)])


def divergence(p, q, order):
    if order == 1:
        return np.sum(p * np.log(p / q))
    return np.log(np.sum(p**order * q ** (1 - order))) / (order - 1)


def rho(p, q):
    """Return the largest divergence per order, over 2,000 orders from 1 to 64."""
    orders = np.geomspace(1, 64, 2000)
    return max(max(divergence(p, q, a), divergence(q, p, a)) / a for a in orders)


@pytest.mark.parametrize(
    ("num_sets", "expected"), [(1, 2.0568), (6, 2.7568), (20, 3.1507), (40, 3.3582), (55, 3.4496)]
)
def test_radii(num_sets, expected):
    assert radius(num_sets, 0.05) == pytest.approx(expected, abs=6e-5)


@pytest.mark.parametrize("seed", range(5))
def test_a_known_law_has_its_own_levels(seed):
    p, q = law(seed)
    known = known_band([p, q])
    e = np.linspace(0, 2, 50)
    deltas = [
        np.maximum(a[:, None] - np.exp(e) * b[:, None], 0).sum(0) for a, b in ((p, q), (q, p))
    ]
    np.testing.assert_allclose(profile(known, e), deltas, atol=1e-12)
    assert largest(known, difference) == pytest.approx(np.abs(p - q).sum() / 2, abs=1e-12)
    # The maximum is over all events, including events outside of the chain.
    events = np.array(list(itertools.product([0, 1], repeat=len(p))))[1:-1]
    first, second = events @ p, events @ q
    shifts = np.abs(stats.norm.ppf(first) - stats.norm.ppf(second))
    assert largest(known, gdp_of) == pytest.approx(shifts.max(), abs=1e-9)
    for delta in (0.0, 0.03):
        most = np.log(np.maximum(first - delta, 1e-300) / second).max()
        back = np.log(np.maximum(second - delta, 1e-300) / first).max()
        expected = max(most, back, 0)
        assert largest(known, epsilon_of(delta)) == pytest.approx(expected, abs=1e-9)
    orders = np.array([1.0, 1.001, 1.5, 2, 8, 32, 64])
    expected = [max(divergence(p, q, a), divergence(q, p, a)) for a in orders]
    nodes = ratios((p, q))
    np.testing.assert_allclose(renyi(known, orders, nodes), expected, rtol=0, atol=1e-9)
    assert zcdp(known, nodes) == pytest.approx(rho(p, q), rel=1e-4)
    # Nodes that do not fit the distribution never increase the result.
    assert np.all(renyi(known, orders) <= np.array(expected) + 1e-12)
    np.testing.assert_allclose(renyi(known, orders), expected, rtol=2e-3)


def test_truths_of_randomised_response():
    p = 1 / (1 + math.exp(-1))
    known = known_band([[p, 1 - p], [1 - p, p]])
    deltas = (0.0, 1e-6, 1e-5, 1e-3, 0.05)
    assert [largest(known, epsilon_of(d)) for d in deltas] == pytest.approx(
        [1, 0.9999986, 0.9999863, 0.9986312, 0.9291547], abs=6e-8
    )
    assert renyi(known, [2, 8]) == pytest.approx([0.7353257, 0.9552484], abs=6e-8)
    assert largest(known, gdp_of) == pytest.approx(1.232035, abs=6e-7)
    assert zcdp(known) == pytest.approx(0.4621172, abs=6e-8)
    _, missed = trade_off(known, [0, 0.05, 0.25, 0.5, 1])
    assert missed[1:4] == pytest.approx([0.8640859, 0.3204295, 0.1839397], abs=6e-8)


@pytest.mark.parametrize(
    ("p", "q"),
    [
        ([0.435, 0.564, 0.001], [0.084, 0.432, 0.484]),
        ([0.5, 0.49, 0.01], [0.4, 0.5999, 0.0001]),
        ([0.01, 0.99], [0.001, 0.999]),
    ],
)
def test_rho_may_be_the_divergence_of_an_order_between_two_integers(p, q):
    """The bound from the orders 1, 2, ..., 64 alone is up to 16% lower."""
    p, q = np.array(p), np.array(q)
    known, nodes = known_band([p, q]), ratios((p, q))
    found = zcdp(known, nodes)
    assert found == pytest.approx(rho(p, q), rel=1e-4)
    orders = np.array([1.2, 2, 3.4, 5, 6.5])
    assert np.all(renyi(known, orders, nodes) / orders <= found * (1 + 1e-4))


def test_truths_of_gaussian_noise_on_many_cells():
    """With cells of width 0.01, the error is 1e-5."""
    edges = np.concatenate([[-np.inf], np.arange(-5.5, 6.5, 0.01), [np.inf]])
    p, q = (np.diff(stats.norm.cdf(edges - shift)) for shift in (0, 1))
    known = known_band([p, q])
    assert largest(known, gdp_of) == pytest.approx(1, abs=1e-4)
    found = [largest(known, epsilon_of(d)) for d in (1e-6, 1e-5, 1e-3, 0.05)]
    assert found == pytest.approx([4.886554, 4.377178, 3.138671, 1.568878], abs=2e-4)
    assert renyi(known, [2, 3]) == pytest.approx([1, 1.5], abs=2e-3)
    assert trade_off(known, [0, 0.05, 0.25, 0.5, 1])[1][1:4] == pytest.approx(
        [0.740489, 0.3723975, 0.1586553], abs=2e-3
    )
    assert (
        largest(known, difference)
        == profile(known, [0.0]).max()
        == pytest.approx(0.3829249, abs=1e-6)
    )


def test_swapping_the_sides_swaps_the_directions():
    counts = np.array([[30, 80, 150, 190], [5, 30, 90, 160]])
    there = band(counts, (200, 200), 0.05)
    back = band((200 - counts)[::-1, ::-1], (200, 200), 0.05)
    np.testing.assert_allclose(profile(there, [0, 0.5]), profile(back, [0, 0.5])[::-1], atol=1e-12)
    for value in (gdp_of, difference, epsilon_of(0.01)):
        assert largest(there, value) == pytest.approx(largest(back, value), rel=1e-9)
    np.testing.assert_allclose(renyi(there, [1, 2, 9]), renyi(back, [1, 2, 9]), rtol=1e-9)
    # The curves of both directions are inverse functions.
    (x, missed), (y, swapped) = trade_off(there), trade_off(back)
    np.testing.assert_allclose(np.interp(missed, y, swapped)[2:], x[2:], atol=0.002)


def test_only_usable_sets_are_events():
    counts = np.array([[30, 80, 150, 190], [5, 30, 90, 160]])
    whole = band(counts, (200, 200), 0.05)
    part = band(counts, (200, 200), 0.05, usable=(1, 3))
    assert [len(p) for p in part.power] == [1, 1] and [len(p) for p in whole.power] == [4, 4]
    np.testing.assert_array_equal(part.power[0], whole.power[0][:1])
    np.testing.assert_array_equal(part.level[1], whole.level[1][3:])


def test_a_divergence_of_two_points_rises_and_falls():
    p = np.linspace(0.3, 1, 30)
    for order in (1, 1.5, 2, 40):
        assert np.all(np.diff(two_points(p, np.full(30, 0.3), order)) > 0)
        assert np.all(np.diff(two_points(np.full(30, 0.9), p * 0.9, order)) <= 0)
        assert two_points(np.array(0.3), np.array(0.3), order) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("order", [1, 1.5, 2, 40])
def test_divergences_of_two_points_are_sums_over_both(order):
    """Also for p = 1, where the other point is never drawn and the divergence is -ln q."""
    for q in (1e-6, 0.2, 0.7, 0.999):
        for p in (1e-9, 0.1, 0.7, 1 - 1e-9):
            laws = np.array([[p, 1 - p], [q, 1 - q]])
            expected = divergence(*laws, order)
            assert two_points(*laws[:, 0], order) == pytest.approx(expected, rel=1e-6, abs=1e-9)
        assert two_points(np.array(1.0), np.array(q), order) == pytest.approx(-np.log(q), rel=1e-9)


def holds(found, law):
    """Return whether, for every set, some corner is below F and above G."""
    lower, upper = found.roc
    first, second = (np.array(side)[:, None] for side in law)
    return bool(np.all(np.any((lower <= first) & (upper >= second), axis=1)))


def too_high(found, law):
    """Return whether any level of a band is above the level of the true distributions."""
    p, q = (np.diff([0, *side, 1]) for side in law)
    known = known_band([p, q])
    e, x = np.linspace(0, 1.5, 7), np.linspace(0, 1, 21)
    checks = [
        *(largest(found, v) - largest(known, v) for v in (gdp_of, difference, epsilon_of(0.0))),
        *(profile(found, e) - profile(known, e)).ravel(),
        *(trade_off(known, x)[1] - trade_off(found, x)[1]),
        *(renyi(found, [1, 2, 16]) - renyi(known, [1, 2, 16], ratios((p, q)))),
    ]
    return max(checks) > 1e-9


def misses(laws, sizes, error):
    """Return P(the band misses) for each pair of distributions (F, G) of a chain."""
    sets = len(laws[0][0])
    counts = [
        [k for k in itertools.product(range(n + 1), repeat=sets) if list(k) == sorted(k)]
        for n in sizes
    ]
    bands = {pair: band(pair, sizes, error) for pair in itertools.product(*counts)}
    found = []
    for law in laws:
        chances = []
        for side, probabilities in enumerate(law):
            cells = np.diff([0, *probabilities, 1])
            steps = np.diff([[0, *k, sizes[side]] for k in counts[side]], axis=1)
            ways = special.gammaln(sizes[side] + 1) - special.gammaln(steps + 1).sum(axis=1)
            chances.append(np.exp(ways + special.xlogy(steps, cells).sum(axis=1)))
        first, second = (
            dict(zip(*pair, strict=True)) for pair in zip(counts, chances, strict=True)
        )
        found.append(
            sum(
                first[x] * second[y]
                for x, y in itertools.product(*counts)
                if not holds(bands[x, y], law)
            )
        )
    return np.array(found)


ONE = [([p], [q]) for p in (0.31, 0.52, 0.75, 0.9) for q in (0.12, 0.3, 0.51)]
TWO = [([0.45, 0.8], [0.3, 0.6]), ([0.2, 0.9], [0.1, 0.8]), ([0.5, 0.6], [0.5, 0.6])]


def test_a_band_of_one_set_errs_no_more_than_allowed():
    found = misses(ONE, (20, 15), 0.3)
    assert np.all(found <= 0.3) and found.max() > 0.2


def test_a_band_of_two_sets_errs_no_more_than_allowed():
    found = misses(TWO, (6, 6), 0.3)
    assert np.all(found <= 0.3) and found.max() > 0.1


def test_a_smaller_radius_would_err_more_often(monkeypatch):
    monkeypatch.setattr(_band, "radius", lambda num_sets, error: 0.7 * radius(num_sets, error))
    assert misses(ONE, (20, 15), 0.3).max() > 0.3


def inside(draws, sizes, laws, r):
    """Return whether the quarter circle of radius r holds for all sets, by its definition."""
    (x, y), (f, g) = draws, laws
    tails = stats.binom.sf(x - 1, sizes[0], f), stats.binom.cdf(y, sizes[1], g)
    z = [np.maximum(stats.norm.isf(tail), 0) for tail in tails]
    return np.all(z[0] ** 2 + z[1] ** 2 <= r**2, axis=-1)


@pytest.mark.slow
def test_radii_hold_for_many_draws_and_would_not_for_fewer_sets():
    """20,000 draws of chains of 20 sets: 4.4 standard errors, so false alarms have 1e-5."""
    rng, error, runs, n = np.random.default_rng(1), 0.05, 20_000, 5_000
    f = np.linspace(0.04, 0.98, 20)
    laws = f, f**1.3
    draws = [
        np.cumsum(rng.multinomial(n, np.diff([0, *side, 1]), size=runs), axis=1)[:, :-1]
        for side in laws
    ]
    slack = 4.4 * math.sqrt(error * (1 - error) / runs)
    assert 1 - inside(draws, (n, n), laws, radius(20, error)).mean() <= error + slack
    assert 1 - inside(draws, (n, n), laws, radius(1, error)).mean() > 2 * error


def test_where_the_quarter_circle_holds_corners_do_and_no_level_is_too_high():
    rng, n = np.random.default_rng(2), 300
    law = np.array([0.2, 0.5, 0.9]), np.array([0.1, 0.35, 0.85])
    r, seen = radius(3, 0.5), 0
    for _ in range(150):
        draws = [np.cumsum(rng.multinomial(n, np.diff([0, *s, 1])))[:3] for s in law]
        found = band(draws, (n, n), 0.5)
        if inside(draws, (n, n), law, r):
            seen += 1
            assert holds(found, law)
        if holds(found, law):
            assert not too_high(found, law)
    assert 50 < seen < 140


def test_a_band_from_bounds():
    lower, upper = np.array([[0.2], [0.5]]), np.array([[0.1], [0.4]])
    found = Band.of(lower, upper)
    assert largest(found, difference) == pytest.approx(0.1)
    assert profile(found, [0.0])[0] == pytest.approx(0.1) and profile(found, [5.0]).max() == 0


def test_a_radius_is_0_where_the_error_allows_all():
    """Phi(-r) + exp(-r^2 / 2) / 4 is 3/4 for r = 0 and decreases."""
    assert radius(1, 0.75) == radius(1, 0.9) == radius(3, 1 - 0.25**3) == 0
    assert 0 < radius(1, 0.74) < 0.05


@pytest.mark.parametrize("order", [1.0, 2.0, 8.0])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_band_of_many_sets_shows_at_least_the_best_of_them(order, swapped):
    """For known sets, the divergence of inside and outside is below that of all outputs.

    The two directions differ by at least a fifth, and the larger one counts.
    """
    laws = np.array([[0.5, 0.3, 0.15, 0.05], [0.3, 0.3, 0.2, 0.2]])[:: -1 if swapped else 1]
    known = known_band(laws)
    inside = np.cumsum(laws, axis=1)[:, :-1]
    sets = np.stack([inside, 1 - inside], axis=1)  # [side, inside or outside, sets]
    ways = [divergence(sets[i, :, k], sets[1 - i, :, k], order) for i in (0, 1) for k in range(3)]
    whole = max(divergence(laws[i], laws[1 - i], order) for i in (0, 1))
    assert min(max(ways[:3]), max(ways[3:])) < 0.85 * max(ways)
    assert max(ways) - 1e-9 <= renyi(known, [order])[0] <= whole + 1e-9
    # Without chords between sets, the best of the sets remains.
    assert renyi(known, [order], nodes=[0.0])[0] == pytest.approx(max(ways), rel=1e-9)
    # A set is likelier for the database, its complement for the neighbor: one direction each.
    for usable, expected in (((3, 3), ways[:3]), ((0, 0), ways[3:])):
        alone = Band.of(*inside[:, :, None], usable)
        found = renyi(alone, [order], nodes=[0.0])[0]
        assert found == pytest.approx(0 if swapped else max(expected), rel=1e-9)


@pytest.mark.parametrize("order", [1e10, 1e100, 1e200, 1e300, 1.7e308])
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_divergences_of_huge_orders_are_at_most_the_largest_log_ratio(order):
    p, q = law(3)
    (found,) = renyi(known_band([p, q]), [order])
    worst = np.abs(np.log(p / q)).max()
    assert worst - 1e-2 <= found <= worst


@pytest.mark.parametrize(("num_sets", "error"), [(1, 1e-20), (1000, 1e-100), (1, 1e-250)])
def test_radii_of_tiny_errors(num_sets, error):
    """The normal tail plus a quarter of exp(-r^2 / 2) is the error of one set."""
    r = radius(num_sets, error)
    log_tail = np.logaddexp(stats.norm.logsf(r), -(r**2) / 2 - np.log(4))
    assert log_tail == pytest.approx(np.log(error / num_sets), abs=1e-6)


@pytest.mark.parametrize("num_sets", [1, 7, 400])
@pytest.mark.parametrize("error", [0.3, 0.05, 1e-3])
def test_a_radius_is_not_too_small_by_a_rounding(num_sets, error):
    """A bisection ends with an interval; only its upper end has at most the required error."""
    r = radius(num_sets, error)
    one = -math.expm1(math.log1p(-error) / num_sets)
    assert stats.norm.sf(r) + math.exp(-(r**2) / 2) / 4 <= one
    assert stats.norm.sf(r - 2e-9) + math.exp(-((r - 2e-9) ** 2) / 2) / 4 > one
