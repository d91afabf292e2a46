"""The pytest plugin of dpjax: a time for all audits of a run, and a table of them at its end.

It is a package of its own, because importing anything from `dpjax` imports jax, and pytest loads
plugins at every start.
"""

import time
from typing import Any

import pytest

ASSERTIONS = frozenset({"assert_private", "assert_not_private"})
PROPERTY = "dpjax_audit"


class Session:
    """What the audits of one run share.

    Attributes:
        budget: Seconds for all audits of the run, or None.
        waiting: Tests that audit and have not ended.
        spent: Seconds that audits took.
        pending: Rows of the test that is running.
    """

    def __init__(self, budget: float | None):
        self.budget = budget
        self.waiting = 1
        self.spent = 0.0
        self.pending: list[dict[str, Any]] = []

    def next_share(self) -> float:
        """Seconds for the next audit: an equal part of what is left."""
        left = (self.budget or 0.0) - self.spent
        return max(left / max(self.waiting, 1), 0.1)

    def add(self, **row: Any) -> None:
        """Notes an audit that has ended."""
        self.spent += row["seconds"]
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
        help="Time for all dpjax audits of this run together, in place of their numbers of draws.",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Opens the session that `dpjax.testing` looks for."""
    global SESSION
    given = config.getoption("--dpjax-budget")
    SESSION = Session(None if given is None else _seconds(given))


def pytest_collection_finish(session: pytest.Session) -> None:
    """Counts the tests that audit."""
    if SESSION is not None:
        SESSION.waiting = sum(map(_audits, session.items))


def _audits(item: pytest.Item) -> bool:
    code = getattr(getattr(item, "function", None), "__code__", None)
    return code is not None and not ASSERTIONS.isdisjoint(code.co_names)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Hands the rows of a test to its report, which also travels between processes."""
    start = time.perf_counter()
    try:
        return (yield)
    finally:
        if SESSION is not None:
            rows, SESSION.pending = SESSION.pending, []
            item.user_properties.extend((PROPERTY, row) for row in rows)
            if _audits(item):
                SESSION.waiting -= 1
                # Imports and compilation around the audits are paid from the same time.
                SESSION.spent += time.perf_counter() - start - sum(r["seconds"] for r in rows)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Prints the table."""
    rows = [
        row
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, row in report.user_properties
        if name == PROPERTY
    ]
    if not rows:
        return
    terminalreporter.section("dpjax audits")
    line = "{:<28} {:>9} {:>9} {:>11} {:>9} {:>8}  {}"
    terminalreporter.line(
        line.format(
            "mechanism", "claim", "lower bound", "detectable", "draws", "seconds", "verdict"
        )
    )
    for row in rows:
        terminalreporter.line(
            line.format(
                row["mechanism"][:28],
                f"{row['claim']:g}",
                f"{row['lower_bound']:.4f}",
                f"{row['detectable']:.3g}",
                f"{row['draws']:.3g}",
                f"{row['seconds']:.1f}",
                row["verdict"],
            )
        )
