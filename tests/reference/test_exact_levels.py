"""Exact levels of pairs: known facts, dense grids, and multi-dimensional outputs."""

import math
from itertools import product

import numpy as np
import pytest

from dpjax import mechanisms, reference
from dpjax.core.types import MixedSpace, VectorSpace
from dpjax.databases import Pairs, query_patterns, shifts
from dpjax.mechanisms import CATALOGUE
from dpjax.reference._levels import _line_level

EPSILONS = (0.2, 0.7, 1.5)

ONE_NUMBER = [
    name
    for name, cls in CATALOGUE.items()
    if not isinstance(cls().output_space, VectorSpace | MixedSpace)
]


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_closed_form_levels(epsilon):
    for b, shift in enumerate(shifts(0.0).neighbor, start=1):
        level = reference.pair_level(mechanisms.Laplace(epsilon), 0.0, shift, (-1, 1))
        # Pairs hold float32, so the mechanism receives a rounded b / 10.
        assert level == pytest.approx(epsilon * b / 10, rel=1e-6)
    assert reference.pair_level(mechanisms.Exponential(epsilon), 1.0, 2.0) == pytest.approx(
        epsilon, rel=1e-12
    )
    assert reference.pair_level(
        mechanisms.Exponential(epsilon), 1.0, 2.0, (0.0, 2.0)
    ) == pytest.approx(epsilon, rel=1e-12)
    sigma = mechanisms.Gaussian(2.0)
    assert reference.pair_level(sigma, 0.0, 1.0, (-3, 3)) == pytest.approx(3.5 / 4, rel=1e-12)
    assert reference.pair_level(sigma, 0.0, 1.0) == math.inf
    assert reference.pair_level(sigma, 1.0, 1.0) == 0


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_continuous_noisy_max_leaks_on_the_left_only(epsilon):
    """Example 1: the loss of 0^k against 1^k is epsilon for t <= 0 and epsilon / k far right."""
    mechanism = mechanisms.ContinuousNoisyMax(epsilon)

    def level(low, high):
        return reference.pair_level(mechanism, np.zeros(3), np.ones(3), (low, high))

    assert level(-1, 1) == pytest.approx(epsilon, rel=1e-12)
    assert level(-9, 0) == pytest.approx(epsilon, rel=1e-12)
    assert level(900, 999) == pytest.approx(epsilon / 3, rel=1e-9)
    t = np.linspace(-9, 0, 50)
    loss = reference.log_density(mechanism, np.zeros(3), t) - reference.log_density(
        mechanism, np.ones(3), t
    )
    np.testing.assert_allclose(loss, epsilon, rtol=1e-12)


@pytest.mark.parametrize("name", ONE_NUMBER)
def test_no_pair_exceeds_the_stated_level(name):
    mechanism = CATALOGUE[name]()
    level = reference.best_level(mechanism, mechanism.standard_pairs())
    assert 0 < level <= mechanism.level + 1e-12
    region = mechanism.standard_region
    assert reference.best_level(mechanism, mechanism.standard_pairs(), region) <= level + 1e-12


def test_levels_that_are_attained():
    """For these mechanisms the standard pairs and region contain the worst case."""
    for name in (
        "laplace two-sided-geometric randomized-response report-noisy-max-2 report-noisy-max-3 "
        "report-noisy-max-4 continuous-noisy-max exponential truncated-laplace truncated-gaussian "
        "noisy-histogram-1 noisy-histogram-2 two-point svt5 truncated-geometric permute-and-flip "
        "one-time-rappor rappor symmetric-unary-encoding optimized-unary-encoding "
        "thresholded-histogram-encoding local-hashing subset-selection"
    ).split():
        mechanism = CATALOGUE[name]()
        level = reference.best_level(
            mechanism, mechanism.standard_pairs(), mechanism.standard_region
        )
        assert level == pytest.approx(mechanism.level, rel=1e-12), name


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_sparse_vector_levels(epsilon):
    pairs = query_patterns(10)
    first_seven = Pairs(pairs.database[:7], pairs.neighbor[:7])
    second = reference.best_level(mechanisms.SVT2(epsilon), pairs)
    assert 0.985 * epsilon < second < epsilon
    assert reference.best_level(mechanisms.SVT2(epsilon), first_seven) < 0.88 * epsilon
    for x in (*pairs.database, *pairs.neighbor):
        np.testing.assert_allclose(
            reference.log_density(mechanisms.SVT1(epsilon), x, np.arange(11)),
            reference.log_density(mechanisms.SVT2(epsilon), x, np.arange(11)),
            rtol=1e-12,
        )
    fourth = mechanisms.SVT4.at_level(epsilon)
    assert 0.999 * epsilon < reference.best_level(fourth, pairs) < epsilon
    assert reference.best_level(mechanisms.SVT5(epsilon), pairs) == math.inf
    assert 3.9 * epsilon < reference.best_level(mechanisms.SVT6(epsilon), pairs) < 5 * epsilon


def test_svt6_supremum_is_approached_and_not_attained():
    """Half of the answers are far above, half far below: no threshold can swap all ten reports."""
    mechanism = mechanisms.SVT6(1.0)
    sides = np.repeat([1.0, -1.0], 5)
    levels = [
        reference.pair_level(mechanism, 1 + far * sides, 1 + (far - 1) * sides)
        for far in (0.5, 2.0, 5.0, 10.0, 20.0)
    ]
    assert np.all(np.diff(levels) > 0)
    assert levels[-2] < levels[-1] < 5
    assert levels[-1] == pytest.approx(5, rel=1e-3)


def test_data_centric_levels_of_figure_5():
    epsilon = 1.5
    noisy_max = mechanisms.ReportNoisyMax(epsilon)
    level = max(
        reference.pair_level(noisy_max, np.zeros(6), np.array(x, float))
        for x in product((0, 1), repeat=6)
    )
    assert level == pytest.approx(0.4951 * epsilon, abs=1e-4)
    maximum = mechanisms.ContinuousNoisyMax(epsilon)
    level = max(
        reference.pair_level(maximum, np.full(3, 0.5), np.array(x))
        for x in product((0, 0.5, 1), repeat=3)
    )
    assert level == pytest.approx(0.5 * epsilon, rel=1e-9)


@pytest.mark.parametrize(
    ("mechanism", "database", "neighbor", "region"),
    [
        (mechanisms.ContinuousNoisyMax(1.5), [0.0, 0.3, 1.0], [0.9, 0.0, 0.4], (-0.7, 1.9)),
        (mechanisms.ReportNoisyMax3(0.7, num_queries=3), [0, 0.3, 1], [1, 0, 0.4], (-1, 9)),
        (mechanisms.Exponential(0.7), 1.2, 1.9, (0.1, 1.3)),
        (mechanisms.TruncatedGaussian(0.3), 0.1, 0.7, (0.2, 0.6)),
        (mechanisms.Gaussian(0.3), 0.1, 0.7, (-2.0, 0.6)),
    ],
)
def test_pair_level_is_the_maximum_of_a_dense_grid(mechanism, database, neighbor, region):
    t = np.linspace(*region, 400_001)
    loss = np.abs(
        reference.log_density(mechanism, database, t)
        - reference.log_density(mechanism, neighbor, t)
    )
    level = reference.pair_level(mechanism, database, neighbor, region)
    assert loss.max() - 1e-12 <= level <= loss.max() + 1e-5


def test_integer_regions():
    mechanism = mechanisms.TwoSidedGeometric(0.7)
    assert reference.pair_level(mechanism, 0, 3) == pytest.approx(2.1, rel=1e-12)
    assert reference.pair_level(mechanism, 0, 3, (1, 2)) == pytest.approx(0.7, rel=1e-12)
    assert reference.pair_level(mechanism, 0, 3, (7, 9)) == pytest.approx(2.1, rel=1e-12)
    finite = mechanisms.FiniteExponential(1.0, num_queries=3)
    scores = ([0.0, 1.0, 1.0], [1.0, 0.0, 0.0])
    whole = reference.pair_level(finite, *scores)
    parts = [reference.pair_level(finite, *scores, (i, i)) for i in range(3)]
    assert whole == max(parts) and parts[0] != parts[1]


# Multi-dimensional outputs.


@pytest.mark.slow
def test_mixed_levels():
    for k in (1, 2, 4):
        third = mechanisms.SVT3(0.7, num_queries=k)
        ones = np.ones(k)
        assert reference.pair_level(third, ones, 2 * ones) == pytest.approx(third.level, rel=1e-9)
    numerical = mechanisms.NumericalSVT(0.7, num_queries=6)
    both = mechanisms.SVT3And4(0.7, num_queries=4)
    pattern = np.eye(6)[-1]
    level = reference.pair_level(numerical, 9 * (1 - pattern), 9 * (1 - pattern) + 1 - 2 * pattern)
    assert 0.99 * numerical.level < level < numerical.level
    # The answers are far above the threshold; the last is far below and changes in reverse.
    pattern = np.eye(4)[-1]
    far = 20 * (1 - 2 * pattern)
    level = reference.pair_level(both, far, far + 1 - 2 * pattern)
    assert 0.999 * both.level < level < both.level
    rng = np.random.default_rng(0)
    for mechanism in (mechanisms.SVT3(0.7, num_queries=4), both):
        for _ in range(3):
            x = rng.normal(1, 2, 4)
            y = x + rng.choice([-1, 0, 1], 4)
            assert reference.pair_level(mechanism, x, y) <= mechanism.level * (1 + 1e-9)


def test_vector_levels():
    """The loss at random outputs approaches the closed form and never exceeds it."""
    rng = np.random.default_rng(0)
    for mechanism, database, neighbor in (
        (mechanisms.ParallelLaplace(0.7), 0.0, 1.0),
        (mechanisms.PrefixSum(0.7), np.ones(3), 2 * np.ones(3)),
        (mechanisms.SummedHistogramEncoding(0.7), 0, 2),
    ):
        level = reference.pair_level(mechanism, database, neighbor)
        assert level == pytest.approx(mechanism.level, rel=1e-12)
        outputs = np.concatenate([rng.normal(size=(500, 3)) * 5, [[9, -9, -9], [-9, -19, -29]]])
        losses = reference.log_density(mechanism, database, outputs) - reference.log_density(
            mechanism, neighbor, outputs
        )
        assert np.abs(losses).max() == pytest.approx(level, rel=1e-12)


def test_regions_are_refused():
    for mechanism in (mechanisms.SVT3(num_queries=3), mechanisms.PrefixSum()):
        database = np.ones(3)
        with pytest.raises(ValueError, match="region must be None for outputs in"):
            reference.pair_level(mechanism, database, database + 1, (0.0, 1.0))
    with pytest.raises(ValueError, match=r"region must be .* low <= high"):
        reference.pair_level(mechanisms.Laplace(), 0.0, 1.0, (1, -1))


def test_signed_levels_cover_both_directions():
    mechanism = mechanisms.SVT3(0.7, num_queries=3)
    x, y = np.array([1.0, 1, 1]), np.array([2.0, 0, 0])
    assert reference.pair_level(mechanism, x, y) == reference.pair_level(mechanism, y, x)


def test_the_level_at_a_single_point_is_the_loss_there():
    laplace = mechanisms.Laplace(1.0)
    sides = np.array(0.0), np.array(1.0)
    assert _line_level(laplace, *sides, lambda t: 3 * np.asarray(t), 0.25, 0.25) == 0.75


@pytest.mark.parametrize(
    ("region", "level"),
    [
        (None, 1000.0), ((500.0, np.inf), 1000.0), ((-np.inf, 500.0), 1000.0),
        ((400.0, 700.0), 400.0), ((500.0, 500.0), 0.0), ((600.0, np.inf), 1000.0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("pair", [(0.0, 1000.0), (1000.0, 0.0)])
def test_databases_far_apart_have_their_distance_as_level(pair, region, level):
    """Laplace noise of scale 1: the loss at t is |t - 1000| - |t|."""
    assert reference.pair_level(mechanisms.Laplace(1.0), *pair, region) == pytest.approx(level)
