"""Bins by a bucket grid equal those of a binary search; dropping edges keeps counts by mark."""

import numpy as np
import pytest

from dpjax.partitions import _bins, lay
from dpjax.partitions._bins import _BUCKETS, _buckets, bins_of
from dpjax.partitions.outputs import Encoder

RNG = np.random.default_rng(0)
LAWS = {
    "smooth": RNG.laplace(size=3000),
    "heavy": RNG.standard_cauchy(3000),
    "huge": 1e300 * RNG.normal(size=3000),
    "tiny": 1e-310 * RNG.normal(size=3000),
    "many scales": np.exp(50 * RNG.normal(size=3000)),
    "lattice": RNG.integers(0, 500, 3000).astype(float),
    "one place": 1e9 + 1e-7 * RNG.integers(0, 9, 3000),
}


@pytest.mark.parametrize("number", [2, 9, 60, 400])
@pytest.mark.parametrize("law", LAWS)
def test_equals_a_binary_search(law, number):
    edges = np.unique(RNG.choice(LAWS[law], number))
    beside = [np.nextafter(edges, -np.inf), edges, np.nextafter(edges, np.inf)]
    far = [np.inf, -np.inf, 0.0, -0.0, 1.7e308, -1.7e308, 5e-324]
    values = np.concatenate([LAWS[law], *beside, far])
    np.testing.assert_array_equal(
        bins_of(edges, values), np.searchsorted(edges, values, side="right")
    )


def test_infinite_edges():
    edges = np.append(np.linspace(-1, 1, 50), np.inf)
    values = np.concatenate([np.linspace(-2, 2, 900), [np.inf, -np.inf]])
    np.testing.assert_array_equal(
        bins_of(edges, values), np.searchsorted(edges, values, side="right")
    )


@pytest.mark.parametrize("dimension", [1, 2])
def test_dropped_edges_keep_counts_by_mark(dimension):
    encoder = Encoder("the test")
    sides = [RNG.normal(size=(4000, dimension)) for _ in range(2)]
    sides[0][:50, 0] = np.nan
    pilots = [encoder.encode(side) for side in sides]
    cells = lay(pilots, encoder.names)
    # Nine bins of the first number share a mark; the second number does not matter.
    marks = np.nan_to_num(cells.positions()[0] // 9).astype(int) % 3
    narrow, of_cells = cells.narrowed(marks)
    assert narrow.size < cells.size
    for outputs in pilots:
        np.testing.assert_array_equal(of_cells[narrow.index(outputs)], marks[cells.index(outputs)])


def test_bins_raise_no_error_of_the_caller():
    """The caller may turn overflows and invalid operations into errors."""
    values = np.concatenate([np.linspace(-2, 2, 900), [np.inf, -np.inf]])
    for edges in (np.append(np.linspace(-1, 1, 50), np.inf), 1.7e308 * np.linspace(-1, 1, 50)):
        expected = np.searchsorted(edges, values, side="right")
        with np.errstate(all="raise"):
            np.testing.assert_array_equal(bins_of(edges, values), expected)


def test_buckets_divide_the_range_evenly():
    """A grid that puts all values into one bucket would be correct but slow."""
    values = np.array([-5.0, 2.0, 2.5, 3.0, 3.999, 9.0])
    buckets = _buckets(values, 2.0, _BUCKETS / 2)
    assert buckets.tolist() == [0, 0, _BUCKETS // 4, _BUCKETS // 2, _BUCKETS - 3, _BUCKETS - 1]


@pytest.mark.parametrize(
    ("edges", "values", "by_buckets"), [(9, 513, True), (8, 513, False), (9, 512, False)]
)
def test_few_edges_or_values_take_a_binary_search(monkeypatch, edges, values, by_buckets):
    asked = []
    found = _bins._buckets
    monkeypatch.setattr(_bins, "_buckets", lambda *parts: asked.append(parts) or found(*parts))
    bins_of(np.arange(float(edges)), np.linspace(-1, 20, values))
    assert bool(asked) is by_buckets


@pytest.mark.parametrize(("close", "calls"), [(4, 2), (5, 1)])
def test_many_edges_in_a_bucket_take_a_binary_search(monkeypatch, close, calls):
    """Some edges are much closer to each other than the width of a bucket."""
    asked = []
    found = _bins._buckets
    monkeypatch.setattr(_bins, "_buckets", lambda *parts: asked.append(parts) or found(*parts))
    edges = np.concatenate([np.arange(0.0, 4096, 300), 2000.5 + np.arange(close) / 100])
    edges.sort()
    values = np.linspace(-1, 5000, 1000)
    np.testing.assert_array_equal(
        bins_of(edges, values), np.searchsorted(edges, values, side="right")
    )
    assert len(asked) == calls
