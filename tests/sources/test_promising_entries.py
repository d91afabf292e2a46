"""Entries of long vectors that are tried alone."""

import numpy as np
import pytest

from dpjax.partitions import Outputs
from dpjax.sources._learned import _promising


def outputs(values):
    return Outputs(np.zeros(len(values), np.int32), values, np.zeros(len(values), bool))


@pytest.fixture
def sides():
    rng = np.random.default_rng(6)
    one, other = rng.laplace(size=(2, 3000, 400))
    other[:, 399] += 0.4  # Locations differ.
    other[:, 17] *= 1.4  # Only scales differ.
    other[rng.random(3000) < 0.02, 205] = 50.0  # Only 2% of the outputs differ.
    one[:, 250] = rng.random(3000) < 0.5  # Two outcomes.
    other[:, 250] = rng.random(3000) < 0.62
    return [outputs(one), outputs(other)]


def test_entries_that_differ_in_any_way_are_tried(sides):
    found = _promising(sides, list(range(400)))
    assert len(found) == 128 and found == sorted(set(found))
    # Each difference is more than six standard errors; 0 to 16 are among the others by chance.
    assert {17, 205, 250, 399} <= set(found)
    assert _promising(sides, [399, 5, 17]) == [399, 5, 17]
    assert _promising(sides[::-1], list(range(400))) == found


def test_entries_are_indices_of_columns(sides):
    columns = [*range(0, 400, 2), 17, 205, 399]
    found = _promising(sides, columns)
    assert {17, 205, 250, 399} <= set(found) and len(found) == 128 and set(found) <= set(columns)


def test_a_side_without_numbers(sides):
    alone = sides[0]._replace(alone=np.ones(3000, bool))
    assert _promising([alone, sides[1]], list(range(400))) == list(range(128))
