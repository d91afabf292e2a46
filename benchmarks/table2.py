"""Seconds for one MPL run of each experiment, beside the paper's Table II.

References:
    Askin, Kutta, Dette (2022), Table II: R on four cores at 3.4 GHz.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.from_store import filled, machine, markdown, save

PAPER = {"a": 10.9, "b": 4.7, "c": 10.5, "d": 11.3, "e": 23.8, "f": 26.6, "g": 25.9, "h": 57.3}
COLUMNS = ("experiment", "mechanism", "paper, s", "dpjax, s", "ratio", "first run, s")


def main(
    out_dir: str | Path,
    *,
    quick: bool = False,
    runs: int | None = None,
    only: Iterable[str] = (),
) -> None:
    """Fills the store with single runs, then writes table2.md."""
    store = filled(out_dir, "table2", runs=runs, only=only, quick=quick)
    columns = store.columns()
    rows = []
    for cell in store.spec.cells:
        seconds = columns[cell.id]["seconds"]
        letter = cell.label[0]
        # The first run compiles, or reads the compile cache.
        single = float(np.median(seconds[1:] if len(seconds) > 1 else seconds))
        ratio = f"{PAPER[letter] / single:.0f}"
        paper, first = PAPER[letter], f"{seconds[0]:.1f}"
        rows.append([letter, cell.mechanism_name, f"{paper}", single, ratio, first])
    text = f"One MPL run at the paper's settings, eps0 = 1.5; {machine()}.\n\n"
    save(out_dir, "table2", None, text + markdown(COLUMNS, rows))
