"""The hand-written floors are valid audits, and their bounds are near the true levels."""

from functools import partial

import numpy as np
import pytest

from benchmarks import floors
from dpjax.mechanisms import SVT4


def laplace(random, count, size):
    return count + random.laplace(0.0, 1.0, size)


def test_the_floor_of_drawn_numbers_bounds_the_worst_pair():
    draw = partial(laplace, np.random.default_rng(0))
    pairs = [(0.0, 0.25), (0.0, 1.0), (0.0, 0.5)]
    bound = floors.drawn_floor(pairs, draw, floors.half_line)
    # The log ratio of half-lines has a standard error of about 0.02.
    assert 0.85 < bound < 1.0


def test_the_floor_of_recorded_numbers_uses_a_half_line_at_either_end():
    random = np.random.default_rng(1)
    for shift in (1.0, -1.0):
        sides = laplace(random, 0.0, 40_000), laplace(random, shift, 40_000)
        assert 0.8 < floors.recorded_floor(sides, floors.half_line) < 1.0


def test_the_floor_of_labels_finds_a_set_of_them():
    random = np.random.default_rng(2)
    names, p = np.array(["a", "b", "c", "d"]), np.array([0.4, 0.3, 0.2, 0.1])
    sides = random.choice(names, 50_000, p=p), random.choice(names, 50_000, p=p[::-1])
    # The set with the largest difference is one rare label, with log 4.
    assert 0.7 * np.log(4) < floors.recorded_floor(sides, floors._labels) < np.log(4)


def test_the_floor_draws_the_same_mechanism_as_dpjax():
    """If queries are far below or above the threshold, SVT4 stops at the last or first one."""
    svt, random = SVT4(epsilon=1e3, num_queries=4), np.random.default_rng(3)
    for answers, place in ((np.zeros(4), 4), (np.array([0.0, 0.0, 2.0, 0.0]), 2)):
        found = floors._svt4(random, svt, answers, 500)
        assert np.mean(found == place) == pytest.approx(1.0, abs=0.01)
