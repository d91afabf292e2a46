"""Bandwidth rules compared with their formulas in NumPy."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from dpjax.densities import (
    RULES,
    CrossValidated,
    Fixed,
    HoelderRate,
    Scott,
    Silverman,
    as_rule,
    bandwidth_at,
    robust_spread,
    truncated_kde,
)
from dpjax.densities._bandwidth import _quartiles

SIZE = 8193
"""Size of most samples, which share programs; smaller samples have quartiles between draws."""

SAMPLES = {
    "normal": lambda rng: rng.normal(3, 2, SIZE),
    "laplace": lambda rng: rng.laplace(size=SIZE),
    "cauchy": lambda rng: rng.standard_cauchy(SIZE).clip(-500, 500),
    "skewed": lambda rng: rng.exponential(0.01, SIZE),
    "few": lambda rng: rng.normal(size=200),
}


find = jax.jit(lambda pilot, rule: rule.spread(pilot), static_argnames="rule")
"""The spread of a pilot by a rule, with one program per rule and shape."""


def sample_of(name):
    return SAMPLES[name](np.random.default_rng(11)).astype(np.float32)


def nrd0(x):
    """Return R's bw.nrd0 without its rate: 0.9 min(sd, IQR / 1.34), with quantiles of type 7."""
    x = x.astype(float)
    upper, lower = np.quantile(x, [0.75, 0.25])
    return 0.9 * min(x.std(ddof=1), (upper - lower) / 1.34)


def gap(x):
    """Bound the difference between a quantile and that of type 7.

    Both are within one order statistic. The bisection of the range in 24 steps adds to the
    difference.
    """
    x = np.sort(x.astype(float))
    spread = np.ptp(x) * 2.0**-23
    for level in (0.25, 0.75):
        near = int(level * len(x))
        spread += x[near + 1] - x[near - 2]
    return spread


@pytest.mark.parametrize("name", SAMPLES)
def test_silverman_is_nrd0(name):
    x = sample_of(name)
    spread = float(Silverman().spread(jnp.asarray(x)[:, None]))
    assert abs(spread - nrd0(x)) <= 0.9 / 1.34 * gap(x) + 1e-5 * nrd0(x)
    # The tolerance is meaningful: 1.06 instead of 0.9 would be an error of 18%.
    assert 0.9 / 1.34 * gap(x) < 0.08 * nrd0(x)
    width = bandwidth_at(Silverman(), jnp.float32(spread), 20_000, 1)
    assert float(width) == pytest.approx(spread * 20_000**-0.2, rel=1e-5)


@pytest.mark.parametrize("name", SAMPLES)
def test_scott(name):
    x = sample_of(name)
    spread = float(Scott().spread(jnp.asarray(x)[:, None]))
    # The deviation is limited to twice the scaled interquartile range.
    upper, lower = np.quantile(x.astype(float), [0.75, 0.25])
    deviation = min(x.astype(float).std(ddof=1), 2 * (upper - lower) / 1.34)
    tolerance = 2 / 1.34 * gap(x) if name == "cauchy" else 1e-4 * deviation
    assert abs(spread / (4 / 3) ** 0.2 - deviation) <= tolerance
    assert Scott().exponent(1) == pytest.approx(1 / 5)


@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_hoelder_rate(beta):
    x = sample_of("laplace")
    rule = HoelderRate(beta, scale=1.7)
    spread = float(rule.spread(jnp.asarray(x)[:, None]))
    assert spread == pytest.approx(1.7 / 0.9 * nrd0(x), rel=2e-3)
    for d in (1, 2, 3):
        assert rule.exponent(d) == pytest.approx(1 / (2 * beta + d))
    confirm = bandwidth_at(rule, jnp.float32(spread), 50_000, 1, extra=0.05)
    assert float(confirm) == pytest.approx(
        spread * 50_000 ** -(1 / (2 * beta + 1) + 0.05), rel=1e-5
    )


@pytest.mark.parametrize("dimension", [2, 3])
def test_several_axes_are_averaged_geometrically(dimension):
    scales = np.array([0.1, 1.0, 30.0])[:dimension]
    x = np.random.default_rng(1).normal(size=(4000, dimension)) * scales
    factor = (4 / (dimension + 2)) ** (1 / (dimension + 4))
    sd = [column.std(ddof=1) for column in x.T]
    robust = [nrd0(column) / 0.9 for column in x.T]
    pilot = jnp.asarray(x, jnp.float32)
    expected = factor * math.prod(sd) ** (1 / dimension)
    assert float(Scott().spread(pilot)) == pytest.approx(expected, rel=1e-4)
    # 4000 normal draws have at most 3e-3 sd between the order statistics at the quartiles.
    expected = factor * math.prod(robust) ** (1 / dimension)
    assert float(Silverman().spread(pilot)) == pytest.approx(expected, rel=5e-3)
    assert Silverman().exponent(dimension) == Scott().exponent(dimension) == 1 / (dimension + 4)


def test_ties_leave_the_standard_deviation():
    x = np.where(np.arange(1000) % 10 < 7, 0.0, np.random.default_rng(2).normal(size=1000))
    spread = float(robust_spread(jnp.asarray(x, jnp.float32)[:, None]))
    assert spread == pytest.approx(x.std(ddof=1), rel=1e-4)


@pytest.mark.parametrize(
    "rule", [Silverman(), Scott(), HoelderRate(), CrossValidated(256)], ids=str
)
def test_rules_move_and_scale_with_the_data(rule):
    x = np.random.default_rng(3).laplace(size=SIZE)
    spread = float(find(x[:, None].astype(np.float32), rule))
    for shift, scale in ((50.0, 1.0), (0.0, 7.0), (-3.0, 0.01), (0.0, -2.0)):
        moved = (shift + scale * x)[:, None].astype(np.float32)
        # Rounding of float32 at 50 is 4e-6; a mirrored quantile is an adjacent one (1.5%).
        tolerance = 1.5e-2 if scale < 0 else 1e-4
        assert float(find(moved, rule)) == pytest.approx(abs(scale) * spread, rel=tolerance)


# Cross-validation.


def naive_likelihood(x, bandwidth):
    x = x.astype(float)
    k = np.exp(-0.5 * ((x[:, None] - x[None, :]) / bandwidth) ** 2)
    left_out = (k.sum(axis=1) - 1) / ((len(x) - 1) * bandwidth * math.sqrt(2 * math.pi))
    # At narrow bandwidths the likelihood of an outlier is 0.
    return np.mean(np.log(np.maximum(left_out, 1e-300)))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_cross_validation_finds_the_best_of_its_candidates(seed):
    x = np.random.default_rng(seed).normal(size=SIZE).astype(np.float32)
    rule = CrossValidated(num_pilot=256)
    found = float(find(x[:, None], rule)) * 256**-0.2
    pilot = x[:256]
    fine = np.geomspace(0.05, 2, 150)
    values = np.array([naive_likelihood(pilot, h) for h in fine])
    best = fine[values.argmax()]
    # Candidates are a factor 32^(1/24) apart, 16%; the choice is within half of that, or adjacent.
    assert found / best == pytest.approx(1, abs=0.16)
    assert naive_likelihood(pilot, found) >= values.max() - 1e-3


def test_cross_validation_is_near_the_oracle_on_normal_data():
    """The bandwidth of least integrated squared error for a normal is 1.06 n^(-1/5).

    The logarithm of one choice has a standard deviation of 0.24 (from 150 other samples), the mean
    of 30 has 0.044. The allowed factor of 1.27 is 5.4 standard deviations, or 4.9 beyond the
    observed bias of -0.025: false-alarm rate 1e-6.
    """
    rng, rule = np.random.default_rng(8), CrossValidated(num_pilot=512)
    width = jax.jit(lambda pilot: bandwidth_at(rule, rule.spread(pilot), 512, 1))
    found = [float(width(rng.normal(size=(512, 1)).astype(np.float32))) for _ in range(30)]
    oracle = (4 / 3) ** 0.2 * 512**-0.2
    assert abs(np.mean(np.log(found)) - math.log(oracle)) < math.log(1.27)
    # Two narrow clusters that are far apart need a much smaller bandwidth than Silverman's rule.
    heaps = np.concatenate([rng.normal(-50, 1, 512), rng.normal(50, 1, 512)])
    heaps = rng.permutation(heaps).astype(np.float32)
    assert float(width(heaps[:512, None])) < 0.2 * nrd0(heaps) * 512**-0.2


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_cross_validation_carries_to_other_sizes(kernel):
    x = np.random.default_rng(4).normal(size=(SIZE, 1)).astype(np.float32)
    rule = CrossValidated(num_pilot=256, kernel=kernel)
    spread = find(x, rule)
    # Only the pilot matters.
    x[256:] = 1e3
    assert float(find(x, rule)) == float(spread)
    ratio = bandwidth_at(rule, spread, 256 * 32, 1) / bandwidth_at(rule, spread, 256, 1)
    assert float(ratio) == pytest.approx(0.5, rel=1e-5)


# Names and numbers as bandwidths.


def test_names_and_numbers():
    assert as_rule("nrd0") == as_rule("silverman") == Silverman()
    assert {type(as_rule(name)) for name in RULES} == {
        Silverman,
        Scott,
        HoelderRate,
        CrossValidated,
    }
    assert as_rule(Scott()) == Scott()
    fixed = as_rule(0.25)
    assert fixed == Fixed(0.25) and fixed.exponent(3) == 0
    x = jnp.ones((5, 1))
    for size in (10, 10**6):
        assert float(bandwidth_at(fixed, fixed.spread(x), size, 1, extra=0.1)) == 0.25


def test_an_estimate_uses_its_rule():
    x = sample_of("normal")
    for name, spread in (("nrd0", nrd0(x)), ("scott", (4 / 3) ** 0.2 * x.std(ddof=1))):
        width = spread * len(x) ** -0.2
        point = 3.5
        expected = np.mean(stats.norm.pdf(x.astype(float), point, width))
        actual = truncated_kde(x, [point], bandwidth=name)
        # The derivative of the estimate with respect to its bandwidth is below 1.
        np.testing.assert_allclose(actual, [expected], rtol=2e-3)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: as_rule("silvermann"), ValueError, "bandwidth 'silvermann' .*mean 'silverman'"),
        (lambda: as_rule(-1), ValueError, "bandwidth must be a number > 0, but was -1"),
        (lambda: as_rule(np.inf), ValueError, "bandwidth must be a number > 0"),
        (lambda: as_rule(None), TypeError, "bandwidth must be a rule, a name or .* was None"),
        (
            lambda: as_rule([1]),
            TypeError,
            r"bandwidth must be a rule, a name or a number > 0, but was \[1\]",
        ),
        (lambda: as_rule(Silverman), TypeError, "bandwidth must be a rule, .*class"),
        (lambda: Fixed(0.0), ValueError, "bandwidth must be a number > 0"),
        (lambda: HoelderRate(0.0), ValueError, r"beta must lie in \(0, 1\], but was 0\.0"),
        (lambda: HoelderRate(1.5), ValueError, r"beta must lie in \(0, 1\], but was 1\.5"),
        (lambda: HoelderRate(scale=0), ValueError, "scale must be a number > 0"),
        (lambda: CrossValidated(1), ValueError, "num_pilot must be an integer >= 2, but was 1"),
        (lambda: CrossValidated(kernel="box"), ValueError, "kernel 'box' is not known"),
    ],
)
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize("size", [2, 3, 8, 1000])
@pytest.mark.parametrize("outlier", [0.0, 1e7, -1e30])
def test_quartiles_are_order_statistics(size, outlier):
    """An error that is proportional to the standard deviation would grow with an outlier."""
    draws = np.random.default_rng(size).normal(size=(size, 2)).astype(np.float32)
    draws[0, 1] += outlier
    expected = np.quantile(draws, [0.25, 0.75], axis=0, method="inverted_cdf")
    np.testing.assert_array_equal(_quartiles(jnp.asarray(draws.T)), expected)


@pytest.mark.parametrize("outlier", [1e5, 1e7, 1e15])
def test_a_spread_does_not_depend_on_an_outlier(outlier):
    draws = np.random.default_rng(5).normal(size=(1000, 1)).astype(np.float32)
    draws[7] = outlier
    ends = np.quantile(draws, [0.25, 0.75], method="inverted_cdf")
    assert float(robust_spread(jnp.asarray(draws))) == pytest.approx(np.ptp(ends) / 1.34, rel=1e-6)
