"""Figure of an audit's outputs: both sides' densities, and the privacy losses with the witness.

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
    SIDES,
    WIDTH,
    legend_above,
    literal,
    new_figure,
    titled,
    unboxed,
)
from dpjax.plotting._labels import name_levels, name_sides, name_strip
from dpjax.plotting._outcomes import (
    name_places,
    shade_event,
    share_panel,
    strip_loss_panel,
    visible_range,
)
from dpjax.plotting._strips import Strip, strips_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PANEL, _NARROW = 2.1, 3.4
"""Height of a panel with its legend, and width of the figure, in inches."""


_TOP = 1.05
"""Upper end of a vertical axis, as a multiple of matplotlib's default."""

_WRAPPED, _LONGER = 36, 4
"""Limits on axis titles, in characters. An axis title of more than `_WRAPPED` characters is broken
into lines, each of which may exceed the average line by `_LONGER` characters."""


class Marks(NamedTuple):
    """Values to mark in a panel of privacy losses.

    Attributes:
        at: Output that serves as the witness.
        estimate: Estimated loss at the witness, or None if there is no estimate.
        bound: Lower bound on the loss.
        claim: Claimed loss, or None if there is no claim.
    """

    at: object
    estimate: float | None
    bound: float
    claim: float | None


class Outputs(NamedTuple):
    """Data for the panels that show an audit's outputs.

    Attributes:
        curve: Curve of an `AuditResult`: points, each with both sides' densities and a loss.
        marks: Marks in the panel of losses, or None if the audited level is not a privacy loss.
        discrete: True if each point is an outcome or a cell with a probability; False if each point
            is a float with a density.
        num_samples: Number of draws per side from which the curve was computed, or None if it is
            unknown.
        score: Name of the score that reduces each output vector to a number, or None if outputs are
            not vectors.
    """

    curve: JsonObject
    marks: Marks | None
    discrete: bool
    num_samples: int | None = None
    score: str | None = None

    def strips(self) -> list[Strip]:
        """Return the strips of outcomes or cells, or [] if the curve consists of densities."""
        if not self.discrete:
            return []
        found = strips_of(self.curve, self.num_samples)
        # The marks are lines across the panel of losses, whose axis reaches them.
        levels = [] if self.marks is None else [self.marks.bound, self.marks.claim or 0.0]
        top = max((level for level in levels if np.isfinite(level)), default=0.0)
        return [strip.reaching(top) for strip in found]

    def banded(self) -> bool:
        """Return whether the losses are drawn with a confidence band."""
        return any(strip.banded for strip in self.strips())

    def has_losses(self) -> bool:
        """Return whether the privacy loss of at least one output is drawn."""
        return not self.discrete or any(strip.has_losses for strip in self.strips())


def plot_outputs(title: str, shown: Outputs) -> "Figure":
    """Plot both sides' densities and, in a panel below, the privacy losses, witness and bound.

    Args:
        title: Title of the figure.
        shown: Data for the panels.

    Raises:
        ModuleNotFoundError: If matplotlib is not installed.

    References:
        Askin, Kutta, Dette (2022), Figure 3.
    """
    strips = shown.strips()
    rows = 2 * max(len(strips), 1)
    figure, axes = new_figure(rows, 1, size=(_NARROW, _PANEL * rows))
    fill_outputs(axes.reshape(-1, 2), shown, strips)
    return titled(figure, title, int(LINE * _NARROW / WIDTH))


def fill_outputs(panels: np.ndarray, shown: Outputs, strips: Sequence[Strip]) -> None:
    """Plot the outputs in the given panels."""
    for (above, below), strip in zip(panels, strips, strict=shown.discrete):
        draw_outcomes(above, below, strip)
        if shown.score is not None:
            lines = -(-len(shown.score) // _WRAPPED)  # lines of about equal lengths
            line = _WRAPPED if lines == 1 else len(shown.score) // lines + _LONGER
            below.set_xlabel(fill(literal(shown.score), line))
    if not shown.discrete:
        above, below = panels[0]
        draw_densities(above, below, shown.curve)
    for (above, below), strip in zip(panels, strips or [None], strict=True):
        # Both panels get the same limits on the horizontal axis, which shows outputs.
        ends = [*above.get_xlim(), *below.get_xlim()]
        if strip is not None:
            ends = visible_range(strip) or ends
        above.set_xlabel("")
        levels = [] if shown.marks is None else _mark(below, shown.marks, strips)
        for panel in (above, below):  # done last because fixed limits disable autoscaling
            panel.set_xlim(min(ends), max(ends))
            panel.set_ylim(0, _TOP * panel.get_ylim()[1])
            unboxed(panel)
        ticks = below.get_xticks()
        above.set_xticks(ticks[(ticks >= min(ends)) & (ticks <= max(ends))], [])
        if below is panels[-1][-1]:
            name_levels(below, levels)
        if strip is None:
            name_sides(above, shown.curve["points"], *_heights(shown.curve))
        elif above is panels[0][0]:
            name_strip(above, strip)


def draw_outcomes(above: "Axes", below: "Axes", strip: Strip) -> None:
    """Draw the probabilities and the privacy losses of outcomes or cells.

    Args:
        above: Panel for the probabilities.
        below: Panel for the losses.
        strip: Cells with their probabilities and losses.
    """
    share_panel(above, strip)
    strip_loss_panel(below, strip)
    shade_event(above, strip)
    shade_event(below, strip, "event")
    name_places(below, strip)


def draw_densities(above: "Axes", below: "Axes", curve: JsonObject) -> None:
    """Draw the densities on both sides, and the privacy loss at each point.

    Args:
        above: Panel for the densities.
        below: Panel for the losses.
        curve: Curve of an `AuditResult`: points, each with both sides' densities and a loss.
    """
    points = curve["points"]
    for height, (color, label) in zip(_heights(curve), SIDES, strict=True):
        above.plot(points, height, color=color, label=label)
    above.set_ylabel("density")
    below.plot(points, np.array(curve["loss"], float), color=LOSS)
    below.set(xlabel="output", ylabel="privacy loss")
    below.locator_params(axis="x", nbins=5)


def _heights(curve: JsonObject) -> tuple[np.ndarray, np.ndarray]:
    return np.array(curve["density"], float), np.array(curve["neighbor_density"], float)


def _mark(axes: "Axes", marks: Marks, strips: Sequence[Strip]) -> list[tuple[float, str, str]]:
    """Draw the marks, and return the height, name and color of each horizontal line."""
    at, estimate, bound, claim = marks
    names = strips[0].names if strips else None
    if names is not None and isinstance(at, str) and at in names:
        at = names.index(at)
    if isinstance(at, int | float) and estimate is not None:
        axes.plot([at], [estimate], "o", color="black", label="estimate at the witness")
        legend_above(axes, raised=bool(axes.texts))  # a text names the shaded event
    axes.axhline(bound, color=DATABASE, linestyle="--", linewidth=1.2)
    levels = [(bound, "bound", DATABASE)]
    if claim is not None:
        axes.axhline(claim, color=CLAIM, linewidth=1.2)
        levels.append((claim, "claim", CLAIM))
    return levels
