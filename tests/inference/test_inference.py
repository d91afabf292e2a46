"""Bounds compared with formulas, and exact coverage by enumeration."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from dpjax.inference import (
    binomial_lower_bound,
    choose_event,
    clopper_pearson,
    frequency_standard_error,
    kernel_exact_standard_error,
    kernel_standard_error,
    local_bounds,
    normal_lower_bound,
)

ROUGHNESS = 1 / math.sqrt(4 * math.pi)
HEIGHT = 1 / math.sqrt(2 * math.pi)


# The normal bound.


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.999])
def test_normal_bound_by_the_quantile(confidence):
    loss, error = np.array([1.5, 0.3, 0.0, np.inf]), np.array([0.1, 0.7, 0.2, 0.2])
    expected = np.maximum(loss - stats.norm.isf(1 - confidence) * error, 0)
    np.testing.assert_allclose(normal_lower_bound(loss, error, confidence), expected, rtol=1e-12)


def test_normal_bound_at_95_percent():
    # 1.6449 is the one-sided quantile; 1.96 would be two-sided.
    assert normal_lower_bound(1.0, 0.1, 0.95) == pytest.approx(1 - 0.16448536, abs=1e-8)
    bounds = normal_lower_bound(np.ones(2), 0.1, np.array([0.95, 0.5]))
    np.testing.assert_allclose(bounds, [1 - 0.16448536, 1.0], atol=1e-8)


def test_standard_errors_by_hand():
    assert frequency_standard_error([0.5, 0.25], 100) == pytest.approx(math.sqrt((1 + 3) / 100))
    assert frequency_standard_error([[0.1, 0.2], [1.0, 0.5]], 10) == pytest.approx(
        [math.sqrt((9 + 4) / 10), math.sqrt(1 / 10)]
    )
    # R (1/f + 1/f') / (N h^d), for d = 1 and 2.
    assert kernel_standard_error([0.5, 0.25], 1000, 0.1, ROUGHNESS, 1) == pytest.approx(
        math.sqrt(ROUGHNESS * 6 / 100)
    )
    assert kernel_standard_error([0.5, 0.25], 1000, 0.1, 1 / (4 * math.pi), 2) == pytest.approx(
        math.sqrt(6 / (4 * math.pi) / 10)
    )
    rows = kernel_standard_error([[0.5, 0.25], [0.2, 1.0]], 1000, [0.1, 0.2], ROUGHNESS, 1)
    assert rows == pytest.approx([math.sqrt(ROUGHNESS * x) for x in (6 / 100, 6 / 200)])


@pytest.mark.parametrize("p", [(0.5, 0.1), (0.1, 0.5), (0.02, 0.9)])
def test_frequency_error_is_the_spread_of_the_log_ratio(p):
    """The tolerance is 4.5 times the first relative error (rate 7e-6), plus the second one.

    The variance of 40000 runs has a relative error of sqrt(2 / 40000) = 0.7%, and the delta method
    has an error of about 3 (1 - p) / (N p).
    """
    rng, size, runs = np.random.default_rng(2), 100_000, 40_000
    counts = rng.binomial(size, p, (runs, 2))
    measured = np.var(np.log(counts[:, 0] / counts[:, 1]))
    stated = frequency_standard_error(p, size) ** 2
    assert measured == pytest.approx(stated, rel=4.5 * math.sqrt(2 / runs) + 3 / (size * min(p)))


def test_kernel_errors_are_the_spread_of_the_log_ratio():
    """Densities of standard normals at 0 and at 1.2, estimated by a kernel of width 0.1.

    The variance of 8000 runs has a relative error of sqrt(2 / 8000) = 1.6%; 4.5 times this error
    (rate 7e-6) are allowed. The error of the delta method is about 3 sigma^2, below 1% here.
    """
    rng, size, runs, h = np.random.default_rng(4), 4000, 8000, 0.1
    points = np.array([0.0, 1.2])
    means, squares = np.empty((runs, 2)), np.empty((runs, 2))
    for run in range(runs):
        draws = rng.normal(size=(2, size))
        k = np.exp(-0.5 * ((draws - points[:, None]) / h) ** 2)
        means[run], squares[run] = k.mean(axis=1), (k**2).mean(axis=1)
    measured = np.var(np.log(means[:, 0] / means[:, 1]))
    slack = 4.5 * math.sqrt(2 / runs) + 0.01
    smooth = stats.norm.pdf(points, scale=math.sqrt(1 + h**2))
    moment = [
        integrate.quad(
            lambda t, c=c: math.exp(-(((t - c) / h) ** 2)) * stats.norm.pdf(t), -9, 9, points=[c]
        )[0]
        for c in points
    ]
    mean = smooth * h / HEIGHT
    exact = kernel_exact_standard_error(mean, moment, size) ** 2
    assert measured == pytest.approx(exact, rel=slack)
    averaged = np.mean(kernel_exact_standard_error(means, squares, size) ** 2)
    assert averaged == pytest.approx(exact, rel=0.03)
    # The paper's formula omits 2 / N, and is never too small.
    paper = kernel_standard_error(smooth, size, h, ROUGHNESS, 1) ** 2
    assert paper > exact
    assert paper - 2 / size == pytest.approx(exact, rel=0.01)


# The binomial bound.


@pytest.mark.parametrize("significance", [0.3, 0.025, 1e-6])
@pytest.mark.parametrize("size", [1, 7, 50_000])
def test_clopper_pearson_is_scipys(size, significance):
    counts = np.unique([0, 1, size // 3, size // 2, size - 1, size])
    lower, upper = clopper_pearson(counts, size, 1 - significance)
    for k, low, high in zip(counts.tolist(), lower, upper, strict=True):
        level = 1 - significance
        above = stats.binomtest(k, size, alternative="greater").proportion_ci(level)
        below = stats.binomtest(k, size, alternative="less").proportion_ci(level)
        # SciPy finds its ends by bisection up to 2e-12.
        assert low == pytest.approx(above.low, rel=1e-7, abs=1e-11)
        assert high == pytest.approx(below.high, rel=1e-7, abs=1e-11)
        if k:
            # At the bound, k or more successes have exactly this probability.
            assert stats.binom.sf(k - 1, size, low) == pytest.approx(significance, rel=1e-6)
        if k < size:
            assert stats.binom.cdf(k, size, high) == pytest.approx(significance, rel=1e-6)
    assert lower[0] == 0 and upper[-1] == 1


def test_binomial_bound_by_beta_quantiles():
    larger, smaller = np.array([300, 1000, 40, 0]), np.array([100, 0, 60, 0])
    low = stats.beta.ppf(0.025, larger[:3], 1001 - larger[:3])
    high = stats.beta.ppf(0.975, smaller[:3] + 1, 1000 - smaller[:3])
    expected = np.append(np.maximum(np.log(low / high), 0), 0.0)
    actual = binomial_lower_bound(larger, smaller, 1000, 0.95)
    np.testing.assert_allclose(actual, expected, rtol=1e-9)
    # By hand: all compared with none is ln of 0.025^(1/N) / (1 - 0.025^(1/N)).
    x = 0.025 ** (1 / 1000)
    assert binomial_lower_bound(1000, 0, 1000, 0.95) == pytest.approx(math.log(x / (1 - x)))
    assert binomial_lower_bound(1000, 1000, 1000, 0.95) == 0


CHANCES = [
    *[(p, p * r) for p in (0.001, 0.02, 0.3, 0.9) for r in (1.0, 0.7, 0.2, 0.01)],
    (1.0, 0.5),
    (0.5, 0.5),
    (0.999, 0.99),
]


def table(bound, size):
    """Return the bounds of all pairs of counts."""
    return bound(*np.indices((size + 1, size + 1)))


def coverage(bounds, p, q, size):
    """Return P(bound <= ln(p / q)), by summing both binomial distributions."""
    k = np.arange(size + 1)
    held = bounds <= math.log(p / q) + 1e-12
    return stats.binom.pmf(k, size, p) @ held @ stats.binom.pmf(k, size, q)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
@pytest.mark.parametrize("size", [1, 5, 40, 300])
def test_binomial_coverage_is_exact(size, confidence):
    bounds = table(lambda k, m: binomial_lower_bound(k, m, size, confidence), size)
    assert all(coverage(bounds, p, q, size) >= confidence - 1e-9 for p, q in CHANCES)


def test_coverage_sees_a_bound_that_knows_one_side_only():
    """The enumeration is powerful: it distinguishes a valid bound from invalid bounds."""
    confidence, size, (p, q) = 0.95, 300, (0.3, 0.21)

    def one_side(k, m):
        low, _ = clopper_pearson(k, size, confidence)
        with np.errstate(divide="ignore"):
            return np.log(low) - np.log(np.maximum(m, 0.5) / size)

    def wrong_quantile(k, m):
        return binomial_lower_bound(k, m, size, 1 - 2 * (1 - 0.6))

    assert coverage(table(one_side, size), p, q, size) < confidence
    assert coverage(table(wrong_quantile, size), p, q, size) < confidence


@pytest.mark.slow
def test_normal_coverage_of_a_discrete_witness():
    """The skewness of 500 expected draws, 1 / sqrt(500) / 6, changes it by less than 1%."""
    size, confidence, (p, q) = 5000, 0.95, (0.3, 0.1)
    k = np.arange(size + 1)
    outer = np.stack(np.broadcast_arrays(k[:, None], k[None, :]), axis=-1)[1100:1900, 300:700]
    found = np.broadcast_to([p, q], outer.shape)
    bounds = local_bounds(found, np.zeros(outer.shape[:-1]), outer, None, size, confidence)
    held = bounds.lower_bound <= math.log(p / q)
    covered = stats.binom.pmf(k, size, p)[1100:1900] @ held @ stats.binom.pmf(k, size, q)[300:700]
    # With the variance of q alone, the coverage is 0.93; of p, 0.77; two-sided, 0.975.
    assert 0.94 < covered < 0.96


@pytest.mark.parametrize("direction", [(0.31, 0.29), (0.29, 0.31)])
def test_normal_coverage_where_there_is_no_loss(direction):
    """A bound on the absolute log-ratio errs on both sides and would have coverage 0.90."""
    size, k = 5000, np.arange(1300, 1701)
    events = np.stack(np.broadcast_arrays(k[:, None], k[None, :]), axis=-1)
    found = np.broadcast_to(direction, events.shape)
    bounds = local_bounds(found, np.zeros(events.shape[:-1]), events, None, size, 0.95)
    chance = stats.binom.pmf(k, size, 0.3)
    assert chance.sum() == pytest.approx(1, abs=1e-8)
    assert chance @ (bounds.lower_bound == 0) @ chance == pytest.approx(0.95, abs=0.005)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("empty", [0, 1])
def test_an_event_is_chosen_where_one_half_is_empty(empty):
    """Few draws may all be in one half; then the other half is not used."""
    draws = np.array([[1, 0, 0], [0, 1, 0]])
    halves = [draws, draws]
    for held in (np.zeros_like(draws), np.array([[0, 0, 0], [0, 1, 0]])):
        halves[empty] = held
        event = choose_event(halves[0], 10, 0.95, judge=halves[1])
        assert event.cells.any() and not event.cells.all() and 0 <= event.predicted < np.inf
    # After a random split, one draw is in only one half.
    event = choose_event(draws, 10, 0.95)
    assert not event.cells.all() and 0 <= event.predicted < np.inf
    with pytest.raises(ValueError, match="counts and judge must together hold at least one draw"):
        choose_event(0 * draws, 10, 0.95, judge=draws * [[0], [1]])
    with pytest.raises(ValueError, match=r"judge must have the shape of counts, \(2, 3\), but had"):
        choose_event(draws, 10, 0.95, judge=draws[:, :2])
