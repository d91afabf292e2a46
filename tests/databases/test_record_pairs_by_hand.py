"""Pairs of lists of records: candidates, variations, and allowed sizes."""

from collections import namedtuple
from types import SimpleNamespace

import numpy as np
import pytest
from told import Told

from dpjax.databases import AddRemove, ChangeOne, Domain
from dpjax.databases._pairs import _shown, is_frame
from dpjax.databases.spaces._bases import (
    _constant_columns,
    _one_changed,
    bases_of,
    records_worth_trying,
)
from dpjax.databases.spaces._fields import Column, Field
from dpjax.databases.spaces._forms import form_of
from dpjax.databases.spaces._record_pairs import RecordPairs
from dpjax.databases.spaces._records import (
    Row,
    check_alike,
    fields_of,
    key_of,
    key_of_fields,
    short,
    with_fields,
)
from dpjax.databases.spaces._relations import _keys
from dpjax.databases.spaces._space import Proposed

FEW = Domain(categories=["a", "b"])
Point = namedtuple("Point", "x y")


def pairs(*examples, relation=None, domain=FEW, closed=False):
    rng = np.random.default_rng(0)
    return RecordPairs(examples, relation or AddRemove(), domain, rng, closed=closed)


def test_candidates_of_one_and_of_several_examples():
    one = pairs(["a", "b"])
    assert one.num_records == 2 and one.tried == ["a", "b"]
    names = {change.base.name for change in one.candidates()}
    assert "draw 0" not in names and "the example" in names
    two = pairs(["a"], ["a", "b", "b"], ["b"])
    assert two.num_records == 3
    names = [change.base.name for change in two.candidates()]
    assert {"draw 0", "draw 1", "draw 2", "the example"} <= {*names}
    sizes = {change.base.name: change.base.size for change in two.candidates()}
    assert [sizes[f"draw {k}"] for k in range(3)] == [1, 3, 1] and sizes["the example"] == 3
    closed = pairs(["a", "b"], closed=True)
    assert {change.base.name for change in closed.candidates()} == {"draw 0"}


@pytest.mark.parametrize(
    "relation, domain, kinds, counts",
    [
        (AddRemove(3), FEW, {"added", "removed", "reordered"}, {3, 2}),
        (ChangeOne(3), FEW, {"becomes", "reordered"}, {3}),
        (AddRemove(5), Domain(categories=["a", "b"], size=2), {"becomes", "reordered"}, {2}),
        (AddRemove(1), Domain(categories=["a", "b"], size=2), {"reordered"}, {0}),
    ],
)
def test_how_many_records_differ(relation, domain, kinds, counts):
    """With a fixed size, each replaced record counts as one removed and one added."""
    found = [c for c in pairs(["a", "b"], relation=relation, domain=domain).candidates()
             if c.base.name == "the example"]  # fmt: skip
    assert {change.kind for change in found} == kinds
    assert {change.count for change in found} == counts


def test_candidates_in_closed_spaces_are_the_records_that_were_seen():
    many = pairs([f"v{k}" for k in range(200)] + ["v0"], domain=None, closed=True)
    assert many.tried == [f"v{k}" for k in range(150)]
    assert pairs("ab").tried == list(form_of("ab").alphabet)


def test_varied_pairs():
    space = pairs([1.0, 2.0, 3.0, 4.0], domain=None)
    rows = [1.0, 2.0, 3.0, 4.0]
    pair = Proposed(rows, [1.0, 2.0, 5.0, 6.0], "")
    place = next(k for k, record in enumerate(space.tried) if key_of(record) == key_of(2.0))

    def varied(*answers, pair=pair):
        told = Told(place, 0, 0, *answers)  # choose the record 2.0 and its only field, unchanged
        return space.varied(pair, told), told.asked[3:]

    assert varied(0) == ((rows, [1.0, 2.0, 2.0, 6.0]), [(4,)])
    assert varied(1, 1, 0) == (([2.0, 2.0, 3.0, 4.0], [2.0, 2.0, 5.0, 6.0]), [(4,), (1, 2), (2,)])
    assert varied(2, 1)[0] == (
        [1.0, 2.0, 2.0, 2.0, 3.0, 4.0], [1.0, 2.0, 2.0, 2.0, 5.0, 6.0]
    )  # fmt: skip
    assert varied(2, 0)[1] == [(4,), (0, 6)]
    assert varied(3, 1) == (([1.0, 3.0, 4.0], [1.0, 5.0, 6.0]), [(4,), (2,)])
    long = Proposed([*rows, 9.0], [*rows, 8.0], "")
    assert varied(1, 2, 0, 3, pair=long)[0] == (
        [2.0, 2.0, 3.0, 2.0, 9.0], [2.0, 2.0, 3.0, 2.0, 8.0]
    )  # fmt: skip
    assert varied(1, 1, 0, pair=long)[1] == [(4,), (1, 3), (4,)]
    # An empty list has no record to replace.
    shorter = Proposed([1.0, 2.0], [1.0], "")
    assert varied(0, 0, pair=shorter)[0] == ([2.0], [])
    apart = Proposed([1.0], [3.0], "")
    assert varied(1, pair=apart)[0] == ([1.0], [3.0])
    assert varied(3, pair=apart)[0] == ([1.0], [3.0])


def test_records_near_others_have_one_changed_field():
    space = pairs([(1.0, 2.0)], domain=None)
    told = Told(1, 1, 3)
    assert space._near((1.0, 2.0), told) == (1.0, 16.0) and told.asked == [(2,), (2,), (-8, 9)]
    assert space._near((), Told()) == ()
    closed = pairs([(1.0, 2.0)], domain=None, closed=True)
    assert closed._near((1.0, 2.0), Told()) == (1.0, 2.0)
    assert pairs("ab")._near("a", Told()) == "a"


def test_paths_grow():
    labels = [path.label for path in pairs(["a", "b"]).paths()]
    assert labels == ["copies of 'a'", "the example, repeated"]
    (same,) = pairs(["a", "a"]).paths()
    assert same.label == "copies of 'a'"
    copies, repeated = pairs(["b"], ["a", "b", "b"], relation=AddRemove(2)).paths()
    assert copies.step == repeated.step == 2 and copies.longest == 2**13
    assert copies.at(3) == ["a"] * 3 and repeated.at(5) == ["a", "b", "b", "a", "b"]
    for space in (pairs(["a"], relation=ChangeOne()), pairs(["a"], closed=True)):
        assert space.paths() == []
    assert pairs([]).paths() == []
    sized = pairs(["a", "b"], domain=Domain(categories=["a", "b"], size=3)).paths()
    assert [sized[0].at(k) for k in (2, 3)] == [None, ["a"] * 3]
    refused = pairs(["a", "b"], domain=Domain(member=lambda database: "b" in database)).paths()
    assert refused[0].at(2) is None and refused[1].at(2) == ["a", "b"]
    outside = pairs(["a", "c"]).paths()
    assert outside[1].at(2) is None  # c is not in the domain


@pytest.mark.parametrize(
    "sizes, closed, size, allowed",
    [
        ((2, 4), True, None, {2, 3, 4}), ((2, 4), False, None, {0, 1, 2, 3, 4, 5}),
        ((2, 4), False, 3, {3}), ((2, 4), True, 5, set()), ((2, 4), True, 4, {4}),
    ],
)  # fmt: skip
def test_allowed_sizes(sizes, closed, size, allowed):
    domain = Domain(categories=["a"], size=size)
    space = pairs(*(["a"] * n for n in sizes), domain=domain, closed=closed)
    assert {n for n in range(6) if space._has_size(n)} == allowed


def test_made_pairs():
    space = pairs(["a", "b"])
    made = space.made(["a"], ["a", "b"], "label")
    assert made.pair == Proposed(["a"], ["a", "b"], "label")
    assert made.key == ((key_of("a"),), (key_of("a"), key_of("b")))
    assert space.made(["a"], ["a"], "") is None  # equal
    assert space.made(["a"], ["a", "b", "b"], "") is None  # too far apart
    assert space.made(["a"], ["a", "c"], "") is None  # outside of the domain
    member = pairs(["a", "b"], domain=Domain(member=lambda database: len(database) < 2))
    assert member.made(["a"], ["a", "b"], "") is None and member.made([], ["a"], "") is not None
    assert not member.allows(["a"], ["a", "b"]) and member.allows([], ["a"])
    assert not space.allows(["a"], ["a", "c"]) and space.allows(["b", "a"], ["b"])
    assert space.size(Proposed(["a"], ["a", "b"], "")) == 3
    assert space.has_form(["x"]) and not space.has_form(("x",))
    array = pairs(np.array([1, 2], np.int8), domain=None)
    assert array.made([1], [1, 300], "") is None  # an int8 cannot hold 300
    assert array.made([1], [1, 100], "").pair.neighbor.tolist() == [1, 100]


def test_closed_spaces_have_no_other_records():
    space = pairs(["a", "c"], ["c"], closed=True)
    assert space._inside(["a", "c"]) and not space._inside(["a", "b"])
    opened = pairs(["a", "c"], ["c"])
    assert opened._inside(["a", "b"]) and not opened._inside(["c"])


def test_bases_of_an_example():
    seen, fields = ["a", "b", "c"], [Field(Domain())]
    found = bases_of(seen, ["x", "y"], fields, None, False)
    assert [(base.name, base.size, base.records()) for base in found] == [
        ("the example", 3, seen), ("the example, reversed", 3, ["c", "b", "a"]),
        ("no record", 0, []), ("one record", 1, ["x"]), ("one record", 1, ["y"]),
        ("the example twice", 6, seen + seen), ("all 'x'", 3, ["x"] * 3), ("all 'y'", 3, ["y"] * 3),
        ("half 'x', half 'y'", 3, ["x", "y", "y"]),
    ]  # fmt: skip
    assert found[0].records() is not seen
    fixed = bases_of(seen, ["x", "y", "z", "w"], fields, None, True)
    assert [base.name for base in fixed][:3] == ["the example", "the example, reversed", "all 'x'"]
    free = bases_of(seen, ["x", "y", "z", "w"], fields, None, False)
    assert [base.name for base in free].count("one record") == 3
    sized = bases_of(seen, ["x", "y"], fields, 6, False)
    assert [(base.name, base.records()) for base in sized] == [
        ("the example twice", seen + seen), ("all 'x'", ["x"] * 6), ("all 'y'", ["y"] * 6),
        ("half 'x', half 'y'", ["x"] * 3 + ["y"] * 3),
    ]  # fmt: skip
    empty = bases_of([], ["x"], fields, None, False)
    assert next(base for base in empty if base.name == "all 'x'").records() == ["x", "x"]
    assert [base.name for base in bases_of(seen, [], fields, None, False)] == ["the example"]


def test_fields_that_are_made_constant():
    seen = [(1, "a"), (2, "b")]
    fields = [Field(Domain(categories=[5, 6, 7])), Field(Domain(categories=["c"]), Column("town"))]
    found = list(_constant_columns(seen, fields))
    assert [(base.name, base.size, base.records()) for base in found] == [
        ("the example, field 0 is 5", 2, [(5, "a"), (5, "b")]),
        ("the example, field 0 is 7", 2, [(7, "a"), (7, "b")]),
        ("the example, town is 'c'", 2, [(1, "c"), (2, "c")]),
    ]  # fmt: skip
    assert list(_constant_columns([], fields)) == []
    assert list(_constant_columns([(1,)], fields[:1])) == []
    wide = [Field(Domain(categories=[k])) for k in range(9)]
    assert len(list(_constant_columns([tuple(range(9))], wide))) == 8


def test_copies_with_one_changed_field():
    assert _one_changed((1, 2), [[5, 6], [7]]) == [(5, 2), (1, 7), (6, 2)]
    assert _one_changed((), []) == []
    record = {"x": 1, "y": 2}
    assert _one_changed(record, [[5], [6]]) == [{"x": 5, "y": 2}, {"x": 1, "y": 6}]


def test_records_worth_trying():
    fields = [Field(Domain(categories=[5, 6])), Field(Domain(categories=[7, 8, 9]))]
    form = form_of([(1, 2), (3, 4)])
    found = records_worth_trying([(1, 2), (3, 4)], form, fields, np.random.default_rng(0))
    start = [(1, 2), (3, 4), (5, 2), (1, 7), (6, 2), (1, 8), (1, 9), (5, 4), (3, 7), (6, 4),
             (3, 8), (3, 9), (5, 7), (6, 8), (5, 9)]  # fmt: skip
    assert found[: len(start)] == start
    assert {*found[len(start) :]} <= {(a, b) for a in (5, 6) for b in (7, 8, 9)}
    rng = np.random.default_rng(0)
    drawn = [([5, 6][rng.integers(2)], [7, 8, 9][rng.integers(3)]) for _ in range(12)]
    assert found[len(start) :] == [
        *dict.fromkeys(record for record in drawn if record not in start)
    ]


def test_records_by_hand():
    row = Row((1, "a"), "label")
    again = with_fields(row, [2, "b"])
    assert again == (2, "b") and again.label == "label" and type(again) is Row
    assert key_of(row) != key_of(Row((1, "a"), "other")) and key_of_fields(row) == key_of_fields(
        Row((1, "a"), "other")
    )
    assert with_fields(Point(1, 2), [3, 4]) == Point(3, 4)
    assert type(with_fields([1], [2])) is list and with_fields(5, [6]) == 6
    assert with_fields({"x": 1}, [2]) == {"x": 2}
    assert fields_of({"x": 1, "y": 2}) == [1, 2] and fields_of("ab") == ["ab"]
    assert key_of({"x": 1, "y": 2}) == key_of({"y": 2, "x": 1}) != key_of({"x": 2, "y": 1})
    assert key_of(0.0) != key_of(-0.0) and key_of(float("nan")) == key_of(float("nan"))
    assert key_of(1) != key_of(1.0) != key_of(True)
    assert short("x" * 28) == repr("x" * 28) and short("x" * 29) == repr("x" * 29)[:27] + "..."
    check_alike([]), check_alike([(1, 2), (3, 4)]), check_alike([{"x": 1}, {"x": 2}])
    for wrong in ([(1, 2), (3,)], [{"x": 1}, {"y": 1}], [(1, 2), {"x": 1}]):
        with pytest.raises(ValueError, match="like must hold records with the same fields, but he"):
            check_alike(wrong)


def test_keys_without_what_both_have():
    a, b, c = ["a"], ["b"], ["c"]
    assert _keys([a, b, c], [a, c]) == ([key_of(b)], [])
    assert _keys([a, a], [a]) == ([key_of(a)], [])
    assert _keys([a], [a, a, a]) == ([], [key_of(a)] * 2)
    assert _keys([a, b], [a, b]) == ([], [])
    assert _keys([b, a], [c, a]) == ([key_of(b)], [key_of(c)])


@pytest.mark.parametrize("length", [78, 79])
def test_entries_are_shown_up_to_80_characters(length):
    text = "x" * length
    assert _shown(text) == (repr(text) if length == 78 else repr(text)[:80] + "...")


def test_what_is_a_frame():
    """Tables of other libraries are frames; other objects with column names are not."""
    columns = SimpleNamespace(columns=["a"])
    both = type("Table", (), {"columns": ["a"], "__array__": lambda self: np.zeros(1)})()
    assert [is_frame(value) for value in (columns, np.zeros(2), both, [1])] == [
        False, False, True, False,
    ]  # fmt: skip
    assert _shown(both) == "a Table" and _shown(columns) == repr(columns)
