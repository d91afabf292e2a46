"""The score of a network, compared with NumPy."""

import re
from itertools import pairwise

import jax
import numpy as np
import pytest

from dpjax.partitions import Outputs, _network
from dpjax.partitions._batches import Pooled
from dpjax.partitions._features import Columns
from dpjax.partitions._network import NetworkFit, _fit, _forward


def naive(weights, table):
    """Compute rectified layers; the last layer is linear."""
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
    """Outputs are inside of a ring or around it: no linear score separates them."""
    rng = np.random.default_rng(8)
    table = rng.normal(size=(4000, 2)).astype(np.float32)
    inside = (table**2).sum(axis=1) < 2 * np.log(2)
    sign = np.where(inside, 1, -1).astype(np.float32)
    weights = _fit(table, sign, jax.random.key(0))
    assert len(weights) == 3
    found = naive(weights, table.astype(float))
    assert np.mean((found > 0) == inside) > 0.95


def slopes(weights, table, sign):
    """Return the gradient of the mean of ln(1 + exp(-sign score)), by backpropagation."""
    inputs = [table]
    for matrix, shift in weights[:-1]:
        inputs.append(np.maximum(inputs[-1] @ matrix + shift, 0))
    score = (inputs[-1] @ weights[-1][0] + weights[-1][1])[:, 0]
    back = (-sign / (1 + np.exp(sign * score)) / len(sign))[:, None]
    found = []
    for (matrix, _), given in zip(weights[::-1], inputs[::-1], strict=True):
        found.append((given.T @ back, back.sum(axis=0)))
        back = (back @ matrix.T) * (given > 0)
    return found[::-1]


def trained(table, sign, key, batch, width):
    """Run Adam at rates from .003 to 0 in 25 epochs; return the best weights and epochs run."""
    size = len(table)
    held = size // 6 // batch * batch
    steps, widths = (size - held) // batch, [table.shape[1], width, width, 1]
    weights = [
        (np.asarray(jax.random.normal(jax.random.fold_in(key, i), (a, b)), float) * (2 / a) ** 0.5,
         np.zeros(b))
        for i, (a, b) in enumerate(pairwise(widths))
    ]  # fmt: skip
    first, second = ([tuple(0 * part for part in pair) for pair in weights] for _ in range(2))
    losses, kept, number = [], [], 0
    while len(losses) < 25 and len(losses) - np.argmin([*losses, np.inf]) <= 5:
        order = jax.random.permutation(jax.random.fold_in(key, 100 + len(losses)), size - held)
        for rows in held + np.asarray(order)[: steps * batch].reshape(steps, batch):
            slope, rate = (
                slopes(weights, table[rows], sign[rows]),
                0.003 * (1 - number / 25 / steps),
            )
            number += 1
            for place, parts in enumerate(slope):
                first[place] = tuple(
                    0.9 * m + 0.1 * g for m, g in zip(first[place], parts, strict=True)
                )
                second[place] = tuple(
                    0.999 * v + 0.001 * g**2 for v, g in zip(second[place], parts, strict=True)
                )
                weights[place] = tuple(
                    w - rate * m / (1 - 0.9**number) / (np.sqrt(v / (1 - 0.999**number)) + 1e-8)
                    for w, m, v in zip(weights[place], first[place], second[place], strict=True)
                )
        losses.append(np.logaddexp(0, -sign[:held] * naive(weights, table[:held])).mean())
        kept.append([*weights])
    return kept[np.argmin(losses)], len(losses)


@pytest.mark.slow
@pytest.mark.parametrize(("told", "stops"), [(3.0, False), (0.0, True)])
def test_training_is_adam_until_five_epochs_bring_no_improvement(monkeypatch, told, stops):
    """Layers have 8 units, batches have 16 rows, five are held out; compared in float64."""
    monkeypatch.setattr(_network, "_BATCH", 16)
    monkeypatch.setattr(_network, "_WIDTH", 8)
    rng = np.random.default_rng(4)
    table = rng.normal(size=(16 * 30 + 7, 3)).astype(np.float32)
    sign = np.where(rng.random(len(table)) < 1 / (1 + np.exp(-told * table[:, 0])), 1, -1)
    key = jax.random.key(3)
    found = jax.jit(_fit.__wrapped__)(table, sign.astype(np.float32), key)
    wanted, epochs = trained(table.astype(float), sign, key, 16, 8)
    assert (epochs < 25) == stops
    scores = naive(found, table.astype(float)), naive(wanted, table.astype(float))
    np.testing.assert_allclose(*scores, atol=1e-3)


def test_each_network_is_trained_without_its_fold_on_as_many_outputs(monkeypatch):
    """The weights only record what a network was given: its fold, its rows and its key."""
    given = []

    def fitted(table, sign, key):
        given.append((table[:, 0].astype(int), sign, int(jax.random.bits(key))))
        return [(np.full((1, 1), 10.0 * len(given), np.float32), np.zeros(1, np.float32))]

    monkeypatch.setattr(_network, "_fit", fitted)
    n = 5000
    numbers = np.random.default_rng(1).permutation(n)
    outputs = Outputs(np.zeros(n, int), numbers[:, None].astype(float), np.zeros(n, bool))
    columns = Columns.of(outputs)
    monkeypatch.setattr(
        Columns, "standardize", lambda self, outputs: (outputs.values, np.empty((n, 0), bool))
    )
    # Folds of 1700, 825, 825, 825 and 825: the first network gets at most six batches of 512.
    fold, side = np.repeat([0, 1, 2, 3, 4], [1700, 825, 825, 825, 825]), np.arange(n) % 3 % 2
    fit = NetworkFit(columns, Pooled(outputs, side, fold))
    assert len(given) == 1
    score = 10.0 * numbers[fold == 0] * np.where(side[fold == 0] == 0, 1.0, -1.0)
    np.testing.assert_allclose(fit.losses(), np.maximum(0, -score), atol=1e-4)
    network = fit.network()
    assert len(given) == 5 == len({key for *_, key in given})
    place = np.argsort(numbers)
    for number, (rows, sign, _) in enumerate(given):
        assert len(rows) == len(set(rows.tolist())) == 6 * 512
        assert (fold[place[rows]] != number).all() and len(set(fold[place[rows]])) == 4
        np.testing.assert_array_equal(sign, np.where(side[place[rows]] == 0, 1, -1))
        # The order is random.
        assert 0.4 < np.mean(np.diff(place[rows]) > 0) < 0.6
    assert network.weights[0][0].ravel().tolist() == [10.0, 20.0, 30.0, 40.0, 50.0]
    np.testing.assert_allclose(network.values(outputs, fold), (10 * fold + 10) * numbers)
    np.testing.assert_allclose(network.values(outputs), 30.0 * numbers)
    assert network.plain() == {"kind": "network", "width": 64, "digest": network.digest}


def test_digests_are_eight_hexadecimal_digits_of_all_weights():
    columns = Columns(np.zeros(1), np.ones(1), np.empty(0, int), (np.empty(0),))
    weights = [(np.full((5, 1, 1), 2.0, np.float32), np.zeros((5, 1), np.float32))]
    other = [(weights[0][0], np.full((5, 1), 1e-7, np.float32))]
    digests = {_network.Network(columns, made).digest for made in (weights, other)}
    assert len(digests) == 2 and all(re.fullmatch("[0-9a-f]{8}", digest) for digest in digests)
