"""The regression corpus with a few fixed seeds; benchmarks/corpus.py runs it with twenty."""

import pytest

from corpus import CORPUS, most_false_refutations

SEEDS = range(2)
FAST = (
    "report noisy max 3",
    "Laplace, scale taken for a deviation",
    "textbook Laplace, by its bits",
    "mean that crashes without records",
    "report noisy max 2",
    "snapped Laplace, by its bits",
    "mean without a crash",
    "two counts, two keys",
)
"""A faulty and a correct mechanism of each kind, so that the fast tests cover all kinds."""

ENTRIES = [
    pytest.param(entry, id=entry.name, marks=[] if entry.name in FAST else [pytest.mark.slow])
    for entry in CORPUS
]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("entry", ENTRIES)
def test_the_wrong_are_refuted_and_the_right_are_not(entry):
    """A correct entry is refuted for both seeds with probability at most 1e-4; fixed seeds."""
    seeds = SEEDS[:1] if entry.wrong else SEEDS
    refuted = [entry.audit(seed).verdict == "violated" for seed in seeds]
    assert all(refuted) == entry.wrong


def test_the_allowance_is_that_of_the_confidence():
    """P(more than 4 of 20 at 1%) = 1.3e-6; P(more than 3) = 4.3e-5."""
    assert most_false_refutations(20) == 4


def test_names_are_unique_and_budgets_are_stated():
    names = {entry.name for entry in CORPUS}
    assert len(names) == len(CORPUS) and names >= set(FAST)
    assert all(entry.budget > 0 for entry in CORPUS)
