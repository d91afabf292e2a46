"""Choices for many pairs equal those for each pair alone, for all divisions into batches."""

import numpy as np
import pytest

from dpjax.inference import Ratio, Rivals, choose_event
from dpjax.notions import _asked
from dpjax.notions._asked import Asked, chosen, promised
from dpjax.partitions import Budget, Partition, Search

HYPOTHESIS, CONFIDENCE, SIZE = Ratio(1e-3), 0.93, 4_000
BUDGET = Budget(SIZE, CONFIDENCE, num_rivals=3, num_partitions=2)


def labels(number, *, ordered=True):
    """Return a partition of labels; the last label stands for all other labels."""
    nothing = (np.empty(0),)
    names = tuple(map(str, range(number - 1)))
    return Partition(names, nothing, nothing, np.empty(0, int), False, ordered)


def asked(partition, batch=(), *, allowed=None, positions=(), coarser=(), seed=0):
    """Return counts of unequal distributions [..., half, side, cells]."""
    rng = np.random.default_rng(seed)
    law = rng.dirichlet(np.full(partition.size, 0.7), 2)
    halves = np.stack([rng.multinomial(700, p, (*batch, 2)) for p in law], axis=-2)
    return Asked(Search(partition, halves, allowed), positions, coarser)


def pairs():
    """Return pairs that differ in every argument of a choice, with some repetitions."""
    line, zeros = np.arange(5.0), np.zeros(5)
    allowed = np.array([True, True, False, True, True])
    return [
        asked(labels(5), (2, 3), seed=1),
        asked(labels(4), (), seed=2),
        asked(labels(5), (), seed=3),
        asked(labels(5), (4,), allowed=allowed, seed=4),
        asked(labels(5), (1,), positions=[line], seed=5),
        asked(labels(5, ordered=False), (), positions=[line], seed=6),
        asked(labels(5), (), positions=[line], seed=7),
        asked(labels(5), (2,), positions=[zeros], seed=8),
        asked(labels(5), (2,), coarser=[zeros.astype(int)], seed=9),
        asked(labels(5), (3,), coarser=[np.array([0, 0, 1, 1, 1])], seed=10),
        asked(labels(5), (), allowed=allowed, seed=11),
    ]


@pytest.mark.parametrize("rows", [256, 3])
def test_each_run_of_each_pair_has_the_choice_that_it_has_alone(rows, monkeypatch):
    monkeypatch.setattr(_asked, "_ROWS", rows)
    events, bounds = chosen(pairs(), BUDGET, HYPOTHESIS), promised(pairs(), BUDGET, HYPOTHESIS)
    found = []
    for each, event, bound in zip(pairs(), events, bounds, strict=True):
        (partition, halves, allowed), positions, coarser = each
        own = choose_event(
            halves[..., 0, :, :],
            SIZE,
            CONFIDENCE,
            judge=halves[..., 1, :, :],
            allowed=allowed,
            hypothesis=HYPOTHESIS,
            coarser=coarser,
            positions=positions,
            ordered=partition.ordered,
            rivals=Rivals(3, 2),
        )
        assert event.larger.shape == bound.shape == halves.shape[:-3]
        np.testing.assert_array_equal(event.cells, own.cells)
        np.testing.assert_array_equal(event.larger, own.larger)
        np.testing.assert_allclose(event.predicted, own.predicted, rtol=1e-12)
        np.testing.assert_allclose(bound, own.predicted, rtol=1e-12)
        found += np.ravel(own.predicted).tolist()
    assert len(set(found)) > 15


def test_alike_pairs_are_judged_together_and_no_more_runs_than_memory_allows(monkeypatch):
    calls = []

    def counted(counts, **options):
        calls.append((len(counts), counts.shape[-1]))
        return choose_event(counts, **options)

    monkeypatch.setattr(_asked, "choose_event", counted)
    many = [asked(labels(3), (200,), seed=1), asked(labels(4), (), seed=2)]
    many.append(asked(labels(3), (350,), seed=3))
    events = chosen(many, BUDGET, HYPOTHESIS)
    assert calls == [(256, 3), (256, 3), (38, 3), (1, 4)]
    assert [event.larger.shape for event in events] == [(200,), (), (350,)]
