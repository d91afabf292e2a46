"""Densities and loss of an audit, with the witness.

References:
    Askin, Kutta, Dette (2022), Figures 1-3.
"""

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpjax.core.types import JsonObject
from dpjax.plotting._canvas import (
    CLAIM,
    DATABASE,
    LINE,
    LOSS,
    NEIGHBOR,
    WIDTH,
    legend_above,
    literal,
    new_figure,
    titled,
)
from dpjax.plotting._outcomes import (
    Strip,
    name_places,
    shade_event,
    share_panel,
    strip_loss_panel,
    strips_of,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL = 2.7
"""Height of a panel in inches, legend included."""


class Marks(NamedTuple):
    """What is marked in a panel of losses.

    Attributes:
        at: Output at the witness.
        estimate: Loss there, or None.
        bound: Lower bound.
        claim: Claimed loss, or None.
    """

    at: object
    estimate: float | None
    bound: float
    claim: float | None


def plot_outputs(
    title: str,
    curve: JsonObject,
    marks: Marks | None,
    *,
    discrete: bool,
    num_samples: int | None = None,
    score: str | None = None,
) -> "Figure":
    """Densities on both sides (above) and the loss with its witness and bound (below).

    Args:
        title: Title of the figure.
        curve: Points with densities at both sides and losses.
        marks: Marks of the panel of losses; None for levels that are no loss.
        discrete: Whether points are outcomes or cells rather than reals with densities.
        num_samples: Draws a side behind the curve, if known.
        score: Name of the number that vectors became, or None.

    Raises:
        ModuleNotFoundError: matplotlib is missing.

    References:
        Askin, Kutta, Dette (2022), Figure 3.
    """
    strips = strips_of(curve, num_samples) if discrete else []
    rows = 2 * max(len(strips), 1)
    figure, axes = new_figure(rows, 1, size=(WIDTH, _PANEL * rows))
    panels = axes.reshape(-1, 2)
    for (above, below), strip in zip(panels, strips, strict=discrete):
        draw_outcomes(above, below, strip)
        if score is not None:
            below.set_xlabel(fill(literal(score), LINE))
    if not discrete:
        above, below = panels[0]
        draw_densities(above, below, curve)
    for above, below in panels:
        if marks is not None:
            _mark(below, marks, strips)
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
        shown = {}
        for panel in column:
            handles, labels = panel.get_legend_handles_labels()
            shown = dict(zip(labels, handles, strict=True)) | shown
        legend_above(column[0], shown)
    return titled(figure, title)


def draw_outcomes(above: "Axes", below: "Axes", strip: Strip) -> None:
    """Draws probabilities of outcomes or cells, and their losses.

    Args:
        above: Panel of probabilities.
        below: Panel of losses.
        strip: Cells with both.
    """
    share_panel(above, strip)
    strip_loss_panel(below, strip)
    shade_event(above, strip)
    shade_event(below, strip, "event that was counted")
    name_places(below, strip)


def draw_densities(above: "Axes", below: "Axes", curve: JsonObject) -> None:
    """Draws densities of both sides, and their losses.

    Args:
        above: Panel of densities.
        below: Panel of losses.
        curve: Points, with densities at both sides and losses.
    """
    points = curve["points"]
    above.plot(points, curve["density"], color=DATABASE, label="database")
    above.plot(points, curve["neighbor_density"], color=NEIGHBOR, label="neighbor")
    above.set_ylabel("density")
    below.plot(points, np.array(curve["loss"], float), color=LOSS, label="loss (search)")
    below.set(xlabel="output", ylabel="privacy loss")
    below.locator_params(axis="x", nbins=7)


def _mark(axes: "Axes", marks: Marks, strips: Sequence[Strip]) -> None:
    at, estimate, bound, claim = marks
    names = strips[0].names if strips else None
    if names is not None and isinstance(at, str) and at in names:
        at = names.index(at)
    if isinstance(at, int | float) and estimate is not None:
        axes.plot([at], [estimate], "o", color="black", label="estimate at the witness")
    label = f"lower bound {bound:.3f}"
    axes.axhline(bound, color=DATABASE, linestyle="--", linewidth=1, label=label)
    if claim is not None:
        axes.axhline(claim, color=CLAIM, linewidth=1, label=f"claim {claim:g}")
