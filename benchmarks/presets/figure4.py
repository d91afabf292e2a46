"""Figure 4 of the local approach: the distribution of MPL's lower bound for eight algorithms.

`scripts/reproduce fig4` uses the paper's search, and `fig4-tight` uses dpjax's search.

References:
    Askin, Kutta, Dette (2022), Figure 4.
"""

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.presets.ecdf import ecdf_panel
from benchmarks.presets.experiments import EXPERIMENTS, LEVELS, experiment
from benchmarks.presets.output import machine, markdown, save
from dpjax import reference
from dpjax.plotting import new_figure
from dpjax.sweeps import Entry, Store

COLUMNS = (
    "curve",
    "mechanism",
    "eps0",
    "exact best pair",
    "runs",
    "P(LB <= exact)",
    "lowest allowed",
    "median LB",
    "P(LB > eps0)",
    "in the paper",
    "ms per run",
    "outputs per second",
)


def entries(runs: int, quick: bool, objective: str = "loss") -> list[Entry]:
    """Return eight algorithms at three levels.

    Args:
        runs: Number of runs per entry.
        quick: Unused.
        objective: "loss" for the paper's search, or "lower-bound" for dpjax's search.
    """
    return [
        experiment(letter, level, objective=objective, num_runs=runs)
        for letter in EXPERIMENTS
        for level in LEVELS
    ]


def draw(store: Store, folder: Path) -> None:
    """Write the figure as PNG and SVG, and its table."""
    columns = store.columns()
    names = [(letter, level) for letter in EXPERIMENTS for level in LEVELS]
    entries = {entry.label: entry for entry in store.spec.entries}
    curves = {
        (letter, level): (entry, columns[entry.id])
        for letter, level in names
        if (entry := entries.get(f"{letter} {level:g}")) is not None
    }
    table = markdown(COLUMNS, [row(*name, *curve) for name, curve in curves.items()])
    search = store.spec.entries[0].method.objective
    text = f"Figure 4, search maximizes the {search}, key {store.spec.key}; {machine()}.\n\n"
    save(folder, store.spec.name, panels_of(curves), text + table)


def claim(letter: str, level: float) -> str:
    """Describe where the lower bounds are in the paper's figure."""
    if letter in "abcdef":
        return "at most about 5% above eps0"
    return "an exception" if (letter, level) == ("h", 0.2) else "all above eps0"


def row(letter: str, level: float, entry: Entry, rows: dict[str, Any]) -> list[Any]:
    """Return the row of a curve, which compares it with the exact level of its best pair."""
    bounds = rows["lower_bound"]
    exact = reference.best_level(entry.mechanism, entry.pairs, entry.mechanism.standard_region)
    # By chance, the coverage may be up to three standard errors below the confidence.
    allowed = entry.confidence - 3 * np.sqrt(
        entry.confidence * (1 - entry.confidence) / len(bounds)
    )
    # Use the median, because the time of the first block includes compilation.
    seconds = float(np.median(rows["seconds"]))
    method = entry.method
    outputs = 2 * (len(entry.pairs) * method.num_samples + method.num_confirm)
    return [
        letter,
        entry.mechanism_name,
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


def panels_of(curves: dict[tuple[str, float], tuple[Entry, dict[str, Any]]]) -> Any:
    """Draw up to eight panels with three curves each."""
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
        panel.set_ylabel("fraction of runs")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure
