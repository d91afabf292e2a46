"""Measure audits, sweeps, trainings and the curves of Figure 4 on an accelerator.

There are four sections: single audits, each timed with and without compilation; sweeps of events
compared with sweeps of the local approach; trainings; and 1000 runs of each curve of Figure 4. Each
row is printed and written to the file as soon as it is measured. After `--seconds`, no new row is
started.

The number of outputs per second is compared with a limit, which counts only the integer operations
for random numbers. An output with k noise variables needs (k + 1) / 2 calls of Threefry-2x32 with
20 rounds, because both words of each call are used. A call consists of:

    20 rounds, each with an addition, a rotation (one funnel shift) and an XOR   60
    5 injections of the key, each with 2 additions, and 1 for the round number   15
    third word of the key (2), first two additions (2)                            4

These are 79 integer operations if the words of the key and the counter are known. An NVIDIA
multiprocessor of compute capability 9.0 executes 64 32-bit integer additions, logical operations or
funnel shifts per clock cycle (CUDA C++ Programming Guide, table of arithmetic throughput). An H200
has 132 multiprocessors and a boost clock of 1.98 GHz. It executes 132 x 64 x 1.98e9 = 16.7e12
operations, and thus at most 2.1e11 calls, per second. Fused three-input operations may reduce the
number of operations, so the limit is only approximate.

The trainings are those of `benchmarks/training.py`, with 200 records of 20 features. All trainings
of a row run in one launch.

    scripts/benchmark gpu [--sections audits sweeps trainings curves] [--seconds 480] [--runs 1000]
        [--runs-large 1000] [--only abcdefgh] [--trainings 65536] [--draws 100000000] [--out FOLDER]
"""

import argparse
import datetime
import json
import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import dpjax
from benchmarks.presets.experiments import EXPERIMENTS, LEVELS, experiment
from benchmarks.speed.harness import Contender, by_name, machine, measure, ratio
from benchmarks.speed.overhead import draw_and_sum
from benchmarks.training import LOOPS, compiled
from dpjax.core.files import write_whole
from dpjax.mechanisms import Laplace, NumericalSVT
from dpjax.sweeps import Entry, compute

INTEGER_OPERATIONS = 79
"""Number of integer operations of one Threefry-2x32-20 call."""

CALLS = {"a": 1, "b": 4, "c": 2, "d": 2, "e": 6, "f": 6, "g": 1, "h": 6}
"""Number of Threefry calls per output, for each experiment."""


class Chip(NamedTuple):
    """Properties of a chip that determine its integer throughput.

    Attributes:
        units: Number of multiprocessors.
        lanes: Number of 32-bit integer operations per clock cycle and multiprocessor.
        clock: Boost clock in Hz.
    """

    units: int
    lanes: int
    clock: float

    @property
    def operations(self) -> float:
        """Integer operations per second."""
        return self.units * self.lanes * self.clock


CHIPS = {
    "H200": Chip(132, 64, 1.98e9),
    "H100": Chip(132, 64, 1.98e9),
    "A100": Chip(108, 64, 1.41e9),
}
"""Map from a substring of a device's name to its chip."""


def outputs_of(entry: Entry) -> int:
    """Return the number of outputs that one run of an experiment draws."""
    pairs = len(entry.pairs.database)
    return 2 * (pairs * entry.method.num_samples + entry.method.num_confirm)


def limit_of(letter: str, chip: Chip) -> float:
    """Return the outputs per second at which Threefry alone saturates a chip's integer units."""
    return chip.operations / (INTEGER_OPERATIONS * CALLS[letter])


def chip_of(device_kind: str) -> Chip | None:
    """Return the chip of a device, or None if the device is not in `CHIPS`."""
    return next((chip for name, chip in CHIPS.items() if name in device_kind), None)


def curve(letter: str, epsilon: float, runs: int, batch: int, rounds: int) -> dict[str, Any]:
    """Time one curve.

    Args:
        letter: Letter of the experiment.
        epsilon: Level eps0.
        runs: Total number of runs.
        batch: Number of runs per launch.
        rounds: Number of rounds in the measurement of the overhead.

    Returns:
        Row of the table, with values that can be written as JSON.
    """
    entry = experiment(letter, epsilon)
    batch = min(batch, runs)
    start = time.perf_counter()
    compute(entry, range(batch), 0)
    first = time.perf_counter() - start
    start = time.perf_counter()
    bounds = [compute(entry, range(i, i + batch), 0) for i in range(0, runs, batch)]
    # The last launch may contain more runs than requested.
    seconds = (time.perf_counter() - start) * runs / (batch * len(bounds))
    timed = by_name(
        measure(
            "gpu",
            letter,
            {
                "runs": Contender(partial(compute, entry, range(batch), 0), batch),
                "draws, summed": Contender(partial(draw_and_sum, entry, range(batch)), batch),
            },
            unit="run",
            rounds=rounds,
        )
    )
    rate = runs * outputs_of(entry) / seconds
    chip = chip_of(jax.devices()[0].device_kind)
    return {
        "curve": letter,
        "mechanism": entry.mechanism.name,
        "epsilon": epsilon,
        "runs": runs,
        "seconds": seconds,
        "first_call": first,
        "outputs_per_second": rate,
        "share_of_limit": None if chip is None else rate / limit_of(letter, chip),
        "runs_over_draws": ratio(timed["runs"], timed["draws, summed"]),
        "median_lower_bound": float(np.median(np.concatenate([b["lower_bound"] for b in bounds]))),
    }


def _vector(key: jax.Array, count: jax.Array) -> jax.Array:
    return count / 10 + jax.random.laplace(key, (10,))


def audits(draws: int) -> dict[str, Callable[[], dpjax.AuditResult]]:
    """Return functions that run single audits, by name.

    Args:
        draws: Number of draws per side of the largest audit.
    """
    pair = [(0.0, 1.0)]
    large = dpjax.Events(num_samples=draws // 10, num_confirm=draws)
    streamed = dpjax.Execution(layout="streamed")
    return {
        "events, ten pairs": lambda: dpjax.audit(Laplace(1.0)),
        "events, ten pairs, streamed": lambda: dpjax.audit(Laplace(1.0), execution=streamed),
        f"events, one pair, {draws:,} draws": lambda: dpjax.audit(Laplace(1.0), pair, method=large),
        "events of vectors": lambda: dpjax.audit(NumericalSVT(1.5, 1.0, 3)),
        "learned events, ten entries": lambda: dpjax.audit(_vector, pair),
        "local, ten pairs": lambda: dpjax.audit(Laplace(1.0), method=dpjax.Local()),
    }


def single(name: str, audit: Callable[[], dpjax.AuditResult]) -> dict[str, Any]:
    """Time an audit twice: the first call also compiles."""
    seconds, result = [], None
    for _ in range(2):
        start = time.perf_counter()
        result = audit()
        seconds.append(time.perf_counter() - start)
    assert result is not None
    return {
        "audit": name,
        "first": seconds[0],
        "again": seconds[1],
        "lower_bound": result.lower_bound,
    }


def sweep(letter: str, runs: int) -> dict[str, Any]:
    """Time runs of events and runs of the local approach, with equal numbers of draws.

    Args:
        letter: Letter of the experiment whose mechanism and numbers of draws are used.
        runs: Number of runs of each method.
    """
    local = experiment(letter, LEVELS[-1])
    sizes = {name: getattr(local.method, name) for name in ("num_samples", "num_confirm")}
    entries = {"local": local, "events": Entry(local.mechanism, dpjax.Events(**sizes))}
    row: dict[str, Any] = {"sweep": letter, "mechanism": local.mechanism.name, "runs": runs}
    for name, entry in entries.items():
        compute(entry, range(runs), 0)
        start = time.perf_counter()
        compute(entry, range(runs), 0)
        row[name] = (time.perf_counter() - start) / runs
    return row


def training(name: str, trainings: int, rounds: int) -> dict[str, Any]:
    """Time one loop of `benchmarks/training.py`.

    Args:
        name: Name of the loop.
        trainings: Number of trainings per launch.
        rounds: Number of launches. The reported rate uses the median of their times.

    Returns:
        Row of the table, with values that can be written as JSON.
    """
    start = time.perf_counter()
    draw = compiled(name, trainings)
    first = time.perf_counter() - start
    seconds = []
    for key in jax.random.split(jax.random.key(1), rounds + 1):
        start = time.perf_counter()
        draw(key).block_until_ready()
        seconds.append(time.perf_counter() - start)
    return {
        "loop": name,
        "steps": LOOPS[name][2],
        "trainings": trainings,
        # The first launch also moves the program and the records to the device.
        "trainings_per_second": trainings / float(np.median(seconds[1:])),
        "compilation": first,
        "bytes": draw.memory_analysis().temp_size_in_bytes,
    }


def training_table(rows: list[dict[str, Any]]) -> str:
    """Return the rows of the trainings as a Markdown table."""
    lines = [
        "| loop | steps | trainings per launch | trainings per second | MB | compilation, s |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row['loop']} | {row['steps']} | {row['trainings']:,} "
            f"| {row['trainings_per_second']:,.0f} | {row['bytes'] / 1e6:,.0f} "
            f"| {row['compilation']:.1f} |"
        )
    return "\n".join(lines)


def table(rows: list[dict[str, Any]]) -> str:
    """Return the rows of the curves as a Markdown table."""
    lines = [
        "| curve | eps0 | runs | seconds | outputs per second | fraction of the limit | "
        "time of runs / time of draws | first call, s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        share = row["share_of_limit"]
        lines.append(
            f"| {row['curve']} {row['mechanism']} | {row['epsilon']:g} | {row['runs']} "
            f"| {row['seconds']:.3g} | {row['outputs_per_second']:.3g} "
            f"| {'unknown for this device' if share is None else f'{share:.2f}'} "
            f"| {row['runs_over_draws']:.2f} | {row['first_call']:.1f} |"
        )
    return "\n".join(lines)


def audit_table(rows: list[dict[str, Any]]) -> str:
    """Return the rows of the single audits as a Markdown table."""
    lines = ["| audit | first call, s | second call, s | lower bound |", "|---|---|---|---|"]
    for row in rows:
        lines.append(
            f"| {row['audit']} | {row['first']:.2f} | {row['again']:.3f} "
            f"| {row['lower_bound']:.4f} |"
        )
    return "\n".join(lines)


def sweep_table(rows: list[dict[str, Any]]) -> str:
    """Return the rows of the sweeps as a Markdown table."""
    lines = [
        "| sweep | runs | events, ms per run | local, ms per run | events / local |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {row['sweep']} {row['mechanism']} | {row['runs']} | {1e3 * row['events']:.3g} "
            f"| {1e3 * row['local']:.3g} | {row['events'] / row['local']:.2f} |"
        )
    return "\n".join(lines)


TABLES = {
    "audits": audit_table,
    "sweeps": sweep_table,
    "trainings": training_table,
    "curves": table,
}
"""Map from a section to the function that formats its rows, in the order of measurement."""


def measured(options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (name of the section, row) as soon as each row is measured."""
    wanted = set(options.sections)
    for name, audit in audits(options.draws).items() if "audits" in wanted else ():
        yield "audits", single(name, audit)
    for letter in options.only if "sweeps" in wanted else ():
        yield "sweeps", sweep(letter, options.runs_sweep)
    for name in LOOPS if "trainings" in wanted else ():
        yield "trainings", training(name, options.trainings, options.rounds)
    for letter in options.only if "curves" in wanted else ():
        runs = options.runs if letter in "abcd" else options.runs_large
        for epsilon in LEVELS[: options.levels]:
            yield "curves", curve(letter, epsilon, runs, options.batch, options.rounds)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sections", nargs="+", choices=TABLES, default=TABLES, help="sections")
    parser.add_argument("--runs", type=int, default=1000, help="runs per curve of a to d")
    parser.add_argument("--runs-large", type=int, default=1000, help="runs per curve of e to h")
    parser.add_argument("--runs-sweep", type=int, default=250, help="runs per sweep")
    parser.add_argument("--batch", type=int, default=250, help="runs per launch")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of the measurements")
    parser.add_argument("--only", default="".join(EXPERIMENTS), help="letters of the curves")
    parser.add_argument("--levels", type=int, default=len(LEVELS), help="number of eps0 per curve")
    parser.add_argument("--trainings", type=int, default=2**16, help="trainings per launch")
    parser.add_argument("--draws", type=int, default=10**8, help="draws of the largest audit")
    parser.add_argument("--seconds", type=float, default=480.0, help="time limit for new rows")
    parser.add_argument("--out", type=Path, default=Path("results/gpu"), help="output folder")
    options = parser.parse_args(arguments)
    start = time.monotonic()
    rows: dict[str, list[dict[str, Any]]] = {section: [] for section in TABLES}
    result = {"date": str(datetime.date.today()), "machine": machine(), **rows}
    options.out.mkdir(parents=True, exist_ok=True)
    stem = options.out / f"{result['date']}-{jax.default_backend()}"
    said = f"# Audits, sweeps and trainings on {result['machine']['device']}, {result['date']}"
    ended = "All rows were measured."
    for section, row in measured(options):
        rows[section].append(row)
        print(TABLES[section]([row]).splitlines()[-1], flush=True)
        # Write every row immediately, so that a job that is killed keeps its measurements.
        _write(stem, said, result, rows)
        if time.monotonic() - start > options.seconds:
            ended = f"The time limit of {options.seconds:g} s was reached."
            break
    print(f"{ended}\nwrote {stem}.md{os.linesep}", end="")


def _write(
    stem: Path, heading: str, result: dict[str, Any], rows: dict[str, list[dict[str, Any]]]
) -> None:
    tables = [TABLES[section](found) for section, found in rows.items() if found]
    write_whole(
        {
            stem.with_suffix(".json"): json.dumps(result, indent=1) + "\n",
            stem.with_suffix(".md"): "\n\n".join([heading, *tables]) + "\n",
        }
    )


if __name__ == "__main__":
    main()
