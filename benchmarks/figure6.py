"""Figure 6 of the local approach: the mean squared error of DPL's estimate against n.

References:
    Askin, Kutta, Dette (2022), Figure 6.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.from_store import filled, machine, markdown, save
from dpjax import reference
from dpjax.plotting import new_figure

# Read off the paper's figure: at n = 5000, and an upper end for n >= 20000 (less than half of it).
PAPER = {"continuous-noisy-max": (0.05, 0.025), "exponential": (0.007, 0.0035)}
SEARCHES = {"loss": "the paper's search", "lower-bound": "dpjax's search"}
COLUMNS = ("mechanism", "search", "n", "runs", "mean squared error", "standard error", "paper")


def main(
    out_dir: str | Path,
    *,
    quick: bool = False,
    runs: int | None = None,
    only: Iterable[str] = (),
) -> None:
    """Fills the store, then writes fig6.png, fig6.svg and fig6.md."""
    store = filled(out_dir, "fig6", runs=runs, only=only, quick=quick)
    columns = store.columns()
    curves: dict[str, dict[str, list]] = {}
    rows = []
    for cell in store.spec.cells:
        exact = reference.best_level(cell.mechanism, cell.pairs, cell.mechanism.standard_region)
        squares = (columns[cell.id]["estimate"] - exact) ** 2
        error, spread = float(squares.mean()), float(squares.std() / np.sqrt(len(squares)))
        name, size = cell.mechanism_name, cell.settings.num_samples
        search = cell.settings.objective
        at_5000, later = PAPER[name]
        theirs = f"about {at_5000}" if size == 5_000 else f"below {later}" * (size >= 20_000)
        rows.append([name, search, size, len(squares), f"{error:.5f}", f"{spread:.5f}", theirs])
        curves.setdefault(name, {}).setdefault(search, []).append((size, error))
    figure, panels = new_figure(1, len(curves), size=(4.6 * len(curves), 3.6))
    for (name, searches), panel in zip(curves.items(), np.atleast_1d(panels), strict=True):
        for search, points in searches.items():
            panel.plot(*zip(*points, strict=True), marker="o", markersize=3, label=SEARCHES[search])
        at_5000, later = PAPER[name]
        panel.plot([5_000], [at_5000], "x", color="#3b3b3b", label="the paper, about")
        panel.plot([20_000], [later], "_", markersize=14, color="#3b3b3b", label="the paper, below")
        panel.set_title(name, fontsize=10)
        panel.set_xlabel("samples n at each side")
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.2)
    first = np.atleast_1d(panels)[0]
    first.set_ylabel("mean squared error of the estimate")
    figure.legend(
        *first.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
    )
    text = f"Figure 6, exact level 1.5, seed {store.spec.seed}; {machine()}.\n\n"
    save(out_dir, "fig6", figure, text + markdown(COLUMNS, rows))
