"""Samplers at parameters where float32 overflows or rounds."""

import jax
import numpy as np
import pytest

from dpjax import mechanisms

KEY, SIZE = jax.random.key(5), 4000


def draws(mechanism, database):
    return np.asarray(mechanism.sample(KEY, np.asarray(database), SIZE))


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [40.0, 44.5, 60.0, 300.0])
def test_exponential_noise_of_a_large_epsilon(epsilon):
    """The rate is epsilon to float32, so the outputs are 1 +- Exp(1) / epsilon."""
    found = draws(mechanisms.Exponential(epsilon), 1.0)
    # The mean of 4,000 standard exponentials has standard deviation 0.016: 5 sigma are 6e-7.
    assert np.isfinite(found).all() and abs(np.abs(found - 1).mean() * epsilon - 1) < 0.08


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [89.0, 178.0, 1000.0])
def test_local_protocols_of_a_large_epsilon_tell_the_truth(epsilon):
    assert np.all(draws(mechanisms.SymmetricUnaryEncoding(epsilon, 4), 2) == 4)
    codes = draws(mechanisms.SubsetSelection(epsilon, 2, 6), 3)
    assert np.all(codes >> 3 & 1)


def test_noise_of_a_tiny_epsilon_does_not_overflow():
    """Nearly all noise is beyond 0..n, and half of it is negative."""
    found = draws(mechanisms.TruncatedGeometric(1e-12, 10), 7)
    assert {*found.tolist()} <= {0, 10}
    # 4,000 fair coins: 5 standard deviations, 6e-7.
    assert abs(np.mean(found == 10) - 0.5) < 0.04
    with pytest.raises(ValueError, match="epsilon must be a number >= 1e-06, but was 1e-07"):
        mechanisms.TwoSidedGeometric(1e-7)
    with pytest.raises(ValueError, match="epsilon must be a number >= 1e-30, but was 1e-31"):
        mechanisms.TruncatedGeometric(1e-31)


def test_parameters_that_are_infinite_in_the_dtype_of_the_draws():
    """An earlier version audited epsilon = inf, or failed on the second device of a sweep."""
    with pytest.raises(ValueError, match=r"^epsilon must be at most 3\.4e\+38, the .* float32"):
        mechanisms.Laplace(1e300)
    with pytest.raises(ValueError, match=r"^sigma must be at most 3\.4e\+38"):
        mechanisms.Gaussian(np.array([1.0, 1e39]))
    assert mechanisms.Laplace(1e38).epsilon == 1e38
    with jax.enable_x64(True):
        assert mechanisms.Laplace(1e300).epsilon == 1e300
