"""The pytest plugin: its shares and its table, mostly in suites whose audits take no time."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import pytest_dpjax
from pytest_dpjax._expected import Expected
from pytest_dpjax._table import table

ROOT = Path(pytest_dpjax.__file__).parents[1]

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

def test_no_audit():
    pass
"""


def run_pytest(folder, *arguments):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, "-m", "pytest", "-p", "pytest_dpjax", "-q", *arguments]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )


def test_the_plugin_in_a_project(tmp_path):
    """A scale that is 20% too small is caught, the right one passes, and both are in the table."""
    (tmp_path / "test_project.py").write_text(PROJECT)
    done = run_pytest(tmp_path, "--dpjax-budget", "12")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "1 failed, 2 passed" in done.stdout
    assert "too_small is not 1-differentially private" in done.stdout
    table = done.stdout.split("dpjax audits")[1].splitlines()[2:4]
    assert [line.split()[0] for line in table] == [
        "test_project.py::test_right",
        "test_project.py::test_too_small",
    ]
    assert table[0].endswith("not refuted") and table[1].endswith("violated")


def test_a_bad_budget_is_an_error_of_use(tmp_path):
    (tmp_path / "test_project.py").write_text("def test_nothing():\n    pass\n")
    done = run_pytest(tmp_path, "--dpjax-budget", "soon")
    assert done.returncode == 4 and "--dpjax-budget must be a number of seconds" in done.stderr


def test_the_plugin_does_not_import_jax():
    code = "import sys, pytest_dpjax; print('jax' in sys.modules, 'dpjax' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False"]


FAKE = """
import pytest_dpjax

def assert_private(spend=None, fewest=False):
    session = pytest_dpjax.SESSION
    share = session.next_share() if session.budget else 1.0
    session.add(
        mechanism="release", claim=1.0, lower_bound=0.9, detectable=1.1, draws=1e6,
        seconds=share if spend is None else spend, verdict="not refuted", fewest=fewest,
    )
"""


def run_suite(folder, code, *arguments):
    """Rows of the table as (test, seconds), and the lines under it."""
    (folder / "fake.py").write_text(FAKE)
    head = "import pytest\nfrom fake import assert_private\n"
    (folder / "test_suite.py").write_text(head + textwrap.dedent(code))
    done = run_pytest(folder, *arguments)
    assert "dpjax audits" in done.stdout, done.stdout + done.stderr
    lines = done.stdout.split("dpjax audits")[1].splitlines()[2:]
    rows = [line for line in lines if " release " in line]
    seconds = [(row.split(" release ")[0].strip(), float(row.split()[-3])) for row in rows]
    return seconds, lines[len(rows) :]


def test_every_audit_has_an_equal_share(tmp_path):
    """Of two in one test, in a helper of a helper, in fixtures; all that is counted is found."""
    rows, rest = run_suite(
        tmp_path,
        """
        def check():
            check_more()

        def check_more():
            assert_private()
            if False:
                check()

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
        """,
        "--dpjax-budget",
        "70",
    )
    file = "test_suite.py::test_"
    names = ["two #1", "two #2", "helper", "nested #1", "nested #2", "first", "second"]
    assert [name for name, _ in rows] == [file + name for name in names]
    # What goes on around an audit is paid as well, here next to nothing.
    assert all(9.8 < seconds <= 10.0 for _, seconds in rows)
    assert rest[0].startswith("detectable: ") and not any("fewest" in line for line in rest)


def test_what_is_not_used_goes_back(tmp_path):
    """By a skip, a failure before the audit, a failing fixture, an early end, little use."""
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
    assert 30.0 < sum(seconds for _, seconds in rows) <= 40.2


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


def row(**changes):
    plain = {"test": "a/b/test_x.py::test_y", "mechanism": "release", "claim": 1.0, "draws": 1e6}
    plain |= {"lower_bound": 0.5, "detectable": 1.1, "seconds": 8.8, "verdict": "violated"}
    return {**plain, "fewest": False, **changes}


def test_a_budget_that_was_too_small_is_named():
    rows = [row(fewest=True)] * 4 + [row()]
    assert list(table(rows, 3.0))[-1] == (
        "budget 3 s, spent 44 s: 4 of 5 audits got only the fewest draws"
    )
    for lines in (table(rows, None), table([row()], 3.0)):
        assert not any("budget" in line for line in lines)


def test_tests_are_shortened_to_their_ends():
    long = "deep/test_mechanisms.py::TestReleases::test_of_the_count[scale-1.25]"
    lines = list(table([row(test=long), row(test=long), row()], None))
    assert lines[1].startswith("...:test_of_the_count[scale-1.25] #1 release")
    assert lines[2].startswith("...:test_of_the_count[scale-1.25] #2 release")
    assert lines[3].startswith("test_x.py::test_y ") and len(lines[1].split(" release ")[0]) == 36
    assert all(len(line) < 130 for line in lines)


def test_call_sites_are_found_by_any_name(monkeypatch):
    count = Expected()._of
    names = {}
    exec(
        textwrap.dedent(
            """
            import functools
            def assert_private(): ...
            private = assert_private
            def by_alias(): private()
            def by_attribute(testing): testing.assert_not_private(); testing.other()
            def by_import():
                from dpjax.testing import assert_private
                assert_private()
            def twice(): by_alias(); by_alias()
            @functools.wraps(twice)
            def wrapper(*args): pass
            def inner():
                def one(): assert_private()
                return one
            def first(): second(); private()
            def second(): first()
            def none(): print(len("assert_private"))
            """
        ),
        names,
    )
    expected = {"by_alias": 1, "by_attribute": 1, "by_import": 1, "twice": 2, "wrapper": 2}
    expected |= {"inner": 1, "first": 1, "none": 0}
    assert {name: count(names[name]) for name in expected} == expected
    assert count(None) == count(subprocess.run) == count(sys) == 0
