"""Densities and loss of an audit, with the witness.

References:
    Askin, Kutta, Dette (2022), Figures 1-3.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpjax._result import AuditResult
from dpjax.plotting._canvas import check_figure_path, new_figure, save_figure

DATABASE, NEIGHBOR, LOSS = "#1b6ca8", "#d1603d", "#3b3b3b"
CLAIM, EVENT = "#2e8b57", "#e3c565"
_MANY_OUTCOMES = 30


def plot_audit(result: AuditResult, path: str | Path | None = None) -> Any:
    """Densities on both sides (above) and the loss with its witness and bound (below).

    Args:
        result: An audit of one-dimensional or discrete outputs.
        path: File to write (.png, .svg, .pdf), or None.

    Returns:
        The matplotlib figure.

    Raises:
        ValueError: The outputs were vectors, or the file has another ending.
        ModuleNotFoundError: matplotlib is missing.

    References:
        Askin, Kutta, Dette (2022), Figure 3.
    """
    if result.curve is None:
        raise ValueError(
            "this audit is of outputs with more than one part (vectors, or a label and a number), "
            "which have no curve to plot."
        )
    if path is not None:
        check_figure_path(path)
    figure, (above, below) = new_figure(2, 1, size=(7, 6.4))
    discrete = result.witness.bandwidth is None
    curve = result.curve
    density_panel(
        above, curve["points"], curve["density"], curve["neighbor_density"], discrete=discrete
    )
    loss_panel(below, curve["points"], curve["loss"], discrete=discrete)
    _mark_witness(below, result, curve["points"], discrete=discrete)
    if "event" in curve:
        _shade_event((above, below), curve["event"])
    # Both panels have the same outputs.
    above.tick_params(labelbottom=False)
    above.set_xlabel("")
    for axes in (above, below):  # last, since a fixed limit stops the automatic ones
        axes.set_ylim(bottom=0)
    below.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)
    figure.suptitle(f"{result.mechanism}: {result.verdict} ({result.witness.pair})")
    if path is not None:
        save_figure(figure, path)
    return figure


def density_panel(
    axes: Any,
    points: Sequence,
    density: Sequence[float],
    neighbor_density: Sequence[float],
    *,
    discrete: bool,
) -> None:
    """Densities or probabilities at the database and at the neighbor.

    Args:
        axes: matplotlib axes.
        points: Outputs.
        density: At the database.
        neighbor_density: At the neighbor.
        discrete: Whether outputs are outcomes.
    """
    sides = ((density, DATABASE, "database", -0.2), (neighbor_density, NEIGHBOR, "neighbor", 0.2))
    place = _place(axes, points, discrete)
    for values, color, label, shift in sides:
        if discrete:
            axes.bar(place + shift, values, width=0.4, color=color, label=label)
        else:
            axes.plot(place, values, color=color, label=label)
    axes.set_ylabel("probability" if discrete else "density")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False)


def loss_panel(
    axes: Any,
    points: Sequence,
    loss: Sequence[float],
    *,
    discrete: bool,
    label: str = "loss (search)",
) -> None:
    """The privacy loss over outputs.

    Args:
        axes: matplotlib axes.
        points: Outputs.
        loss: Losses there.
        discrete: Whether outputs are outcomes.
        label: For the legend.
    """
    place = _place(axes, points, discrete)
    if discrete:
        axes.bar(place, loss, width=0.6, color=LOSS, alpha=0.5, label=label)
    else:
        axes.plot(place, loss, color=LOSS, label=label)
    axes.set_ylabel("privacy loss")


def _mark_witness(axes: Any, result: AuditResult, points: list, *, discrete: bool) -> None:
    output = result.witness.output
    at = points.index(output) if discrete and output in points else output
    if isinstance(at, int | float) and result.estimate is not None:
        axes.plot([at], [result.estimate], "o", color="black", label="estimate at the witness")
    axes.axhline(
        result.lower_bound,
        color=DATABASE,
        linestyle="--",
        linewidth=1,
        label=f"lower bound {result.lower_bound:.3f}",
    )
    if result.claim is not None:
        axes.axhline(result.claim, color=CLAIM, linewidth=1, label=f"claim {result.claim:g}")


def _shade_event(panels: Sequence[Any], event: Sequence[bool]) -> None:
    """The cells of a counted event as a band behind both panels."""
    for axes in panels:
        band = {"color": EVENT, "alpha": 0.4, "linewidth": 0, "zorder": 0}
        for number, place in enumerate(np.flatnonzero(event)):
            label = None if number else "event that was counted"
            axes.axvspan(place - 0.5, place + 0.5, label=label, **band)


def _place(axes: Any, points: Sequence, discrete: bool) -> np.ndarray:
    """Positions along the axis: the outputs themselves, or a slot an outcome."""
    axes.set_xlabel("outcome" if discrete else "output")
    if not discrete:
        return np.asarray(points, float)
    place = np.arange(len(points))
    shown = place if len(points) <= _MANY_OUTCOMES else place[:: -(-len(points) // 10)]
    names = [str(points[i]) for i in shown.tolist()]
    # Texts side by side would run into each other.
    slanted = {"rotation": 40, "ha": "right"} if max(map(len, names)) > 5 else {}
    axes.set_xticks(shown, names, **slanted)
    return place
