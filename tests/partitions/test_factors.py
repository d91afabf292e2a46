"""Linear scores that cancel common factors of many numbers."""

import numpy as np
import pytest
from scipy import sparse

import dpjax
from dpjax.partitions import Outputs
from dpjax.partitions._factors import _LEAST, Factors
from dpjax.partitions._scored import Scored, score_partitions
from dpjax.partitions._scores import Cancelling
from dpjax.partitions._spread import Moments, Spread
from dpjax.sources._learned import lay_best


def drawn(rng, sizes, loadings, shift):
    """Return normal vectors with common factors; the means of the two sides differ by `shift`.

    Args:
        rng: Random number generator.
        sizes: Numbers of outputs.
        loadings: Loadings of the factors, [factors, numbers].
        shift: Difference of the means, [numbers].
    """
    return [
        rng.normal(size=(size, len(loadings))) @ loadings
        + rng.normal(size=(size, len(shift)))
        + shift * side
        for side, size in enumerate(sizes)
    ]


def folds_of(sides):
    return [np.arange(side.shape[0]) % 5 for side in sides]


def fitted(sides):
    folds = folds_of(sides)
    group = np.ones(sides[0].shape[1], bool)
    return Spread.of(sides, folds, Moments.of(sides, folds), [group])


def outputs(values):
    return Outputs(np.zeros(len(values), np.int32), values, np.zeros(len(values), bool))


def by_hand(residuals, gap, errors, number, shrunk):
    """Return weights for standardized numbers from their covariance matrix."""
    covariance = residuals.T @ residuals / len(residuals)
    values, axes = np.linalg.eigh(covariance)
    values, axes = values[::-1], axes[:, ::-1][:, :number]
    alone = values[number:].mean()
    within = axes @ np.diag(values[:number]) @ axes.T
    outside = np.eye(len(gap)) - axes @ axes.T
    share = np.diag(covariance) - np.diag(within) + alone * (1 - np.diag(outside))
    share = np.clip(share + 1 - np.diag(covariance), alone, 1)
    rest = outside @ gap
    limits = shrunk * errors * np.sqrt(share)
    rest = np.sign(rest) * np.maximum(np.abs(rest) - limits, 0)
    return np.linalg.solve(within + alone * outside, outside @ rest + axes @ axes.T @ gap)


@pytest.mark.parametrize("shrunk", [0.0, 1.5])
@pytest.mark.parametrize("thin", [False, True])
@pytest.mark.parametrize("sizes", [(50, 60), (14, 15)])
def test_weights_are_those_of_the_inverse_covariance_matrix(shrunk, thin, sizes):
    rng = np.random.default_rng(1)
    scale = np.geomspace(1e-2, 1e2, 30)
    sides = [side * scale for side in drawn(rng, sizes, rng.normal(size=(2, 30)), np.ones(30))]
    means, deviation = np.array([side.mean(axis=0) for side in sides]), scale * 2
    group = np.arange(30) != 7
    given = [*map(sparse.csr_array, sides)] if thin else sides
    factors = Factors.of(given, folds_of(sides), means, deviation, group)
    gap, errors = rng.normal(size=30) * scale, rng.uniform(0.1, 0.3, 30) * scale
    assert factors.numbers == [16]
    # The smaller one of two matrices of products is decomposed.
    assert (factors.products is None) is (sum(sizes) > 29)
    (found,) = factors.weights(3, gap, errors, [shrunk])

    kept = [
        ((side - mean) / deviation)[fold != 3]
        for side, mean, fold in zip(sides, means, folds_of(sides), strict=True)
    ]
    residuals = np.concatenate(kept)[:, group]
    gap, errors = (gap / deviation)[group], (errors / deviation)[group]
    wanted = by_hand(residuals, gap, errors, 16, shrunk) / deviation[group]
    assert found[7] == 0
    np.testing.assert_allclose(found[group], wanted, rtol=1e-7)


def test_factors_need_several_times_as_many_residuals_and_more_numbers():
    def numbers(size, width):
        sides = np.random.default_rng(0).normal(size=(2, size, width))
        means, deviation = np.zeros((2, width)), np.ones(width)
        factors = Factors.of(sides, folds_of(sides), means, deviation, deviation > 0)
        assert len(factors.rows) <= 1000
        return factors.numbers

    assert numbers(14, 100) == [] and numbers(15, 100) == [16]
    assert numbers(900, 16) == [] and numbers(900, 17) == [16] and numbers(900, 300)[-1] == 256


def test_fresh_outputs_are_told_apart_as_well_as_without_factors():
    # Without the three factors, the scores would be separated by mu^2 / sqrt(mu^2 + 2 d / n) = 4.2
    # standard deviations; see test_spread. Standard error of the difference of means: 0.032.
    rng = np.random.default_rng(2)
    shift = rng.normal(size=1000)
    shift *= 5 / np.linalg.norm(shift)
    loadings = rng.choice([-1.0, 1.0], (3, 1000))
    score = fitted(drawn(rng, (200, 200), loadings, shift))
    x, y = (score.scores(side).mean(axis=1) for side in drawn(rng, (2000, 2000), loadings, shift))
    wanted = 25 / np.sqrt(25 + 2 * 1000 / 200)
    found = (x.mean() - y.mean()) / np.sqrt((x.var() + y.var()) / 2)
    assert wanted - 0.4 < found < wanted + 0.16


def test_sparse_numbers_have_the_same_scores():
    rng = np.random.default_rng(3)
    rates = 0.3 * np.exp(rng.normal(size=(160, 1)) * rng.normal(size=400) / 2)
    rates[80:, :50] *= 2
    counts = rng.poisson(rates).astype(float)
    dense = fitted([counts[:80], counts[80:]])
    thin = fitted([*map(sparse.csr_array, (counts[:80], counts[80:]))])
    np.testing.assert_allclose(thin.weights, dense.weights, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("width", [100, 1500])
def test_differences_outside_of_all_factors_are_found(width):
    """Outputs are linear functions of three random numbers, up to a small mark in a fixed place."""
    rng = np.random.default_rng(4)
    mark = 1e-3 * rng.normal(size=width)
    loadings = rng.normal(size=(3, width))
    sides = [rng.normal(size=(150, 3)) @ loadings + side * mark for side in range(2)]
    score = fitted(sides)
    x, y = (rng.normal(size=(500, 3)) @ loadings + side * mark for side in range(2))
    x, y = (score.scores(rows).mean(axis=1) for rows in (x, y))
    assert x.min() > y.max()
    assert 0 < _LEAST < 1e-9


def test_outputs_that_are_constant_apart_from_one_factor():
    """Weights are finite if the factor explains all numbers."""
    rng = np.random.default_rng(5)
    sides = [np.outer(rng.normal(size=60) + 3 * side, np.ones(40)) for side in range(2)]
    score = fitted(sides)
    assert np.isfinite(score.weights).all()
    x, y = (score.scores(side).mean(axis=1) for side in sides)
    assert (x.mean() - y.mean()) / x.std() > 2


def test_scores_of_vectors_cancel_factors():
    rng = np.random.default_rng(6)
    pilot = [outputs(side) for side in drawn(rng, (90, 90), np.full((1, 200), 5.0), np.zeros(200))]
    pilot[1].values[:, :40] += 1.0
    folds = [np.arange(90) % 5] * 2
    (score,) = cancelling(pilot)
    spread = fitted([side.values for side in pilot])
    each = spread.scores(pilot[0].values)
    held = np.take_along_axis(each, folds[0][:, None], axis=1)[:, 0]
    fresh, kept = score.values(pilot[0]), score.values(pilot[0], folds[0])
    np.testing.assert_allclose(kept, held, atol=1e-4)
    np.testing.assert_allclose(fresh, each.mean(axis=1), atol=1e-4)
    names = ", ".join(map(str, spread.largest))
    assert score.words(False) == f"the linear score of the entries {names} and 197 more"
    assert score.words(True).count("x") == np.count_nonzero(score.mean) == 200
    constant = score.plain()["constant"]
    assert score.words(True).endswith(f" {'-' if constant < 0 else '+'} {abs(constant):g}")
    np.testing.assert_allclose(pilot[0].values @ score.mean + constant, fresh, atol=1e-4)


def cancelling(pilot):
    """Return the scores that cancel factors; there is at most one."""
    folds = [np.arange(len(side.labels)) % 5 for side in pilot]
    cells = score_partitions(pilot, folds, ["a number", "no number"])
    return [each.score for each in cells if isinstance(each.score, Cancelling)]


@pytest.mark.parametrize("mean", [1e4, 1e8])
def test_scores_are_precise_if_means_are_large(mean):
    sides = drawn(np.random.default_rng(9), (90, 90), np.ones((1, 60)), np.full(60, 0.5))
    usual, shifted = ([outputs(side + added) for side in sides] for added in (0, mean))
    for one, other in zip(usual, shifted, strict=True):
        (wanted,), (found,) = cancelling(usual), cancelling(shifted)
        np.testing.assert_allclose(found.values(other), wanted.values(one), atol=1e-3)


@pytest.mark.parametrize("size", [1e-159, 1e-60])
def test_scores_of_fresh_outputs_do_not_overflow(size):
    """There is no score of numbers that hardly differ from 0."""
    sides = drawn(np.random.default_rng(10), (80, 80), np.ones((1, 60)), np.full(60, 0.5))
    scores = cancelling([outputs(side * size) for side in sides])
    assert len(scores) == (size > 1e-100)
    for score in scores:
        assert np.isfinite(score.values(outputs(np.full((1, 60), 1e300)))).all()


@pytest.mark.parametrize(("promised", "wins"), [(1.02, True), (0.98, False)])
def test_the_better_one_of_two_linear_scores_is_chosen(promised, wins):
    """Other scores must promise much more than a simpler one."""
    rng = np.random.default_rng(6)
    pilot = [outputs(side) for side in drawn(rng, (90, 90), np.full((1, 60), 5.0), np.ones(60))]

    def promise(cells, halves, number):
        if not isinstance(cells, Scored):
            return 0.1
        return promised if isinstance(cells.score, Cancelling) else 1.0

    found = lay_best(pilot, [np.arange(90) % 5] * 2, ["a number"], promise)
    assert isinstance(found.score, Cancelling) is wins


def test_labels_alone_are_not_vectors_of_zeros():
    rng = np.random.default_rng(7)
    sides = [side + 50 for side in drawn(rng, (80, 80), np.zeros((1, 60)), np.full(60, 0.6))]
    pilot = [outputs(side) for side in sides]

    (usual,) = cancelling(pilot)
    none = Outputs(np.ones(20, np.int32), np.zeros((20, 60)), np.ones(20, bool))
    pilot[1] = Outputs(*map(np.concatenate, zip(pilot[1], none, strict=True)))
    (score,) = cancelling(pilot)
    np.testing.assert_allclose(score.mean, usual.mean)


@pytest.mark.slow
@pytest.mark.parametrize("width", [300, 1500])
def test_an_audit_finds_a_difference_beside_common_factors(width):
    # The oracle, which knows the factors, separates the sides by 5 standard deviations.
    rng = np.random.default_rng(8)
    shift = rng.normal(size=width)
    shift *= 5 / np.linalg.norm(shift)
    sides = drawn(rng, (800, 800), rng.normal(size=(3, width)), shift)
    notion = dpjax.Epsilon(delta=0.01)
    result = dpjax.audit(dpjax.Recorded(*sides), notion=notion, confidence=0.95)
    assert result.lower_bound > 3
