"""Values of a family's parameters: ends, midpoints, and a selection of many combinations."""

import math

import numpy as np
import pytest

import dpjax
from dpjax import Epsilon, Family, HostMechanism
from dpjax.sources import Trust, family_of
from dpjax.sources._family import Member, _Interval, _range_of


def noisy(scale=1.0, kind="a"):
    return HostMechanism(draw, time_limit=3.0)


def draw(database, num_samples, seed):
    return np.random.default_rng(seed).laplace(database, 1.0, num_samples)


@pytest.mark.parametrize(
    ("low", "high", "share", "value"),
    [
        (1.0, 16.0, 0.5, 4.0), (1.0, 16.0, 0.25, 2.0), (1.0, 16.0, 0.0, 1.0),
        (1.0, 16.0, 1.0, 16.0), (0.0, 16.0, 0.25, 4.0), (-4.0, 16.0, 0.25, 1.0),
        (1, 16, 0.25, 2), (1, 10, 0.5, 3), (0, 10, 0.24, 2), (-5, 10, 0.5, 2), (2.5, 40, 0.5, 10.0),
    ],
)  # fmt: skip
def test_values_within_an_interval(low, high, share, value):
    """If both ends are positive, the values are equally spaced on a logarithmic scale."""
    interval = _Interval(low, high)
    found = interval.at(share)
    assert found == pytest.approx(value, rel=1e-12)
    assert isinstance(found, int) == (isinstance(low, int) and isinstance(high, int))
    assert interval.whole == (isinstance(low, int) and isinstance(high, int))


def test_ends_and_middles():
    assert _Interval(1.0, 16.0).values() == [1.0, 4.0, 16.0]
    assert _Interval(3, 4).values() == [3, 4] and _Interval(0, 5).values() == [0, 2, 5]
    assert _Interval(0.1, 1.1).at(1.0) == 1.1 and _Interval(0.1, 0.7).at(0.0) == 0.1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((1, 2), _Interval(1, 2)), ((0.5, 2), _Interval(0.5, 2)), ([1, 2], [1, 2]),
        (("a", "b"), ["a", "b"]), ((True, False), [True, False]), ((1, "b"), [1, "b"]),
        ((1, 2, 3), [1, 2, 3]), ((1,), [1]), (range(2), [0, 1]), (np.array([0.5]), [0.5]),
    ],
)  # fmt: skip
def test_ranges(given, expected):
    found = _range_of("scale", given)
    assert found == expected and isinstance(found, type(expected))


@pytest.mark.parametrize("given", [(2, 1), (1, 1), (float("nan"), 1.0)])
def test_intervals_that_do_not_increase(given):
    with pytest.raises(ValueError, match="ranges must have increasing intervals, but scale had"):
        _range_of("scale", given)


@pytest.mark.parametrize("given", [[], (), "ab", 3, None, {"a": 1}])
def test_ranges_without_values(given):
    with pytest.raises(ValueError, match=r"a list of values or an interval .*, but scale had"):
        _range_of("scale", given)


@pytest.mark.parametrize("number", [48, 49])
def test_forty_eight_members_are_all_tried(number):
    family = Family(noisy, {"scale": list(range(number)), "kind": ["a"]})
    found = family.tried(np.random.default_rng(1))
    assert len(found) == 48 and all(set(one) == {"scale", "kind"} for one in found)
    scales = [one["scale"] for one in found]
    assert scales == sorted(set(scales))
    if number == 49:
        others = family.tried(np.random.default_rng(2))
        assert len(others) == 48 and others != found


def test_combinations_are_tried_in_order():
    family = Family(noisy, {"scale": (1.0, 4.0), "kind": ["a", "b"]})
    assert family.tried(np.random.default_rng(0)) == [
        {"scale": scale, "kind": kind} for scale in (1.0, 2.0, 4.0) for kind in "ab"
    ]


def test_one_parameter_is_varied():
    """Each of two parameters is chosen with probability 1/2: 60 to 140 of 200, up to 1e-8."""
    family = Family(noisy, {"scale": (1.0, 4.0), "kind": ["a", "b", "c"]})
    rng = np.random.default_rng(5)
    chosen = {"scale": 100.0, "kind": "z"}
    found = [family.varied(chosen, rng) for _ in range(200)]
    scales = [one["scale"] for one in found if one["scale"] != 100.0]
    kinds = [one["kind"] for one in found if one["kind"] != "z"]
    assert len(scales) + len(kinds) == 200 and 60 < len(scales) < 140
    assert set(kinds) == set("abc") and 1.0 <= min(scales) < 1.2 and 3.4 < max(scales) <= 4.0
    # Half of the logarithms are below the midpoint, which is 2.
    assert 0.25 < np.mean(np.array(scales) < 2.0) < 0.75
    assert chosen == {"scale": 100.0, "kind": "z"}


def test_a_member_is_its_source_under_the_name_of_its_family():
    family = Family(noisy, {"scale": [0.5], "kind": ["a"]})
    chosen = {"scale": 0.5, "kind": "a"}
    member = family.member(chosen)
    assert member.name == "noisy" == family.name and member.parameters == chosen
    assert member.chosen is not chosen and member.time_limit == 3.0 and member.batched is True
    assert member.stated is None and member.usual_pairs is None
    assert member.with_time_used(1.0).time_limit == 2.0 and member.time_limit == 3.0
    assert member.encoder().source == member.source.encoder().source
    with pytest.raises(AttributeError, match="no_such"):
        _ = member.no_such
    assert member.to_plain() == {"name": f"{__name__}:noisy", "parameters": chosen}
    back = Member.from_plain(member.to_plain(), None, Trust([__name__]))
    assert back.chosen == chosen and back.make is noisy and isinstance(back.source, HostMechanism)
    odd = Member(member.source, noisy, {"scale": Epsilon()})
    assert odd.to_plain() is None and isinstance(odd.parameters["scale"], str)
    assert Member(member.source, lambda: 0, chosen).to_plain() is None


def test_families_that_are_none():
    with pytest.raises(TypeError, match="make must be a function of parameters, but was 3"):
        Family(3, {"scale": [1]})
    for ranges in ({}, None, [1]):
        with pytest.raises(TypeError, match="ranges must map at least one parameter's name"):
            Family(noisy, ranges)
    with pytest.raises(ValueError, match="time_limit must be a number > 0"):
        Family(noisy, {"scale": [1]}, time_limit=0.0)
    family = Family(noisy, {"scale": [1]})
    assert family_of(family) is family and family_of(noisy) is None
    assert family.refuses("events").startswith("the family noisy cannot be audited as a whole")
    with pytest.raises(TypeError, match="but one returned 3"):
        Family(one, {"scale": [1]}).member({"scale": 1})


def one(scale):
    return 3 * scale


def test_the_middle_of_a_wide_interval_is_exact():
    assert _Interval(1e-6, 1e6).at(0.5) == pytest.approx(1.0)
    assert math.log10(_Interval(1e-6, 1e6).at(0.25)) == pytest.approx(-3)
    assert dpjax.Family is Family
