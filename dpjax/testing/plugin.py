"""The pytest plugin of dpjax: a time for all audits of a run, and a table of them at its end.

pytest loads plugins at every start, so nothing here imports jax or numpy.
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
"""Name of a test's properties with its audits as JSON, which `--junitxml` writes."""

CACHE = "dpjax/shares"
"""Key of pytest's cache for the number of audits of each test, and their least seconds."""

UNENDED, LOST = "dpjax_unended", "dpjax_lost"
"""Keys of a worker's output for its audits that never ended, and its threads that failed."""


def _seconds(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise pytest.UsageError(f"--dpjax-budget must be a number of seconds > 0, but was {text}.")
    return value


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the option `--dpjax-budget`."""
    parser.getgroup("dpjax").addoption(
        "--dpjax-budget",
        metavar="SECONDS",
        type=str,
        default=None,
        help="Time for all dpjax audits of this run together, which sets their numbers of draws. "
        "They share it equally, each test with as many audits as it made in its last run (from "
        "pytest's cache; one where it has not run). An audit that gives num_samples= or seconds= "
        "itself keeps it, and its time counts.",
    )


@pytest.fixture
def dpjax_audit() -> "Callable[..., AuditResult]":
    """An audit in the time that the test has: (subject, pairs, claim=..., ...) -> its result.

    For tests of more than a claim, such as of the bound or of the witness; the arguments are those
    of `dpjax.audit`, with `region`, `num_samples`, `num_confirm` and `seconds` as `assert_private`
    takes them.
    """
    from dpjax.testing._assertions import audit_in_test

    return audit_in_test


def pytest_configure(config: pytest.Config) -> None:
    """Opens the session that `dpjax.testing` uses."""
    given = config.getoption("--dpjax-budget")
    # Without pytest's cache plugin there is none.
    cache = getattr(config, "cache", None)
    known = {} if cache is None else cache.get(CACHE, {})
    _session.CURRENT = Session(None if given is None else _seconds(given), known)


def pytest_unconfigure() -> None:
    """Closes the session."""
    _session.CURRENT = None


def pytest_collection_finish(session: pytest.Session) -> None:
    """Counts the tests that share the time; each worker of pytest-xdist runs a part of them."""
    if _session.CURRENT is not None:
        workers = getattr(session.config, "workerinput", {}).get("workercount", 1)
        _session.CURRENT.expect([item.nodeid for item in session.items], workers)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> None:
    """Begins a test, its fixtures included."""
    if _session.CURRENT is not None:
        _session.CURRENT.begin(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, object, object]:
    """Charges what goes on around the audits of a test, such as imports and compilation."""
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
    """Hands the rows of a test to its reports, which also travel between processes."""
    if _session.CURRENT is not None:
        rows, _session.CURRENT.pending = _session.CURRENT.pending, []
        item.user_properties.extend((PROPERTY, json.dumps(row)) for row in rows)
    return (yield)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Gathers the rows of a test from its last report, which has those of all."""
    session = _session.CURRENT
    if session is not None and report.when == "call" and not report.skipped:
        session.ran.add(report.nodeid)
    if session is not None and report.when == "teardown":
        texts = [str(text) for name, text in report.user_properties if name == PROPERTY]
        rows: list[Measured] = [json.loads(text) for text in texts]
        session.end(report.nodeid, rows)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Keeps how many audits the tests made; fails if one never ended, or its thread failed."""
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
    """Takes over what a worker of pytest-xdist counted."""
    if _session.CURRENT is not None:
        output = getattr(node, "workeroutput", {})
        _session.CURRENT.unended.update(output.get(UNENDED, {}))
        _session.CURRENT.lost.update(output.get(LOST, {}))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the table."""
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
        (run.lost, "of its threads that audit ended by an exception: join them, and raise it"),
    ):
        for test, number in (+counts).items():
            terminalreporter.line(f"FAILED {test}: {number} {what}")
