"""Labels of curves, placed next to each curve if there is room, and otherwise in a legend."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpjax.plotting._canvas import SIDES, SMALL, legend_above

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpjax.plotting._strips import Strip

_WIDTH, _HEIGHT = 0.31, 0.13
"""Assumed width and height of a label, as shares of the panel's width and height."""

_GAP = 0.02
"""Horizontal distance between a label and its curve, as a share of the panel's width."""

_LINE = 0.12
"""Minimum vertical distance between the labels of two lines, as a share of the panel's height."""


def name_strip(axes: "Axes", strip: "Strip") -> None:
    """Label the two databases next to their curves, or in a legend if the panel has bars."""
    if strip.few:
        legend_above(axes)
        return
    wide = ~strip.single & ~strip.tail
    with np.errstate(divide="ignore", invalid="ignore"):
        heights = (strip.shares / (strip.high - strip.low))[:, wide]
    # Use both ends of each step, so that a label lies beside a step and crosses no vertical line.
    ends = np.stack([strip.low[wide], strip.high[wide]], axis=1).ravel()
    name_sides(axes, ends, *np.repeat(heights, 2, axis=1))


def name_sides(
    axes: "Axes", points: ArrayLike, first: NDArray[np.float64], second: NDArray[np.float64]
) -> None:
    """Label each of two curves next to the point where the curve exceeds the other curve the most.

    The two labels extend in opposite directions. If there is no room for both labels, a legend
    above the panel replaces them.

    Args:
        axes: Panel whose axis limits are already fixed.
        points: Horizontal positions of both curves, float64 [n].
        first: Heights of the database's curve, float64 [n].
        second: Heights of the neighbor's curve, float64 [n].
    """
    (left, right), top = axes.get_xlim(), axes.get_ylim()[1]
    x = (np.asarray(points, float) - left) / (right - left)
    curves, places = np.array([first, second]) / top, []
    seen = (x >= 0) & (x <= 1)
    if seen.sum() < 2:
        legend_above(axes)
        return
    x, curves = x[seen], curves[:, seen]
    above = curves[0] - curves[1]
    best = [int(np.argmax(above)), int(np.argmin(above))]
    outward = [-1, 1] if x[best[0]] <= x[best[1]] else [1, -1]
    for side, (place, direction) in enumerate(zip(best, outward, strict=True)):
        # All points of a step exceed the other curve equally; the label is next to the outer point.
        equal = np.flatnonzero(above == above[place])
        place = equal[0 if direction < 0 else -1]
        height = min(curves[side, place], 1 - _HEIGHT / 2)
        start = x[place] + _GAP * direction
        ends = sorted((start, start + _WIDTH * direction))
        within = curves[:, (x >= ends[0]) & (x <= ends[1])]
        lower = np.minimum(within[:, 1:], within[:, :-1])
        upper = np.maximum(within[:, 1:], within[:, :-1])
        hidden = (lower < height + _HEIGHT / 2) & (upper > height - _HEIGHT / 2)
        if ends[0] < 0 or ends[1] > 1 or hidden.any():
            legend_above(axes)
            return
        places.append((start, height, "right" if direction < 0 else "left"))
    for (at, height, align), (color, name) in zip(places, SIDES, strict=True):
        axes.text(at, height, name, transform=axes.transAxes, color=color, fontsize=SMALL,
                  ha=align, va="center")  # fmt: skip


def name_levels(axes: "Axes", levels: list[tuple[float, str, str]]) -> None:
    """Label horizontal lines at the right edge of a panel; move labels up if they would overlap."""
    low, high = axes.get_ylim()
    last = -np.inf
    for value, name, color in sorted(levels):
        last = max((value - low) / (high - low), last + _LINE)
        axes.annotate(
            name, (1.0, last), (3, 0), xycoords="axes fraction", textcoords="offset points",
            color=color, fontsize=SMALL, va="center",
        )  # fmt: skip
