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
    """A sweep, and the figure or table that is made from it.

    Attributes:
        what: Description of the figure or table.
        entries: Function of (runs, quick) that returns all entries. The first word of an entry's
            label is the name of the part to which the entry belongs.
        draw: Function of (store, folder) that writes the files.
        runs: Number of runs per entry in the paper.
        quick_runs: Number of runs per entry in the quick version.
        block_runs: Number of runs per block.
        quick_block_runs: Number of runs per block in the quick version.
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
"""Map from a name to its preset."""


def preset(
    name: str, *, runs: int | None = None, only: Iterable[str] = (), quick: bool = False
) -> SweepSpec:
    """Return the sweep of a figure or a table.

    Args:
        name: Key of `PRESETS`.
        runs: Number of runs per entry; None for the number in the paper.
        only: Names of the parts to include; all parts if empty. Parts are letters for Figure 4 and
            Table II, and mechanisms for Figures 5 and 6.
        quick: Whether to use few runs, small blocks and fewer sample sizes.

    Raises:
        ValueError: If a part is unknown, or the number of runs is below 1.
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
