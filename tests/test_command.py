"""Programs as mechanisms, and the command line's way to all mechanisms of the host."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import psutil
import pytest
from test_cli import call

import dpjax
from dpjax import CommandMechanism
from dpjax.sources._process import Programs

PYTHON = sys.executable
SIZES = {"num_samples": 2000, "num_confirm": 5000}
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
    (tmp_path / "host_module_for_cli.py").write_text(
        "import numpy as np\n"
        "def release(database, num_samples, rng):\n"
        "    return database[0] + rng.laplace(size=num_samples)\n"
        "def single(database):\n"
        "    raise RuntimeError\n"
    )
    (tmp_path / "pairs.json").write_text("[[0.0, 1.0]]")
    (tmp_path / "lists.json").write_text("[[[0.0, 1], [1.0, 1]]]")
    return tmp_path


def batch(folder, rest="{database} {num_samples}"):
    return f"{PYTHON} {folder / 'prog.py'} {rest}"


def test_numbers_labels_and_empty_lines(program):
    result = dpjax.audit(CommandMechanism(batch(program)), pairs=[(0.0, 1.0)], **SIZES)
    assert 0.3 < result.lower_bound < 1.5
    assert any("cannot be replayed" in note for note in result.notes)


def test_a_seed_replays_with_any_number_of_workers(program):
    command = batch(program, "{database} {num_samples} {seed}")
    sizes = {"num_samples": 500, "num_confirm": 600}
    results = [
        dpjax.audit(CommandMechanism(command, workers=w, batch_size=250), pairs=[(0, 1)], **sizes)
        for w in (1, 2)
    ]
    assert results[0].witness == results[1].witness
    assert not any("replayed" in note for note in results[0].notes)


def test_one_run_an_output_makes_exits_outcomes(program):
    """Exit 7 has the probabilities 0.02 and 0.6; each of 160 runs is a process."""
    line = f"{PYTHON} -S {program / 'one.py'} {{database}} {{seed}}"
    command = CommandMechanism(line, workers=2)
    result = dpjax.audit(command, pairs=[(0, 1)], num_samples=30, num_confirm=50)
    assert 0.7 < result.lower_bound < np.log(30) and "error: exit status 7" in result.witness.event
    strict = CommandMechanism(line, special="error")
    with pytest.raises(ValueError, match="exit status 7"):
        dpjax.audit(strict, pairs=[(0, 1)], num_samples=50, num_confirm=50)


@pytest.mark.parametrize(
    ("command", "pair", "error", "message"),
    [
        ("", (0, 1), ValueError, "command must name a program"),
        ("prog {num_samples}", (0, 1), ValueError, "must have {database} in it"),
        ("prog '{database}", (0, 1), ValueError, "cannot be split"),
        ("nonsense-program {database}", (0, 1), ValueError, "cannot be run: No such file"),
        (None, (99, 1), ValueError, "exited with 3; its last errors: first line | no such"),
        (None, (-99, 1), ValueError, "printed 1999 lines: it must print one output a line"),
        ("yes {database} {num_samples}", (0, 1), ValueError, "printed more than 2000 lines"),
        ("sleep 9{database}{num_samples}", (0, 1), ValueError, "took longer than 0.2 s"),
        ("yes {database}", (0, 1), ValueError, "must print one line a run, but printed more"),
        ("cat {database} {num_samples}", ({1}, 1), TypeError, "texts or what JSON can hold"),
    ],
)
def test_refusals(program, command, pair, error, message):
    with pytest.raises(error) as refused:
        command = batch(program) if command is None else command
        timeout = 0.2 if "sleep" in command else None
        dpjax.audit(CommandMechanism(command, timeout=timeout), pairs=[pair], **SIZES)
    assert message in str(refused.value)


def test_placeholders_in_a_database_are_left_alone(program):
    (program / "echo.py").write_text(
        "import sys\nfor i in range(int(sys.argv[2])): print(sys.argv[1])\n"
    )
    command = f"{PYTHON} {program / 'echo.py'} {{database}} {{num_samples}}"
    pair = ("{num_samples}", "x;{seed} $HOME")
    result = dpjax.audit(CommandMechanism(command), pairs=[pair], **SIZES)
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


@pytest.mark.parametrize("rest", ["", " own-session"])
def test_a_timeout_ends_a_program_with_its_children(tmp_path, rest):
    """A child holds the pipe: whether it could be killed or not, the run ends."""
    (tmp_path / "child.py").write_text(CHILD)
    (tmp_path / "parent.py").write_text(PARENT)
    trace = tmp_path / "trace"
    command = f"{PYTHON} -S {tmp_path / 'parent.py'} {trace}{rest}"
    start = time.monotonic()
    ended = Programs().run(command.split(), 1, 2.0)
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


def test_a_timeout_is_an_outcome(tmp_path):
    command = CommandMechanism("sleep {database}", timeout=0.3)
    result = dpjax.audit(command, pairs=[(0, 60)], num_samples=4, num_confirm=4)
    assert result.witness.event_counts in ((0, 4), (4, 0))
    assert "error: timeout" in result.witness.event or result.witness.event.endswith("empty")


@pytest.fixture
def interrupts():
    """Python's own handler: what a shell starts in the background ignores interrupts."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_what_runs(interrupts):
    mechanism = CommandMechanism("sleep 6{database} {num_samples}", workers=2)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt), mechanism.opened() as draw:
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        list(draw(0, 10, (1,)))
    assert time.monotonic() - start < 10


# The command line.


def test_the_command_line_audits_programs_and_functions(capsys, monkeypatch, program):
    monkeypatch.chdir(program)
    sizes = ("--num-samples", 2000, "--num-confirm", 5000, "--json")
    arguments = ("audit", "--command", batch(program), "--pairs", "pairs.json", *sizes)
    code, out, _ = call(capsys, monkeypatch, *arguments, "--claim", 0.1)
    assert code == 1 and json.loads(out)["bound"] == "exact binomial"
    arguments = (
        "audit", "--host", "host_module_for_cli:release", "--pairs", "lists.json", *sizes,
        "--delta", 0.01, "--bits", "lowest",
    )  # fmt: skip
    code, out, _ = call(capsys, monkeypatch, *arguments)
    result = json.loads(out)
    assert code == 0 and 0.6 < result["lower_bound"] and result["settings"]["delta"] == 0.01
    assert result["witness"]["database"] == [0.0, 1]


def test_the_command_line_reads_recordings(capsys, monkeypatch, tmp_path):
    rng = np.random.default_rng(1)
    monkeypatch.chdir(tmp_path)
    for name, shift in (("x", 0), ("y", 1)):
        for part in (1, 2):
            table = np.stack([np.zeros(3000), rng.laplace(shift, size=3000)], 1)
            np.savetxt(f"{name}{part}.csv", table, delimiter=",", header="a,b", comments="")
    arguments = ("audit", "--samples", "x*.csv", "y1.csv,y2.csv", "--column", "b", "--json")
    code, out, _ = call(capsys, monkeypatch, *arguments, "--search-fraction", 0.25)
    result = json.loads(out)
    assert code == 0 and 0.5 < result["lower_bound"] < 1.1
    assert result["settings"]["search_fraction"] == 0.25
    assert result["mechanism"] == "x1.csv and 1 more / y1.csv and 1 more"
    # A density's option asks for the local approach, in memory.
    arguments = ("audit", "--samples", "x1.csv", "y1.csv", "--column", "b", "--bandwidth", 0.2)
    assert "bandwidth" in str(call(capsys, monkeypatch, *arguments, "--json")[1])


def test_two_columns_of_one_table_are_the_two_sides(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    sides = np.random.default_rng(0).laplace([0, 1], size=(4000, 2))
    np.savetxt("t.csv", sides, "%.17g", ",", header="before,after", comments="")
    table = ("audit", "--samples", "t.csv", "t.csv", "--column", "before")
    # Above 1 with a chance of 1e-5.
    sure = ("--column", "after", "--json", "--confidence", 0.99999)
    code, out, _ = call(capsys, monkeypatch, *table, *sure)
    found = json.loads(out)
    assert code == 0 and found["mechanism"] == "t.csv:before / t.csv:after"
    assert 0.5 < found["lower_bound"] <= 1
    assert found["lower_bound"] == dpjax.audit_samples(*sides.T, confidence=0.99999).lower_bound
    for more, said in (((), "on both sides"), (("--column", 1, "--column", 0), "at most twice")):
        code, _, err = call(capsys, monkeypatch, *table, *more)
        assert code == 2 and said in err


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--command", "a {database}"), "--command needs --pairs"),
        (("--host", "math:sin"), "--host needs --pairs"),
        (("--host", "nothing", "--pairs", "pairs.json"), "--host must be MODULE:NAME"),
        (("--host", "math:sin", "--timeout", 1, "--pairs", "pairs.json"), "--timeout is for"),
        (("--command", "a", "--one-by-one", "--pairs", "pairs.json"), "--one-by-one is for --host"),
        (("--host", "math:sin", "--kernel", "laplace"), "--kernel is for density estimates"),
        (("--host", "math:sin", "--bits", "x", "--pairs", "pairs.json"), "bits 'x' is not known"),
        (("laplace", "--workers", 2), "--workers is for --host and --command"),
        (("laplace", "--column", 2), "--column is for --samples"),
        (("laplace", "--pairs", "bad.json"), "--pairs bad.json must be JSON"),
        (("laplace", "--pairs", "bad.npz"), "--pairs bad.npz must be JSON"),
        (("--host", "math:sin", "--pairs", "odd.json"), "--pairs odd.json must be JSON"),
        (("--host", "math:sin", "--pairs", "."), "--pairs . is a folder"),
    ],
)
def test_bad_input_exits_with_2(capsys, monkeypatch, program, arguments, sentence):
    monkeypatch.chdir(program)
    (program / "bad.json").write_text("[[0, 1")
    (program / "odd.json").write_text("[[0, 1], [2]]")
    (program / "bad.npz").write_text("no archive")
    code, out, err = call(capsys, monkeypatch, "audit", *arguments)
    assert code == 2 and out == "" and err.count("\n") == 1
    assert sentence in err and "allow_pickle" not in err


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of Unix")
@pytest.mark.parametrize("number", ["SIGTERM", "SIGHUP"])
def test_a_signal_that_ends_the_audit_ends_its_programs(number):
    # What nohup starts ignores it, and would hand that on.
    code = f"import signal; signal.signal(signal.{number}, signal.SIG_DFL); "
    code += "import dpjax; m = dpjax.CommandMechanism('sleep 4242{database}'); "
    code += "dpjax.audit(m, pairs=[(0, 1)])"
    with subprocess.Popen([sys.executable, "-c", code]) as audit:
        deadline = time.monotonic() + 60
        while not (children := psutil.Process(audit.pid).children()):
            assert time.monotonic() < deadline, "the program was not started"
            time.sleep(0.1)
        audit.send_signal(getattr(signal, number))
        assert audit.wait(30) == -getattr(signal, number)
    assert psutil.wait_procs(children, timeout=30)[1] == []
