"""Figure 5 of the local approach: the privacy of one database among all of its neighbours.

References:
    Askin, Kutta, Dette (2022), Figure 5.
"""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from benchmarks.from_store import filled, machine, markdown, save
from dpjax import reference
from dpjax.plotting import ecdf_panel, new_figure
from dpjax.sweeps._presets import DATA_CENTRIC_LEVEL

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


def main(
    out_dir: str | Path,
    *,
    quick: bool = False,
    runs: int | None = None,
    only: Iterable[str] = (),
) -> None:
    """Fills the store, then writes fig5.png, fig5.svg and fig5.md."""
    store = filled(out_dir, "fig5", runs=runs, only=only, quick=quick)
    columns = store.columns()
    figure, panels = new_figure(1, len(store.spec.cells), size=(4.6 * len(store.spec.cells), 3.6))
    rows = []
    for cell, panel in zip(store.spec.cells, np.atleast_1d(panels), strict=True):
        bounds = columns[cell.id]["lower_bound"]
        exact = reference.best_level(cell.mechanism, cell.pairs, cell.mechanism.standard_region)
        ecdf_panel(panel, {"exact eps_x": bounds}, {"exact eps_x": exact})
        panel.axvline(DATA_CENTRIC_LEVEL, color="#2e8b57", linewidth=1.2, label="eps0")
        panel.set_title(f"{cell.label}, eps_x = {exact:.4f}", fontsize=10)
        panel.set_xlabel("lower bound LB on eps_x")
        low, high = np.quantile(bounds, [0.05, 0.95])
        rows.append(
            [
                cell.label,
                len(cell.pairs),
                float(exact),
                float(exact / DATA_CENTRIC_LEVEL),
                len(bounds),
                float(np.mean(bounds <= exact)),
                float(np.median(bounds)),
                f"{low:.3f} to {high:.3f}",
                "about eps0 / 2",
            ]
        )
    np.atleast_1d(panels)[0].set_ylabel("share of runs")
    handles, _ = np.atleast_1d(panels)[0].get_legend_handles_labels()
    labels = ["lower bounds (dashed: exact eps_x)", "global eps0"]
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False)
    text = f"Figure 5, eps0 = {DATA_CENTRIC_LEVEL}, seed {store.spec.seed}; {machine()}.\n\n"
    save(out_dir, "fig5", figure, text + markdown(COLUMNS, rows))
