"""Programs are killed with their children, and stopping them twice does no harm."""

import os
import subprocess
import threading
import time
from types import SimpleNamespace

import pytest

from dpjax.sources._process import Programs, _kill, _Tail


def started(programs, seconds="60"):
    """Return a thread that runs a program, and the list of its results."""
    found = []

    def run():
        found.append(programs.run(["sleep", seconds], 1, None))

    thread = threading.Thread(target=run)
    thread.start()
    while not programs._running:
        time.sleep(0.005)
    return thread, found


def test_a_program_that_is_stopped_ends_as_killed():
    programs = Programs()
    thread, found = started(programs)
    guard = programs._guard
    programs.stop()
    thread.join(10)
    assert not thread.is_alive()
    assert found[0].code == -9 and found[0].lines == []
    # The guard has ended, so nobody can be told about the program.
    assert guard.returncode == 0 and programs._guard is None
    programs.stop()
    with pytest.raises(RuntimeError, match="stopped"):
        programs.run(["true"], 1, None)


def test_programs_that_have_ended_are_forgotten():
    programs = Programs()
    assert programs.run(["echo", "1"], 1, None).lines == ["1"]
    assert programs._running == set()
    guard = programs._guard
    assert programs.run(["echo", "2"], 1, None).lines == ["2"]
    # All programs share one guard.
    assert programs._guard is guard
    programs.stop()


def test_the_guard_is_told_of_an_end_at_once():
    """Later, another program might get the same process ID."""
    written, programs = [], Programs()
    stdin = SimpleNamespace(write=written.append, flush=lambda: written.append("flushed"))
    programs._forget(SimpleNamespace(pid=7))
    programs._guard = SimpleNamespace(stdin=stdin)
    programs._forget(SimpleNamespace(pid=8))
    assert written == [b"-8\n", "flushed"]


def test_where_there_are_no_groups_the_program_alone_is_killed(monkeypatch):
    process = subprocess.Popen(["sleep", "60"], start_new_session=True)
    monkeypatch.delattr(os, "killpg")
    _kill(process)
    assert process.wait(10) == -9


@pytest.mark.parametrize(
    ("asked", "printed", "code"), [(3, "1 2 3", 0), (2, "1 2 3", 0), (1, "1 2 3", 0)]
)
def test_one_line_more_than_asked_for_is_read(asked, printed, code):
    programs = Programs()
    ended = programs.run(["printf", printed.replace(" ", "\\n") + "\\n"], asked, None)
    assert ended.lines == printed.split()[: asked + 1]
    assert ended.code == code
    programs.stop()


@pytest.mark.parametrize(("asked", "code"), [(1, 0), (2, 3), (3, 3)])
def test_the_exit_code_counts_unless_there_are_too_many_lines(asked, code):
    programs = Programs()
    ended = programs.run(["sh", "-c", "printf '1\\n2\\n'; exit 3"], asked, None)
    assert ended.lines == ["1", "2"] and ended.code == code
    programs.stop()


def test_a_program_that_prints_too_many_lines_goes_no_further(tmp_path):
    programs, last = Programs(), tmp_path / "last"
    script = f"printf '1\\n2\\n3\\n'; sleep 3; touch {last}"
    ended = programs.run(["sh", "-c", script], 1, None)
    assert ended.lines == ["1", "2"] and ended.code == 0
    assert not last.exists()
    programs.stop()


def test_a_limit_of_bytes_holds_exactly(monkeypatch):
    monkeypatch.setattr("dpjax.core.validate.limit", lambda name: 6)
    programs = Programs()
    assert programs.run(["printf", "12\\n45\\n"], 5, None).lines == ["12", "45"]
    programs.stop()
    programs = Programs()
    with pytest.raises(ValueError, match="'printf' printed too many bytes"):
        programs.run(["printf", "12\\n456\\n"], 5, None)
    programs.stop()


def last_of(written):
    with _Tail() as errors:
        os.write(errors.fileno(), written)
        return errors, errors.last()


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (b"", ""),
        (b" \n\x1b\n", ""),
        (b"a\n b \x07c\rd\n\n", "a | b c | d"),
        (
            b"\n".join(b" line %d " % n for n in range(9)),
            "line 4 | line 5 | line 6 | line 7 | line 8",
        ),
        (b"no\n" + b"x" * 300, "x" * 197 + "..."),
        # A line is quoted if at least 20 characters remain after it and the separator.
        (b"no\n" + b"e" * 300 + b"\n" + b"y" * 177, "e" * 17 + "... | " + "y" * 177),
        (b"no\n" + b"e" * 300 + b"\n" + b"y" * 178, "y" * 178),
    ],
)
def test_the_last_errors_are_printable_and_short(written, expected):
    assert last_of(written)[1] == expected and len(expected) <= 200


def test_the_last_errors_are_kept():
    errors, _ = last_of(b"x" * 9_999 + b"y" * 2)
    assert errors._kept == b"x" * 9_998 + b"yy"
    # The descriptor is closed exactly once.
    with pytest.raises(OSError):
        os.write(errors.fileno(), b"1")


def test_the_errors_of_a_program_that_fails_to_run_are_closed():
    errors = _Tail()
    with pytest.raises(RuntimeError, match="failed"), errors:
        raise RuntimeError("failed")
    assert errors.fileno() == -1
    errors._reader.join(10)
    assert not errors._reader.is_alive()


def test_a_program_does_not_outlive_an_interrupt(monkeypatch):
    """For example, Ctrl-C while its lines are read."""
    read = []

    def interrupted(process, *others):
        read.append(process)
        raise KeyboardInterrupt

    monkeypatch.setattr("dpjax.sources._process._read", interrupted)
    programs = Programs()
    with pytest.raises(KeyboardInterrupt):
        programs.run(["sleep", "60"], 1, None)
    try:
        assert read[0].returncode == -9 and programs._running == set()
    finally:
        read[0].kill()
        read[0].stdout.close()
        programs.stop()


@pytest.mark.slow
def test_a_child_that_keeps_the_pipe_open_keeps_no_process_alive():
    """At its end, the interpreter waits for all threads except daemon threads."""
    before, programs = {*threading.enumerate()}, Programs()
    ended = programs.run(["sh", "-c", "setsid sleep 3 &"], 1, 1.0)
    reading = {*threading.enumerate()} - before
    assert ended.code is None and reading and all(thread.daemon for thread in reading)
    programs.stop()


def test_programs_are_killed_without_a_guard():
    """Windows has no guard."""
    process, programs = subprocess.Popen(["sleep", "60"], start_new_session=True), Programs()
    programs._running.add(process)
    programs.stop()
    assert programs._guard is None and process.wait(10) == -9
