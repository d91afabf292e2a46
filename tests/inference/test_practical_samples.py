"""The number of samples needed in practice, compared with the paper's within a factor of 2.

Counts are drawn instead of outputs, because their distribution is multinomial. With 1000 runs, the
standard deviation of a fraction is at most 0.016. At half and at twice the printed n, the fractions
differ from the confidence by more than 0.09, so a false alarm has probability below 1e-8.
"""

import numpy as np
import pytest

from dpjax.inference import ldp_levels, renyi_levels
from dpjax.reference import ExactTruncatedLaplace


def share_within(scale, num_intervals, num_samples, precision, order):
    law = ExactTruncatedLaplace(scale)
    rng = np.random.default_rng(num_samples)
    edges = np.linspace(0, 1, num_intervals + 1)
    rows = [np.diff(law.cdf(x, edges)) for x in (0.0, 1.0)]
    counts = np.stack([rng.multinomial(num_samples, r / r.sum(), size=1000) for r in rows], 1)
    if order is None:
        error = ldp_levels(counts, [(0, 1)])[:, 0] - law.epsilon
    else:
        error = renyi_levels(counts, [(0, 1)], order)[:, 0] - law.pair_renyi(0, 1, order)
    return (np.abs(error) <= precision).filled(False).mean()


@pytest.mark.parametrize(
    ("scale", "num_intervals", "printed", "precision", "order"),
    [
        (2.0, 12, 262, 0.5, None),
        (2.0, 56, 25_600, 0.1, None),
        (1 / 0.7, 23, 575, 0.5, None),
        (1.0, 91, 4_000, 0.5, None),
        (0.5, 100, 2_600, 1.0, None),
        (5.0, 29, 831, 0.1, 2.0),
        (3.0, 20, 150, 0.5, 2.0),
        (2.0, 81, 650, 0.5, 2.0),
        (1.5, 195, 1_800, 1.0, 2.0),
    ],
)
def test_printed_practical_number_within_a_factor_of_2(
    scale, num_intervals, printed, precision, order
):
    confidence = 0.8 if order is None else 0.9
    given = (precision, order)
    assert share_within(scale, num_intervals, printed // 2, *given) < confidence - 0.09
    assert share_within(scale, num_intervals, 2 * printed, *given) > confidence + 0.09
