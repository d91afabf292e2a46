"""Check that the rows of a sweep are identical, bit for bit, after kills and on other executors.

The script runs a sweep without interruption, and then in four other ways: killed at random times
and resumed, on two Dask workers where one worker is killed, in three shards, and on four simulated
devices. By default, the sweep is the quick version of Figure 4, which takes about ten minutes on
2 cores.

    scripts/benchmark robustness [--kills 20] [--spec FILE.toml]
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
from pathlib import Path

import psutil

from benchmarks.presets.catalogue import preset
from dpjax.sweeps import Store, rows_equal


def command(spec: Path, out: Path, *options: str) -> list[str]:
    """Return the command that runs the sweep of a TOML file and writes it to a store."""
    return [sys.executable, "-m", "dpjax", "sweep", str(spec), "--out", str(out), *options]


def run(spec: Path, out: Path, *options: str) -> None:
    """Run a sweep in a separate process until it is complete."""
    done = subprocess.run(command(spec, out, *options), capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{done.args} ended with {done.returncode}: {done.stderr[-2000:]}")


def start(spec: Path, out: Path, *options: str) -> subprocess.Popen:
    """Start a sweep in a separate process, without output."""
    silent = subprocess.DEVNULL
    return subprocess.Popen(command(spec, out, *options), stdout=silent, stderr=silent)


def num_blocks(out: Path) -> int:
    """Return the number of blocks in a store."""
    return len(list((out / "blocks").glob("*.parquet"))) if out.is_dir() else 0


def killed(spec: Path, out: Path, kills: int, seed: int = 0) -> int:
    """Kill a sweep at random times and resume it; return how many kills hit a running sweep.

    Each time is measured from the first new block in the store, so that the kill happens during the
    computation of blocks and not during imports.
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


def on_dask(spec: Path, out: Path) -> bool:
    """Run a sweep on two Dask workers, and kill one; return whether the sweep was still running."""
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


def sharded(spec: Path, out: Path, count: int = 3) -> None:
    """Run all shards of a sweep one after another, with the same store."""
    for share in range(1, count + 1):
        run(spec, out, "--shard", f"{share}/{count}")


def main() -> None:
    """Run the command line; exit with status 1 if rows differ."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--spec", type=Path, help="TOML file; by default, the quick Figure 4")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="dpjax-robustness-"))
    spec = options.spec
    if spec is None:
        spec = folder / "figure4.toml"
        spec.write_text(preset("fig4", quick=True).to_toml())
    os.environ.setdefault("DPJAX_CACHE_DIR", str(folder / "cache"))
    try:
        calm = folder / "calm"
        run(spec, calm)
        truth = Store.open(calm)
        print(f"not interrupted: {truth.table().num_rows} rows", flush=True)
        ways = {
            "killed": lambda out: killed(spec, out, options.kills),
            "dask": lambda out: on_dask(spec, out),
            "shards": lambda out: sharded(spec, out),
            "devices": lambda out: run(spec, out, "--devices", "4"),
        }
        equal = True
        for name, way in ways.items():
            met = way(folder / name)
            same = rows_equal(truth, Store.open(folder / name))
            equal &= same
            note = "" if met is None else f" ({int(met)} kills hit a running process)"
            print(f"{name}{note}: rows {'equal' if same else 'DIFFER'}", flush=True)
        sys.exit(0 if equal else 1)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
