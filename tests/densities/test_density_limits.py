"""Limits of density estimates: derivatives, small densities, and invalid arguments.

The estimates themselves are tested in test_densities.py.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.execution import Execution
from dpjax.densities import (
    KERNELS,
    Scott,
    Silverman,
    binned_density,
    direct_density,
    find_kernel,
    kernel_values,
    robust_spread,
    truncated_kde,
)
from dpjax.mechanisms import Laplace
from dpjax.methods.local import Local, dpl_runs
from dpjax.partitions import Box
from dpjax.sources.streams import DrawnStreams

STEP = 2.0**-18
"""Half of the rounding step of a kernel value."""

SAMPLES = np.random.default_rng(0).normal(size=300).astype(np.float32)
POINTS = np.linspace(-1, 1, 5, dtype=np.float32)
ESTIMATES = {"direct": direct_density, "binned": binned_density}
REFUSED = "no derivative because it is computed from integer counts: differentiate your own sum"

# Derivatives.

WAYS = {
    "grad": lambda f, x: jax.grad(f)(x),
    "grad of jit": lambda f, x: jax.grad(jax.jit(f))(x),
    "jit of grad": lambda f, x: jax.jit(jax.grad(f))(x),
    "forward": lambda f, x: jax.jacfwd(f)(x),
    "vmap of grad": lambda f, x: jax.vmap(jax.grad(f))(jnp.stack([x, x])),
    "grad of vmap": lambda f, x: jax.grad(lambda y: jnp.sum(jax.vmap(f)(jnp.stack([y, y]))))(x),
    "inside a loop": lambda f, x: jax.grad(
        lambda y: jax.lax.fori_loop(0, 2, lambda _, total: total + f(y), 0.0)
    )(x),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", ESTIMATES)
@pytest.mark.parametrize("which", [0, 1, 2])
def test_an_estimate_has_no_derivative(name, which, way):
    arguments = [jnp.asarray(x) for x in (SAMPLES, POINTS, np.float32(0.3))]

    def total(x):
        return jnp.sum(ESTIMATES[name](*arguments[:which], x, *arguments[which + 1 :]))

    # Tracing the derivative raises an error before anything is compiled.
    with pytest.raises(TypeError, match=REFUSED):
        jax.eval_shape(lambda x: WAYS[way](total, x), arguments[which])


@pytest.mark.parametrize("name", ESTIMATES)
def test_an_estimate_that_is_not_traced_has_no_derivative_either(name):
    with pytest.raises(TypeError, match=REFUSED):
        jax.grad(lambda x: jnp.sum(ESTIMATES[name](x, POINTS, 0.3)))(jnp.asarray(SAMPLES))


def test_spreads_have_no_derivative():
    for spread in (robust_spread, Silverman().spread, Scott().spread):
        with pytest.raises(TypeError, match=REFUSED):
            jax.eval_shape(jax.grad(spread), jnp.asarray(SAMPLES)[:, None])


@pytest.mark.parametrize("method", ["binned", "direct"])
def test_a_search_has_no_derivative_with_respect_to_a_mechanism(method):
    settings = Local(num_samples=500, num_confirm=1000, density=method)
    sides = jnp.array([[0.0]]), jnp.array([[1.0]])

    def loss(epsilon):
        found = dpl_runs(
            DrawnStreams(Laplace(epsilon), *sides, jax.random.key(0)), Box(-1, 2), settings,
            jnp.arange(1), execution=Execution(),
        )  # fmt: skip
        return jnp.sum(found.loss)

    with pytest.raises(TypeError, match=REFUSED):
        jax.eval_shape(jax.grad(loss), 1.0)


@pytest.mark.parametrize("name", ESTIMATES)
def test_an_estimate_that_is_held_fixed_is_no_hindrance(name):
    def scaled(scale):
        samples = jax.lax.stop_gradient(scale * jnp.asarray(SAMPLES))
        return scale * jnp.sum(ESTIMATES[name](samples, jnp.asarray(POINTS), 0.3))

    samples, points = SAMPLES.astype(float), POINTS.astype(float)
    kernels = np.exp(-0.5 * ((points[:, None] - samples) / 0.3) ** 2)
    expected = kernels.mean(axis=1).sum() / (0.3 * math.sqrt(2 * math.pi))
    assert jax.jit(jax.grad(scaled))(1.0) == pytest.approx(expected, rel=1e-3)


def test_a_sum_of_kernels_of_your_own_has_one():
    """The error message suggests this alternative."""
    samples, kernel = SAMPLES[:50].astype(float), find_kernel("gaussian")

    def mean(bandwidth):
        return jnp.mean(kernel_values(jnp.asarray(SAMPLES[:50]), jnp.zeros(1), bandwidth, kernel))

    expected = np.mean(np.exp(-0.5 * (samples / 0.3) ** 2) * samples**2 / 0.3**3)
    assert jax.jit(jax.grad(mean))(jnp.float32(0.3)) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("name", ESTIMATES)
def test_the_refusal_costs_nothing(name, monkeypatch):
    """The compiled program is the same without the check, instruction by instruction."""

    def program():
        arrays = [jnp.asarray(x) for x in (SAMPLES, POINTS, np.float32(0.3))]
        compiled = jax.jit(lambda *args: ESTIMATES[name](*args)).lower(*arrays).compile()
        lines = compiled.as_text().splitlines()
        return [line.split(", metadata=")[0] for line in lines if " = " in line]

    refusing = program()
    for module in ("_direct", "_lattice"):
        monkeypatch.setattr(f"dpjax.densities.{module}.no_derivative", lambda value: value)
    assert len(refusing) > 50
    assert program() == refusing


# Small densities.


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dimension", [1, 3])
def test_a_kernel_value_is_a_multiple_of_the_step(kernel, dimension):
    """The profile of a single sample at the origin is evaluated near the smallest step."""
    h, height = 0.5, find_kernel(kernel).norm(dimension)
    far = {  # Distances at which the profile is 2^-17.1 and 2^-18.1, solved by hand.
        "gaussian": lambda bits: math.sqrt(2 * bits * math.log(2)),
        "laplace": lambda bits: bits * math.log(2),
        "epanechnikov": lambda bits: math.sqrt(1 - 2.0**-bits),
        "biweight": lambda bits: math.sqrt(1 - 2.0 ** (-bits / 2)),
    }[kernel]
    points = np.zeros((2, dimension))
    points[:, 0] = h * far(17.1), h * far(18.1)
    direct = jax.jit(direct_density, static_argnames="kernel")
    near, beyond = direct(np.zeros((1, dimension)), points, h, kernel=kernel)
    # Both densities are positive, and neither is exact.
    unit = height / h**dimension
    assert near == pytest.approx(2 * STEP * unit, rel=1e-5) and beyond == 0
    for got, bits in ((near, 17.1), (beyond, 18.1)):
        assert abs(float(got) - 2.0**-bits * unit) <= STEP * unit


@pytest.mark.parametrize("name", ESTIMATES)
def test_the_error_is_absolute_as_the_docstrings_say(name):
    h, kernel = 0.2, find_kernel("gaussian")
    samples, points = SAMPLES.astype(float), np.linspace(-4, 4, 201)
    exact = np.exp(-0.5 * ((points[:, None] - samples) / h) ** 2).mean(axis=1) * kernel.norm(1) / h
    actual = np.asarray(jax.jit(ESTIMATES[name])(SAMPLES, points, h), float)
    spacing = (8 + 12 * h) / 2**11
    allowed = STEP if name == "direct" else 0.3 * spacing / 32 / h + (spacing / h) ** 2 / 40
    # Points and samples are float32 up to 4; a shift by 2^-23 of h changes the kernel by as much.
    allowed += 2.0**-23 * 4 / h
    assert np.max(np.abs(actual - exact)) <= allowed * kernel.norm(1) / h


# Arguments.


@pytest.mark.parametrize("dimension", [1, 2])
def test_one_axis_may_be_left_out(dimension):
    samples, points = SAMPLES.reshape(-1, dimension), POINTS[:4].reshape(-1, dimension)
    expected = truncated_kde(samples, points, bandwidth=0.4)
    if dimension == 2:
        direct = direct_density(samples, points, 0.4)
        np.testing.assert_allclose(direct, expected, rtol=1e-5)
    else:

        @jax.jit
        def estimates(samples, points):
            x, p = samples[:, 0], points[:, 0]
            shapes = (x, p), (samples, p), (x, points), (samples, points)
            return [estimate(*both, 0.4) for both in shapes for estimate in ESTIMATES.values()]

        for actual in estimates(samples, points):
            assert actual.shape == (4,)
            np.testing.assert_allclose(actual, expected, rtol=1e-3)


NAN = np.where(np.arange(300) == 7, np.nan, SAMPLES)


@pytest.mark.parametrize("estimate", ESTIMATES.values())
@pytest.mark.parametrize(
    ("samples", "points", "bandwidth", "error", "message"),
    [
        (SAMPLES[:, None], np.ones((3, 2)), 0.3, ValueError, "dimension as samples, 1, but had 2"),
        (SAMPLES.reshape(-1, 2), POINTS, 0.3, ValueError, "dimension as samples, 2, but had 1"),
        (SAMPLES[:0], POINTS, 0.3, ValueError, r"samples must be numbers of shape .* \(0,\)"),
        (SAMPLES, POINTS[:0], 0.3, ValueError, r"points must be numbers of shape .* \(0,\)"),
        (SAMPLES, 0.0, 0.3, ValueError, r"points must be numbers of shape .* \(\)"),
        (None, POINTS, 0.3, ValueError, "samples must be numbers of shape"),
        (SAMPLES * 1j, POINTS, 0.3, ValueError, "samples must be numbers of .* complex64"),
        (NAN, POINTS, 0.3, ValueError, "samples must be finite, but held NaN"),
        (jnp.asarray(NAN), POINTS, 0.3, ValueError, "samples must be finite, but held NaN"),
        (SAMPLES, [0.0, math.inf], 0.3, ValueError, "points must be finite"),
        (SAMPLES, POINTS, 0.0, ValueError, r"bandwidth must be a number > 0, but was 0\.0"),
        (SAMPLES, POINTS, math.nan, ValueError, "bandwidth must be a number > 0 .finite., but was"),
        (SAMPLES, POINTS, "scott", TypeError, "bandwidth must be a number > 0, but was 'scott'"),
        (SAMPLES, POINTS, None, TypeError, "bandwidth must be a number > 0, but was None"),
        (SAMPLES, POINTS, np.full(5, 0.3), ValueError, r"one number, but had the shape \(5,\)"),
    ],
)
def test_refused_arguments(estimate, samples, points, bandwidth, error, message):
    with pytest.raises(error, match=message):
        estimate(samples, points, bandwidth)


@pytest.mark.parametrize("estimate", ESTIMATES.values())
def test_shapes_are_refused_where_values_are_traced(estimate):
    with pytest.raises(ValueError, match="samples must be numbers of shape"):
        jax.jit(estimate)(SAMPLES[:0], POINTS, 0.3)
    with pytest.raises(ValueError, match="points must have the same dimension as samples"):
        jax.jit(estimate)(SAMPLES, POINTS[:4].reshape(2, 2), 0.3)
    # NaN cannot be seen in traced values: it only counts in n, as the docstrings say.
    lowered = jax.jit(estimate)(NAN, POINTS, 0.3)
    without = jax.jit(estimate)(np.delete(NAN, 7), POINTS, 0.3)
    np.testing.assert_allclose(lowered, without * (299 / 300), rtol=1e-5)


def test_binned_is_for_one_dimension():
    with pytest.raises(ValueError, match="samples must have one dimension, but had 2"):
        binned_density(SAMPLES.reshape(-1, 2), POINTS[:4].reshape(-1, 2), 0.3)


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_lattice_that_is_too_coarse_is_refused_with_one_that_is_not(kernel):
    """The message states the nodes for the points and for the reach of the kernel at both ends."""
    profile, h = find_kernel(kernel), 0.125
    enough = math.ceil(profile.min_nodes * (2 / h + 2 * profile.radius))
    few = rf"num_nodes must be at least {enough}, to give {profile.min_nodes} .* was {enough - 1} "
    makers = (
        lambda n: binned_density(SAMPLES, POINTS, h, kernel=kernel, num_nodes=n),
        lambda n: jax.eval_shape(
            lambda x: binned_density(x, POINTS, h, kernel=kernel, num_nodes=n), SAMPLES
        ),
        lambda n: truncated_kde(
            SAMPLES, POINTS, bandwidth=h, kernel=kernel, method="binned", num_nodes=n
        ),
    )
    for make in makers:
        with pytest.raises(ValueError, match=few):
            make(enough - 1)
    # Do not use the first call, which compiles each of its steps separately.
    for make in makers[1:]:
        assert make(enough).shape == (5,)
    # A traced bandwidth cannot be checked.
    traced = jax.eval_shape(
        lambda h: binned_density(SAMPLES, POINTS, h, kernel=kernel, num_nodes=64), h
    )
    assert traced.shape == (5,)


@pytest.mark.parametrize("method", ["direct", "binned"])
@pytest.mark.parametrize("unit", [1e-30, 1e-12, 1e12, 1e30])
@pytest.mark.parametrize("bandwidth", ["silverman", 0.3])
def test_densities_at_extreme_units(method, unit, bandwidth):
    samples, points = np.random.default_rng(4).normal(size=500), np.array([-1.0, 0.0, 2.0])
    width = bandwidth if isinstance(bandwidth, str) else unit * bandwidth
    expected = truncated_kde(samples, points, bandwidth=bandwidth, method=method)
    found = truncated_kde(unit * samples, unit * points, bandwidth=width, method=method)
    np.testing.assert_allclose(unit * np.asarray(found, float), expected, rtol=2e-4)


@pytest.mark.parametrize(
    ("unit", "columns", "bandwidth", "words"),
    [
        (1e30, 2, "silverman", "samples must have representable densities"),
        (1e-40, 1, "silverman", "samples must have representable densities"),
        (1.0, 1, 1e-40, "bandwidth must allow representable densities"),
        (1.0, 1, 1e39, "bandwidth must allow representable densities"),
    ],
)
def test_densities_out_of_range_are_refused(unit, columns, bandwidth, words):
    samples = unit * np.random.default_rng(4).normal(size=(500, columns))
    with pytest.raises(ValueError, match=words):
        truncated_kde(samples, samples[:3], bandwidth=bandwidth)
