"""Sequential audits of functions whose calls hang: the time limit holds, and the bound is kept.

Limits on elapsed times are 10 times as long as the audits should take, and a tenth of the duration
of the hanging call.
"""

import signal
import time

import pytest

import dpjax
from dpjax.methods import _alarm

PAIR = [(0.0, 1.0)]


def hanging(after, seconds=200.0):
    """A function that draws Laplace noise `after` times, and then takes `seconds` for a call."""
    calls = []

    def release(database, rng):
        calls.append(1)
        if len(calls) > after:
            time.sleep(seconds)
        return database + rng.laplace()

    return release


def timed(function, **options):
    began = time.monotonic()
    return dpjax.audit(function, PAIR, **options), time.monotonic() - began


def drawn(result):
    return result.settings["drawn"]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"timeout": 150.0}])
def test_a_hanging_call_ends_the_audit_with_its_bound(options):
    function = dpjax.HostMechanism(hanging(400), batched=False, **options)
    result, took = timed(function, method=dpjax.Sequential(seconds=1.0), claim=3.0)
    expected = dpjax.audit(
        dpjax.HostMechanism(hanging(10_000), batched=False),
        PAIR,
        method=dpjax.Sequential(num_draws=drawn(result)),
        claim=3.0,
    )
    assert took < 20 and any("the time limit was reached" in note for note in result.notes)
    assert 16 < drawn(result) <= 200
    assert result.lower_bound == expected.lower_bound


def test_a_call_that_hangs_during_the_search_is_an_error(monkeypatch):
    monkeypatch.setattr(_alarm, "_LONGEST_CALL", 0.3)
    with pytest.raises(ValueError, match="release returned no output within the time limit"):
        timed(hanging(20), method=dpjax.Sequential(seconds=0.2))


@pytest.mark.parametrize("seconds", [0.2, 0.01])
def test_slow_first_calls_are_waited_for(monkeypatch, seconds):
    """No call takes longer than the limit, although all first calls together do."""
    monkeypatch.setattr(_alarm, "_LONGEST_CALL", 0.3)
    result, _ = timed(hanging(0, seconds=0.03), method=dpjax.Sequential(seconds=seconds))
    assert drawn(result) >= 16


def test_the_alarm_of_the_caller_is_restored():
    rung = []
    handler = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with _alarm.alarm(30.0, lambda: 0) as end_search:
            end_search()
            time.sleep(0.1)
            assert not rung
        time.sleep(0.1)
        assert rung == [1] and signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    finally:
        signal.signal(signal.SIGALRM, handler)


def test_the_alarm_rings_at_the_end_of_the_limit_and_only_once(monkeypatch):
    monkeypatch.setattr(_alarm, "_LEAST", 0.05)
    with pytest.raises(_alarm.TimeUp), _alarm.alarm(0.1, lambda: 0) as end_search:
        end_search()
        time.sleep(5)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    with _alarm.alarm(None, lambda: 0) as end_search:
        end_search()
        assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_a_limit_beyond_the_longest_wait_of_a_timer_is_no_error():
    with _alarm.alarm(1e300, lambda: 0) as end_search:
        end_search()
        assert signal.getitimer(signal.ITIMER_REAL)[0] > 1e9
