"""Audits, sweeps and watches that are interrupted ten times, two of them by SIGKILL.

Every call runs in a separate process, so that only files are left of it. These processes are forks
of one process that has imported the package, but has not computed anything.
"""

import json
import signal
import subprocess
import sys
from contextlib import ExitStack

import pytest

pytestmark = pytest.mark.slow

MODULE = """
import os, signal

left = [0]

def release(count, size, rng):
    left[0] -= 1
    if left[0] == 0:
        raise KeyboardInterrupt
    if left[0] == -1000:
        os.kill(os.getpid(), signal.SIGKILL)
    return rng.laplace(count, 1.0, size)
"""
"""Module with a function that is interrupted at a call, or killed if `left` is negative."""

COMMON = """
import json, os, signal, sys
import numpy as np
import dpjax
from dpjax.sweeps import Entry, Store, SweepSpec, run_sweep

dpjax.HostMechanism, dpjax.Sequential, dpjax.audit, dpjax.resume, dpjax.watch
for line in sys.stdin:
    if (child := os.fork()) == 0:
        sys.argv[1:] = json.loads(line)
        break
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
else:
    sys.exit()

folder, calls = sys.argv[1], int(sys.argv[2])
os.chdir(folder)
sys.path.insert(0, folder)
import noisy

noisy.left[0] = calls
subject = dpjax.HostMechanism(noisy.release)
"""
"""Beginning of all scripts, which reads the arguments of each call from a line of its input.

A child of the process leaves the loop and runs the rest of the script; the exit codes of the
children are printed. Modules that are imported when they are first used are named before the loop.
"""

AUDIT = (
    COMMON
    + """
state = folder + "/audit.json"
method = dpjax.Sequential(200_000)
if os.path.exists(state):
    result = dpjax.resume(state, subject, num_draws=200_000)
else:
    result = dpjax.audit(subject, [(0, 1)], method=method, claim=0.95, key=6)
with open(state + ".new", "w") as file:
    file.write(result.to_json())
os.replace(state + ".new", state)
"""
)

SWEEP = (
    COMMON
    + """
entry = Entry(subject, dpjax.Sequential(300), [(0.0, 1.0)], claim=1.0, num_runs=3)
more = int(sys.argv[3])
store = Store.create(folder + "/store", SweepSpec("s", (entry,), key=4, block_runs=1, more=more))
try:
    run_sweep(store)
except KeyboardInterrupt:
    pass
else:
    columns = store.columns()[entry.id]
    kept = {name: columns[name].tolist() for name in ("lower_bound", "estimate", "verdict")}
    with open(folder + "/columns.json", "w") as file:
        json.dump(kept, file)
"""
)

WATCH = (
    COMMON
    + """
rng = np.random.default_rng(0)
chunks = [(f"{i:02d}", rng.laplace(0, 1, 900), rng.laplace(1, 1, 700)) for i in range(13)]

def arriving():
    for number, chunk in enumerate(chunks):
        if number == calls:
            raise KeyboardInterrupt
        if number == calls + 1000:
            os.kill(os.getpid(), signal.SIGKILL)
        yield chunk

try:
    for result in dpjax.watch(arriving(), claim=1.0, state=folder + "/watch.json"):
        with open(folder + "/last.json", "w") as file:
            file.write(result.to_json())
except KeyboardInterrupt:
    pass
"""
)

UNDISTURBED = 10**6


@pytest.fixture
def runner(tmp_path):
    """Return a function that starts a script; it returns a function that runs the script once.

    A call must end by itself or by SIGKILL. The returned function returns whether it was killed.
    """
    with ExitStack() as stack:

        def start(script):
            process = subprocess.Popen(
                [sys.executable, "-c", script],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=stack.enter_context(open(tmp_path / "stderr", "w")),
                text=True,
            )
            stack.enter_context(process)
            assert process.stdin is not None and process.stdout is not None

            def run(folder, *arguments):
                (folder / "noisy.py").write_text(MODULE)
                process.stdin.write(json.dumps([str(folder), *map(str, arguments)]) + "\n")
                process.stdin.flush()
                code = process.stdout.readline().strip()
                assert code in ("0", str(-signal.SIGKILL)), (tmp_path / "stderr").read_text()
                return code != "0"

            return run

        yield start


def evidence(path):
    content = json.loads(path.read_text())
    return content["evidence"]["counted"], content["statement"], content["witness"]


def test_an_audit(tmp_path, runner):
    (tmp_path / "whole").mkdir()
    ran = runner(AUDIT)
    ran(tmp_path / "whole", UNDISTURBED)
    killed, blocks = 0, []
    for calls in (16, 12, -988, 12, 14, 11, 12, -985, 12, 12):
        killed += ran(tmp_path, calls)
        blocks.append(len(evidence(tmp_path / "audit.json")[0]["path"]))
    assert killed == 2 and blocks == sorted(blocks) and len(set(blocks)) == 8
    ran(tmp_path, UNDISTURBED)
    found = evidence(tmp_path / "audit.json")
    assert found == evidence(tmp_path / "whole" / "audit.json")
    assert len(found[0]["path"]) > blocks[-1]


def test_a_sweep(tmp_path, runner):
    (tmp_path / "whole").mkdir()
    ran = runner(SWEEP)
    ran(tmp_path / "whole", UNDISTURBED, 1_500)
    killed = 0
    for place, more in enumerate(range(150, 1_501, 150)):
        killed += ran(tmp_path, -997 if place in (3, 7) else 25 + place, more)
    assert killed == 2
    ran(tmp_path, UNDISTURBED, 1_500)
    columns = [(path / "columns.json").read_text() for path in (tmp_path, tmp_path / "whole")]
    assert columns[0] == columns[1] and len(json.loads(columns[0])["lower_bound"]) == 3


def test_a_watch(tmp_path, runner):
    (tmp_path / "whole").mkdir()
    ran = runner(WATCH)
    ran(tmp_path / "whole", UNDISTURBED)
    killed = 0
    for calls in (1, 2, 3 - 1000, 4, 5, 6, 8 - 1000, 9, 10, 12):
        killed += ran(tmp_path, calls)
    assert killed == 2
    ran(tmp_path, UNDISTURBED)
    assert evidence(tmp_path / "last.json") == evidence(tmp_path / "whole" / "last.json")
