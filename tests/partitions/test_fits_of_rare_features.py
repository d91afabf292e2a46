"""Fits of features that few outputs have, compared with a general minimizer."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from dpjax.partitions import Outputs, _logistic
from dpjax.partitions._features import Columns, Features
from dpjax.partitions._logistic import Logistic

RIDGE = 10.0


def rare(size=6000, features=40):
    """Return a table of features that about one output in 150 has, with heavy tails, and sides."""
    rng = np.random.default_rng(1)
    table = np.where(rng.random((size, features)) < 1 / 150, rng.standard_t(2, (size, features)), 0)
    table = np.clip(25 * table, -25, 25).astype(np.float32)
    odds = 0.3 * table[:, :10].sum(axis=1)
    return table, (rng.random(size) < expit(odds)).astype(int)


def deviance(weights, table, spread, side, used):
    """Return twice the negative log likelihood with the penalty, and its gradient."""
    scaled = table[used] / spread
    line, sides = scaled @ weights[:-1] + weights[-1], side[used]
    loss = np.sum(np.logaddexp(0, line) - sides * line) + RIDGE / 2 * np.sum(weights[:-1] ** 2)
    error = expit(line) - sides
    return 2 * loss, 2 * np.append(scaled.T @ error + RIDGE * weights[:-1], error.sum())


@pytest.mark.slow
@pytest.mark.parametrize("curved", [2**15, 100])
def test_fits_end_near_the_maximum(monkeypatch, curved):
    """The first fit may use only 100 outputs, in which most features do not occur."""
    monkeypatch.setattr(_logistic, "_CURVED", curved)
    table, side = rare()
    spread, fold = table.std(axis=0), np.arange(len(table)) % 5
    fit = Logistic(table, np.zeros(40), spread, side, fold, RIDGE)
    fits = [fit.weights, *fit.without_each_fold()]
    for weights, used in zip(fits, [fold >= 0, *(fold != k for k in range(5))], strict=True):
        given = table.astype(float), spread.astype(float), side, used
        best = minimize(deviance, np.zeros(41), given, jac=True, method="BFGS", tol=1e-6).fun
        # The stopping rule is a hundredth per feature, while chance changes it by one.
        assert 0 <= deviance(weights, *given)[0] - best + 1e-6 < 0.01 * 40


def test_features_of_integers_that_nearly_add_up_to_a_constant_can_be_fitted():
    """Five counts with geometric noise.

    Their indicators nearly add up to 1, and have means of up to 34 standard deviations. Without
    centring, the Hessian in float32 has a negative eigenvalue for nine of ten seeds.
    """
    rng = np.random.default_rng(0)
    side = np.repeat([0, 1], 15_000)
    noise = [rng.geometric(1 - np.exp(-2), (30_000, 5)) for _ in range(2)]
    values = np.asarray(noise[0] - noise[1] + side[:, None], float)
    outputs = Outputs(np.zeros(30_000, np.int32), values, np.zeros(30_000, bool))
    features = Features.of("additive", Columns.of(outputs), outputs)
    table = features(outputs, np.float32)
    mean, spread = table.mean(axis=0, dtype=float), table.std(axis=0, dtype=float)
    fit = Logistic(table, mean, spread, side, np.arange(30_000) % 5, 3.0)
    scaled = (table - mean) / spread
    chance = expit(scaled @ fit.weights[:-1] + fit.weights[-1])
    slope = np.append(scaled.T @ (chance - side) + 3.0 * fit.weights[:-1], np.sum(chance - side))
    features = np.column_stack([scaled, np.ones(30_000)])
    curvature = (features * (chance * (1 - chance))[:, None]).T @ features
    curvature[np.arange(table.shape[1]), np.arange(table.shape[1])] += 3.0
    # The gain of another Newton step is less than a hundredth per feature.
    assert slope @ np.linalg.solve(curvature, slope) < 0.01 * table.shape[1]


def test_outputs_of_a_fold_leave_no_trace_in_the_fit_without_the_fold():
    """Each of 300 features belongs to four outputs of one fold on the same side."""
    rng = np.random.default_rng(3)
    fold = np.arange(6000) % 5
    side = rng.integers(0, 2, 6000)
    table = np.zeros((6000, 300), np.float32)
    for feature, column in enumerate(table.T):
        candidates = (fold == feature % 5) & (side == feature // 5 % 2)
        column[rng.choice(np.flatnonzero(candidates), 4, replace=False)] = 1
    fit = Logistic(table, table.mean(axis=0), table.std(axis=0), side, fold, 3.0)
    owner, without = np.arange(300) % 5, fit.without_each_fold()
    # All outputs outside of the fold have 0 in this column, so only the penalty remains.
    own = np.array([without[owner[feature], feature] for feature in range(300)])
    others = np.array([without[(owner[feature] + 1) % 5, feature] for feature in range(300)])
    assert np.abs(own).max() < 0.02 * np.abs(others).min()


def test_curvatures_are_those_of_all_folds_if_outputs_are_skipped(monkeypatch):
    """Every sixth row is in another fold; every fifth row would always be in the same fold."""
    monkeypatch.setattr(_logistic, "_CURVED", 1000)
    rng = np.random.default_rng(4)
    table, side = rng.normal(size=(6000, 3)), rng.integers(0, 2, 6000)
    fold = np.arange(6000) % 5
    for operations, skipped in ((1e9, 1), (15_000, 4), (12_000, 4), (1, 6)):
        monkeypatch.setattr(_logistic, "_OPERATIONS", operations)
        fit = Logistic(table, np.zeros(3), np.ones(3), side, fold, 1.0)
        assert fit._skipped == skipped
        found = fit._curvatures_at(np.zeros(4))
        used = table[::skipped], fold[::skipped]
        for number in range(5):
            features = np.column_stack([used[0], np.ones(len(used[1]))])[used[1] == number]
            np.testing.assert_allclose(found[number], skipped * features.T @ features / 4)
