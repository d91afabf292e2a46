"""How fresh draws are divided between the sides of an event."""

import numpy as np
import pytest

from dpjax.inference import Difference, Ratio, Shift, divided, event_lower_bound, size_ratio

STEP = 2 ** (1 / 8)
"""Ratios are rounded to powers of 2^(1/4), so by half of such a step at most."""


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
    """The mean bound at p = 0.02, q = 0.0005 and N = 50,000 is 3.43, and 3.38 with equal sizes."""
    rng, means = np.random.default_rng(0), []
    for ratio in (1.0, float(size_ratio(0.02, 0.0005, Ratio()))):
        sizes = [int(n) for n in divided(ratio, 50_000)]
        counts = [rng.binomial(n, p, 60) for n, p in zip(sizes, (0.02, 0.0005), strict=True)]
        means.append(event_lower_bound(*counts, *sizes, 0.95).mean())
    # The standard error of each mean is 0.02.
    assert means[1] > means[0] - 0.05 and means[1] == pytest.approx(3.428, abs=0.1)
