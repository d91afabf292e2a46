"""Values to try in a field, given the type of its values and its bounds."""

from datetime import date, datetime, timedelta

import numpy as np
import pytest
from told import Told

from dpjax.databases import Domain
from dpjax.databases.spaces._fields import _MOMENTS, _SPANS, _TEXTS, Column, Field

DAY, STEP = timedelta(days=1), timedelta(microseconds=1)
NEW_YEAR = datetime(2020, 1, 1)


@pytest.mark.parametrize(
    ("kind", "seen", "values"),
    [
        (bool, [], [False, True]), (str, [], list(_TEXTS)), (datetime, [], list(_MOMENTS)),
        (timedelta, [], list(_SPANS)), (bytes, [], []), (None, [b"x"], [b"x"]), (None, [], []),
        (None, [DAY], [*_SPANS, DAY]), (None, [NEW_YEAR], [*_MOMENTS, NEW_YEAR]),
        (None, [True], [False, True]),
    ],
)  # fmt: skip
def test_values_without_bounds(kind, seen, values):
    found = Field(Domain(), Column(kind=kind)).values(seen)
    assert found == values and [*map(type, found)] == [*map(type, values)]


def test_dates_are_the_days_of_moments():
    found = Field(Domain(), Column(kind=date)).values([])
    assert found == list(dict.fromkeys(moment.date() for moment in _MOMENTS))


@pytest.mark.parametrize(
    ("kind", "low", "high", "step"),
    [
        (timedelta, timedelta(0), 30 * DAY, STEP), (datetime, NEW_YEAR, NEW_YEAR + DAY, STEP),
        (date, NEW_YEAR.date(), NEW_YEAR.date() + 9 * DAY, DAY),
    ],
)  # fmt: skip
def test_values_within_bounds_of_time(kind, low, high, step):
    """Values include the bounds and adjacent values, and none is outside of the bounds."""
    found = Field(Domain(bounds=(low, high)), Column(kind=kind)).values([])
    assert {low, high, low + step, high - step} <= {*found}
    assert all(type(value) is kind and low <= value <= high for value in found)
    inside = low + 3 * step
    assert Field(Domain(bounds=(low, high)), Column(kind=kind)).values([inside])[-1] == inside


@pytest.mark.parametrize(("kind", "step"), [(int, 1), (float, None)])
def test_values_within_bounds_of_numbers(kind, step):
    found = Field(Domain(bounds=(2, 9)), Column(kind=kind)).values([])
    beside = {2 + step, 9 - step} if step else {np.nextafter(2.0, 3.0), np.nextafter(9.0, 2.0)}
    assert {2, 9} | beside <= {*found}
    assert all(type(value) is kind and 2 <= value <= 9 for value in found)


def stored_days(value):
    return value.replace(hour=0) if isinstance(value, datetime) else timedelta(value.days)


@pytest.mark.parametrize(
    ("kind", "bounds", "kept"),
    [
        (datetime, None, None), (datetime, (1, 2), None), (timedelta, (1.5, 2.5), None),
        (datetime, (NEW_YEAR, NEW_YEAR + 1.5 * DAY), (NEW_YEAR, NEW_YEAR + DAY)),
        (timedelta, (0.5 * DAY, 3.5 * DAY), (0 * DAY, 3 * DAY)),
        (int, (1, 2), (1, 2)), (str, (NEW_YEAR, NEW_YEAR + DAY), (NEW_YEAR, NEW_YEAR + DAY)),
        (None, (np.float64(1), 2), (1, 2)),
    ],
)  # fmt: skip
def test_bounds_of_times_are_stored_like_values(kind, bounds, kept):
    """Numbers do not apply to a column of times. Other columns keep their bounds."""
    domain = Domain(bounds=bounds, nan=True, infinite=True, size=3, member=lambda d: True)
    field = Field.of(domain, 0, Column(kind=kind, stored=stored_days))
    assert field.bounds == kept
    assert field.domain == Domain(bounds=kept, nan=True, infinite=True)


@pytest.mark.parametrize(
    ("bounds", "kinds"),
    [
        (None, ()), ((1, 2), (int, float)), ((np.float32(1), 2.0), (int, float)),
        ((NEW_YEAR, NEW_YEAR + DAY), (datetime, date, timedelta)),
    ],
)  # fmt: skip
def test_kinds_of_values_to_which_bounds_apply(bounds, kinds):
    field = Field(Domain(bounds=bounds))
    for kind in (bool, int, float, str, datetime, date, timedelta, None):
        assert field._bounds_for(kind) == (bounds if kind in kinds else None)


def test_categories_are_for_fields_without_bounds():
    words = Domain(categories=["b", "a"])
    assert Field(words).values(["a", "c"]) == ["b", "a"]
    found = Field(Domain(bounds=(2, 9), categories=[5, 50]), Column(kind=int)).values([])
    assert 50 not in found and 5 in found  # 5 is the midpoint.
    assert Field(words, Column(categories=("a", "x"))).values([]) == ["b", "a"]
    assert Field(Domain(), Column(categories=("a", "x"))).values(["y"]) == [
        "a", "x", *_TEXTS, "y",
    ]  # fmt: skip


def test_twenty_values_of_the_example_are_used():
    seen = [f"v{k}" for k in range(25)]
    assert Field(Domain()).values(seen) == [*_TEXTS, *seen[:20]]
    assert Field(Domain(categories=[*seen, "w"])).values(seen)[20:] == [*seen[20:], "w"]


def test_missing_and_infinite_values():
    column = Column(kind=str, missing=(None,))
    assert None in Field(Domain(nan=True), column).values([])
    assert None not in Field(Domain(), column).values([])
    assert Field(Domain(nan=True), column).has(None) and not Field(Domain(), column).has(None)
    wild = Field(Domain(infinite=True), Column(kind=float)).values([])
    assert wild[-2:] == [np.inf, -np.inf]
    both = Field(Domain(nan=True, infinite=True), Column(kind=float)).values([])
    assert np.isnan(both[-3]) and len(both) == len(wild) + 1
    plain = Field(Domain(), Column(kind=float)).values([])
    most, tiny = np.finfo(float).max, np.nextafter(0.0, 1.0)
    assert [repr(v) for v in plain] == [
        repr(v) for v in (0.0, -0.0, 1.0, -1.0, tiny.item(), 1e-9, most.item(), -most.item())
    ]


def test_whole_numbers_and_their_limits():
    wild = [0, 1, -1, 2**31 - 1, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63)]
    assert Field(Domain(), Column(kind=int)).values([]) == wild
    short = Column(kind=int, dtype=np.dtype(np.int16))
    assert Field(Domain(), short).values([]) == [*wild, -(2**15), 2**15 - 1]
    assert Field(Domain(bounds=(2.5, 9.5)), Column(kind=int)).values([]) == [3, 9, 4, 8, 6]
    assert Field(Domain(bounds=(-1, 2)), Column(kind=int)).values([]) == [-1, 2, 0, 1]


def test_floats_at_bounds_that_a_column_cannot_store():
    single = Column(kind=float, dtype=np.dtype(np.float32))
    found = Field(Domain(bounds=(0.1, 0.7)), single).values([])
    assert all(0.1 <= value <= 0.7 for value in found)
    low, high = np.float32(0.1), np.float32(0.7)  # These are above 0.1 and below 0.7.
    above, below = np.nextafter(low, np.float32(1)), np.nextafter(high, np.float32(0))
    assert found[:4] == [*map(float, (low, high, above, below))]
    other = Field(Domain(bounds=(0.2, 0.9)), single).values([])
    assert float(np.float32(0.2)) > 0.2 and other[0] == float(np.float32(0.2))
    low, high = np.float32(0.3), np.float32(0.4)  # Both are above the bounds.
    third = Field(Domain(bounds=(0.3, 0.4)), single).values([])
    assert third[:2] == [float(low), float(np.nextafter(high, np.float32(0)))]
    assert third[4] == third[0] / 2 + third[1] / 2


def test_values_that_a_column_cannot_store_are_left_out():
    def stored(value):
        if value in ("", "new", "0"):
            raise {"": TypeError, "new": ValueError, "0": OverflowError}[value]
        return value[:2]

    found = Field(Domain(), Column(kind=str, stored=stored)).values(["axe", "aye"])
    assert found == ["aa", "\u00e9", "ax", "ay"]


def test_numbers_near_others():
    free, within = Field(Domain()), Field(Domain(bounds=(2, 9)))
    for value in ("a", True, None, np.nan, np.inf, NEW_YEAR):
        assert free.near(value, Told()) is value
    still = Told(0)
    assert free.near(5.0, still) == 5.0 and still.asked == [(2,)]
    scaled = Told(1, 3)
    assert free.near(5.0, scaled) == 40.0 and scaled.asked == [(2,), (-8, 9)]
    assert free.near(5, Told(1, -1)) == 2 and type(free.near(5, Told(1, 0))) is int
    redrawn = Told(1, 7.5)
    assert within.near(5.0, redrawn) == 7.5 and redrawn.asked == [(2,), (2, 9)]
    assert within.near(5, Told(1, 7.5)) == 7
    short = Field(Domain(), Column(stored=lambda value: float(np.float32(value))))
    assert short.near(0.1, Told(1, 0)) == float(np.float32(0.1))

    def refused(value):
        raise OverflowError

    assert Field(Domain(), Column(stored=refused)).near(5.0, Told(1, 1)) == 5.0
    for large in (10**400, -(10**400), 10**308):
        assert free.near(large, Told(1, 8)) == large  # This or 256 times this is too large.
