"""Warnings about audits whose draws take longer than a minute."""

import time
import warnings

import pytest

import dpjax
from dpjax.core.forecast import Forecast
from dpjax.databases import Domain, Within
from dpjax.mechanisms import Laplace
from dpjax.methods import _patience
from dpjax.sources import as_source
from dpjax.testing import assert_private

PAIR = [(0.0, 1.0)]


@pytest.fixture
def now(monkeypatch):
    """Return a clock that a test moves: a list of one number, in seconds."""
    seconds = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: seconds[0])
    return seconds


def told(now, steps):
    """Return the announcements for steps (seconds, units done, total)."""
    said = []
    forecast = Forecast(lambda total, text: said.append((total, text)))
    for seconds, done, total in steps:
        now[0] = seconds
        forecast.told(done, total)
    return said


def test_long_work_is_announced_once(now):
    # 2 of 1000 units in 1.5 s: 750 s in total.
    assert told(now, [(0, 0, 1000), (1.5, 2, 1000), (3, 4, 1000)]) == [(1000, "0:12:30")]
    # 60 s in total, or work that slows down after 20 s.
    assert not told(now, [(0, 0, 60), (1, 1, 60)])
    assert not told(now, [(0, 0, 1000), (20, 500, 1000), (40, 510, 1000)])
    # The total is unknown at first.
    assert told(now, [(0, 0, 0), (1.5, 2, 0), (3, 4, 1000)]) == [(1000, "0:12:30")]


def test_a_second_stage_has_its_own_pace(now):
    """A stage that counts from zero again restarts the clock."""
    fast = [(0, 0, 100), (2, 50, 100)]
    assert told(now, [*fast, (4, 0, 1000), (5, 10, 1000)]) == [(1000, "0:01:40")]
    assert not told(now, [*fast, (4, 0, 1000), (5, 20, 1000)])


def slow(now):
    """Return a function that needs a second per output."""

    def release(database, num_samples, rng):
        now[0] += num_samples
        return database + rng.laplace(size=num_samples)

    return release


def test_a_slow_function_is_reported_where_the_audit_is_called(now):
    with pytest.warns(UserWarning) as caught:
        dpjax.audit(slow(now), PAIR)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert str(caught[0].message) == (
        "release is slow: drawing 140,000 outputs takes about 38:53:20 in total. Pass "
        "dpjax.HostMechanism(..., time_limit=60) to draw as many outputs as fit into one minute, "
        "or method=dpjax.Events(num_samples=..., num_confirm=...) to choose the number of draws."
    )


def test_a_slow_machine_causes_no_error(now):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dpjax.audit(slow(now), PAIR).verdict == "no claim"


def test_a_slow_test_says_how_to_limit_its_time(now):
    with pytest.warns(UserWarning) as caught:
        assert_private(slow(now), pairs=PAIR, epsilon=2.0)
    assert len(caught) == 1 and caught[0].filename == __file__
    assert str(caught[0].message) == (
        "release is slow: drawing 400,000 outputs takes about 111:06:40 in total. Pass seconds=60 "
        "to limit the test to a minute, or run pytest with --dpjax-budget 600 to limit all privacy "
        "tests together to ten minutes."
    )


def test_no_warning_if_somebody_knows_how_long_the_audit_takes(now):
    shown = []
    execution = dpjax.Execution(progress=lambda done, total: shown.append(done))
    events = dpjax.Events(num_samples=100, num_confirm=1000)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dpjax.audit(slow(now), PAIR, execution=execution)
        dpjax.audit(slow(now), PAIR, method=events)
        assert_private(slow(now), pairs=PAIR, epsilon=2.0, num_samples=100)
    assert shown[-1] == 140_000 and not caught
    limited = dpjax.HostMechanism(slow(now), time_limit=60.0)
    assert _patience.with_warning(None, limited) is None
    assert _patience.with_warning(None, as_source(Laplace())) is None
    assert _patience.with_warning(None, dpjax.HostMechanism(slow(now))).progress


def test_a_slow_search_is_reported_although_the_audit_has_sizes(now):
    """A user who chooses the draws of the audit does not know the draws of the search."""
    space = dpjax.neighbors(0.0, Within(1.0), Domain(bounds=(-2, 2)))
    advice = "limit the search for pairs and the audit to about one minute, or call dpjax.search_"
    for search in (
        lambda: dpjax.audit(slow(now), space, method=dpjax.Events(200, 300)),
        lambda: dpjax.search_pairs(slow(now), space),
    ):
        with pytest.warns(UserWarning, match="^release is slow: drawing .*") as caught:
            search()
        assert len(caught) == 1 and caught[0].filename == __file__
        assert advice in str(caught[0].message)
    with warnings.catch_warnings(record=True) as quiet:
        warnings.simplefilter("always")
        dpjax.search_pairs(slow(now), space, budget=5000)
    assert not quiet
    with pytest.warns(UserWarning, match="Pass seconds=60 to limit the test to a minute"):
        assert_private(slow(now), 3.0, space, num_samples=200, num_confirm=300)


def test_a_slow_search_is_reported_early(now):
    """The first rung, which takes longest, reports its draws."""
    seen, space = [], dpjax.neighbors(0.0, Within(1.0), Domain(bounds=(-2, 2)))
    execution = dpjax.Execution(progress=lambda *both: seen.append(both))
    found = dpjax.search_pairs(slow(now), space, execution=execution)
    assert seen == sorted(seen, key=lambda both: both[0]) and seen[0][0] < found.num_draws / 10
    assert seen[-1] == (found.num_draws, found.num_draws)


def test_slow_calls_with_coins_are_announced(now, monkeypatch):
    said = []
    monkeypatch.setattr(_patience, "warn", said.append)

    def release(database, rng):
        now[0] += 1
        if len(said) or now[0] > 50:
            raise KeyboardInterrupt
        return database + rng.laplace()

    for method in (dpjax.Guesses(), dpjax.Guesses(num_calls=20_000)):
        now[0] = 0.0
        with pytest.raises(KeyboardInterrupt):
            dpjax.audit(release, PAIR, method=method)
        # There is no warning if the caller chose the number of calls.
        assert len(said) == (method.num_calls is None)
        assert all("method=dpjax.Guesses(num_calls=...)" in one for one in said)
        said.clear()
