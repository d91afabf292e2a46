"""Audits, sweeps, Figure 4 and trainings on an accelerator.

Single audits are timed twice, with and without compilation; a sweep of events runs beside one of
the local approach; then come trainings, and 1000 runs of each curve of Figure 4. Every row is
printed and written when it is measured, and no new row is begun after `--seconds`.

The limit is what the random numbers alone cost in integer arithmetic. k noises of one output are
(k + 1) / 2 calls of Threefry-2x32 with 20 rounds, of each of which both words are used:

    20 rounds of an add, a rotation (one funnel shift) and an exclusive or     60
    5 injections of the key, 2 adds each, and 1 add of the round's number      15
    the key's third word (2), the first two adds (2)                            4

79 integer operations, where the key's words and the counter's place are already known. An NVIDIA
multiprocessor of compute capability 9.0 does 64 32-bit integer adds, or logical operations, a clock
(CUDA C++ Programming Guide, table of arithmetic throughputs); its throughput of funnel shifts is
64, too. An H200 has 132 multiprocessors and boosts to 1.98 GHz: 132 x 64 x 1.98e9 = 16.7e12
operations a second, hence at most 2.1e11 calls. Fused three-input operations may lower the
count, so the share is a guide, not a bound that cannot be passed.

Trainings are those of `benchmarks/training.py`: 200 records of 20 features, one launch for all.

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
"""Of one Threefry-2x32-20 call."""

CALLS = {"a": 1, "b": 4, "c": 2, "d": 2, "e": 6, "f": 6, "g": 1, "h": 6}
"""Calls of Threefry for one output."""


class Chip(NamedTuple):
    """What bounds the integer throughput of a chip.

    Attributes:
        units: Multiprocessors.
        lanes: 32-bit integer operations a clock in each.
        clock: Boost clock in Hz.
    """

    units: int
    lanes: int
    clock: float

    @property
    def operations(self) -> float:
        """Integer operations a second."""
        return self.units * self.lanes * self.clock


CHIPS = {
    "H200": Chip(132, 64, 1.98e9),
    "H100": Chip(132, 64, 1.98e9),
    "A100": Chip(108, 64, 1.41e9),
}
"""Part of a device's name -> its throughput."""


def outputs_of(entry: Entry) -> int:
    """Outputs that one run of an experiment draws."""
    pairs = len(entry.pairs.database)
    return 2 * (pairs * entry.method.num_samples + entry.method.num_confirm)


def limit_of(letter: str, chip: Chip) -> float:
    """Outputs a second at which the integer units of a chip are full of Threefry alone."""
    return chip.operations / (INTEGER_OPERATIONS * CALLS[letter])


def chip_of(device_kind: str) -> Chip | None:
    """The chip of a device, or None where its throughput is not written down here."""
    return next((chip for name, chip in CHIPS.items() if name in device_kind), None)


def curve(letter: str, epsilon: float, runs: int, batch: int, rounds: int) -> dict[str, Any]:
    """Times one curve.

    Args:
        letter: Of the experiment.
        epsilon: eps0.
        runs: How many runs in all.
        batch: How many in one launch.
        rounds: Rounds of the overhead's measurement.

    Returns:
        What is known about it, as plain values.
    """
    entry = experiment(letter, epsilon)
    batch = min(batch, runs)
    start = time.perf_counter()
    compute(entry, range(batch), 0)
    first = time.perf_counter() - start
    start = time.perf_counter()
    bounds = [compute(entry, range(i, i + batch), 0) for i in range(0, runs, batch)]
    # The last launch may do more runs than were asked for.
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
    """Return single audits, by name.

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
    """Time runs of events beside runs of the local approach, with equal numbers of draws.

    Args:
        letter: Experiment whose mechanism and numbers of draws are used.
        runs: Number of runs of each.
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
    """Times one loop of `benchmarks/training.py`.

    Args:
        name: Of the loop.
        trainings: How many in one launch.
        rounds: Launches, of which the median is taken.

    Returns:
        What is known about it, as plain values.
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
    """Markdown of the trainings."""
    lines = [
        "| loop | steps | trainings in a launch | trainings a second | MB | compilation, s |",
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
    """Markdown of the curves."""
    lines = [
        "| curve | eps0 | runs | seconds | outputs a second | share of the limit | "
        "runs over draws | first call, s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        share = row["share_of_limit"]
        lines.append(
            f"| {row['curve']} {row['mechanism']} | {row['epsilon']:g} | {row['runs']} "
            f"| {row['seconds']:.3g} | {row['outputs_per_second']:.3g} "
            f"| {'not known for this device' if share is None else f'{share:.2f}'} "
            f"| {row['runs_over_draws']:.2f} | {row['first_call']:.1f} |"
        )
    return "\n".join(lines)


def audit_table(rows: list[dict[str, Any]]) -> str:
    """Markdown of the single audits."""
    lines = ["| audit | first call, s | again, s | lower bound |", "|---|---|---|---|"]
    for row in rows:
        lines.append(
            f"| {row['audit']} | {row['first']:.2f} | {row['again']:.3f} "
            f"| {row['lower_bound']:.4f} |"
        )
    return "\n".join(lines)


def sweep_table(rows: list[dict[str, Any]]) -> str:
    """Markdown of the sweeps."""
    lines = [
        "| sweep | runs | a run of events, ms | a run of local, ms | events over local |",
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
"""Function that prints the rows of each section, in the order in which they are measured."""


def measured(options: argparse.Namespace) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name of a section and a row of it, as soon as the row is measured."""
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
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sections", nargs="+", choices=TABLES, default=TABLES, help="sections")
    parser.add_argument("--runs", type=int, default=1000, help="runs of a curve of a to d")
    parser.add_argument("--runs-large", type=int, default=1000, help="runs of a curve of e to h")
    parser.add_argument("--runs-sweep", type=int, default=250, help="runs of a sweep of events")
    parser.add_argument("--batch", type=int, default=250, help="runs in one launch")
    parser.add_argument("--rounds", type=int, default=5, help="of the overhead's measurement")
    parser.add_argument("--only", default="".join(EXPERIMENTS), help="letters of the curves")
    parser.add_argument("--levels", type=int, default=len(LEVELS), help="how many eps0 a curve")
    parser.add_argument("--trainings", type=int, default=2**16, help="in one launch")
    parser.add_argument("--draws", type=int, default=10**8, help="of the largest audit")
    parser.add_argument("--seconds", type=float, default=480.0, help="after which no row is begun")
    parser.add_argument("--out", type=Path, default=Path("results/gpu"), help="a folder")
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
        # Write every row, so that a job that is ended keeps what it has measured.
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
