"""Does a sweep give the same rows, bit for bit, whatever happens to it?

Runs one sweep undisturbed and then again: killed at random moments and resumed, on two Dask workers
of which one is killed, as three shards, and on four simulated devices. `scripts/robustness` runs it
on the quick Figure 4; about ten minutes on 2 cores.
"""

import argparse
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from dpjax.sweeps import Store, rows_equal

FIGURE_4 = ["fig4", "--quick"]


def command(spec: list[str], out: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "dpjax.cli", "sweep", *spec, "--out", str(out), *options]


def run(spec: list[str], out: Path, *options: str) -> None:
    done = subprocess.run(command(spec, out, *options), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{done.args} ended with {done.returncode}: {done.stderr[-2000:]}")


def start(spec: list[str], out: Path, *options: str) -> subprocess.Popen:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command(spec, out, *options), **quiet)


def num_blocks(out: Path) -> int:
    return len(list((out / "blocks").glob("*.parquet"))) if out.is_dir() else 0


def killed(spec: list[str], out: Path, kills: int, seed: int = 0) -> int:
    """SIGKILL at random moments, then a resume; returns how many kills met a running sweep.

    The moments are counted from the first block that a start stores, so that the time goes into
    blocks and not into imports.
    """
    moments = random.Random(seed)
    met = 0
    for _ in range(kills):
        before = num_blocks(out)
        process = start(spec, out)
        while process.poll() is None and num_blocks(out) == before:
            time.sleep(0.01)
        time.sleep(moments.uniform(0, 0.5))
        met += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    run(spec, out)
    return met


def on_dask(spec: list[str], out: Path) -> bool:
    """Two local workers, one killed after the first block; returns whether it still ran."""
    process = start(spec, out, "--dask", "local:2")
    while process.poll() is None and num_blocks(out) == 0:
        time.sleep(0.02)
    workers = [
        child
        for child in psutil.Process(process.pid).children(recursive=True)
        if "spawn_main" in " ".join(child.cmdline())
    ]
    met = process.poll() is None and bool(workers)
    if workers:
        workers[0].kill()
    if process.wait() != 0:
        raise RuntimeError(f"the sweep on Dask ended with {process.returncode}")
    return met


def sharded(spec: list[str], out: Path, count: int = 3) -> None:
    for share in range(1, count + 1):
        run(spec, out, "--shard", f"{share}/{count}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument(
        "--spec", type=shlex.split, default=FIGURE_4, help="arguments of dpjax sweep, in one text"
    )
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="dpjax-robustness-"))
    os.environ.setdefault("DPJAX_CACHE_DIR", str(folder / "cache"))
    try:
        calm = folder / "calm"
        run(options.spec, calm)
        truth = Store.open(calm)
        print(f"undisturbed: {truth.table().num_rows} rows", flush=True)
        ways = {
            "killed": lambda out: killed(options.spec, out, options.kills),
            "dask": lambda out: on_dask(options.spec, out),
            "shards": lambda out: sharded(options.spec, out),
            "devices": lambda out: run(options.spec, out, "--devices", "4"),
        }
        equal = True
        for name, way in ways.items():
            met = way(folder / name)
            same = rows_equal(truth, Store.open(folder / name))
            equal &= same
            note = "" if met is None else f" ({int(met)} kills met a running process)"
            print(f"{name}{note}: rows {'equal' if same else 'DIFFER'}", flush=True)
        sys.exit(0 if equal else 1)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
