"""The predicted bound of an event uses other draws than those that chose the event."""

import numpy as np
import pytest

from dpjax.inference import Ratio, Rivals, choose_event


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_chance_alone_promises_nothing(delta):
    """Of 200 equally likely cells, those with the most draws at one side look likelier there.

    Draws that had made a set would promise 0.7 to 1.0 for it. Other draws promise 0.013 on average
    of 2000 seeds, and above 0.33 in 20 of them; the 20 here are fixed.
    """
    promised = []
    for seed in range(20):
        halves = np.random.default_rng(seed).multinomial(1000, np.full(200, 1 / 200), (2, 2))
        event = choose_event(halves[0], 50_000, 0.999, judge=halves[1], hypothesis=Ratio(delta))
        promised.append(float(event.predicted))
    assert np.mean(promised) < 0.05


def test_a_true_difference_is_promised():
    """Every second cell is e times as likely for the database: most of the level 1 is predicted."""
    weights = np.where(np.arange(200) % 2, np.e, 1.0)
    rows = np.stack([weights, weights[::-1]]) / weights.sum()
    halves = np.random.default_rng(0).multinomial(10_000, rows, (2, 2))
    event = choose_event(halves[0], 50_000, 0.999, judge=halves[1])
    assert 0.7 < event.predicted < 1


def test_the_best_of_many_partitions_promises_little_by_chance():
    """Each of 25 entries of noise is divided into 60 equally likely bins.

    By chance, one of them would promise half of the 0.1 that a weak mechanism shows.
    """
    line = np.arange(60)
    largest = {}
    for partitions in (1, 25):
        bounds = np.zeros((12, 25))
        for seed in range(12):
            draws = np.random.default_rng(seed)
            halves = draws.multinomial(10_000, np.full(60, 1 / 60), (2, 25, 2))
            bounds[seed] = choose_event(
                halves[0],
                20_000_000,
                0.9,
                judge=halves[1],
                positions=[line],
                rivals=Rivals(partitions=partitions),
            ).predicted
        largest[partitions] = bounds.max(axis=1).mean()
    assert largest[25] < 0.01 < 0.03 < largest[1], largest
