"""Every exit code in the README's table, end to end through a shell and through pipes."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import dpjax

CODE = """
import sys

def noisy(database, num_samples, seed):
    import numpy as np
    return database + np.random.default_rng(seed).laplace(size=num_samples)

def removes(database, num_samples, seed):
    import os
    if os.path.isdir("gone"):
        os.rmdir("gone")
    return noisy(database, num_samples, seed)

def interrupts(database, num_samples, seed):
    if seed % 7 == 0:
        raise KeyboardInterrupt
    return noisy(database, num_samples, seed)

def quits(database, num_samples):
    sys.exit(0)

def quits_at_one(database):
    import random
    if database:
        sys.exit(1)
    return random.random()

def asks(database, num_samples):
    return input()

def slow(database):
    import random, time
    calls.append(database)
    if len(calls) == 2500:
        open("begun", "w").close()
    time.sleep(0.001)
    return database + random.random()

calls = []

def quits_in_jax(key, database):
    sys.exit(0)
"""
BUG = """
import sys
import dpjax.audit
from dpjax.cli import main
sys.modules["dpjax.audit"].audit = lambda *_, **__: 1 / 0
main()
"""
SWEEP = """
[[entries]]
mechanism = "laplace"
options = {num_samples = 300, num_confirm = 700}
runs = 2
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("codes")
    for name, text in (
        ("mine.py", CODE),
        ("gone.py", "import sys; sys.exit(0)"),
        ("asking.py", "input()"),
        ("bug.py", BUG),
        ("pairs.json", "[[0, 1]]"),
        ("sweep.toml", SWEEP),
    ):
        (folder / name).write_text(text)
    rng = np.random.default_rng(0)
    for name in "xy":
        np.save(folder / f"{name}.npy", rng.laplace(name == "y", size=5000))
    return folder


def environment(folder):
    """Return the environment of a caller, with buffered output that may fail when it closes."""
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    root = str(Path(__file__).parents[2])
    return {**kept, "PYTHONPATH": f"{root}{os.pathsep}{folder}"}


def shell(folder, command):
    """Return exit code and both streams of a command typed in bash."""
    words = {
        "DPJAX": f"{sys.executable} -m dpjax",
        "AUDIT": f"{sys.executable} -m dpjax audit --num-samples 500 --num-confirm 1000",
        "HOST": "--pairs pairs.json --host mine",
        "FILES": f"{sys.executable} -m dpjax audit --samples x.npy y.npy",
    }
    for word, text in words.items():
        command = re.sub(rf"\b{word}\b", text, command)
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stdout, done.stderr


# The level of the outputs in x and y, and of `noisy`, is 1.
FAST = [
    ("FILES --claim 0.3 --json | head -1", 1, "{"),
    ("FILES --claim 5 --json | head -1", 0, "{"),
    ("AUDIT HOST:quits", 2, "the function quits raised SystemExit"),
    ("AUDIT laplace --epsilon -1", 2, "--epsilon must be a number > 0"),
]
SLOW = [
    ("FILES", 0, "NO CLAIM"),
    ("FILES --claim 5", 0, "NOT REFUTED"),
    ("FILES --claim 0.3", 1, "VIOLATED"),
    ("AUDIT HOST:noisy --claim 5", 0, "NOT REFUTED"),
    ("AUDIT HOST:noisy --claim 0.1", 1, "VIOLATED"),
    # The exit is an outcome like any other, and distinguishes the two databases.
    ("AUDIT HOST:quits_at_one --one-by-one --claim 1", 1, "VIOLATED"),
    ("AUDIT HOST:quits_at_one --one-by-one --claim 1 --workers 1", 1, "VIOLATED"),
    ("DPJAX audit HOST:interrupts --claim 5 --method sequential", 130, "NOT REFUTED"),
    ("AUDIT HOST:asks < /dev/null", 2, "the function asks raised EOFError"),
    ("AUDIT HOST:asks <&-", 2, "the function asks raised EOFError"),
    ("AUDIT --pairs pairs.json --function mine:quits_in_jax", 2, "quits_in_jax called sys.exit(0)"),
    ("AUDIT --pairs pairs.json --host gone:f", 2, "cannot be imported: SystemExit(0)"),
    ("AUDIT --pairs pairs.json --host asking:f < /dev/null", 2, "cannot be imported: EOFError"),
    (
        "DPJAX audit truncated-laplace --param scale=0.3 --method histogram --lipschitz 0.3 "
        "--precision 0.3",
        2,
        "ASSUMPTION REFUTED",
    ),
    ("PYTHON bug.py audit laplace", 3, "ZeroDivisionError"),
    ("DPJAX sweep sweep.toml --out store", 0, "2 runs"),
    ("DPJAX sweep nowhere.toml --out other", 2, "nowhere.toml does not exist"),
    # A failure to write the output does not change the verdict.
    ("FILES --claim 0.3 | true", 1, ""),
    ("FILES --claim 5 | true", 0, ""),
    ("FILES --claim 0.3 2>&1 >/dev/null | true", 1, ""),
    ("FILES --claim 0.3 > /dev/full", 1, "standard output was not written: OSError"),
    ("FILES --claim 5 > /dev/full", 0, "standard output was not written: OSError"),
    ("FILES --claim 5 --json > /dev/full", 0, "standard output was not written: OSError"),
    ("FILES --claim 0.3 2> /dev/full", 1, "VIOLATED"),
    ("FILES --claim 0.3 >&- 2>&- <&-", 1, ""),
    ("FILES --claim 0.3 --report /proc/report.md", 2, "its folder accepts no new files"),
    ("mkdir gone; AUDIT HOST:removes --claim 0.1 --report gone/r.md", 1, "r.md was not written"),
    ("mkdir gone; AUDIT HOST:removes --claim 5 --plot gone/p.png", 0, "p.png was not written"),
    ("DPJAX audit --help | head -1", 0, ""),
    ("DPJAX mechanisms --json | head -1", 0, "{"),
    ("DPJAX mechanisms > /dev/full", 2, "No space left"),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("command", "code", "text"),
    [*FAST, *(pytest.param(*case, marks=pytest.mark.slow) for case in SLOW)],
)
def test_a_code_means_what_the_table_says(folder, command, code, text):
    if ("/dev/full" in command or "/proc" in command) and not Path("/dev/full").exists():
        pytest.skip("a file of Linux")
    command = command.replace("PYTHON", sys.executable)
    found, output, error = shell(folder, command)
    assert (found, text in output + error) == (code, True), (found, output, error)
    assert code == 3 or "Traceback" not in error


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 129),
    ],
)
def test_a_signal_stops_an_audit_with_a_sentence(folder, number, code):
    """The shell waits for the audit and exits with its code."""
    audit = f"{sys.executable} -m dpjax audit --pairs pairs.json --host mine:slow --one-by-one"
    script = f"{audit} & echo $!; wait $!; exit $?"
    with subprocess.Popen(
        # Otherwise a shell makes its background processes ignore interrupts.
        ["bash", "-c", f"set -m; {script}"],
        cwd=folder,
        env=environment(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        audited = int(process.stdout.readline())
        while not (folder / "begun").exists():
            assert process.poll() is None
            time.sleep(0.1)
        os.kill(audited, number)
        try:
            _, error = process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            os.kill(audited, signal.SIGKILL)
            raise
    (folder / "begun").unlink()
    assert process.returncode == code
    assert re.search(r"Stopped after \d+ search outputs and no confirmation outputs", error), error


def test_the_table_of_the_readme_holds_every_code():
    text = (Path(__file__).parents[2] / "README.md").read_text()
    table = re.search(r"\| exit code .*?\n\n", text, re.S)
    assert table is not None
    assert re.findall(r"\b\d+\b", " ".join(re.findall(r"^\| ([\d, ]+) \|", table[0], re.M))) == [
        *("0", "1", "2", "3"),
        *("129", "130", "143"),
    ]


@pytest.mark.slow
def test_files_are_written_where_the_command_was_given(tmp_path, monkeypatch):
    """Files are written to the original working folder even if a function changes it."""
    (tmp_path / "moves.py").write_text(
        "import os\n\n\ndef moves(count, size, rng):\n    os.chdir('/')\n"
        "    return rng.laplace(count, 1.0, size)\n"
    )
    monkeypatch.chdir(tmp_path)
    arguments = ["audit", "--host", "moves.py:moves", "--pairs", "[[0, 1]]", "--report", "page.md"]
    done = subprocess.run(
        [sys.executable, "-m", "dpjax", *arguments, "--num-samples", "300", "--num-confirm", "300"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "page.md").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals differ")
def test_a_stopped_sequential_audit_writes_its_result_and_exits_with_130(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import time\n\n\ndef slow(count, rng):\n    time.sleep(0.0005)\n"
        "    return rng.laplace(count)\n"
    )
    arguments = ["audit", "--host", "slow.py:slow", "--one-by-one", "--pairs", "[[0, 1]]"]
    arguments += ["--claim", "3", "--method", "sequential", "--json", "--report", "page.md"]
    process = subprocess.Popen(
        [sys.executable, "-m", "dpjax", *arguments],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    process.stderr.readline()  # This is the announcement, which is printed when draws begin.
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    output, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    result = dpjax.AuditResult.from_json(output)
    assert "the user stopped the audit" in result.notes[-1] and (tmp_path / "page.md").exists()
