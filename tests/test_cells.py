"""Cells: every output has one, on the host as on the device, and events of them have words."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from dpjax.partitions import (
    count_cells,
    integer_cells,
    interval_cells,
    mixed_cells,
    outcome_cells,
    product_cells,
)

INF, NAN = np.inf, np.nan


def both(cells, outputs):
    """The cells by NumPy, after a look at those by jnp."""
    host = cells.index(outputs)
    device = jax.jit(lambda c, x: c.index(x))(cells, jnp.asarray(outputs))
    np.testing.assert_array_equal(device, host)
    assert host.dtype == np.int32 and device.dtype == jnp.int32
    return host.tolist()


def test_intervals():
    cells = interval_cells([-1.0, 0.0, 0.5, 1.0])
    values = np.array([-5, -1, -0.0, 0.2, 0.5, 1, 3, NAN, -INF, INF], np.float32)
    assert both(cells, values) == [0, 1, 2, 2, 3, 4, 4, 5, 6, 7]
    assert cells.size == 8
    np.testing.assert_array_equal(count_cells(cells, values), [1, 1, 2, 1, 2, 1, 1, 1])


def test_outcomes():
    cells = outcome_cells(4, first=-1)
    values = np.array([-(2**31), -2, -1, 2, 3, 2**31 - 1], np.int32)
    assert both(cells, values) == [0, 0, 1, 4, 5, 5]


def test_sparse_integers():
    cells = integer_cells([100, 5, 6])
    assert both(cells, np.array([4, 5, 6, 7, 99, 100, 101], np.int32)) == [0, 1, 2, 3, 3, 4, 5]
    assert cells.name_of(3) == "the output is in {7, ..., 99}"
    assert cells.name_of(4) == "the output is 100"
    assert cells.name_of(5) == "the output is at least 101"


def test_products():
    cells = product_cells([[0.0], [0.0, 1.0]])
    assert cells.shape == (5, 6)
    values = np.array([[-1, -1], [1, 0.5], [NAN, 2], [0, INF]], np.float32)
    assert both(cells, values) == [0, 7, 2 * 6 + 2, 6 + 5]


def test_mixed_outputs():
    cells = mixed_cells(2, [0.0, 1.0])
    values = np.array([[0, 0], [1, 0.5], [1, NAN], [7, 0], [NAN, 0]], np.float32)
    index = both(cells, values)
    assert len(set(index)) == 5
    assert cells.name_of(index[1]) == "the label is 1 and the number is in [0, 1)"
    assert cells.name_of(index[2]) == "the label is 1 and the number is NaN"
    assert cells.name_of(index[3]) == "the label is at least 2 and the number is in [0, 1)"


def words(cells, *chosen):
    mask = np.zeros(cells.size, bool)
    mask[list(chosen)] = True
    return cells.describe(mask)


def test_words():
    cells = interval_cells([-1.0, 0.0, 0.5, 1.0])
    assert words(cells, 0) == "the output is below -1"
    assert words(cells, 2, 3) == "the output is in [0, 1)"
    assert words(cells, 4, 0, 5) == "the output is below -1, at least 1 or NaN"
    assert words(cells, 0, 1, 2, 3, 4, 5, 7) == "the output is anything but -infinity"
    assert words(cells, *range(8)) == "the output is anything"
    assert words(outcome_cells(5, first=-1), 1, 3, 4) == "the output is -1 or in {1, ..., 2}"
    many = words(interval_cells(np.arange(30.0)), *range(0, 30, 2))
    assert many.endswith("one of 11 more such sets")
    pair = product_cells([[0.0], [0.0]])
    rows = np.zeros(pair.shape, bool)
    rows[0] = True
    assert pair.describe(rows.ravel()) == "entry 0 is below 0"
    rows[1, 1] = True
    assert pair.describe(rows.ravel()) == (
        "entry 0 is at least 0 and entry 1 is at least 0; or entry 0 is below 0"
    )
    with pytest.raises(ValueError, match="mask"):
        pair.describe([True])


def test_an_atom_among_reals_keeps_its_own_cell():
    value = np.float32(0.3)
    cells = interval_cells([0.0, value, np.nextafter(value, np.float32(1)), 1.0])
    assert both(cells, np.array([0.29999, value, 0.30001], np.float32)) == [1, 2, 3]
    assert cells.name_of(2) == "the output is 0.30000001"


def test_groups_are_neighbours():
    cells = interval_cells(np.arange(9.0))
    two, four = cells.coarser()[:2]
    assert two[1:9].tolist() == [1, 1, 2, 2, 3, 3, 4, 4]
    assert len(set(two[9:].tolist())) == 4 and two[0] == 0
    assert four.max() < two.max()
    assert np.isnan(cells.positions()[0][-3:]).all()


def test_bad_edges_are_refused():
    with pytest.raises(ValueError, match="edges"):
        interval_cells([0.0, np.nan])
    with pytest.raises(ValueError, match="cells must be at most"):
        product_cells([np.arange(2000.0)] * 2)
