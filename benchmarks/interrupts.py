"""Kill or interrupt sweeps and audits at random times, and check what remains.

Sweeps and audits of every source are killed by SIGKILL. After five seconds, none of their processes
may be left, and all existing files must be complete. When a killed sweep is resumed, its rows must
equal those of a sweep that was not killed. Long audits of every source get one SIGINT; they must
exit with status 130 and print a message. The script takes about half an hour on 2 cores.

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
"""CPU time in seconds after which a process has certainly entered dpjax's code."""

MARK = "DPJAX_MARK"
"""Environment variable that all processes of a case inherit."""

PATIENCE, HUNG = 5.0, 60.0
"""Time limits in seconds.

All processes must end within PATIENCE after a kill. An audit must end within HUNG after an
interrupt, because it first finishes a running compilation.
"""

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
    """Return the command-line options of audits, by source and method.

    Args:
        folder: Folder with the inputs of the audits.
        long: Whether the audits run for a long time, instead of a few seconds.
    """
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
    """Start a process whose descendants can be found by their mark."""
    # Restore Python's handler of SIGINT, because this process may have been started with SIGINT
    # ignored, and its children would inherit that.
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
    """Return all processes that have the mark."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.environ().get(MARK) == mark and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def left_after(mark: str, seconds: float) -> int:
    """Return how many processes are left after the given time, and kill them."""
    end = time.monotonic() + seconds
    while (left := marked(mark)) and time.monotonic() < end:
        time.sleep(0.1)
    for process in left:
        process.kill()
    return len(left)


def half_written(folder: Path) -> list[str]:
    """Return the names of incomplete reports and figures."""
    ends = {".html": b"</html>", ".png": b"IEND\xaeB`\x82"}
    return [
        path.name
        for path in folder.iterdir()
        if path.suffix in ends
        and not path.name.startswith(".")
        and not path.read_bytes().rstrip().endswith(ends[path.suffix])
    ]


def killed_audits(folder: Path, kills: int, moments: random.Random) -> list[str]:
    """Kill audits of every source; return descriptions of all faults."""
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
    """Kill and resume sweeps; return descriptions of all faults.

    When a sweep is complete, its rows are checked, and a new sweep is started.
    """
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
    """Return the CPU seconds of a process and its children, because a parent may only wait."""
    with suppress(psutil.NoSuchProcess):
        first = psutil.Process(pid)
        return sum(each.cpu_times().user for each in [first, *first.children(recursive=True)])
    return 0.0


def stopped_audits(folder: Path, stops: int, moments: random.Random) -> dict[str, list[str]]:
    """Send one SIGINT to each long audit; return descriptions of the faults, by source."""
    faults, ways = {}, cases(folder, long=True)
    for name in dict.fromkeys(way.partition(",")[0] for way in ways):
        faults[name], slowest = [], 0.0
        turns = [options for way, options in ways.items() if way.partition(",")[0] == name]
        for turn in range(stops):
            mark, options = uuid.uuid4().hex, turns[turn % len(turns)]
            process = start(folder, [sys.executable, "-m", "dpjax", "audit", *options], mark)
            # Wait for CPU time, because wall time does not tell whether Python has installed its
            # signal handlers if the machine is busy.
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
            f"{stops} interrupts, {name}: {len(faults[name])} faults, slowest {slowest:.1f} s",
            flush=True,
        )
        for fault in faults[name]:
            print(f"  {fault}", flush=True)
    return faults


def filled(folder: Path) -> None:
    """Write the inputs of the audits and the sweep."""
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
    """Run the command line; exit with status 1 if there is a fault."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--stops", type=int, default=20, help="interrupts per source")
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
