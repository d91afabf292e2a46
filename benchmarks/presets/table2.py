"""Compare the duration of one MPL run of each experiment with the paper's Table II.

References:
    Askin, Kutta, Dette (2022), Table II, measured with R on four cores at 3.4 GHz.
"""

from pathlib import Path

import numpy as np

from benchmarks.presets.experiments import EXPERIMENTS, experiment
from benchmarks.presets.output import machine, markdown, save
from dpjax.sweeps import Entry, Store

PAPER = {"a": 10.9, "b": 4.7, "c": 10.5, "d": 11.3, "e": 23.8, "f": 26.6, "g": 25.9, "h": 57.3}
COLUMNS = ("experiment", "mechanism", "paper, s", "dpjax, s", "ratio", "first run, s")


def entries(runs: int, quick: bool) -> list[Entry]:
    """Return all eight algorithms."""
    return [experiment(letter, 1.5, num_runs=runs) for letter in EXPERIMENTS]


def draw(store: Store, folder: Path) -> None:
    """Write table2.md."""
    columns = store.columns()
    rows = []
    for entry in store.spec.entries:
        seconds = columns[entry.id]["seconds"]
        letter = entry.label[0]
        # Exclude the first run, which compiles the program or reads it from the cache.
        single = float(np.median(seconds[1:] if len(seconds) > 1 else seconds))
        ratio = f"{PAPER[letter] / single:.0f}"
        paper, first = PAPER[letter], f"{seconds[0]:.1f}"
        rows.append([letter, entry.mechanism_name, f"{paper}", single, ratio, first])
    text = f"One MPL run with the paper's settings, eps0 = 1.5; {machine()}.\n\n"
    save(folder, "table2", None, text + markdown(COLUMNS, rows))
