"""Exact truncated laws compared with Table I, fine grids and quadrature."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from dpjax.reference import ExactTruncatedGaussian, ExactTruncatedLaplace

# (law, D, C, epsilon) as printed. For Gaussians the paper prints C = 5.40 at sigma 0.3 and 0.70 at
# sigma 1; the maximum of the slope is 5.38 and 0.71 by the grid search below, so those two are the
# corrected values.
TABLE_1 = [
    (ExactTruncatedLaplace(0.5), 9.25, 4.63, 2.00),
    (ExactTruncatedLaplace(0.8), 4.38, 2.19, 1.25),
    (ExactTruncatedLaplace(1.0), 3.16, 1.58, 1.00),
    (ExactTruncatedLaplace(2.0), 1.27, 0.64, 0.50),
    (ExactTruncatedLaplace(5.0), 0.44, 0.22, 0.20),
    (ExactTruncatedGaussian(0.3), 7.06, 5.38, 5.56),
    (ExactTruncatedGaussian(0.5), 2.42, 2.03, 2.00),
    (ExactTruncatedGaussian(0.6), 1.62, 1.49, 1.39),
    (ExactTruncatedGaussian(1.0), 0.54, 0.71, 0.50),
    (ExactTruncatedGaussian(2.0), 0.13, 0.23, 0.13),
]
ALL = [
    *(ExactTruncatedLaplace(scale) for scale in (0.3, 1.0, 3.5)),
    *(ExactTruncatedGaussian(sigma) for sigma in (0.3, 0.6, 2.0)),
]


def kernel_density(law, x, y):
    """The definition: the kernel over its own integral."""
    if isinstance(law, ExactTruncatedLaplace):

        def kernel(t):
            return np.exp(-abs(t - x) / law.scale)
    else:

        def kernel(t):
            return np.exp(-(((t - x) / law.sigma) ** 2) / 2)

    mass = quad(kernel, 0, 1, points=[x], epsabs=1e-13, limit=200)[0]
    return kernel(y) / mass


@pytest.mark.parametrize(("law", "printed"), [(law, printed) for law, *printed in TABLE_1])
def test_table_1(law, printed):
    exact = (law.input_lipschitz, law.lipschitz, law.epsilon)
    assert exact == pytest.approx(printed, abs=0.00501)


@pytest.mark.parametrize("law", ALL, ids=str)
def test_density_and_cdf_are_the_cut_kernel(law):
    for x in (0.0, 0.2, 0.71, 1.0):
        for y in (0.0, 0.15, 0.2, 0.9, 1.0):
            assert np.exp(law.log_density(x, y)) == pytest.approx(kernel_density(law, x, y))

            def density(t, x=x):
                return np.exp(law.log_density(x, t))

            below = quad(density, 0, y, points=[min(x, y)], epsabs=1e-12)[0]
            assert law.cdf(x, y) == pytest.approx(below, abs=1e-10)


@pytest.mark.parametrize("law", ALL, ids=str)
def test_constants_are_the_steepest_slopes_on_a_fine_grid(law):
    grid = np.linspace(0, 1, 2_001)
    step = grid[1]
    density = np.exp(law.log_density(grid[:, None], grid[None, :]))
    in_output = np.abs(np.diff(density, axis=1)).max() / step
    in_input = np.abs(np.diff(density, axis=0)).max() / step
    # A chord is never steeper than the constant and, on this grid, within 1% of it.
    assert 0.99 * law.lipschitz <= in_output <= law.lipschitz * (1 + 1e-9)
    assert 0.99 * law.input_lipschitz <= in_input <= law.input_lipschitz * (1 + 1e-9)


@pytest.mark.parametrize("law", ALL, ids=str)
def test_epsilon_is_the_largest_log_ratio_on_a_fine_grid(law):
    grid = np.linspace(0, 1, 401)
    log_density = law.log_density(grid[:, None], grid[None, :])
    spread = (log_density.max(0) - log_density.min(0)).max()
    assert law.epsilon == pytest.approx(spread, rel=1e-9)
    assert law.pair_epsilon(0, 1) == pytest.approx(law.epsilon)
    for i, j in ((0, 400), (40, 300), (399, 7), (200, 201)):
        by_grid = np.abs(log_density[i] - log_density[j]).max()
        assert law.pair_epsilon(grid[i], grid[j]) == pytest.approx(by_grid, rel=1e-9)


@pytest.mark.parametrize("law", ALL, ids=str)
@pytest.mark.parametrize("order", [1.05, 2.0, 7.5])
@pytest.mark.parametrize("pair", [(0.0, 1.0), (0.3, 0.9), (0.8, 0.75), (0.4, 0.4)])
def test_renyi_level_is_the_integral(law, order, pair):
    def divergence(p, q):
        def integrand(y):
            return np.exp(order * law.log_density(p, y) + (1 - order) * law.log_density(q, y))

        integral = quad(integrand, 0, 1, points=sorted(pair), epsabs=1e-13, limit=200)[0]
        return math.log(integral) / (order - 1)

    expected = max(divergence(*pair), divergence(*pair[::-1]))
    assert law.pair_renyi(*pair, order) == pytest.approx(expected, rel=1e-8, abs=1e-9)


def test_table_4_maximum():
    law = ExactTruncatedLaplace(3.5)
    levels = {x: law.pair_renyi(0, x, 2) for x in np.linspace(0, 1, 21)}
    assert round(levels[1.0], 3) == 0.027
    assert max(levels.values()) == levels[1.0]


def test_high_order_tends_to_epsilon_without_overflow():
    for law in (ExactTruncatedLaplace(0.05), ExactTruncatedGaussian(0.1)):
        assert law.pair_renyi(0, 1, 5_000) == pytest.approx(law.epsilon, rel=2e-2)


def test_refusals():
    with pytest.raises(ValueError, match="scale must be a number > 0"):
        ExactTruncatedLaplace(0.0)
    with pytest.raises(ValueError, match="sigma must be a number > 0"):
        ExactTruncatedGaussian(-1.0)
    with pytest.raises(ValueError, match="order must be a number > 1"):
        ExactTruncatedLaplace(1.0).pair_renyi(0, 1, 1.0)
