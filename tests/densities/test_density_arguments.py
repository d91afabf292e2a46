"""Arguments of density estimates: accepted values, shapes, and rejected values."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.densities._checks import check_num_nodes, checked_arrays, host_vectors
from dpjax.densities._kernels import find_kernel


def test_vectors_on_the_host_have_two_axes():
    for given, wanted in (([1, 2], [[1.0], [2.0]]), ([[1, 2]], [[1.0, 2.0]]), ([True], [[1.0]])):
        found = host_vectors("x", given)
        assert found.tolist() == wanted and found.dtype == np.float64


@pytest.mark.parametrize(
    "wrong", [1.0, [], [[[1.0]]], ["a"], [1j], [np.nan], [[0.0, np.inf]]], ids=str
)
def test_invalid_vectors_are_refused(wrong):
    with pytest.raises(ValueError, match=r"^x must be (numbers of shape|finite)"):
        host_vectors("x", wrong)
    with pytest.raises(ValueError, match=r"^samples must be (numbers of shape|finite)"):
        checked_arrays(wrong, [0.0], 1.0)
    with pytest.raises(ValueError, match=r"^points must be (numbers of shape|finite)"):
        checked_arrays([0.0], wrong, 1.0)


def test_shapes_stay_as_they_are():
    samples, points = checked_arrays([0, 1, 2], np.zeros(2), 0.5)
    assert samples.shape == (3,) and points.shape == (2,) and isinstance(points, jax.Array)
    samples, points = checked_arrays(np.zeros((3, 1)), jnp.zeros(2), jnp.float32(1))
    assert samples.shape == (3, 1) and points.shape == (2,)


@pytest.mark.parametrize(
    ("points", "bandwidth", "error", "message"),
    [
        (np.zeros((2, 2)), 1.0, ValueError, "the same dimension as samples, 1, but had 2"),
        ([0.0], None, TypeError, "but was None"),
        ([0.0], 0.0, ValueError, "bandwidth must be"),
        ([0.0], [1.0, 2.0], (TypeError, ValueError), "bandwidth must be"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(points, bandwidth, error, message):
    with pytest.raises(error, match=message):
        checked_arrays([0.0, 1.0], points, bandwidth)


def test_traced_values_are_not_looked_at():
    def shapes(samples):
        return checked_arrays(samples, samples[:1], 1.0)[0]

    assert jax.jit(shapes)(jnp.array([np.nan, 0.0])).shape == (2,)
    with pytest.raises(ValueError, match="samples must be numbers of shape"):
        jax.jit(shapes)(jnp.zeros((1, 1, 1)))


def test_the_least_number_of_nodes():
    """The range has ten bandwidths, and the kernel extends beyond both ends."""
    kernel = find_kernel("gaussian")
    least = kernel.min_nodes * (10 + 2 * kernel.radius)
    check_num_nodes(int(np.ceil(least)), np.array([0.0, 5.0]), 0.5, kernel)
    with pytest.raises(
        ValueError, match=f"num_nodes must be at least {np.ceil(least):.0f}, to give"
    ):
        check_num_nodes(int(np.ceil(least)) - 1, np.array([5.0, 0.0]), 0.5, kernel)
