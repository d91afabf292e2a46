"""Kills and interrupts at random moments: nothing outlives dpjax, nothing is lost, all is said.

Sweeps and audits of every source are killed by SIGKILL. Then no process of theirs may be left after
five seconds, every file that is there must be whole, and the rows of a sweep that goes on must be
those of an undisturbed one. Long audits of every source get one SIGINT, and must exit with 130 and
a sentence. About half an hour on 2 cores.

    scripts/benchmark interrupts [--kills 100] [--stops 20] [--seed 0]
"""

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import psutil

from benchmarks.robustness import command, run
from dpjax.sweeps import Store, rows_equal

_BEGUN = 0.3
"""Seconds of computing after which a process is in dpjax."""

MARK = "DPJAX_MARK"
"""A variable that every process of a case inherits."""

PATIENCE, HUNG = 5.0, 60.0
"""Seconds in which everything must have ended after a kill; and an audit after an interrupt, which
waits for a compilation that has begun."""

SPEC = """
block_runs = 4
[[entries]]
mechanism = "laplace"
method = "local"
runs = 300
[[entries]]
mechanism = "randomized-response"
options = {num_samples = 2000, num_confirm = 5000}
runs = 60
"""

CODE = """
import random, time

def slow(database):
    time.sleep(0.001)
    return database + random.random()

"""

PROGRAM = """
import random, sys, time
for number in range(int(sys.argv[2])):
    time.sleep(0.001)
    print(float(sys.argv[1]) + random.random())
"""


def cases(folder: Path, long: bool) -> dict[str, list[str]]:
    """Source -> options of an audit: a long one, or one of a few seconds."""
    pairs = ["--pairs", "pairs.json"]
    many = ["--num-samples", "1000000000", "--num-confirm", "1000000000"]
    program = f"{sys.executable} -S {folder / 'program.py'} {{database}} {{num_samples}}"
    large, small = ["large-x.csv", "large-y.csv"], ["small-x.csv", "small-y.csv"]
    few = [] if long else ["--num-samples", "300", "--num-confirm", "500"]
    histogram = ["truncated-laplace", "--method", "histogram", "--lipschitz", "0.64"]
    local = [*many[:3], "1000000001"]
    function = ["--host", "mine:slow", "--one-by-one", *pairs, *few]
    return {
        "drawn": ["laplace", *(many if long else few)],
        "drawn, local": ["laplace", "--method", "local", *(local if long else few)],
        "drawn, histogram": [*histogram, "--num-samples", "2000000000" if long else "5000"],
        "function": function,
        "function, workers": ["--workers", "2", *function],
        "program": ["--command", program, *pairs, *few],
        "recorded": ["--samples", *(large if long else small)],
    }


def start(folder: Path, words: Sequence[str], mark: str) -> subprocess.Popen:
    """A process whose descendants can be found by their mark."""
    # As a shell would run it in the foreground, also where this process ignores interrupts.
    environment = os.environ | {MARK: mark, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    return subprocess.Popen(
        words,
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def marked(mark: str) -> list[psutil.Process]:
    """All processes with the mark."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def left_after(mark: str, seconds: float) -> int:
    """How many processes are still there after so long; they are ended then."""
    end = time.monotonic() + seconds
    while (left := marked(mark)) and time.monotonic() < end:
        time.sleep(0.1)
    for process in left:
        process.kill()
    return len(left)


def half_written(folder: Path) -> list[str]:
    """Reports and figures that are there and not whole."""
    ends = {".html": b"</html>", ".png": b"IEND\xaeB`\x82"}
    return [
        path.name
        for path in folder.iterdir()
        if path.suffix in ends
        and not path.name.startswith(".")
        and not path.read_bytes().rstrip().endswith(ends[path.suffix])
    ]


def killed_audits(folder: Path, kills: int, moments: random.Random) -> list[str]:
    """Faults of audits of every source that are killed."""
    faults, names = [], list(cases(folder, long=False))
    for number in range(kills):
        name, mark = names[number % len(names)], uuid.uuid4().hex
        written = ["--report", "report.html", "--plot", "plot.png"]
        audit = [sys.executable, "-m", "dpjax", "audit", *cases(folder, long=False)[name], *written]
        process = start(folder, audit, mark)
        time.sleep(moments.uniform(1.0, 8.0))
        process.kill()
        process.communicate()
        if left := left_after(mark, PATIENCE):
            faults.append(f"{name}: {left} processes left")
        faults += [f"{name}: {path} is half-written" for path in half_written(folder)]
        for path in ("report.html", "plot.png"):
            (folder / path).unlink(missing_ok=True)
    return faults


def killed_sweeps(folder: Path, kills: int, moments: random.Random) -> list[str]:
    """Faults of sweeps that are killed and go on; one that is ready is followed by a new one."""
    spec = folder / "sweep.toml"
    run(spec, folder / "calm")
    calm, faults, number = Store.open(folder / "calm"), [], 0

    def judge(out: Path) -> None:
        run(spec, out)
        if not rows_equal(calm, Store.open(out)):
            faults.append(f"sweep {number}: rows differ")
        if strange := Store.open(out).contents().strange:
            faults.append(f"sweep {number}: {strange}")

    for _ in range(kills):
        out, mark = folder / f"store{number}", uuid.uuid4().hex
        process = start(folder, command(spec, out), mark)
        time.sleep(moments.uniform(1.0, 8.0))
        done = process.poll() == 0
        process.kill()
        process.communicate()
        if left := left_after(mark, PATIENCE):
            faults.append(f"sweep: {left} processes left")
        if done:
            judge(out)
            number += 1
    judge(folder / f"store{number}")
    return faults


def _computed(pid: int) -> float:
    """Seconds of CPU of a process and its children: the one that is waited for computes nothing."""
    with suppress(psutil.NoSuchProcess):
        first = psutil.Process(pid)
        return sum(each.cpu_times().user for each in [first, *first.children(recursive=True)])
    return 0.0


def stopped_audits(folder: Path, stops: int, moments: random.Random) -> dict[str, list[str]]:
    """Source -> faults of long audits that get one SIGINT each."""
    faults, ways = {}, cases(folder, long=True)
    for name in dict.fromkeys(way.partition(",")[0] for way in ways):
        faults[name], slowest = [], 0.0
        turns = [options for way, options in ways.items() if way.partition(",")[0] == name]
        for turn in range(stops):
            mark, options = uuid.uuid4().hex, turns[turn % len(turns)]
            process = start(folder, [sys.executable, "-m", "dpjax", "audit", *options], mark)
            # Python has its handlers then, however busy the machine is.
            while process.poll() is None and _computed(process.pid) < _BEGUN:
                time.sleep(0.01)
            time.sleep(moments.uniform(0, 6.0))
            begun = process.poll() is None
            process.send_signal(signal.SIGINT)
            asked = time.monotonic()
            try:
                _, said = process.communicate(timeout=HUNG)
            except subprocess.TimeoutExpired:
                process.kill()
                said = f"it hung; {process.communicate()[1]}"
            slowest = max(slowest, time.monotonic() - asked)
            sentence = said.rstrip().rpartition("\n")[2]
            if process.returncode != 130 or "Stopped" not in sentence or "Traceback" in said:
                faults[name].append(f"code {process.returncode}, begun {begun}: {said[-500:]!r}")
            if left := left_after(mark, PATIENCE):
                faults[name].append(f"{left} processes left")
        print(
            f"{stops} interrupts, {name}: {len(faults[name])} faults, {slowest:.1f} s at most",
            flush=True,
        )
        for fault in faults[name]:
            print(f"  {fault}", flush=True)
    return faults


def filled(folder: Path) -> None:
    """Writes what the audits and the sweep read."""
    (folder / "mine.py").write_text(CODE)
    (folder / "program.py").write_text(PROGRAM)
    (folder / "sweep.toml").write_text(SPEC)
    (folder / "pairs.json").write_text("[[0, 1]]")
    rng = np.random.default_rng(0)
    for name, size in (("small", 5000), ("large", 12_000_000)):
        for shift, side in enumerate("xy"):
            numbers = rng.laplace(shift, size=size)
            (folder / f"{name}-{side}.csv").write_text("\n".join(map(repr, numbers.tolist())))


def main() -> None:
    """Command line; exits with 1 where anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--stops", type=int, default=20, help="of each source, over its methods")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="dpjax-interrupts-"))
    os.environ.setdefault("DPJAX_CACHE_DIR", str(folder / "cache"))
    moments = random.Random(options.seed)
    try:
        filled(folder)
        faults = []
        if options.kills:
            half = options.kills // 2
            for name, kill in (("sweeps", killed_sweeps), ("audits", killed_audits)):
                found = kill(folder, half, moments)
                print(f"{half} kills of {name}: {len(found)} faults", flush=True)
                for fault in found:
                    print(f"  {fault}", flush=True)
                faults += found
        for found in stopped_audits(folder, options.stops, moments).values():
            faults += found
        sys.exit(1 if faults else 0)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
