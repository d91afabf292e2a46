"""Figure 5 of the local approach: the privacy of one database against all of its neighbors.

References:
    Askin, Kutta, Dette (2022), Figure 5.
"""

import itertools
from pathlib import Path

import numpy as np

from benchmarks.presets.ecdf import ecdf_panel
from benchmarks.presets.experiments import DATA_CENTRIC_LEVEL, experiment
from benchmarks.presets.output import machine, markdown, save
from dpjax import Pairs, mechanisms, reference
from dpjax.plotting import new_figure
from dpjax.sweeps import Entry, Store

COLUMNS = (
    "mechanism",
    "pairs",
    "exact eps_x",
    "eps_x / eps0",
    "runs",
    "P(LB <= eps_x)",
    "median LB",
    "LB from 5% to 95%",
    "in the paper",
)


def entries(runs: int, quick: bool) -> list[Entry]:
    """Return two mechanisms, each with one database and all of its neighbors."""
    level = DATA_CENTRIC_LEVEL
    cases = {
        "report-noisy-max": (
            mechanisms.ReportNoisyMax(epsilon=level),
            neighborhood([0.0] * 6, (0.0, 1.0)),
        ),
        "continuous-noisy-max": (
            mechanisms.ContinuousNoisyMax(epsilon=level),
            neighborhood([0.5] * 3, (0.0, 0.5, 1.0)),
        ),
    }
    method = experiment("b", level).method
    return [
        Entry(mechanism, method, pairs, num_runs=runs, label=name)
        for name, (mechanism, pairs) in cases.items()
    ]


def neighborhood(center: list[float], values: tuple[float, ...]) -> Pairs:
    """Return pairs of one database with every other vector of the given values."""
    others = [v for v in itertools.product(values, repeat=len(center)) if list(v) != center]
    return Pairs(np.tile(center, (len(others), 1)), np.array(others), tuple(map(str, others)))


def draw(store: Store, folder: Path) -> None:
    """Write fig5.png, fig5.svg and fig5.md."""
    columns = store.columns()
    figure, panels = new_figure(
        1, len(store.spec.entries), size=(4.6 * len(store.spec.entries), 3.6)
    )
    rows = []
    for entry, panel in zip(store.spec.entries, np.atleast_1d(panels), strict=True):
        bounds = columns[entry.id]["lower_bound"]
        exact = reference.best_level(entry.mechanism, entry.pairs, entry.mechanism.standard_region)
        ecdf_panel(panel, {"exact eps_x": bounds}, {"exact eps_x": exact})
        panel.axvline(DATA_CENTRIC_LEVEL, color="#2e8b57", linewidth=1.2, label="eps0")
        panel.set_title(f"{entry.label}, eps_x = {exact:.4f}", fontsize=10)
        panel.set_xlabel("lower bound LB on eps_x")
        low, high = np.quantile(bounds, [0.05, 0.95])
        rows.append(
            [
                entry.label,
                len(entry.pairs),
                float(exact),
                float(exact / DATA_CENTRIC_LEVEL),
                len(bounds),
                float(np.mean(bounds <= exact)),
                float(np.median(bounds)),
                f"{low:.3f} to {high:.3f}",
                "about eps0 / 2",
            ]
        )
    np.atleast_1d(panels)[0].set_ylabel("fraction of runs")
    handles, _ = np.atleast_1d(panels)[0].get_legend_handles_labels()
    labels = ["lower bounds (dashed: exact eps_x)", "global eps0"]
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    text = f"Figure 5, eps0 = {DATA_CENTRIC_LEVEL}, key {store.spec.key}; {machine()}.\n\n"
    save(folder, "fig5", figure, text + markdown(COLUMNS, rows))
