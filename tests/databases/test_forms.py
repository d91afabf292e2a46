"""Examples of unusual types: pairs of their spaces, and examples that are rejected."""

from collections import namedtuple
from itertools import chain

import numpy as np
import pytest
from hypothesis import strategies as st

import dpjax
from dpjax.databases import AddRemove, Domain, Within, neighbors
from dpjax.databases.spaces._records import key_of_fields

Point = namedtuple("Point", "x y")


def databases(space):
    """Return both databases of every proposed pair, and of variations of some pairs."""
    pairs = space.proposed()
    varied = [space.varied(pair, (number,)) for number, pair in enumerate(pairs[:60])]
    pairs += [pair for pair in varied if pair is not None]
    return [side for pair in pairs for side in (pair.database, pair.neighbor)]


def test_dicts_are_matched_by_key_and_not_by_position():
    like = [{"age": 1, "town": "x"}, {"town": "y", "age": 2}]
    space = neighbors(like, "change-one", {"age": Domain(bounds=(0, 50))})
    ages = {record["age"] for record in chain(*databases(space))}
    towns = {record["town"] for record in chain(*databases(space))}
    assert {0, 50} <= ages and all(isinstance(age, int) and 0 <= age <= 50 for age in ages)
    assert {"x", "y", "new"} <= towns and all(isinstance(town, str) for town in towns)
    assert space.allows([like[0]], [{"town": "x", "age": 50}])
    assert not space.allows([like[0]], [{"town": "x", "age": 51}])


def test_dicts_with_other_keys_are_other_records():
    drawn = st.lists(st.sampled_from([{"a": 1}, {"b": 1}]), min_size=1, max_size=3)
    space = neighbors(drawn, AddRemove(1))
    assert space.allows([{"a": 1}], [{"a": 1}, {"b": 1}])
    assert not space.allows([{"a": 1}, {"a": 1}], [{"b": 1}])
    for pair in space.proposed():
        sides = [sorted(map(repr, side)) for side in (pair.database, pair.neighbor)]
        short, long = sorted(sides, key=len)
        rest = [*long]
        for record in short:
            rest.remove(record)
        assert len(rest) <= 1


@pytest.mark.parametrize("like", [[{"a": 1}, {"b": 1}], [{"a": 1}, 2], [(1,), (2, 3)]])
def test_records_with_different_fields_are_refused(like):
    with pytest.raises(ValueError, match="like must hold records with the same fields"):
        neighbors(like)


@pytest.mark.parametrize(
    "like", [{"a": [1.0, 2.0]}, {"a": np.array([1.0, 2.0])}, {"a": [1.0, 2.0], "b": ["x", "y"]}]
)
def test_columns_are_lists_or_arrays_and_one_column_suffices(like):
    found = databases(neighbors(like, "change-one", {"a": Domain(bounds=(0, 10))}))
    assert {tuple(map(type, each.values())) for each in found} == {tuple(map(type, like.values()))}
    assert all(each.keys() == like.keys() for each in found)
    values = [value for each in found for value in each["a"]]
    assert min(values) == 0 and max(values) == 10


@pytest.mark.parametrize(
    "like", [{}, {"a": [1.0], "b": [1.0, 2.0]}, {"a": (1.0, 2.0)}, {"a": 1.0}, {"a": "text"}]
)
def test_dicts_of_something_else_are_refused(like):
    with pytest.raises(ValueError, match="dict of equally long columns"):
        neighbors(like)


def test_named_tuples_and_bytearrays_keep_their_type():
    domain = Domain(bounds=[(0, 1), (0, 5)])
    found = databases(neighbors([Point(0.5, 2.0), Point(1.0, 3.0)], "change-one", domain))
    assert {type(record) for record in chain(*found)} == {Point}
    assert max(record.y for record in chain(*found)) == 5
    assert {type(each) for each in databases(neighbors(bytearray(b"ab")))} == {bytearray}


def test_masked_arrays_are_refused():
    with pytest.raises(TypeError, match="like must not be a masked array"):
        neighbors(np.ma.array([1.0, 2.0], mask=[False, True]))


@pytest.mark.parametrize(
    ("like", "relation"),
    [
        (np.array([5, 6]), Within(1, "l1")),
        (np.array([250, 6], np.uint8), Within(1, "linf")),
        (np.uint8(250), Within(3)),
        (np.int8(5), "any"),
        (np.int64(5), Within(1)),
        (np.float32(0.5), Within(1)),
    ],
)
def test_values_keep_the_type_of_numpy_and_stay_within_its_limits(like, relation):
    found = databases(neighbors(like, relation))
    assert len(found) >= 10
    assert {(type(each), each.dtype) for each in found} == {(type(like), like.dtype)}


def test_one_bit_of_a_numpy_integer_is_flipped():
    pairs = neighbors(np.int8(5), "any").proposed()
    flips = {int(p.neighbor) ^ 5 for p in pairs if p.database == 5}
    assert {1 << place for place in range(7)} <= flips


def test_sparse_columns_are_columns_of_numbers():
    pd = pytest.importorskip("pandas")
    like = pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 1.0, 0.0])})
    found = databases(neighbors(like, "change-one", {"a": Domain(bounds=(0, 10))}))
    assert {str(each["a"].dtype) for each in found} == {str(like["a"].dtype)}
    assert max(each["a"].max() for each in found) == 10


@pytest.mark.slow
def test_a_leak_in_one_column_of_dicts_of_lists_is_found():
    def total(columns, num_samples, seed):
        return sum(columns["a"]) + np.random.default_rng(seed).laplace(0, 1, num_samples)

    space = neighbors({"a": [1.0, 2.0], "b": ["x", "y"]}, "change-one", {"a": Domain((0, 10))})
    method = dpjax.Events(num_samples=1500, num_confirm=3000)
    assert dpjax.audit(dpjax.HostMechanism(total), space, claim=1.0, method=method).lower_bound > 4


def test_variations_drop_records_that_both_sides_share():
    """One of four kinds drops records, so the test fails by chance with probability 1e-25."""
    space = neighbors([float(number) for number in range(8)], "change-one")
    pair = next(pair for pair in space.proposed() if len(pair.database) == 8)
    varied = [space.varied(pair, (number,)) for number in range(200)]
    sizes = {len(found.database) for found in varied if found is not None}
    assert min(sizes) < 8 < max(sizes)


def test_variations_of_numbers_are_new_numbers():
    """Variations contain numbers that no proposed pair contains."""
    space = neighbors([float(number) for number in range(8)], "change-one")
    pair = space.proposed()[0]
    varied = [space.varied(pair, (number,)) for number in range(100)]
    seen = {value for pair in space.proposed() for value in (*pair.database, *pair.neighbor)}
    found = {value for pair in varied if pair for value in (*pair.database, *pair.neighbor)}
    assert len(found - seen) > 5


def test_bounds_and_the_values_beside_them_are_tried():
    space = neighbors([2.5, 2.25], "change-one", Domain(bounds=(2.0, 3.0)))
    seen = {value for pair in space.proposed() for value in (*pair.database, *pair.neighbor)}
    assert {2.0, np.nextafter(2.0, 3.0), np.nextafter(3.0, 2.0), 3.0} <= seen


def test_a_field_with_the_name_key_is_no_key():
    """Rows of a frame have a key, but a user's record may have a field named key."""
    named = namedtuple("Named", "key value")
    like = [named("a", 1), named("a", 2)]
    space = neighbors(like, "change-one")
    assert space.allows(like, [named("a", 1), named("a", 3)])
    assert not space.allows(like, [named("a", 5), named("a", 3)])
    assert key_of_fields(like[0]) != key_of_fields(like[1])
