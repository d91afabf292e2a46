"""The least extreme counts, compared with a search through all counts."""

import numpy as np
import pytest

from dpjax.inference._extreme import least_larger
from dpjax.inference._hypotheses import Difference, Ratio
from dpjax.inference._shift import Shift


@pytest.mark.parametrize(
    "hypothesis", [Ratio(), Ratio(0.01), Ratio(1e-3, 3), Shift(), Difference(2)], ids=str
)
@pytest.mark.parametrize("trials", [(40, 70), (3000, 2000)])
def test_the_least_counts_by_a_search_through_all(hypothesis, trials):
    random, smaller = np.random.default_rng(7), np.arange(trials[1] + 1)
    for _ in range(12):
        counts = int(random.integers(1, trials[0] + 1)), int(random.integers(0, trials[1] + 1))
        quantile = float(random.choice([0.5, 1.6, 3.1, 7.0]))
        observed = float(hypothesis.order(*counts, trials, quantile))
        few = np.unique(random.choice(smaller, 25))
        every = hypothesis.order(np.arange(trials[0] + 1)[:, None], few, trials, quantile)
        reached = every >= observed - 1e-12
        expected = np.where(reached.any(axis=0), reached.argmax(axis=0), trials[0] + 1)
        found = least_larger(hypothesis, few, observed, counts, trials, quantile)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("hypothesis", [Ratio(), Ratio(0.01), Ratio(1e-3, 3)], ids=str)
def test_secant_steps_replace_bisection(hypothesis):
    """A bisection of 3,001 counts alone evaluates the order 12 times."""
    evaluated = []

    class Counted:
        def order(self, *arguments):
            evaluated.append(arguments)
            return hypothesis.order(*arguments)

    counts, trials = (900, 400), (3000, 2000)
    observed = float(hypothesis.order(*counts, trials, 1.6))
    found = least_larger(Counted(), np.arange(320, 480), observed, counts, trials, 1.6)
    assert found[400 - 320] == 900
    assert len(evaluated) < 8
