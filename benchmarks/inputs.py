"""Compare CPU times of audits of files, labels and vectors with the times to read their inputs.

Each row divides the CPU time of an audit (user and system, all threads) by the time of a floor:

* csv and Parquet: parse both files with pyarrow, and audit the same numbers as arrays;
* csv.gz: decompress both files, and audit the csv files;
* labels: call `np.unique` with counts for both sides;
* list of labels: audit the same labels as an array;
* vectors: fit a linear score by least squares to a fifth of the outputs, evaluate the score for all
  outputs, and count the outputs in 256 quantile bins.

All times are measured in one process. Each time is the smallest of several rounds, which reduces
the effect of other load. Below the table, the script prints how many programs a second audit of
vectors compiles, and how the cost grows with the dimension.

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
    """Return the smallest CPU time of several calls, in seconds."""
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
    """Return the rows of files: (input, CPU seconds of the audit, CPU seconds of the floor).

    Args:
        folder: Folder for the files.
        size: Number of outputs per side.
        rounds: Number of rounds of each measurement.
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
    """Return the rows of labels, in the format of `files`."""
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
    """Count outputs in quantile bins of a linear score, using only NumPy."""
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
    """Return the row of vectors, and sentences about compilation and the growth of the cost."""
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
        f"The first audit of vectors compiles {first} programs. A second audit, with 1,000 fewer "
        f"vectors per side, compiles {second}.",
        f"With {size // 20:,} vectors per side, dimension 300 takes {times[300]:.2f} CPU seconds, "
        f"and dimension 1,000 takes {times[1000]:.2f} CPU seconds: exponent {exponent:.2f}.",
    ]


def table(rows: list[tuple[str, float, float]]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| input | audit, CPU s | floor, CPU s | ratio |", "|---|---|---|---|"]
    lines += [f"| {name} | {a:.3f} | {b:.3f} | {a / b:.2f} |" for name, a, b in rows]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line."""
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
