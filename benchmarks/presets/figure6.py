"""Figure 6 of the local approach: mean squared error of DPL's estimate against n.

References:
    Askin, Kutta, Dette (2022), Figure 6.
"""

from pathlib import Path

import numpy as np

from benchmarks.presets.experiments import DATA_CENTRIC_LEVEL
from benchmarks.presets.output import machine, markdown, save
from dpjax import Pairs, mechanisms, reference
from dpjax.densities import Scott, Silverman
from dpjax.plotting import new_figure
from dpjax.sweeps import Entry, LocalSearch, Store

SIZES = tuple(range(5_000, 50_001, 5_000))
"""Sample sizes n per side."""


# Values read from the paper's figure: the error at n = 5000, and an upper bound for n >= 20000.
PAPER = {"continuous-noisy-max": (0.05, 0.025), "exponential": (0.007, 0.0035)}
SEARCHES = {"loss": "the paper's search", "lower-bound": "dpjax's search"}
COLUMNS = ("mechanism", "search", "n", "runs", "mean squared error", "standard error", "paper")


def entries(runs: int, quick: bool) -> list[Entry]:
    """Return DPL's estimates for each n, with the paper's search and with dpjax's search."""
    cases = {
        "continuous-noisy-max": (
            mechanisms.ContinuousNoisyMax(epsilon=DATA_CENTRIC_LEVEL),
            Pairs([[0.0] * 3], [[1.0] * 3]),
        ),
        "exponential": (mechanisms.Exponential(epsilon=DATA_CENTRIC_LEVEL), Pairs([1.0], [2.0])),
    }
    return [
        Entry(
            mechanism,
            LocalSearch(
                num_samples=size,
                num_confirm=10 * size,  # used by "lower-bound" to predict the bound
                floor=1e-3,
                objective=objective,
                bandwidth=bandwidth,
            ),
            pairs,
            num_runs=runs,
            label=f"{name} {objective} n={size}",
        )
        for name, (mechanism, pairs) in cases.items()
        for objective, bandwidth in (("loss", Silverman()), ("lower-bound", Scott()))
        for size in (SIZES[::9] if quick else SIZES)
    ]


def draw(store: Store, folder: Path) -> None:
    """Write fig6.png, fig6.svg and fig6.md."""
    columns = store.columns()
    curves: dict[str, dict[str, list]] = {}
    rows = []
    for entry in store.spec.entries:
        exact = reference.best_level(entry.mechanism, entry.pairs, entry.mechanism.standard_region)
        squares = (columns[entry.id]["estimate"] - exact) ** 2
        error, spread = float(squares.mean()), float(squares.std() / np.sqrt(len(squares)))
        name, size = entry.mechanism_name, entry.method.num_samples
        search = entry.method.objective
        at_5000, later = PAPER[name]
        theirs = f"about {at_5000}" if size == 5_000 else f"below {later}" * (size >= 20_000)
        rows.append([name, search, size, len(squares), f"{error:.5f}", f"{spread:.5f}", theirs])
        curves.setdefault(name, {}).setdefault(search, []).append((size, error))
    figure, panels = new_figure(1, len(curves), size=(4.6 * len(curves), 3.6))
    for (name, searches), panel in zip(curves.items(), np.atleast_1d(panels), strict=True):
        for search, points in searches.items():
            panel.plot(*zip(*points, strict=True), marker="o", markersize=3, label=SEARCHES[search])
        at_5000, later = PAPER[name]
        panel.plot([5_000], [at_5000], "x", color="#3b3b3b", label="paper, about")
        panel.plot([20_000], [later], "_", markersize=14, color="#3b3b3b", label="paper, below")
        panel.set_title(name, fontsize=10)
        panel.set_xlabel("samples n per side")
        panel.set_ylim(bottom=0)
        panel.grid(alpha=0.2)
    first = np.atleast_1d(panels)[0]
    first.set_ylabel("mean squared error of the estimate")
    figure.legend(
        *first.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False
    )
    text = f"Figure 6, exact level 1.5, key {store.spec.key}; {machine()}.\n\n"
    save(folder, "fig6", figure, text + markdown(COLUMNS, rows))
