"""Kernels compared with quadrature, and estimates compared with sums over samples."""

import itertools
import math

import jax
import numpy as np
import pytest
from scipy import integrate, stats

from dpjax.densities import (
    KERNELS,
    MAX_NODES,
    Lattice,
    find_kernel,
    finer,
    smooth_both,
    truncated_kde,
)

PROFILES = {
    # k(r), written independently.
    "gaussian": lambda r: np.exp(-(r**2) / 2),
    "laplace": lambda r: np.exp(-r),
    "epanechnikov": lambda r: np.clip(1 - r**2, 0, None),
    "biweight": lambda r: np.clip(1 - r**2, 0, None) ** 2,
}

SPHERE = {1: 2.0, 2: 2 * math.pi, 3: 4 * math.pi}
"""Surface of the unit ball, which turns an integral over R^d into one over radii."""

SIZE, NUM_POINTS = 20_000, 201
"""Shape of most tests here, since estimates of one shape share a program."""

STEP = 2.0**-18
"""Half of the fixed-point step of a kernel value: maximum rounding of one sample."""


def integral(profile, power, dimension):
    reach = 1.0 if profile(np.array(1.0)) == 0 else 60.0
    value = integrate.quad(
        lambda r: float(profile(np.array(r))) ** power * r ** (dimension - 1), 0, reach, limit=200
    )[0]
    return SPHERE[dimension] * value


def naive_kde(samples, points, bandwidth, name):
    samples, points = (np.asarray(x, float).reshape(len(x), -1) for x in (samples, points))
    dimension = samples.shape[1]
    height = 1 / integral(PROFILES[name], 1, dimension)
    density = np.zeros(len(points))
    for i, point in enumerate(points):
        for sample in samples:
            density[i] += PROFILES[name](math.dist(point, sample) / bandwidth)
    return height * density / (len(samples) * bandwidth**dimension)


# Kernels.


def test_the_table_of_kernels():
    assert set(KERNELS) == set(PROFILES)
    assert all(find_kernel(name).name == name for name in KERNELS)


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_by_quadrature(name):
    kernel, r = find_kernel(name), np.linspace(0, 30, 3001)
    actual = np.asarray(jax.jit(kernel.profile)(r**2))
    np.testing.assert_allclose(actual, PROFILES[name](r), rtol=3e-5, atol=1e-6)
    assert actual[0] == 1
    assert np.all(np.diff(actual) <= 0) and actual.min() >= 0
    # Beyond the radius, values are below the fixed-point step.
    assert np.all(actual[r > kernel.radius] <= 2e-8)
    for d in (1, 2, 3):
        mass, square = (integral(PROFILES[name], p, d) for p in (1, 2))
        assert kernel.norm(d) == pytest.approx(1 / mass, rel=1e-8)
        assert kernel.roughness(d) == pytest.approx(square / mass**2, rel=1e-8)
    if name == "gaussian":
        assert kernel.roughness(2) == pytest.approx(1 / (4 * math.pi), rel=1e-12)


# The direct estimate.


@pytest.mark.one_in(3)
@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("name", KERNELS)
def test_direct_against_a_double_loop(name, dimension):
    rng = np.random.default_rng(dimension)
    samples = rng.normal(2, 1, size=(300, dimension)).astype(np.float32)
    points = rng.normal(2, 1, size=(20, dimension)).astype(np.float32)
    actual = truncated_kde(samples, points, bandwidth=0.8, kernel=name)
    expected = naive_kde(samples, points, 0.8, name)
    # Fixed point changes the mean of k by half a step; float32 changes the rest by a few 2^-24.
    scale = find_kernel(name).norm(dimension) / 0.8**dimension
    np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=2 * STEP * scale)
    if dimension == 1:
        flat = truncated_kde(samples[:, 0], points[:, 0], bandwidth=0.8, kernel=name)
        np.testing.assert_array_equal(flat, actual)


def test_samples_far_from_0_keep_their_digits():
    rng = np.random.default_rng(5)
    samples, points = rng.normal(size=SIZE), np.linspace(-2, 2, NUM_POINTS)
    for method in ("direct", "binned"):
        near = truncated_kde(samples, points, method=method)
        far = truncated_kde(samples + 1e8, points + 1e8, method=method)
        # Rounding changes a float64 sample at 1e8 by 1e-8, and a float32 sample near 3 by 1e-7.
        np.testing.assert_allclose(far, near, rtol=1e-4)


def test_an_estimate_integrates_to_one():
    samples = np.random.default_rng(6).normal(size=SIZE)
    points = np.linspace(-20, 20, NUM_POINTS)
    for name in KERNELS:
        density = np.asarray(truncated_kde(samples, points, bandwidth=1.0, kernel=name), float)
        # The error of five points per bandwidth is up to 2% for one sample, and cancels for many.
        assert integrate.trapezoid(density, x=points) == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("method", ["direct", "binned"])
def test_the_mean_is_the_smoothed_density(name, method):
    """Compare the estimate from quantiles with the smoothed Laplace density.

    The samples are the 20000 midpoint quantiles and have no noise, so their mean is the kernel
    integrated against the density, up to 1 / 20000 of the kernel's height.
    """
    size, h = SIZE, 0.5
    samples = stats.laplace.ppf((np.arange(size) + 0.5) / size)
    points, profile = np.array([-2.0, -0.3, 0.0, 1.0]), PROFILES[name]
    height = 1 / integral(profile, 1, 1)
    expected = []
    for point in points:
        reach = h * (1 if profile(np.array(1.0)) == 0 else 30)
        low, high = point - reach, point + reach
        ends = np.unique(np.clip([low, 0, point, high], low, high))
        pieces = [
            integrate.quad(
                lambda t, p=point: float(profile(np.array(abs(t - p) / h))) * stats.laplace.pdf(t),
                low,
                high,
                limit=200,
            )[0]
            for low, high in itertools.pairwise(ends)
        ]
        expected.append(height * sum(pieces) / h)
    all_points = np.resize(points, NUM_POINTS)
    actual = truncated_kde(samples, all_points, bandwidth=h, kernel=name, method=method)
    expected = np.resize(expected, NUM_POINTS)
    np.testing.assert_allclose(actual, expected, rtol=0, atol=height / h * (1 / size + STEP) * 1.5)


# The binned estimate.

LAPLACE = {
    f"{epsilon}, {width}": (epsilon, width) for epsilon in (0.2, 0.7, 1.5) for width in (1, 5)
}


def assert_binned_is_direct(samples, points, name, floor=1e-3):
    direct, binned = (
        np.asarray(truncated_kde(samples, points, kernel=name, method=method, floor=floor))
        for method in ("direct", "binned")
    )
    assert np.sum(direct > floor) > len(points) / 3
    np.testing.assert_allclose(binned, direct, rtol=1e-3)


@pytest.mark.parametrize("case", LAPLACE)
@pytest.mark.parametrize("name", KERNELS)
def test_binned_is_direct(name, case):
    epsilon, width = LAPLACE[case]
    samples = np.random.default_rng(1).laplace(0, 1 / epsilon, SIZE)
    assert_binned_is_direct(samples, np.linspace(-width, width, NUM_POINTS), name)


@pytest.mark.parametrize("name", KERNELS)
def test_binned_is_direct_for_ties_and_far_outliers(name):
    rng = np.random.default_rng(2)
    points = np.linspace(-1, 1, NUM_POINTS)
    tied = np.round(rng.laplace(size=SIZE), 1)
    assert_binned_is_direct(tied, points, name)
    if name in ("gaussian", "biweight"):
        # An atom of 40% has no density. The kinks of other kernels cause errors of 2e-3 next to it.
        atom = np.where(rng.random(SIZE) < 0.4, 0.25, rng.laplace(size=SIZE))
        assert_binned_is_direct(atom, points, name)
    far = np.concatenate([rng.laplace(size=SIZE - 5000), rng.normal(1e4, 1, 5000)])
    assert_binned_is_direct(far, points, name)
    # Samples outside the lattice only count in n; this range contains no samples.
    between = np.linspace(500, 501, NUM_POINTS)
    nothing = truncated_kde(far, between, bandwidth=1.0, kernel=name, method="binned")
    assert nothing.tolist() == [0] * NUM_POINTS


def test_the_coarsest_lattice_allowed_is_neither_shifted_nor_widened():
    """Test eight nodes per bandwidth on 20000 equidistant quantiles of the normal distribution.

    A bin widens a sample by its width^2 / 12, which changes the density by 1e-6. Without
    correction, the triangle of a node would widen it by spacing^2 / 6, which changes the density by
    4e-4. A shift by half a bin changes it by 3e-3.
    """
    samples = stats.norm.ppf((np.arange(SIZE) + 0.5) / SIZE)
    points = np.linspace(-2.5, 2.5, 401)
    actual = truncated_kde(samples, points, bandwidth=0.5, method="binned", num_nodes=177)
    np.testing.assert_allclose(actual, stats.norm.pdf(points, scale=1.25**0.5), rtol=1e-4)


@pytest.mark.parametrize("nodes_per_bandwidth", [7.99, 4.0, 3.99, 0.6, 0.02])
def test_a_finer_lattice_has_just_as_many_nodes_as_are_needed(nodes_per_bandwidth):
    needed = find_kernel("gaussian").min_nodes
    wanted = finer(512, nodes_per_bandwidth, find_kernel("gaussian"))
    assert wanted % 512 == 0 and (wanted // 512).bit_count() == 1
    then = nodes_per_bandwidth * wanted / 512
    assert needed <= then < 2 * needed


def test_a_lattice_has_an_end():
    assert finer(512, 1e-5, find_kernel("gaussian")) > MAX_NODES


def test_a_lone_sample_on_the_coarsest_lattice_is_a_kernel():
    """Compare the estimate from a single point with the kernel.

    The center of its bin is at most 1/256 of a bandwidth away, which changes the estimate by at
    most 2.4e-3 of the kernel's height. Aliasing and interpolation add a sixth of that.
    """
    points = np.linspace(-2.5, 2.5, 401)
    for place in np.random.default_rng(3).uniform(-0.5, 0.5, 20):
        pair = np.repeat([place, place + 1e3], SIZE // 2)
        actual = truncated_kde(pair, points, bandwidth=0.5, method="binned", num_nodes=177)
        expected = stats.norm.pdf(points, place, 0.5) / 2
        np.testing.assert_allclose(actual, expected, rtol=0, atol=2.8e-3 * expected.max())


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
@pytest.mark.parametrize("num_nodes", [512, 511])
def test_two_samples_in_one_transform_are_smoothed_as_each_alone(kernel, num_nodes):
    rng, fine = np.random.default_rng(5), 16
    counts = rng.poisson(3, (2, fine * num_nodes + 1)).astype(np.int32)
    lattice = Lattice(np.float32(-4.0), np.float32(8 / num_nodes))
    bandwidths, profile = np.array([0.2, 0.35], np.float32), find_kernel(kernel)
    smoothed = jax.jit(smooth_both, static_argnums=(3, 4))
    both = smoothed(counts, lattice, bandwidths, profile, 1000)
    for side in (0, 1):
        bins = np.asarray(counts[side, :-1], float)
        if profile.spectrum is None:
            # Share every bin between its two nodes, and sum circularly over the nodes.
            share = (np.arange(fine) + 0.5) / fine
            rows = bins.reshape(num_nodes, fine)
            weights, places = rows @ (1 - share) + np.roll(rows @ share, 1), np.arange(num_nodes)
        else:
            # The estimate corrects for sharing, so sum circularly over the centers of all bins.
            weights, places = bins, (np.arange(len(bins)) + 0.5) / fine
        steps = np.abs(np.arange(num_nodes)[:, None] - places[None, :])
        scaled = np.minimum(steps, num_nodes - steps) * 8 / num_nodes / float(bandwidths[side])
        values = PROFILES[kernel](scaled) * profile.norm(1) / float(bandwidths[side])
        np.testing.assert_allclose(both[side], values @ weights / 1000, rtol=2e-5)
