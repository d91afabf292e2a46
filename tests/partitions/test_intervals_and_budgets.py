"""Intervals of equal width on a device, merged bins, and default budgets."""

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.core.categories import interval_counts
from dpjax.partitions import Budget
from dpjax.partitions._lookup import _is_consecutive
from dpjax.partitions._partition import Partition
from dpjax.partitions.missing import rows_of_objects


def line(bins, *, whole=False):
    edges = (np.arange(1.0, bins),)
    return Partition(("a number",), edges, (np.empty(0),), np.array([0]), whole)


@pytest.mark.parametrize(
    ("bins", "whole", "is_merged"),
    [(64, False, False), (65, False, True), (65, True, False), (200, False, True)],
)
def test_many_bins_of_reals_are_merged_by_threes(bins, whole, is_merged):
    cells = line(bins, whole=whole)
    group, (positions,) = cells.merged(None)
    expected = 2 + np.arange(bins) // (3 if is_merged else 1)
    np.testing.assert_array_equal(group, [0, 1, *expected])
    for number in range(2, int(group.max()) + 1):
        assert positions[number] == pytest.approx(np.flatnonzero(group == number).mean() - 2)
    assert np.isnan(positions[:2]).all()
    # Cells of a region are merged only with each other.
    allowed = np.arange(cells.size) >= 6
    own, _ = cells.merged(allowed)
    assert set(own) == set(range(own.max() + 1))
    pairs = [(group[i], allowed[i]) for i in range(cells.size)]
    for i in range(cells.size):
        assert [own[j] == own[i] for j in range(cells.size)] == [p == pairs[i] for p in pairs]


def test_a_budget_is_of_one_pair_and_one_partition():
    assert Budget(10, 0.9) == (10, 0.9, 1, False, 1)


@pytest.mark.parametrize("start", [-(2**31) + 1, -40_000, 2**31 - 3])
def test_successive_integers_of_32_bits(start):
    edges = start + np.arange(3.0)
    assert _is_consecutive(SimpleNamespace(edges=[edges]))
    assert not _is_consecutive(SimpleNamespace(edges=[edges, edges[[0, 2]]]))


def test_lists_of_objects_are_kept():
    objects = np.array(["ab", None, 3], object)
    assert rows_of_objects(objects) is objects


@pytest.mark.slow
@pytest.mark.parametrize(("low", "high", "number"), [(-1.0, 3.0, 8), (0.5, 0.75, 2)])
def test_outputs_are_counted_in_intervals_of_equal_width(low, high, number):
    """Each interval contains its lower end, and the last one both ends; others are extra."""
    ends = np.linspace(low, high, number + 1)
    inner = (ends[1:] + ends[:-1]) / 2
    outside = [low - 0.01, high + 0.01, np.nan, np.inf, -np.inf]
    samples = np.concatenate([ends, inner, inner[:1], outside]).astype(np.float32)
    valid = np.arange(len(samples)) != number + 1
    reducer = interval_counts(low, high, number)
    assert reducer.reads_once
    counts = reducer.update(reducer.init(), jnp.asarray(samples), jnp.asarray(valid))
    expected = np.full(number, 2)
    # The upper end; the first midpoint occurs twice, once as padding.
    expected[-1] += 1
    assert np.asarray(counts.low)[:-1].tolist() == expected.tolist()
    assert int(counts.low[-1]) == len(outside) + 1
