"""The predicted bound of an event uses other draws than those that chose the event."""

import numpy as np
import pytest

from dpjax.inference import Ratio, Rivals, choose_event


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_chance_alone_promises_nothing(delta):
    """Of 200 equally likely cells, those with the most draws on one side seem likelier there.

    The draws that determine a set would predict a bound of 0.7 to 1.0. Other draws predict an
    average of 0.013 for 2000 seeds, and more than 0.33 for 20 of them; the 20 seeds here are fixed.
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

    By chance, one of them would predict half of the bound 0.1 of a weak mechanism.
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
