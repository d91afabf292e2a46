"""Panels that show counted outputs, as numbers on an axis or as equally spaced labels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from os.path import commonprefix
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from dpjax.core.types import JsonObject
from dpjax.plotting._canvas import EVENT, LOSS, SIDES, SMALL, literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ENOUGH, _SHARE = 1_200, 0.03
"""Minimum number of draws in a bin, as a count and as a share of all draws.

The smaller of the two limits applies, and draws from both sides are counted together. A privacy
loss estimated from `_ENOUGH` draws has a standard error of about 0.06.
"""

_FEWEST = 8
"""Approximate number of bins in a panel of losses when draws are scarce."""

_NOISE = 0.03
"""Maximum standard error of a plotted density, as a share of the highest plotted density."""

_STEP, _LEAST_TOP = 0.15, 0.5
"""Limits on the noise in plotted losses.

`_STEP` is the maximum standard deviation of the step between two adjacent losses, as a share of the
axis length. An axis shorter than `_LEAST_TOP` is treated as if its length were `_LEAST_TOP`.
"""

_WIDE = 1.96

_LINE, _NAME = 36, 12
"""Maximum number of characters in a line below a panel, and in a tick label."""

_LEAST_BAND = 0.15
"""Minimum width of a shaded event that gets a label, as a share of the panel's width."""

_OUTER = 0.15
"""Maximum visible width of each tail, as a share of the distance between the two tails."""

_TAIL = 0.1
"""Maximum share of a bin's outputs that may come from a tail.

If a larger share comes from a tail, the whole bin is treated as a tail, whose width is unknown.
"""

_MANY, _TICKS = 40, 12
"""Maximum number of cells drawn as bars instead of steps, and maximum number of tick labels."""


@dataclass(frozen=True)
class Strip:
    """Adjacent cells on one axis, each with its probabilities and its privacy loss.

    Attributes:
        low: Lower end of each cell, [cells].
        high: Upper end of each cell, [cells]. A single value between intervals has an upper end
            equal to its lower end.
        names: Names of the cells, or None if the cells have positions on a numeric axis. Named
            cells are equally spaced, and each contains a single output: a label or a float.
        per: Unit to which a probability refers: a "label", a "number" (a float with a name), a
            "value" (an integer) or a "unit" of length.
        shares: Share of each side's outputs in each cell, [2, cells]; row 0 is the database.
        loss: Privacy loss of each cell, [cells].
        event: Whether each cell is part of the counted event, bool [cells].
        tail: Whether each cell is a tail, whose width is unknown, bool [cells].
        noise: Standard error of each loss, [cells], or None if the number of draws is unknown.
        steps: Coarser cells whose losses are drawn instead of `loss`, or None to draw `loss`.
    """

    low: np.ndarray
    high: np.ndarray
    names: list[str] | None
    per: str
    shares: np.ndarray
    loss: np.ndarray
    event: np.ndarray
    tail: np.ndarray
    noise: np.ndarray | None = None
    steps: "Strip | None" = field(default=None, kw_only=True)

    @property
    def single(self) -> np.ndarray:
        """Whether each cell is a single value and not an interval, bool [cells]."""
        return self.high == self.low

    @property
    def banded(self) -> bool:
        """Whether the losses are drawn with their confidence intervals as a ribbon."""
        drawn = self.steps or self
        return not drawn.few and drawn.noise is not None

    @property
    def has_losses(self) -> bool:
        """Whether the loss of at least one cell is drawn."""
        drawn = self.steps or self
        losses = drawn.loss if drawn.few else known_losses(drawn)
        return bool(np.isfinite(losses).any())

    @property
    def few(self) -> bool:
        """Whether the cells are few and equally wide, so that they can be drawn as bars."""
        widths = self.high - self.low
        some = len(widths) <= _MANY or self.names is not None
        return bool(some and np.all(widths == widths[0]) and widths[0] > 0)


def strips_of(curve: dict[str, list], num_samples: int | None = None) -> list[Strip]:
    """Convert a curve to at most two strips of cells: one for numeric outputs, one for labels.

    Args:
        curve: Curve of an `AuditResult` whose audit counted outputs by value or by cell.
        num_samples: Number of draws per side. If there are too many cells for bars, adjacent cells
            are merged until their shares and losses are precise enough to draw. None disables
            merging.
    """
    points = curve["points"]
    bounds = curve.get("bounds")
    if bounds is None:
        numbers = all(isinstance(point, int | float | np.number) for point in points)
        bounds = [[p, p] if numbers else None for p in points]
    columns: JsonObject = {
        "shares": np.array([curve["density"], curve["neighbor_density"]], float),
        "loss": np.array(curve["loss"], float),
        "event": np.array(curve.get("event", [False] * len(points)), bool),
        "tail": np.array([b is not None and None in b for b in bounds], bool),
    }
    is_label = np.array([bound is None for bound in bounds], bool)
    found = []
    if not is_label.all():
        inner = [(-np.inf if b[0] is None else b[0], np.inf if b[1] is None else b[1])
                 for b in bounds if b is not None]  # fmt: skip
        strip = _numbers(np.array(inner, float), _some(columns, ~is_label))
        found.append(strip if num_samples is None or strip.few else _joined(strip, num_samples))
    if is_label.any():
        names = [str(point) for point, chosen in zip(points, is_label, strict=True) if chosen]
        slots = np.arange(len(names), dtype=float)
        found.append(Strip(slots - 0.5, slots + 0.5, names, "label", **_some(columns, is_label)))
    return found


def _some(columns: JsonObject, kept: np.ndarray) -> JsonObject:
    return {name: values[..., kept] for name, values in columns.items()}


def _numbers(bounds: np.ndarray, columns: JsonObject) -> Strip:
    """Return a strip of numeric cells; each integer becomes an interval of length 1."""
    order = np.lexsort((bounds[:, 1], bounds[:, 0]))
    bounds, columns = bounds[order], _some(columns, order)
    low, high = bounds.T
    single = low == high
    ends = np.where(single, low, np.where(low == np.ceil(low), low, np.nextafter(low, -np.inf)))
    ends = np.concatenate([ends, high[~single]])
    ends = ends[np.isfinite(ends)]
    first, last = np.ceil(low), np.where(single, low, np.ceil(high) - 1)
    if single.any() and np.all(ends == np.round(ends)) and np.all(last >= first):
        return Strip(*_with_ends(first - 0.5, last + 0.5), None, "value", **columns)
    if single.all():
        # The gaps between floats may be of any size, so the floats are drawn at equal distances.
        slots = np.arange(len(low), dtype=float)
        names = [f"{value:g}" for value in low]
        return Strip(slots - 0.5, slots + 0.5, names, "number", **columns)
    return Strip(*_with_ends(low, high), None, "unit", **columns)


def _joined(strip: Strip, num_samples: int) -> Strip:
    """Merge adjacent intervals and the gaps between them until their shares are precise enough."""
    counts = strip.shares * num_samples
    enough = min(_ENOUGH, _SHARE * counts.sum())
    heights = _heights(strip, _groups(strip, counts, enough, np.inf), num_samples)
    peak = float(np.max(heights, initial=0.0, where=np.isfinite(heights)))
    most = min(_ENOUGH, counts.sum() / _FEWEST)
    steps = _merged(strip, _groups(strip, counts, most, np.inf), num_samples)
    numbers = _groups(strip, counts, enough, _NOISE * peak * num_samples)
    return replace(_merged(strip, numbers, num_samples), steps=steps)


def _merged(strip: Strip, numbers: np.ndarray, num_samples: int) -> Strip:
    """Merge adjacent cells with equal bin indices; `numbers` holds the bin index of each cell."""
    first = np.searchsorted(numbers, np.arange(numbers[-1] + 1))
    last = np.append(first[1:], len(numbers)) - 1
    shares = np.add.reduceat(strip.shares, first, axis=1)
    loss = np.abs(np.diff(np.log(shares + 0.5 / num_samples), axis=0))[0]
    noise = np.sqrt((1 / (shares * num_samples + 0.5)).sum(axis=0))
    # A bin counts as a tail only if more than a small share of its outputs comes from a tail.
    outer = np.add.reduceat(np.where(strip.tail, strip.shares, 0.0), first, axis=1)
    tail = np.asarray((outer > _TAIL * shares).any(axis=0))
    low, high, event = strip.low[first], strip.high[last], strip.event[first]
    return Strip(low, high, None, strip.per, shares, loss, event, tail, noise)


def _groups(strip: Strip, counts: np.ndarray, enough: float, largest: float) -> np.ndarray:
    """Return the bin index of each cell, [cells]; the indices increase from 0.

    No bin contains both cells inside the event and cells outside the event.

    Args:
        strip: Cells to merge.
        counts: Number of outputs in each cell on each side, [2, cells].
        enough: Minimum number of outputs in a bin, summed over both sides. A bin may have fewer
            outputs if no other cells can be merged into it.
        largest: Upper limit on (standard error of a side's count) / (width of the bin).
    """
    single = strip.single
    numbers = np.zeros(len(strip.low), int)
    start, begin = 0, 0  # first cell of the bin, and first cell that it may be merged with
    for cell in range(1, len(numbers) + 1):
        held = counts[:, start:cell].sum(axis=1)
        width = strip.high[cell - 1] - strip.low[start]
        known = np.isinf(largest) or np.sqrt(held.max()) <= largest * width
        full = held.sum() >= enough and known
        apart = cell == len(numbers) or strip.event[cell] != strip.event[cell - 1]
        apart = bool(apart or single[cell] or single[cell - 1])
        if apart and not full and start > begin:
            numbers[start:cell] = numbers[start - 1]  # add the rest to the previous bin
        if cell < len(numbers) and (apart or full):
            numbers[cell:] = numbers[cell - 1] + 1
            start = cell
        if apart:
            begin = cell
    return numbers


def _heights(strip: Strip, numbers: np.ndarray, num_samples: int) -> np.ndarray:
    """Return both sides' densities, [2, bins], with NaN for tails and for bins with few outputs."""
    first = np.searchsorted(numbers, np.arange(numbers[-1] + 1))
    last = np.append(first[1:], len(numbers)) - 1
    widths = strip.high[last] - strip.low[first]
    shares = np.add.reduceat(strip.shares, first, axis=1)
    known = (widths > 0) & ~np.logical_or.reduceat(strip.tail, first)
    known &= shares.sum(axis=0) * num_samples >= min(_ENOUGH, _SHARE * 2 * num_samples)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(known, shares / widths, np.nan)


def known_losses(strip: Strip) -> np.ndarray:
    """Return the loss of each cell in a strip, [cells]; losses too noisy to draw are NaN.

    Consider the difference between two independent losses that have the standard error of this
    loss. The loss is too noisy if the standard deviation of the difference is more than `_STEP`
    times the upper end of the axis.
    """
    if strip.noise is None or strip.few:
        return strip.loss
    step = math.sqrt(2) * strip.noise
    quiet = step <= _STEP * np.maximum(strip.loss, _LEAST_TOP)
    top = np.max(strip.loss, initial=_LEAST_TOP, where=quiet)
    return np.where(step <= _STEP * top, strip.loss, np.nan)


def _with_ends(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Replace infinite ends of cells by points slightly outside the range of the finite ends."""
    ends = np.concatenate([low, high])
    ends = ends[np.isfinite(ends)]
    margin = (np.ptp(ends) if len(ends) else 0.0) / 20 or 1.0
    first, last = (ends.min(), ends.max()) if len(ends) else (0.0, 0.0)
    return np.where(np.isinf(low), first - margin, low), np.where(
        np.isinf(high), last + margin, high
    )


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
