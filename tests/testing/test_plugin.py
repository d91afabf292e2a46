"""The pytest plugin: time shares and the table, mostly for audits that take no time."""

import json
import os
import subprocess
import sys
import textwrap
import tomllib
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

import dpjax
from dpjax.testing import plugin

ROOT = Path(dpjax.__file__).parents[1]
PLUGIN = "dpjax.testing.plugin"

PROJECT = """
import jax
from dpjax.testing import assert_private

def right(key, count):
    return count + jax.random.laplace(key)

def too_small(key, count):
    return count + 0.8 * jax.random.laplace(key)

def test_right():
    assert_private(right, 1.0, pairs=[(0.0, 1.0)])

def test_too_small():
    assert_private(too_small, 1.0, pairs=[(0.0, 1.0)])

def test_bound(dpjax_audit):
    result = dpjax_audit(lambda key, count: count + jax.random.laplace(key), [(0.0, 1.0)])
    assert result.lower_bound < 1 and result.claim is None

def test_no_audit():
    pass
"""


def run_pytest(folder, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-p", PLUGIN, "-q", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


@pytest.mark.parametrize(
    ("audits", "own", "spent"),
    [(0, 0.0, 1.0), (1, 0.0, 1.0 + 5.0), (2, 3.0, 1.0 + 5.0), (1, 7.0, 1.0 + 7.0)],
)
@pytest.mark.parametrize("error", [None, KeyError])
def test_the_whole_time_of_a_test_with_audits_counts(monkeypatch, audits, own, spent, error):
    """A test takes five seconds; its audits say that they took `own` seconds."""
    now = [100.0]
    session = SimpleNamespace(spent=1.0, pending=["an earlier audit"])
    monkeypatch.setattr(plugin, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    monkeypatch.setattr(plugin._session, "CURRENT", session)
    call = plugin.pytest_runtest_call()
    next(call)
    now[0] += 5.0
    session.pending += ["an audit"] * audits
    session.spent += own
    if error is None:
        with pytest.raises(StopIteration) as end:
            call.send("an outcome")
        assert end.value.value == "an outcome"
    else:
        with pytest.raises(error):
            call.throw(error())
    assert session.spent == spent
    monkeypatch.setattr(plugin._session, "CURRENT", None)
    call = plugin.pytest_runtest_call()
    next(call)
    with pytest.raises(StopIteration) as end:
        call.send("an outcome")
    assert end.value.value == "an outcome"


@pytest.mark.slow
def test_the_plugin_in_a_project(tmp_path):
    """A scale that is 20% too small fails, the correct one passes, and both are in the table."""
    (tmp_path / "test_project.py").write_text(PROJECT)
    done = run_pytest(tmp_path, "--dpjax-budget", "12")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 3 passed" in done.stdout
    assert "too_small is not 1-differentially private" in done.stdout
    # The traceback ends in the test, and the message says how to run it again.
    assert "_assertions.py" not in done.stdout and "__tracebackhide__" not in done.stdout
    assert "  test         pytest test_project.py::test_too_small\n" in done.stdout
    assert "  counts       " in done.stdout and "  event        the output is" in done.stdout
    table = done.stdout.split("dpjax audits")[1].splitlines()[2:5]
    assert [line.split()[0] for line in table] == [
        "test_project.py::test_right",
        "test_project.py::test_too_small",
        "test_project.py::test_bound",
    ]
    assert table[0].endswith("not refuted") and table[1].endswith("violated")
    assert "lambda (tes" in table[2] and table[2].endswith("no claim")


def test_a_bad_budget_is_an_error_of_use(tmp_path):
    (tmp_path / "test_project.py").write_text("def test_nothing():\n    pass\n")
    done = run_pytest(tmp_path, "--dpjax-budget", "soon")
    assert done.returncode == 4 and "--dpjax-budget must be a number of seconds" in done.stderr


def test_the_plugin_does_not_import_jax(tmp_path):
    """Neither when pytest starts, nor while it collects, runs and ends."""
    (tmp_path / "conftest.py").write_text(
        "import sys\n"
        "def pytest_unconfigure(config):\n"
        "    print('loaded', *({'jax', 'numpy', 'scipy'} & set(sys.modules)), '.')\n"
    )
    (tmp_path / "test_project.py").write_text("def test_nothing():\n    pass\n")
    done = run_pytest(tmp_path, "--dpjax-budget", "1")
    assert done.returncode == 0 and "loaded ." in done.stdout, done.stdout + done.stderr


def test_pytest_finds_the_plugin():
    """pytest loads the entry point in every project that has dpjax installed."""
    file = ROOT / "pyproject.toml"
    if not file.exists():
        pytest.skip("not in a clone")
    project = tomllib.loads(file.read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"dpjax": PLUGIN}


FAKE = """
from dpjax.testing import _session

def assert_private(spend=None, fewest=False):
    session = _session.CURRENT
    share = session.next_share() if session.budget else 1.0
    session.add(
        mechanism="release", notion="epsilon", delta=0.0, claim=1.0, lower_bound=0.9,
        detectable=1.1, draws=1e6,
        seconds=share if spend is None else spend, verdict="not refuted", fewest=fewest, least=0.0,
    )
"""


def run_suite(folder, code, *arguments):
    """Return the rows of the table as (test, seconds), and the lines below it."""
    (folder / "fake.py").write_text(FAKE)
    head = "import pytest\nfrom fake import assert_private\n"
    (folder / "test_suite.py").write_text(head + textwrap.dedent(code))
    done = run_pytest(folder, *arguments)
    assert "dpjax audits" in done.stdout, done.stdout + done.stderr
    lines = done.stdout.split("dpjax audits")[1].splitlines()[2:]
    rows = [line for line in lines if " release " in line]
    seconds = [(row.split(" release ")[0].strip(), float(row.split()[-3])) for row in rows]
    return seconds, lines[len(rows) :]


SHARING = """
def check():
    check_more()

def check_more():
    assert_private()

@pytest.fixture
def audited():
    assert_private()

@pytest.fixture(scope="module")
def once():
    assert_private()

def test_two():
    assert_private()
    assert_private()

def test_helper():
    check()

def test_nested(audited):
    [assert_private() for _ in range(1)]

def test_first(once):
    pass

def test_second(once):
    assert_private()

@pytest.mark.parametrize("number", range(20))
def test_without(number):
    pass
"""


def test_every_audit_of_a_second_run_has_an_equal_share(tmp_path):
    """Two audits in one test, in nested helpers, in fixtures; most tests have none."""
    first, rest = run_suite(tmp_path, SHARING, "--dpjax-budget", "70")
    assert 0 < sum(seconds for _, seconds in first) < 35
    assert "20 new tests got a share but ran no audit; they get none in the next run" in rest[2]
    rows, rest = run_suite(tmp_path, SHARING, "--dpjax-budget", "70")
    file = "test_suite.py::test_"
    names = ["two #1", "two #2", "helper", "nested #1", "nested #2", "first", "second"]
    assert [name for name, _ in rows] == [file + name for name in names]
    # The time around an audit is charged as well; here it is negligible.
    assert all(9.8 < seconds <= 10.0 for _, seconds in rows)
    assert rest[0].startswith("bound: lower bound; ") and not any("budget" in line for line in rest)


def test_junit_has_every_audit_as_json(tmp_path):
    """Two audits of one test, in order; a test without audits has no property."""
    code = """
    def test_two():
        assert_private(1.0)
        assert_private(2.0)

    def test_none():
        pass
    """
    run_suite(tmp_path, code, "--junitxml", "audits.xml")
    cases = ElementTree.parse(tmp_path / "audits.xml").getroot()[0]
    found = {
        case.get("name"): [
            json.loads(row.get("value")) for row in case.iter("property")
            if row.get("name") == "dpjax_audit"
        ]
        for case in cases
    }  # fmt: skip
    assert [row["seconds"] for row in found["test_two"]] == [1.0, 2.0]
    assert found["test_two"][0]["notion"] == "epsilon" and found["test_none"] == []


def test_without_a_cache_every_run_is_a_first_one(tmp_path):
    arguments = (tmp_path, "def test_two():\n    assert_private(1.0)\n    assert_private()\n")
    for _ in range(2):
        rows, _ = run_suite(*arguments, "--dpjax-budget", "9", "-p", "no:cacheprovider")
        assert [seconds for _, seconds in rows] == pytest.approx([1.0, 8.0], abs=0.2)


def test_unreadable_entries_of_the_cache_are_ignored():
    """pytest stops with an internal error if a plugin raises an exception."""
    wrong = [3, [3], ["a", 0.5], [1, None], [1, float("nan")], [-1, 0.0], [1, float("inf")], "ab"]
    cache = {"test_right": [2, 0.5], **dict(enumerate(wrong))}
    assert plugin._readable(cache) == {"test_right": (2, 0.5)}
    assert plugin._readable([["test_right", [2, 0.5]]]) == plugin._readable(None) == {}


def test_a_damaged_cache_does_not_stop_pytest():
    config = SimpleNamespace(
        getoption=lambda name: None, cache=SimpleNamespace(get=lambda key, default: {"test": 3})
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plugin._session, "CURRENT", None)
        plugin.pytest_configure(config)
        plugin._session.CURRENT.expect(["test"])


def test_a_project_without_audits_leaves_nothing_in_the_cache(tmp_path):
    (tmp_path / "test_project.py").write_text("def test_nothing():\n    pass\n")
    assert run_pytest(tmp_path).returncode == 0
    assert (tmp_path / ".pytest_cache").exists()
    assert not list(tmp_path.rglob("dpjax*"))


def test_what_is_not_used_goes_back(tmp_path):
    """After a skip, an early failure, a failing fixture, an early return, or little use."""
    rows, _ = run_suite(
        tmp_path,
        """
        @pytest.fixture
        def broken():
            raise ValueError

        @pytest.mark.skip
        def test_marked():
            assert_private()

        def test_skips():
            pytest.skip()
            assert_private()

        def test_fails():
            assert 0
            assert_private()

        def test_error(broken):
            assert_private()

        def test_returns():
            return
            assert_private()

        def test_little():
            assert_private(spend=2.0)

        @pytest.mark.parametrize("number", [1, 2])
        def test_rest(number):
            assert_private()
        """,
        *("--dpjax-budget", "12", "-W", "ignore"),
    )
    assert [name.split("test_")[-1] for name, _ in rows] == ["little", "rest[1]", "rest[2]"]
    assert [seconds for _, seconds in rows] == pytest.approx([2.0, 5.0, 5.0], abs=0.2)


@pytest.mark.slow
def test_processes_together_spend_the_budget(tmp_path):
    code = """
    @pytest.mark.parametrize("number", range(10))
    def test_audit(number):
        if number == 3:
            pytest.skip()
        assert_private()
        assert_private()
    """
    rows, _ = run_suite(tmp_path, code, *("--dpjax-budget", "40", "-p", "xdist", "-n", "2"))
    assert len(rows) == 18
    # Less than the whole budget only if the machine has other work.
    assert 20.0 < sum(seconds for _, seconds in rows) <= 40.2


def test_a_suite_without_a_budget_has_a_table(tmp_path):
    rows, rest = run_suite(tmp_path, "def test_audit():\n    assert_private(fewest=True)\n")
    assert rows == [("test_suite.py::test_audit", 1.0)]
    assert not any("budget" in line for line in rest)


def test_a_failed_audit_of_a_fixture_is_in_the_table_of_its_test(tmp_path):
    code = """
    @pytest.fixture
    def wrong():
        assert_private()
        assert 0

    def test_wrong(wrong):
        pass

    def test_other():
        assert_private()
    """
    rows, _ = run_suite(tmp_path, code)
    assert [name.split("::")[1] for name, _ in rows] == ["test_wrong", "test_other"]


UNENDED = """
import os, sys, threading, time
import pytest
from dpjax.testing import _session

def audit(what):
    with _session.CURRENT.counted():
        what()

def test_honest():
    audit(int)
    with pytest.raises(ZeroDivisionError):
        audit(lambda: 1 / 0)

def test_hostile():
    BODY
"""


@pytest.mark.one_in(5)
@pytest.mark.parametrize(
    ("body", "code"),
    [
        ("audit(int)", 0),
        ("audit(lambda: pytest.skip('no'))", 1),
        ("audit(lambda: pytest.exit('no', returncode=0))", 1),
        ("audit(lambda: pytest.xfail('no'))", 1),
        ("threading.Thread(target=audit, args=(sys.exit,)).start(); time.sleep(0.2)", 1),
        ("threading.Thread(target=audit, args=(lambda: time.sleep(9),), daemon=True).start()", 1),
        ("audit(lambda: os._exit(0))", 1),
        ("audit(lambda: os.fork() or os._exit(0))", 0),
    ],
)
def test_an_audit_that_never_ends_fails_the_session(tmp_path, body, code):
    (tmp_path / "test_project.py").write_text(UNENDED.replace("BODY", body))
    done = run_pytest(tmp_path)
    assert done.returncode == code, done.stdout + done.stderr
    # If the process exits at once, only its exit code shows the failure.
    assert ("began and never ended" in done.stdout) == (code == 1 and "_exit" not in body)


IN_THREADS = """
import threading
from concurrent.futures import ThreadPoolExecutor
import pytest
from dpjax.testing import _session

def audit(what):
    with _session.CURRENT.counted():
        pass
    what()

def wrong():
    raise AssertionError("not private")

def in_thread(what):
    thread = threading.Thread(target=audit, args=(what,))
    thread.start()
    thread.join()

def test_honest():
    in_thread(int)
    with ThreadPoolExecutor() as pool, pytest.raises(AssertionError):
        pool.submit(audit, wrong).result()

def test_threads():
    BODY
"""


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("body", "lost", "workers"),
    [
        ("in_thread(wrong); in_thread(wrong)", 2, ()),
        ("in_thread(lambda: 1 / 0)", 1, ("-p", "xdist", "-n", "1")),
        ("in_thread(exit)", 0, ()),
        ("thread = threading.Thread(target=wrong); thread.start(); thread.join()", 0, ()),
    ],
)
def test_a_failure_in_a_thread_fails_the_session(tmp_path, body, lost, workers):
    """pytest only warns of the exception; one that a future carries is raised by the test."""
    (tmp_path / "test_project.py").write_text(IN_THREADS.replace("BODY", body))
    done = run_pytest(tmp_path, *workers)
    said = f"test_threads: {lost} of its threads with audits raised an exception"
    assert done.returncode == (lost > 0), done.stdout + done.stderr
    assert ("raised an exception" in done.stdout) == (said in done.stdout) == (lost > 0)


@pytest.mark.slow
def test_workers_tell_of_audits_that_never_ended(tmp_path):
    text = UNENDED.replace("BODY", "audit(lambda: pytest.skip('no'))")
    (tmp_path / "test_project.py").write_text(text)
    done = run_pytest(tmp_path, "-p", "xdist", "-n", "1")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "test_hostile: 1 of its audits began and never ended" in done.stdout
