"""What the wealth of bets states, at which confidence, and how it is stored."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from dpjax import Epsilon, Gdp
from dpjax.inference import Look, look_bound, start, step
from dpjax.notions.evidence._wealth import BetWealth

ERROR = 0.05


def wealth(shown=(600, 400, 1000), larger=0, path=(), look=None, blocks=6):
    """Return bets on an outcome that is 1.5 times as likely for the database."""
    state = start(1, 2, ERROR, hypothesis=Epsilon().hypothesis())
    for _ in range(blocks):
        state = step(state, np.array([[600, 400]]), np.array([[400, 600]]))
    return BetWealth(
        state, look, ERROR, shown, larger, list(path), "", np.zeros(1, int), None, None
    )


def answered(found, notion=None, named=None):
    return found.answer(notion or Epsilon(), 1 - ERROR, 1, named)


def test_the_estimate_is_that_of_the_counts_shown():
    assert answered(wealth()).estimate == pytest.approx(math.log(1.5))
    assert answered(wealth((400, 600, 1000), larger=1)).estimate == pytest.approx(math.log(1.5))
    assert answered(wealth((400, 600, 1000))).estimate == 0
    assert answered(wealth((5, 0, 1000))).estimate is None
    assert answered(wealth((0, 0, 0))).estimate == 0
    assert answered(wealth()).basis == "betting"


def test_the_bound_is_the_next_float_above_what_is_refuted():
    found = wealth()
    grid, refuted = found.wealth.grid, found.wealth.is_refuted
    place = int(np.argmin(refuted))
    assert 0 < place < len(grid) and refuted[:place].all()
    assert found.bound(1 - ERROR) == np.nextafter(grid[place - 1], np.inf)
    assert 0.2 < found.bound(1 - ERROR) < math.log(1.5)
    assert wealth(blocks=0).bound(1 - ERROR) == 0
    assert answered(found).lower_bound == found.bound(1 - ERROR)


def test_errors_that_differ_by_rounding_are_equal_and_others_are_not():
    """The wealth of one level exceeds that of its own error by a factor of 1 + 5e-9."""
    log_mean = np.array([-math.log(ERROR) + 5e-9])
    state = SimpleNamespace(
        is_refuted=np.array([True]), log_mean=log_mean, error=ERROR, grid=np.array([0.7])
    )
    found = replace(wealth(), wealth=state)
    assert found.bound(1 - ERROR * (1 - 1e-8)) == 0
    assert found.bound(1 - ERROR * (1 - 5e-10)) > 0.7
    state.log_mean = log_mean - 5e-9
    assert found.bound(1 - ERROR * (1 - 1e-12)) > 0.7


@pytest.mark.parametrize("share", [0.5, 0.01])
def test_at_a_smaller_error_as_much_more_wealth_is_needed(share):
    found = wealth()
    needed = -math.log(found.wealth.error * share)
    refuted = found.wealth.log_mean >= needed
    place = int(np.logical_and.accumulate(refuted).sum())
    expected = np.nextafter(found.wealth.grid[place - 1], np.inf)
    assert found.bound(1 - share * ERROR) == expected < found.bound(1 - ERROR)
    # An error that is larger than the audit's error has no effect.
    assert found.bound(1 - 2 * ERROR) <= found.bound(1 - ERROR)


def test_a_look_counts_once_it_is_taken():
    look = Look(0, np.array([True, False]), 0, 4000, 0.8 * ERROR, (2400, 1600), (4000, 4000))
    found = wealth(look=look, blocks=1)
    exact = look_bound(look, Epsilon().hypothesis(), 0.8 * ERROR)
    assert found.bound(1 - ERROR) == exact and answered(found).basis == "betting, one look"
    half = look_bound(look, Epsilon().hypothesis(), 0.4 * ERROR)
    assert found.bound(1 - ERROR / 2) == pytest.approx(half) and half < exact
    pending = wealth(look=replace(look, drawn=(4000, 3999)), blocks=1)
    assert pending.bound(1 - ERROR) == wealth(blocks=1).bound(1 - ERROR)
    assert answered(pending).basis == "betting"


def test_other_notions_have_no_answer():
    with pytest.raises(ValueError, match="this audit bet on another notion, so it cannot bound mu"):
        answered(wealth(), Gdp())
    with pytest.raises(
        ValueError, match=r"bet on epsilon at delta = 0.1, so .* bound mu of .*: audit"
    ):
        answered(wealth(), Gdp(), Epsilon(0.1))
    with pytest.raises(ValueError, match="bet on another notion"):
        answered(wealth(), Gdp(), Gdp())


def test_the_boundary_of_a_mixture():
    """sqrt(2 ln(1 / error) + ln(1 + n / 64))."""
    assert wealth().quantile(0.05, 64) == pytest.approx(math.sqrt(2 * math.log(20) + math.log(2)))


def test_the_path_of_the_bound():
    assert wealth().history() is None and wealth().parts()[0].rows == []
    path = [(100 * block, block / 10, float(block)) for block in range(1, 31)]
    found = wealth(path=path)
    history = found.history()
    assert history.path == path and history.claim is None
    assert history.refuted_from == pytest.approx(-math.log(found.wealth.error))
    rows = found.parts()[0].rows
    assert len(rows) == 12 and rows[0] == ("100", "0.1000") and rows[-1] == ("3,000", "3.0000")


@pytest.mark.parametrize("is_looked_at", [True, False])
def test_it_is_kept_without_rounding(is_looked_at):
    look = Look(0, np.array([True, False]), 1, 4000, 0.04, (24, 16), (40, 39))
    found = wealth(look=look if is_looked_at else None)
    path = [(7, 0.5, 1.25), (6_000, found.wealth.bound, 0.0)]
    found = replace(found, before=found.wealth, path=path, laid="ab", held={"a": 1}, larger=1)
    again = BetWealth.from_plain({k: v for k, v in found.to_plain().items() if k != "kind"})
    assert again.to_plain() == found.to_plain()
    assert again.bound(0.99) == found.bound(0.99) and again.path == path
    np.testing.assert_array_equal(again.before.grid, found.before.grid)
    assert (again.look is None) is not is_looked_at


@pytest.mark.parametrize("changed", [{"larger": 2}, {"error": 0.0}, {"error": 1.0}, {"more": 1}])
def test_what_is_no_wealth_is_refused(changed):
    plain = {k: v for k, v in wealth().to_plain().items() if k != "kind"}
    with pytest.raises(ValueError, match="not the wealth of a sequential audit"):
        BetWealth.from_plain(plain | changed)


@pytest.mark.parametrize("last", [None, (5_999, 0.0, 0.0), (6_000, 0.1, 0.0), (6_000, 0.0, 1.0)])
def test_a_path_that_ends_elsewhere_is_refused(last):
    found = wealth()
    path = [] if last is None else [(last[0], found.wealth.bound + last[1], last[2])]
    plain = {k: v for k, v in replace(found, path=path).to_plain().items() if k != "kind"}
    with pytest.raises(ValueError, match="the last block of the path does not end with"):
        BetWealth.from_plain(plain)
