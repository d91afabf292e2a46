"""How fresh draws are divided between the sides of an event."""

import numpy as np
import pytest
from scipy import stats

from dpjax.inference import (
    Difference,
    Ratio,
    Shared,
    Shift,
    choose_event,
    divided,
    event_lower_bound,
    size_ratio,
)
from dpjax.inference._events import best_ratio

STEP = 2 ** (1 / 8)
"""Ratios are rounded to powers of 2^(1/4), so by at most half of such a step."""


@pytest.mark.parametrize(
    ("hypothesis", "p", "q", "ratio"),
    [
        # sqrt((1 / q - 1) / (1 / p - 1)), times (p - delta) / p.
        (Ratio(), 0.02, 0.0005, np.sqrt(1999 / 49)),
        (Ratio(), 0.01, 0.00135, np.sqrt((1 / 0.00135 - 1) / 99)),
        (Ratio(0.004), 0.01, 0.00135, 0.6 * np.sqrt((1 / 0.00135 - 1) / 99)),
        (Ratio(), 0.5, 0.4, np.sqrt(1.5)),
        (Ratio(), 0.9, 1e-6, 8.0),
        (Difference(), 0.7, 0.3, 1.0),
        (Difference(), 0.5, 0.01, np.sqrt(0.01 * 0.99 / 0.25)),
        (Difference(), 0.5, 1e-5, 1 / 8),
        (Shift(), 0.7, 0.3, 1.0),
        (Ratio(), 1.0, 1.0, 1.0),
    ],
)
def test_ratios_are_those_of_the_standard_errors(hypothesis, p, q, ratio):
    found = float(size_ratio(p, q, hypothesis))
    assert ratio / STEP <= found * (1 + 1e-9) and found <= ratio * STEP * (1 + 1e-9)


def test_sizes_add_up_to_the_total():
    for mean in (1, 2, 7, 50_000):
        first, second = divided([1 / 8, 1.0, 8.0], mean)
        assert np.all(first + second == 2 * mean) and min(first.min(), second.min()) >= 1
    assert [int(n[2]) for n in divided([1 / 8, 1.0, 8.0], 4_500)] == [1_000, 8_000]


def test_rare_events_gain():
    """For p = 0.02, q = 0.0005 and N = 50,000, the mean bound is 3.43, or 3.38 for equal sizes."""
    rng, means = np.random.default_rng(0), []
    for ratio in (1.0, float(size_ratio(0.02, 0.0005, Ratio()))):
        sizes = [int(n) for n in divided(ratio, 50_000)]
        counts = [rng.binomial(n, p, 60) for n, p in zip(sizes, (0.02, 0.0005), strict=True)]
        means.append(event_lower_bound(*counts, *sizes, 0.95).mean())
    # The standard error of each mean is 0.02.
    assert means[1] > means[0] - 0.05 and means[1] == pytest.approx(3.428, abs=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(("p", "q", "mean"), [(0.02, 0.0005, 2.281), (0.01, 0.00135, 1.038)])
def test_sizes_of_a_known_event_reach_the_bound_at_expected_counts(p, q, mean):
    """The mean over the binomial distributions of 2,000 draws is at least 0.99 of this bound."""
    sizes = [int(n) for n in divided(best_ratio(p, q, Shared(2_000), 0.95, Ratio()), 2_000)]
    laws = [stats.binom(n, share) for n, share in zip(sizes, (p, q), strict=True)]
    first, second = (np.arange(law.ppf(1e-6), law.isf(1e-6) + 1).astype(int) for law in laws)
    bounds = event_lower_bound(first[:, None], second, *sizes, 0.95)
    assert laws[0].pmf(first) @ bounds @ laws[1].pmf(second) > 0.99 * mean


@pytest.mark.slow
def test_sizes_of_an_event_that_was_searched():
    """At least 0.96 of the same bound, minus 4.3 standard errors of 1,000 audits.

    There are 2,000 search draws per side. At most 4 of 1,000 audits miss the rare outcome, whose
    average counts are 20 and 2.7.
    """
    shares, rng = (0.01, 0.00135), np.random.default_rng(4)
    law = np.array([[share, 1 - share] for share in shares])
    halves = rng.multinomial(1_000, law, (2, 1_000, 2))
    event = choose_event(halves[0], Shared(2_000), 0.95, judge=halves[1], ordered=False)
    found = (event.larger == 0) & event.cells[:, 0] & ~event.cells[:, 1]
    assert np.count_nonzero(~found) <= 4
    sizes, bounds = np.stack(divided(event.ratio, 2_000), axis=1), np.zeros(1_000)
    counts = rng.binomial(sizes, shares)
    for first, second in np.unique(sizes, axis=0).tolist():
        same = found & (sizes[:, 0] == first)
        bounds[same] = event_lower_bound(*counts[same].T, first, second, 0.95)
    assert bounds.mean() > 0.96 * 1.038 - 4.3 * bounds.std() / np.sqrt(1_000)
