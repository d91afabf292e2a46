"""Slopes of the log odds of a normal probability, compared with differences."""

from itertools import pairwise

import numpy as np
from scipy import special, stats

from dpjax.inference._shift import _slopes


def test_slopes_between_points_are_the_least_and_the_greatest_of_many():
    x = np.array([-3.0, -2.0, -0.5, 1.0, 2.0, 4.0])
    least, greatest = _slopes(x)
    for i, (low, high) in enumerate(pairwise(x)):
        between, step = np.linspace(low, high, 201), 1e-4
        ends = (special.logit(stats.norm.cdf(between + side * step)) for side in (1, -1))
        slopes = np.subtract(*ends) / (2 * step)
        assert np.isclose(least[i], slopes.min(), rtol=1e-3)
        assert np.isclose(greatest[i], slopes.max(), rtol=1e-3)
