"""Cells of outputs as strips along an axis, merged until they are precise enough to draw."""

import math
from dataclasses import dataclass, field, replace

import numpy as np

from dpjax.core.types import JsonObject

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

_TAIL = 0.1
"""Maximum share of a bin's outputs that may come from a tail.

If a larger share comes from a tail, the whole bin is treated as a tail, whose width is unknown.
"""

_MANY = 40
"""Maximum number of cells drawn as bars instead of steps."""


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
        top: Minimum length of the axis that shows the losses.
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
    top: float = field(default=_LEAST_TOP, kw_only=True)
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

    def reaching(self, top: float) -> "Strip":
        """Return the same strip with an axis of losses that reaches at least `top`."""
        steps = None if self.steps is None else self.steps.reaching(top)
        return replace(self, top=max(self.top, top), steps=steps)

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
    times the upper end of the axis. The axis reaches at least `strip.top`. If most losses would
    still be too noisy, the upper end is the largest loss that is not too noisy.
    """
    if strip.noise is None or strip.few:
        return strip.loss
    step = math.sqrt(2) * strip.noise

    def known(least: float) -> np.ndarray:
        quiet = step <= _STEP * np.maximum(strip.loss, least)
        return step <= _STEP * np.max(strip.loss, initial=least, where=quiet)

    on_axis = known(strip.top)
    # Between two groups of outputs, the loss of a single wide cell says little about the loss of
    # the outputs in this cell.
    most = 2 * np.count_nonzero(on_axis) > len(on_axis)
    return np.where(on_axis if most else known(_LEAST_TOP), strip.loss, np.nan)


def _with_ends(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Replace infinite ends of cells by points slightly outside the range of the finite ends."""
    ends = np.concatenate([low, high])
    ends = ends[np.isfinite(ends)]
    margin = (np.ptp(ends) if len(ends) else 0.0) / 20 or 1.0
    first, last = (ends.min(), ends.max()) if len(ends) else (0.0, 0.0)
    return np.where(np.isinf(low), first - margin, low), np.where(
        np.isinf(high), last + margin, high
    )
