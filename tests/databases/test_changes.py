"""Bases and their changes, with explicit expected names, sizes, records and order."""

from types import SimpleNamespace

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
    """Sort by the sum of both indices up to 2; then the first change of each base; then others."""
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
    # With a fixed size, a single record cannot be reordered, or replaced if no change is allowed.
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
    # If the example is empty, two records form a constant database.
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


@pytest.mark.parametrize(("number", "both"), [(16, range(33, 81)), (17, range(16, 33))])
def test_more_than_150_records_are_cut_down_by_kind(number, both):
    """One example, 2 n in each field with one change, n in order, and 4 n at random: 9 n + 1."""
    fields = [Options([float(i) for i in range(10, 10 + number)]) for _ in range(2)]
    found = records_worth_trying(
        [(1.0, 2.0)], form_of([(1.0, 2.0)]), fields, np.random.default_rng(0)
    )
    rows = [tuple(record) for record in found]
    assert sum(a == 1.0 for a, _ in rows) == sum(b == 2.0 for _, b in rows) == number + 1
    assert sum(a >= 10 and b >= 10 for a, b in rows) in both
    assert sum(a == b for a, b in rows) >= 16


@pytest.mark.parametrize(("number", "both"), [(30, range(130, 151)), (31, range(90, 107))])
def test_without_an_example_records_are_cut_down_to_75_of_each_kind(number, both):
    """There are n records in order and 4 n random records."""
    fields = [Options([float(i) for i in range(number)]) for _ in range(2)]
    form = SimpleNamespace(blank=(0.0, 0.0))
    found = records_worth_trying([], form, fields, np.random.default_rng(0))
    assert len(found) in both
    assert [tuple(r) for r in found[:number]] == [(float(i), float(i)) for i in range(number)]


@pytest.mark.parametrize(("number", "columns"), [(1, []), (2, [0, 1]), (12, [*range(8)])])
def test_each_of_the_first_eight_fields_is_made_constant(number, columns):
    """With two or more fields, each is set to the first and to the last of the values to try."""
    seen = [tuple(float(10 * row + field) for field in range(number)) for row in range(3)]
    fields = [Options([0.5, 1.5, 2.5]) for _ in range(number)]
    fields[0].column.name = "age"
    found = {base.name: base for base in bases_of(seen, [seen[0]], fields, None, True)}
    for column in range(number):
        name = "age" if column == 0 else f"field {column}"
        for value in (0.5, 2.5):
            base = found.pop(f"the example, {name} is {value}", None)
            assert (base is None) == (column not in columns)
            if base is not None:
                assert base.size == 3
                expected = [
                    tuple(value if at == column else old for at, old in enumerate(row))
                    for row in seen
                ]
                assert [tuple(row) for row in base.records()] == expected
    assert not [name for name in found if " is " in name]


class Options:
    """Field with given values to try."""

    def __init__(self, options):
        self.options, self.column = options, SimpleNamespace(name=None)

    def values(self, seen):
        return self.options
