"""Panels that show counted outputs, as numbers on an axis or as equally spaced labels."""

from collections.abc import Sequence
from os.path import commonprefix
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from dpjax.core.types import JsonObject
from dpjax.plotting._canvas import EVENT, LOSS, SIDES, SMALL, literal
from dpjax.plotting._strips import Strip, known_losses

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDE = 1.96

_LINE, _NAME = 36, 12
"""Maximum number of characters in a line below a panel, and in a tick label."""

_LEAST_BAND = 0.15
"""Minimum width of a shaded event that gets a label, as a share of the panel's width."""

_OUTER = 0.15
"""Maximum visible width of each tail, as a share of the distance between the two tails."""

_TICKS = 12
"""Maximum number of tick labels."""


def share_panel(axes: "Axes", strip: Strip) -> None:
    """Draw the probabilities or densities for both sides.

    If some cells are single values and others are intervals, a second axis on the right shows the
    probabilities of the single values.
    """
    widths = strip.high - strip.low
    if strip.few:
        for number, (color, label) in enumerate(SIDES):
            place = strip.low + widths * (0.3 + 0.4 * number)
            axes.bar(place, strip.shares[number], 0.4 * widths, color=color, label=label)
        axes.set_ylabel("probability")
        return
    single = strip.single
    for values, (color, label) in zip(strip.shares, SIDES, strict=True):
        with np.errstate(divide="ignore", invalid="ignore"):
            height = np.where(strip.tail, np.nan, values / widths)
        _steps(axes, strip, height, color=color, label=label)
    axes.set_ylabel("density" if strip.per == "unit" else "probability")
    if single.any():
        # Densities and probabilities have different units, so single values need a second axis.
        beside = axes.twinx()
        step = np.ptp(np.concatenate([strip.low, strip.high])) / 150
        for number, (color, _) in enumerate(SIDES):
            place = strip.low[single] + step * (number - 0.5)
            beside.vlines(place, 0, strip.shares[number, single], color=color)
            beside.plot(place, strip.shares[number, single], "o", color=color, markersize=4)
        beside.set_ylim(bottom=0)
        beside.set_ylabel("probability of a value (dots)")


def strip_loss_panel(axes: "Axes", strip: Strip) -> None:
    """Draw the privacy loss in each cell, as bars or as steps."""
    banded, strip = strip.banded, strip.steps or strip
    if strip.few:
        middle, widths = (strip.low + strip.high) / 2, strip.high - strip.low
        axes.bar(middle, strip.loss, 0.6 * widths, color=LOSS, alpha=0.5)
    else:
        loss = known_losses(strip)
        _steps(axes, strip, loss, color=LOSS, linewidth=1.2)
        single = strip.single
        axes.plot(strip.low[single], loss[single], "o", color=LOSS, markersize=4)
        if banded:
            _ribbon(axes, strip, loss)
    axes.set_ylabel("privacy loss")


def shade_event(axes: "Axes", strip: Strip, label: str | None = None) -> None:
    """Shade the counted event as background bands; label the first band that is wide enough."""
    band = {"color": EVENT, "alpha": 0.4, "linewidth": 0, "zorder": 0}
    left, right = visible_range(strip) or (float(strip.low[0]), float(strip.high[-1]))
    least = (right - left) / 300
    for low, high in _runs(strip):
        middle, width = (low + high) / 2, max(high - low, least)
        axes.axvspan(middle - width / 2, middle + width / 2, **band)
        low, high = max(low, left), min(high, right)
        if label is not None and high - low > _LEAST_BAND * (right - left):
            axes.text((low + high) / 2, 1.01, label, transform=axes.get_xaxis_transform(),
                      ha="center", va="bottom", fontsize=SMALL, color=LOSS)  # fmt: skip
            label = None


def visible_range(strip: Strip) -> tuple[float, float] | None:
    """Return the visible range of a numeric axis, or None if the axis shows multiple named cells.

    The first and last cells contain the tails and may be very wide, so they may be cut off.
    """
    if strip.names is not None:
        return (-1.0, 1.0) if len(strip.names) == 1 else None
    low, high = float(strip.low[0]), float(strip.high[-1])
    if strip.few or len(strip.low) < 3:
        return low, high
    inner = float(strip.low[-1] - strip.high[0])
    single = strip.low[strip.single]
    left = min(strip.high[0] - _OUTER * inner, *single, np.inf)
    right = max(strip.low[-1] + _OUTER * inner, *single, -np.inf)
    return max(low, float(left)), min(high, float(right))


def name_places(axes: "Axes", strip: Strip) -> None:
    """Set the tick labels and the title of the horizontal axis, which shows outputs."""
    if strip.names is None:
        axes.set_xlabel("output")
        axes.locator_params(axis="x", nbins=5, integer=strip.per == "value")
        return
    # The common prefix of all names becomes part of the axis title.
    common = commonprefix(strip.names) if len(strip.names) > 1 else ""  # noqa: RUF071
    common = common[: common.rfind(" ") + 1]
    kind = "label" if strip.per == "label" else "output"
    axes.set_xlabel(fill(literal(f"{kind}: {common}..." if common else kind), _LINE))
    names = [name.removeprefix(common) for name in strip.names]
    names = [name if len(name) <= _NAME else f"{name[: _NAME - 1]}…" for name in names]
    places = range(0, len(names), -(-len(names) // _TICKS))
    longest = max(map(len, names))
    slanted: JsonObject = {}
    if len(places) * (longest + 1) > _LINE:  # horizontal labels would overlap
        few = len(places) <= _TICKS // 2
        slanted = {"rotation": 40, "ha": "right"} if few else {"rotation": 90}
    axes.set_xticks(places, [literal(names[place]) for place in places], **slanted)


def _steps(axes: "Axes", strip: Strip, height: np.ndarray, **style: Any) -> None:
    """Draw a step function with one step per interval; gaps between intervals break the line."""
    wide = ~strip.single
    low, high, height = strip.low[wide], strip.high[wide], height[wide]
    if not len(low):
        return
    gaps = np.flatnonzero(low[1:] > high[:-1] + 1e-9 * np.abs(high[:-1])) + 1
    edges = np.insert(low, gaps, high[gaps - 1])
    axes.stairs(np.insert(height, gaps, np.nan), [*edges, high[-1]], baseline=None, **style)


def _ribbon(axes: "Axes", strip: Strip, loss: np.ndarray) -> None:
    """Draw a ribbon of pointwise 95% confidence intervals for the losses of all cells."""
    assert strip.noise is not None
    for low, high, middle, noise in zip(strip.low, strip.high, loss, strip.noise, strict=True):
        if high > low and np.isfinite(middle):
            ends = max(middle - _WIDE * noise, 0.0), middle + _WIDE * noise
            axes.fill_between([low, high], *ends, color=LOSS, alpha=0.18, linewidth=0)


def _runs(strip: Strip) -> Sequence[tuple[float, float]]:
    change = np.flatnonzero(np.diff(np.concatenate([[0], strip.event.astype(int), [0]])))
    return [
        (float(strip.low[start]), float(strip.high[stop - 1]))
        for start, stop in zip(change[::2], change[1::2], strict=True)
    ]
