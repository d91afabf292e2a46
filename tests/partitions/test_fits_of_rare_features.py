"""Fits of features that few outputs have, compared with a general minimizer."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from dpjax.partitions import _scores
from dpjax.partitions._scores import _Logistic

RIDGE = 10.0


def rare(size=6000, features=40):
    """A table of features that about one output in 150 has, with heavy tails, and sides."""
    rng = np.random.default_rng(1)
    table = np.where(rng.random((size, features)) < 1 / 150, rng.standard_t(2, (size, features)), 0)
    table = np.clip(25 * table, -25, 25).astype(np.float32)
    odds = 0.3 * table[:, :10].sum(axis=1)
    return table, (rng.random(size) < expit(odds)).astype(int)


def deviance(weights, table, spread, side, used):
    """Twice the negative log likelihood with the penalty, and its gradient."""
    scaled = table[used] / spread
    line, sides = scaled @ weights[:-1] + weights[-1], side[used]
    loss = np.sum(np.logaddexp(0, line) - sides * line) + RIDGE / 2 * np.sum(weights[:-1] ** 2)
    error = expit(line) - sides
    return 2 * loss, 2 * np.append(scaled.T @ error + RIDGE * weights[:-1], error.sum())


@pytest.mark.parametrize("curved", [2**15, 100])
def test_fits_end_near_the_maximum(monkeypatch, curved):
    """The first fit may use 100 outputs, in which most features do not occur."""
    monkeypatch.setattr(_scores, "_CURVED", curved)
    table, side = rare()
    spread, fold = table.std(axis=0), np.arange(len(table)) % 5
    fit = _Logistic(table, spread, side, RIDGE)
    fits = [fit.weights, *fit.without(fold[:, None] == np.arange(5))]
    for weights, used in zip(fits, [fold >= 0, *(fold != k for k in range(5))], strict=True):
        given = table.astype(float), spread.astype(float), side, used
        best = minimize(deviance, np.zeros(41), given, jac=True, method="BFGS", tol=1e-6).fun
        # The stopping rule: at most a hundredth per feature, where chance changes it by one.
        assert 0 <= deviance(weights, *given)[0] - best + 1e-6 < 0.01 * 40
