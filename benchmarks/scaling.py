"""Measure how the time and the peak memory of a sweep grow with its runs and samples.

Each sweep runs in a separate process and writes to a new store. Its time is measured from the end
of the first block, because the first block includes imports and compilation. The script takes about
five minutes on 2 idle cores.

    scripts/benchmark scaling [--repeats 3]
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.presets.output import machine, markdown

PROGRAM = """
import json, resource, sys, time
from dpjax.sweeps import Store, SweepSpec, run_sweep
spec = SweepSpec.from_dict(json.loads(sys.argv[1]))
times = []
run_sweep(Store.create(sys.argv[2], spec), progress=lambda state: times.append(
    (state.num_computed, time.perf_counter())))
(first, start), (last, end) = times[1], times[-1]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"runs": last - first, "seconds": end - start, "megabytes": peak}))
"""


def measure(mechanism: str, runs: int, num_samples: int, block_runs: int) -> dict:
    """Return the time from the first stored block to the last, and the peak memory."""
    options = {"num_samples": num_samples, "num_confirm": 5 * num_samples // 2, "floor": 1e-3}
    entry = {"mechanism": mechanism, "method": "local", "options": options, "runs": runs}
    spec = {"name": "scaling", "block_runs": block_runs, "entries": [entry]}
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, json.dumps(spec), str(Path(folder) / "store")],
            capture_output=True,
            text=True,
            check=True,
        )
    return json.loads(done.stdout)


def columns_of(found: dict) -> list[str]:
    """Return the cells for seconds, milliseconds per run, and megabytes."""
    seconds, runs = found["seconds"], found["runs"]
    return [f"{seconds:.2f}", f"{1e3 * seconds / runs:.2f}", f"{found['megabytes']:.0f}"]


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--repeats", type=int, default=3, help="measurements per time; the median is kept"
    )
    options = parser.parse_args()
    rows = []
    for mechanism in ("laplace", "report-noisy-max", "exponential"):
        per_run = {}
        for runs in (100, 1000):
            # Add one block that is not timed, because it includes the compilation.
            found = [measure(mechanism, runs + 10, 20_000, 10) for _ in range(options.repeats)]
            middle = sorted(found, key=lambda one: one["seconds"])[len(found) // 2]
            per_run[runs] = middle["seconds"] / middle["runs"]
            rows.append([mechanism, runs, "2e4", *columns_of(middle)])
        rows[-1].append(f"{per_run[1000] / per_run[100]:.3f}")
    for num_samples in (10**4, 10**6, 10**8):
        found = measure("laplace", 2, num_samples, 1)
        rows.append(["laplace", 1, f"{num_samples:.0e}", *columns_of(found)])
    rows = [[*row, *[""] * (7 - len(row))] for row in rows]
    columns = ["mechanism", "runs", "n", "seconds", "ms per run", "peak MB", "ms at 1000 / at 100"]
    print(f"{machine()}; N = 2.5 n, standard pairs.\n\n{markdown(columns, rows)}")
    print(
        f"\nlargest process: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB"
    )


if __name__ == "__main__":
    main()
