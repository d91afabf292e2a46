"""Designs of neighbors, each compared with an enumeration of all databases."""

import itertools

import numpy as np
import pytest
from scipy import stats

from dpjax.databases import (
    Pairs,
    add_remove_one,
    all_pairs,
    change_one,
    hypercube,
    interval_grid,
    random_answers,
    shifts,
)


def as_set(pairs):
    rows = zip(pairs.database.tolist(), pairs.neighbor.tolist(), strict=True)
    return {(tuple(np.atleast_1d(x)), tuple(np.atleast_1d(y))) for x, y in rows}


def test_add_remove_one():
    base = (3.0, 0.0, 1.0, 5.0)
    every = itertools.product(*[(0.0, x) for x in base])
    expected = {(base, y) for y in every if sum(a != b for a, b in zip(base, y, strict=True)) == 1}
    pairs = add_remove_one(base)
    assert as_set(pairs) == expected and len(pairs) == 3
    assert pairs.labels == ("without 0", "without 2", "without 3")


def test_change_one():
    base, domain = (0.0, 2.0, 1.0), (0.0, 1.0, 2.0)
    every = itertools.product(domain, repeat=3)
    expected = {(base, y) for y in every if sum(a != b for a, b in zip(base, y, strict=True)) == 1}
    pairs = change_one(base, [2, 0, 1, 1])
    assert as_set(pairs) == expected and len(pairs) == 6
    assert pairs.labels[:2] == ("0 becomes 1", "0 becomes 2")


def test_interval_grid():
    points = [0.0, 0.5, 1.0, 1.5, 2.0]
    pairs = interval_grid(0, 2, 5, distance=1)
    expected = {
        ((a,), (b,)) for a, b in itertools.combinations(points, 2) if b - a <= 1.0
    }  # fmt: skip
    assert as_set(pairs) == expected and len(pairs) == 7
    assert pairs.labels[0] == "0 / 0.5"
    # Steps of 0.1 are not exact in binary: ten of them are still a distance of 1.
    assert len(interval_grid(0, 1)) == 55


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_hypercube(dimension):
    every = [tuple(map(float, x)) for x in itertools.product((0, 1), repeat=dimension)]
    edges = {
        (x, y) for x in every for y in every
        if x < y and sum(a != b for a, b in zip(x, y, strict=True)) == 1
    }  # fmt: skip
    pairs = hypercube(dimension)
    assert as_set(pairs) == edges and len(pairs) == dimension * 2 ** (dimension - 1)
    base = every[len(every) // 2]
    pairs = hypercube(dimension, base)
    assert as_set(pairs) == {(base, y) for y in every if y != base}
    assert len(pairs) == len(set(pairs.labels)) == 2**dimension - 1


def test_labels_of_the_hypercube_are_its_bits():
    assert hypercube(2).labels == ("00 / 10", "00 / 01", "01 / 11", "10 / 11")
    assert hypercube(3, [0, 1, 1]).labels[0] == "011 / 000"


def test_random_answers():
    """Answers and changes by -1, 0 and 1 are uniform; false-alarm rate below 1e-5 each."""
    pairs = random_answers(3, 20_000, 4, low=-1.0, high=2.0)
    moves = np.round((pairs.neighbor - pairs.database).astype(float), 5)
    assert set(np.unique(moves)) == {-1, 0, 1} and np.all(moves.any(axis=1))
    assert stats.kstest((pairs.database.ravel() + 1) / 3, "uniform").pvalue > 1e-5
    # All 3^4 changes are equally likely, except that no change becomes one of 8 single changes.
    codes = ((moves + 1) @ [27, 9, 3, 1]).astype(int)
    expected = np.full(81, 1 / 81)
    expected[40] = 0
    for single in (27, 9, 3, 1):
        expected[[40 - single, 40 + single]] += 1 / 81 / 8
    counts = np.bincount(codes, minlength=81)
    keep = expected > 0
    assert stats.chisquare(counts[keep], 20_000 * expected[keep]).pvalue > 1e-5
    again = random_answers(3, 20_000, 4, low=-1.0, high=2.0)
    np.testing.assert_array_equal(pairs.database, again.database)
    assert not np.array_equal(pairs.database, random_answers(4, 20_000, 4, -1.0, 2.0).database)
    assert random_answers(0, 3, 1).labels == ("random 0", "random 1", "random 2")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: add_remove_one([0.0, 0.0]), "at least one record that is not 0"),
        (lambda: add_remove_one(3.0), r"database must be a vector of numbers, but had shape \(\)"),
        (lambda: change_one([1.0], [1.0]), "domain must contain a value that differs"),
        (lambda: change_one([1.0], []), "domain must be a vector"),
        (lambda: interval_grid(1, 0), "low and high must have low < high"),
        (lambda: interval_grid(0, 1, 2, 0.5), "distance must be at least one step .* 1, but was"),
        (lambda: interval_grid(0, 1, 2, -1.0), "distance must be a number > 0, but was -1.0"),
        (lambda: hypercube(0), "dimension must be an integer >= 1, but was 0"),
        (lambda: hypercube(30), "more than 2.20: ask for fewer"),
        (lambda: hypercube(2, [0, 2]), r"database must be 2 zeros and ones, but was \[0.0, 2.0\]"),
        (lambda: random_answers(0, 0, 3), "num_pairs must be an integer >= 1, but was 0"),
        (lambda: add_remove_one("x"), "database must consist of numbers, .* but was 'x'"),
        (lambda: add_remove_one([[1], [1, 2]]), "numbers, in lists of equal length, but was"),
        (lambda: change_one([1.0], "ab"), "domain must consist of numbers"),
        (lambda: interval_grid("x", 1), "low and high must consist of numbers"),
        (lambda: interval_grid(print, 1), "low and high must consist of numbers"),
        (lambda: shifts({}), "database must consist of numbers, but was {}"),
        (lambda: all_pairs(3), "databases must be a list of databases, but was 3"),
        (lambda: all_pairs("ab"), "databases must be a list of databases, but was 'ab'"),
        (lambda: all_pairs([1.0]), "databases must be at least two, but there were 1"),
        (lambda: Pairs([1.0], None), "pairs must have databases and neighbors, but one of them"),
        (lambda: Pairs(None, [1.0]), "pairs must have databases and neighbors, but one of them"),
    ],
)
def test_refusals(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()
