"""The audits of one pytest run: their shared time budget, and the rows of the final table."""

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypedDict, Unpack
from weakref import WeakKeyDictionary

_LEAST_SHARE = 0.1
"""Time in seconds that every audit gets, even if the budget is spent."""


class Measured(TypedDict):
    """Measured values of one audit, in the form that pytest sends between processes.

    Attributes:
        mechanism: Name of the mechanism.
        notion: Notion in the form of the command line, such as "renyi:8".
        delta: Delta of (epsilon, delta)-differential privacy; 0 for other notions.
        claim: Claimed level or curve, or None if there is no claim.
        lower_bound: Lower bound on the level.
        detectable: Smallest true level that the audit would likely have detected as a violation, or
            None if unknown.
        draws: Total number of draws.
        seconds: Time that the audit took, in seconds.
        least: Minimum time that the audit needs, in seconds.
        verdict: Verdict of the result.
        fewest: Whether the budget allowed only the minimum number of draws.
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
    """State that the audits of one process share.

    A test is expected to make as many audits as in its last run, and to need at least the minimum
    time of its last run, which covers compilation and a few draws. A new test is expected to make
    as many audits as the tests with audits in this run on average, or one audit if no test has made
    audits yet. The time that remains after all minimum times is shared equally among the expected
    audits.

    Attributes:
        budget: Time for all audits of the process in seconds, or None if the time is not limited.
        known: Number of audits in the last run of each test, with their minimum time in seconds, by
            the test's id.
        spent: Time that audits took so far, in seconds.
        pending: Audits that are not yet part of a pytest report.
        rows: Rows of all finished tests, in order.
        ran: Ids of the finished tests, except skipped tests.
        unended: Number of audits of each test that began but never ended, by the test's id.
        lost: Number of threads of each test that ran audits and ended with an exception, by the
            test's id.
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
        """Set the tests that will run; each process gets an equal part of the budget."""
        if self.budget is not None:
            self.budget /= num_processes
        known = [self.known[test] for test in tests if test in self.known]
        self._known_to_come = sum(audits for audits, _ in known) / num_processes
        self._least_to_come = sum(least for _, least in known) / num_processes
        self._new_to_come = sum(test not in self.known for test in tests) / num_processes

    def begin(self, test: str) -> None:
        """Begin a test; the remaining tests share the time that earlier tests did not use."""
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
        """Return the next audit's time in seconds: its minimum time plus a share of the rest."""
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
        """Within the context, count an audit as unended.

        If audited code skips the test, exits pytest or ends the thread, the audit stays unended. If
        audited code calls `os._exit`, the process exits with a failure.
        """
        test, this, leave = self._test, os.getpid(), os._exit
        if threading.current_thread() is not threading.main_thread():
            self._hear_end(test)

        def leave_failed(code: int) -> None:
            if os.getpid() == this and self.unended.total():
                code = code or 1  # No message is printed, because pytest would capture it.
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
        """Count the current thread in `lost` for the test if an exception ends the thread."""
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
        """Record the audits of a test that has ended, in this process or in another process."""
        self.rows += [Row(**row, test=test) for row in rows]

    def made(self) -> dict[str, tuple[int, float]]:
        """Return the number and the minimum time of the audits of each test in this run."""
        counts = Counter(row["test"] for row in self.rows)
        least = dict.fromkeys(self.ran | {*counts}, 0.0)
        for row in self.rows:
            least[row["test"]] += row["least"]
        return {test: (counts[test], least[test]) for test in sorted(least)}


CURRENT: Session | None = None
"""Session of the pytest run in this process, or None if the plugin of dpjax is not active."""
