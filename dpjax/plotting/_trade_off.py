"""Plot of the trade-off between false alarms and misses, with the claim and the witness."""

import re
from textwrap import fill
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dpjax.core.wording import confidence_text
from dpjax.inference import Band, clopper_pearson, trade_off
from dpjax.plotting._canvas import (
    CLAIM,
    DATABASE,
    NEIGHBOR,
    QUIET,
    SMALL,
    WIDTH,
    legend_within,
    literal,
    new_figure,
    titled,
)
from dpjax.plotting._claimed import Claimed, errors_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_GUIDES = (0.5, 1.0, 2.0, 3.0)
"""Values of epsilon whose trade-off curves are drawn as thin guide lines."""

_ROOM = 1.5
"""Side length of the visible square, as a multiple of the largest probability shown in it."""

_POINTS, _LINE = 401, 30
"""Number of points in a curve, and maximum number of characters in a line of a label."""

_APART = 0.15
"""Minimum relative difference between the epsilon of a guide line and the claim or the bound.

A guide line whose epsilon is closer to the claim or to the bound is not drawn.
"""

_NAME, _GAP = (0.15, 0.055), 0.01
"""Assumed width and height of a guide line's label, and distance from the label to the corner.

All three lengths are shares of the panel's width.
"""

_DIGITS = re.compile(r"-?\d+\.\d{7,}")
"""Pattern that matches numbers with too many decimals for a figure; a figure shows fewer digits."""


class Seen(NamedTuple):
    """Counts of the witness's event in the confirmation set.

    Attributes:
        counts: Number of outputs in the event, for the database and for its neighbor.
        trials: Total number of outputs, for the database and for its neighbor.
        larger: 0 if the event is more likely under the database, 1 if it is more likely under the
            neighbor.
        event: Description of the event, in words.
        confidence: Confidence level of the box around the witness's point, or None for no box. Pass
            None if earlier outputs determined the total number of outputs, because binomial bounds
            are then invalid.
    """

    counts: tuple[int, int]
    trials: tuple[int, int]
    larger: int
    event: str
    confidence: float | None

    def point(self) -> tuple[float, float]:
        """Return the false-alarm and miss rates of the test that raises an alarm on the event."""
        shares = [count / number for count, number in zip(self.counts, self.trials, strict=True)]
        return shares[1 - self.larger], 1 - shares[self.larger]

    def box(self) -> tuple[tuple[float, float], tuple[float, float]] | None:
        """Return joint confidence intervals for the two rates; None if no interval is valid."""
        if self.confidence is None:
            return None
        # There are four one-sided bounds, so each bound gets a quarter of the error probability.
        own = 1 - (1 - self.confidence) / 4
        (low, high), (few, many) = (
            clopper_pearson(self.counts[side], self.trials[side], own)
            for side in (1 - self.larger, self.larger)
        )
        return (float(low), float(high)), (1 - float(many), 1 - float(few))


class Errors(NamedTuple):
    """Data for a trade-off plot: error rates of tests between two databases, and the claim.

    Attributes:
        claim: The claim, converted to a claim about pairs that differ in as many records as the
            audited pair.
        lower: The lower bound, converted to a bound for pairs that differ in as many records as the
            audited pair. The bound is drawn only if there is no band.
        claimed: Description of the claim, in words.
        bound: Description of the lower bound, in words.
        seen: Counts of the witness's event, or None if no event was counted.
        band: Confidence band for the probabilities of a chain, that is, of nested sets of outputs;
            None if the audit counted no chain.
    """

    claim: Claimed
    lower: Claimed
    claimed: str
    bound: str
    seen: Seen | None
    band: Band | None


def plot_trade_off(title: str, shown: Errors) -> "Figure":
    """Plot the trade-off between false alarms and misses.

    Args:
        title: Title of the figure.
        shown: Data for the trade-off plot.

    Raises:
        ModuleNotFoundError: If matplotlib is not installed.
    """
    figure, axes = new_figure(size=(WIDTH, WIDTH))
    draw_trade_off(axes, shown)
    return titled(figure, title)


def draw_trade_off(axes: "Axes", shown: Errors) -> None:
    """Draw the trade-off in a panel: claim, bound or band, witness, and guide lines.

    Every test that beats chance lies below the falling diagonal, so the upper right corner is free
    for the legend.
    """
    (left, right), (low, high) = _window(shown.seen)
    x = np.linspace(left, right, _POINTS)
    guides, curves = _guides(axes, x, (shown.claim, shown.lower)), []
    axes.plot([0, 1], [1, 0], color=QUIET, linewidth=0.8, linestyle=":")
    if shown.seen is not None:
        _witness(axes, shown.seen)
    if shown.band is not None:
        reached = _reached(shown)
        order = np.argsort(reached[0])
        curves.append((reached[0][order], reached[1][order]))
        axes.plot(*reached, color=DATABASE, label="the best test is on or\nbelow this line")
    elif (errors := shown.lower.errors(x)) is not None:
        curves.append((x, errors))
        axes.plot(x, errors, color=DATABASE, linestyle="--", linewidth=1.4, label=shown.bound)
    if (errors := shown.claim.errors(x)) is not None:
        axes.fill_between(x, low, np.maximum(errors, low), color=CLAIM, alpha=0.18, linewidth=0,
                          label=f"forbidden by the {shown.claimed}")  # fmt: skip
        curves.append((x, errors))
        axes.plot(x, errors, color=CLAIM, linewidth=1.4)
    axes.set(xlim=(left, right), ylim=(low, high), aspect="equal")
    side = right - left
    _name_guides(axes, guides, [((a - left) / side, (b - low) / side) for a, b in curves])
    alarm, miss = "probability of a false alarm", "probability of a miss"
    if shown.seen is not None:
        sides = ("database", "neighbor")
        alarm = f"false alarm: event under the {sides[1 - shown.seen.larger]}"
        miss = f"miss: no event under the {sides[shown.seen.larger]}"
    axes.set(xlabel=alarm, ylabel=miss)
    axes.locator_params(nbins=5)
    legend_within(axes, "upper right")


def _guides(
    axes: "Axes", x: NDArray[np.float64], drawn: tuple[Claimed, Claimed]
) -> tuple[float, ...]:
    """Draw the guide lines that are not close to the claim or the bound; return their epsilons."""
    levels = [one.level for one in drawn if one.kind == "epsilon"]
    guides = tuple(
        epsilon
        for epsilon in _GUIDES
        if all(abs(level - epsilon) >= _APART * epsilon for level in levels)
    )
    for epsilon in guides:
        axes.plot(x, errors_of(epsilon, 0.0, x), color=QUIET, linewidth=0.6, alpha=0.5)
    return guides


def _name_guides(
    axes: "Axes",
    guides: tuple[float, ...],
    curves: list[tuple[NDArray[np.float64], NDArray[np.float64]]],
) -> None:
    """Label each guide line to the right of its corner, or to the left if a curve is in the way.

    A guide line gets no label if neither side is free.

    Args:
        axes: Panel with the guide lines.
        guides: Epsilon of each guide line.
        curves: Points of the other curves in the panel, as shares of its width and height.
    """
    width, height = _NAME
    for epsilon in guides:
        # A guide line crosses the panel's rising diagonal at the share `at` of the panel's width
        # and height, whatever part of the square is visible.
        at = 1 / (1 + np.exp(epsilon))
        places = (
            (at + _GAP, at + _GAP, at, "left", "baseline"),
            (at - _GAP, at - _GAP - width, at - height, "right", "top"),
        )
        for place, left, low, ha, va in places:
            if _is_free(left, low, curves):
                axes.text(place, at, f"ε = {epsilon:g}", transform=axes.transAxes, color=QUIET,
                          fontsize=SMALL, ha=ha, va=va)  # fmt: skip
                break


def _is_free(
    left: float, low: float, curves: list[tuple[NDArray[np.float64], NDArray[np.float64]]]
) -> bool:
    """Return whether a label with this lower left corner lies in the panel and crosses no curve.

    All numbers are shares of the panel's width and height.
    """
    width, height = _NAME
    x = np.linspace(left, left + width, 50)
    heights = [np.interp(x, *curve) - low for curve in curves]
    return min(left, low) >= 0 and not any(np.any((h > 0) & (h < height)) for h in heights)


def _window(seen: Seen | None) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the visible range of each axis: [0, 1], or less if the event is rare or common."""
    if seen is None:
        return (0.0, 1.0), (0.0, 1.0)
    alarms, misses = seen.box() or ((seen.point()[0],) * 2, (seen.point()[1],) * 2)
    rare = _ROOM * max(alarms[1], 1 - misses[0])
    common = _ROOM * max(1 - alarms[0], misses[1])
    if not 0 < min(rare, common) < 0.5:
        return (0.0, 1.0), (0.0, 1.0)
    if rare <= common:
        return (0.0, rare), (1 - rare, 1.0)
    return (1 - common, 1.0), (0.0, common)


def _reached(shown: Errors) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return false-alarm rates, each with an upper bound on the smallest miss rate at this rate.

    An alarm means that the output is attributed to the side on which the witness's event is more
    likely.
    """
    assert shown.band is not None
    alarms, misses = trade_off(shown.band)
    if shown.seen is None or shown.seen.larger == 0:
        return alarms, misses
    return misses, alarms


def _witness(axes: "Axes", seen: Seen) -> None:
    at, box = seen.point(), seen.box()
    event = _DIGITS.sub(lambda number: f"{float(number[0]):.6g}", seen.event)
    lines = [fill(literal(f"witness: {event}"), _LINE)]
    if box is not None and seen.confidence is not None:
        from matplotlib.patches import Rectangle

        (left, right), (low, high) = box
        axes.add_patch(
            Rectangle((left, low), right - left, high - low, facecolor=NEIGHBOR, alpha=0.35,
                      edgecolor=NEIGHBOR, linewidth=0.8, zorder=4)
        )  # fmt: skip
        lines.append(f"(box: confidence {confidence_text(seen.confidence)})")
    axes.plot(*at, "o", color=NEIGHBOR, markersize=5, label="\n".join(lines), zorder=5,
              linestyle="none")  # fmt: skip
