"""Densities and loss of an audit, with the witness.

References:
    Askin, Kutta, Dette (2022), Figures 1-3.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from dpjax.plotting._canvas import check_figure_path, new_figure, save_figure
from dpjax.plotting._outcomes import (
    DATABASE,
    LOSS,
    NEIGHBOR,
    Strip,
    name_places,
    shade_event,
    share_panel,
    strip_loss_panel,
    strips_of,
)
from dpjax.results._result import AuditResult

CLAIM = "#2e8b57"
BESIDE: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1), "frameon": False}
"""Where a legend hides no data."""


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
    discrete = result.witness.bandwidth is None
    strips = strips_of(result.curve, result.num_samples) if discrete else []
    columns = max(len(strips), 1)
    # Labels beside numbers need less room.
    figure, axes = new_figure(2, columns, size=(7, 6.4), widths=[3, 1][:columns])
    axes = np.reshape(axes, (2, columns))
    right = 1.01
    for (above, below), strip in zip(axes.T, strips, strict=discrete):
        right = 1.2 if share_panel(above, strip) else 1.01
        strip_loss_panel(below, strip)
        shade_event(above, strip)
        shade_event(below, strip, "event that was counted")
        name_places(below, strip)
    if not discrete:
        curve = result.curve
        density_panel(
            axes[0, 0], curve["points"], curve["density"], curve["neighbor_density"], discrete=False
        )
        loss_panel(axes[1, 0], curve["points"], curve["loss"], discrete=False)
        axes[1, 0].locator_params(axis="x", nbins=7)
    for panel in axes[1]:
        _mark_witness(panel, result, strips)
    # Both panels have the same outputs.
    for above, below in axes.T:
        ends = [*above.get_xlim(), *below.get_xlim()]
        above.set_xlabel("")
        above.set_xticks(below.get_xticks(), [])
        above.set_xlim(min(ends), max(ends))
        below.set_xlim(min(ends), max(ends))
        for panel in (above, below):  # last, since a fixed limit stops the automatic ones
            panel.set_ylim(bottom=0)
    for row in axes:
        shown: dict[str, Any] = {}
        for panel in row:
            handles, labels = panel.get_legend_handles_labels()
            shown = dict(zip(labels, handles, strict=True)) | shown
        beside = BESIDE | {"bbox_to_anchor": (right, 1)}
        row[-1].legend(shown.values(), shown.keys(), **beside)
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
    if discrete:
        strip = _strip(points, density, neighbor_density)
        share_panel(axes, strip)
        name_places(axes, strip)
    else:
        axes.plot(points, density, color=DATABASE, label="database")
        axes.plot(points, neighbor_density, color=NEIGHBOR, label="neighbor")
        axes.set_xlabel("output")
        axes.set_ylabel("density")
    axes.legend(**BESIDE)


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
    if discrete:
        strip = _strip(points, np.zeros(len(loss)), np.zeros(len(loss)), loss)
        strip_loss_panel(axes, strip, label=label)
        name_places(axes, strip)
    else:
        axes.plot(points, loss, color=LOSS, label=label)
        axes.set_xlabel("output")
        axes.set_ylabel("privacy loss")


def _strip(points: Sequence, density: Any, neighbor_density: Any, loss: Any = None) -> Strip:
    curve = {
        "points": list(points),
        "density": density,
        "neighbor_density": neighbor_density,
        "loss": np.zeros(len(points)) if loss is None else loss,
    }
    (strip,) = strips_of(curve)
    return strip


def _mark_witness(axes: Any, result: AuditResult, strips: Sequence[Strip]) -> None:
    at = result.witness.output
    if strips and strips[0].names is not None and at in strips[0].names:
        at = strips[0].names.index(at)
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
