"""The full check of MPL's bounds: coverage against the exact level, medians, refutations, seconds.

Prints one Markdown row a curve of Figure 4 of the local approach, and writes the table to a file.
"""

import argparse
import datetime
import platform
import time
from pathlib import Path

import jax
import numpy as np

from dpjax import reference
from dpjax.sweeps import EXPERIMENTS, LEVELS, experiment, run_bounds

COLUMNS = "| curve | eps0 | exact best pair | runs | P(LB <= exact) | allowed from | median LB | "
COLUMNS += "P(LB > eps0) | first quartile LB | ms a run |"


def row(letter: str, epsilon: float, runs: int, objective: str, seed: int) -> str:
    """Runs one curve and returns its row of the table."""
    cell = experiment(letter, epsilon, objective=objective)
    exact = reference.best_level(cell.mechanism, cell.pairs, cell.mechanism.standard_region)
    # In launches of one shape, so that compilation stays out of the timed ones.
    size = min(runs, 50)
    run_bounds(cell, range(size), key=seed)
    start = time.perf_counter()
    parts = [run_bounds(cell, range(i, i + size), key=seed) for i in range(0, runs, size)]
    seconds = time.perf_counter() - start
    lower_bound = np.concatenate([part.lower_bound for part in parts])[:runs]
    covered = np.mean(lower_bound <= exact)
    allowed = 0.95 - 3 * np.sqrt(0.95 * 0.05 / runs)
    return (
        f"| {letter} | {epsilon:g} | {exact:.4f} | {runs} | {covered:.4f} | {allowed:.4f} | "
        f"{np.median(lower_bound):.4f} | {np.mean(lower_bound > epsilon):.4f} | "
        f"{np.quantile(lower_bound, 0.25):.4f} | {1e3 * seconds / runs:.1f} |"
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="runs of a-d")
    parser.add_argument("--runs-large", type=int, default=300, help="runs of e-h")
    parser.add_argument("--only", default="abcdefgh", help="letters of the curves")
    parser.add_argument("--objective", default="loss", choices=("loss", "lower-bound"))
    parser.add_argument("--seed", type=int, default=2022)
    parser.add_argument("--out", type=Path, default=None, help="a Markdown file")
    arguments = parser.parse_args()
    device = jax.devices()[0]
    lines = [
        f"MPL with objective {arguments.objective!r}, seed {arguments.seed}, "
        f"{datetime.date.today()}, {device.platform} ({platform.machine()}, jax {jax.__version__})",
        "",
        COLUMNS,
        "|" + "---|" * COLUMNS.count(" | ") + "---|",
    ]
    print("\n".join(lines), flush=True)
    for letter in sorted(set(arguments.only) & set(EXPERIMENTS)):
        for epsilon in LEVELS:
            runs = arguments.runs if letter in "abcd" else arguments.runs_large
            lines.append(row(letter, epsilon, runs, arguments.objective, arguments.seed))
            print(lines[-1], flush=True)
    if arguments.out is not None:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        arguments.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
