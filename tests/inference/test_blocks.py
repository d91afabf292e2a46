"""Blocks of binomial counts, compared with exact binomial probabilities."""

import numpy as np
import pytest
from scipy import stats

from dpjax.inference._blocks import Blocks, Windows


@pytest.mark.parametrize("trials", [40, 5_000, 60_000_000])
def test_masses_are_above_the_probabilities_of_blocks(trials):
    """For the largest number of trials, a block contains several counts."""
    p = np.array([0.01, 0.2, 0.5, 0.97])
    blocks = Blocks(0.01, 0.97, trials, 1e-9)
    assert (blocks.stride > 1) == (trials > 5_000)
    windows = Windows(blocks, p)
    mass = windows.masses(slice(0, 4))
    first = (blocks.begin + windows.start[:, None] + np.arange(mass.shape[1])) * blocks.stride
    for row, start, share in zip(mass, first, p, strict=True):
        ends = stats.binom.cdf(np.append(start, start[-1] + blocks.stride) - 1, trials, share)
        assert np.all(row >= np.diff(ends) - 1e-9)
        assert row.sum() < 1.2


@pytest.mark.parametrize("trials", [40, 5_000, 60_000_000])
def test_masses_from_a_later_block_are_the_same(trials):
    windows = Windows(Blocks(0.01, 0.97, trials, 1e-9), np.array([0.01, 0.2, 0.5, 0.97]))
    whole = windows.masses(slice(1, 4))
    for least in (0, 1, windows.size // 2, windows.size - 1, windows.size):
        np.testing.assert_array_equal(windows.masses(slice(1, 4), least), whole[:, least:])


def test_log_binomials_that_bounds_share_are_those_of_their_counts():
    """The ranges begin and end anywhere, also above the number of trials."""
    for low, high, trials in ((0.3, 0.4, 90_000), (0.35, 0.36, 90_000), (0.2, 1.0, 700)):
        blocks = Blocks(low, high, trials, 1e-6)
        inside = blocks.counts <= trials
        expected = stats.binom.logpmf(blocks.counts, trials, 0.5) + trials * np.log(2)
        found = blocks.log_ways[:-1]
        np.testing.assert_allclose(found[inside], expected[inside], rtol=1e-9, atol=1e-6)
        assert np.all(np.isneginf(found[~inside])) and np.isneginf(blocks.log_ways[-1])


@pytest.mark.parametrize(("trials", "negligible"), [(40, 1e-3), (5_000, 1e-9), (10**7, 1e-12)])
def test_windows_end_where_bernsteins_inequality_says(trials, negligible):
    """With s beyond the mean, each tail is at most exp(-s^2 / 2 / (v + s / 3)) = negligible / 2."""
    p = np.array([0.0, 1e-4, 0.01, 0.3, 0.5, 0.97, 1.0])
    first, last = Blocks(0.01, 0.97, trials, negligible).ends(p)
    mean, variance = trials * p, trials * p * (1 - p)
    tail = np.log(negligible / 2)
    spread = np.empty_like(p)
    for k, v in enumerate(variance):
        low, high = 0.0, 10.0 * trials + 1e4
        for _ in range(200):
            middle = (low + high) / 2
            inside = -(middle**2) / 2 / (v + middle / 3) > tail if middle else True
            low, high = (middle, high) if inside else (low, middle)
        spread[k] = high
    np.testing.assert_array_equal(first, np.floor(np.maximum(mean - spread, 0)))
    np.testing.assert_array_equal(last, np.ceil(np.minimum(mean + spread, trials)))
    assert first.dtype == last.dtype == np.int64
