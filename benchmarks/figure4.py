"""Figure 4 of the local approach: the distribution of MPL's lower bound for eight algorithms.

`dpjax reproduce fig4` draws it with the paper's search, `dpjax reproduce fig4-tight` with dpjax's.

References:
    Askin, Kutta, Dette (2022), Figure 4.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.from_store import filled, machine, markdown, save
from dpjax import reference
from dpjax.plotting import ecdf_panel, new_figure
from dpjax.sweeps import EXPERIMENTS, LEVELS

COLUMNS = (
    "curve",
    "mechanism",
    "eps0",
    "exact best pair",
    "runs",
    "P(LB <= exact)",
    "allowed from",
    "median LB",
    "P(LB > eps0)",
    "in the paper",
    "ms a run",
    "outputs per second",
)


def claim(letter: str, level: float) -> str:
    """What the paper's figure shows."""
    if letter in "abcdef":
        return "at most about 5% right of eps0"
    return "an exception" if (letter, level) == ("h", 0.2) else "all right of eps0"


def row(letter: str, level: float, cell, rows) -> list:
    bounds = rows["lower_bound"]
    exact = reference.best_level(cell.mechanism, cell.pairs, cell.mechanism.standard_region)
    # The share may fall three standard errors below the confidence by chance.
    allowed = cell.confidence - 3 * np.sqrt(cell.confidence * (1 - cell.confidence) / len(bounds))
    # The first block also compiles.
    seconds = float(np.median(rows["seconds"]))
    settings = cell.settings
    outputs = 2 * (len(cell.pairs) * settings.num_samples + settings.num_confirm)
    return [
        letter,
        cell.mechanism_name,
        f"{level:g}",
        float(exact),
        len(bounds),
        float(np.mean(bounds <= exact)),
        float(allowed),
        float(np.median(bounds)),
        float(np.mean(bounds > level)),
        claim(letter, level),
        f"{1e3 * seconds:.1f}",
        f"{outputs / seconds:.3g}",
    ]


def draw(curves: dict) -> object:
    """Up to eight panels, three curves each."""
    letters = list(dict.fromkeys(letter for letter, _ in curves))
    width = min(4, len(letters))
    height = -(-len(letters) // width)
    figure, panels = new_figure(height, width, size=(3.6 * width, 2.9 * height + 0.5))
    panels = np.atleast_1d(panels).ravel()
    for letter, panel in zip(letters, panels, strict=False):
        levels = [level for other, level in curves if other == letter]
        name = curves[letter, levels[0]][0].mechanism_name
        ecdf_panel(
            panel,
            {f"eps0 = {x:g}": curves[letter, x][1]["lower_bound"] for x in levels},
            {f"eps0 = {x:g}": x for x in levels},
        )
        panel.set_title(f"({letter}) {name}", fontsize=10)
        panel.set_xlabel("lower bound LB on epsilon")
    for unused in panels[len(letters) :]:
        unused.set_axis_off()
    for panel in panels[::width]:
        panel.set_ylabel("share of runs")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def main(
    out_dir: str | Path,
    *,
    quick: bool = False,
    runs: int | None = None,
    only: Iterable[str] = (),
    preset: str = "fig4",
) -> None:
    """Fills the store, then writes fig4.png, fig4.svg and fig4.md."""
    store = filled(out_dir, preset, runs=runs, only=only, quick=quick)
    columns = store.columns()
    names = [(letter, level) for letter in EXPERIMENTS for level in LEVELS]
    cells = {cell.label: cell for cell in store.spec.cells}
    curves = {
        (letter, level): (cell, columns[cell.id])
        for letter, level in names
        if (cell := cells.get(f"{letter} {level:g}")) is not None
    }
    table = markdown(COLUMNS, [row(*name, *curve) for name, curve in curves.items()])
    search = store.spec.cells[0].settings.objective
    text = f"Figure 4, search for the largest {search}, seed {store.spec.seed}; {machine()}.\n\n"
    save(out_dir, preset, draw(curves), text + table)


def tight(out_dir: str | Path, **options) -> None:
    """The same with dpjax's own search."""
    main(out_dir, preset="fig4-tight", **options)
