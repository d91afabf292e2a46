"""Shares of time among the audits of a run; expected shares were computed by hand."""

import os
import threading

import pytest

from dpjax.testing._session import Session

ROW = {"mechanism": "release", "least": 0.5}


def counted(**audits):
    """Return tests with the given numbers of audits, which need no minimum time."""
    return {test: (number, 0.0) for test, number in audits.items()}


def spend(session):
    """Return the seconds of the next audit, which uses all of them."""
    share = session.next_share()
    session.add(seconds=share, **ROW)
    return share


def test_tests_that_never_ran_count_as_one_audit_and_then_as_those_of_this_run():
    session = Session(100.0, {})
    session.expect(list("abcde"))
    session.begin("a")
    # For 5 tests, one audit each; then for 4 and this one.
    assert [spend(session) for _ in range(2)] == pytest.approx([20.0, 16.0])
    session.begin("b")
    # 64 s for 4 tests of two audits each.
    assert [spend(session) for _ in range(2)] == pytest.approx([8.0, 8.0])
    session.begin("c")
    session.begin("d")
    assert [spend(session) for _ in range(2)] == pytest.approx([12.0, 12.0])
    session.begin("e")
    assert [spend(session) for _ in range(2)] == pytest.approx([12.0, 12.0])
    assert session.spent == pytest.approx(100.0)


def test_tests_that_ran_count_with_what_they_made():
    session = Session(60.0, counted(a=0, b=2, c=0, d=3, gone=9))
    session.expect([*"abcd", "new"])
    for test, audits in (("a", 0), ("b", 2), ("c", 0), ("d", 3)):
        session.begin(test)
        shares = [spend(session) for _ in range(audits)]
        # 2 and 3 known audits, and one of the new test, which then counts as 2.
        expected = {2: [10.0, 10.0], 3: [8.0, 8.0, 8.0]}.get(audits, [])
        assert shares == pytest.approx(expected)
    session.begin("new")
    assert session.next_share() == pytest.approx(16.0 / 2.5)


def test_more_audits_than_expected_leave_time_to_the_rest():
    session = Session(30.0, counted(a=1, b=1))
    session.expect(["a", "b"])
    session.begin("a")
    assert [spend(session) for _ in range(3)] == pytest.approx([15.0, 7.5, 3.75])
    session.begin("b")
    assert spend(session) == pytest.approx(3.75)
    # Nothing is left, but every audit gets a little.
    assert spend(session) == pytest.approx(0.1)


def test_what_is_not_used_goes_back():
    session = Session(12.0, counted(skips=4, little=1, rest=2))
    session.expect(["skips", "little", "rest"])
    session.begin("skips")
    session.begin("little")
    assert session.next_share() == pytest.approx(4.0)
    session.add(seconds=2.0, **ROW)
    session.begin("rest")
    assert [spend(session), spend(session)] == pytest.approx([5.0, 5.0])


def test_processes_have_a_part_of_the_time_and_of_the_tests_each():
    for known in ({}, counted(**{str(number): 2 for number in range(10)})):
        sessions = [Session(40.0, known) for _ in range(2)]
        for session in sessions:
            session.expect([str(number) for number in range(10)], 2)
        for number in range(10):
            # One of them has 7 tests, the other 3.
            session = sessions[number > 6]
            session.begin(str(number))
            spend(session)
            spend(session)
        assert sessions[0].spent == pytest.approx(20.0, abs=1.0)
        assert sum(session.spent for session in sessions) <= 41.0


def test_audits_of_tests_are_counted_by_their_reports():
    session = Session(None, {})
    session.ran |= {"a", "b"}
    session.end("a", [ROW, ROW])
    session.end("failed in a fixture", [ROW])
    session.end("skipped", [])
    assert session.made() == {"a": (2, 1.0), "b": (0, 0.0), "failed in a fixture": (1, 0.5)}
    assert [row["test"] for row in session.rows] == ["a", "a", "failed in a fixture"]


def test_what_an_audit_needs_is_kept_for_it():
    """Of 20 s, the last audit needs 8; the four share the rest."""
    session = Session(20.0, {"fast": (2, 0.0), "two": (1, 0.0), "slow": (1, 8.0)})
    session.expect(["fast", "two", "slow"])
    session.begin("fast")
    assert [spend(session), spend(session)] == pytest.approx([3.0, 3.0])
    session.begin("two")
    assert spend(session) == pytest.approx(3.0)
    session.begin("slow")
    assert spend(session) == pytest.approx(11.0)
    assert session.spent == pytest.approx(20.0)


def test_audits_that_end_with_their_thread_are_counted_once():
    """A thread of pytest's own is watched by the hook that was there before."""
    session, heard = Session(10.0, {}), []
    before = threading.excepthook
    threading.excepthook = heard.append

    def fails():
        session._hear_end("a")
        raise RuntimeError("no result")

    try:
        for _ in range(3):
            thread = threading.Thread(target=fails)
            thread.start()
            thread.join()
    finally:
        threading.excepthook = before
    assert session.lost == {"a": 3} and len(heard) == 3


def test_an_audit_that_ends_leaves_the_process_as_it_was():
    session, leave = Session(100.0, {}), os._exit
    session.begin("a")
    with session.counted():
        assert os._exit is not leave and session.unended["a"] == 1
    assert os._exit is leave and session.unended["a"] == 0
    with pytest.raises(ZeroDivisionError), session.counted():
        raise ZeroDivisionError
    assert os._exit is leave and session.unended["a"] == 0
