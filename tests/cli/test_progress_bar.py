"""The progress display, with a simulated clock."""

import io
import sys
import threading
import time
from types import SimpleNamespace

import pytest
import rich.console

import dpjax
from dpjax.cli import _progress, progress_bar
from dpjax.cli._audit import _announced
from dpjax.cli._sweep import showing


@pytest.fixture
def now(monkeypatch):
    seconds = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: seconds[0])
    return seconds


def test_words(now):
    state = _progress._State("outputs")
    now[0] = 2.0
    assert state.words() == "outputs, 0:00:02 so far"
    state.told(0, 10_000)
    assert state.words() == "0 of 10,000 outputs, 0:00:02 so far"
    # The first 2 s were spent on imports.
    now[0] = 4.0
    state.text = "entry 1/2 (a\n)"
    state.told(2_000, 10_000)
    assert state.words() == (
        "entry 1/2 (a\\n), 2,000 of 10,000 outputs, 1e+03 a second, 0:00:08 left"
    )
    # Runs stored before do not count toward the pace of a sweep.
    state.before, state.text = 1_900, ""
    assert state.words() == "2,000 of 10,000 outputs, 50 a second, 0:02:40 left"
    state.total = 0
    assert state.words() == "2,000 outputs, 50 a second, 0:00:04 so far"


def announced(now, steps):
    """Return the announced duration of work with steps (seconds, done)."""
    said = []
    with progress_bar(announce=lambda total, text: said.append((total, text)) or "long") as show:
        for seconds, done in steps:
            now[0] = seconds
            show(done, 1000)
    return said


def test_long_work_is_announced_once_its_pace_is_known(now, capsys):
    assert announced(now, [(0, 0), (0.5, 1), (1.5, 2), (2, 3)]) == [(1000, "0:12:30")]
    assert capsys.readouterr().err == "long\n"
    # Work is announced if it slows down within seconds, but not if it is short or slow later.
    assert not announced(now, [(0, 0), (1.5, 100), (2, 500), (30, 600), (80, 999)])
    now[0] = 0.0
    assert len(announced(now, [(0, 0), (1.5, 100), (10, 110), (11, 120)])) == 1


def test_what_is_announced():
    def release(database, num_samples, rng):
        return []

    many = dpjax.HostMechanism(release)
    assert _announced("host", many, 140_000, "1:02:03") == (
        "140,000 outputs need 14 calls of release, about 1:02:03 in total; with --time-limit "
        "60, dpjax draws as many outputs as fit into one minute."
    )
    limited = dpjax.CommandMechanism("prog {database}", time_limit=90.0)
    assert _announced("command", limited, 200, "246:00:00") == (
        "prog {database} is called until it has drawn 200 outputs or the time limit "
        "(--time-limit 90, in seconds) has passed."
    )
    assert _announced("mechanism", None, 10**9, "0:01:30") == (
        "drawing 1,000,000,000 outputs takes about 0:01:30 in total."
    )


def test_a_pipe_gets_a_line_now_and_then(monkeypatch, capsys):
    """Lines are also printed during a call that does not report progress."""
    monkeypatch.setattr(_progress, "_LINE_SECONDS", 0.01)
    with progress_bar("runs") as show:
        show(3, 7)
        time.sleep(0.2)
    shown = capsys.readouterr().err
    assert "\n3 of 7 runs, 0:00:00 so far\n" in "\n" + shown and "\x1b" not in shown
    with progress_bar("runs", quiet=True, announce=lambda *_: "long") as show:
        show(1, 10**9)
        time.sleep(0.1)
    assert capsys.readouterr().err == ""


def test_nothing_is_printed_after_the_end(monkeypatch, capsys):
    """The thread that prints ends before the bar is closed."""
    monkeypatch.setattr(_progress, "_LINE_SECONDS", 0.02)
    before = set(threading.enumerate())
    with progress_bar("runs") as show:
        show(3, 7)
        assert set(threading.enumerate()) - before
    assert not set(threading.enumerate()) - before


@pytest.mark.slow
def test_a_terminal_has_a_bar_before_anything_is_done(monkeypatch):
    screen = io.StringIO()
    console = rich.console.Console(file=screen, force_terminal=True, width=100)
    monkeypatch.setattr(rich.console, "Console", lambda **options: console)
    monkeypatch.setenv("FORCE_COLOR", "1")  # Standard error of a test is not a terminal.
    with progress_bar() as show:
        show(0, 5000)
        time.sleep(0.3)
        assert "0 of 5,000 outputs" in screen.getvalue()
        show(2500, 5000)
        time.sleep(0.3)
    assert "2,500 of 5,000 outputs" in screen.getvalue() and "left" in screen.getvalue()


def test_sweeps_name_the_entry_and_count_runs(lines_at_once, capsys):
    entry = SimpleNamespace(id="b", label="second")
    spec = SimpleNamespace(entries=[SimpleNamespace(id="a"), entry])
    for block, text in ((None, ""), (SimpleNamespace(entry=entry), "entry 2/2 (second), ")):
        with showing(spec, quiet=False) as progress:
            progress(SimpleNamespace(block=block, num_runs=3, total_runs=8))
        assert capsys.readouterr().err.startswith(f"{text}3 of 8 runs, ")
    with showing(spec, quiet=True) as progress:
        progress(SimpleNamespace(block=None, num_runs=3, total_runs=8))
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [("audit", "laplace"), pytest.param(("search-pairs", "laplace"), marks=pytest.mark.slow)],
)
def test_quiet_commands_say_nothing(run, lines_at_once, arguments):
    loud, quiet = run(*arguments), run(*arguments, "--quiet")
    assert loud.error and not quiet.error
    assert [loud.output.count("\n"), loud.exit_code] == [quiet.output.count("\n"), quiet.exit_code]


@pytest.mark.parametrize(("asked", "stream"), [({}, "stdout"), ({"stderr": True}, "stderr"),
                                               ({"stderr": False}, "stdout")])  # fmt: skip
def test_which_stream_is_a_terminal(monkeypatch, asked, stream):
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", None)
    monkeypatch.delitem(sys.modules, "IPython")
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, SimpleNamespace(isatty=lambda name=name: name == stream))
    made = []

    def console(**options):
        made.append(options)
        return SimpleNamespace(is_terminal=True, is_jupyter=False)

    monkeypatch.setattr(rich.console, "Console", console)
    assert _progress.terminal(**asked) is not None and made == [{"stderr": stream == "stderr"}]
    monkeypatch.setattr(sys, stream, SimpleNamespace(isatty=lambda: False))
    assert _progress.terminal(**asked) is None
    monkeypatch.setattr(sys, stream, None)
    assert _progress.terminal(**asked) is None
