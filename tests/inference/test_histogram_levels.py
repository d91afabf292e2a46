"""Levels from counts, compared with loops and with exact distributions; the blind spot."""

import math

import numpy as np
import pytest

from dpjax.inference import (
    blind_spot,
    ldp_levels,
    renyi_levels,
    unseen_log_rarity,
    unseen_probability,
)
from dpjax.reference import ExactTruncatedGaussian, ExactTruncatedLaplace

PAIRS = [(0, 1), (0, 2), (2, 1)]


def naive_ldp(first, second):
    return max(abs(math.log(a / b)) for a, b in zip(first, second, strict=True))


def naive_renyi(first, second, order):
    n = sum(first)
    one = sum(m * (a / m) ** order for a, m in zip(first, second, strict=True)) / n
    other = sum(a * (m / a) ** order for a, m in zip(first, second, strict=True)) / n
    return math.log(max(one, other)) / (order - 1)


@pytest.fixture
def counts():
    rng = np.random.default_rng(2)
    return rng.multinomial(10_000, rng.dirichlet(np.full(7, 5.0), size=3), size=(4, 3))


def test_levels_are_the_loops_of_algorithms_1_and_3(counts):
    ldp, renyi = ldp_levels(counts, PAIRS), renyi_levels(counts, PAIRS, 2.5)
    assert ldp.shape == renyi.shape == (4, 3)
    assert not np.ma.getmaskarray(ldp).any()
    for run in range(4):
        for place, (i, j) in enumerate(PAIRS):
            a, b = counts[run, i].tolist(), counts[run, j].tolist()
            assert ldp[run, place] == pytest.approx(naive_ldp(a, b))
            assert renyi[run, place] == pytest.approx(naive_renyi(a, b, 2.5))


def test_a_pair_with_an_empty_interval_has_no_level(counts):
    counts[1, 2, 3] += counts[1, 2, 4]
    counts[1, 2, 4] = 0
    for levels in (ldp_levels(counts, PAIRS), renyi_levels(counts, PAIRS, 2.0)):
        mask = np.ma.getmaskarray(levels)
        assert mask.tolist() == [[False] * 3, [False, True, True], [False] * 3, [False] * 3]
        # Reductions skip failed estimates.
        assert levels.max(axis=-1)[1] == levels[1, 0]
    counts[1, 0, 0] += counts[1, 0, 1]
    counts[1, 0, 1] = 0
    assert ldp_levels(counts, PAIRS).max(axis=-1).tolist()[1] is None


def test_levels_do_not_overflow_at_1e13_samples_and_high_order():
    counts = np.array([[4 * 10**12, 6 * 10**12], [7 * 10**12, 3 * 10**12]])
    level = renyi_levels(counts, [(0, 1)], 300.0)[0]
    assert level == pytest.approx(
        max(
            (300 * math.log(2) + math.log(0.3)) / 299,
            (300 * math.log(7 / 4) + math.log(0.4)) / 299,
        ),
        rel=1e-9,
    )


@pytest.mark.parametrize("law", [ExactTruncatedLaplace(1.0), ExactTruncatedGaussian(0.6)], ids=str)
def test_counts_without_chance_give_the_exact_levels_within_the_interval_width(law):
    """With expected counts, only the discretization error is left; it decreases with the width."""
    errors = []
    for num_intervals in (50, 400):
        edges = np.linspace(0, 1, num_intervals + 1)
        counts = np.rint(1e12 * np.stack([np.diff(law.cdf(x, edges)) for x in (0.0, 1.0)]))
        counts[:, 0] += 1e12 - counts.sum(-1)
        ldp = ldp_levels(counts, [(0, 1)])[0] - law.epsilon
        renyi = renyi_levels(counts, [(0, 1)], 3.0)[0] - law.pair_renyi(0, 1, 3.0)
        errors.append((abs(ldp), abs(renyi)))
    assert max(errors[0]) < 0.03
    assert all(fine < coarse / 3 for coarse, fine in zip(*errors, strict=True))


def test_unseen_events_are_as_rare_as_stated():
    p = unseen_probability(1_000, 0.3)
    assert (1 - p) ** 1_000 == pytest.approx(0.3)
    rare = math.exp(-unseen_log_rarity(5_000, 0.95))
    assert (1 - rare) ** 10_000 == pytest.approx(0.95)
    assert f"{unseen_probability(10_000, 0.05):.1e}" in blind_spot(10_000)
    with pytest.raises(ValueError, match="num_samples must be an integer >= 1"):
        unseen_probability(0)
    with pytest.raises(ValueError, match="chance must lie strictly between 0 and 1"):
        unseen_probability(10, 1.0)
    with pytest.raises(ValueError, match="seen 'rows' is not known"):
        blind_spot(10, "rows")


@pytest.mark.parametrize("chance", [0.0, 1.0, -1.0, 2.0])
def test_chances_that_are_none_are_refused(chance):
    with pytest.raises(ValueError, match="chance must lie strictly between 0 and 1"):
        unseen_probability(10, chance)
