"""The audits of one run of pytest: the time that they share, and the rows of their table."""

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypedDict, Unpack
from weakref import WeakKeyDictionary

_LEAST_SHARE = 0.1
"""Seconds of an audit once the budget is spent."""


class Measured(TypedDict):
    """Names and values of one audit, as pytest sends them between processes.

    Attributes:
        mechanism: Its name.
        notion: As on the command line, such as "renyi:8".
        delta: Of epsilon; 0 for other notions.
        claim: A level, a curve, or None.
        lower_bound: Of the level.
        detectable: What it could have refuted; None where that is unknown.
        draws: In all.
        seconds: That it took.
        least: Seconds that it needs at least.
        verdict: Of the result.
        fewest: Whether it had only the fewest draws.
    """

    mechanism: str
    notion: str
    delta: float
    claim: object
    lower_bound: float
    detectable: float | None
    draws: float
    seconds: float
    least: float
    verdict: str
    fewest: bool


class Row(Measured):
    """An audit of a test that has ended.

    Attributes:
        test: Id of the test.
    """

    test: str


class Session:
    """What the audits of one process share.

    A test is expected to make as many audits as in its last run, and to need as many seconds at
    least, to compile and to draw little; the rest of the time is shared equally. A test that never
    ran counts as the mean of those that made any in this run, and as one audit before there are
    such.

    Attributes:
        budget: Seconds for all audits of the process, or None.
        known: Audits of each test when it last ran, by its id, and the seconds that they needed at
            least.
        spent: Seconds that audits took.
        pending: Rows that belong to no report yet.
        rows: Rows of all tests that have ended, in that order.
        ran: Ids of the tests that have ended and did not skip.
        unended: Ids of tests with the number of their audits that began and never ended.
        lost: Ids of tests with the number of their threads that audited and ended by an exception,
            of which pytest only warns.
    """

    def __init__(self, budget: float | None, known: Mapping[str, tuple[int, float]]):
        self.budget = budget
        self.known = known
        self.spent = 0.0
        self.pending: list[Measured] = []
        self.rows: list[Row] = []
        self.ran: set[str] = set()
        self.unended = Counter[str]()
        self.lost = Counter[str]()
        self._threads = WeakKeyDictionary[threading.Thread, str]()
        self._hook: Callable[[threading.ExceptHookArgs], object] | None = None
        self._test, self._made = "", Counter[str]()
        self._known_to_come = self._new_to_come = self._here = 0.0
        self._least_to_come = self._least_here = 0.0
        self._usual = 1.0

    def expect(self, tests: Sequence[str], num_processes: int = 1) -> None:
        """Announces the tests to come; each of that many processes has its part of the time."""
        if self.budget is not None:
            self.budget /= num_processes
        known = [self.known[test] for test in tests if test in self.known]
        self._known_to_come = sum(audits for audits, _ in known) / num_processes
        self._least_to_come = sum(least for _, least in known) / num_processes
        self._new_to_come = sum(test not in self.known for test in tests) / num_processes

    def begin(self, test: str) -> None:
        """Begins a test; time that the one before did not use is left to the rest."""
        self._test = test
        self._usual = self._made.total() / len(self._made) if self._made else 1.0
        if test in self.known:
            self._here, least = self.known[test]
            self._known_to_come = max(self._known_to_come - self._here, 0)
            self._least_to_come = max(self._least_to_come - least, 0)
            self._least_here = least / max(self._here, 1)
        else:
            self._here, self._least_here = self._usual, 0.0
            self._new_to_come = max(self._new_to_come - 1, 0)

    def next_share(self) -> float:
        """Seconds for the next audit: what it needs, and an equal part of what is left besides."""
        here = max(self._here, 1)
        needed = self._least_to_come + here * self._least_here
        left = max((self.budget or 0.0) - self.spent - needed, 0.0)
        to_come = self._known_to_come + self._new_to_come * self._usual
        return max(self._least_here + left / (to_come + here), _LEAST_SHARE)

    def add(self, **row: Unpack[Measured]) -> None:
        """Notes an audit that has ended."""
        self.spent += row["seconds"]
        self._here -= 1
        self._made[self._test] += 1
        self.pending.append(row)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Counts an audit as one that has not ended until it returns or raises an error.

        A skip, an exit of pytest or the end of a thread by what is audited is no end of it; nor is
        `os._exit`, which therefore ends the process as one with a failure.
        """
        test, this, leave = self._test, os.getpid(), os._exit
        if threading.current_thread() is not threading.main_thread():
            self._hear_end(test)

        def leave_failed(code: int) -> None:
            if os.getpid() == this and self.unended.total():
                code = code or 1  # nothing more can be said: pytest captures it
            leave(code)

        self.unended[test] += 1
        os._exit = leave_failed
        try:
            yield
        except Exception as error:
            # It fails the test, or the test expects it; but pytest.exit() is one, too.
            self.unended[test] -= type(error).__module__ != "_pytest.outcomes"
            raise
        else:
            self.unended[test] -= 1
        finally:
            os._exit = leave

    def _hear_end(self, test: str) -> None:
        """Counts an exception that ends this thread as a failure of the test."""
        self._threads[threading.current_thread()] = test
        before = threading.excepthook
        if before is self._hook:
            return

        def ended(error: threading.ExceptHookArgs) -> None:
            started = self._threads.pop(threading.current_thread(), None)
            if started is not None and not issubclass(error.exc_type, SystemExit):
                self.lost[started] += 1
            before(error)

        self._hook = threading.excepthook = ended

    def end(self, test: str, rows: Sequence[Measured]) -> None:
        """Ends a test, here or in another process."""
        self.rows += [Row(**row, test=test) for row in rows]

    def made(self) -> dict[str, tuple[int, float]]:
        """Audits of each test of this run, and the seconds that they needed at least."""
        counts = Counter(row["test"] for row in self.rows)
        least = dict.fromkeys(self.ran | {*counts}, 0.0)
        for row in self.rows:
            least[row["test"]] += row["least"]
        return {test: (counts[test], least[test]) for test in sorted(least)}


CURRENT: Session | None = None
"""The session of the pytest run that this process belongs to, if the plugin is on."""
