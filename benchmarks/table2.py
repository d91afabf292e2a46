"""Seconds for one MPL run of each experiment, beside the paper's Table II.

References:
    Askin, Kutta, Dette (2022), Table II: R on four cores at 3.4 GHz.
"""

import platform
import time
from pathlib import Path

import jax
import numpy as np

from dpjax.sweeps import EXPERIMENTS, experiment, run_bounds

PAPER = {"a": 10.9, "b": 4.7, "c": 10.5, "d": 11.3, "e": 23.8, "f": 26.6, "g": 25.9, "h": 57.3}


def seconds_of(letter: str, repeats: int) -> tuple[float, float]:
    """Seconds of the first call (compilation included) and the median of further single runs."""
    cell = experiment(letter, 1.5)
    times = []
    for run in range(repeats + 1):
        start = time.perf_counter()
        run_bounds(cell, [run])
        times.append(time.perf_counter() - start)
    return times[0], float(np.median(times[1:]))


def main(out_dir: str | Path, *, quick: bool = False) -> None:
    """Prints the table and writes it to table2.md in a folder."""
    lines = [
        f"One MPL run at the paper's settings, eps0 = 1.5; {jax.devices()[0].platform}, "
        f"{platform.machine()}, jax {jax.__version__}.",
        "",
        "| experiment | mechanism | paper, s | dpjax, s | ratio | first call, s |",
        "|---|---|---|---|---|---|",
    ]
    for letter in "ab" if quick else EXPERIMENTS:
        first, single = seconds_of(letter, 3 if quick else 20)
        name = experiment(letter, 1.5).mechanism.name
        lines.append(
            f"| {letter} | {name} | {PAPER[letter]} | {single:.4f} | {PAPER[letter] / single:.0f} "
            f"| {first:.1f} |"
        )
    text = "\n".join(lines)
    print(text)
    folder = Path(out_dir)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "table2.md").write_text(text + "\n")


if __name__ == "__main__":
    main("results/table2")
