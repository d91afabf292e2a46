"""Pairs of databases: patterns with explicit expected values, accepted and rejected pairs."""

import itertools
import re

import jax
import numpy as np
import pytest

from dpjax.databases import Pairs, all_pairs, query_patterns, shifts
from dpjax.databases.trees import rows

SIX = {
    # Table I of Askin, Kutta, Dette (2022), copied by hand, and the last three patterns.
    "One Above": ("111111", "211111"),
    "One Below": ("111111", "011111"),
    "One Above Rest Below": ("111111", "200000"),
    "One Below Rest Above": ("111111", "022222"),
    "Half Half": ("111111", "000111"),
    "All Above All Below": ("111111", "222222"),
    "X Shape": ("111000", "000111"),
    "Last Above Rest Below": ("111111", "000002"),
    "Last Below Rest Above": ("111111", "222220"),
    "Half Half Mirrored": ("111111", "111000"),
}

TEN = {
    "One Above": ("1111111111", "2111111111"),
    "One Below": ("1111111111", "0111111111"),
    "One Above Rest Below": ("1111111111", "2000000000"),
    "One Below Rest Above": ("1111111111", "0222222222"),
    "Half Half": ("1111111111", "0000011111"),
    "All Above All Below": ("1111111111", "2222222222"),
    "X Shape": ("1111100000", "0000011111"),
    "Last Above Rest Below": ("1111111111", "0000000002"),
    "Last Below Rest Above": ("1111111111", "2222222220"),
    "Half Half Mirrored": ("1111111111", "1111100000"),
}


def digits(text):
    return [float(c) for c in text]


@pytest.mark.parametrize("table", [SIX, TEN], ids=["6", "10"])
def test_patterns_by_hand(table):
    pairs = query_patterns(len(table["One Above"][0]))
    assert pairs.labels == tuple(table)
    assert pairs.database.tolist() == [digits(d) for d, _ in table.values()]
    assert pairs.neighbor.tolist() == [digits(n) for _, n in table.values()]


@pytest.mark.parametrize("num_queries", [2, 3, 5, 6, 10])
def test_patterns_are_neighbours(num_queries):
    pairs = query_patterns(num_queries)
    difference = np.abs(pairs.database - pairs.neighbor)
    assert len(pairs) == 10 and pairs.database.shape == (10, num_queries)
    assert np.all(difference.max(axis=1) == 1)


def test_odd_numbers_of_queries_are_split_below_the_middle():
    pairs = query_patterns(5)
    assert pairs.database[6].tolist() == digits("11000")
    assert pairs.neighbor[4].tolist() == digits("00111")


def test_shifts():
    pairs = shifts(0.0)
    assert pairs.database.tolist() == [0.0] * 10
    np.testing.assert_array_equal(pairs.neighbor, np.arange(1, 11, dtype=np.float32) / 10)
    assert pairs.labels[0] == "shift 0.1" and pairs.labels[-1] == "shift 1"
    vectors = shifts([1.0, -2.0], num_pairs=4, size=2.0)
    assert vectors.database.tolist() == [[1, -2]] * 4
    assert vectors.neighbor.tolist() == [[1.5, -1.5], [2, -1], [2.5, -0.5], [3, 0]]


def test_all_pairs():
    databases = [0.0, 1.5, 4.0, 7.0]
    pairs = all_pairs(databases)
    together = list(zip(pairs.database.tolist(), pairs.neighbor.tolist(), strict=True))
    assert together == list(itertools.combinations(databases, 2))
    assert pairs.labels[0] == "0.0 / 1.5" and len(pairs) == len(pairs.labels) == 6
    assert all_pairs([[0, 1], [1, 1]]).neighbor.tolist() == [[1, 1]]


def test_what_is_a_pair():
    pairs = Pairs.of([(0, 1), (2, 5)])
    assert pairs.database.dtype == pairs.neighbor.dtype == np.int32
    assert pairs.database.tolist() == [0, 2] and pairs.neighbor.tolist() == [1, 5]
    assert pairs.labels == ("pair 0", "pair 1")
    assert Pairs.of(pairs) is pairs
    # If one entry is a real number, the entries of both sides are real numbers.
    mixed = Pairs.of([(0, 1), (0, 0.5)])
    assert mixed.database.dtype == mixed.neighbor.dtype == np.float32
    vectors = Pairs.of([([0, 0], np.ones(2)), (np.zeros(2), [0, 1])])
    assert vectors.neighbor.tolist() == [[1, 1], [0, 1]]
    assert Pairs.of((0, 1) for _ in range(3)).labels == ("pair 0", "pair 1", "pair 2")
    assert Pairs.of([(True, False)]).database.dtype == np.int32


def test_one_pair_of_several():
    pairs = Pairs([0.0, 1.0], [1.0, 3.0], ("a", "b"))
    one = pairs.one(1)
    assert (one.database.tolist(), one.neighbor.tolist(), one.labels) == ([1.0], [3.0], ("b",))
    assert len(pairs) == 2


def test_pairs_are_a_pytree_with_two_leaves():
    pairs = query_patterns(4)
    doubled = jax.tree.map(lambda x: 2 * x, pairs)
    np.testing.assert_array_equal(doubled.neighbor, 2 * pairs.neighbor)
    assert doubled.labels == pairs.labels
    assert len(jax.tree.leaves(pairs)) == 2
    traced = jax.jit(lambda p: p.neighbor - p.database)(pairs)
    np.testing.assert_array_equal(traced, pairs.neighbor - pairs.database)


@pytest.mark.parametrize("traced", ["database", "neighbor"])
def test_pairs_may_be_made_of_traced_arrays(traced):
    """Their values are unknown, so nothing can be checked."""

    @jax.jit
    def made(array):
        other = "neighbor" if traced == "database" else "database"
        pairs = Pairs(**{traced: array, other: np.zeros(3)})
        return getattr(pairs, traced)

    assert made(np.ones(3)).tolist() == [1.0] * 3


def test_databases_of_any_structure():
    """An extra record on one side, and dicts: each part is stacked separately."""
    longer = Pairs.of([([1.0, 2.0], [1.0]), ([3, 4], [3])])
    assert longer.database.tolist() == [[1, 2], [3, 4]] and longer.neighbor.tolist() == [[1], [3]]
    assert longer.one(1).neighbor.tolist() == [[3]] and len(longer) == 2
    tables = [({"age": [30.0, n], "n": 2}, {"age": [30.0], "n": 1}) for n in (40.0, 50.0)]
    stacked = Pairs.of(tables)
    assert stacked.database["age"].tolist() == [[30, 40], [30, 50]]
    assert stacked.neighbor["n"].tolist() == [1, 1] and stacked.neighbor["n"].dtype == np.int32
    ragged = Pairs.of([(([1.0], [2.0, 3.0]), ([1.0], [2.0, 3.5]))])
    assert [part.tolist() for part in ragged.neighbor] == [[[1.0]], [[2.0, 3.5]]]


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Pairs.of(3.0), TypeError, "pairs must be .* but was float"),
        (lambda: Pairs.of(None), TypeError, "pairs must be .* but was NoneType"),
        (lambda: Pairs.of([1.0, 2.0]), TypeError, r"a list of \(database, neighbor\)"),
        (lambda: Pairs.of([(0, 1, 2)]), TypeError, r"a list of \(database, neighbor\)"),
        (lambda: Pairs.of([]), ValueError, "pairs must hold at least one .* but was empty"),
        (
            lambda: Pairs.of([(0, [1, 2]), ([1, 2], 0)]),
            ValueError,
            r"same shape on each side, but the shapes of database were \(\), \(2,\).*HostMechanism",
        ),
        (lambda: Pairs.of([({"a": 1}, 0), ({"b": 1}, 0)]), ValueError, r"\['a'\] \(\), \['b'\]"),
        (lambda: Pairs.of([([0], [1]), ([0, 0], [1, 1])]), ValueError, "pairs must have databases"),
        (lambda: Pairs.of([("a", "b")]), TypeError, "pairs.database must hold numbers"),
        (lambda: Pairs.of([(0, np.nan)]), ValueError, "pairs.neighbor must be finite"),
        (lambda: Pairs.of([(-np.inf, 0)]), ValueError, "pairs.database must be finite"),
        (lambda: Pairs(0.0, 1.0), ValueError, re.escape("shapes were () and ()")),
        (lambda: Pairs([0.0], [1.0, 2.0]), ValueError, re.escape("were (1,) and (2,)")),
        (lambda: Pairs.of([(0, {"a": np.nan})]), ValueError, "pairs.neighbor must be finite"),
        (lambda: Pairs([], []), ValueError, "at least one pair"),
        (lambda: Pairs([0.0], [1.0], ("a", "b")), ValueError, "labels must name each of the 1"),
        (lambda: query_patterns(1), ValueError, "num_queries must be an integer >= 2, but was 1"),
        (lambda: query_patterns(6.0), TypeError, "num_queries must be an integer"),
        (lambda: shifts(0.0, 0), ValueError, "num_pairs must be an integer >= 1, but was 0"),
        (lambda: shifts(0.0, size=0), ValueError, "size must be a number > 0, but was 0"),
        (lambda: shifts(0.0, size=np.nan), ValueError, "size must be a number > 0"),
        (lambda: all_pairs([1.0]), ValueError, "databases must be at least two, but there were 1"),
    ],
)
def test_refusals(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_integers_beyond_int32_are_refused_rather_than_wrapped():
    with pytest.raises(ValueError, match=r"pairs\.neighbor .*int32"):
        Pairs.of([(0, 2**31)])


def test_a_last_bit_in_an_entry_that_both_sides_share_is_no_distance():
    assert len(Pairs.of([([0.1 + 0.2, 1.0], [0.3, 2.0])])) == 1
    for large in (1e39, -1e300):
        with pytest.raises(ValueError, match="must hold numbers that fit in float32, but held"):
            Pairs([[large, 1.0]], [[large, 2.0]])
    with pytest.raises(ValueError, match="must keep their distances in float32"):
        Pairs([2.0**24], [2.0**24 + 1])


def test_a_database_may_be_empty_but_not_nothing():
    pairs = Pairs.of([([1.0], []), ([2.0], [])])
    assert pairs.database.shape == (2, 1) and pairs.neighbor.shape == (2, 0)
    assert Pairs.of([([], [])]).database.shape == (1, 0)
    for nothing in (None, {}, {"x": None}):
        with pytest.raises(ValueError, match="write a database without records as"):
            Pairs.of([(nothing, 1.0)])


def test_rows_of_a_stack_are_its_databases():
    array = np.arange(6.0).reshape(3, 2)
    assert rows(array) is array
    first, second = rows({"x": array[:2], "y": np.array([7, 8])})
    assert first["x"].tolist() == [0, 1] and second["x"].tolist() == [2, 3]
    assert (first["y"], second["y"]) == (7, 8)
