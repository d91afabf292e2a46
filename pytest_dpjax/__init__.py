"""The pytest plugin of dpjax: a time for all audits of a run, and a table of them at its end.

It is a package of its own, because importing anything from `dpjax` imports jax, and pytest loads
plugins at every start.
"""

import time
from typing import Any

import pytest

from pytest_dpjax._expected import Expected
from pytest_dpjax._table import table

PROPERTY = "dpjax_audit"
_EXPECTED = pytest.StashKey[int]()


class Session:
    """What the audits of one run share.

    Of processes that run tests side by side each has a session, in which the tests of the others
    never begin: their audits wait to the end, and so all shares sum to no more than the budget.

    Attributes:
        budget: Seconds for all audits of the run, or None.
        waiting: Audits that are expected of tests that have not begun.
        here: Audits that are still expected of the test that is running.
        spent: Seconds that audits took.
        pending: Rows that belong to no report yet.
        rows: Of all tests that have ended, in that order.
    """

    def __init__(self, budget: float | None):
        self.budget = budget
        self.waiting = 0
        self.here = 0
        self.spent = 0.0
        self.pending: list[dict[str, Any]] = []
        self.rows: list[dict[str, Any]] = []

    def begin(self, expected: int) -> None:
        """A test begins, of which so many audits are expected.

        What was still expected of the one before, however that ended, leaves its time to the rest.
        """
        self.waiting -= expected
        self.here = expected

    def next_share(self) -> float:
        """Seconds for the next audit: an equal part of what is left."""
        left = (self.budget or 0.0) - self.spent
        return max(left / (self.waiting + max(self.here, 1)), 0.1)

    def add(self, **row: Any) -> None:
        """Notes an audit that has ended."""
        self.spent += row["seconds"]
        self.here = max(self.here - 1, 0)
        self.pending.append(row)


SESSION: Session | None = None


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise pytest.UsageError(f"--dpjax-budget must be a number of seconds > 0, but was {text}.")
    return value


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option."""
    parser.getgroup("dpjax").addoption(
        "--dpjax-budget",
        metavar="SECONDS",
        type=str,
        default=None,
        help="Time for all dpjax audits of this run together, which sets their numbers of draws. "
        "An audit that gives num_draws= or seconds= itself keeps it, and its time counts.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Opens the session that `dpjax.testing` looks for."""
    global SESSION
    given = config.getoption("--dpjax-budget")
    SESSION = Session(None if given is None else _seconds(given))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Counts the audits to come, where they share a time."""
    if SESSION is not None and SESSION.budget is not None:
        expected = Expected()
        for item in session.items:
            item.stash[_EXPECTED] = expected.of_item(item)
            SESSION.waiting += item.stash[_EXPECTED]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Begins a test, its fixtures included."""
    if SESSION is not None:
        SESSION.begin(item.stash.get(_EXPECTED, 0))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Charges what goes on around the audits of a test, such as imports and compilation."""
    if SESSION is None or not item.stash.get(_EXPECTED, 0):
        return (yield)
    start, spent = time.perf_counter(), SESSION.spent
    try:
        return (yield)
    finally:
        SESSION.spent = max(SESSION.spent, spent + time.perf_counter() - start)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    """Hands the rows of a test to its reports, which also travel between processes."""
    if SESSION is not None:
        rows, SESSION.pending = SESSION.pending, []
        item.user_properties.extend((PROPERTY, row) for row in rows)
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Gathers the rows of a test from its last report, which has those of all."""
    if SESSION is not None and report.when == "teardown":
        rows: list[Any] = [row for name, row in report.user_properties if name == PROPERTY]
        SESSION.rows += [{**row, "test": report.nodeid} for row in rows]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Prints the table."""
    if SESSION is not None and SESSION.rows:
        terminalreporter.section("dpjax audits")
        for line in table(SESSION.rows, SESSION.budget):
            terminalreporter.line(line)
