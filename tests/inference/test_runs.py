"""The distribution of the number of runs, compared with enumeration and SciPy."""

import itertools

import numpy as np
import pytest
from scipy.stats import hypergeom

from dpjax.inference import few_runs_p_value


@pytest.mark.parametrize("size", range(2, 11))
def test_by_enumeration(size):
    for ones in range(1, size):
        orders = np.zeros((0, size), bool)
        for places in itertools.combinations(range(size), ones):
            order = np.zeros((1, size), bool)
            order[0, list(places)] = True
            orders = np.concatenate([orders, order])
        runs = orders[:, 0] + np.count_nonzero(orders[:, 1:] & ~orders[:, :-1], axis=1)
        for number in range(size + 1):
            found = few_runs_p_value(number, size, ones)
            assert found == pytest.approx(np.mean(runs <= number), rel=1e-12)


@pytest.mark.parametrize("size", [50, 1_000, 12_345, 1_000_000])
@pytest.mark.parametrize("share", [0.001, 0.03, 0.3, 0.5, 0.8, 0.999])
def test_beside_scipy(size, share):
    """Far into both tails; logarithms of factorials lose some digits for a million outputs."""
    ones = min(max(round(share * size), 2), size - 1)
    law = hypergeom(size, size - ones + 1, ones)
    for deviations in (-12, -6, -3, -1, -0.1, 0, 0.1, 1, 3, 6):
        number = int(np.clip(round(law.mean() + deviations * law.std()), 0, ones))
        expected = law.cdf(number)
        if expected > 1e-250:
            found = few_runs_p_value(number, size, ones)
            assert found == pytest.approx(expected, rel=1e-7), deviations
