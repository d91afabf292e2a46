"""Calls that hang: with a timeout, they are outcomes; without, an error names the database."""

import signal
import threading
import time
from types import SimpleNamespace

import pytest

import dpjax
from dpjax import Events, HostMechanism
from dpjax.methods import _pairs_counted, _rungs
from dpjax.notions import Terms
from dpjax.sources import _host_counts, _watched
from dpjax.sources._deadline import Deadline, TookTooLong

FEW = Events(8, 8)


def hangs_at_one(database):
    if database == 1:
        time.sleep(600)
    return 0


def retries(database):
    while database == 1:
        try:
            time.sleep(600)
        except Exception:
            pass
    return 0


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("function", "workers"), [(hangs_at_one, 0), (retries, 0), (retries, 2)])
def test_a_call_that_hangs_is_an_outcome(function, workers):
    """All calls for one database hang, and each call is stopped after 0.01 seconds."""
    subject = HostMechanism(function, batched=False, timeout=0.01, workers=workers)
    result = dpjax.audit(subject, [(0, 1)], method=FEW, claim=0.1, confidence=0.9)
    # All outputs for the same database are equal.
    assert result.verdict == "not random" and result.lower_bound > 0.1
    assert "error: timeout" in result.witness.event or "number" in result.witness.event
    first, second = result.evidence.trials
    assert result.witness.event_counts in ((first, 0), (0, second))


@pytest.mark.slow
def test_a_call_beyond_the_time_limit_is_an_error():
    subject = HostMechanism(hangs_at_one, batched=False, time_limit=1.0)
    start = time.monotonic()
    with pytest.raises(
        ValueError, match=r"hangs_at_one, called with the database 1, was still running at"
    ):
        dpjax.audit(subject, [(0, 1)], method=Events(50, 50))
    assert time.monotonic() - start < 10


def test_batches_say_what_to_do():
    def slow(database, num_samples):
        time.sleep(600)

    subject = HostMechanism(slow, timeout=0.05)
    with pytest.raises(
        ValueError, match="took too long when asked for 8 outputs from the database 0"
    ):
        dpjax.audit(subject, [(0, 1)], method=FEW)


def test_refused_outcomes_and_values():
    subject = HostMechanism(hangs_at_one, batched=False, timeout=0.01, special="error")
    with pytest.raises(ValueError, match=r"called with the database 1, took longer than 0.01 s"):
        dpjax.audit(subject, [(0, 1)], method=FEW)
    with pytest.raises(ValueError, match="timeout must be"):
        HostMechanism(hangs_at_one, batched=False, timeout=0)


def test_other_threads_have_no_alarm():
    said = []

    def run():
        try:
            dpjax.audit(HostMechanism(hangs_at_one, batched=False, timeout=1.0), [(0, 1)])
        except ValueError as error:
            said.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert len(said) == 1 and said[0].startswith("timeout cannot be used in this thread")


def test_without_alarms_a_timeout_is_refused_and_a_limit_is_not(monkeypatch):
    monkeypatch.delattr(signal, "setitimer")
    with pytest.raises(ValueError, match="no Unix alarms: leave it out"):
        Deadline.of_workers(1.0, None)
    assert Deadline.of_workers(None, 60.0) is None


def test_the_alarm_of_a_caller_goes_on():
    rang = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: rang.append(number))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(TookTooLong):
            Deadline(0.01, None).call(time.sleep, 600)
        assert not rang
        time.sleep(0.2)
        assert rang == [signal.SIGALRM]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_an_alarm_that_rings_before_the_call_begins_leaves_nothing_behind(monkeypatch):
    """On a busy machine, a short timeout may expire before the function is called."""
    before, set_timer = signal.getsignal(signal.SIGALRM), signal.setitimer

    def late(which, seconds, interval=0.0):
        found = set_timer(which, seconds, interval)
        if seconds:
            time.sleep(0.2)
        return found

    monkeypatch.setattr(signal, "setitimer", late)
    with pytest.raises(TookTooLong):
        Deadline(0.001, None).call(lambda: 0)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGALRM) is before


def test_all_calls_together_have_one_end(monkeypatch):
    """Late calls share the extra time after the end of an audit."""
    now = [0.0]
    monkeypatch.setattr("dpjax.sources._deadline.time.monotonic", lambda: now[0])
    deadline = Deadline.of(None, 60.0)

    def call():
        now[0] += 2.0

    with pytest.raises(TookTooLong):
        for _ in range(100):
            deadline.call(call)
    # The end is at 1.05 of the limit, and late calls may take 0.05 more.
    assert 64.0 <= now[0] <= 68.0 and deadline.passed


def test_a_search_of_pairs_has_one_end(monkeypatch):
    """Each pair of a search gets the remaining time, not the whole limit."""
    limits, clock = [], SimpleNamespace(seconds=0.0)
    fake = SimpleNamespace(perf_counter=lambda: clock.seconds)
    for module in (_pairs_counted, _rungs, _host_counts, _watched):
        monkeypatch.setattr(module, "time", fake)

    class Seen(HostMechanism):
        def drawing(self):
            limits.append(self.time_limit)
            return super().drawing()

    def slow(database, seed):
        clock.seconds += 0.1
        return database + seed % 7

    space = dpjax.neighbors(0.0, dpjax.databases.Within(1.0), num_pairs=4)
    source = Seen(slow, batched=False, time_limit=60.0)
    terms = Terms(dpjax.Epsilon(), 1.0, 0.999, 1, 0)
    ladder = _rungs.Ladder(None, 21.0, 4, 4)
    _pairs_counted.search_counted(source, space, ladder, terms, None, terms.root)
    # There is a first call, and then two databases per pair share 21 seconds equally.
    assert len(limits) == 5 and limits == sorted(limits, reverse=True)
    assert limits[0] == 60.0 and 60.0 - 21.0 < limits[-1] < 50.0


def identity(database):
    return database


@pytest.mark.parametrize("limit", ["timeout", "time_limit"])
def test_a_limit_beyond_the_longest_wait_of_a_timer_is_no_error(limit):
    """The alarm rejects such a wait, which must not look like an error of the audited function."""
    subject = HostMechanism(identity, batched=False, **{limit: 1e300})
    result = dpjax.audit(subject, [(0, 1)], method=FEW)
    assert result.witness.event.startswith("the output is a number")
