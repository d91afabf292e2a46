"""The score of a network, by NumPy."""

from itertools import pairwise

import jax
import numpy as np

from dpjax.partitions._network import _fit, _forward


def naive(weights, table):
    """Rectified layers, of which the last one is linear."""
    for number, (matrix, shift) in enumerate(weights):
        table = table @ np.asarray(matrix, float) + np.asarray(shift, float)
        if number < len(weights) - 1:
            table = np.maximum(table, 0)
    return table[:, 0]


def test_every_layer_but_the_last_is_rectified():
    rng = np.random.default_rng(3)
    widths = [5, 7, 6, 1]
    weights = [
        (rng.normal(size=(a, b)).astype(np.float32), rng.normal(size=b).astype(np.float32))
        for a, b in pairwise(widths)
    ]
    table = rng.normal(size=(40, 5)).astype(np.float32)
    expected = naive(weights, table.astype(float))
    np.testing.assert_allclose(_forward(weights, table), expected, rtol=1e-4, atol=1e-4)


def test_a_network_has_two_hidden_layers_that_matter():
    """Outputs inside of a ring against outputs around it: no linear score tells them apart."""
    rng = np.random.default_rng(8)
    table = rng.normal(size=(4000, 2)).astype(np.float32)
    inside = (table**2).sum(axis=1) < 2 * np.log(2)
    sign = np.where(inside, 1, -1).astype(np.float32)
    weights = _fit(table, sign, jax.random.key(0))
    assert len(weights) == 3
    found = naive(weights, table.astype(float))
    assert np.mean((found > 0) == inside) > 0.95
