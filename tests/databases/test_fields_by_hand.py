"""Values to try in one field, by the type of its values and by its bounds."""

from datetime import date, datetime, timedelta

import numpy as np
import pytest

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
    """At the bounds, beside them, and nothing beyond."""
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
