"""Densities of outputs whose coordinates have different units."""

import jax.numpy as jnp
import numpy as np
import pytest

import dpjax
from dpjax.methods.local._search import _ratios_of_axes


@pytest.mark.parametrize(
    "scales", [(1.0, 1.0), (3.0, 1e-3), (1e6, 1.0, 1e-4), (1.0, 1.2), (1.37,) * 7 + (0.113,)]
)
def test_ratios_are_powers_of_2_whose_product_is_1(scales):
    rng = np.random.default_rng(1)
    pilots = rng.normal(size=(2, 2000, len(scales))) * scales
    found = np.asarray(_ratios_of_axes(jnp.asarray(pilots, jnp.float32)), float)
    assert np.prod(found) == 1 and np.all(np.log2(found) == np.round(np.log2(found)))
    relative = scales / np.exp(np.mean(np.log(scales))) / found
    # A power is the difference of two rounded sums.
    assert np.all(np.abs(np.log2(relative)) < 1.05)
    assert max(scales) >= 2 * min(scales) or np.array_equal(found, np.ones(len(scales)))


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 1e-3, 1e-6, 1e4])
def test_the_unit_of_an_axis_does_not_matter(scale):
    """Only the first coordinate depends on the database, with level 1."""
    rng = np.random.default_rng(0)
    first, second = (
        np.stack([rng.laplace(shift, size=20_000), scale * rng.laplace(size=20_000)], axis=1)
        for shift in (0, 1)
    )
    found = dpjax.audit(dpjax.Recorded(first, second), method=dpjax.Local(), claim=0.5)
    assert found.verdict == "violated" and 0.6 < found.lower_bound < 1
