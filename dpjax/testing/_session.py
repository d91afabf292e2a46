"""The audits in a pytest run: their shared time budget, and the rows of the final table."""

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypedDict, Unpack
from weakref import WeakKeyDictionary

_LEAST_SHARE = 0.1
"""Minimum time in seconds for each audit, even if the budget is spent."""


class Measured(TypedDict):
    """Measured values of one audit, in a form that pytest can send between processes.

    Attributes:
        mechanism: Name of the mechanism.
        notion: Notion in the form of the command line, such as "renyi:8".
        delta: Delta of (epsilon, delta)-differential privacy; 0 for other notions.
        claim: Claimed level or curve, or None if there is no claim.
        lower_bound: Lower bound on the level.
        detectable: Smallest true level for which the audit would probably have refuted the claim,
            or None if unknown.
        draws: Total number of draws.
        seconds: Duration of the audit in seconds.
        least: Minimum time, in seconds, that this audit needs.
        verdict: Verdict of the audit.
        fewest: Whether the time budget allowed only the minimum number of draws.
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
    """Measured values of a finished audit, with the test that ran the audit.

    Attributes:
        test: Id of the test.
    """

    test: str


class Session:
    """The state that all audits in a process share.

    Each test is expected to run as many audits as in its last run, and to need at least the minimum
    time that was measured in its last run. The minimum time covers compilation and a few draws. For
    a new test, the expected number of audits is the average over the tests in this run that have
    run audits. If no test has run audits yet, the expected number is one. The time that remains
    after all minimum times is divided equally among the expected audits.

    Attributes:
        budget: Time for all audits in the process in seconds, or None if the time is not limited.
        known: Map from the id of each test to two numbers: the number of audits in the last run of
            the test, and the sum of the minimum times of these audits in seconds.
        spent: Total duration of all audits so far, in seconds.
        pending: Audits that are not yet included in a pytest report.
        rows: Rows of all finished tests, in order.
        ran: Ids of all finished tests that were not skipped.
        unended: Map from the id of a test to the number of its audits that began but never ended.
        lost: Map from the id of a test to the number of its threads that ran audits and ended with
            an exception.
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
        """Announce the tests that will run; each process gets an equal part of the budget."""
        if self.budget is not None:
            self.budget /= num_processes
        known = [self.known[test] for test in tests if test in self.known]
        self._known_to_come = sum(audits for audits, _ in known) / num_processes
        self._least_to_come = sum(least for _, least in known) / num_processes
        self._new_to_come = sum(test not in self.known for test in tests) / num_processes

    def begin(self, test: str) -> None:
        """Begin a test; time that earlier tests did not use is shared by all remaining tests."""
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
        """Return the next audit's time limit in seconds: its minimum time plus an equal share.

        The share is a part of the time that remains after all minimum times.
        """
        here = max(self._here, 1)
        needed = self._least_to_come + here * self._least_here
        left = max((self.budget or 0.0) - self.spent - needed, 0.0)
        to_come = self._known_to_come + self._new_to_come * self._usual
        return max(self._least_here + left / (to_come + here), _LEAST_SHARE)

    def add(self, **row: Unpack[Measured]) -> None:
        """Record a finished audit."""
        self.spent += row["seconds"]
        self._here -= 1
        self._made[self._test] += 1
        self.pending.append(row)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count an audit as unended until the context ends normally.

        If audited code skips the test, exits pytest or ends the thread, the audit stays unended. If
        audited code calls `os._exit`, the process exits with a failure.
        """
        test, this, leave = self._test, os.getpid(), os._exit
        if threading.current_thread() is not threading.main_thread():
            self._hear_end(test)

        def leave_failed(code: int) -> None:
            if os.getpid() == this and self.unended.total():
                code = code or 1  # Print no message, because pytest would capture it.
            leave(code)

        self.unended[test] += 1
        os._exit = leave_failed
        try:
            yield
        except Exception as error:
            # An ordinary exception ends the audit: the test fails, or expects the exception. The
            # exceptions of pytest.skip() and pytest.exit() leave the audit unended.
            self.unended[test] -= type(error).__module__ != "_pytest.outcomes"
            raise
        else:
            self.unended[test] -= 1
        finally:
            os._exit = leave

    def _hear_end(self, test: str) -> None:
        """If an exception ends the current thread, count the thread in `lost` for the test."""
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
        """Record the audits of a test that has ended in this process or in another process."""
        self.rows += [Row(**row, test=test) for row in rows]

    def made(self) -> dict[str, tuple[int, float]]:
        """For each test in this run, return its number of audits and their summed minimum times."""
        counts = Counter(row["test"] for row in self.rows)
        least = dict.fromkeys(self.ran | {*counts}, 0.0)
        for row in self.rows:
            least[row["test"]] += row["least"]
        return {test: (counts[test], least[test]) for test in sorted(least)}


CURRENT: Session | None = None
"""Session of the pytest run in this process, or None if dpjax's plugin is not active."""
