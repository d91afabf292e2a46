"""Audits of files, labels and vectors beside what their input costs by itself, in CPU seconds.

Each row divides the CPU seconds of an audit (user and system, of all threads) by those of a floor:

* csv: pyarrow's parse of both files, plus the audit of the same numbers as arrays (the counting);
* Parquet: likewise; csv.gz: decompression of both files, plus the audit of the csv files;
* labels: `np.unique` with counts of both sides; a list of labels: the audit of the array;
* vectors: a linear score by least squares on a fifth of the outputs, its values for all outputs,
  and counts in 256 quantile bins.

All numbers are from one process, the least of several rounds, so load changes them little. Then
come the programs that a second audit compiles, and the exponent of the cost in the dimension.

    scripts/benchmark inputs [--size 1000000] [--rounds 3]
"""

import argparse
import gzip
import math
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet

import dpjax

SIDES = ("x", "y")


def cpu_seconds(call: Callable[[], Any], rounds: int) -> float:
    """Return the least CPU time of several calls, in seconds."""
    found = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        found.append(time.process_time() - start)
    return min(found)


def audited(x: Any, y: Any) -> dpjax.AuditResult:
    """Audit recorded outputs against a claim."""
    return dpjax.audit(dpjax.Recorded(x, y), claim=0.5)


def files(folder: Path, size: int, rounds: int) -> list[tuple[str, float, float]]:
    """Return rows (input, CPU seconds of the audit, of the floor) of the readers.

    Args:
        folder: Folder for the files.
        size: Outputs per side.
        rounds: Rounds of every measurement.
    """
    rng = np.random.default_rng(0)
    numbers = [rng.laplace(shift, 1, size) for shift in (0, 1)]
    for side, values in zip(SIDES, numbers, strict=True):
        table = pa.table({"value": values})
        pa_csv.write_csv(table, folder / f"{side}.csv")
        pa_parquet.write_table(table, folder / f"{side}.parquet")
        content = (folder / f"{side}.csv").read_bytes()
        (folder / f"{side}.csv.gz").write_bytes(gzip.compress(content, 1))

    def paths(ending: str) -> list[Path]:
        return [folder / f"{side}.{ending}" for side in SIDES]

    def read(ending: str) -> float:
        whole = [dpjax.Recording(path) for path in paths(ending)]
        return cpu_seconds(lambda: audited(*whole), rounds)

    def parsed(parse: Callable[[Path], pa.Table], ending: str) -> float:
        return cpu_seconds(lambda: [parse(p).column(0).to_numpy() for p in paths(ending)], rounds)

    audited(*(each[:1000] for each in numbers))  # Import and compile before the first measurement.
    counting = cpu_seconds(lambda: audited(*numbers), rounds)
    unpacked = cpu_seconds(lambda: [gzip.decompress(p.read_bytes()) for p in paths("csv.gz")], 1)
    csv = read("csv")
    return [
        ("csv", csv, parsed(pa_csv.read_csv, "csv") + counting),
        ("csv.gz", read("csv.gz"), csv + unpacked),
        ("Parquet", read("parquet"), parsed(pa_parquet.read_table, "parquet") + counting),
    ]


def labels(size: int, rounds: int) -> list[tuple[str, float, float]]:
    """Return the rows of labels, as in `files`."""
    rng = np.random.default_rng(1)
    rows = []
    for outcomes in (100, max(size // 10, 200)):
        names = [rng.integers(0, outcomes, size).astype("U8") for _ in SIDES]
        least = cpu_seconds(lambda n=names: [np.unique(v, return_counts=True) for v in n], rounds)
        audit = cpu_seconds(lambda n=names: audited(*n), rounds)
        rows.append((f"{outcomes:,} equally likely labels", audit, least))
        lists = [each.tolist() for each in names]
        listed = cpu_seconds(lambda n=lists: audited(*n), rounds)
        rows.append((f"a list of {outcomes:,} labels", listed, audit))
    return rows


def _vectors(size: int, dimension: int) -> list[np.ndarray]:
    rng = np.random.default_rng(2)
    shift = 1 / math.sqrt(dimension)
    return [rng.normal(size=(size, dimension)) + side * shift for side in (0, 1)]


def linear_floor(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Count outputs in quantile bins of a linear score, by NumPy alone."""
    few = len(x) // 5
    table = np.concatenate([x[:few], y[:few]])
    table = np.concatenate([table, np.ones((len(table), 1))], axis=1)
    weights = np.linalg.lstsq(table, np.repeat([0.0, 1.0], few))[0]
    scores = [side @ weights[:-1] for side in (x, y)]
    edges = np.quantile(np.concatenate([s[:few] for s in scores]), np.linspace(0, 1, 257)[1:-1])
    return np.stack([np.bincount(np.searchsorted(edges, s[few:]), minlength=256) for s in scores])


def programs(call: Callable[[], Any]) -> int:
    """Return the number of programs that a call compiles."""
    compiled: list[str] = []

    def heard(event: str, duration_secs: float, **_: str | int) -> None:
        if "backend_compile" in event:
            compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(heard)
    call()
    return len(compiled)


def vectors(size: int, rounds: int) -> tuple[list[tuple[str, float, float]], list[str]]:
    """Return the row of vectors, as in `files`, and sentences on compilation and growth."""
    x, y = _vectors(size, 10)
    first = programs(lambda: audited(x, y))
    second = programs(lambda: audited(*_vectors(size - 1000, 10)))
    row = (
        f"vectors {size:,} x 10",
        cpu_seconds(lambda: audited(x, y), rounds),
        cpu_seconds(lambda: linear_floor(x, y), rounds),
    )
    times = {}
    for dimension in (300, 1000):
        sides = _vectors(size // 20, dimension)
        times[dimension] = cpu_seconds(lambda s=sides: audited(*s), rounds)
    exponent = math.log(times[1000] / times[300]) / math.log(1000 / 300)
    return [row], [
        f"The first audit of vectors compiles {first} programs; a second one of other vectors, "
        f"with 1,000 fewer per side, compiles {second}.",
        f"{size // 20:,} vectors per side of dimension 300 cost {times[300]:.2f} CPU s, and "
        f"{times[1000]:.2f} of dimension 1,000: exponent {exponent:.2f}.",
    ]


def table(rows: list[tuple[str, float, float]]) -> str:
    """Return the rows as Markdown."""
    lines = ["| input | audit, CPU s | floor, CPU s | ratio |", "|---|---|---|---|"]
    lines += [f"| {name} | {a:.3f} | {b:.3f} | {a / b:.2f} |" for name, a, b in rows]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--size", type=int, default=1_000_000, help="outputs per side")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        rows = files(Path(folder), options.size, options.rounds)
    rows += labels(options.size, options.rounds)
    more, sentences = vectors(options.size // 10, options.rounds)
    print("\n\n".join([table(rows + more), *sentences]))


if __name__ == "__main__":
    main()
