"""Figure of bounds on the privacy profile, the trade-off curve and the Renyi divergences.

All bounds are computed from a single chain of nested sets of outputs.
"""

from typing import TYPE_CHECKING

import numpy as np

from dpjax.inference import Band, epsilon_of, largest, profile, renyi, trade_off
from dpjax.plotting._canvas import (
    CLAIM,
    DATABASE,
    LINE,
    NEIGHBOR,
    QUIET,
    legend_within,
    new_figure,
    titled,
    unboxed,
)
from dpjax.plotting._claimed import Claimed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ORDERS = np.geomspace(1.1, 64, 40)

_WIDTH, _HEIGHT = 3.4, 3.4
"""Width and height of a panel in inches, including its title."""

_LEAST_DELTA = 1e-7

_PAD = 7
"""Distance of tick labels from the panel of the privacy profile, in points."""

_TOP = 1.15
"""Upper end of an axis, as a multiple of the largest value that is drawn."""

_FAR = 3.0
"""A claim that is more than _FAR times the largest bound is marked at the edge of its panel."""


def plot_notions(shown: Band, title: str, claim: Claimed) -> "Figure":
    """Plot bounds on the privacy profile, the trade-off curve and the Renyi divergences, in a row.

    All curves compare the two databases of the audited pair, even if these databases differ in more
    than one record. All bounds hold simultaneously.

    Args:
        shown: Confidence band for the probabilities of a chain, that is, of nested sets of outputs.
        title: Title of the figure.
        claim: Claim to draw in addition to the bounds.

    Raises:
        ModuleNotFoundError: If matplotlib is not installed.
    """
    figure, axes = new_figure(1, len(_PANELS), size=(len(_PANELS) * _WIDTH, _HEIGHT))
    for panel, draw in zip(axes, _PANELS.values(), strict=True):
        draw(panel, shown, claim)
    return titled(figure, title, len(_PANELS) * LINE)


def notion_panels(shown: Band, claim: Claimed) -> "dict[str, Figure]":
    """Return the panels of `plot_notions` as separate figures, in a dictionary by panel name."""
    found = {}
    for name, draw in _PANELS.items():
        found[name], axes = new_figure(size=(_WIDTH, _HEIGHT))
        draw(axes, shown, claim)
    return found


def _profile_panel(axes: "Axes", shown: Band, claim: Claimed) -> None:
    top = max(largest(shown, epsilon_of(0.0)), 0.1)
    marked = [claim.level] if claim.kind == "epsilon" else claim.points[:, 0]
    right = _TOP * max([top, *(e for e in marked if e <= _FAR * top)])
    epsilons = np.linspace(0, right, 400)
    both = profile(shown, epsilons)
    sides = (("database against neighbor", DATABASE), ("neighbor against database", NEIGHBOR))
    for deltas, (label, color) in zip(both, sides, strict=True):
        axes.plot(epsilons, np.where(deltas > 0, deltas, np.nan), color=color, label=label)
    # Refuted points are shaded: a claim (epsilon, delta) below either curve is refuted.
    axes.fill_between(
        epsilons, _LEAST_DELTA, np.maximum(both.max(axis=0), _LEAST_DELTA), color=DATABASE,
        alpha=0.12, linewidth=0, label="refuted",
    )  # fmt: skip
    if (deltas := claim.deltas(epsilons)) is not None:
        axes.plot(epsilons, deltas, color=CLAIM, label="claim")
    if claim.kind == "profile":
        few = "." if len(claim.points) < 20 else ""
        axes.plot(*claim.points.T, color=CLAIM, marker=few, label="claim")
    if claim.kind == "epsilon":
        is_far, at = claim.level > right, max(claim.delta, _LEAST_DELTA)
        marker, label = (">", "claim: to the right") if is_far else ("o", "claim")
        x = min(claim.level, right)
        axes.plot([x], [at], marker, color=CLAIM, clip_on=False, label=label)
    axes.set(xlim=(0, right), ylim=(_LEAST_DELTA, 1.5), yscale="log")
    axes.set(xlabel="epsilon", ylabel="delta")
    # The lowest label of the logarithmic axis would touch the leftmost label below the panel.
    axes.tick_params(axis="x", pad=_PAD)
    legend_within(axes, "lower left", "privacy profile")
    unboxed(axes)


def _trade_off_panel(axes: "Axes", shown: Band, claim: Claimed) -> None:
    x, missed = trade_off(shown)
    # If an alarm means "database", every alarm for an output of the neighbor is a false alarm.
    axes.plot(x, missed, color=DATABASE, label="database against neighbor")
    axes.plot(missed, x, color=NEIGHBOR, label="neighbor against database")
    least = np.minimum(missed, np.interp(x, missed[::-1], x[::-1]))
    axes.fill_between(
        x, least, 1 - x, color=DATABASE, alpha=0.12, linewidth=0, label="within reach of tests"
    )
    axes.plot([0, 1], [1, 0], color=QUIET, linewidth=0.8, linestyle=":")
    if (errors := claim.errors(x)) is not None:
        axes.plot(x, errors, color=CLAIM, label="claim: no test below")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="level of the test", aspect="equal")
    axes.set(ylabel="upper bound on the type II error")
    axes.locator_params(nbins=5)
    legend_within(axes, "upper right", "trade-off of errors")


def _renyi_panel(axes: "Axes", shown: Band, claim: Claimed) -> None:
    levels = renyi(shown, _ORDERS)
    axes.plot(_ORDERS, levels, color=DATABASE, label="at least")
    axes.fill_between(_ORDERS, 0, levels, color=DATABASE, alpha=0.12, linewidth=0, label="refuted")
    most = max(levels[-1], 1e-3)
    orders, claimed, style, label = _ORDERS, claim.divergences(_ORDERS), "-", "claim"
    if claim.order is not None:
        orders, claimed, style = np.array([claim.order]), np.array([claim.level]), "o"
    elif claim.kind == "epsilon" and claim.delta == 0:
        claimed, label = np.full(_ORDERS.shape, claim.level), "claim: nowhere above"
    top = _TOP * most
    if claimed is not None and claimed.min() > _FAR * most:
        axes.plot([8], [top], "^", color=CLAIM, clip_on=False, label="claim: above")
    elif claimed is not None:
        axes.plot(orders, claimed, style, color=CLAIM, label=label)
        top = max(top, _TOP * claimed.min())
    axes.set(xlim=(_ORDERS[0], _ORDERS[-1]), ylim=(0, top), xscale="log")
    ticks = [2, 4, 8, 16, 32, 64]
    axes.set_xticks(ticks, [str(order) for order in ticks])
    axes.minorticks_off()
    axes.set(xlabel="order", ylabel="divergence")
    legend_within(axes, "lower right", "Renyi divergence")
    unboxed(axes)


_PANELS = {"profile": _profile_panel, "errors": _trade_off_panel, "divergences": _renyi_panel}
