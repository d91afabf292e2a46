"""Frequencies by counting, floors, and rejected arguments of estimates from given samples."""

import re

import numpy as np
import pytest

from dpjax.densities import truncated_frequencies, truncated_kde


def test_frequencies_by_counting():
    samples = np.random.default_rng(3).integers(-1, 7, 20_001)
    actual = truncated_frequencies(samples, 4)
    expected = [sum(1 for s in samples.tolist() if s == c) / 20_001 for c in range(4)]
    np.testing.assert_allclose(actual, expected, rtol=1e-6)
    floored = truncated_frequencies([0, 0, 2], 4, floor=0.4)
    np.testing.assert_allclose(floored, [2 / 3, 0.4, 0.4, 0.4], rtol=1e-6)
    # Other integers only count in n, even if an int32 would wrap them around to 0.
    wrapped = truncated_frequencies([0, 2**32, -(2**32)], 4)
    np.testing.assert_allclose(wrapped, [1 / 3, 0, 0, 0], rtol=1e-6)
    coins = truncated_frequencies([True, False, True], 4)
    np.testing.assert_allclose(coins, [1 / 3, 2 / 3, 0, 0], rtol=1e-6)


@pytest.mark.parametrize("method", ["direct", "binned"])
def test_densities_are_truncated_at_the_floor(method):
    # Use the sizes of test_densities.py, so that no further program is compiled.
    samples, points = np.random.default_rng(4).normal(size=20_000), np.linspace(-5, 5, 201)
    free = np.asarray(truncated_kde(samples, points, method=method))
    floored = np.asarray(truncated_kde(samples, points, method=method, floor=0.1))
    np.testing.assert_array_equal(floored, np.maximum(free, np.float32(0.1)))
    assert free.min() < 1e-4 and floored.min() == np.float32(0.1)


# Refusals.

X = np.linspace(-1, 1, 50)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: truncated_kde([1.0], [0.0]), ValueError, "samples must hold at least two"),
        (lambda: truncated_kde([], [0.0]), ValueError, r"samples must be numbers .*\(0,\)"),
        (
            lambda: truncated_kde(["a"], [0.0]),
            ValueError,
            r"samples must be numbers of shape \[n\]",
        ),
        (lambda: truncated_kde([1.0, np.nan], [0.0]), ValueError, "samples must be finite"),
        (lambda: truncated_kde(X, [np.inf]), ValueError, "points must be finite"),
        (lambda: truncated_kde(X, 0.0), ValueError, r"points must be numbers of shape"),
        (lambda: truncated_kde(X, [[0.0, 1.0]]), ValueError, "points must have .*dim.*1, .* 2"),
        (lambda: truncated_kde(X, X, floor=-1), ValueError, "floor must be a number >= 0"),
        (lambda: truncated_kde(X, X, floor="0"), TypeError, "floor must be a number >= 0"),
        (lambda: truncated_kde(X, X, kernel="gauss"), ValueError, "kernel 'gauss' .*'gaussian'"),
        (lambda: truncated_kde(X, X, method="fft"), ValueError, "method 'fft' is not known"),
        (lambda: truncated_kde(X, X, num_nodes=0), ValueError, "num_nodes must be an integer >= 1"),
        (
            lambda: truncated_kde(X, X, bandwidth=0.1, num_nodes=9, method="binned"),
            ValueError,
            "num_nodes must be at least",
        ),
        (lambda: truncated_kde(X, X, bandwidth=0), ValueError, "bandwidth must be a number > 0"),
        (lambda: truncated_kde(X, X, bandwidth="nrd1"), ValueError, "bandwidth 'nrd1' .*'nrd0'"),
        (
            lambda: truncated_kde(X, X, bandwidth=None),
            TypeError,
            "bandwidth must be .* but was None",
        ),
        (lambda: truncated_kde(np.ones(9), X), ValueError, "samples must vary .* constant"),
        (
            lambda: truncated_kde(np.eye(3), np.eye(3), bandwidth=0.1, method="binned"),
            ValueError,
            "method 'binned' is for one dimension, but samples had 3",
        ),
        (lambda: truncated_frequencies([0.5], 2), TypeError, "samples must be integers, .*float64"),
        (lambda: truncated_frequencies([], 2), TypeError, "samples must be"),
        (lambda: truncated_frequencies([[0]], 2), ValueError, re.escape("but had shape (1, 1)")),
        (lambda: truncated_frequencies([0], 0), ValueError, "num_categories must be an integer"),
        (
            lambda: truncated_frequencies([0], 2, floor=-1),
            ValueError,
            "floor must be a number >= 0",
        ),
    ],
)
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()
