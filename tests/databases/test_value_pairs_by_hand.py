"""Pairs of numbers, vectors and words: changes, flipped bits, variations and closed spaces."""

import math
from fractions import Fraction

import numpy as np
import pytest
from told import Told

from dpjax.databases import AddRemove, AnyTwo, Domain, Within
from dpjax.databases.spaces._space import Proposed
from dpjax.databases.spaces._value_pairs import (
    ValuePair,
    ValuePairs,
    _added,
    _entries,
    _like,
    _moved,
    _scalar,
)


def space(*examples, relation=None, domain=None, closed=False):
    return ValuePairs(examples, relation or AnyTwo(), domain, closed=closed)


@pytest.mark.parametrize(
    "value, relation, moved",
    [
        (5.0, Within(2.0), [7.0, 3.0]), (5, Within(2.0), [7, 3]), (5, Within(2.9), [7, 3]),
        ([1.0, 2.0], Within(2.0, "l1"),
         [[3.0, 2.0], [1.0, 4.0], [2.0, 3.0], [2.0, 1.0],
          [-1.0, 2.0], [1.0, 0.0], [0.0, 1.0], [0.0, 3.0]]),
        ((1, 2), Within(2, "linf"),
         [(3, 2), (1, 4), (3, 4), (3, 0), (-1, 2), (1, 0), (-1, 0), (-1, 4)]),
        ([0.0] * 4, Within(2.0, "l2"),
         [[2.0, 0, 0, 0], [0, 2.0, 0, 0], [0, 0, 2.0, 0], [0, 0, 0, 2.0], [1.0] * 4,
          [1.0, -1.0, 1.0, -1.0], [-2.0, 0, 0, 0], [0, -2.0, 0, 0], [0, 0, -2.0, 0],
          [0, 0, 0, -2.0], [-1.0] * 4, [-1.0, 1.0, -1.0, 1.0]]),
    ],
)  # fmt: skip
def test_moves_of_the_largest_distance(value, relation, moved):
    found = _moved(value, relation)
    assert found == moved and all(type(each) is type(value) for each in found)
    assert all(relation.holds(value, each) for each in found)


def test_moves_of_long_vectors_and_of_small_integers():
    assert len(_moved([0.0] * 9, Within(1.0, "l1"))) == 2 * (8 + 2)
    assert len(_moved([0.0], Within(1.0, "l1"))) == 2
    assert [each.tolist() for each in _moved(np.array([120], np.int8), Within(20, "l1"))] == [[100]]
    (down,) = _moved(np.int8(-120), Within(20))
    assert down == -100 and type(down) is np.int8


@pytest.mark.parametrize("value, step", [(0.1, 0.2), (1e9, 0.1), (-0.3, 0.1), (5.0, -0.7), (0, 1)])
def test_steps_are_never_too_long(value, step):
    found = _added(value, step, False)
    assert abs(Fraction(found) - Fraction(value)) <= abs(Fraction(step))
    assert abs(found - (value + step)) <= abs(math.ulp(value + step))
    assert _added(5, 2.7, True) == 7 and _added(5, -2.7, True) == 3
    assert _added(1e308, 1e308, False) == math.inf


def test_values_of_a_type():
    assert _like(5.0, [3]) == 3 and _like((1, 2), [3, 4]) == (3, 4)
    found = _like(np.array([1, 2], np.int8), [3, 4])
    assert found.dtype == np.int8 and found.tolist() == [3, 4]
    one = _like(np.int16(1), [7])
    assert one == 7 and type(one) is np.int16
    assert _like(np.int8(1), [300]) is None
    assert (
        _entries(np.arange(2)) == [0, 1] and _entries((1, 2)) == [1, 2] and _entries("ab") == ["ab"]
    )
    assert [type(v) for v in (_scalar(np.int8(1)), _scalar(1.5), *_entries(np.float32(2)))] == [
        int, float, float,
    ]  # fmt: skip


def test_bits_of_integers():
    assert space(5)._bits == [2**k for k in range(8)]  # at least the bits of 255
    assert space(256)._bits == [2**k for k in range(9)]
    assert space(-256)._bits == [2**k for k in range(9)]
    assert space(5, domain=Domain(bounds=(-9, 3)))._bits == [1, 2, 4, 8]
    assert space(5, domain=Domain(bounds=(0.5, 7.5)))._bits == [1, 2, 4, 8]
    for none in (space(5.0), space(5, closed=True), space(5, relation=Within(1)), space("a")):
        assert none._bits == []
    assert len(space(np.int16(5))._bits) == 8
    assert space(5, domain=Domain(bounds=[(0, 3), (0, 99)]))._bits == [1, 2]
    two = space(5, domain=Domain(bounds=[(0, 3), (8, 99)]))._flipped()
    assert [tuple(pair) for pair in two[2:]] == [(0, 1), (0, 2), (3, 2), (3, 1)]


def test_pairs_that_differ_in_one_bit():
    found = space(5, domain=Domain(bounds=(-1.5, 3.5)))._flipped()
    assert [tuple(pair) for pair in found] == [
        (5, 4), (5, 7), (5, 1), (-1, -2), (-1, -3), (-1, -5), (3, 2), (3, 1), (3, 7),
    ]  # fmt: skip
    free = space(5)._flipped()
    assert [tuple(pair) for pair in free] == [
        *((5, 5 ^ 2**k) for k in range(8)), *((0, 2**k) for k in range(8))
    ]  # fmt: skip
    short = space(np.int8(5))._flipped()
    assert (np.int8(5), np.int8(5 ^ 64)) in short and len(short) == 14  # An int8 cannot hold 128.


def test_candidates():
    words = Domain(categories=["a", "b", "c"])
    found = space("a", domain=words).candidates()
    assert [tuple(pair) for pair in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found[0].label == "'a' and 'b'" and found[0].size == 0
    assert found[0].sides() == ("a", "b")
    drawn = space("a", "b", "a", closed=True).candidates()
    assert [tuple(pair) for pair in drawn] == [("a", "b"), ("a", "a"), ("b", "a")]
    near = space(5.0, relation=Within(1.0), domain=Domain(bounds=(0, 9))).candidates()
    assert near[:2] == [ValuePair(0.0, 1.0), ValuePair(0.0, -1.0)]
    flipped = space(5, domain=Domain(bounds=(0, 3))).candidates()
    assert flipped[:3] == [ValuePair(5, 4), ValuePair(5, 7), ValuePair(0, 1)]


def test_values_of_vectors():
    words = Domain(categories=["a", "b", "c"])
    rows = [["x", "y"], ["a", "a"], ["a", "b"], ["b", "b"], ["b", "c"], ["c", "c"], ["c", "a"]]
    assert space(["x", "y"], domain=words)._values() == rows
    several = space(["x", "y"], ["z", "w"], domain=words)._values()
    assert several == [["z", "w"], *rows]
    # Entries of a single example are used in all columns; those of several, in their own column.
    assert space(["x", "y"])._field(0).values(["x"])[-1] == "x"
    single = space([1.5, 2.5])._values()
    assert [2.5, 2.5] in single and [1.5, 1.5] in single
    column = space([1.5, 2.5], [3.5, 4.5])._values()
    assert [1.5, 2.5] in column and [3.5, 4.5] in column and [2.5, 2.5] not in column


def test_allowed_pairs():
    within = space(1.0, relation=Within(1.0), domain=Domain(bounds=(0, 5)))
    assert within.allows(0.0, 1.0) and not within.allows(0.0, 2.0) and not within.allows(5.0, 6.0)
    member = space(1.0, domain=Domain(member=lambda value: value > 0))
    assert member.allows(1.0, 2.0) and not member.allows(0.0, 2.0)
    assert within.made(0.0, 0.0, "") is None and within.made(0.0, 2.0, "") is None
    made = within.made(0.0, 1.0, "label")
    assert made.pair == Proposed(0.0, 1.0, "label") and len(made.key) == 2
    assert space(0.0).made(0.0, -0.0, "") is not None
    assert within.has_form(3.0) and not within.has_form([3.0]) and not within.has_form(3)
    assert space([1, 2]).has_form([3, 4]) and not space([1, 2]).has_form([3])
    assert space(1.0).size(made.pair) == space(1.0).num_records == 0
    assert space(1.0).paths() == []
    bounds = space([1.0, 2.0], domain=Domain(bounds=[(0, 1), (0, 9)]))
    assert bounds.allows([1.0, 9.0], [0.0, 0.0]) and not bounds.allows([2.0, 1.0], [0.0, 0.0])


def test_closed_spaces():
    numbers = space([1.0, 5.0], [3.0, 4.0], closed=True)
    assert numbers._has(1.0, 0) and numbers._has(2.0, 0) and numbers._has(3.0, 0)
    assert not numbers._has(0.5, 0) and not numbers._has(3.5, 0) and not numbers._has(2.0, 1)
    missing = space([math.nan], [1.0], domain=Domain(nan=True), closed=True)
    assert missing._has(math.nan, 0)
    words = space(["a"], ["c"], closed=True)
    assert words._has("a", 0) and not words._has("b", 0)
    mixed = space([1.0], ["c"], closed=True)
    assert mixed._has(1.0, 0) and not mixed._has(0.5, 0)


def test_domains_of_values():
    for wrong in ({"x": Domain()}, Domain(columns={"x": Domain()})):
        with pytest.raises(
            ValueError, match=r"^domain must not name columns if relation is AnyTwo"
        ):
            space(1.0, domain=wrong)
    assert not space(1.0)._domain.nan and space(math.nan)._domain.nan
    assert space([1.0, math.inf])._domain.infinite
    assert not AnyTwo().of_records and not Within().of_records and AddRemove().of_records


def test_varied_values():
    pair = Proposed(5.0, 6.0, "")
    near = space(5.0, relation=Within(1.0))
    assert near.varied(pair, Told(0, 1)) == (5.0, 4.0)
    assert near.varied(pair, Told(1, 1, 0)) == (10.0, 11.0)
    free = space(5.0, domain=Domain(categories=[1.0, 2.0, 5.0]))
    told = Told(0, 1)
    assert free.varied(pair, told) == (5.0, 2.0) and told.asked == [(2,), (3,)]
    closed = space("a", "b", closed=True)
    told = Told(1)
    assert closed.varied(Proposed("a", "b", ""), told) == ("a", "b") and told.asked == [(2,)]
    bits = space(5, domain=Domain(bounds=(0, 7)))
    told = Told(0, 1, 1)
    assert bits.varied(Proposed(5, 4, ""), told) == (7, 6) and told.asked == [(2,), (2,), (3,)]
    other = Told(0, 0, 2)
    assert bits.varied(Proposed(5, 4, ""), other)[0] == 5 and other.asked[:2] == [(2,), (2,)]
    short = space(np.int8(5))
    assert short.varied(Proposed(np.int8(5), np.int8(4), ""), Told(0, 1, 7)) == (5, 5)
    nothing = space("a", domain=Domain(categories=["b"]))
    nothing._values = list
    assert nothing.varied(Proposed("a", "b", ""), Told()) == ("a", "a")
    # If the type cannot hold a number, the pair is unchanged.
    small = space(np.array([100], np.int8), relation=Within(1, "l1"))
    small._field = lambda place: type("Far", (), {"near": staticmethod(lambda v, rng: 1000)})
    pair = Proposed(np.array([100], np.int8), np.array([101], np.int8), "")
    assert small.varied(pair, Told()) == (pair.database, pair.neighbor)
