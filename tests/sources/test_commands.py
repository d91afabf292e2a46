"""Programs as mechanisms: every exit status is an outcome, and programs end with their audit."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import psutil
import pytest

import dpjax
from dpjax import CommandMechanism, Events
from dpjax.sources._command import _told
from dpjax.sources._process import Programs
from dpjax.sources._schedule import Span

PYTHON = sys.executable
SIZES = Events(num_samples=2000, num_confirm=5000)
PROGRAM = """
import math, random, sys
database, count = float(sys.argv[1]), int(sys.argv[2])
draw = random.Random(int(sys.argv[3])) if len(sys.argv) > 3 else random.SystemRandom()
if database > 50:
    sys.stderr.write("first line\\nno such person\\n")
    sys.exit(3)
for _ in range(count if database > -50 else count - 1):
    u, v = draw.random(), draw.random() - 0.5
    noise = math.copysign(math.log(1 - 2 * abs(v)), v)
    print("" if u < 0.1 else "refused" if u > 0.95 else database + noise)
"""
ONE = """
import random, sys
u = random.Random(int(sys.argv[2])).random()
if u < 0.02 + 0.58 * float(sys.argv[1]):
    sys.exit(7)
print("1,2" if u < 0.8 else "3,4")
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "prog.py").write_text(PROGRAM)
    (tmp_path / "one.py").write_text(ONE)
    return tmp_path


def batch(folder, rest="{database} {num_samples}"):
    return f"{PYTHON} {folder / 'prog.py'} {rest}"


def test_numbers_labels_and_empty_lines(program):
    result = dpjax.audit(CommandMechanism(batch(program)), [(0.0, 1.0)], method=SIZES)
    assert 0.3 < result.lower_bound < 1.5
    assert any("cannot be replayed" in note for note in result.notes)


def test_a_seed_replays_with_any_number_of_workers(program):
    command = batch(program, "{database} {num_samples} {seed}")
    sizes = Events(num_samples=500, num_confirm=600)
    results = [
        dpjax.audit(CommandMechanism(command, workers=w, batch_size=250), [(0, 1)], method=sizes)
        for w in (1, 2)
    ]
    assert results[0].witness == results[1].witness
    assert not any("replayed" in note for note in results[0].notes)


@pytest.mark.slow
def test_one_run_an_output_makes_exits_outcomes(program):
    """Exit status 7 has the probabilities 0.02 and 0.6; each of 160 runs is a process."""
    line = f"{PYTHON} -S {program / 'one.py'} {{database}} {{seed}}"
    command = CommandMechanism(line, workers=2)
    result = dpjax.audit(command, [(0, 1)], method=Events(30, 50))
    assert 0.5 < result.lower_bound < np.log(30) and "error: exit status 7" in result.witness.event
    strict = CommandMechanism(line, special="error")
    with pytest.raises(ValueError, match="exit status 7"):
        dpjax.audit(strict, [(0, 1)], method=Events(50, 50))


@pytest.mark.parametrize(
    ("command", "pair", "error", "message"),
    [
        ("", (0, 1), ValueError, "command must name a program"),
        ("prog {num_samples}", (0, 1), ValueError, "must contain {database}"),
        ("prog '{database}", (0, 1), ValueError, "cannot be split"),
        ("nonsense-program {database}", (0, 1), ValueError, "cannot be run: No such file"),
        (None, (99, 1), ValueError, "exited with 3; its last errors: first line | no such"),
        (None, (-99, 1), ValueError, "printed 1999 lines: it must print one output per line"),
        ("yes {database} {num_samples}", (0, 1), ValueError, "printed more than 2000 lines"),
        ("sleep 9{database}{num_samples}", (0, 1), ValueError, "took longer than 0.2 s"),
        ("yes {database}", (0, 1), ValueError, "must print one line per run, but printed more"),
        ("cat {database} {num_samples}", ({1}, 1), TypeError, "strings, JSON values, or tables"),
    ],
)
def test_refusals(program, command, pair, error, message):
    with pytest.raises(error) as refused:
        command = batch(program) if command is None else command
        timeout = 0.2 if "sleep" in command else None
        dpjax.audit(CommandMechanism(command, timeout=timeout), [pair], method=SIZES)
    assert message in str(refused.value)


@pytest.mark.parametrize("rest", ["", " {num_samples}"])
def test_a_program_that_prints_csv_is_told_how_to_print_a_table(rest):
    command = CommandMechanism("printf 'age,sex\\n30,f\\n41,m\\n%.0s' {database}" + rest)
    with pytest.raises(ValueError, match=r"more .*in place of csv.*no line with") as refused:
        dpjax.audit(command, [(0, 1)], method=Events(2, 2))
    example = re.search(r"such as (\{.*\}) in place", str(refused.value))[1]
    found = dpjax.summarize(example)
    assert found["rows"] == 2 and found["mean of age"] == 35.5


TABLES = """
import json, random, sys
database, count = float(sys.argv[1]), int(sys.argv[2])
draw = random.Random(int(sys.argv[3]))
for _ in range(count):
    ages = [database + draw.gauss(0, 1) for _ in range(3)]
    print(json.dumps({"age": ages, "sex": [draw.choice("fm") for _ in ages]}))
"""


def test_a_table_as_json_is_compared_by_its_columns(tmp_path):
    (tmp_path / "tables.py").write_text(TABLES)
    line = f"{PYTHON} -S {tmp_path / 'tables.py'} {{database}} {{num_samples}} {{seed}}"
    result = dpjax.audit(CommandMechanism(line), [(0, 3)], method=Events(60, 100))
    assert result.lower_bound > 1.5 and "of age" in result.witness.event


def test_a_note_quotes_the_last_errors_of_the_first_run_that_fails():
    command = "sh -c 'echo no such person >&2; echo halted >&2; exit 3' {database}"
    with pytest.raises(ValueError, match="every call ended with 'error: exit status 3'") as refused:
        dpjax.audit(CommandMechanism(command), [(0, 1)], method=Events(4, 4))
    said = "The first error was exit status 3: no such person | halted. special='error'"
    assert said in str(refused.value)


def test_placeholders_in_a_database_are_left_alone(program):
    (program / "echo.py").write_text(
        "import sys\nfor i in range(int(sys.argv[2])): print(sys.argv[1])\n"
    )
    command = f"{PYTHON} {program / 'echo.py'} {{database}} {{num_samples}}"
    pair = ("{num_samples}", "x;{seed} $HOME")
    result = dpjax.audit(CommandMechanism(command), [pair], method=SIZES)
    assert result.witness.output in [f"{side!r}" for side in pair]


CHILD = """
import sys, time
while True:
    time.sleep(0.02)
    open(sys.argv[1], "a").write("x")
"""
PARENT = """
import subprocess, sys, time
child = __file__.replace("parent", "child")
subprocess.Popen([sys.executable, "-S", child, sys.argv[1]], start_new_session=len(sys.argv) > 2)
time.sleep(100)
"""


@pytest.mark.slow
@pytest.mark.parametrize("rest", ["", " own-session"])
def test_a_timeout_ends_a_program_with_its_children(tmp_path, rest):
    """A child keeps the pipe open; the run ends even if the child could not be killed."""
    (tmp_path / "child.py").write_text(CHILD)
    (tmp_path / "parent.py").write_text(PARENT)
    trace = tmp_path / "trace"
    command = f"{PYTHON} -S {tmp_path / 'parent.py'} {trace}{rest}"
    start = time.monotonic()
    programs = Programs()
    ended = programs.run(command.split(), 1, 2.0)
    programs.stop()
    left = [
        process
        for process in psutil.process_iter(["cmdline"])
        if str(trace) in (process.info["cmdline"] or [])
    ]
    for process in left:
        process.kill()
    assert ended.code is None and time.monotonic() - start < 10
    assert len(left) == (1 if rest else 0)
    assert trace.stat().st_size > 0


@pytest.mark.slow
def test_a_timeout_holds_for_output_and_end_together():
    """The output ends in time, but the program ends after the timeout."""
    programs = Programs()
    ended = programs.run(["sh", "-c", "sleep 0.6; exec >&-; sleep 0.9"], 1, 1.0)
    programs.stop()
    assert ended.code is None and ended.lines == []


@pytest.mark.slow
def test_a_timeout_is_an_outcome(tmp_path):
    command = CommandMechanism("sleep {database}", timeout=0.3)
    result = dpjax.audit(command, [(0, 60)], method=Events(4, 4))
    first, second = result.evidence.trials
    assert first + second == 8
    assert result.witness.event_counts in ((0, second), (first, 0))
    assert "error: timeout" in result.witness.event or result.witness.event.endswith("empty text")


def test_each_line_is_told_before_it_is_used():
    seen = []
    lines = _told(iter(["a", "b"]), seen.append)
    assert next(lines) == "a" and seen == [1]
    assert [*lines] == ["b"] and seen == [1, 1]


@pytest.fixture
def interrupts():
    """Restore Python's handler, because background processes of a shell ignore interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.slow
def test_an_interrupt_ends_what_runs(interrupts):
    mechanism = CommandMechanism("sleep 6{database} {num_samples}", workers=2)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt), mechanism.drawing() as draw:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        list(draw(0, Span(range(10), (1,), lambda count: None)))
    assert time.monotonic() - start < 10


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of Unix")
@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP", "SIGKILL"])
def test_what_ends_the_audit_ends_its_programs(number):
    # Restore the default handler: with nohup, SIGHUP is ignored, and children inherit this.
    code = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); "
    code += "import dpjax; m = dpjax.CommandMechanism('sleep 4242{database}'); "
    code += "dpjax.audit(m, [(0, 1)])"
    with subprocess.Popen([sys.executable, "-c", code]) as audit:
        children = started(audit.pid, "sleep")
        audit.send_signal(getattr(signal, number))
        assert audit.wait(30) == -getattr(signal, number)
    assert psutil.wait_procs(children, timeout=30)[1] == []


def started(number, word):
    """Wait for a descendant whose command line contains the word; return all descendants."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        children = psutil.Process(number).children(recursive=True)
        with contextlib.suppress(psutil.Error):
            if any(word in " ".join(child.cmdline()) for child in children):
                return children
        time.sleep(0.1)
    raise AssertionError("nothing was started")
