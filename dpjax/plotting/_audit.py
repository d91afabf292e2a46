"""Densities and loss of an audit, with the witness.

References:
    Askin, Kutta, Dette (2022), Figures 1-3.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from dpjax.plotting._canvas import (
    WIDTH,
    check_figure_path,
    legend_above,
    new_figure,
    plain,
    save_figure,
)
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

CLAIM = "#2e8b57"

_PANEL = 2.7
"""Inches of a panel's height, legend included."""

_LINE = 54
"""Characters of a line of the title."""


def as_plain(result: Any) -> Mapping[str, Any]:
    """A result as plain words and numbers: what `AuditResult.to_dict` gives, or JSON holds."""
    return result if isinstance(result, Mapping) else result.to_dict()


def plot_audit(result: Any, path: str | Path | None = None) -> Any:
    """Densities on both sides (above) and the loss with its witness and bound (below).

    Args:
        result: A `dpjax.AuditResult` of one-dimensional or discrete outputs, or its `to_dict()`.
        path: File to write (.png, .svg, .pdf), or None.

    Returns:
        The matplotlib figure.

    Raises:
        ValueError: There are densities of vectors or a histogram, or the file has another ending.
        ModuleNotFoundError: matplotlib is missing.

    References:
        Askin, Kutta, Dette (2022), Figure 3.
    """
    found = as_plain(result)
    curve, witness = found["curve"], found["witness"]
    if curve is None:
        raise ValueError("this audit has no curve to plot: densities of vectors, and histograms.")
    if path is not None:
        check_figure_path(path)
    discrete = witness["bandwidth"] is None
    strips = strips_of(curve, found["num_samples"]) if discrete else []
    rows = 2 * max(len(strips), 1)
    figure, axes = new_figure(rows, 1, size=(WIDTH, _PANEL * rows))
    panels = axes.reshape(-1, 2)
    for (above, below), strip in zip(panels, strips, strict=discrete):
        share_panel(above, strip)
        strip_loss_panel(below, strip)
        shade_event(above, strip)
        shade_event(below, strip, "event that was counted")
        name_places(below, strip)
        if "score" in found["settings"]:
            below.set_xlabel(fill(plain(found["settings"]["score"]["words"]), _LINE))
    if not discrete:
        above, below = panels[0]
        density_panel(
            above, curve["points"], curve["density"], curve["neighbor_density"], discrete=False
        )
        loss_panel(below, curve["points"], curve["loss"], discrete=False)
        below.locator_params(axis="x", nbins=7)
    for above, below in panels:
        _mark_witness(below, found, strips)
        # Both panels have the same outputs.
        ends = [*above.get_xlim(), *below.get_xlim()]
        if max(ends) - min(ends) < 1.5 and any(strip.names for strip in strips):
            ends = [-1, 1]  # a single bar would be as wide as the panel
        above.set_xlabel("")
        above.set_xticks(below.get_xticks(), [])
        for panel in (above, below):  # last, since a fixed limit stops the automatic ones
            panel.set_xlim(min(ends), max(ends))
            panel.set_ylim(bottom=0)
    for column in panels.T:
        shown: dict[str, Any] = {}
        for panel in column:
            handles, labels = panel.get_legend_handles_labels()
            shown = dict(zip(labels, handles, strict=True)) | shown
        legend_above(column[0], shown)
    title = f"{found['mechanism']}: {found['verdict']} ({witness['pair']})"
    figure.suptitle(fill(plain(title), _LINE), fontsize="medium")
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
    legend_above(axes)


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
        axes.plot(points, np.array(loss, float), color=LOSS, label=label)
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


def _mark_witness(axes: Any, found: Mapping[str, Any], strips: Sequence[Strip]) -> None:
    at = found["witness"]["output"]
    if strips and strips[0].names is not None and at in strips[0].names:
        at = strips[0].names.index(at)
    estimate, bound, claim = (found[name] for name in ("estimate", "lower_bound", "claim"))
    # Other levels than epsilon are no loss.
    if "name" in found["recipe"]["notion"]:
        return
    if isinstance(at, int | float) and estimate is not None:
        axes.plot([at], [estimate], "o", color="black", label="estimate at the witness")
    axes.axhline(
        bound,
        color=DATABASE,
        linestyle="--",
        linewidth=1,
        label=f"lower bound {bound:.3f}",
    )
    if claim is not None:
        axes.axhline(claim, color=CLAIM, linewidth=1, label=f"claim {claim:g}")
