"""The sweeps behind figures and tables of the local approach, by name.

References:
    Askin, Kutta, Dette (2022), Figures 4 to 6 and Table II.
"""

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.presets import figure4, figure5, figure6, table2
from benchmarks.presets.experiments import SEED
from dpjax.sweeps import Entry, Store, SweepSpec


class Preset(NamedTuple):
    """A sweep, and what is made of it.

    Attributes:
        what: The figure or table.
        entries: (runs, quick) -> every entry; the parts that can be chosen begin their labels.
        draw: (store, folder) -> writes the files.
        runs: Runs an entry, as in the paper.
        quick_runs: Enough to see the shape.
        block_runs: Runs a block.
        quick_block_runs: Runs a block of the quick variant.
    """

    what: str
    entries: Callable[[int, bool], list[Entry]]
    draw: Callable[[Store, Path], None]
    runs: int = 1000
    quick_runs: int = 50
    block_runs: int = 50
    quick_block_runs: int = 10


PRESETS = {
    "fig4": Preset("Figure 4, with the paper's search", figure4.entries, figure4.draw),
    "fig4-tight": Preset(
        "Figure 4, with dpjax's own search",
        partial(figure4.entries, objective="lower-bound"),
        figure4.draw,
    ),
    "fig5": Preset("Figure 5", figure5.entries, figure5.draw),
    "fig6": Preset("Figure 6", figure6.entries, figure6.draw),
    "table2": Preset("Table II: seconds of single runs", table2.entries, table2.draw, 20, 3, 1, 1),
}
"""Name -> sweep."""


def preset(
    name: str, *, runs: int | None = None, only: Iterable[str] = (), quick: bool = False
) -> SweepSpec:
    """The sweep behind a figure or a table.

    Args:
        name: Of `PRESETS`.
        runs: Runs an entry; the paper's if None.
        only: Parts: letters of Figure 4 and Table II, mechanisms of Figures 5 and 6. All if empty.
        quick: Few runs, in small blocks, at fewer sample sizes.

    Raises:
        ValueError: When a part is unknown, or a number of runs is below 1.
    """
    found = PRESETS[name]
    num_runs = runs if runs is not None else found.quick_runs if quick else found.runs
    entries = found.entries(num_runs, quick)
    parts = dict.fromkeys(entry.label.split()[0] for entry in entries)
    chosen = set(only) or set(parts)
    if not chosen <= set(parts):
        unknown = ", ".join(sorted(chosen - set(parts)))
        raise ValueError(f"{name} has no part {unknown}; its parts are {', '.join(parts)}.")
    kept = tuple(entry for entry in entries if entry.label.split()[0] in chosen)
    block_runs = found.quick_block_runs if quick else found.block_runs
    return SweepSpec(name, kept, key=SEED, block_runs=block_runs)
