"""Faulty trainings are refuted, and correct ones are not; benchmarks/training.py runs all."""

import pytest

from corpus.training import TRAININGS

FAST = "noise not times the clip"


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(entry, id=entry.name, marks=[] if entry.name == FAST else [pytest.mark.slow])
        for entry in TRAININGS
    ],
)
def test_the_wrong_are_refuted_and_the_right_are_not(entry):
    """At confidence 1 - 1e-5, a correct training is refuted with probability 1e-5."""
    assert entry.audit(wrong=True, seed=0).verdict == "violated"
    assert entry.audit(wrong=False, seed=0, confidence=1 - 1e-5).verdict == "not refuted"


def test_names_are_unique():
    assert len({entry.name for entry in TRAININGS}) == len(TRAININGS) == 9
