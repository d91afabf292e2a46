"""Bases and their changes by hand: names, sizes, records and the order in which they are tried."""

import numpy as np
import pytest

from dpjax.databases.spaces._bases import Base, bases_of, records_worth_trying
from dpjax.databases.spaces._changes import Change, changes_of
from dpjax.databases.spaces._forms import form_of

BASE = Base("the example", 3, [1, 2, 3].copy)


@pytest.mark.parametrize(
    ("change", "label", "neighbor"),
    [
        (Change(BASE, "added", 2, (9,)), "9 is added", [1, 2, 3, 9, 9]),
        (Change(BASE, "becomes", 2, (9,)), "the last becomes 9", [1, 9, 9]),
        (Change(BASE, "becomes", 5, (9,)), "the last becomes 9", [9, 9, 9]),
        (Change(BASE, "removed", 1), "the first is removed", [2, 3]),
        (Change(BASE, "reordered", 0), "in another order", [3, 2, 1]),
        (Change(BASE, "reordered", 1, (9,)), "in another order", [3, 2, 1, 9]),
    ],
)
def test_a_change_and_its_neighbor(change, label, neighbor):
    assert change.sides() == ([1, 2, 3], neighbor)
    assert change.label == f"the example; {label}"
    assert change.size == 3 + len(neighbor)


def said(changes):
    return [(change.base.name, change.kind, change.count, change.records) for change in changes]


def test_the_first_changes_of_the_first_bases_come_first():
    """By the sum of both places, up to 2; then the first of each base; then all others."""
    bases = [Base(name, 2, [0, 0].copy) for name in "abcd"]
    found = [(c.base.name, c.kind, c.records) for c in changes_of(bases, [7, 8], 1, False)]
    order = {
        name: [
            (name, "added", (7,)), (name, "removed", ()), (name, "reordered", (7,)),
            (name, "added", (8,)),
        ]
        for name in "abcd"
    }  # fmt: skip
    early = [(0, 0), (1, 0), (0, 1), (2, 0), (1, 1), (0, 2), (3, 0)]
    late = [(2, 1), (1, 2), (0, 3), (3, 1), (2, 2), (1, 3), (3, 2), (2, 3), (3, 3)]
    assert found == [order["abcd"[place]][number] for place, number in early + late]


def test_which_changes_there_are():
    empty, one = Base("none", 0, list), Base("one", 1, [5].copy)
    assert said(changes_of([empty], [7], 2, False)) == [("none", "added", 2, (7,))]
    assert said(changes_of([empty], [7], 2, True)) == []
    assert said(changes_of([one], [7, 8], 2, False)) == [
        ("one", "added", 2, (7,)), ("one", "removed", 1, ()), ("one", "reordered", 2, (7, 8)),
        ("one", "added", 2, (8,)),
    ]  # fmt: skip
    # Of as many records: nothing is another order of one, and nothing becomes another if none may.
    assert said(changes_of([one], [7], 1, True)) == [("one", "becomes", 1, (7,))]
    assert said(changes_of([one], [7], 0, True)) == []
    assert said(changes_of([BASE], [7], 0, True)) == [("the example", "reordered", 0, ())]


def test_bases_of_numbers():
    seen = [1.0, 2.0]
    found = {base.name: base.records() for base in bases_of(seen, [5.0, 6.0], [], None, False)}
    assert found == {
        "the example": [1.0, 2.0], "the example, reversed": [2.0, 1.0], "no record": [],
        "one record": [6.0], "the example twice": [1.0, 2.0, 1.0, 2.0], "all 5.0": [5.0, 5.0],
        "all 6.0": [6.0, 6.0], "half 5.0, half 6.0": [5.0, 6.0],
    }  # fmt: skip
    for base in bases_of(seen, [5.0, 6.0], [], None, False):
        assert base.size == len(base.records())
    alike = bases_of(seen, [5.0, 6.0], [], 3, True)
    assert [base.records() for base in alike] == [[5.0] * 3, [6.0] * 3, [5.0, 6.0, 6.0]]
    ones = [base for base in bases_of(seen, [1, 2, 3, 4], [], None, False) if base.size == 1]
    assert [base.records() for base in ones] == [[1], [2], [3]]
    # Where the example is empty, two records are a database that is constant.
    assert [b.size for b in bases_of([], [5.0], [], None, True)] == [0, 0, 2]
    assert [b.name for b in bases_of(seen, [], [], None, False)] == ["the example"]


def test_records_that_are_tried_are_distinct_and_begin_with_those_seen():
    form = form_of([(1.0, 2.0)])
    fields = [Options([0.0, 9.0]), Options([5.0])]
    seen = [(1.0, 2.0), (3.0, 4.0), (1.0, 2.0), (7.0, 7.0)]
    found = records_worth_trying(seen, form, fields, np.random.default_rng(0))
    plain = [tuple(record) for record in found]
    assert plain[:8] == [
        (1.0, 2.0), (3.0, 4.0), (0.0, 2.0), (1.0, 5.0), (9.0, 2.0), (0.0, 7.0), (7.0, 5.0),
        (9.0, 7.0),
    ]  # fmt: skip
    assert plain[8:10] == [(0.0, 5.0), (9.0, 5.0)] and len(set(plain)) == len(plain) == 10


class Options:
    """A field whose values to try are given."""

    def __init__(self, options):
        self.options = options

    def values(self, seen):
        return self.options
