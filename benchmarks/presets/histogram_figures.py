"""Figures 2, 3, 4, 6 and 7 of the histogram paper, each in a separate file.

References:
    Gorla, Jalouzot, Granese, Palamidessi, Piantanida, "On the (Im)Possibility of Estimating
    Various Notions of Differential Privacy": Figures 2, 3, 4, 6, 7.
"""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.ticker import NullFormatter
from scipy.optimize import brentq

from benchmarks.presets.experiments import SEED
from benchmarks.presets.output import filled
from dpjax.inference import plan, plan_safety
from dpjax.mechanisms import TruncatedLaplace
from dpjax.plotting import new_figure, save_figure
from dpjax.reference import ExactTruncatedLaplace
from dpjax.sweeps import Entry, HistogramEstimate, Store, SweepSpec

EXTREMES = (0.0, 1.0)

CASES = {"figure3": (1.0, 91, None), "figure7": (2.0, 81, 2.0)}
"""Map from a figure to (scale B, planned m for the precision 0.5 in Table III or V, order)."""


def sweep(quick: bool) -> SweepSpec:
    """Return the sweep over n with the planned number of intervals.

    It contains estimates of LDP (Figure 3) and of the Renyi divergence (Figure 7).
    """
    entries = [
        Entry(
            TruncatedLaplace(scale),
            HistogramEstimate(m, size, EXTREMES, order),
            num_runs=20 if quick else 100,
            label=f"{name} n={size}",
        )
        for name, (scale, m, order) in CASES.items()
        for size in np.unique(np.geomspace(4 * m, 100_000, 3 if quick else 12).astype(int)).tolist()
    ]
    return SweepSpec("histogram-figures", tuple(entries), key=SEED, block_runs=20)


def num_samples_against(order: float | None, lipschitz: float, num_points: int) -> Any:
    """Draw Figure 2 or 6: the planned n against each argument while the others are fixed."""
    base: dict[str, Any] = {"lipschitz": lipschitz, "precision": 0.5, "confidence": 0.9}
    base |= {"order": order, "bound": "published"}
    axes = {
        "precision": np.geomspace(0.05, 2, num_points),
        "confidence": np.linspace(0.05, 0.99, num_points),
        "lipschitz": np.linspace(0.05, 1.9 if order is None else 1.2, num_points),
    }
    if order is not None:
        axes["order"] = np.linspace(1.1, 6, num_points)
    figure, panels = new_figure(1, len(axes), size=(3.6 * len(axes), 3))
    for panel, (name, values) in zip(panels, axes.items(), strict=True):
        numbers = [plan(**{**base, name: float(v)}).num_samples for v in values]
        panel.semilogy(values, numbers)
        if panel is not panels[0]:
            panel.sharey(panels[0])
            panel.tick_params(labelleft=False)
        panel.set_xlabel(name)
        panel.grid(alpha=0.3)
    panels[0].set_ylabel("samples per input n")
    fixed = ", ".join(f"{k} {v:g}" for k, v in base.items() if isinstance(v, float))
    figure.suptitle(f"Planned n (where fixed: {fixed})", fontsize=10)
    return figure


def estimates_against_n(store: Store, part: str, precision: float, confidence: float) -> Any:
    """Draw Figure 3 or 7: the estimates and the fraction within the precision, against n."""
    entries = [entry for entry in store.spec.entries if entry.label.startswith(part)]
    columns = store.columns()
    scale, order = float(entries[0].mechanism.scale), entries[0].method.order
    num_intervals, num_runs = entries[0].method.num_intervals, entries[0].num_runs
    law = ExactTruncatedLaplace(scale)
    planned = plan(
        lipschitz=law.lipschitz,
        precision=precision,
        confidence=confidence,
        order=order,
        bound="published",
    )
    assert planned.num_intervals == num_intervals
    exact = law.epsilon if order is None else law.pair_renyi(0, 1, order)
    numbers = [entry.method.num_samples for entry in entries]
    means, deviations, shares = [], [], []
    for entry in entries:
        # A failed run has no estimate. It is excluded from the mean and counts as a miss.
        estimates = columns[entry.id]["estimate"]
        kept = estimates[~np.isnan(estimates)]
        means.append(kept.mean() if kept.size else np.nan)
        deviations.append(kept.std() if kept.size else np.nan)
        shares.append(np.mean(np.abs(estimates - exact) <= precision))
    means, deviations = np.array(means), np.array(deviations)

    figure, (left, right) = new_figure(1, 2, size=(9, 3.4))
    left.fill_between(
        numbers, exact - precision, exact + precision, color="gold", alpha=0.3, label="precision"
    )
    left.axhline(exact, color="firebrick", linestyle="--", label="exact")
    left.errorbar(numbers, means, deviations, capsize=2, label="mean and standard deviation")
    left.set(xscale="log", xlabel="samples per input n", ylabel="estimate")
    left.legend(fontsize=8)
    right.plot(numbers, shares, marker="o", markersize=3)
    right.axhline(confidence, color="firebrick", linestyle="--", label="confidence")
    right.set(xscale="log", xlabel="samples per input n", ylabel="fraction within the precision")
    right.set_ylim(-0.03, 1.03)
    right.legend(fontsize=8)
    for panel in (left, right):
        # Hide minor labels, which would overlap on an axis of less than three decades.
        panel.xaxis.set_minor_formatter(NullFormatter())
    what = "LDP" if order is None else f"Renyi, order {order:g}"
    figure.suptitle(
        f"{what}: truncated Laplace B = {scale:g}, m = {num_intervals}, {num_runs} runs; "
        f"planned n = {planned.num_samples:.3g}",
        fontsize=10,
    )
    return figure


def laplace_of_constant(lipschitz: float) -> ExactTruncatedLaplace:
    """Return the truncated Laplace distribution with the given constant C."""
    scale: Any = brentq(lambda b: ExactTruncatedLaplace(b).lipschitz - lipschitz, 0.2, 50)
    return ExactTruncatedLaplace(scale)


def safety_against_truth(num_runs: int, num_points: int) -> Any:
    """Draw Figure 4: how often a run stays within the limit, against the true constant."""
    claim = ExactTruncatedLaplace(2.0).lipschitz
    raised, check = plan_safety(
        plan(lipschitz=claim, precision=0.5, confidence=0.8, bound="published")
    )
    edges = np.linspace(0, 1, raised.num_intervals + 1)
    rng = np.random.default_rng(4)
    ratios = np.linspace(0.4, 3.0, num_points)
    shares = []
    for ratio in ratios:
        law = laplace_of_constant(ratio * claim)
        rows = [np.diff(law.cdf(x, edges)) for x in EXTREMES]
        counts = [rng.multinomial(raised.num_samples, r / r.sum(), size=num_runs) for r in rows]
        shares.append(check.verdict(np.stack(counts, 1)).num_within / num_runs)
    figure, axis = new_figure(size=(5.5, 3.4))
    axis.plot(ratios, shares, marker="o", markersize=3, label="fraction within the limit")
    axis.axhline(
        check.probability, color="firebrick", linestyle="--", label="smallest if the claim is true"
    )
    axis.axvline(1.0, color="grey", linewidth=0.8)
    axis.set(xlabel="true C / claimed C", ylabel="runs within the limit", ylim=(-0.03, 1.03))
    axis.set_title(
        f"Safety check: claim C = {claim:.2f}, n = {raised.num_samples:.3g}, {num_runs} runs",
        fontsize=10,
    )
    axis.legend(fontsize=8)
    return figure


def main(folder: Path, *, quick: bool) -> None:
    """Draw all figures, and write them to the files `figure_2.png` and so on."""
    store = filled(sweep(quick), folder / "store")
    num_points = 6 if quick else 30
    figures = {
        "figure_2": num_samples_against(None, 1.0, num_points),
        "figure_3": estimates_against_n(store, "figure3", 0.5, 0.8),
        "figure_4": safety_against_truth(*((100, 5) if quick else (1000, 27))),
        "figure_6": num_samples_against(2.0, 0.5, num_points),
        "figure_7": estimates_against_n(store, "figure7", 0.5, 0.9),
    }
    for name, figure in figures.items():
        save_figure(figure, folder / f"{name}.png")
