"""Coverage of the band for known distributions; false alarms depend only on the seed."""

import numpy as np
import pytest

from benchmarks.notions import ERROR, laws, misses, svt_law, truth_of

LAWS = laws()


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("geometric 1", {0: 1.0, 2: 0.9986312, 3: 0.9291547, 4: 1.232035, -4: 0.7353257}),
        ("randomised response 1", {0: 1.0, 2: 0.9986312, 4: 1.232035, -1: 0.4621172}),
        ("SVT, 11 outcomes", {0: 1.221, 4: 0.499, -4: 0.110, -1: 0.100}),
    ],
)
def test_truths_are_those_of_the_laws(name, known):
    truth = truth_of(LAWS[name])
    for place, expected in known.items():
        assert truth[place] == pytest.approx(expected, abs=6e-4 if "SVT" in name else 6e-7)


def test_outcomes_of_the_sparse_vector_technique_are_all_there():
    law = svt_law(np.repeat([0.0, 1.0], 5))
    assert law.shape == (11,) and law.sum() == pytest.approx(1) and np.all(law > 0)


@pytest.mark.parametrize("name", ["Laplace 1", "200-ary response 3"])
def test_few_audits_miss(name):
    """If each of 100 audits misses with 0.05, more than 18 do with probability 1e-6."""
    broken, wrong = misses(LAWS[name], 1_000, 100, 1, checked=3)
    assert wrong <= broken <= 0.18


@pytest.mark.slow
@pytest.mark.parametrize("size", [1_000, 50_000])
@pytest.mark.parametrize("name", LAWS)
def test_misses_of_2000_audits_are_no_more_than_allowed(name, size):
    """Levels of all notions, orders and deltas; more than 0.0715 have probability 1e-5."""
    broken, wrong = misses(LAWS[name], size, 2_000, 7, enough=ERROR)
    assert wrong <= ERROR and broken <= 0.0715
