"""dpjax's pytest plugin: a time budget for the audits in a test run, and a table of the audits.

pytest loads plugins whenever it starts, so this module imports neither jax nor numpy.
"""

import json
import time
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

import pytest

from dpjax.testing import _session
from dpjax.testing._session import Measured, Session
from dpjax.testing._table import table

if TYPE_CHECKING:
    from dpjax.results import AuditResult

PROPERTY = "dpjax_audit"
"""Name of the test property that contains an audit as JSON; `--junitxml` writes it."""

CACHE = "dpjax/shares"
"""Key in pytest's cache for the numbers of audits and the minimum times of all tests."""

UNENDED, LOST = "dpjax_unended", "dpjax_lost"
"""Keys in a pytest-xdist worker's output for the counts of unended audits and failed threads."""


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise pytest.UsageError(
            f"--dpjax-budget must be a number of seconds > 0, but was {text!r}."
        )
    return value


def _readable(known: object) -> dict[str, tuple[int, float]]:
    """Return the entries of the cache that have the form of `Session.known`; ignore all others."""
    found = known.items() if isinstance(known, dict) else ()
    return {test: (pair[0], pair[1]) for test, pair in found if _is_share(pair)}


def _is_share(pair: object) -> bool:
    """Return whether an object is a number of audits and a time, as a list."""
    return (
        isinstance(pair, list | tuple)
        and len(pair) == 2
        and all(isinstance(part, int | float) and 0 <= part < float("inf") for part in pair)
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option `--dpjax-budget`."""
    parser.getgroup("dpjax").addoption(
        "--dpjax-budget",
        metavar="SECONDS",
        type=str,
        default=None,
        help="Total time in seconds for all dpjax audits in this run. Each audit gets an equal "
        "share of the time and makes as many draws as fit in its share. Each test is expected to "
        "run as many audits as in its last run (from pytest's cache), or one audit if the test is "
        "new. Audits with num_samples=, num_confirm=, num_draws=, num_calls= or seconds= keep "
        "these settings, but their time counts against the budget.",
    )


@pytest.fixture
def dpjax_audit() -> "Callable[..., AuditResult]":
    """Return a function (subject, pairs, ...) -> result that audits within the test's time share.

    Use this fixture in tests that check more than a claim, such as the bound or the witness. The
    function `audit_in_test` in `dpjax.testing._assertions` describes the options.
    """
    from dpjax.testing._assertions import audit_in_test

    return audit_in_test


def pytest_configure(config: pytest.Config) -> None:
    """Create the session in which `dpjax.testing` counts audits."""
    given = config.getoption("--dpjax-budget")
    # If pytest's cache plugin is off, `config` has no attribute `cache`.
    cache = getattr(config, "cache", None)
    known = None if cache is None else cache.get(CACHE, None)
    _session.CURRENT = Session(None if given is None else _seconds(given), _readable(known))


def pytest_unconfigure() -> None:
    """Discard the session in which `dpjax.testing` counted audits."""
    _session.CURRENT = None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Tell the session which tests will run, and how many pytest-xdist workers run them."""
    if _session.CURRENT is not None:
        workers = getattr(session.config, "workerinput", {}).get("workercount", 1)
        _session.CURRENT.expect([item.nodeid for item in session.items], workers)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Begin a test in the session, before its fixtures are set up."""
    if _session.CURRENT is not None:
        _session.CURRENT.begin(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """If a test runs audits, count its whole time, including imports, towards the budget."""
    session = _session.CURRENT
    if session is None:
        return (yield)
    start, spent, audits = time.perf_counter(), session.spent, len(session.pending)
    try:
        return (yield)
    finally:
        if len(session.pending) > audits:
            session.spent = max(session.spent, spent + time.perf_counter() - start)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, object, object]:
    """Add a test's audits to its reports, which pytest-xdist sends between processes."""
    if _session.CURRENT is not None:
        rows, _session.CURRENT.pending = _session.CURRENT.pending, []
        item.user_properties.extend((PROPERTY, json.dumps(row)) for row in rows)
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Collect the audits of a test from its last report."""
    session = _session.CURRENT
    if session is not None and report.when == "call" and not report.skipped:
        session.ran.add(report.nodeid)
    if session is not None and report.when == "teardown":
        texts = [str(text) for name, text in report.user_properties if name == PROPERTY]
        rows: list[Measured] = [json.loads(text) for text in texts]
        session.end(report.nodeid, rows)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Store each test's number of audits; fail if an audit never ended or a thread failed."""
    run, cache = _session.CURRENT, getattr(session.config, "cache", None)
    output = getattr(session.config, "workeroutput", None)
    if run is None:
        return
    if output is not None:
        output[UNENDED], output[LOST] = dict(+run.unended), dict(run.lost)
    elif +run.unended or run.lost:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if cache is not None and output is None and (run.rows or run.known):
        cache.set(CACHE, {**run.known, **run.made()})


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """Add a pytest-xdist worker's counts of unended audits and failed threads."""
    if _session.CURRENT is not None:
        output = getattr(node, "workeroutput", {})
        _session.CURRENT.unended.update(output.get(UNENDED, {}))
        _session.CURRENT.lost.update(output.get(LOST, {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print the table of audits, and each test with an unended audit or a failed thread."""
    run = _session.CURRENT
    if run is not None and run.rows:
        terminalreporter.section("dpjax audits")
        made = run.made().items()
        idle = sum(audits == 0 and test not in run.known for test, (audits, _) in made)
        for line in table(run.rows, run.budget, idle):
            terminalreporter.line(line)
    if run is None:
        return
    for counts, what in (
        (run.unended, "of its audits began and never ended"),
        (
            run.lost,
            "of its threads with audits raised an exception: join the threads, and raise it",
        ),
    ):
        for test, number in (+counts).items():
            terminalreporter.line(f"FAILED {test}: {number} {what}")
